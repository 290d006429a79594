"""`dpselect prepare`: a source put in order once, in a folder that is quick to ask."""

from __future__ import annotations

import argparse
import sys

from dpselect.command import asking, shared
from dpselect.command.options import add, option, several

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


def options(command: argparse.ArgumentParser) -> None:
    """What it understands."""
    shared.files(command)
    option(command, "-o", "--output", required=True, metavar="DIR", help="the folder, new or to be replaced")
    added = "add the rows to those in the folder, by its own rules"
    option(command, "--add", action="store_true", help=added)
    shared.users_and_items(command)
    kept = "other columns that questions may use: in --where, --by, or as items"
    several(command, "--keep", shown="COLUMN,...", help=kept)
    several(command, "--weight", shown="COLUMN,...", help="columns of numbers, for sums and means")
    add(command, {**shared.TIMES, **shared.OF_SOURCES})
    rows = "keep N rows at most of a user, or of a user in a period"
    option(command, "--max-rows-per-user", type=int, metavar="N", help=rows)
    option(command, "--memory", metavar="SIZE", help="how much of it may be used, such as 4GiB")
    shared.quiet(command)


def run(args: argparse.Namespace) -> None:
    """Prepare, and say what was made."""
    from dpselect.command.progress import Progress
    from dpselect.engines.preparation import prepare
    from dpselect.rows import UTC

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
            timezone=args.timezone or UTC,
            max_rows_per_user=args.max_rows_per_user,
            add=args.add,
            table=args.table,
            newlines_in_values=args.newlines_in_values,
            memory=args.memory,
            progress=progress,
        )
    sys.stdout.write(f"{found}\n")
