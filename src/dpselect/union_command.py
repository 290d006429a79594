"""`dpselect union` and `dpselect vocab`: their words made into one question of a Dataset."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dpselect import asking
from dpselect.errors import DataError, ParameterError

if TYPE_CHECKING:
    from dpselect.dataset import Dataset
    from dpselect.release import Release


def union(args: argparse.Namespace) -> None:
    """All items that enough users share."""
    _ask(args, lambda: asking.dataset_of(args), None, "finding the items that enough users share")


def vocab(args: argparse.Namespace) -> None:
    """All n-grams of a text that enough users share."""
    text = {"text": args.text, "ngrams": ngrams(args.ngrams), "tokenizer": args.tokenizer, "lower": not args.keep_case}
    shares = None if args.shares is None else args.shares.split(",")
    _ask(args, lambda: asking.dataset_of(args, **text), shares, "finding the n-grams that enough users share")


def _ask(args: argparse.Namespace, dataset: Callable[[], Dataset], shares: Sequence[str] | None, doing: str) -> None:
    most, popular = most_items(args.most), listed(args.popular)

    def ask(progress: Callable[[float | None], None]) -> Release:
        return dataset().union(
            epsilon=args.epsilon,
            delta=args.delta,
            max_items_per_user=most,
            method=args.method,
            counts=args.counts,
            shares=shares,
            popular=popular,
            in_engine=getattr(args, "in_engine", False),  # vocab has no such option
            fresh=args.fresh,
            progress=progress,
        )

    asking.answer(args, ask, doing, of_a_set=True)


def listed(path: str | None) -> list[str] | None:
    """The items of a public file, one a line: what stands before a tab, so that a list of frequencies will do."""
    if path is None:
        return None
    try:
        with open(path, encoding="utf-8") as file:
            return [line.rstrip("\n").partition("\t")[0] for line in file]
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read", getattr(error, "strerror", None) or "it must be UTF-8 text") from None


def most_items(text: str | None) -> int | str | None:
    """A whole number as one; any other word is judged where `auto` is known."""
    if text is None:
        return None
    return int(text) if re.fullmatch(r"[+-]?[0-9]{1,18}", text) else text


def ngrams(text: str) -> int | tuple[int, int]:
    """2 is 2, and 1-3 is one to three."""
    found = re.fullmatch(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", text)
    first, last = (0, 0) if found is None else (int(found[1]), int(found[2] or found[1]))
    if not 1 <= first <= last:
        must = "be a whole number of at least 1, or two of them, the smaller first"
        raise ParameterError("--ngrams", must, text, "for example 2 or 1-3")
    return (first, last)
