"""Does a type checker know the type of every public name? `python -m tests.house.complete`; silent when it does.

It takes about 15 seconds of one core, so `./dev check` runs it beside the tests.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TYPED = "tests/house/typed.py"
WRONG = "  # type: ignore["


def basedpyright(*words: str) -> dict[str, Any]:
    """What it says, as JSON. It looks for packages where the `python` on the PATH has them, whatever it is told."""
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    command = [sys.executable, "-m", "basedpyright", "--outputjson", *words]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def incomplete() -> list[str]:
    """The public names whose type is not known, or is for each checker to guess, and why."""
    found = basedpyright("--verifytypes", "dpselect", "--ignoreexternal")["typeCompleteness"]
    if not found["symbols"]:
        return ["the package was not found"]
    wrong = [one for one in found["symbols"] if one["isExported"] and one["diagnostics"]]
    return [f"{one['name']}: {'; '.join(said['message'] for said in one['diagnostics'])}" for one in wrong]


def wrong() -> list[str]:
    """What is not as tests/house/typed.py says: an error, but on each line that says it is one. mypy reads it too."""
    lines = (ROOT / TYPED).read_text("utf-8").splitlines()
    meant = {place for place, line in enumerate(lines, 1) if WRONG in line}
    found = {
        one["range"]["start"]["line"] + 1: one["message"]
        for one in basedpyright("--level", "error", TYPED)["generalDiagnostics"]
    }
    told = [f"{TYPED}:{place}: {message}" for place, message in found.items() if place not in meant]
    return told + [f"{TYPED}:{place}: this is taken" for place in sorted(meant - {*found})]


def main() -> int:
    """Exit status 1 where something is wrong."""
    told = [*incomplete(), *wrong()]
    sys.stdout.write("".join(f"{one}\n" for one in told))
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main())
