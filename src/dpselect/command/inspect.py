"""`dpselect inspect`: show an owner the problems of a source. The output is not private."""

from __future__ import annotations

import argparse
import sys

from dpselect.command import asking, shared
from dpselect.command.options import explicit_options

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
    """Add the arguments of the command."""
    shared.add_files(command, "CSV, JSON lines, Parquet, or DuckDB with --table")
    shared.add_rows(command, {}, has_split=False)


def run(args: argparse.Namespace) -> None:
    """Inspect the source and print the report, which starts with a warning that it is not private."""
    from dpselect.engines.sources.csv_form import CsvForm
    from dpselect.engines.sources.files import prepared_path
    from dpselect.inspection.report import IntendedUse, inspect
    from dpselect.rows import parse_types

    source = asking.find_source(args)
    described_columns = explicit_options(
        args, [name for name in asking.ROW_OPTIONS if name not in shared.SOURCE_FIELDS]
    )
    if described_columns or prepared_path(source) is not None:
        report = str(asking.open_local_dataset(args).inspect())
    else:
        wanted_types = IntendedUse(types=parse_types(shared.parse_types(args).get("types", {})))
        report = str(
            inspect(source, csv=CsvForm(newlines_in_values=args.newlines_in_values), intended_use=wanted_types)
        )
    if args.files != [source] and isinstance(source, str):  # a pipe, kept in a file that ends with the command
        report = report.replace(source, args.files[0])
    sys.stdout.write(f"{report}\n")
