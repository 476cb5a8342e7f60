"""No sharing (NS of the paper, section 3.3): sites report, and nothing comes back."""

from __future__ import annotations

from monitoring_lib.protocols.distinct_count.sketched.method import SketchMethod


class NoSharing(SketchMethod):
    """A site knows its own items only, and reports each bit once."""

    name = "no-sharing"
