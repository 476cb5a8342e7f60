"""Writes the frozen images anew: `python -m tests.golden`."""

from __future__ import annotations

from tests.golden import golden_file, golden_synopsis
from tests.laws.examples import examples, kind_of


def main() -> None:
    for kind in sorted({kind_of(example) for example in examples()}, key=lambda kind: kind.__name__):
        path, image = golden_file(kind), golden_synopsis(kind).to_bytes()
        changed = not path.exists() or path.read_bytes() != image
        if changed:
            path.write_bytes(image)
        print(f"{'written' if changed else 'as it was'}: {path.name} ({len(image)} bytes)")


if __name__ == "__main__":
    main()
