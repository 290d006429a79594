"""What `dpselect ledger` shows of a ledger: balances, entries and reservations as rows, and rows as a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpselect.ledger import Account, Balance, Charge, Entry, Ledger, Pending
    from dpselect.release.formatting import Json


def by_analyst(balances: Sequence[Balance]) -> dict[str, Json]:
    """For each analyst the sums over all data, and each budget."""
    found: dict[str, Json] = {}
    for name in dict.fromkeys(b.account.analyst for b in balances):
        own = [b for b in balances if b.account.analyst == name]
        budgets: list[Json] = [{"dataset": b.account.dataset, **_amounts([b])} for b in own]
        found[name] = {**_amounts(own), "budgets": budgets}
    return found


def _amounts(balances: Sequence[Balance]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for part in ("granted", "spent", "reserved", "left"):
        charges: list[Charge] = [getattr(b, part) for b in balances]
        found[f"{part}_epsilon"] = float(sum(c.epsilon for c in charges))
        found[f"{part}_delta"] = float(sum(c.delta for c in charges))
    return found


def balance_row(balance: Balance) -> dict[str, object]:
    """How an account stands: what it has is rounded down, what it used up."""
    from dpselect.parameters import rounded_down, rounded_up

    row: dict[str, object] = dict(_named(balance.account))
    for part, rounded in (
        ("granted", rounded_down),
        ("spent", rounded_up),
        ("reserved", rounded_up),
        ("left", rounded_down),
    ):
        charge: Charge = getattr(balance, part)
        row[part] = f"({rounded(charge.epsilon)}, {rounded(charge.delta)})"
    return row


def told(ledger: Ledger) -> Iterator[tuple[dict[str, Json], Entry]]:
    """Every entry for a person, with what the account had left after it."""
    from dpselect.ledger.audit import Sums
    from dpselect.ledger.question import summary

    sums = Sums()
    asked: dict[int, str | None] = {}
    for entry in ledger.entries():
        for _ in sums.problems(entry):
            pass  # verify tells of them
        left = sums.balance(entry.account).left
        asked[entry.number] = entry.question or asked.get(entry.refers_to or 0)
        question = asked[entry.number]
        row: dict[str, Json] = {
            "number": entry.number,
            "when": entry.at[:19].replace("T", " "),
            **_named(entry.account),
            "what": str(entry.kind),
            "epsilon": float(entry.charge.epsilon),
            "delta": float(entry.charge.delta),
            "left_epsilon": float(left.epsilon),
            "left_delta": float(left.delta),
            "question": None if question is None else summary(question),
        }
        yield row, entry


def _named(account: Account) -> dict[str, Json]:
    from dpselect.ledger.account import seen

    return {"analyst": seen(account.analyst), "dataset": seen(account.dataset)}


def pending_row(one: Pending, *, given_back: bool) -> dict[str, Json]:
    """A reservation that is not closed, and whether its question may have read rows."""
    from dpselect.ledger.question import summary

    entry = one.entry
    state = "given back" if given_back else "may have been read" if one.may_have_read else "none was read"
    return {
        "number": entry.number,
        "when": entry.at[:19].replace("T", " "),
        **_named(entry.account),
        "rows": state,
        "epsilon": float(entry.charge.epsilon),
        "delta": float(entry.charge.delta),
        "question": None if entry.question is None else summary(entry.question),
    }


def exported(entry: Entry) -> dict[str, Json]:
    """An entry, whole and exact."""
    from dpselect.ledger.charge import decimal

    return {
        "number": entry.number,
        "kind": str(entry.kind),
        "dataset": entry.account.dataset,
        "analyst": entry.account.analyst,
        "epsilon": decimal(entry.charge.epsilon),
        "delta": decimal(entry.charge.delta),
        "question": entry.question,
        "refers_to": entry.refers_to,
        "release": entry.release,
        "at": entry.at,
        "previous": entry.previous,
        "digest": entry.digest,
    }


def table(rows: Sequence[Mapping[str, object]]) -> str:
    """Rows for a person."""
    from dpselect.release.table import Table

    left = ("analyst", "dataset", "what", "rows", "question")
    return Table({name: [_brief(row[name]) for row in rows] for name in rows[0]}, left).text()


def _brief(value: object) -> object:
    """Four digits are enough for a person."""
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else value


def draw(rows: Iterable[tuple[dict[str, Json], Entry]], path: Path) -> None:
    """Epsilon used after every entry, a line for each account."""
    from dpselect.release import plots

    lines: dict[str, list[tuple[int, float, float]]] = {}
    for row, entry in rows:
        name = f"{entry.account.analyst} on {entry.account.dataset}"
        granted = float(entry.charge.epsilon) if row["what"] == "grant" else lines[name][-1][2] if name in lines else 0
        left = row["left_epsilon"]
        used = granted - (left if isinstance(left, float) else 0.0)
        lines.setdefault(name, []).append((entry.number, used, granted))
    plots.spending(lines, path)
