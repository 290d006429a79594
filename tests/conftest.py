"""What every test may ask for."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from duckdb import DuckDBPyConnection
from hypothesis import HealthCheck, settings

from tests import mariadb, postgres
from tests import spark as local_spark
from tests.one_duckdb import shared

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parents[1]
SPARKS_OF_THEIR_OWN = {f"tests/slow/spark/test_{name}.py" for name in ("killed_executors", "own_session")}

# In CI Hypothesis repeats the same examples, so that a red run is the change's doing. How long one takes is a matter
# for benchmarks, and examples that are refused too often are no failure.
LUCK = [HealthCheck.filter_too_much, HealthCheck.too_slow]
settings.register_profile("here", deadline=None, max_examples=25, suppress_health_check=LUCK)
settings.register_profile("ci", settings.get_profile("here"), derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") == "true" else "here")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """What is imported and collected stays to the end: no search for garbage looks through it, now or later."""
    gc.disable()
    try:
        with _compiled_once():
            return (yield)
    finally:
        gc.freeze()
        gc.enable()


@contextmanager
def _compiled_once() -> Iterator[None]:
    """In CI, where nothing is compiled yet, one worker collects before the others do: they find what it compiled."""
    if os.environ.get("CI") != "true" or "PYTEST_XDIST_WORKER" not in os.environ or sys.platform == "win32":
        yield
        return
    import fcntl

    with Path(__file__).open() as same_for_all:
        try:
            fcntl.flock(same_for_all, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:  # another one is the first
            fcntl.flock(same_for_all, fcntl.LOCK_SH)
        yield


def pytest_unconfigure() -> None:
    """DuckDB says at the end what is left of it: nothing, once that is garbage again."""
    gc.unfreeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest come first, so that no worker begins one when the others are done: those on Spark, then all slow."""
    items.sort(key=lambda item: (worker_group(item.nodeid) != "spark", not item.nodeid.startswith("tests/slow/")))


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as for a job in the background: Ctrl-C is tested all the same
    signal.signal(signal.SIGINT, signal.default_int_handler)


def worker_group(nodeid: str) -> str:
    """Tests of one group run in one worker: those of a file, for what they share is made once; and all on one Spark."""
    file = nodeid.partition("::")[0]
    return "spark" if file.startswith("tests/slow/spark/") and file not in SPARKS_OF_THEIR_OWN else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Workers take whole groups of tests, in the order of the collection."""
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return worker_group(nodeid)

    config.option.loadscopereorder = False
    return Together(config, log)


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_report_to_serializable() -> Any:
    """A failing test that is about half of a surrogate pair says so, and does not end the whole run."""
    return _sendable((yield))


def _sendable(report: Any) -> Any:
    """The same with texts that can be sent from a worker."""
    if isinstance(report, str):
        return report.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(report, dict):
        return {_sendable(name): _sendable(value) for name, value in report.items()}
    return type(report)(map(_sendable, report)) if isinstance(report, (list, tuple)) else report


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of public data sets, `DPSELECT_DATA`; a test that needs it is skipped without."""
    folder = Path(os.environ.get("DPSELECT_DATA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip("needs public data sets: set DPSELECT_DATA to the folder that holds them")
    return folder


@pytest.fixture(scope="session")
def _duckdb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DuckDBPyConnection]:
    with duckdb.connect(config={"temp_directory": str(tmp_path_factory.mktemp("duckdb"))}) as connection:
        yield connection


@pytest.fixture(scope="module")
def one_duckdb(_duckdb: DuckDBPyConnection) -> Iterator[None]:
    """Questions share a DuckDB, for tests of what they answer; a new one takes longer than the answer."""
    with shared(_duckdb):
        yield


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """A running server; CI on Linux must have one, elsewhere its tests are skipped without."""
    try:
        import psycopg  # noqa: F401 - is it there?

        with postgres.server() as address:
            yield address
    except (ImportError, postgres.NoServerError) as error:
        if os.environ.get("CI") == "true" and sys.platform == "linux":
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[str]:
    """The socket of a running server; CI on Linux must have one, elsewhere its tests are skipped without."""
    try:
        with mariadb.server() as socket:
            yield socket
    except mariadb.NoServerError as error:
        if os.environ.get("CI") == "true" and sys.platform == "linux":
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A running session; CI on Linux must have one, elsewhere its tests are skipped without."""
    try:
        with local_spark.session() as session:
            if "DPSELECT_TESTS_CONNECT" in os.environ:
                with local_spark.connected(session) as remote:
                    yield remote
            else:
                yield session
    except local_spark.NoSparkError as error:
        if os.environ.get("CI") == "true" and sys.platform == "linux":
            raise
        pytest.skip(str(error))
