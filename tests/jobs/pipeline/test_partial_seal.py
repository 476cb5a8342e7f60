"""A monitor that failed takes nothing from those that were sealed beside it: the hand-over names them."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from jobs.command.run import STEPS
from monitoring_lib.errors import ExitCode
from monitoring_lib.verbs import VERBS
from tests.jobs.pipeline.deployment import ONE_PARTITION, Deployment, shopping

pytestmark = pytest.mark.spark
HOUR = ("--source", "shop", "--from", "2020-01-01T00:00", "--to", "2020-01-01T01:00")


def test_a_seal_that_fails_in_part_hands_over_what_it_has_sealed(deploy: Callable[..., Deployment]) -> None:
    home = deploy(settings=ONE_PARTITION)
    home.add_file("0.csv", shopping(5, 1)[0])
    context, given = home.context(), home.handover(0, 1)
    for verb in VERBS[: VERBS.index("seal")]:
        STEPS[verb](context, given)
    given.failed["recent"] = "its drafts are odd"
    (home.home / "given.json").write_text(given.to_json())
    done = home.command("seal", *HOUR, "--given", str(home.home / "given.json"))
    assert done.returncode == ExitCode.FAILED
    assert json.loads(done.stdout.splitlines()[-1])["sealed"] == ["busiest"]
    assert done.stderr.splitlines()[-1] == "farwatch: recent is not sealed: its drafts are odd"
    assert {monitor for monitor, _ in home.digests()} == {"busiest"}


def test_a_seal_that_seals_nothing_hands_over_nothing(deploy: Callable[..., Deployment]) -> None:
    home = deploy(settings=ONE_PARTITION)
    given = home.handover(0, 1)
    given.failed = {"busiest": "no", "recent": "no"}
    (home.home / "given.json").write_text(given.to_json())
    done = home.command("seal", *HOUR, "--given", str(home.home / "given.json"))
    assert done.returncode == ExitCode.NOT_NOW
    assert done.stdout == ""
