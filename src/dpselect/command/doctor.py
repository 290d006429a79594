"""`dpselect doctor`: versions, extras, and whether each engine answers. Nothing is changed."""

from __future__ import annotations

import argparse
import platform
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from importlib import metadata
from typing import Any

from dpselect.errors import DpselectError, LedgerError, ParameterError, requirements

EXAMPLES = """
examples:
  dpselect doctor
      Versions, extras and how to get those that are missing, and one question about invented rows.
  dpselect doctor --budget budget.sqlite
      Also: can the ledger be opened, and is every entry intact?
  dpselect doctor --engine postgresql://ann@db.example/shop --engine spark:local
      Also: does each of these engines answer?

It changes nothing and shows no tokens or passwords, so you may send the report to whoever helps you.
exit status: 0 nothing fails (an extra may be missing), otherwise that of the first failing line: 2 a parameter is
wrong, 3 an engine cannot answer, 6 the ledger cannot be used, 1 anything else.
"""


def options(command: argparse.ArgumentParser) -> None:
    """What it understands."""
    command.add_argument("--budget", metavar="FILE", help="a ledger to check: a file, or postgresql://...")
    command.add_argument(
        "--engine", action="append", default=[], metavar="ADDRESS", help="an engine to check; may be repeated"
    )


def run(args: argparse.Namespace) -> None:
    """Print a line for each thing as soon as it is known, and end with the status of the first that fails."""
    for about, version in _versions():
        _say("ok" if version[0].isdigit() else "missing", about, version)
    looks: list[tuple[str, Callable[[], str]]] = [("engine DuckDB", _duckdb)]
    looks += [("engine", partial(_engine, one)) for one in args.engine]
    looks += [] if args.budget is None else [("ledger", partial(_ledger, args.budget))]
    failed = [status for about, look in looks if (status := _looked(about, look))]
    if failed:
        raise SystemExit(failed[0])


def _say(state: str, about: str, found: str) -> None:
    sys.stdout.write(f"{state:<7}  {about:<16}  {found}\n")
    sys.stdout.flush()


def _looked(about: str, look: Callable[[], str]) -> int:
    """Say what was found; the exit status, 0 where nothing fails."""
    from dpselect.command.main import status_of

    try:
        _say("ok", about, look())
    except DpselectError as error:
        _say("fails", about, "; ".join(str(error).splitlines()))
        return status_of(type(error))
    except Exception as error:  # whose text may say anything
        _say("fails", about, f"unexpected {type(error).__name__}")
        return 1
    return 0


def _versions() -> Iterator[tuple[str, str]]:
    """Of the program, of Python, and of every package that is always needed or that an extra asks for."""
    yield "dpselect", metadata.version("dpselect")
    yield "Python", f"{platform.python_version()}, {platform.system()} {platform.machine()}"
    for package in dict.fromkeys(package for package, _ in requirements()):
        name = package.partition("[")[0]
        try:
            yield name, metadata.version(name)
        except metadata.PackageNotFoundError:
            yield name, f"pip install {shlex.quote(package)}"


# ---- engines and ledgers --------------------------------------------------------------------------------------


def _duckdb() -> str:
    return _answer({"user": list(range(8)), "item": ["a", "b"] * 4}, ["a", "b"], user="user", item="item")


def _engine(address: str) -> str:
    """Ask an engine elsewhere: PostgreSQL for its version, as nothing may be made there, Spark about invented rows."""
    from dpselect.engines.postgres.address import is_postgres
    from dpselect.engines.spark.source import is_spark, open_work

    if is_postgres(address):
        return _postgres(address)
    if is_spark(address):
        work = open_work(address)
        rows = work.session.sql("SELECT id AS user, id % 2 AS item FROM range(8)")
        return f"{work.display_name} {_answer(rows, [0, 1], user='user', item='item')}"
    raise ParameterError("--engine", "be postgresql://USER@HOST/DATABASE or spark:MASTER", "something else")


def _postgres(address: str) -> str:
    from dpselect.engines.postgres.connection import PostgresWorkspace

    with closing(PostgresWorkspace(address)) as workspace:
        version = workspace.fetch("SELECT current_setting('server_version')")[0][0]
        return f"{workspace.public_address} answers, version {version}"


def _answer(source: object, domain: list[Any], **columns: Any) -> str:
    from dpselect.dataset import Dataset

    Dataset(source, **columns).choose(domain=domain, epsilon=1)
    return "answers a question"


def _ledger(where: str) -> str:
    from dpselect.ledger import Ledger

    with Ledger(where) as ledger:
        wrong = ledger.verify()
        if wrong:
            raise LedgerError(f"{len(wrong)} problems in its entries or sums", "dpselect ledger verify")
        ledger.check_open()
    return "can be opened, and all of its entries are intact"
