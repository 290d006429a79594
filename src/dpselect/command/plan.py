"""`dpselect plan`: forecasts. It reads no data but counts that were released before, and spends nothing."""

from __future__ import annotations

import argparse
import csv
import io
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpselect.command import shared
from dpselect.errors import DataError, OutputError, ParameterError, came, naming

if TYPE_CHECKING:
    from dpselect.forecast import Forecast, Population
    from dpselect.questions.questions import Question

SHAPE = "a release as JSON whose items have a count each, or a CSV file with a column count of whole numbers"

EXAMPLES = """
examples:
  dpselect plan top --k 10 --users 10000 --items 2000 --epsilon 0.1,0.3,1,3
      What a top ten of such data would be like at four budgets, by each mechanism.
  dpselect plan top --k 5 --users 800 --items 40 --domain-known --methods peeling,canonical-set
      The same where the items are known, for two mechanisms.
  dpselect plan top --k 10 --like last-year.json --epsilon 0.2,0.5,1 --plot forecast.svg
      With the noisy counts that an earlier release published, and as a picture too.
  dpselect plan top --k 10 --users 10000 --items 2000 --within 50
      What it costs that no item has over 50 users fewer than the tenth best, and what comes back then.
  dpselect plan top --k 10 --groups 50000,20000,3000 --groups-per-user 2 --epsilon 1
      In every group, for users who count in 1, 2 or 5 groups.
  dpselect plan union --users 20000 --items 5000 --items-per-user 8 --max-items-per-user 20 --format csv -o union.csv
      How many of 5,000 items would come back, into a file.

No data is read and no budget is spent: users are invented, or counts come from a release that was paid for already.
epsilon: what anybody can learn about one person from the answer; smaller is more private and less accurate.
delta: the small probability with which that promise may fail; keep it far below 1 / number of users.
exit status: 0 done, 2 a parameter is wrong, 3 the released counts cannot be read, 4 the output cannot be written, 130
interrupted, 1 anything else.
"""


def options(command: argparse.ArgumentParser) -> None:
    """Its two questions, and what each understands."""
    questions = command.add_subparsers(dest="question", metavar="QUESTION", title="questions", required=True)
    top = shared.add(questions, "top", "the k items that most users share")
    union = shared.add(questions, "union", "all items that enough users share")
    for question in (top, union):
        _crowd(question)
    top.add_argument("-k", "--k", type=int, default=10, metavar="K", help="how many items at most (default 10)")
    top.add_argument(
        "--domain-known", action="store_true", help="the items can be listed beforehand: there are --items"
    )
    top.add_argument("--k-bar", type=int, metavar="N", help="look at the N items with most users, as in dpselect top")
    top.add_argument("--counts", action="store_true", help="counts will be asked for too; they share epsilon")
    groups = top.add_argument_group("in every group (dpselect top --by)")
    groups.add_argument("--groups", metavar="N,N", help="how many users each group has, in place of --users")
    groups.add_argument("--groups-per-user", metavar="M", help="in how many of them a user is, on average (default 1)")
    groups.add_argument(
        "--max-groups-per-user", type=int, metavar="N", help="in how many a user counts (default: 1, 2 and 5 compared)"
    )
    _price(top, "--within", "no item has over N users fewer than the k-th, 95 times of 100")
    _price(union, "--users-for", "an item that N users have, and no other item, is found 95 times of 100")
    for question in (top, union):
        _result(question)


def _crowd(question: shared.Group) -> None:
    """Who is imagined to be in the data."""
    who = question.add_argument_group("imagined users")
    who.add_argument("--users", type=int, metavar="N", help="how many there are (default 10000)")
    who.add_argument("--items", type=int, metavar="N", help="how many items there are (default 2000)")
    who.add_argument("--items-per-user", metavar="M", help="how many of them a user has, on average (default 10)")
    who.add_argument("--skew", metavar="S", help="the r-th item is liked as r^-S (default 1.1); 0 is all alike")
    who.add_argument(
        "--like",
        metavar="FILE",
        help="counts of an earlier release instead: its JSON, or a CSV file with a column count",
    )
    who.add_argument("--max-items-per-user", type=int, metavar="N", help="keep N random items of every user")


def _price(question: shared.Group, near: str, what: str) -> None:
    either = question.add_mutually_exclusive_group()
    either.add_argument("--epsilon", metavar="E,E", help="the budgets (default 0.1,0.3,1,3)")
    either.add_argument(near, type=int, metavar="N", help=f"the budget at which {what}")
    question.add_argument("--delta", metavar="D", help="the same for all (default 1e-6; of a known domain, 0)")
    question.add_argument("--methods", metavar="A,B", help="only these mechanisms (default: all that apply)")


