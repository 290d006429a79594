"""A process that asks paid questions of a small Spark cluster, and kills executors in the middle of one.

Called as: killed_executors.py OPTIONS LEDGER FOLDER FAILURES, with the options of every JVM, and again LEDGER FOLDER
FAILURES for a second cluster, which the same JVM drives: it has done all this before, and soon begins. A cluster's two
executors are processes of their own; a task may fail FAILURES times. Where it may fail more than once, one executor is
killed; where it may not, one after the other until the question is over, because Spark does not count a task against an
executor that has not yet said it runs it: the death in that instant is made good, and the next one is not. Prints one
line of JSON for each question: what came out (null if nothing did), what was said, who was killed, and what is charged
by then.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading

from pyspark.sql import SparkSession

import dpselect as dps
from dpselect.errors import DpselectError

USERS, ITEMS, PARTS = 4000, 20, 8


def executors(jvm: int) -> list[int]:
    """The executors of the cluster that this JVM started."""
    said = subprocess.run(["ps", "-ww", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout
    lines = [line.split(None, 2) for line in said.splitlines()]
    return [int(pid) for pid, parent, args in lines if parent == str(jvm) and "CoarseGrainedExecutorBackend" in args]


def kill(session: SparkSession, jvm: int, killed: list[int], most: int, over: threading.Event) -> None:
    """Kill at most so many executors, each while a stage has run a task and has half of them before it."""
    tracker = session.sparkContext.statusTracker()
    while len(killed) < most and not over.wait(0.01):
        for stage in tracker.getActiveStageIds():
            info = tracker.getStageInfo(stage)
            if info is not None and info.numActiveTasks and 0 < info.numCompletedTasks <= PARTS // 2 < info.numTasks:
                for pid in executors(jvm)[:1]:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                    killed.append(pid)


def life(options: str, ledger: str, folder: str, failures: str) -> None:
    """One cluster, and a question of either verb."""
    builder = SparkSession.builder.master("local-cluster[2,1,640]")
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": options,
        "spark.driver.host": "127.0.0.1",
        "spark.executor.extraJavaOptions": options,
        "spark.executor.memory": "640m",
        "spark.local.dir": folder,
        "spark.log.level": "OFF",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",  # each executor would have to compile
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.warehouse.dir": folder,
        "spark.task.maxFailures": failures,
        "spark.ui.enabled": "false",
        "spark.ui.liveUpdate.period": "0",
        "spark.ui.showConsoleProgress": "false",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    jvm = session.sparkContext._gateway.proc.pid
    # Item 0 is everybody's, item 1 that of every second user, and so on; a row takes a while.
    slow = "size(filter(sequence(1, 200), x -> hash(x, id) = 7)) >= 0"
    rows = session.range(0, USERS * ITEMS, 1, PARTS).where(slow)
    frame = rows.selectExpr(f"id DIV {ITEMS} AS user", f"id % {ITEMS} AS item").where("user % (item + 1) = 0")
    for verb in ("top_k", "union"):
        budget = dps.Budget.open(ledger, analyst="ann", snapshot=verb)
        most_items = 20 if verb == "union" else None
        data = dps.Dataset(frame, user="user", item="item", max_items_per_user=most_items, budget=budget)
        killed: list[int] = []
        over = threading.Event()
        most = 1 if int(failures) > 1 else 10
        killer = threading.Thread(target=kill, args=(session, jvm, killed, most, over), daemon=True)
        killer.start()
        found, said = None, None
        try:
            if verb == "top_k":
                release = data.top_k(3, epsilon=1000, delta="1e-6", method="limited-domain")
            else:
                release = data.union(epsilon=1000, delta="1e-6", method=dps.Method(in_engine=True))
            found = [item.item for item in release.items]
        except DpselectError as error:
            said = str(error)
        over.set()
        killer.join(5)
        with dps.Ledger(ledger) as book:
            used = book.standing(dps.Account("default", "ann")).own.total.epsilon
        told = {"verb": verb, "found": found, "said": said, "killed": killed, "used": float(used)}
        os.write(1, json.dumps(told).encode() + b"\n")
    session.stop()


def main(words: list[str]) -> None:
    options, *lives = words
    for at in range(0, len(lives), 3):
        life(options, *lives[at : at + 3])


if __name__ == "__main__":
    main(sys.argv[1:])
