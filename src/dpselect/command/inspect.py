"""`dpselect inspect`: a look at a source by its owner, who may see everything in it."""

from __future__ import annotations

import argparse
import sys

from dpselect.command import asking, shared
from dpselect.command.options import given

EXAMPLES = """
examples:
  dpselect inspect plays.csv
      Which lines are left out, and why, with their numbers; which types fit the columns; the command to ask with.
  dpselect inspect plays.parquet --user user --item artist
      Which columns cannot be read; how many rows have no user; how many users and items there are.
  dpselect inspect plays.csv --type "price=DECIMAL(18,2)"
      How many values would be missing under a type, and where the first is.

What it prints is NOT private. It is for the owner of the data, before anybody else asks, and costs no budget.
exit status: 0 done, whatever was found, 2 a parameter is wrong, 3 the source cannot be opened, 130 interrupted, 1
anything else.
"""


def options(command: argparse.ArgumentParser) -> None:
    """What it understands."""
    shared.files(command, "CSV, JSON lines, Parquet, or DuckDB with --table")
    shared.rows(command, {}, split=False)


def run(args: argparse.Namespace) -> None:
    """Look, and print what was found after the warning that it is not private."""
    from dpselect.engines.inspection import Wanted, inspect
    from dpselect.engines.sources.csv_form import CsvForm
    from dpselect.engines.sources.files import prepared_path
    from dpselect.rows import parse_types

    source = asking.source_of(args)
    said = given(args, [name for name in asking.ROWS if name not in shared.OF_SOURCES])
    if said or prepared_path(source) is not None:
        found = str(asking.dataset_here(args).inspect())
    else:
        wanted = Wanted(types=parse_types(shared.types_of(args).get("types", {})))
        found = str(inspect(source, csv=CsvForm(newlines_in_values=args.newlines_in_values), wanted=wanted))
    if args.files != [source] and isinstance(source, str):  # a pipe, kept in a file that ends with the command
        found = found.replace(source, args.files[0])
    sys.stdout.write(f"{found}\n")
