"""Stands in for the `farwatch` command: notes how it was called, and ends as its plan says.

The plan is a file `SOURCE.VERB` with one exit code a line, taken one after the other; without it all is well.
Like the real one, `gate` refuses an interval whose predecessor was not sealed.
"""

import json
import os
import sys
from pathlib import Path

FOLDER = Path(os.environ["FAKE_FARWATCH"])


def handover(verb: str, sealed: list[str]) -> dict[str, object]:
    odd = "a \"site\" 'called' $HOME `x` {{ 1 }} €\n"
    return {"verb": verb, "monitors": {"good": 0, "bad": 0}, "failed": {"bad": "fell"}, "sealed": sealed, "odd": odd}


def answer(monitor: str) -> dict[str, object]:
    row = {"rank": 1, "key": "x", "estimate": 3.0, "low": 2.0, "high": 4.0, "confidence": 1.0}
    rows = [row | {"node": "north"}, row | {"node": "south"}]
    return {
        "epoch_start": "1970-01-01T00:00:00Z", "says": "valid (always)", "partial": False, "sites": 2,
        "missing_sites": [], "bytes": 10, "shipping_bytes": 90, "stale": None, "answers": rows,
        "text": [f"{monitor}: the answer", "valid (always), 2 of 2 sites"],
    }  # fmt: skip


def main() -> int:
    verb, *rest = sys.argv[1:]
    if verb == "query":
        *monitors, _, _ = rest
        found = [answer(monitor) for monitor in monitors]
        print(json.dumps(found if len(found) > 1 else found[0]))
        return 0
    if verb == "audit":
        rest[0] = f"--source={rest[0]}"
    options = dict(option.split("=", 1) for option in rest)
    source, given = options["--source"], options.pop("--given", None)
    call = {"verb": verb, **options, "given": json.loads(Path(given).read_text()) if given else None}
    with (FOLDER / "calls.jsonl").open("a") as calls:
        calls.write(json.dumps(call) + "\n")
    print(f"{verb} was here", file=sys.stderr)
    plan = FOLDER / f"{source}.{verb}"
    codes = plan.read_text().split() if plan.exists() else []
    if codes:
        plan.write_text("\n".join(codes[1:]))
        if codes[0] == "partly":
            (FOLDER / f"{source}.sealed.{options['--to']}").touch()
            print(json.dumps(handover(verb, sealed=["good"])))
            print("farwatch: bad is not sealed: fell", file=sys.stderr)
            return 1
        if codes[0] != "0":
            print(f"farwatch: {verb} fell\nas planned", file=sys.stderr)
            return int(codes[0])
    if verb == "gate" and not (FOLDER / f"{source}.sealed.{options['--from']}").exists():
        return 4
    if verb == "seal":
        (FOLDER / f"{source}.sealed.{options['--to']}").touch()
    print("not the hand-over")
    print(json.dumps(handover(verb, sealed=["good"] if verb == "seal" else [])))
    print("said after the hand-over, to standard error", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
