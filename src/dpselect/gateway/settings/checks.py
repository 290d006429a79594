"""Settings checked for their owner before a gateway starts: what may not be meant, and what the sources lack.

Of sources the schemas are opened, and no row is read. Where the settings declare types, the values of these columns are
read too, for the owner alone.
"""

from __future__ import annotations

import datetime
import os
import stat
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from urllib.parse import parse_qs, urlsplit

from dpselect.engines import Address, Engine, SourceKind, Totals, file_bytes
from dpselect.errors import DataError, DpselectError, ParameterError
from dpselect.filter_texts import format_column, format_literal
from dpselect.gateway.settings.kinds import Key, Role, plain
from dpselect.gateway.settings.tokens import EXAMPLES
from dpselect.gateway.settings.values import DataSettings, Settings
from dpselect.gateway.sources import dataset_of
from dpselect.ledger import periods_between
from dpselect.questions import Listed, key_columns

_OF_ALL = ("source", "table", "user", "time")  # what is wrong with these is wrong whatever is asked
_SOME_DAY = datetime.date(2000, 1, 1)  # any will do: only the column is looked at
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def warnings(settings: Settings, path: str | os.PathLike[str] | None = None) -> list[str]:
    """List sentences about what may not be meant; `path` is the file that the settings were read from."""
    file_cautions = () if path is None else _file_cautions(settings, path)
    return [*file_cautions, *_server_cautions(settings), *_data_cautions(settings), *_people_cautions(settings)]


def _file_cautions(settings: Settings, path: str | os.PathLike[str]) -> Iterator[str]:
    """Yield sentences if other users may change the file or read a secret in it; none on Windows."""
    mode = os.stat(path).st_mode if os.name == "posix" else 0
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        yield f"{os.fspath(path)} may be written by other users of this machine: chmod go-w {os.fspath(path)}"
    if mode & (stat.S_IRGRP | stat.S_IROTH) and any(map(_has_password, _addresses(settings))):
        yield f"{os.fspath(path)} holds a password, and other users of this machine may read it: chmod 600"


def _addresses(settings: Settings) -> Iterator[str]:
    yield settings.server.ledger
    yield settings.server.jobs or ""
    yield from (data.source for data in settings.data.values() if isinstance(data.source, str))


def _has_password(address: str) -> bool:
    if Address.parse(address).kind not in (SourceKind.POSTGRES, SourceKind.OTHER_PACKAGE):
        return False
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return bool(parts.password) or "password" in parse_qs(parts.query)


def _server_cautions(settings: Settings) -> Iterator[str]:
    server = settings.server
    is_reachable = server.host not in _LOOPBACK
    if is_reachable and (server.url is None or not server.url.startswith("https://")):
        yield (
            f"host = {server.host!r} can be reached from other machines: people's tokens are safe on their way only "
            'behind a proxy with TLS, whose address is url = "https://..."'
        )
    elif server.url is not None and server.url.startswith("http://") and urlsplit(server.url).hostname not in _LOOPBACK:
        yield "url begins with http://: everybody on the way can read people's tokens; put TLS in front of it"


def _data_cautions(settings: Settings) -> Iterator[str]:
    owners = [person for person in settings.people.values() if person.role is Role.OWNER]
    for name, data in settings.data.items():
        if data.outside is not None:
            yield (
                f"the promise of {name} depends on {data.outside}, which reads its rows and is not part of dpselect; "
                "how long it takes may tell of rows too"
            )
        if Address.parse(data.source).is_elsewhere and data.snapshot is None:
            yield f"every question to {name} is charged again, because a database does not report changes: set snapshot"
        if data.approve and not any(owner.data is None or name in owner.data for owner in owners):
            yield f"no question to {name} can run: approve = true, and it has no owner among the people"


def _people_cautions(settings: Settings) -> Iterator[str]:
    has_other_sign_in = settings.server.proxy is not None or settings.server.oidc is not None
    if not any(person.role is Role.OWNER for person in settings.people.values()):
        yield "nobody is an owner: while the gateway runs, no quota can be granted and no question approved"
    for name, person in settings.people.items():
        if person.token is None and (person.subject is None or not has_other_sign_in):
            missing = "token" if person.subject is None else "token, and no proxy or oidc that would say their subject"
            yield f"{name} cannot sign in: they have no {missing}"
        if person.token is not None and person.token.startswith(EXAMPLES):
            yield f"{name} cannot sign in: their token is the example's; dpselect gateway token makes one"
        if person.quota is not None and person.role is not Role.ANALYST:
            yield f"the quota of {name} is useless: only analysts ask"


