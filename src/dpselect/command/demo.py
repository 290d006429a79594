"""`dpselect demo`: make invented data, and ask for a private top ten."""

from __future__ import annotations

import argparse
import os
import shlex
from pathlib import Path

from dpselect.command import asking, shared
from dpselect.command.examples import TERMS
from dpselect.command.parser import build_parser
from dpselect.errors import OutputError, ParameterError

QUESTION = "--user user --item artist -k 10 --epsilon 1 --delta 1e-6".split()
EXAMPLES = f"""
examples:
  dpselect demo
      Make listening events of 100,000 invented users, and ask for their ten favourite artists.
  dpselect demo --keep plays.parquet
      The same, and keep the data to try other questions on.
  dpselect demo --users 2000
      Fewer users: fewer artists exceed the same threshold.
{TERMS}"""


def options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    command.add_argument("--users", type=int, default=100_000, metavar="N", help="how many (default 100000)")
    command.add_argument("--keep", metavar="FILE", help="write the data to this Parquet file and keep it")
    shared.add_quiet(command)


def run(args: argparse.Namespace) -> None:
    """Make the data in the file of --keep, or in a folder that is removed afterwards, and ask for a top ten."""
    from dpselect._ground.temporary import Folder

    if args.keep is None:
        with Folder() as folder:
            _ask(args, Path(folder.path, "plays.parquet"))
        return
    path = Path(args.keep)
    if path.exists():
        raise ParameterError("--keep", "name a file that is not there yet", args.keep)
    if not path.parent.is_dir():
        raise OutputError(f"the folder of --keep does not exist: {path.parent}")
    _ask(args, path)


def _ask(args: argparse.Namespace, path: Path) -> None:
    from dpselect.demo import write_listening_events

    asking.print_note(args, f"making listening events of {args.users:,} invented users")
    rows = write_listening_events(path, args.users)
    asking.print_note(args, f"asking {rows:,} rows for the ten artists that most users played")
    words = [str(path), *QUESTION]
    question_args = build_parser().parse_args(["top", *words, *(["--quiet"] if args.quiet else [])])
    question_args.run(question_args)
    name = os.environ.get("DPSELECT_COMMAND", "dpselect")
    if args.keep is None:
        asking.print_note(args, f"\nkeep the data and ask again:\n  {name} demo --keep plays.parquet")
        words[0] = "plays.parquet"
    else:
        asking.print_note(args, "\nask again, or change something:")
    asking.print_note(args, f"  {name} top {shlex.join(words)}")
