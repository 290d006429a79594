"""The worker of bad_inputs: makes a case from its kind and number, runs it, and says how it ended.

Not a benchmark of its own. `python bad_cases.py FOLDER GIB` reads cases from standard input, one JSON line each.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import shutil
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

from bad_numbers import MARKER, Given
from bad_questions import accounting, functions, mechanisms, verbs
from bad_sources import commands, files, filters, frames, sources

from dpselect.errors import DpselectError

KINDS: dict[str, Callable[[Given], object]] = {
    "verbs": verbs,
    "functions": functions,
    "mechanisms": mechanisms,
    "accounting": accounting,
    "files": files,
    "frames": frames,
    "filters": filters,
    "commands": commands,
    "sources": sources,
}


def ended(kind: str, number: int, folder: Path) -> dict[str, object]:
    """How one case ended."""
    work, temporary = folder / "work", folder / "temporary"
    for one in (work, temporary):
        shutil.rmtree(one, ignore_errors=True)
        one.mkdir()
    tempfile.tempdir = str(temporary)
    os.environ["TMPDIR"] = str(temporary)
    os.chdir(work)
    given = Given(random.Random(f"{kind} {number}"), work)
    said = io.StringIO()
    with warnings.catch_warnings(), contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("always")
        outcome, detail, words = _tried(lambda: KINDS[kind](given))
    words += said.getvalue()
    at = words.find(MARKER)
    left = [path.name for path in temporary.iterdir()]
    left += [path.name for path in work.iterdir() if path.name not in given.expected]
    os.chdir(folder)
    quotes = words[max(0, at - 60) : at + 30] if at >= 0 else ""
    return {"outcome": outcome, "detail": detail[:300], "quotes": quotes, "left": left}


def _tried(work: Callable[[], object]) -> tuple[str, str, str]:
    """The outcome, what it was in short, and all that was said: an error's text and those of its causes."""
    try:
        work()
    except DpselectError as error:
        words = "".join(traceback.format_exception(error, chain=True)[-1:]) + str(error.__context__ or "")
        long = len(str(error)) > 2_000
        return ("another error", "a message of more than 2,000 characters", words) if long else ("our error", "", words)
    except BaseException as error:  # an exit of the whole process, and whatever else there is
        where = traceback.extract_tb(error.__traceback__)[-1]
        short = f"{type(error).__name__} at {Path(where.filename).name}:{where.lineno}: {str(error)[:120]}"
        return "another error", short, str(error)
    return "answer", "", ""


def main() -> None:
    """Run what comes in; the answers go out by a file of their own, since cases may write to standard output."""
    folder, gib = Path(sys.argv[1]), int(sys.argv[2])
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (gib << 30, gib << 30))
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        kind, number = json.loads(line)
        answers.write(json.dumps(ended(kind, number, folder)) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
