"""What the owner declared, as everybody may read it who may use the data."""

from __future__ import annotations

from datetime import UTC, datetime

from dpselect._ground.periods import periods_of
from dpselect.gateway.settings.kinds import ANY
from dpselect.gateway.settings.values import DataSettings, Person
from dpselect.gateway.web.replies import Data
from dpselect.release.formatting import Json

MOST_PERIODS = 60


def data(settings: DataSettings, late: int = 0) -> dict[str, Json]:
    """One data set, whose tick has doubled so often. Of what is declared, that is shown which the description names."""
    found = settings.model_dump(mode="json", include=set(Data.__annotations__))
    return {
        **found,
        "title": settings.title or settings.name,
        "unit": settings.whom,
        "filters": {name: ANY if values is None else values for name, values in found["filters"].items()},
        "sizes": {**found["sizes"], "rows": settings.sizes.all_rows, "bytes": settings.sizes.all_bytes},
        "timezone": settings.timezone if settings.period is not None else None,
        "periods": [*periods(settings, datetime.now(UTC))],
        "tick": float(settings.tick) * 2**late,
        "slips": late,
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
