"""Asking: from a command's words to data, and from a question to where its answer goes."""

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

ROWS = ("user", "item", "where", *shared.SPLIT, *shared.OF_SOURCES, *shared.TIMES, "during")  # by flat names

INPUT = re.compile(r"(?:[\w.]+:)?-")  # standard input, and what it is; a file of that name is ./-
NO_COLUMN = "\uffff"  # which no column is called

Ask = Callable[[Callable[[float | None], None]], "Release"]


def dataset_of(args: argparse.Namespace) -> Dataset | RemoteDataset:
    """The rows that a command means, and its items: a column, or a text."""
    if args.gateway is not None:
        from dpselect.command import from_gateway

        return from_gateway.dataset_of(args)
    return dataset_here(args, **payment(args))


def dataset_here(args: argparse.Namespace, **given: Any) -> Dataset:
    """The rows on this computer that a command means."""
    from dpselect.flat import dataset_of

    said = {name: getattr(args, name) for name in options.given(args, (*ROWS, "max_items_per_user"))}
    said |= shared.types_of(args)
    text = text_of(args)
    if text is not None:
        if args.item is not None:
            raise ParameterError("--text", "be left out if --item is given", args.text)
        said["item"] = text
    try:
        data = dataset_of(source_of(args), **said, **given)
        if "item" in args:  # which `users` has not
            data.check_items()
        return data
    except ParameterError as error:
        if error.parameter not in ("user", "item") or error.parameter in said:
            raise
        raise ParameterError(f"--{error.parameter}", error.must, error.came, _columns(args)) from None


def _columns(args: argparse.Namespace) -> str | None:
    """The columns that there are, as opening the source says it to whoever names one that is not."""
    from dpselect.engines.registry import open_engine
    from dpselect.engines.sources.csv_form import CsvForm

    csv = CsvForm(newlines_in_values=args.newlines_in_values)
    try:
        open_engine(source_of(args), user=NO_COLUMN, item=NO_COLUMN, key=b"", table=args.table, csv=csv).close()
    except ParameterError as error:
        if error.parameter not in ("user", "item"):
            raise  # there is no such source
        return error.hint
    return None


def text_of(args: argparse.Namespace) -> Text | None:
    """The column of text that is meant; None where the items are a column of their own."""
    column, names = getattr(args, "text", None), options.given(args, ("ngrams", "tokenizer", "lower", "shares"))
    if column is None:
        if names:
            raise ParameterError("--text", f"name a column where {', '.join(names)} is given", "nothing")
        return None
    from dpselect.texts.text import Text

    said: dict[str, Any] = {name: getattr(args, name) for name in names}
    said |= {"ngrams": options.levels("ngrams", args.ngrams)} if args.ngrams is not None else {}
    return Text(column, level_shares=said.pop("shares", None), **said)


def payment(args: argparse.Namespace) -> dict[str, Any]:
    """Who pays, in Python's words. Half of it is a mistake, which is said in the words of the command."""
    if args.budget is None and args.analyst is not None:
        raise ParameterError("--budget", "be given with --analyst", "nothing", "dpselect ledger init FILE makes one")
    if args.budget is None:
        return {}
    from dpselect.ledger.budget import Budget

    try:
        return {"budget": Budget.open(args.budget, data=args.data, analyst=args.analyst, snapshot=args.snapshot)}
    except ParameterError as error:
        raise ParameterError(f"--{error.parameter}", error.must, error.came, error.hint) from None


def account_of(args: argparse.Namespace) -> Account:
    """Whose budget for which data."""
    from dpselect.ledger import Account

    try:
        return Account(dataset=args.data, analyst=args.analyst)
    except ParameterError as error:
        if error.parameter != "dataset":
            raise
        raise ParameterError("--data", error.must, error.came, error.hint) from None


def source_of(args: argparse.Namespace) -> str | list[str]:
    """One file as itself, several as a list; standard input as the file that holds it."""
    files: list[str] = args.files
    if _is_input(files):
        from dpselect.command.standard_input import kept

        return kept(files[0])
    return files[0] if len(files) == 1 else files


