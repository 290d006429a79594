"""`dpselect prepare`: a source put in order once, in a folder that is quick to ask."""

from __future__ import annotations

import argparse
import sys

from dpselect.command import asking, shared

EXAMPLES = """
examples:
  dpselect prepare plays.parquet --user user --item artist --keep country,device -o plays
      Then: dpselect top plays -k 10 --epsilon 1 --where "country = 'DE'"
  dpselect prepare logs/*.csv --user uid --item page --time at --period month -o visits
      Rows of a month lie together; --time at --period month --during 2026-10 reads that month alone.
  dpselect prepare --add logs/2026-11-23.csv -o visits
      New rows, by the same rules. Who asks meanwhile sees the data as they were before, or after.
  dpselect prepare plays.parquet --user user --item artist --weight minutes --memory 4GiB -o plays
      With sums of minutes (--by-weight minutes) to be had; what takes more memory goes to temporary files.

For the owner of the data. The folder is as private as the rows: it holds users, items and what is kept, and only your
own user may open it. No budget is charged here; every question about it is as private as one about the rows.
exit status: 0 done, 2 a parameter is wrong, 3 the source cannot be read, 4 the folder cannot be written, 130
interrupted, 1 anything else.
"""


def options(command: shared.Group) -> None:
    """What it understands."""
    shared.files(command)
    command.add_argument("-o", "--output", required=True, metavar="DIR", help="the folder, new or to be replaced")
    command.add_argument("--add", action="store_true", help="add the rows to those in the folder, by its own rules")
    _columns(command, "--user", "who: the unit that is protected")
    _columns(command, "--item", "what is counted, by distinct users")
    _columns(command, "--keep", "other columns that questions may use: in --where, --by, or as items")
    _columns(command, "--weight", "columns of numbers, for sums and means")
    command.add_argument("--time", metavar="COLUMN", help="the time of a row, of which the period is kept")
    command.add_argument("--period", metavar="SORT", help="day, week, month, quarter or year")
    command.add_argument("--timezone", default="UTC", metavar="NAME", help="where days begin (default UTC)")
    command.add_argument(
        "--max-rows-per-user", type=int, metavar="N", help="keep N rows at most of a user, or of a user in a period"
    )
    shared.source(command)
    command.add_argument("--memory", metavar="SIZE", help="how much of it may be used, such as 4GiB")
    shared.quiet(command)


def _columns(command: shared.Group, name: str, what: str) -> None:
    names = {"action": "extend", "type": shared.between_commas, "metavar": "COLUMN[,COLUMN]"}
    command.add_argument(name, **names, help=what)  # type: ignore[arg-type]


def run(args: argparse.Namespace) -> None:
    """Prepare, and say what was made."""
    from dpselect.command.progress import Progress
    from dpselect.engines.preparation import prepare

    with Progress("preparing", quiet=args.quiet, estimate=True) as progress:
        found = prepare(
            asking.source_of(args),
            to=args.output,
            user=args.user,
            item=args.item,
            keep=args.keep or (),
            weight=args.weight or (),
            time=args.time,
            period=args.period,
            timezone=args.timezone,
            max_rows_per_user=args.max_rows_per_user,
            add=args.add,
            table=args.table,
            newlines_in_values=args.newlines_in_values,
            memory=args.memory,
            progress=progress,
        )
    sys.stdout.write(f"{found}\n")
