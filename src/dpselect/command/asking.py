"""From a command's arguments to the data and the question, and from the answer to its destination."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpselect.command import options, shared
from dpselect.errors import ParameterError

if TYPE_CHECKING:
    from dpselect.dataset import Dataset
    from dpselect.ledger import Account
    from dpselect.questions.questions import Question
    from dpselect.release.release import Release
    from dpselect.remote.dataset import RemoteDataset
    from dpselect.texts.text import Text

ROW_OPTIONS = (
    "user",
    "item",
    "where",
    *shared.SPLIT_FIELDS,
    *shared.SOURCE_FIELDS,
    *shared.TIME_FIELDS,
    "during",
)  # by flat names

_STANDARD_INPUT = re.compile(r"(?:[\w.]+:)?-")  # standard input, and what it is; a file of that name is ./-
_NO_COLUMN = "\uffff"  # a name that no column has

Ask = Callable[[Callable[[float | None], None]], "Release"]


def open_dataset(args: argparse.Namespace) -> Dataset | RemoteDataset:
    """Return the data that a command names, here or behind a gateway."""
    if args.gateway is not None:
        from dpselect.command import from_gateway

        return from_gateway.open_dataset(args)
    return open_local_dataset(args, **budget_arguments(args))


def open_local_dataset(args: argparse.Namespace, **budget: Any) -> Dataset:
    """Return the data on this computer that a command names."""
    from dpselect.flat import dataset_of

    arguments = {
        name: getattr(args, name) for name in options.explicit_options(args, (*ROW_OPTIONS, "max_items_per_user"))
    }
    arguments |= shared.parse_types(args)
    text = _parse_text(args)
    if text is not None:
        if args.item is not None:
            raise ParameterError("--text", "be left out if --item is given", args.text)
        arguments["item"] = text
    try:
        data = dataset_of(find_source(args), **arguments, **budget)
        if "item" in args:  # `users` has no items
            data.check_items()
        return data
    except ParameterError as error:
        if error.parameter not in ("user", "item") or error.parameter in arguments:
            raise
        raise ParameterError(f"--{error.parameter}", error.must, error.came, _list_columns(args)) from None


def _list_columns(args: argparse.Namespace) -> str | None:
    """Return a hint with the columns of the source, from the error of opening it with a column that is not there."""
    from dpselect.engines.address import Address
    from dpselect.engines.registry import open_engine
    from dpselect.engines.sources.csv_form import CsvForm

    address = Address.parse(find_source(args), args.table, csv=CsvForm(newlines_in_values=args.newlines_in_values))
    try:
        open_engine(address, user=_NO_COLUMN, item=_NO_COLUMN, key=b"").close()
    except ParameterError as error:
        if error.parameter not in ("user", "item"):
            raise  # there is no such source
        return error.hint
    return None


def _parse_text(args: argparse.Namespace) -> Text | None:
    """Return the column of text whose tokens are the items, or None if the items are a column of their own."""
    column, names = (
        getattr(args, "text", None),
        options.explicit_options(args, ("ngrams", "tokenizer", "lower", "shares")),
    )
    if column is None:
        if names:
            raise ParameterError("--text", f"name a column where {', '.join(names)} is given", "nothing")
        return None
    from dpselect.texts.text import Text

    arguments: dict[str, Any] = {name: getattr(args, name) for name in names}
    arguments |= {"ngrams": options.parse_levels("ngrams", args.ngrams)} if args.ngrams is not None else {}
    return Text(column, level_shares=arguments.pop("shares", None), **arguments)


def budget_arguments(args: argparse.Namespace) -> dict[str, Any]:
    """Return {"budget": the budget that pays}, or {}; errors name the options of the command."""
    if args.budget is None and args.analyst is not None:
        raise ParameterError("--budget", "be given with --analyst", "nothing", "dpselect ledger init FILE makes one")
    if args.budget is None:
        return {}
    from dpselect.ledger import Budget

    with shared.naming_options():
        return {"budget": Budget.open(args.budget, data=args.data, analyst=args.analyst, snapshot=args.snapshot)}


def parse_account(args: argparse.Namespace) -> Account:
    """Return the account of the analyst and the data."""
    from dpselect.ledger import Account

    with shared.naming_options("data"):
        return Account.parse(args.data, args.analyst)


def find_source(args: argparse.Namespace) -> str | list[str]:
    """Return one file as itself, several as a list, and standard input as the file that holds it."""
    files: list[str] = args.files
    if _is_standard_input(files):
        from dpselect.command.standard_input import save_standard_input

        return save_standard_input(files[0])
    return files[0] if len(files) == 1 else files


def ask_question(
    args: argparse.Namespace, verb: str, parameters: dict[str, Any], activity: str, *, is_set: bool = False
) -> None:
    """Ask the question of these flat parameters, and write the answer.

    If its price follows from an accuracy, the price is printed before anything is paid. `is_set`: the answer is a set,
    which loses nothing if it is written as lines.
    """

    def make_question() -> tuple[Any, Question, dict[str, Any]]:
        from dpselect.queries.planning import question_from_flat

        question, price = question_from_flat(verb, parameters)
        data = open_dataset(args)
        excluded = options.read_domain(args, "exclude", has_tuples=len(getattr(args, "item", None) or ()) > 1)
        price_arguments = {parameter.name: getattr(price, parameter.name) for parameter in price.parameters()}
        return data if excluded is None else data.exclude(excluded), question, price_arguments

    def ask(progress: Callable[[float | None], None]) -> Release:
        data, question, price = make_question()
        answer: Release = data.ask(question, **price, fresh=args.fresh, progress=progress)
        return answer

    def print_price() -> None:
        data, question, price = make_question()
        if args.gateway is not None:
            from dpselect.command import from_gateway

            print_note(args, f"dpselect: {from_gateway.describe_price(data, question, price)}")
        else:
            plan = data.plan(question, **price)
            print_note(args, f"dpselect: {plan.target_accuracy.price_sentence}")
            if data.budget is not None:
                during = {"during": data.periods} if data.periods else {}
                print_note(args, f"dpselect: it {data.budget.describe_cost(plan, **during)}")

    accuracy_options = options.explicit_options(args, ("within", "threshold"))
    write_answer(args, ask, activity, is_set=is_set, before_asking=print_price if accuracy_options else None)


def write_answer(
    args: argparse.Namespace,
    ask: Ask,
    activity: str = "counting distinct users",
    *,
    is_set: bool = False,
    before_asking: Callable[[], None] | None = None,
) -> None:
    """Find the destination, then ask, then write: in this order, since asking costs budget.

    Only an answer that `is_set` may be written as lines. `before_asking` is called just before the question is asked.
    """
    from dpselect.command.output import (
        FORMAT_BY_EXTENSION,
        SET_FORMAT_BY_EXTENSION,
        check_destination,
        choose_format,
        write_release,
    )
    from dpselect.command.progress import Progress

    if args.gateway is not None or args.token_file is not None:
        from dpselect.command import from_gateway

        from_gateway.check_options(args)
    output_option = getattr(args, "output", None)
    path = None if output_option is None else Path(output_option)
    file_format = choose_format(
        getattr(args, "format", None), path, SET_FORMAT_BY_EXTENSION if is_set else FORMAT_BY_EXTENSION
    )
    if file_format == "lines" and getattr(args, "by", None) is not None:
        raise ParameterError("--by", "be left out if the answer is lines of items", "--by", "csv has the groups")
    if file_format == "lines" and args.counts:
        raise ParameterError("--counts", "be left out if the answer is lines of items", "--counts", "csv has both")
    destination = check_destination(path, () if path is None or args.gateway is not None else _input_paths(args.files))
    try:
        if before_asking is not None:
            before_asking()
        with Progress(activity, quiet=args.quiet) as progress:
            release = ask(progress)
    except BaseException:
        destination.give_up()
        raise
    write_release(release, file_format, destination, explain=getattr(args, "explain", False))


def print_note(args: argparse.Namespace, text: str) -> None:
    """Print a line on standard error, unless --quiet was given."""
    if not args.quiet:
        print(text, file=sys.stderr, flush=True)


def _input_paths(files: list[str]) -> tuple[str, ...]:
    """Return the files that are read, which the answer must not overwrite."""
    from dpselect.engines.address import Address
    from dpselect.engines.sources.files import find_files
    from dpselect.engines.sources.tables import is_read_by_pyarrow

    source = files[0]
    if _is_standard_input(files):
        return ("/dev/stdin",)  # a shell may have opened a file as standard input
    if Address.parse(source).is_elsewhere:
        return ()
    return (source,) if is_read_by_pyarrow(source) else find_files(files).paths


def _is_standard_input(files: list[str]) -> bool:
    return len(files) == 1 and _STANDARD_INPUT.fullmatch(files[0]) is not None
