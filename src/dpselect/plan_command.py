"""`dpselect plan`: forecasts. It reads no data but counts that were released before, and spends nothing."""

from __future__ import annotations

import argparse
import csv
import io
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpselect.errors import DataError, OutputError, ParameterError

if TYPE_CHECKING:
    from dpselect.prospects import Prospects

SHAPE = "a release as JSON whose items have a count each, or a CSV file with a column count of whole numbers"


def run(args: argparse.Namespace) -> None:
    """Find the place for the answer, make the forecast, write it, draw it."""
    from dpselect.output import destination, format_of
    from dpselect.progress import Progress

    path = None if args.output is None else Path(args.output)
    form = format_of(args.format, path)
    if form == "parquet":
        raise ParameterError("-o", "end in .txt, .csv or .json", args.output)
    place = destination(path, () if args.counts_from is None else (args.counts_from,))
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
        found.plot(args.plot)
        if not args.quiet:
            print(f"the picture is {args.plot}", file=sys.stderr)


def forecast(args: argparse.Namespace, progress: Any) -> Prospects:
    """`dps.plan` with the words of the command."""
    from dpselect.prospects import plan

    more: dict[str, Any] = {}
    if args.question == "top":
        more = {"k": args.k, "k_bar": args.k_bar, "domain_known": args.domain_known, "noisy_counts": args.counts}
    return plan(
        "top_k" if args.question == "top" else "union",
        users=args.users,
        items=args.items,
        items_per_user=_number(args.items_each),
        skew=args.skew,
        counts=None if args.counts_from is None else released_counts(Path(args.counts_from)),
        max_items_per_user=args.max_items_per_user,
        epsilon=args.epsilon.split(","),
        delta=args.delta,
        methods=None if args.methods is None else args.methods.split(","),
        progress=progress,
        **more,
    )


def _number(text: str | None) -> str | int | None:
    """Beside counts it must be a whole number, as an average of imagined users it may have a fraction."""
    return int(text) if text is not None and text.isascii() and text.isdigit() else text


def rendered(found: Prospects, form: str) -> bytes:
    """The forecast as the bytes of a file."""
    text = found.to_json() if form == "json" else csv_text(found) if form == "csv" else str(found)
    return (text if text.endswith("\n") else text + "\n").encode()


def csv_text(found: Prospects) -> str:
    """A line for each method and epsilon; what a method does not have is an empty field."""
    columns = found.to_columns()
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()


def released_counts(path: Path) -> list[int]:
    """The counts in a release that `dpselect top --counts` wrote, or in any CSV file with a column count."""
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8"
        raise DataError(f"{path} cannot be read: {why}") from None
    try:
        if text.lstrip().startswith("{"):
            return [_whole(item["count"]) for item in json.loads(text)["items"]]
        return [_whole(row["count"]) for row in csv.DictReader(io.StringIO(text))]
    except (ValueError, KeyError, TypeError, csv.Error):
        raise DataError(f"{path} holds no released counts", f"it must be {SHAPE}") from None


def _whole(count: Any) -> int:
    """A count of either form; a number with a fraction, or none, is not one."""
    if isinstance(count, bool) or not isinstance(count, int | str):
        raise TypeError
    return int(count)