def _result(question: shared.Group) -> None:
    question.add_argument("--format", choices=("table", "csv", "json"), help="default: what -o says, else a table")
    question.add_argument("-o", "--output", metavar="FILE", help="write here in place of standard output")
    question.add_argument("--plot", metavar="PICTURE", help="draw it too, into this .svg")
    shared.quiet(question)


def run(args: argparse.Namespace) -> None:
    """Find the place for the answer, make the forecast, write it, draw it."""
    from dpselect.command.output import destination, format_of
    from dpselect.command.progress import Progress

    path = None if args.output is None else Path(args.output)
    form = format_of(args.format, path)
    if form == "parquet":
        raise ParameterError("-o", "end in .txt, .csv or .json", args.output)
    place = destination(path, () if args.like is None else (args.like,))
    try:
        with Progress("trying mechanisms on imagined users", quiet=args.quiet) as progress:
            found = forecast(args, progress)
        place.write(rendered(found, form))
    except OSError as error:
        place.give_up()
        if isinstance(error, BrokenPipeError):
            raise
        raise OutputError(f"the output could not be written: {error.strerror}") from None
    except BaseException:
        place.give_up()
        raise
    if args.plot is not None:
        found.plot().save(args.plot)
        if not args.quiet:
            print(f"the picture is {args.plot}", file=sys.stderr)


def forecast(args: argparse.Namespace, progress: Any) -> Forecast:
    """The forecast of a question, of imagined users or of counts that were released before."""
    like = _like(args)
    with naming("users_for", "threshold"):
        return _question(args, like).forecast(
            like,
            epsilon=None if args.epsilon is None else args.epsilon.split(","),
            delta=args.delta,
            within=getattr(args, "within", None),
            threshold=getattr(args, "users_for", None),
            max_items_per_user=args.max_items_per_user,
            methods=None if args.methods is None else args.methods.split(","),
            progress=progress,
        )


def _like(args: argparse.Namespace) -> Population | list[int]:
    """The users. Beside counts that were released only the size of a known domain may be said."""
    from dpselect.forecast import Population

    said = {name: getattr(args, name, None) for name in Population.flat_names()}
    if said["groups"] is not None:
        said["groups"] = [_number(one.strip()) for one in said["groups"].split(",")]
    if args.like is None:
        return Population.from_flat(said)
    for name, value in said.items():
        if value is not None and not (name == "items" and getattr(args, "domain_known", False)):
            raise ParameterError(name, "be left out where like is given", came(value))
    return released_counts(Path(args.like))


def _number(text: str) -> int | str:
    return int(text) if text.isascii() and text.isdigit() else text


def _question(args: argparse.Namespace, like: Population | list[int]) -> Question:
    """The question. The items of a known domain are those of the users, unless --items says how many they are."""
    from dpselect.questions.questions import TopK, Union

    if args.question == "union":
        return Union()
    said = {name: getattr(args, name) for name in ("k", "counts", "k_bar", "max_groups_per_user")}
    if args.domain_known:
        there = len(like) if isinstance(like, list) else like.items
        said["domain"] = there if args.items is None else args.items
    if args.groups is not None or args.max_groups_per_user is not None:
        said["by"] = "group"
    return TopK.from_flat(said)


def rendered(found: Forecast, form: str) -> bytes:
    """The forecast as the bytes of a file."""
    text = found.to_json() if form == "json" else csv_text(found) if form == "csv" else str(found)
    return (text if text.endswith("\n") else text + "\n").encode()


def csv_text(found: Forecast) -> str:
    """A line for each method and epsilon; what a method does not have is an empty field."""
    columns = found.to_columns()
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()


def released_counts(path: Path) -> list[int]:
    """The counts in a release of `dpselect top --counts`, or in any CSV with a column count or counted_users."""
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8"
        raise DataError(f"{path} cannot be read: {why}") from None
    try:
        if text.lstrip().startswith("{"):
            return [_whole(item["count"]) for item in json.loads(text)["items"]]
        rows = csv.DictReader(io.StringIO(text))
        name = "count" if "count" in (rows.fieldnames or ()) else "counted_users"
        return [_whole(row[name]) for row in rows]
    except (ValueError, KeyError, TypeError, csv.Error):
        raise DataError(f"{path} holds no released counts", f"it must be {SHAPE}") from None


def _whole(count: Any) -> int:
    """A count of either form; a number with a fraction, or none, is not one."""
    if isinstance(count, bool) or not isinstance(count, int | str):
        raise TypeError
    return int(count)
