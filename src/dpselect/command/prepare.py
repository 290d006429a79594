"""`dpselect prepare`: sort a source once into a file that is quick to ask."""

from __future__ import annotations

import argparse
import sys

from dpselect.command import asking, shared
from dpselect.command.options import add_list_option, add_option, add_options

EXAMPLES = """
examples:
  dpselect prepare plays.parquet --user user --item artist --keep country,device -o plays.prepared
      Then: dpselect top plays.prepared -k 10 --epsilon 1 --where "country = 'DE'"
  dpselect prepare logs/*.csv --user uid --item page --time at --period month -o visits.prepared
      Users are counted in each month: --time at --period month --during 2026-10 is quick too.
  dpselect prepare --add logs/2026-11-23.csv -o visits.prepared
      New rows, by the same rules. Who asks meanwhile sees the data as they were before, or after.
  dpselect prepare plays.parquet --user user --item artist --weight minutes --memory 4GiB -o plays.prepared
      With sums of minutes (--by-weight minutes) to be had; what takes more memory goes to temporary files.

For the owner of the data. The file is as private as the rows: it holds users, items and what is kept, and only your
own user may open it. No budget is charged here; every question about it is as private as one about the rows.
exit status: 0 done, 2 a parameter is wrong, 3 the source cannot be read, 4 the file cannot be written, 130
interrupted, 1 anything else.
"""


def options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    shared.add_files(command)
    add_option(
        command,
        "-o",
        "--output",
        required=True,
        metavar="FILE",
        help="the file, new or to be replaced; its name ends in .prepared",
    )
    add_help = "add the rows to those in the file, by its own rules"
    add_option(command, "--add", action="store_true", help=add_help)
    shared.add_users_and_items(command)
    shared.add_types(command)
    keep_help = "other columns that questions may use: in --where, --by, or as items"
    add_list_option(command, "--keep", placeholder="COLUMN,...", help=keep_help)
    add_list_option(command, "--weight", placeholder="COLUMN,...", help="columns of numbers, for sums and means")
    add_options(command, {**shared.TIME_FIELDS, **shared.SOURCE_FIELDS})
    rows_help = "keep at most N rows of a user, or of a user in a period"
    add_option(command, "--max-rows-per-user", type=int, metavar="N", help=rows_help)
    add_option(command, "--memory", metavar="SIZE", help="most memory to use, such as 4GiB")
    shared.add_quiet(command)


def run(args: argparse.Namespace) -> None:
    """Prepare the source, and print what was made."""
    from dpselect.command.progress import Progress
    from dpselect.flat import prepare

    columns = ("user", "item", "time", "period", "timezone", "table", "newlines_in_values", "add", "memory")
    arguments = {name: getattr(args, name) for name in (*columns, "max_rows_per_user")}
    arguments |= shared.parse_types(args)
    arguments |= {"keep": args.keep or (), "weights": args.weight or ()}
    with Progress("preparing", quiet=args.quiet, estimate=True) as progress:
        summary = prepare(asking.find_source(args), args.output, progress=progress, **arguments)
    sys.stdout.write(f"{summary}\n")
