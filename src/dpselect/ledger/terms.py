"""What an entry says of data: unit, order, what is set apart and kept back, period; as text, and back."""

from __future__ import annotations

import json
import re
from fractions import Fraction

from dpselect.accounting.promise import Promise
from dpselect.ledger.charge import Charge
from dpselect.ledger.standing import FIXED, DataAccount

_FRACTION = re.compile(r"[0-9]{1,2000}(/[0-9]{1,2000})?", re.ASCII)


def total_of(data: DataAccount) -> Charge:
    """The epsilon and delta that are promised, as an amount."""
    return Charge(data.promise.epsilon, data.promise.delta)


def data_text(data: DataAccount) -> str:
    """All but the total, which is the charge of its entry."""
    promise = data.promise
    says = {
        "unit": data.unit,
        "order": promise.order,
        "apart": str(promise.apart),
        "keep": str(data.keep),
        "user": data.user,
        "period": data.period,
        "time": data.time,
        "timezone": data.timezone,
    }
    return json.dumps(says, ensure_ascii=True, separators=(",", ":"))


def _fraction(text: str) -> Fraction:
    """What `str` makes of a fraction, and nothing that would take long to read."""
    if not _FRACTION.fullmatch(text):
        raise ValueError("no fraction")
    return Fraction(text)


def data_from(dataset: str, total: Charge, text: str) -> DataAccount:
    """What was written; ValueError for what cannot have been."""
    try:
        says = json.loads(text)
        order, fixed = says["order"], {name: says[name] for name in FIXED}
        apart, keep = (_fraction(says[name]) for name in ("apart", "keep"))
    except (TypeError, KeyError, ArithmeticError):
        raise ValueError("no terms") from None
    sound = isinstance(fixed["unit"], str) and all(one is None or isinstance(one, str) for one in fixed.values())
    if not sound or not (order is None or (type(order) is int and order >= 2)):
        raise ValueError("no terms")
    if not 0 <= keep <= 1 or not 0 <= apart <= total.delta or (order is None and apart):
        raise ValueError("no terms")
    return DataAccount(dataset, Promise(total.epsilon, total.delta, order, apart), keep=keep, **fixed)
