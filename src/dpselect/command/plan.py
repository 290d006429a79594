"""`dpselect plan`: forecast answers. It reads no data but counts of an earlier release, and spends nothing."""

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
from dpselect.command.options import (
    add_list_option,
    add_option,
    add_options,
    explicit_options,
    read_values,
    select_fields,
)
from dpselect.command.parser import COMMANDS, add_subcommand
from dpselect.errors import DataError, OutputError, ParameterError, came
from dpselect.forecast.population import Population
from dpselect.queries.facts import Facts
from dpselect.questions.parts import Payment
from dpselect.questions.questions import Question, TopK, Union

if TYPE_CHECKING:
    from dpselect.forecast import Forecast

_COUNTS_SHAPE = "a release as JSON whose items have a count each, or a CSV file with a column count of whole numbers"

# By question: its type, its parameters, those of its users, and the accuracy that may replace epsilon.
_USER_FIELDS = ("users", "items", "items_per_user", "skew")
_PLANNED_QUESTIONS: dict[str, tuple[type[Question], tuple[str, ...], tuple[str, ...], str]] = {
    "top": (
        TopK,
        ("k", "counts", "domain", "k_bar", "max_groups_per_user"),
        (*_USER_FIELDS, "groups", "groups_per_user"),
        "within",
    ),
    "union": (Union, (), _USER_FIELDS, "threshold"),
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
    """Add the questions and their arguments."""
    questions = command.add_subparsers(dest="question", metavar="QUESTION", title="questions", required=True)
    for name, (question_type, question_fields, user_fields, accuracy) in _PLANNED_QUESTIONS.items():
        question = add_subcommand(questions, name, COMMANDS[name])
        add_options(
            question.add_argument_group("the question"), select_fields(question_type.flat_fields(), question_fields)
        )
        add_options(question.add_argument_group("imagined users"), select_fields(Population.flat_fields(), user_fields))
        like_help = "counts of an earlier release instead: its JSON, or a CSV file with a column count"
        add_option(question, "--like", metavar="FILE", help=like_help)
        add_options(question, select_fields(Facts.flat_fields(), ("max_items_per_user",)))
        price_group = question.add_argument_group("the price")
        add_list_option(price_group, "--epsilon", placeholder="E,...", help="the budgets (default 0.1,0.3,1,3)")
        add_options(price_group, select_fields(Payment.flat_fields(), (accuracy, "delta")))
        add_list_option(
            price_group,
            "--methods",
            placeholder="NAME,...",
            help="compare only these mechanisms (default: all that apply)",
        )
        format_help = "table, csv, json; else what -o says, or a table"
        add_option(question, "--format", choices=("table", "csv", "json"), metavar="NAME", help=format_help)
        add_option(question, "-o", "--output", metavar="FILE", help="write here instead of to standard output")
        add_option(question, "--plot", metavar="PICTURE", help="draw it too, into this .svg")
        shared.add_quiet(question)


def run(args: argparse.Namespace) -> None:
    """Check the destination, make the forecast, write it, and draw it."""
    from dpselect.command.output import check_destination, choose_format
    from dpselect.command.progress import Progress

    path = None if args.output is None else Path(args.output)
    file_format = choose_format(args.format, path)
    if file_format == "parquet":
        raise ParameterError("-o", "end in .txt, .csv or .json", args.output)
    output = check_destination(path, () if args.like is None else (args.like,))
    try:
        with Progress("running mechanisms on simulated users", quiet=args.quiet) as progress:
            made_forecast = forecast(args, progress)
        output.write(_render(made_forecast, file_format))
    except OSError as error:
        output.give_up()
        if isinstance(error, BrokenPipeError):
            raise
        raise OutputError(f"the output could not be written: {error.strerror}") from None
    except BaseException:
        output.give_up()
        raise
    if args.plot is not None:
        made_forecast.plot().save(args.plot)
        if not args.quiet:
            print(f"the picture is {args.plot}", file=sys.stderr)


def forecast(args: argparse.Namespace, progress: Any) -> Forecast:
    """Return the forecast of a question, on imagined users or on counts of an earlier release."""
    return _parse_question(args).forecast(
        _parse_population(args),
        epsilon=args.epsilon,
        delta=args.delta,
        within=getattr(args, "within", None),
        threshold=getattr(args, "threshold", None),
        max_items_per_user=args.max_items_per_user,
        methods=args.methods,
        progress=progress,
    )


def _parse_population(args: argparse.Namespace) -> Population | list[int]:
    """Return the imagined users, or the counts of an earlier release."""
    parameters = {name: getattr(args, name, None) for name in Population.flat_names()}
    if parameters["groups"] is not None:
        parameters["groups"] = [
            int(size) if size.isascii() and size.isdigit() else size for size in parameters["groups"]
        ]
    if args.like is None:
        return Population.from_flat(parameters)
    for name in explicit_options(args, parameters):
        raise ParameterError(name, "be left out if like is given", came(parameters[name]))
    return _read_released_counts(Path(args.like))


def _parse_question(args: argparse.Namespace) -> Question:
    """Return the question.

    If its users are in groups, it is by a column of a made-up name, since the forecast reads no data.
    """
    question_type, question_fields, _, _ = _PLANNED_QUESTIONS[args.question]
    parameters = read_values(args, select_fields(question_type.flat_fields(), question_fields), {})
    if explicit_options(args, ("groups", "max_groups_per_user")):
        parameters["by"] = "group"
    return question_type.from_flat(parameters)


def _render(made_forecast: Forecast, file_format: str) -> bytes:
    """Return the forecast as the bytes of a file."""
    text = (
        made_forecast.to_json()
        if file_format == "json"
        else _format_csv(made_forecast)
        if file_format == "csv"
        else str(made_forecast)
    )
    return (text if text.endswith("\n") else text + "\n").encode()


def _format_csv(made_forecast: Forecast) -> str:
    """Format a row of CSV for each method and epsilon, with empty fields for values that a method lacks."""
    columns = made_forecast.to_columns()
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()


def _read_released_counts(path: Path) -> list[int]:
    """Read the counts of a release in JSON, or a CSV column named count or counted_users."""
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise DataError(f"{path} cannot be read: {reason}") from None
    try:
        if text.lstrip().startswith("{"):
            return [_parse_count(item["count"]) for item in json.loads(text)["items"]]
        rows = csv.DictReader(io.StringIO(text))
        name = "count" if "count" in (rows.fieldnames or ()) else "counted_users"
        return [_parse_count(row[name]) for row in rows]
    except (ValueError, KeyError, TypeError, csv.Error):
        raise DataError(f"{path} holds no released counts", f"it must be {_COUNTS_SHAPE}") from None


def _parse_count(count: Any) -> int:
    """Return a count of either format; raise an error for anything but a whole number."""
    if isinstance(count, bool) or not isinstance(count, int | str):
        raise TypeError
    return int(count)
