"""A call asked through each surface: Python, a frame, JSON, the command, a gateway. Nothing starts a process."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, Self

import duckdb
import pytest
from starlette.testclient import TestClient

import dpselect as dps
import dpselect.pandas
from dpselect.accounting import calibration
from dpselect.command.main import main
from dpselect.flat import dataset_of
from dpselect.gateway.settings.kinds import Amount, Role
from dpselect.gateway.settings.server import Person, ServerSettings
from dpselect.gateway.settings.tokens import digest, fresh_token
from dpselect.gateway.settings.values import Bounds, DataSettings, Settings, Sizes, WeightColumn
from dpselect.mechanisms.set_union import renyi_shaped
from dpselect.queries.plan import Plan
from dpselect.queries.planning import plan_class
from dpselect.remote.address import parse_address
from dpselect.remote.remote import Remote
from dpselect.remote.wire import Reply, Wire
from tests.by_names import asked, plan_of
from tests.engines.every_engine import MAKERS as OF_SERVERS
from tests.gateway.served import ADDRESS, running
from tests.one_duckdb import shared
from tests.pairs import rows
from tests.pairs.crossing import EPSILON, Call

SERVERS = {"PostgreSQL": "postgres", "spark": "spark"}
DECLARED = ("source", "user", "split", "time", "period", "timezone")  # what the owner of a gateway says of data
ONCE = ((calibration, "compose_quickly"), (renyi_shaped, "steepest"))
"""What many pairs compute alike: pure functions, computed once here."""
RICH = Amount.model_construct(epsilon=Fraction(10**9), delta=Fraction(1, 10))  # more than anybody may promise


@dataclass
class Asking:
    """Where the sources, the ledger and the gateway of these tests are, each made when it is first needed."""

    folder: Path
    request: pytest.FixtureRequest
    made: dict[str, Any] = field(default_factory=dict)
    stack: ExitStack = field(default_factory=ExitStack)
    patch: pytest.MonkeyPatch = field(default_factory=pytest.MonkeyPatch)

    def __enter__(self) -> Self:
        for module, name in ONCE:
            self.patch.setattr(module, name, cache(getattr(module, name)))
        self.stack.enter_context(shared(self.stack.enter_context(duckdb.connect())))
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()
        self.patch.undo()

    def answer(self, call: Call) -> dps.Release:
        """The same answer whoever looks at it: one call is asked once, and never taken from a ledger."""
        key = f"answer to {call}"
        if key not in self.made:
            self.made[key] = self.ask(call, fresh=True)
        return self.made[key]  # type: ignore[no-any-return] # by its key

    def ask(self, call: Call, **more: Any) -> dps.Release:
        """The answer, by the surface that the call names."""
        return SURFACES[str(call.given.get("surface", "python"))](self, call, more)

    def dataset(self, call: Call, **more: Any) -> dict[str, Any]:
        """What a Dataset is made of."""
        said = {name: list(value) if isinstance(value, tuple) else value for name, value in call.rows.items()}
        said["source"] = self.source(call)
        if call.source in rows.TABLES:
            said["table"] = rows.TABLES[call.source]
        if call.types:
            said["types"] = call.types
        if "budget" in said:
            said["budget"] = self.budget(call)
        return {**said, **more}

    def source(self, call: Call) -> object:
        """The rows in their source; those of a server are loaded once."""
        if call.source in SERVERS:
            if call.source not in self.made:
                self.made[call.source] = OF_SERVERS[SERVERS[call.source]](self.request, rows.TABLE)[0]
            return self.made[call.source]
        item = call.rows["item"]
        column = item.column if isinstance(item, dps.Text) else item
        called, make = rows.source(call.source, self.folder, call.given["user"], column)
        if called not in self.made:
            self.made[called] = make()
        return self.made[called]

    # ---- who pays ----------------------------------------------------------------------------------------------

    def budget(self, call: Call) -> dps.Budget:
        """One in memory for each call, or the account of a ledger that is about such users in such periods."""
        if call.given["budget"] == "memory":
            return self.made.setdefault(f"budget of {call}", dps.Budget(epsilon=2 * EPSILON, delta="1e-3"))
        return dps.Budget.open(self.ledger(call), analyst="ann")

    def ledger(self, call: Call) -> Path:
        """The file of an account that is about such users in such periods, of which ann may use all."""
        path = self.folder / f"{hashlib.sha256(repr(call).encode()).hexdigest()}.sqlite"
        if not path.exists():
            said = {name: call.rows[name] for name in ("user", *DECLARED[3:]) if name in call.rows}
            with dps.Ledger.create(path) as ledger:
                ledger.data("default", RICH.epsilon, RICH.delta, **said)
                ledger.grant(dps.Account(dataset="default", analyst="ann"), RICH.epsilon, RICH.delta)
        return path

    # ---- a gateway ---------------------------------------------------------------------------------------------

    def gateway(self, call: Call) -> tuple[Remote, str]:
        """A gateway that keeps the rows as the call declares them, and their name."""
        said = {name: call.given.get(name) for name in DECLARED} | {"types": call.types}
        if f"gateway of {said}" not in self.made:
            self.made[f"gateway of {said}"] = self._served(call)
        return self.made[f"gateway of {said}"], "rows"

    def _served(self, call: Call) -> Remote:
        place = self.folder / f"gateway {len(self.made)}"
        place.mkdir()
        token = fresh_token()
        one = self._declared(call)
        settings = Settings(
            server=ServerSettings(ledger=str(place / "ledger.sqlite"), folder=place / "state"),
            data={one.name: one},
            people={
                "ann": Person(
                    name="ann", role=Role.ANALYST, data=("rows",), quota=RICH, token=f"sha256:{digest(token)}"
                )
            },
        )
        return Remote(InProcess(self.stack.enter_context(running(settings, place)).http, token))

    def _declared(self, call: Call) -> DataSettings:
        user = call.given["user"]
        own = {user} if isinstance(user, str) else set(user)
        items = ("name", "whole", "real", "price", "day", "moment", "flag", "tags", ("name", "level"))
        when = {name: call.given[name] for name in DECLARED[3:] if name in call.given}
        return DataSettings(
            name="rows",
            source=str(self.source(call)),
            user=user,
            items=tuple(one for one in items if one not in own) if "split" not in call.given else ("tags",),
            promise=RICH,
            table=rows.TABLES.get(call.source),
            groups=tuple({"country", "flag"} - own),
            filters={"level": None, "name": None},
            weights={"minutes": WeightColumn(at_most=Fraction(4), unit=Fraction(1, 2))},
            values={
                name: Bounds(low=Fraction(-5), high=Fraction(110), step=Fraction(1, 4))
                for name in ("whole", "real", "price", "minutes")
            },
            sizes=Sizes(users=100, items=20, items_per_user=Fraction(4)),
            split=call.given.get("split"),
            types=call.types,
            tick=Fraction(1, 50),
            **when,
        )


class InProcess(Wire):
    """The way to a gateway in this process: what is sent and what comes back is as over a connection."""

    def __init__(self, client: TestClient, token: str) -> None:
        super().__init__(parse_address(ADDRESS, insecure=False), token, patience=60)
        self._client = client

    def _send_once(self, method: str, path: str, content: bytes | None, headers: dict[str, str]) -> Reply:
        found = self._client.request(method, path, content=content, headers=headers)
        return Reply(found.status_code, found.headers.get("content-type", "").partition(";")[0], found.content, None)


# ---- surfaces ------------------------------------------------------------------------------------------------------


def _python(asking: Asking, call: Call, more: dict[str, Any]) -> dps.Release:
    data = dataset_of(**asking.dataset(call, **more.pop("rows", {})))
    return asked(data, call.verb, {**call.asked, **more})


def _frame(asking: Asking, call: Call, more: dict[str, Any]) -> dps.Release:
    said = asking.dataset(call)
    frame: Any = said.pop("source")
    during = said.pop("during", None)
    data = frame.dps(**in_values(said))
    return asked(data if during is None else data.during(during), call.verb, {**call.asked, **more})


def in_values(said: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a Dataset, of which a frame's `.dps` takes all but the source, for those of flat names."""
    given = dict(said)
    when = {name: given.pop(name) for name in ("period", "timezone") if name in given}
    if "time" in given:
        given["time"] = dps.Time(given["time"], **when)
    if "split" in given:
        given["item"] = dps.Split(given["item"], given.pop("split"))
    return given


