"""Asking: from a command's words to data, and from a question to where its answer goes."""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpselect.errors import ParameterError

if TYPE_CHECKING:
    from dpselect.dataset import Dataset
    from dpselect.engines.domain import Domain
    from dpselect.release import Release

Ask = Callable[[Callable[[float | None], None]], "Release"]


def dataset_of(args: argparse.Namespace, **text: Any) -> Dataset:
    """The rows that a command means; `text` is what it says of a column of text."""
    from dpselect.dataset import Dataset

    return Dataset(
        source_of(args),
        user=args.user,
        item=getattr(args, "item", None),
        where=args.where,
        max_items_per_user=getattr(args, "max_items_per_user", None),  # a quantile takes one value of each user
        split=getattr(args, "split", None),
        table=args.table,
        newlines_in_values=args.newlines_in_values,
        ledger=args.ledger,
        analyst=args.analyst,
        name=args.dataset,
        snapshot=args.snapshot,
        **text,
    )


def source_of(args: argparse.Namespace) -> str | list[str]:
    """One file as itself, several as a list."""
    files: list[str] = args.files
    return files[0] if len(files) == 1 else files


def domain_of(args: argparse.Namespace) -> Domain | None:
    """What the four options say about the domain; they exclude each other."""
    from dpselect.engines import domain

    if args.domain is not None:
        return domain.Listed(tuple(next(csv.reader([args.domain]), [])))
    if args.domain_from is not None:
        source, colon, column = args.domain_from.rpartition(":")
        if not (source and colon and column):
            raise ParameterError("--domain-from", "be FILE:COLUMN", args.domain_from)
        return domain.Column(source, column)
    if args.domain_range is not None:
        return domain.Span(*_ends(args.domain_range))
    return None if args.domain_size is None else domain.Size(args.domain_size)


def _ends(text: str) -> tuple[int, int]:
    start, _, stop = text.partition("..")
    try:
        return int(start), int(stop) + 1  # a Span is half open, as a range of Python's
    except ValueError:
        raise ParameterError("--domain-range", "be START..STOP, two whole numbers", text, "for example 1..5") from None


def answer(
    args: argparse.Namespace, ask: Ask, doing: str = "counting distinct users", *, of_a_set: bool = False
) -> None:
    """Find the place for the answer, then ask, then write: in this order, since asking costs budget.

    The answer may be lines only where it is `of_a_set`, which loses nothing by that.
    """
    from dpselect.engines.files import find
    from dpselect.engines.postgres_address import is_postgres
    from dpselect.engines.spark_source import is_spark
    from dpselect.output import BY_EXTENSION, SETS_BY_EXTENSION, deliver, destination, format_of
    from dpselect.progress import Progress

    output = getattr(args, "output", None)
    path = None if output is None else Path(output)
    form = format_of(getattr(args, "format", None), path, SETS_BY_EXTENSION if of_a_set else BY_EXTENSION)
    if form == "lines" and args.counts:
        raise ParameterError("--counts", "be left out where the answer is lines of items", "--counts", "csv has both")
    source = source_of(args)
    here = path is not None and not is_postgres(source) and not is_spark(source)
    place = destination(path, find(args.files).paths if here else ())
    try:
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
