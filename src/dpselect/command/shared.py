"""Options that several commands share, and the words of their help. Imports nothing heavy.

An option has the name of the parameter in Python, with dashes: `--k-bar` is `k_bar`.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from typing import Any

Group = argparse._ActionsContainer

FORMS = ("table", "csv", "plain-csv", "json", "parquet")
SOURCE = "CSV, JSON, Parquet, or a database with --table"
EPSILON = "how much one person's data may change the odds of any answer: at most by the factor e^epsilon; 1 is common"
SHARE = "or a share of the budget, such as 1%%: the largest epsilon whose question costs no more"
DELTA = "how likely that promise may fail for somebody, far below 1 / number of users (default 1e-6"
TERMS = """
epsilon: what anybody can learn about one person from the answer; smaller is more private and less accurate.
delta: the small probability with which that promise may fail; keep it far below 1 / number of users.
exit status: 0 done (also when fewer than k items could be told), 2 a parameter is wrong, 3 the data cannot be
read, 4 the output cannot be written, 5 the budget does not suffice, 6 the ledger cannot be used, 9 a gateway gives no
answer, 130 interrupted, 1 anything else.
"""


def add(commands: argparse._SubParsersAction[Any], name: str, summary: str, **settings: Any) -> Any:
    """A command, or an action of one, that says what it is for."""
    return commands.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.", **settings)


def files(command: Group, what: str = SOURCE) -> None:
    """Where the rows are."""
    command.add_argument("files", nargs="+", metavar="FILE", help=what)


def users(group: Group) -> None:
    """Who is protected. Prepared data say it themselves."""
    key(group, "--user", "who: the unit that is protected")


def key(group: Group, name: str, what: str) -> None:
    """One column, or several that say it together. A name may have any characters in it, so none stands between."""
    group.add_argument(name, action="append", metavar="COLUMN", help=f"{what}; of several columns: once for each")


def users_and_items(group: Group) -> None:
    """What a row says, and which rows."""
    users(group)
    key(group, "--item", "what is counted, by distinct users")
    rows(group)
    periods(group)
    split(group)
    group.add_argument("--max-items-per-user", type=int, metavar="N", help="keep N random items of every user")


def split(group: Group) -> None:
    """A row that holds several items."""
    group.add_argument(
        "--split", metavar="TEXT", help="what stands between items, if a row holds several: ' ' for words"
    )


def rows(group: Group) -> None:
    """Which rows count."""
    group.add_argument("--where", metavar="SQL", help="only rows for which this condition holds")
    source(group)


def source(group: Group) -> None:
    """How the rows are found in what is named."""
    group.add_argument("--table", metavar="NAME", help="a table of a database file")
    group.add_argument(
        "--newlines-in-values",
        action="store_true",
        help="in CSV, a value in quotes may run over lines; all quotes must match, or one row hides others",
    )


def periods(group: Group) -> None:
    """In which periods the rows lie: the promise is then for one user in one period."""
    group.add_argument("--time", metavar="COLUMN", help="the time of a row; the promise is then per user and period")
    group.add_argument("--period", metavar="SORT", help="day, week, month, quarter or year")
    group.add_argument("--during", metavar="NAME,NAME", help="which: 2026-10, or 2026-09..2026-11, or several of these")
    group.add_argument("--timezone", default="UTC", metavar="NAME", help="where days begin (default UTC)")


def periods_named(text: str | None) -> list[str] | None:
    """Periods between commas; None where nothing was given."""
    return None if text is None else [name.strip() for name in text.split(",")]


def price(group: Group, near: str | None = None, what: str = "") -> None:
    """What may be spent, exactly as typed: 0.1 is one tenth; or, in its place, how near the answer must be."""
    either = group.add_mutually_exclusive_group(required=True)
    either.add_argument("--epsilon", metavar="E", help=EPSILON)
    either.add_argument("--share", metavar="S", help=SHARE)
    if near is not None:
        either.add_argument(near, type=int, metavar="N", help=f"in place of epsilon: {what}; the price follows")


def domain(command: Group) -> None:
    """Four ways to say which items there can be."""
    group = command.add_mutually_exclusive_group()
    _names(group)
    group.add_argument("--domain-size", type=int, metavar="N", help="only how many there are")


def named_domain(command: Group) -> None:
    """Three ways to say which items there are."""
    _names(command.add_mutually_exclusive_group(required=True))
    command.set_defaults(domain_size=None)


def _names(group: Group) -> None:
    group.add_argument("--domain", metavar="A,B,C", help="the items that there can be, listed")
    group.add_argument("--domain-from", metavar="FILE:COLUMN", help="a public file that lists them")
    group.add_argument("--domain-range", metavar="START..STOP", help="whole numbers, both ends included")


def exclude(command: Group) -> None:
    """Which items must not come back."""
    group = command.add_mutually_exclusive_group()
    group.add_argument("--exclude", metavar="A,B,C", help="items that must not come back: their rows do not count")
    group.add_argument("--exclude-from", metavar="FILE:COLUMN", help="a public file that lists them")


def by(command: Group, what: str) -> None:
    """The columns of groups: between commas, or an option for each."""
    names = {"action": "extend", "type": between_commas, "metavar": "COLUMN[,COLUMN]"}
    command.add_argument("--by", **names, help=f"{what} of each value of these columns")  # type: ignore[arg-type]


def between_commas(text: str) -> list[str]:
    """Names between commas, as a line of CSV has them."""
    return next(csv.reader([text], skipinitialspace=True), [])


def groups(command: Group, what: str, default: str = "1") -> Group:
    """The same question in every group."""
    group = command.add_argument_group("the same in every group")
    by(group, what)
    group.add_argument("--groups", metavar="A,B,C", help="only these groups, shown in any case (one column)")
    bound = f"a user counts in N groups at most (default: {default}): the price"
    group.add_argument("--max-groups-per-user", type=int, metavar="N", help=bound)
    return group


def result(command: Group, forms: Sequence[str] = FORMS) -> None:
    """Where the answer goes."""
    command.add_argument(
        "--format", choices=forms, help="default: what -o says, else a table; plain-csv escapes nothing"
    )
    command.add_argument("-o", "--output", metavar="FILE", help="write here; an old file stays until all is written")
    quiet(command)


def budget(command: Group) -> None:
    """Who pays."""
    group = command.add_argument_group("a budget that pays for it")
    group.add_argument("--budget", metavar="FILE", help="the ledger that it is paid from (dpselect ledger --help)")
    group.add_argument("--analyst", metavar="NAME", help="whose budget (default: your name on this computer)")
    group.add_argument("--data", default="default", metavar="NAME", help="what the ledger calls these data")
    group.add_argument("--snapshot", metavar="TEXT", help="names the state of the data, to know a question again")
    group.add_argument("--fresh", action="store_true", help="pay again for a question that was answered before")


def gateway(command: Group) -> None:
    """Who keeps the data, where they are not here."""
    group = command.add_argument_group("or asked of a gateway: FILE is then the name of data that it keeps")
    group.add_argument(
        "--gateway", metavar="URL", help="its address; DPSELECT_TOKEN holds the token that says who asks"
    )
    group.add_argument("--token-file", metavar="FILE", help="or this file does")


def quiet(command: Group) -> None:
    """Progress goes to standard error, unless nobody wants it."""
    command.add_argument("--quiet", action="store_true", help="no progress on standard error")
