"""Asking: from a command's words to data, and from a question to where its answer goes."""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpselect.command import shared
from dpselect.errors import ParameterError, naming

if TYPE_CHECKING:
    from dpselect._ground.domain import Domain
    from dpselect.dataset import Dataset
    from dpselect.ledger import Account
    from dpselect.questions.questions import Question
    from dpselect.release.release import Release
    from dpselect.remote.dataset import RemoteDataset
    from dpselect.texts.text import Text

PRICE = ("epsilon", "delta", "share", "within", "users_for")

Ask = Callable[[Callable[[float | None], None]], "Release"]


def dataset_of(args: argparse.Namespace, text: Text | None = None) -> Dataset | RemoteDataset:
    """The rows that a command means, and its items: a column, or a text."""
    if args.gateway is not None:
        from dpselect.command import from_gateway

        return from_gateway.dataset_of(args)
    return dataset_here(args, text, **payment(args))


def dataset_here(args: argparse.Namespace, text: Text | None = None, **given: Any) -> Dataset:
    """The rows on this computer that a command means."""
    from dpselect.dataset import dataset_of

    return dataset_of(
        source_of(args),
        user=args.user,
        item=args.item if text is None else text,
        where=args.where,
        max_items_per_user=getattr(args, "max_items_per_user", None),  # a quantile takes one value of each user
        split=getattr(args, "split", None),
        table=args.table,
        newlines_in_values=args.newlines_in_values,
        time=args.time,
        period=args.period,
        during=shared.periods_named(args.during),
        timezone=args.timezone,
        **given,
    )


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
    """One file as itself, several as a list."""
    files: list[str] = args.files
    return files[0] if len(files) == 1 else files


def domain_of(args: argparse.Namespace) -> Domain | None:
    """What the four options say about the domain; they exclude each other."""
    from dpselect._ground import domain

    if args.domain is not None or args.domain_from is not None:
        return _listed_or_column(args, "--domain", args.domain, args.domain_from)
    if args.domain_range is not None:
        return domain.Span(*_ends(args.domain_range))
    return None if args.domain_size is None else domain.Size(args.domain_size)


def excluded(args: argparse.Namespace) -> Domain | None:
    """The items that must not come back."""
    if args.exclude is None and args.exclude_from is None:
        return None
    with naming("exclude"):
        return _listed_or_column(args, "--exclude", args.exclude, args.exclude_from)


def _listed_or_column(args: argparse.Namespace, option: str, text: str | None, place: str | None) -> Domain:
    """Items between commas, or those of a column of a file."""
    from dpselect._ground import domain

    if text is not None:
        several = args.item is not None and len(args.item) > 1
        return domain.Listed(_tuples(option, text) if several else tuple(next(csv.reader([text]), [])))
    source, colon, column = (place or "").rpartition(":")
    if not (source and colon and column):
        raise ParameterError(f"{option}-from", "be FILE:COLUMN", place)
    return domain.Column(source, column)


def listed(text: str | None) -> list[str] | None:
    """Names between commas, as a line of CSV has them; None where nothing was given."""
    return None if text is None else shared.between_commas(text)


def _tuples(option: str, text: str) -> tuple[tuple[object, ...], ...]:
    """Items of several columns, as lists in JSON."""
    found = _json_list(text)
    if found is None or not all(isinstance(item, list) for item in found):
        must = "be a list of lists in JSON where items have several columns"
        raise ParameterError(option, must, text, '[["DE", "tea"], ["SE", "milk"]]')
    return tuple(tuple(item) for item in found if isinstance(item, list))


def tuple_of(option: str, line: str) -> tuple[object, ...]:
    """An item of several columns, as a list in JSON."""
    found = _json_list(line)
    if found is None:
        raise ParameterError(option, "have a list in JSON in each line where items have several columns", line)
    return tuple(found)


def _json_list(text: str) -> list[object] | None:
    import json

    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, list) else None


def _ends(text: str) -> tuple[int, int]:
    start, _, stop = text.partition("..")
    try:
        return int(start), int(stop) + 1  # a Span is half open, as a range of Python's
    except ValueError:
        raise ParameterError("--domain-range", "be START..STOP, two whole numbers", text, "for example 1..5") from None


def put(
    args: argparse.Namespace,
    verb: str,
    given: dict[str, Any],
    doing: str = "counting distinct users",
    *,
    text: Text | None = None,
    of_a_set: bool = False,
) -> None:
    """Ask the question of these parameters, and write the answer; what an accuracy costs is told before."""

    def asked() -> tuple[Any, Question, dict[str, Any]]:
        from dpselect.queries.plan import by_names

        names = [name for name in PRICE if hasattr(args, name)]
        question, price = by_names(verb, given | {name: getattr(args, name) for name in names})
        data, less = dataset_of(args, text), excluded(args) if hasattr(args, "exclude") else None
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
            tell(args, f"dpselect: {data.plan(question, **price).asked.before}")

    near = any(getattr(args, name, None) is not None for name in ("within", "users_for"))
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
    from dpselect.engines.postgres.address import is_postgres
    from dpselect.engines.sources.files import find
    from dpselect.engines.spark.source import is_spark

    if args.gateway is not None or args.token_file is not None:
        from dpselect.command import from_gateway

        from_gateway.check(args)
    output = getattr(args, "output", None)
    path = None if output is None else Path(output)
    form = format_of(getattr(args, "format", None), path, SETS_BY_EXTENSION if of_a_set else BY_EXTENSION)
    if form == "lines" and getattr(args, "by", None) is not None:
        raise ParameterError("--by", "be left out where the answer is lines of items", "--by", "csv has the groups")
    if form == "lines" and args.counts:
        raise ParameterError("--counts", "be left out where the answer is lines of items", "--counts", "csv has both")
    source = source_of(args)
    here = path is not None and args.gateway is None and not is_postgres(source) and not is_spark(source)
    place = destination(path, find(args.files).paths if here else ())
    try:
        if before is not None:
            before()
        with Progress(doing, quiet=args.quiet) as progress:
            release = ask(progress)
    except BaseException:
        place.give_up()
        raise
    deliver(release, form, place)


def tell(args: argparse.Namespace, text: str) -> None:
    """A word to whoever waits, unless nobody wants it."""
    if not args.quiet:
        print(text, file=sys.stderr, flush=True)
