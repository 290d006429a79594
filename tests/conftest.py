"""What every test may ask for."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from tests import postgres
from tests.engines import spark as local_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parents[1]

# Hypothesis looks for new examples on our own machines; in CI it repeats the same ones, so that a red run is
# the change's doing. No deadline: how long an example takes is a matter for benchmarks.
settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") == "true" else "local")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests marked `slow` (crowds of processes, a kill at every line) run in CI, or where SLOW=1 asks for them."""
    if os.environ.get("CI") == "true" or os.environ.get("SLOW") == "1":
        return
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.skip(reason="slow: runs in CI, and with SLOW=1 ./dev check"))


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as for a job in the background: Ctrl-C is tested all the same
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """One worker runs all tests whose name says Spark, since each that runs one starts a JVM; others, whoever is free.

    Those that start a Spark in a process of their own do not say it: the other workers have more time.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return "spark" if "spark" in nodeid else nodeid

    return Together(config, log)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data sets beside the checkout; a test that needs it is skipped without."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("needs the real data sets in ../shared/data beside the checkout, which are not there")
    return folder


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
def spark() -> Iterator[SparkSession]:
    """A running session; CI on Linux must have one, elsewhere its tests are skipped without."""
    try:
        with local_spark.session() as session:
            yield session
    except local_spark.NoSparkError as error:
        if os.environ.get("CI") == "true" and sys.platform == "linux":
            raise
        pytest.skip(str(error))
