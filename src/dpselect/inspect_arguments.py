"""What `dpselect inspect` understands, and examples."""

from __future__ import annotations

import argparse
from typing import Any

from dpselect.options import rows

EXAMPLES = """
examples:
  dpselect inspect plays.csv
      Which lines are left out, and why, with their numbers.
  dpselect inspect plays.parquet --user user --item artist
      Which columns cannot be read; how many rows have no user; how many users and items there are.

What it prints is NOT private. It is for the owner of the data, before anybody else asks, and costs no budget.
exit status: 0 done, whatever was found, 2 a parameter is wrong, 3 the source cannot be opened, 130 interrupted, 1
anything else.
"""
SUMMARY = "what is wrong with a source, for its owner only: not private"


def add(commands: argparse._SubParsersAction[Any], formatter: type[argparse.HelpFormatter]) -> None:
    """The command and its options."""
    command = commands.add_parser(
        "inspect",
        help=SUMMARY,
        description=SUMMARY[0].upper() + SUMMARY[1:] + ".",
        epilog=EXAMPLES.strip("\n"),
        formatter_class=formatter,
        allow_abbrev=False,
    )
    command.add_argument("files", nargs="+", metavar="FILE", help="CSV, JSON lines, Parquet, or DuckDB with --table")
    command.add_argument("--user", metavar="COLUMN", help="who: the unit that is protected")
    command.add_argument("--item", metavar="COLUMN", help="what is counted")
    rows(command)
