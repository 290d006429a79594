"""A Spark session of our own for the length of a test run: two threads of this machine, and a warehouse that goes."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# Tests ask thousands of small questions. To compile each of them, and to plan each of its stages anew, takes Spark
# longer than to answer: it interprets here. `as_it_comes` has Spark's own settings, with which test_spark.py tests.
INTERPRETED = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "1",
}
PARTS = "2"  # of which `as_it_comes` has two, in place of 200 with a few rows each

# Classes of Spark's own jars need no proof that they are sound: a fifth of what it takes to begin.
UNPROVEN = "-XX:+IgnoreUnrecognizedVMOptions -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
SOON_WARM = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC {UNPROVEN}"
# A session of thousands of questions compiles and keeps more than Java makes room for when it begins: with less it
# throws compiled code away and looks through the whole heap again and again, a third of what it does.
ROOM = "-XX:ReservedCodeCacheSize=256m -XX:MetaspaceSize=512m -Xms1g -Xmn512m"


class NoSparkError(Exception):
    """There is no Java, or no PySpark."""


def check() -> None:
    """Raise where Java or PySpark is not there."""
    java = Path(os.environ["JAVA_HOME"]) / "bin" / "java" if "JAVA_HOME" in os.environ else shutil.which("java")
    if java is None or not Path(java).exists():
        raise NoSparkError("needs Java 17 or newer, which is not there")
    if importlib.util.find_spec("pyspark") is None:
        raise NoSparkError("needs PySpark, which is not there")


@contextmanager
def session() -> Iterator[SparkSession]:
    """A running session; it and its folder are removed at the end."""
    check()
    from pyspark.sql import SparkSession

    folder = Path(tempfile.mkdtemp(prefix="dpselect-spark-"))
    settings = {
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": "0",  # any that is free
        "spark.buffer.pageSize": "1m",  # else 64 MiB for each sort and each aggregate of a few rows
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": f"{SOON_WARM} {ROOM}",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "3g",
        "spark.log.level": "OFF",
        "spark.sql.ui.explainMode": "simple",  # else each question formats its plan, for a page that is off
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        **INTERPRETED,
    }
    builder = SparkSession.builder.master("local[2]").appName("dpselect-tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    handler = signal.getsignal(signal.SIGINT)
    started = builder.getOrCreate()
    signal.signal(signal.SIGINT, handler)  # PySpark takes it for itself, and other tests look at it
    try:
        yield started
    finally:
        started.stop()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def connected(session: SparkSession) -> Iterator[SparkSession]:
    """A new session of Spark Connect, with the server that the running session has on this machine."""
    from pyspark.sql.connect.session import SparkSession as ConnectSession

    java: Any = session
    server = getattr(getattr(java._jvm, "org.apache.spark.sql.connect.service.SparkConnectService$"), "MODULE$")
    found = ConnectSession.builder.remote(f"sc://127.0.0.1:{server.localPort()}").create()
    try:
        yield found
    finally:
        found.stop()  # else the process waits for the server at its end, for minutes


def let_come(session: SparkSession) -> None:
    """From now on the session compiles and plans as any other does."""
    for name in INTERPRETED:
        session.conf.unset(name)
    session.conf.set("spark.sql.shuffle.partitions", PARTS)


@contextmanager
def as_it_comes(session: SparkSession) -> Iterator[None]:
    """Meanwhile the session compiles and plans as any other does."""
    let_come(session)
    try:
        for name, value in INTERPRETED.items():
            assert session.conf.get(name) != value
        yield
    finally:
        for name, value in INTERPRETED.items():
            session.conf.set(name, value)
