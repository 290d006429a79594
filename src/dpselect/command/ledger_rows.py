"""Rows of `dpselect ledger`: balances, entries and reservations, and their tables."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Generic, TypeVar

from dpselect.errors import OutputError

if TYPE_CHECKING:
    from dpselect.ledger import Account, DataAccount, Entry, Ledger, Pending, Standing, Usage
    from dpselect.release.formatting import Json

T = TypeVar("T")
_MAX_BYTES_IN_MEMORY = 2**20


def describe_promise(data: DataAccount) -> str:
    """Describe what is promised about data."""
    from dpselect._ground.budget_parts import percent
    from dpselect._ground.parameters import rounded_up

    promise = data.promise
    sentence = (
        f"{data.dataset}: ({rounded_up(promise.epsilon)}, {rounded_up(promise.delta)}) is promised to {data.unit}"
    )
    sentence += f" of {data.timezone}" if data.period else ""
    sentence += ", for all answers to all analysts together; "
    sentence += "questions compose" if promise.renyi is not None else "epsilons add up"
    if promise.order is not None and promise.renyi is None:
        sentence += ", for how an account composes is fixed when it is made, and this total is too small for that"
    return sentence + (f"; {percent(data.keep)} is kept back" if data.keep else "")


def describe_grant(standing: Standing) -> str:
    """Describe what a quota allows, in the terms of `ledger show`."""
    from dpselect._ground.budget_parts import percent

    account, data, granted = standing.account, standing.data, standing.granted
    per_period = "" if data.period is None else f", in every {data.period}"
    sentence = f"{account.analyst} on {account.dataset}: may use {granted} of it{per_period}"
    promise = data.promise
    if promise.renyi is None or not promise.epsilon:
        return sentence
    share = percent(granted.epsilon / promise.epsilon)
    return f"{sentence}: {share} of what is promised, adding up or composing, so epsilons of answers may add up to more"


def data_rows(data: DataAccount, used_by_period: Mapping[str, Usage]) -> list[dict[str, Json]]:
    """Return a row for each period of an account in which something was asked."""
    from dpselect.ledger import Usage

    promise, limits = data.promise, data.promise.limits
    return [
        {
            "dataset": data.dataset,
            "period": period or data.period,
            "unit": data.unit,
            "epsilon": float(promise.epsilon),
            "delta": float(promise.delta),
            "composes": promise.renyi is not None,
            "used": float(limits.part(period_used.total.as_spent)),
            "reserved": float(limits.part(period_used.total.as_spent) - limits.part(period_used.spent.as_spent)),
            "kept": float(data.keep),
        }
        for period, period_used in (used_by_period or {"": Usage()}).items()
    ]


def analyst_row(standing: Standing) -> dict[str, Json]:
    """Return the row of an analyst: amounts, the share of the quota that is left, and shares of the promise."""
    row: dict[str, Json] = {**_account_cells(standing.account), "period": standing.period or standing.data.period}
    own = standing.own
    for part, charge in (("granted", standing.granted), ("spent", own.spent), ("reserved", own.reserved)):
        row[f"{part}_epsilon"], row[f"{part}_delta"] = float(charge.epsilon), float(charge.delta)
    row["left"] = float(standing.left)
    row |= dict(zip(_PROMISE_SHARES, map(float, standing.promise_shares), strict=True))
    return {**row, "left_delta": float(standing.delta_left)}


_PROMISE_SHARES = ("quota", "used", "own_left", "common_left")
_SHARE_COLUMNS = ("reserved", "kept", "left", *_PROMISE_SHARES)
ONE_UNIT = """
quota, used, own left and common left are parts of what is promised: own left is what the quota has left, common left
what all analysts have left together, and a question must fit into both. Small questions compose, so the epsilons of
answers may add up to more than the epsilon that was granted: a quota caps a share of the promise, not their sum."""


def format_analyst_row(row: Mapping[str, Json]) -> dict[str, object]:
    """Return a row for people: the granted amounts, and everything else as shares."""
    amounts = ("spent", "reserved", "left")
    shown_values = {name: value for name, value in row.items() if name.partition("_")[0] not in amounts}
    cells: dict[str, object] = {name.replace("_", " "): value for name, value in format_row(shown_values).items()}
    return cells | {"delta left": row["left_delta"]}


def format_row(row: Mapping[str, Json]) -> dict[str, object]:
    """Return a row for people: shares in percent, amounts as (epsilon, delta), without empty periods."""
    from dpselect._ground.budget_parts import format_left, percent

    cells: dict[str, object] = {}
    for name, value in row.items():
        stem = name.removesuffix("_epsilon")
        if name.endswith("delta") or (name == "period" and value is None):
            continue
        if name in _SHARE_COLUMNS and isinstance(value, float):
            cells[name] = percent(value, up=True) if name in ("used", "reserved") else format_left(value)
        elif name.endswith("epsilon"):
            delta = row["delta" if name == "epsilon" else f"{stem}_delta"]
            cells["promise" if name == "epsilon" else stem] = f"({_format_cell(value)}, {_format_cell(delta)})"
        elif isinstance(value, bool):
            cells[name] = "yes" if value else "no"
        else:
            cells[name] = value
    return cells


def history_rows(ledger: Ledger) -> Iterator[tuple[dict[str, Json], Entry]]:
    """Yield each entry as a row for people, with the share of the budget that it left, and the entry itself."""
    from dpselect.audit.question_text import summarize
    from dpselect.audit.sums import replay

    for entry, question, sums in replay(ledger.entries()):
        shares_left = [
            standing.left for period in question.periods if (standing := sums.standing(entry.account, period))
        ]
        text = entry.question or question.text
        row: dict[str, Json] = {
            "number": entry.number,
            "when": entry.at[:19].replace("T", " "),
            **_account_cells(entry.account),
            "what": str(entry.kind),
            "by": entry.by,
            "epsilon": float(entry.charge.epsilon),
            "delta": float(entry.charge.delta),
            "left": float(min(shares_left)) if shares_left else None,
            "question": text and summarize(text) if entry.chain is None else str(entry.chain),
        }
        yield row, entry


def _account_cells(account: Account) -> dict[str, Json]:
    return {"analyst": account.analyst or None, "dataset": account.dataset or None}


def pending_row(pending: Pending, *, is_given_back: bool) -> dict[str, Json]:
    """Return the row of an open reservation, and whether its question may have read rows."""
    from dpselect.audit.question_text import summarize

    entry = pending.entry
    state = "given back" if is_given_back else "may have been read" if pending.may_have_read else "none was read"
    return {
        "number": entry.number,
        "when": entry.at[:19].replace("T", " "),
        **_account_cells(entry.account),
        "rows": state,
        "epsilon": float(entry.charge.epsilon),
        "delta": float(entry.charge.delta),
        "question": None if entry.question is None else summarize(entry.question),
    }


def export_entry(entry: Entry) -> dict[str, Json]:
    """Return every field of an entry, with exact amounts."""
    from dpselect.ledger import format_decimal

    return {
        "number": entry.number,
        "kind": str(entry.kind),
        "dataset": entry.account.dataset,
        "analyst": entry.account.analyst,
        "epsilon": format_decimal(entry.charge.epsilon),
        "delta": format_decimal(entry.charge.delta),
        "renyi": format_decimal(entry.charge.renyi),
        "question": entry.question,
        "refers_to": entry.refers_to,
        "release": entry.release,
        "terms": entry.terms,
        "at": entry.at,
        "previous": entry.previous,
        "digest": entry.digest,
    }


class StoredRows(Generic[T]):
    """Rows of JSON that are read several times; many are in a temporary file without a name, not in memory."""

    def __init__(self, rows: Iterable[T]) -> None:
        self._length = 0
        self._file = tempfile.SpooledTemporaryFile(_MAX_BYTES_IN_MEMORY, "w+", encoding="utf-8")  # noqa: SIM115
        try:
            for self._length, row in enumerate(rows, 1):
                self._file.write(json.dumps(row) + "\n")
            self._file.flush()
        except BaseException as error:
            with suppress(OSError):  # of what could not be written either
                self.close()
            if isinstance(error, OSError):
                hint = "make room; TMPDIR says where temporary files go"
                raise OutputError(f"no temporary file for rows can be written: {error.strerror}", hint) from None
            raise

    def __iter__(self) -> Iterator[T]:
        self._file.seek(0)
        return map(json.loads, self._file)

    def __len__(self) -> int:
        return self._length

    def close(self) -> None:
        """Remove the file."""
        self._file.close()


def format_table(rows: Sequence[Mapping[str, object]] | StoredRows[dict[str, Json]]) -> Iterator[str]:
    """Yield the lines of a table for people.

    The columns are those of the longest row: rows of data without periods lack one that others have.
    """
    from dpselect.release.table import format_cell, format_lines

    names = max((list(row) for row in rows), key=len)
    with closing(StoredRows([format_cell(_format_cell(row.get(name))) for name in names] for row in rows)) as cells:
        yield from format_lines(names, cells, ("analyst", "dataset", "what", "rows", "question"))


def format_json(name: str, rows: Sequence[Mapping[str, object]] | StoredRows[dict[str, Json]]) -> Iterator[str]:
    """Yield the lines of a JSON document that has these rows under a name."""
    yield f'{{\n  "{name}": ['
    for number, row in enumerate(rows, 1):
        lines = json.dumps(row, indent=2, ensure_ascii=False).replace("\n", "\n    ")
        yield f"    {lines}{',' * (number < len(rows))}"
    yield "  ]\n}"


def _format_cell(value: object) -> object:
    """Return a value with four digits at most."""
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else value