# ---- sources: do they have the columns that the settings speak of? -------------------------------------------


def check_sources(settings: Settings) -> list[str]:
    """List the mistakes, one sentence each; none if every declared column is there and of its kind."""
    return [sentence for data in settings.data.values() for sentence in _find_mistakes(data)]


def missing_in_sources(settings: Settings) -> list[str]:
    """Count the missing values of each column of a declared type, one sentence each; reads rows."""
    from dpselect.flat import missing_as_declared

    return [
        f"[data.{data.name}] types.{sentence}"
        for data in settings.data.values()
        if data.types and data.outside is None  # another package declares its types
        for sentence in missing_as_declared(plain(data.source), data.types, table=data.table)
    ]


def _find_mistakes(data: DataSettings) -> list[str]:
    """List the mistakes of one data set: if not even the first question could be asked, only that one's."""
    first, *others = _list_attempts(data)
    mistakes = [*_check_size(data), *_try_to_open(data, *first)]
    return mistakes or [sentence for attempt in others for sentence in _try_to_open(data, *attempt)]


def _check_size(data: DataSettings) -> Iterator[str]:
    """Yield a sentence if files are larger than the size that is declared, which decides when answers leave."""
    if file_bytes(plain(data.source)) > data.sizes.all_bytes:
        yield (
            f"[data.{data.name}] sizes.bytes must be at least the size of the files\n"
            "  hint: they decide when answers leave, so declare them with room to grow"
        )


def _try_to_open(data: DataSettings, location: str, attempt: Callable[[], None]) -> list[str]:
    """Return the mistake of one attempt, if it has one."""
    try:
        attempt()
    except DpselectError as error:
        concerns_all = isinstance(error, (ParameterError, DataError)) and str(error).partition(" must ")[0] in _OF_ALL
        return [f"[data.{data.name}] {error}" if concerns_all else f"[data.{data.name}] {location}: {error}"]
    return []


def _list_attempts(data: DataSettings) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield where each column is declared, and a call that opens an engine to look at it and its type."""
    first = data.items[0]
    for key in data.items:
        yield "items", partial(_open_engine, data, key)
    for column in data.groups:
        other_key = next(
            (key for key in data.items if column not in key_columns(key)), None
        )  # items that it is no part of
        yield (
            "groups",
            partial(_open_engine, data, column)
            if other_key is None
            else partial(_open_engine, data, other_key, (column,)),
        )
    for column, allowed in data.filters.items():
        column_sql = format_column(column)
        values_condition = (
            "" if allowed is None else f" AND {column_sql} IN ({', '.join(map(format_literal, allowed))})"
        )
        yield (
            f"filters.{column}",
            partial(_open_engine, data, first, where=f"{column_sql} IS NOT NULL{values_condition}"),
        )
    for column, weight in data.weights.items():
        totals = Totals.parse(column, weight.at_most, weight.unit)
        yield f"weights.{column}", partial(_open_engine, data, first, (), totals, split=None)
    for column in data.values:
        yield (
            f"values.{column}",
            partial(_open_engine, data, column, check=lambda engine: engine.check_values(), split=None),
        )
    for column, items in data.domains.items():
        check = partial(_check_items, Listed(items))
        yield f"domains.{column}", partial(_open_engine, data, column, check=check)


def _check_items(items: Listed, engine: Engine) -> None:
    engine.check(items)


def _open_engine(
    data: DataSettings,
    item: Key,
    *engine_arguments: Any,
    check: Callable[[Engine], object] | None = None,
    **arguments: Any,
) -> None:
    """Open an engine as a question about these items would, and check more of it."""
    arguments = {"user": plain(data.user), "table": data.table, "split": data.split, **arguments}
    if data.period is not None:
        arguments["during"] = data.since or next(periods_between(data.period, _SOME_DAY, _SOME_DAY)).name
    with dataset_of(data, item, **arguments).engine(*engine_arguments) as engine:
        if check is not None:
            check(engine)
