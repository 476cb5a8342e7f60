"""Stands in for the `farwatch` command: notes how it was called, and ends as its plan says.

The plan is a file `SOURCE.VERB` with one exit code a line, taken one after the other; without it all is well.
Like the real one, `gate` refuses an interval whose predecessor was not sealed.
"""

import json
import os
import sys
from pathlib import Path

FOLDER = Path(os.environ["FAKE_FARWATCH"])


def main() -> int:
    verb, *rest = sys.argv[1:]
    options = dict(zip(rest[::2], rest[1::2], strict=True))
    source, given = options["--source"], os.environ["FARWATCH_GIVEN"]
    call = {"verb": verb, **options, "given": json.loads(given) if given else None}
    with (FOLDER / "calls.jsonl").open("a") as calls:
        calls.write(json.dumps(call) + "\n")
    print(f"{verb} was here", file=sys.stderr)
    plan = FOLDER / f"{source}.{verb}"
    codes = plan.read_text().split() if plan.exists() else []
    if codes:
        plan.write_text("\n".join(codes[1:]))
        if codes[0] != "0":
            return int(codes[0])
    if verb == "gate" and not (FOLDER / f"{source}.sealed.{options['--from']}").exists():
        return 4
    if verb == "seal":
        (FOLDER / f"{source}.sealed.{options['--to']}").touch()
    print("not the hand-over")
    odd = "a \"site\" 'called' $HOME `x` {{ 1 }} €\n"
    handover = {"verb": verb, "monitors": {"good": 0, "bad": 0}, "failed": {"bad": "fell"}, "odd": odd}
    print(json.dumps(handover))
    print("said after the hand-over, to standard error", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
