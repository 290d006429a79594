"""What the benchmarks measure: CPU time and peak memory, of a call or of a whole process, in alternating runs."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

SINGLE_THREADED = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS", "POLARS_MAX_THREADS"), "1"
)

CACHE = Path(__file__).resolve().parent / ".cache"


@dataclass(frozen=True)
class Cost:
    """Seconds of CPU (user and system, all threads), seconds on the clock, MiB of peak memory."""

    cpu: float
    wall: float
    memory: float


def call(function: Callable[[], object]) -> Cost:
    """One call in this process; memory is the peak above what was in use before (Linux only, else NaN).

    Memory that earlier calls freed goes back to the system first, so that every call pays for what it uses.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    before = _reset_peak()
    wall, cpu = time.perf_counter(), time.process_time()
    function()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return Cost(cpu, wall, _status("VmHWM") - before)


def process(
    command: Sequence[str | Path],
    src: Path | None = None,
    more: Mapping[str, str] | None = None,
    seconds_at_most: float | None = None,
) -> Cost:
    """One whole process, its output thrown away; it finds its modules compiled, as an installed program does.

    Those of this package are of `src`, where another build of it is to be measured. Linux counts what the parent holds
    at the start into the child's peak, so a script that uses this keeps its own memory small. `more` is put into its
    environment; what takes longer than `seconds_at_most` is killed.
    """
    wall = time.perf_counter()
    environment = installed() | ({} if src is None else {"PYTHONPATH": str(src.resolve())}) | dict(more or {})
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    with _killed_after(child, seconds_at_most):
        _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - wall
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode == -signal.SIGKILL and seconds_at_most is not None and wall >= seconds_at_most:
        raise subprocess.TimeoutExpired(Path(command[0]).name, seconds_at_most)
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, [Path(command[0]).name, *command[1:]])
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return Cost(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / unit)


@contextlib.contextmanager
def _killed_after(child: subprocess.Popen[bytes], seconds_at_most: float | None) -> Iterator[None]:
    """Kill a process that is still there after so long."""
    timer = threading.Timer(seconds_at_most or 0, child.kill)
    if seconds_at_most is not None:
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


def installed() -> dict[str, str]:
    """The environment in which Python keeps compiled modules, in a place of our own."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPYCACHEPREFIX": str(CACHE / "bytecode")}


def cache() -> Path:
    """A folder for what the benchmarks make once; git ignores it."""
    CACHE.mkdir(exist_ok=True)
    (CACHE / ".gitignore").write_text("*\n", "utf-8")
    return CACHE


def alternate(contenders: Mapping[str, Callable[[], Cost]], runs: int) -> dict[str, Cost]:
    """Medians of each contender's runs."""
    return {name: median(costs) for name, costs in in_turns(contenders, runs).items()}


def in_turns(contenders: Mapping[str, Callable[[], Cost]], runs: int) -> dict[str, list[Cost]]:
    """Each contender's runs, taken in turns A B A B, so that a busy spell meets all of them."""
    costs: dict[str, list[Cost]] = {name: [] for name in contenders}
    for _ in range(runs):
        for name, contender in contenders.items():
            costs[name].append(contender())
    return costs


def median(costs: Sequence[Cost]) -> Cost:
    """The median of each figure."""
    return Cost(*(statistics.median(getattr(cost, figure) for cost in costs) for figure in ("cpu", "wall", "memory")))


def single_threaded() -> None:
    """Start this script anew with one thread in every library; they read these settings when imported."""
    if any(os.environ.get(name) != value for name, value in SINGLE_THREADED.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **SINGLE_THREADED})


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a Markdown table."""
    print("| " + " | ".join(header) + " |")
    print("|" + " --- |" * len(header))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print(flush=True)


def seconds(value: float) -> str:
    """Three digits and a unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-6:.3g} us"


def verdict(ratio: float, target: float, *, least: bool = False) -> str:
    """The ratio against its target: at least that much, or at most."""
    met = ratio >= target if least else ratio <= target
    shown = f"{ratio:.3g}" if ratio < 100 else f"{ratio:,.0f}"
    return f"{shown} ({'at least' if least else 'at most'} {target:g}: {'met' if met else 'MISSED'})"


def _reset_peak() -> float:
    """Forget the peak so far; the memory in use now."""
    if not sys.platform.startswith("linux"):
        return float("nan")
    Path("/proc/self/clear_refs").write_text("5", "ascii")
    return _status("VmRSS")


def _status(field: str) -> float:
    """A figure of this process in MiB."""
    if not sys.platform.startswith("linux"):
        return float("nan")
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field + ":")) / 1024
