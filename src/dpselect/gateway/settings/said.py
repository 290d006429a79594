"""Settings in words, for the owner who looks them over before the gateway starts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from fractions import Fraction

from dpselect._ground.keys import names, text_of
from dpselect._ground.parameters import percent, shown
from dpselect.engines.postgres.address import is_postgres
from dpselect.engines.spark.source import is_spark
from dpselect.gateway.settings.values import Amount, DataSettings, Key, Person, ServerSettings, Settings
from dpselect.ledger.account import usual_unit

_WIDTH = 12


def said(settings: Settings) -> list[str]:
    """All that is declared, line by line."""
    found: list[str] = []
    for data in settings.data.values():
        found += [f"data {data.name}{f': {data.title}' if data.title else ''}", *_rows(_of_data(data)), ""]
    found += ["people", *_rows((one.name, _of_person(one)) for one in settings.people.values()), ""]
    return [*found, "server", *_rows(_of_server(settings.server))]


def _rows(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    return (f"  {name:<{_WIDTH}} {text}" for name, text in rows if text)


def _of_data(data: DataSettings) -> Iterator[tuple[str, str]]:
    yield "source", _source(data)
    unit = data.unit or usual_unit(None if data.user is None else text_of(data.user), data.period)
    kept = f"; {percent(data.keep, up=True)} of it is kept from analysts" if data.keep else ""
    yield "promise", f"{_amount(data.promise)} for {unit}{kept}"
    yield "items", ", ".join(map(_key, data.items))
    yield "groups", ", ".join(data.groups)
    filters = (f"{name} ({'any' if one is None else len(one)})" for name, one in data.filters.items())
    yield "filters", ", ".join(filters)
    yield "sums", ", ".join(f"{name} (at most {_number(one.at_most)})" for name, one in data.weights.items())
    values = (f"{name} ({_number(one.low)} to {_number(one.high)})" for name, one in data.values.items())
    yield "values", ", ".join(values)
    yield "domains", ", ".join(f"{name} ({len(items)})" for name, items in data.domains.items())
    if data.period is not None:
        begun = "" if data.since is None else f" from {data.since} on"
        yield "periods", f"each {data.period} by {data.time}, {data.timezone}{begun}"
    yield (
        "forecasts",
        f"of {data.sizes.users:,} users with {_number(data.sizes.items_per_user)} of {data.sizes.items:,} items",
    )
    agreed = ", once an owner agrees" if data.approve else ""
    yield "answers", f"{_number(data.tick)} s after the question or later{agreed}; at most {data.max_k:,} items"
    if data.prepare:
        yield "prepared", f"a copy, looked after every {data.refresh} minutes"
    yield "snapshot", data.snapshot or ""


def _source(data: DataSettings) -> str:
    table = "" if data.table is None else f", table {data.table}"
    if not isinstance(data.source, str):
        return f"{len(data.source)} files"
    if is_postgres(data.source):
        return f"a PostgreSQL database{table}"
    return f"Spark{table}" if is_spark(data.source) else f"{data.source}{table}"


def _of_person(person: Person) -> str:
    of = "all data" if person.data is None else ", ".join(person.data)
    quota = "" if person.quota is None else f", quota {_amount(person.quota)} in each"
    ways = [way for way, there in (("token", person.token), ("subject", person.subject)) if there is not None]
    until = "" if person.until is None else f", until {person.until.isoformat()}"
    return f"{person.role} of {of}{quota}; signs in by {' or '.join(ways) or 'nothing'}{until}"


def _of_server(server: ServerSettings) -> Iterator[tuple[str, str]]:
    host = f"[{server.host}]" if ":" in server.host else server.host
    yield "address", server.url or f"http://{host}:{server.port}"
    yield "ledger", "a PostgreSQL database" if is_postgres(server.ledger) else server.ledger
    yield "questions", "in a PostgreSQL database" if server.jobs is not None else os.fspath(server.folder)
    yield "at once", f"{server.workers} run, {server.waiting} wait, {server.waiting_each} of one person"
    yield "limits", f"{server.rate} requests a second, {server.body:,} bytes each"
    if server.proxy is not None:
        yield "proxy", f"{server.proxy.header} is believed from {', '.join(server.proxy.addresses)}"
    if server.oidc is not None:
        yield "oidc", f"{server.oidc.claim} of tokens by {server.oidc.issuer} for {server.oidc.audience}"


def _amount(amount: Amount) -> str:
    return f"epsilon {_number(amount.epsilon)}, delta {_number(amount.delta)}"


def _number(number: Fraction) -> str:
    return f"{shown(number):.15g}"


def _key(key: Key) -> str:
    return key if isinstance(key, str) else f"({', '.join(names(key))})"
