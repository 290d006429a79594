"""A gateway on a few real rows, for tests over HTTP in process: two data sets, and people of every sort."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
from starlette.testclient import TestClient

from dpselect.gateway.gateway import Gateway
from dpselect.gateway.settings.tokens import digest, fresh_token
from dpselect.gateway.settings.values import (
    Amount,
    Bounds,
    DataSettings,
    Person,
    Role,
    ServerSettings,
    Settings,
    Sizes,
    WeightColumn,
)
from dpselect.gateway.web.app import application

PROMISE = Amount(Fraction(1000), Fraction(1, 1000))
QUOTA = Amount(Fraction(100), Fraction(1, 10**4))
TICK = Fraction(1, 20)
URL = "http://127.0.0.1:8080"
ROWS = """
SELECT 'u' || (i % 400) AS "user", 'a' || (i * i % 17) AS artist,
       ['Brazil', 'Germany', 'Japan'][1 + i % 400 % 3] AS country, i % 90 AS minutes,
       DATE '2026-10-20' + (i % 30)::INT AS day
FROM range(4000) t(i)
"""
LONG_AGO = datetime.date(2020, 1, 1)


@dataclass(frozen=True)
class Small:
    """A running gateway, what asks it, and the token of everybody."""

    gateway: Gateway
    client: TestClient
    tokens: dict[str, str]

    def headers(self, name: str | None) -> dict[str, str]:
        """What a request of somebody says; of nobody it says nothing."""
        return {} if name is None else {"Authorization": f"Bearer {self.tokens[name]}"}

    def ended(self, name: str, body: dict[str, Any]) -> dict[str, Any]:
        """The question of somebody, when it has ended."""
        taken = self.client.post("/v1/questions", json=body, headers=self.headers(name))
        assert taken.status_code == 202, taken.text
        where = f"{taken.headers['Location']}?wait=30"
        found: dict[str, Any] = self.client.get(where, headers=self.headers(name)).json()
        return found


def settings(folder: Path, tokens: dict[str, str], **server: Any) -> Settings:
    """Of `plays`, which asks at once, and `visits`, which has months and where somebody must agree."""
    file = folder / "rows.parquet"
    duckdb.sql(ROWS).write_parquet(str(file))
    plays = DataSettings(
        name="plays",
        title="Plays",
        source=str(file),
        user="user",
        items=("artist", ("artist", "country")),
        promise=PROMISE,
        groups=("country",),
        filters={"country": ("Brazil", "Germany"), "minutes": None},
        weights={"minutes": WeightColumn(Fraction(60))},
        values={"minutes": Bounds(Fraction(0), Fraction(90), Fraction(1))},
        domains={"artist": tuple(f"a{at}" for at in range(17))},
        sizes=Sizes(users=400, items=17, items_per_user=Fraction(5)),
        tick=TICK,
    )
    visits = DataSettings(
        name="visits",
        source=str(file),
        user="user",
        items=("artist",),
        promise=PROMISE,
        time="day",
        period="month",
        since="2026-10",
        sizes=Sizes(users=400, items=17, items_per_user=Fraction(5)),
        tick=TICK,
        approve=True,
    )
    people = [
        Person("olga", Role.OWNER, token=digest(tokens["olga"])),
        Person("ann", Role.ANALYST, ("plays",), QUOTA, digest(tokens["ann"])),
        Person("bob", Role.ANALYST, ("visits",), QUOTA, digest(tokens["bob"])),
        Person("ada", Role.AUDITOR, token=digest(tokens["ada"])),
        Person("eve", Role.OWNER, token=digest(tokens["eve"]), until=LONG_AGO),
        Person("rex", Role.OWNER, token=digest(tokens["rex"])),
    ]
    return Settings(
        server=ServerSettings(ledger=str(folder / "ledger.sqlite"), folder=folder / "state", **server),
        data={one.name: one for one in (plays, visits)},
        people={one.name: one for one in people},
    )


@contextlib.contextmanager
def running(folder: Path, **server: Any) -> Iterator[Small]:
    """The gateway, until the test ends. The token of rex was good once and is no longer; that of `wrong` never was."""
    tokens = {name: fresh_token() for name in ("olga", "ann", "bob", "ada", "eve", "rex", "wrong")}
    declared = settings(folder, tokens, **server)
    gateway = Gateway(declared)
    gateway.people_who_sign_in.replace({name: one for name, one in declared.people.items() if name != "rex"})
    with TestClient(application(declared, gateway), URL) as client:  # which starts it, and stops it
        yield Small(gateway, client, tokens)