def _json(asking: Asking, call: Call, more: dict[str, Any]) -> dps.Release:
    said, given = asking.dataset(call, **more.pop("rows", {})), dict(call.asked)
    if isinstance(said["item"], dps.Text) and call.verb != "users":
        given["words"] = said["item"].words
    if "max_items_per_user" in said and "max_items_per_user" in plan_class(call.verb).used_facts:
        given["max_items_per_user"] = said["max_items_per_user"]
    written = json.dumps(plan_of(call.verb, **given).to_dict())
    return dataset_of(**said).ask(Plan.from_dict(json.loads(written)), **more)


def _gateway(asking: Asking, call: Call, more: dict[str, Any]) -> dps.Release:
    remote, name = asking.gateway(call)
    said = {name: call.rows[name] for name in ("item", "max_items_per_user") if name in call.rows}
    data = remote.data(name, **said)
    data = data.where(call.rows["where"]) if "where" in call.rows else data
    data = data.during(call.rows["during"]) if "during" in call.rows else data
    return asked(data, call.verb, {**call.asked, **more})


def _command(asking: Asking, call: Call, more: dict[str, Any]) -> dps.Release:
    answer = asking.folder / "answer.json"
    answer.unlink(missing_ok=True)
    errors = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stderr", errors)
        status = main([*argv(asking, call, more), "--quiet", "--format", "json", "-o", str(answer)])
    if status:
        raise Refusal(status, errors.getvalue())
    return dps.Release.from_json(answer)


