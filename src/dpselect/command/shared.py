"""Options that several commands share: where the rows are, who pays, where an answer goes. Imports nothing heavy."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from dataclasses import Field
from typing import Any

from dpselect.command.options import Group, add, option, several
from dpselect.errors import ParameterError, came
from dpselect.rows import CSV, Split, Table, Time

SOURCE = "CSV, JSON, Parquet, prepared data, a folder of files, a database with --table; - is CSV from a pipe"
FORMS = ("table", "csv", "plain-csv", "json", "markdown", "parquet")
TIMES = Time.flat_fields()  # time, period and timezone
OF_SOURCES = {"table": Table.flat_fields()["table"], "newlines_in_values": CSV.flat_fields()["newlines_in_values"]}
SPLIT = {"split": Split.flat_fields()["split"]}


def files(command: Group, what: str = SOURCE) -> None:
    """Where the rows are."""
    option(command, "files", nargs="+", metavar="FILE", help=what)


def users_and_items(group: Group, *, item: bool = True) -> None:
    """Whom a row is of, and what it is about. Prepared data say both themselves."""
    several(group, "--user", shown="COLUMN,...", help="the column of users, who are protected")
    if item:
        several(group, "--item", shown="COLUMN,...", help="what is asked about")


def rows(
    group: Group, facts: Mapping[str, Field[Any]], *, text: bool = False, item: bool = True, split: bool = True
) -> None:
    """What a row says, and which rows count."""
    users_and_items(group, item=item)
    if text:
        option(
            group,
            "--text",
            metavar="COLUMN",
            help="instead of --item: a text column whose words or n-grams are the items",
        )
    option(group, "--where", metavar="SQL", help="only rows for which this condition holds")
    add(group, {**facts, **OF_SOURCES, **(SPLIT if split else {}), **TIMES})
    types(group)
    several(group, "--during", shown="PERIOD,...", help="the periods of this question: 2026-10, or 2026-09..2026-11")


_DECLARATION = re.compile(r"(.+)=([^=()']+(?:\(.*\))?)", re.DOTALL)
"""A name, which may have = in it, and a type, which has it in brackets alone."""


def types(group: Group) -> None:
    """What columns of text hold."""
    said = (
        "the type of a column, such as price=DECIMAL(18,2) or \"at=TIME(zone='Europe/Berlin')\"; once for each column"
    )
    option(group, "--type", action="append", metavar="NAME=TYPE", help=said, rare=True)


def types_of(args: argparse.Namespace) -> dict[str, Any]:
    """The types that --type declares, where it does."""
    found: dict[str, str] = {}
    for one in args.type or ():
        parts = _DECLARATION.fullmatch(one)
        if parts is None or parts[1] in found:
            raise ParameterError("--type", "be NAME=TYPE, once for each column", came(one), "--type age=BIGINT")
        found[parts[1]] = parts[2]
    return {"types": found} if found else {}


def result(command: Group, *, lines: bool = False) -> None:
    """Where the answer goes."""
    group = command.add_argument_group("the answer")
    forms = (*FORMS, "lines") if lines else FORMS
    said = f"{', '.join(forms)}; else what -o says, or a table"
    option(group, "--format", choices=forms, metavar="NAME", help=said)
    option(
        group,
        "-o",
        "--output",
        metavar="FILE",
        help="write here; an existing file is replaced only once the output is complete",
    )
    said = "add to a table: the promise, who counted, the method"
    option(group, "--explain", action="store_true", help=said)
    quiet(group)


def budget(command: Group) -> None:
    """Who pays."""
    group = command.add_argument_group("a budget that pays for it")
    option(group, "--budget", metavar="FILE", help="the ledger that pays (dpselect ledger --help)")
    option(
        group,
        "--analyst",
        metavar="NAME",
        help="the analyst whose budget is charged (default: your name on this computer)",
    )
    option(group, "--data", default="default", metavar="NAME", help="the name of these data in the ledger")
    snapshot = "a name for this version of the data, so that a repeated question is recognised"
    option(group, "--snapshot", metavar="TEXT", help=snapshot, rare=True)
    fresh = "draw a new answer and pay again, even if the question was answered before"
    option(group, "--fresh", action="store_true", help=fresh, rare=True)


def gateway(command: Group) -> None:
    """Who keeps the data, where they are not here."""
    group = command.add_argument_group("ask a gateway instead: FILE is the name of its data")
    said = "its address; DPSELECT_TOKEN holds your token"
    option(group, "--gateway", metavar="URL", help=said)
    option(group, "--token-file", metavar="FILE", help="or this file does", rare=True)


def quiet(command: Group) -> None:
    """Progress goes to standard error, unless nobody wants it."""
    option(command, "--quiet", action="store_true", help="no progress on standard error")
