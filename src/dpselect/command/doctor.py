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
    """Add the arguments of the command."""
    command.add_argument("--budget", metavar="FILE", help="a ledger to check: a file, or postgresql://...")
    command.add_argument(
        "--engine", action="append", default=[], metavar="ADDRESS", help="an engine to check; may be repeated"
    )


def run(args: argparse.Namespace) -> None:
    """Print one line per check as soon as it is done, and exit with the status of the first that fails."""
    for subject, version in _versions():
        _print_line("ok" if version[0].isdigit() else "missing", subject, version)
    checks: list[tuple[str, Callable[[], str]]] = [("engine DuckDB", _check_duckdb)]
    checks += [("engine", partial(_check_engine, address)) for address in args.engine]
    checks += [] if args.budget is None else [("ledger", partial(_check_ledger, args.budget))]
    failures = [failure for subject, check in checks if (failure := _run_check(subject, check))]
    if failures:
        raise SystemExit(failures[0])


def _print_line(state: str, subject: str, detail: str) -> None:
    sys.stdout.write(f"{state:<7}  {subject:<16}  {detail}\n")
    sys.stdout.flush()


def _run_check(subject: str, check: Callable[[], str]) -> int:
    """Print the outcome of a check, and return its exit status: 0 if nothing fails."""
    from dpselect.command.main import status_of

    try:
        _print_line("ok", subject, check())
    except DpselectError as error:
        _print_line("fails", subject, "; ".join(str(error).splitlines()))
        return status_of(type(error))
    except Exception as error:  # whose text may say anything
        _print_line("fails", subject, f"unexpected {type(error).__name__}")
        return 1
    return 0


def _versions() -> Iterator[tuple[str, str]]:
    """Yield the name of each program and package with its version, or with how to install it."""
    yield "dpselect", metadata.version("dpselect")
    yield "Python", f"{platform.python_version()}, {platform.system()} {platform.machine()}"
    for package in dict.fromkeys(package for package, _ in requirements()):
        name = package.partition("[")[0]
        try:
            yield name, metadata.version(name)
        except metadata.PackageNotFoundError:
            yield name, f"pip install {shlex.quote(package)}"


# ---- engines and ledgers --------------------------------------------------------------------------------------


def _check_duckdb() -> str:
    return _ask_question({"user": list(range(8)), "item": ["a", "b"] * 4}, ["a", "b"], user="user", item="item")


def _check_engine(address: str) -> str:
    """Ask Spark a test question, or PostgreSQL for its version, as no table may be made there."""
    from dpselect.engines.address import Address, SourceKind
    from dpselect.engines.spark.source import work_of

    kind = Address.parse(address).kind
    if kind is SourceKind.POSTGRES:
        return _check_postgres(address)
    if kind is SourceKind.SPARK:
        spark_work = work_of(address)
        rows = spark_work.session.sql("SELECT id AS user, id % 2 AS item FROM range(8)")
        return f"{spark_work.place} {_ask_question(rows, [0, 1], user='user', item='item')}"
    raise ParameterError("--engine", "be postgresql://USER@HOST/DATABASE or spark:MASTER", "something else")


def _check_postgres(address: str) -> str:
    from dpselect.engines.postgres.connection import PostgresWorkspace

    with closing(PostgresWorkspace(address)) as workspace:
        version = workspace.fetch("SELECT current_setting('server_version')")[0][0]
        return f"{workspace.place} answers, version {version}"


def _ask_question(source: object, domain: list[Any], **columns: Any) -> str:
    from dpselect.dataset import Dataset

    Dataset(source, **columns).choose(domain=domain, epsilon=1)
    return "answers a question"


def _check_ledger(address: str) -> str:
    from dpselect.ledger import Ledger

    with Ledger(address) as ledger:
        problems = ledger.verify()
        if problems:
            raise LedgerError(f"{len(problems)} problems in its entries or sums", "dpselect ledger verify")
        ledger.check_open()
    return "can be opened, and all of its entries are intact"
