"""Options that several commands share: the data, the budget, the answer. Imports nothing heavy."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import Field
from typing import Any

from dpselect.command.options import Group, add_list_option, add_option, add_options
from dpselect.errors import ParameterError, came
from dpselect.rows import CSV, Split, Table, Time

SOURCE_HELP = "CSV, JSON, Parquet, prepared data, a folder of files, a database with --table; - is CSV from a pipe"
_OUTPUT_FORMATS = ("table", "csv", "plain-csv", "json", "markdown", "parquet")
TIME_FIELDS = Time.flat_fields()  # time, period and timezone
SOURCE_FIELDS = {"table": Table.flat_fields()["table"], "newlines_in_values": CSV.flat_fields()["newlines_in_values"]}
SPLIT_FIELDS = {"split": Split.flat_fields()["split"]}


def add_files(command: Group, help_text: str = SOURCE_HELP) -> None:
    """Add the argument that names the data."""
    add_option(command, "files", nargs="+", metavar="FILE", help=help_text)


def add_users_and_items(group: Group, *, has_item: bool = True) -> None:
    """Add the columns of users and items. Prepared data know both, so neither is required."""
    add_list_option(group, "--user", placeholder="COLUMN,...", help="the column of users, who are protected")
    if has_item:
        add_list_option(group, "--item", placeholder="COLUMN,...", help="what is asked about")


def add_rows(
    group: Group,
    fact_fields: Mapping[str, Field[Any]],
    *,
    has_text: bool = False,
    has_item: bool = True,
    has_split: bool = True,
) -> None:
    """Add the options that say what a row holds and which rows count."""
    add_users_and_items(group, has_item=has_item)
    if has_text:
        add_option(
            group,
            "--text",
            metavar="COLUMN",
            help="instead of --item: a text column whose words or n-grams are the items",
        )
    add_option(group, "--where", metavar="SQL", help="only rows for which this condition holds")
    add_options(group, {**fact_fields, **SOURCE_FIELDS, **(SPLIT_FIELDS if has_split else {}), **TIME_FIELDS})
    add_types(group)
    add_list_option(
        group, "--during", placeholder="PERIOD,...", help="the periods of this question: 2026-10, or 2026-09..2026-11"
    )


_DECLARATION = re.compile(r"(.+)=([^=()']+(?:\(.*\))?)", re.DOTALL)
"""NAME=TYPE: a name may contain "=", a type only within brackets."""


def add_types(group: Group) -> None:
    """Add the option that declares types of columns."""
    help_text = (
        "the type of a column, such as price=DECIMAL(18,2) or \"at=TIME(zone='Europe/Berlin')\"; once for each column"
    )
    add_option(group, "--type", action="append", metavar="NAME=TYPE", help=help_text, rare=True)


def parse_types(args: argparse.Namespace) -> dict[str, Any]:
    """Return {"types": the types that --type declares}, or {} if it declares none."""
    declared: dict[str, str] = {}
    for declaration in args.type or ():
        match = _DECLARATION.fullmatch(declaration)
        if match is None or match[1] in declared:
            raise ParameterError("--type", "be NAME=TYPE, once for each column", came(declaration), "--type age=BIGINT")
        declared[match[1]] = match[2]
    return {"types": declared} if declared else {}


@contextmanager
def naming_options(*names: str) -> Iterator[None]:
    """Name options in errors about parameters: about these, or about any."""
    try:
        yield
    except ParameterError as error:
        if names and error.parameter not in names:
            raise
        raise ParameterError(f"--{error.parameter}", error.must, error.came, error.hint) from None


def add_result(command: Group, *, allows_lines: bool = False) -> None:
    """Add the options that say where the answer goes."""
    group = command.add_argument_group("the answer")
    formats = (*_OUTPUT_FORMATS, "lines") if allows_lines else _OUTPUT_FORMATS
    help_text = f"{', '.join(formats)}; else what -o says, or a table"
    add_option(group, "--format", choices=formats, metavar="NAME", help=help_text)
    add_option(
        group,
        "-o",
        "--output",
        metavar="FILE",
        help="write here; an existing file is replaced only once the output is complete",
    )
    help_text = "add to a table: the promise, who counted, the method"
    add_option(group, "--explain", action="store_true", help=help_text)
    add_quiet(group)


def add_budget(command: Group) -> None:
    """Add the options of the budget that pays."""
    group = command.add_argument_group("a budget that pays for it")
    add_option(group, "--budget", metavar="FILE", help="the ledger that pays (dpselect ledger --help)")
    add_option(
        group,
        "--analyst",
        metavar="NAME",
        help="the analyst whose budget is charged (default: your name on this computer)",
    )
    add_option(group, "--data", default="default", metavar="NAME", help="the name of these data in the ledger")
    snapshot_help = "a name for this version of the data, so that a repeated question is recognised"
    add_option(group, "--snapshot", metavar="TEXT", help=snapshot_help, rare=True)
    fresh_help = "draw a new answer and pay again, even if the question was answered before"
    add_option(group, "--fresh", action="store_true", help=fresh_help, rare=True)


def add_gateway(command: Group) -> None:
    """Add the options of a gateway that has the data."""
    group = command.add_argument_group("ask a gateway instead: FILE is the name of its data")
    help_text = "its address; DPSELECT_TOKEN holds your token"
    add_option(group, "--gateway", metavar="URL", help=help_text)
    add_option(group, "--token-file", metavar="FILE", help="or this file does", rare=True)


def add_quiet(command: Group) -> None:
    """Add the option that turns off progress."""
    add_option(command, "--quiet", action="store_true", help="no progress on standard error")