class Refusal(Exception):
    """What the command said in place of an answer."""

    def __init__(self, status: int, said: str) -> None:
        self.status = status
        super().__init__(said)


def argv(asking: Asking, call: Call, more: dict[str, Any]) -> list[str]:
    """The call on a command line."""
    said = asking.dataset(call)
    source, item = said.pop("source"), said["item"]
    if call.verb == "users":  # which has no options of items
        item = None
        said = {name: value for name, value in said.items() if name not in ("item", "split", "max_items_per_user")}
    if isinstance(item, dps.Text):
        del said["item"]
        said["text"] = item.column
    if said.pop("budget", None) is not None:
        said |= {"budget": asking.ledger(call), "analyst": "ann"}
    return [
        call.verb.replace("_k", ""),
        str(source),
        *options({**said, **call.asked, **more}, of_several=isinstance(item, tuple)),
    ]


def options(given: dict[str, Any], *, of_several: bool) -> Iterator[str]:
    """Parameters as options."""
    for name, value in given.items():
        option = f"--{name.replace('_', '-')}"
        match name, value:
            case _, None:
                pass
            case "fresh", False:
                pass
            case _, bool():
                yield option if value else f"--no-{option[2:]}"
            case "bounds", (low, high):
                yield from (option, str(low), str(high))
            case "user" | "item", list():
                for column in value:
                    yield from (option, column)
            case "types", dict():
                for column, declared in value.items():
                    yield from ("--type", f"{column}={declared}")
            case "domain" | "exclude", list() if of_several:
                yield from (option, json.dumps(value))
            case "measures", text:
                yield from ("--measures", text)
            case _, list() | tuple():
                yield from (option, between_commas(value))
            case _:
                yield from (option, str(value))


def between_commas(values: Sequence[object]) -> str:
    """As one line of CSV."""
    line = io.StringIO()
    csv.writer(line).writerow(values)
    return line.getvalue().strip()


SURFACES: dict[str, Callable[[Asking, Call, dict[str, Any]], dps.Release]] = {
    "python": _python,
    "frame": _frame,
    "JSON": _json,
    "command": _command,
    "gateway": _gateway,
}