def put(args: argparse.Namespace, verb: str, given: dict[str, Any], doing: str, *, of_a_set: bool = False) -> None:
    """Ask the question of these parameters, and write the answer; what an accuracy costs is told before."""

    def asked() -> tuple[Any, Question, dict[str, Any]]:
        from dpselect.queries.plan import by_names

        question, price = by_names(verb, given)
        data = dataset_of(args)
        less = options.items(args, "exclude", several=len(getattr(args, "item", None) or ()) > 1)
        paid = {one.name: getattr(price, one.name) for one in price.parameters()}
        return data if less is None else data.exclude(less), question, paid

    def ask(progress: Callable[[float | None], None]) -> Release:
        data, question, price = asked()
        answer: Release = data.ask(question, **price, fresh=args.fresh, progress=progress)
        return answer

    def before() -> None:
        data, question, price = asked()
        if args.gateway is not None:
            from dpselect.command import from_gateway

            tell(args, f"dpselect: {from_gateway.price_of(data, question, price)}")
        else:
            plan = data.plan(question, **price)
            tell(args, f"dpselect: {plan.asked.price_sentence}")
            if data.budget is not None:
                during = {"during": data.periods} if data.periods else {}
                tell(args, f"dpselect: it {data.budget.describe_cost(plan, **during)}")

    near = options.given(args, ("within", "threshold"))
    answer(args, ask, doing, of_a_set=of_a_set, before=before if near else None)


def answer(
    args: argparse.Namespace,
    ask: Ask,
    doing: str = "counting distinct users",
    *,
    of_a_set: bool = False,
    before: Callable[[], None] | None = None,
) -> None:
    """Find the place for the answer, then ask, then write: in this order, since asking costs budget.

    The answer may be lines only where it is `of_a_set`, which loses nothing by that. `before` tells what is to be known
    before anything is paid.
    """
    from dpselect.command.output import BY_EXTENSION, SETS_BY_EXTENSION, deliver, destination, format_of
    from dpselect.command.progress import Progress

    if args.gateway is not None or args.token_file is not None:
        from dpselect.command import from_gateway

        from_gateway.check(args)
    output = getattr(args, "output", None)
    path = None if output is None else Path(output)
    form = format_of(getattr(args, "format", None), path, SETS_BY_EXTENSION if of_a_set else BY_EXTENSION)
    if form == "lines" and getattr(args, "by", None) is not None:
        raise ParameterError("--by", "be left out if the answer is lines of items", "--by", "csv has the groups")
    if form == "lines" and args.counts:
        raise ParameterError("--counts", "be left out if the answer is lines of items", "--counts", "csv has both")
    place = destination(path, () if path is None or args.gateway is not None else _files(args.files))
    try:
        if before is not None:
            before()
        with Progress(doing, quiet=args.quiet) as progress:
            release = ask(progress)
    except BaseException:
        place.give_up()
        raise
    deliver(release, form, place, explain=getattr(args, "explain", False))


def tell(args: argparse.Namespace, text: str) -> None:
    """A word to whoever waits, unless nobody wants it."""
    if not args.quiet:
        print(text, file=sys.stderr, flush=True)


def _files(files: list[str]) -> tuple[str, ...]:
    """The files that are read, over which no answer may be written."""
    from dpselect.engines.postgres.address import is_postgres
    from dpselect.engines.sources.files import find
    from dpselect.engines.sources.tables import is_lake
    from dpselect.engines.spark.source import is_spark

    one = files[0]
    if _is_input(files):
        return ("/dev/stdin",)  # which a shell may have opened on a file
    if is_postgres(one) or is_spark(one):
        return ()
    return (one,) if is_lake(one) else find(files).paths


def _is_input(files: list[str]) -> bool:
    return len(files) == 1 and INPUT.fullmatch(files[0]) is not None
