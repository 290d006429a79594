"""What `dpselect plan` understands: its two questions, their options, and examples."""

from __future__ import annotations

import argparse
from typing import Any

EXAMPLES = """
examples:
  dpselect plan top --k 10 --users 10000 --items 2000 --epsilon 0.1,0.3,1,3
      What a top ten of such data would be like at four budgets, by each mechanism.
  dpselect plan top --k 5 --users 800 --items 40 --domain-known --methods peeling,canonical-set
      The same where the items are known, for two mechanisms.
  dpselect plan top --k 10 --counts-from last-year.json --epsilon 0.2,0.5,1 --plot prospects.svg
      With the noisy counts that an earlier release published, and as a picture too.
  dpselect plan union --users 20000 --items 5000 --items-each 8 --max-items-per-user 20 --format csv -o union.csv
      How many of 5,000 items would come back, into a file.

No data is read and no budget is spent: users are invented, or counts come from a release that was paid for already.
epsilon: what anybody can learn about one person from the answer; smaller is more private and less accurate.
delta: the small probability with which that promise may fail; keep it far below 1 / number of users.
exit status: 0 done, 2 a parameter is wrong, 3 the released counts cannot be read, 4 the output cannot be written, 130
interrupted, 1 anything else.
"""
SUMMARY = "what to expect at each budget, before anything is spent"


def add(commands: argparse._SubParsersAction[Any], formatter: type[argparse.HelpFormatter]) -> None:
    """The command, its two questions and their options."""
    command = commands.add_parser(
        "plan",
        help=SUMMARY,
        description=SUMMARY[0].upper() + SUMMARY[1:] + ".",
        epilog=EXAMPLES.strip("\n"),
        formatter_class=formatter,
        allow_abbrev=False,
    )
    questions = command.add_subparsers(dest="question", metavar="QUESTION", title="questions", required=True)

    def question(name: str, summary: str) -> argparse.ArgumentParser:
        made: argparse.ArgumentParser = questions.add_parser(
            name,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            formatter_class=formatter,
            allow_abbrev=False,
        )
        _crowd(made)
        return made

    top = question("top", "the k items that most users share")
    top.add_argument("-k", "--k", type=int, default=10, metavar="K", help="how many items at most (default 10)")
    top.add_argument(
        "--domain-known", action="store_true", help="the items can be listed beforehand: there are --items"
    )
    top.add_argument("--k-bar", type=int, metavar="N", help="look at the N items with most users, as in dpselect top")
    top.add_argument("--counts", action="store_true", help="noisy counts will be asked for too; they share epsilon")
    union = question("union", "all items that enough users share")
    for made in (top, union):
        _price(made)
        _result(made)


def _crowd(question: argparse.ArgumentParser) -> None:
    """Who is imagined to be in the data."""
    who = question.add_argument_group("imagined users")
    who.add_argument("--users", type=int, metavar="N", help="how many there are (default 10000)")
    who.add_argument("--items", type=int, metavar="N", help="how many items there are (default 2000)")
    who.add_argument("--items-each", metavar="M", help="how many of them a user has, on average (default 10)")
    who.add_argument("--skew", metavar="S", help="the r-th item is liked as r^-S (default 1.1); 0 is all alike")
    who.add_argument(
        "--counts-from",
        metavar="FILE",
        help="counts of an earlier release instead: its JSON, or a CSV file with a column count",
    )
    who.add_argument("--max-items-per-user", type=int, metavar="N", help="keep N random items of every user")


def _price(question: argparse.ArgumentParser) -> None:
    question.add_argument("--epsilon", default="0.1,0.3,1,3", metavar="E,E", help="the budgets (default 0.1,0.3,1,3)")
    question.add_argument("--delta", metavar="D", help="the same for all (default 1e-6; of a known domain, 0)")
    question.add_argument("--methods", metavar="A,B", help="only these mechanisms (default: all that apply)")


def _result(question: argparse.ArgumentParser) -> None:
    question.add_argument("--format", choices=("table", "csv", "json"), help="default: what -o says, else a table")
    question.add_argument("-o", "--output", metavar="FILE", help="write here in place of standard output")
    question.add_argument("--plot", metavar="PICTURE", help="draw it too, into this .png, .svg or .pdf")
    question.add_argument("--quiet", action="store_true", help="no progress on standard error")
