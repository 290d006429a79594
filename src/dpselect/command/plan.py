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
from dpselect.command.examples import PRICE
from dpselect.command.options import add, given, option, read, several, some
from dpselect.command.parser import COMMANDS, subcommand
from dpselect.errors import DataError, OutputError, ParameterError, came
from dpselect.forecast.population import Population
from dpselect.queries.facts import Facts
from dpselect.questions.payment import Payment
from dpselect.questions.questions import Question, TopK, Union

if TYPE_CHECKING:
    from dpselect.forecast import Forecast

SHAPE = "a release as JSON whose items have a count each, or a CSV file with a column count of whole numbers"

# Of each question its parameters, those of its users, and what may stand in place of epsilon.
USERS = ("users", "items", "items_per_user", "skew")
ASKED: dict[str, tuple[type[Question], tuple[str, ...], tuple[str, ...], str]] = {
    "top": (
        TopK,
        ("k", "counts", "domain", "k_bar", "max_groups_per_user"),
        (*USERS, "groups", "groups_per_user"),
        "within",
    ),
    "union": (Union, (), USERS, "threshold"),
}

EXAMPLES = f"""
examples:
  dpselect plan top --k 10 --users 10000 --items 2000 --epsilon 0.1,0.3,1,3
      What a top ten of such data would look like at four budgets, for each mechanism.
  dpselect plan top --k 5 --users 800 --items 40 --domain-size 40 --methods peeling,canonical-set
      The same where the items are known, for two mechanisms.
  dpselect plan top --k 10 --like last-year.json --epsilon 0.2,0.5,1 --plot forecast.svg
      With the noisy counts that an earlier release published, and as a picture too.
  dpselect plan top --k 10 --users 10000 --items 2000 --within 50
      The price at which no returned item has over 50 users fewer than the tenth best, and a forecast at it.
  dpselect plan top --k 10 --groups 50000,20000,3000 --groups-per-user 2 --epsilon 1
      In every group, for users who count in 1, 2 or 5 groups.
  dpselect plan union --users 20000 --items 5000 --items-per-user 8 --max-items-per-user 20 --format csv -o union.csv
      How many of 5,000 items would be found, into a file.

No data is read and no budget is spent: users are simulated, or counts come from an earlier release.{PRICE.rstrip()}
exit status: 0 done, 2 a parameter is wrong, 3 the released counts cannot be read, 4 the output cannot be written, 130
interrupted, 1 anything else.
"""


def options(command: argparse.ArgumentParser) -> None:
    """Its two questions, and what each understands."""
    questions = command.add_subparsers(dest="question", metavar="QUESTION", title="questions", required=True)
    for name, (kind, of_question, of_users, near) in ASKED.items():
        question = subcommand(questions, name, COMMANDS[name])
        add(question.add_argument_group("the question"), some(kind.flat_fields(), of_question))
        add(question.add_argument_group("imagined users"), some(Population.flat_fields(), of_users))
        like = "counts of an earlier release instead: its JSON, or a CSV file with a column count"
        option(question, "--like", metavar="FILE", help=like)
        add(question, some(Facts.flat_fields(), ("max_items_per_user",)))
        price = question.add_argument_group("the price")
        several(price, "--epsilon", shown="E,...", help="the budgets (default 0.1,0.3,1,3)")
        add(price, some(Payment.flat_fields(), (near, "delta")))
        several(price, "--methods", shown="NAME,...", help="compare only these mechanisms (default: all that apply)")
        known = "table, csv, json; else what -o says, or a table"
        option(question, "--format", choices=("table", "csv", "json"), metavar="NAME", help=known)
        option(question, "-o", "--output", metavar="FILE", help="write here instead of to standard output")
        option(question, "--plot", metavar="PICTURE", help="draw it too, into this .svg")
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
        with Progress("running mechanisms on simulated users", quiet=args.quiet) as progress:
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
    return _question(args).forecast(
        _like(args),
        epsilon=args.epsilon,
        delta=args.delta,
        within=getattr(args, "within", None),
        threshold=getattr(args, "threshold", None),
        max_items_per_user=args.max_items_per_user,
        methods=args.methods,
        progress=progress,
    )


def _like(args: argparse.Namespace) -> Population | list[int]:
    """The users: imagined, or those of counts that were released."""
    said = {name: getattr(args, name, None) for name in Population.flat_names()}
    if said["groups"] is not None:
        said["groups"] = [int(one) if one.isascii() and one.isdigit() else one for one in said["groups"]]
    if args.like is None:
        return Population.from_flat(said)
    for name in given(args, said):
        raise ParameterError(name, "be left out if like is given", came(said[name]))
    return released_counts(Path(args.like))


def _question(args: argparse.Namespace) -> Question:
    """The question; of a population of groups, by a column that stands for any."""
    kind, of_question, _, _ = ASKED[args.question]
    said = read(args, some(kind.flat_fields(), of_question), {})
    if given(args, ("groups", "max_groups_per_user")):
        said["by"] = "group"
    return kind.from_flat(said)


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
