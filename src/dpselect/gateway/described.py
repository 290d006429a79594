"""What the owner declared, as everybody may read it who may use the data."""

from __future__ import annotations

from datetime import UTC, datetime
from fractions import Fraction

from dpselect._ground.keys import key_of, text_of
from dpselect._ground.parameters import shown
from dpselect._ground.periods import periods_of
from dpselect.gateway.settings.values import DataSettings, Key, Person, Scalar
from dpselect.ledger.account import usual_unit
from dpselect.release import formatting
from dpselect.release.formatting import Json

MOST_PERIODS = 60


def data(settings: DataSettings, late: int = 0) -> dict[str, Json]:
    """One data set, whose tick has doubled so often."""
    return {
        "name": settings.name,
        "title": settings.title or settings.name,
        "about": settings.about,
        "unit": settings.unit or _unit(settings),
        "items": [_key(one) for one in settings.items],
        "groups": [*settings.groups],
        "filters": {name: "any" if values is None else _list(values) for name, values in settings.filters.items()},
        "weights": {
            name: {"at_most": shown(one.at_most), "unit": _number(one.unit)} for name, one in settings.weights.items()
        },
        "values": {
            name: {
                "low": shown(one.low),
                "high": shown(one.high),
                "step": None if one.step is None else shown(one.step),
            }
            for name, one in settings.values.items()
        },
        "domains": {name: _list(values) for name, values in settings.domains.items()},
        "sizes": {
            "users": settings.sizes.users,
            "items": settings.sizes.items,
            "items_per_user": shown(settings.sizes.items_per_user),
            "skew": shown(settings.sizes.skew),
            "groups": settings.sizes.groups,
            "rows": settings.sizes.all_rows,
            "bytes": settings.sizes.all_bytes,
        },
        "time": settings.time,
        "period": settings.period,
        "timezone": settings.timezone if settings.period is not None else None,
        "periods": [*periods(settings, datetime.now(UTC))],
        "max_k": settings.max_k,
        "max_items_per_user": settings.max_items_per_user,
        "tick": float(settings.tick) * 2**late,
        "slips": late,
        "longest": float(settings.longest),
        "approve": settings.approve,
        "promise": {"epsilon": shown(settings.promise.epsilon), "delta": shown(settings.promise.delta)},
    }


def person(one: Person, names: list[str]) -> dict[str, Json]:
    """Somebody, without their token."""
    until = None if one.until is None else one.until.isoformat()
    return {"name": one.name, "role": str(one.role), "data": [*names], "until": until}


def periods(settings: DataSettings, now: datetime) -> list[str]:
    """The periods that are offered, newest first: from the first that the owner names to the one that is now."""
    if settings.period is None or settings.since is None:
        return []
    today = now.date()
    forms = {"day": "%Y-%m-%d", "week": "%G-W%V", "month": "%Y-%m", "year": "%Y"}
    name = (
        f"{today.year}-Q{(today.month + 2) // 3}"
        if settings.period == "quarter"
        else today.strftime(forms[settings.period])
    )
    found = periods_of(settings.time, settings.period, f"{settings.since}..{name}", settings.timezone).names
    return [*reversed(found)][:MOST_PERIODS]


def _unit(settings: DataSettings) -> str:
    user = None if settings.user is None else text_of(key_of("user", settings.user))
    return usual_unit(user, settings.period)


def _number(number: Fraction | None) -> Json:
    return None if number is None else shown(number)


def _key(key: Key) -> Json:
    return list(key) if isinstance(key, tuple) else key


def _list(values: tuple[Scalar, ...]) -> list[Json]:
    return [formatting.plain(one) for one in values]
