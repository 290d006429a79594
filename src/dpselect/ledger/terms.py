"""The terms of entries: what an account promises, a price in each period, who granted, which chain is meant.

Each is stored as JSON, has one form, and is parsed here alone. Whatever else is found raises ValueError.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from fractions import Fraction

from dpselect._ground.dataclass import dataclass
from dpselect.accounting.promise import Promise
from dpselect.ledger.account import ALWAYS
from dpselect.ledger.charge import Charge, format_decimal, parse_decimal
from dpselect.ledger.standing import FIXED_FIELDS, DataAccount

_FRACTION = re.compile(r"[0-9]{1,2000}(/[0-9]{1,2000})?", re.ASCII)


@dataclass(frozen=True)
class Chain:
    """A ledger as it was at some time: its id, the form of its tables, its entries and its head."""

    ledger: str
    form: int
    entries: int
    head: str

    def __str__(self) -> str:
        return f"ledger {self.ledger} of {self.entries:,} {'entry' if self.entries == 1 else 'entries'}"


def format_chain(chain: Chain) -> str:
    """Format the terms of an entry that names another chain."""
    return json.dumps(vars(chain), separators=(",", ":"))


def parse_chain(text: str | None) -> Chain:
    """Parse the text of `format_chain`."""
    try:
        chain = Chain(**json.loads(text or ""))
    except TypeError:
        raise ValueError("no chain") from None
    texts, numbers = (chain.ledger, chain.head), (chain.form, chain.entries)
    if not all(isinstance(value, str) for value in texts) or not all(
        type(value) is int and value >= 0 for value in numbers
    ):
        raise ValueError("no chain")
    return chain


def format_data_terms(data: DataAccount) -> str:
    """Format the terms of an account, without the total, which is the charge of its entry."""
    promise = data.promise
    terms = {
        "unit": data.unit,
        "order": promise.order,
        "apart": str(promise.apart),
        "keep": str(data.keep),
        "user": data.user,
        "period": data.period,
        "time": data.time,
        "timezone": data.timezone,
    }
    return json.dumps(terms, ensure_ascii=True, separators=(",", ":"))


def parse_data_terms(dataset: str, total: Charge, text: str) -> DataAccount:
    """Parse the text of `format_data_terms`."""
    try:
        terms = json.loads(text)
        order, fixed_terms = terms["order"], {name: terms[name] for name in FIXED_FIELDS}
        apart, keep = (_parse_fraction(terms[name]) for name in ("apart", "keep"))
    except (TypeError, KeyError, ArithmeticError):
        raise ValueError("no terms") from None
    is_valid = isinstance(fixed_terms["unit"], str) and all(
        value is None or isinstance(value, str) for value in fixed_terms.values()
    )
    if not is_valid or not (order is None or (type(order) is int and order >= 2)):
        raise ValueError("no terms")
    if not 0 <= keep <= 1 or not 0 <= apart <= total.delta or (order is None and apart):
        raise ValueError("no terms")
    return DataAccount(dataset, Promise(total.epsilon, total.delta, order, apart), keep=keep, **fixed_terms)


def _parse_fraction(text: str) -> Fraction:
    """Parse a fraction as `str` formats it, of a length that is quick to read."""
    if not _FRACTION.fullmatch(text):
        raise ValueError("no fraction")
    return Fraction(text)


def format_parts(parts: Mapping[str, Charge], approved_by: str | None = None) -> str | None:
    """Format the charge of each period, and who approved the question; None if there is neither."""
    if list(parts) == [ALWAYS] and approved_by is None:
        return None
    rows = [[period, *map(format_decimal, (c.epsilon, c.delta, c.renyi))] for period, c in sorted(parts.items())]
    return json.dumps({"parts": rows} | ({} if approved_by is None else {"by": approved_by}), separators=(",", ":"))


def parse_parts(text: str) -> Mapping[str, Charge]:
    """Parse the text of `format_parts`."""
    try:
        rows = json.loads(text)["parts"]
        return {period: Charge(*map(parse_decimal, (e, d, r))) for period, e, d, r in rows}
    except (TypeError, KeyError):
        raise ValueError("no parts") from None


def format_granter(by: str | None) -> str | None:
    """Format the terms of a grant."""
    return None if by is None else json.dumps({"by": by}, separators=(",", ":"))


def parse_granter(text: str) -> str | None:
    """Return who granted or approved by these terms."""
    try:
        by = json.loads(text).get("by")
    except AttributeError:
        raise ValueError("no terms") from None
    if not isinstance(by, (str, type(None))):
        raise ValueError("nobody")
    return by
