"""What may happen to a server under load, as functions that check in the end that nothing was lost or paid twice.

Tests call them with small counts, `benchmarks/gateway_faults.py` with large ones.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dpselect.gateway.store import Jobs
from dpselect.ledger import Ledger
from tests import postgres
from tests.gateway.hammering import Hammer, check_books
from tests.gateway.processes import PATIENCE, Server, World, make, running

QUESTIONS = "questions.sqlite"
_numbers = itertools.count(1)


def killed(folder: Path, times: int, seed: int) -> Counter[str]:
    """Killed at random moments, also while it starts; ledger and questions in SQLite."""
    world = make(folder)
    rng, server = random.Random(seed), Server(world.settings())
    with running(server):
        with Hammer(world, [server], seed) as hammer:
            for _ in range(times):
                time.sleep(2 * rng.random())
                server.kill()
                start(server, rng)
        hammer.finish(world, server)
        server.stop()
    return _checked(world, hammer)


def start(server: Server, rng: random.Random) -> None:
    """Start it again; now and then it dies while it starts."""
    while rng.random() < 0.2:
        server.start(ready=False)
        time.sleep(rng.random())
        server.kill()
    server.start()


@dataclass(frozen=True)
class Places:
    """Addresses of a ledger and of a table of questions in PostgreSQL."""

    ledger: str
    jobs: str


def killed_on_postgres(folder: Path, times: int, seed: int, places: Places) -> Counter[str]:
    """Two servers on one ledger and one table of questions in PostgreSQL; one of the two is killed, again and again."""
    world = make(folder, ledger=places.ledger, jobs=places.jobs, servers=("one", "two"))
    rng, servers = random.Random(seed), [Server(world.settings("one")), Server(world.settings("two"))]
    with running(servers[0]), running(servers[1]):
        with Hammer(world, servers, seed) as hammer:
            for _ in range(times):
                time.sleep(2 * rng.random())
                victim = rng.choice(servers)
                victim.kill()
                start(victim, rng)
        for server in servers:
            hammer.finish(world, server)
            server.stop()
    return _checked(world, hammer, places)


def database_restarted(folder: Path, times: int, seed: int, places: Places) -> Counter[str]:
    """PostgreSQL crashes under two servers, and comes back."""
    world = make(folder, ledger=places.ledger, jobs=places.jobs, servers=("one", "two"))
    rng, servers = random.Random(seed), [Server(world.settings("one")), Server(world.settings("two"))]
    with running(servers[0]), running(servers[1]):
        with Hammer(world, servers, seed) as hammer:
            for _ in range(times):
                time.sleep(1 + 2 * rng.random())
                postgres.restart(places.jobs)
            time.sleep(1)
        for server in servers:
            hammer.finish(world, server)
            server.stop()
    return _checked(world, hammer, places)


def killed_beside_another(folder: Path, times: int, seed: int) -> Counter[str]:
    """Two servers with a folder each, on one ledger in SQLite; one of the two is killed, again and again."""
    world = make(folder, servers=("one", "two"))
    rng, servers = random.Random(seed), [Server(world.settings("one")), Server(world.settings("two"))]
    with running(servers[0]), running(servers[1]):
        with (
            Hammer(world, servers[:1], seed) as first,
            Hammer(world, servers[1:], seed + 1) as second,
        ):
            for _ in range(times):
                time.sleep(2 * rng.random())
                victim = rng.choice(servers)
                victim.kill()
                start(victim, rng)
        for hammer, server in zip((first, second), servers, strict=True):
            hammer.finish(world, server)
            server.stop()
    one, two = (contextlib.closing(Jobs(folder / name / QUESTIONS)) for name in ("one", "two"))
    with one as first_table, two as second_table, Ledger(folder / "ledger.sqlite") as ledger:
        return check_books(ledger, [first_table, second_table], [first, second], apart=True)


def disk_full(folder: Path, times: int, seed: int) -> Counter[str]:
    """No file may grow any more, for a while: the server says so, and goes on when there is room."""
    import resource

    world = make(folder)
    rng, server = random.Random(seed), Server(world.settings())
    with running(server):
        with Hammer(world, [server], seed) as hammer:
            for _ in range(times):
                time.sleep(0.5 + rng.random())
                files = [*folder.glob("ledger.sqlite*"), *(folder / "state").glob("questions*")]
                room = max(one.stat().st_size for one in files) + rng.randrange(20_000)
                before = resource.prlimit(server.number, resource.RLIMIT_FSIZE)  # type: ignore[attr-defined,unused-ignore]
                resource.prlimit(server.number, resource.RLIMIT_FSIZE, (room, before[1]))  # type: ignore[attr-defined,unused-ignore]
                refused, end = hammer.statuses[503], time.monotonic() + 60
                while hammer.statuses[503] == refused and time.monotonic() < end:
                    time.sleep(0.1)
                assert hammer.statuses[503] > refused, "it never said that it could not write"
                time.sleep(rng.random())
                resource.prlimit(server.number, resource.RLIMIT_FSIZE, before)  # type: ignore[attr-defined,unused-ignore]
                if rng.random() < 0.5:
                    server.kill()
                    server.start(ready=False)
        hammer.finish(world, server)
        server.stop()
    return _checked(world, hammer)


SHIFTED = """
import os, time
_real = time.time
def _time():
    with open(os.environ["SHIFT"]) as file:
        return _real() + float(file.read() or 0)
time.time = _time
"""


def clock_moved(folder: Path, times: int, seed: int) -> Counter[str]:
    """The clock of the server is set back and forth, by seconds and by days."""
    world = make(folder)
    hook, shift = folder / "hook", folder / "shift"
    hook.mkdir()
    (hook / "sitecustomize.py").write_text(SHIFTED, "utf-8")
    shift.write_text("0", "utf-8")
    rng = random.Random(seed)
    server = Server(
        world.settings(),
        {"PYTHONPATH": f"{hook}{os.pathsep}{os.environ.get('PYTHONPATH', '')}", "SHIFT": str(shift)},
    )
    with running(server):
        with Hammer(world, [server], seed) as hammer:
            end, moved = time.monotonic() + PATIENCE, 0
            while moved < times or len(hammer.days) < 2:
                assert time.monotonic() < end + times, "the clock was never moved"
                by = rng.choice([0.1, 0.3, 1, 3600, 10 * 86400]) * rng.choice([-1, 1])
                (folder / "next").write_text(str(by), "utf-8")
                (folder / "next").replace(shift)
                moved += 1
                time.sleep(0.3 * rng.random())
        hammer.finish(world, server)
        server.stop()
    states = _checked(world, hammer)
    assert set(states) <= {"answered", "refused", "cancelled"}
    return states


def _checked(world: World, hammer: Hammer, places: Places | None = None) -> Counter[str]:
    table = Jobs(world.folder / "state" / QUESTIONS if places is None else places.jobs)
    record = world.folder / "ledger.sqlite" if places is None else places.ledger
    with contextlib.closing(table), Ledger(record) as ledger:
        return check_books(ledger, [table], [hammer])


@contextlib.contextmanager
def databases() -> Iterator[Places]:
    """A PostgreSQL server of our own."""
    with postgres.server() as address:
        yield new_databases(address)


def new_databases(address: str) -> Places:
    """One database of this server for the ledger, and one for the questions."""
    import psycopg

    names = [f"{what}_{next(_numbers)}" for what in ("ledger", "jobs")]
    with psycopg.connect(address.format(name="postgres"), autocommit=True) as connection:
        for name in names:
            connection.execute(f"CREATE DATABASE {name}".encode())
    return Places(*(address.format(name=name) for name in names))
