"""What `dpselect ledger` shows of a ledger: balances, entries and reservations as rows, and rows as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpselect.ledger import Account, Balance, Charge, DataAccount, Entry, Ledger, Pending, Standing
    from dpselect.ledger.standing import Used
    from dpselect.release.formatting import Json


def promised(data: DataAccount) -> str:
    """What is promised, in words."""
    from dpselect._ground.budget_parts import percent
    from dpselect._ground.parameters import rounded_up

    promise = data.promise
    said = f"{data.dataset}: ({rounded_up(promise.epsilon)}, {rounded_up(promise.delta)}) is promised to {data.unit}"
    said += f" of {data.timezone}" if data.period else ""
    said += ", for all answers to all analysts together; "
    said += "questions compose" if promise.renyi is not None else "epsilons add up"
    if promise.order is not None and promise.renyi is None:
        said += ", for how an account composes is fixed when it is made, and this total is too small for that"
    return said + (f"; {percent(data.keep)} is kept back" if data.keep else "")


def granted(balance: Balance, data: DataAccount) -> str:
    """What a quota bounds, in words and in the unit of `ledger show`."""
    from dpselect._ground.budget_parts import percent

    account, each = balance.account, "" if data.period is None else f", in every {data.period}"
    said = f"{account.analyst} on {account.dataset}: may use {balance.granted} of it{each}"
    promise = data.promise
    if promise.renyi is None or not promise.epsilon:
        return said
    share = percent(balance.granted.epsilon / promise.epsilon)
    return f"{said}: {share} of what is promised, adding up or composing, so epsilons of answers may add up to more"


def data_rows(data: DataAccount, used: Mapping[str, Used]) -> list[dict[str, Json]]:
    """How the data of one name stand, in each period in which something was asked."""
    from dpselect.ledger.standing import Used

    promise, limits = data.promise, data.promise.limits
    return [
        {
            "dataset": data.dataset,
            "period": period or data.period,
            "unit": data.unit,
            "epsilon": float(promise.epsilon),
            "delta": float(promise.delta),
            "composes": promise.renyi is not None,
            "used": float(limits.part(one.total.sums)),
            "reserved": float(limits.part(one.total.sums) - limits.part(one.spent.sums)),
            "kept": float(data.keep),
        }
        for period, one in (used or {"": Used()}).items()
    ]


def balance_row(balance: Balance, standing: Standing) -> dict[str, Json]:
    """How an analyst stands: amounts as they add up, the part of the quota that is left, and parts of the promise."""
    row: dict[str, Json] = {**_named(balance.account), "period": balance.period or standing.data.period}
    for part in ("granted", "spent", "reserved"):
        charge: Charge = getattr(balance, part)
        row[f"{part}_epsilon"], row[f"{part}_delta"] = float(charge.epsilon), float(charge.delta)
    row["left"] = float(standing.left)
    row |= dict(zip(OF_PROMISE, map(float, standing.of_promise), strict=True))
    return {**row, "left_delta": float(standing.delta_left)}


OF_PROMISE = ("quota", "used", "own_left", "common_left")
SHARES = ("reserved", "kept", "left", *OF_PROMISE)
ONE_UNIT = """
quota, used, own left and common left are parts of what is promised: own left is what the quota has left, common left
what all analysts have left together, and a question must fit into both. Small questions compose, so the epsilons of
answers may add up to more than the epsilon that was granted: a quota caps a share of the promise, not their sum."""


def of_analyst(row: Mapping[str, Json]) -> dict[str, object]:
    """A row for a person: what was granted, and all else in one unit."""
    amounts = ("spent", "reserved", "left")
    kept = {name: value for name, value in row.items() if name.partition("_")[0] not in amounts}
    said: dict[str, object] = {name.replace("_", " "): value for name, value in in_words(kept).items()}
    return said | {"delta left": row["left_delta"]}


def in_words(row: Mapping[str, Json]) -> dict[str, object]:
    """A row for a person: shares in percent, amounts in pairs; nothing where there is nothing to say."""
    from dpselect._ground.budget_parts import format_left, percent

    said: dict[str, object] = {}
    for name, value in row.items():
        stem = name.removesuffix("_epsilon")
        if name.endswith("delta") or (name == "period" and value is None):
            continue
        if name in SHARES and isinstance(value, float):
            said[name] = percent(value, up=True) if name in ("used", "reserved") else format_left(value)
        elif name.endswith("epsilon"):
            delta = row["delta" if name == "epsilon" else f"{stem}_delta"]
            said["promise" if name == "epsilon" else stem] = f"({_brief(value)}, {_brief(delta)})"
        elif isinstance(value, bool):
            said[name] = "yes" if value else "no"
        else:
            said[name] = value
    return said


def told(ledger: Ledger) -> Iterator[tuple[dict[str, Json], Entry]]:
    """Every entry for a person, with the part of the budget that was left after it."""
    from dpselect.audit.verification import Sums
    from dpselect.ledger.chains import chain_from
    from dpselect.ledger.entry import OF_THE_LEDGER
    from dpselect.ledger.question import summary

    sums = Sums()
    asked: dict[int, str | None] = {}
    for entry in ledger.entries():
        for _ in sums.problems(entry):
            pass  # verify tells of them
        lefts = [one.left for period in entry.parts if (one := sums.standing(entry.account, period))]
        asked[entry.number] = entry.question or asked.get(entry.refers_to or 0)
        question = asked[entry.number]
        row: dict[str, Json] = {
            "number": entry.number,
            "when": entry.at[:19].replace("T", " "),
            **_named(entry.account),
            "what": str(entry.kind),
            "by": entry.by,
            "epsilon": float(entry.charge.epsilon),
            "delta": float(entry.charge.delta),
            "left": float(min(lefts)) if lefts else None,
            "question": str(chain_from(entry.terms)) if entry.kind in OF_THE_LEDGER else question and summary(question),
        }
        yield row, entry


def _named(account: Account) -> dict[str, Json]:
    return {"analyst": account.analyst or None, "dataset": account.dataset or None}


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
        "renyi": decimal(entry.charge.renyi),
        "question": entry.question,
        "refers_to": entry.refers_to,
        "release": entry.release,
        "terms": entry.terms,
        "at": entry.at,
        "previous": entry.previous,
        "digest": entry.digest,
    }


def table(rows: Sequence[Mapping[str, object]]) -> str:
    """Rows for a person; those of data without periods lack that column, which others may have."""
    from dpselect.release.table import TextTable

    left = ("analyst", "dataset", "what", "rows", "question")
    names = max(rows, key=len)
    return TextTable({name: [_brief(row.get(name)) for row in rows] for name in names}, left).text()


def _brief(value: object) -> object:
    """Four digits are enough for a person."""
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else value
