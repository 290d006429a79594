"""What `dpselect doctor` finds out about the machine: versions, extras, memory, disk, entropy, clock and settings."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from dpselect.command.doctor_findings import Finding, NoAnswerError, State, better, failed, ok, within
from dpselect.command.variables import OF_TESTS, PREFIX, VARIABLES
from dpselect.errors import DataError, DpselectError, OutputError

GIB = 2**30
SMALL = 2 * GIB  # of memory, and of room for temporary files
SOON = 5.0  # seconds for what answers at once
SKEW = 5.0  # seconds between two clocks of one machine
EARLIEST = datetime(2026, 1, 1, tzinfo=UTC)  # this program is younger

# ---- versions -------------------------------------------------------------------------------------------------


def versions() -> Iterator[Finding]:
    """Of the program, of what it always needs, and of Python."""
    yield ok("dpselect", metadata.version("dpselect"))
    yield ok("Python", f"{platform.python_version()}, {platform.system()} {platform.machine()}")
    for name, least in _needed(None):
        yield _package(name, [(name, least)], "")
    yield ok("sqlite", sqlite3.sqlite_version)


def extras() -> Iterator[Finding]:
    """Of the optional packages, or how to get them."""
    for extra in metadata.metadata("dpselect").get_all("Provides-Extra") or ():
        if extra != "all":
            yield _package(f"extra {extra}", _needed(extra), f"pip install 'dpselect[{extra}]'")


def _needed(extra: str | None) -> list[tuple[str, str]]:
    """The packages that an extra asks for, and the least version of each; without one those that are always needed."""
    found = []
    for line in metadata.requires("dpselect") or ():
        wanted, _, marker = line.partition(";")
        of = re.search(r"""extra == ["']([\w-]+)["']""", marker)
        name = re.match(r"[\w.-]+", wanted)
        least = re.search(r">=([\d.]+)", wanted)
        if name is not None and (None if of is None else of[1]) == extra:
            found.append((name[0], "" if least is None else least[1]))
    return found


def _package(about: str, wanted: list[tuple[str, str]], get: str) -> Finding:
    said: list[str] = []
    missing: list[str] = []
    old: list[str] = []
    for name, least in wanted:
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            missing.append(name)
            continue
        said.append(f"{name} {version}")
        if _numbers(version) < _numbers(least):
            old.append(f"{name} {version} is older than {least}")
    if missing:
        return Finding(about, State.ABSENT, f"without {', '.join(missing)}" + (f": {get}" if get else ""))
    if old:
        return better(about, ", ".join(old))
    return ok(about, ", ".join(said) if about.startswith("extra") else said[0].partition(" ")[2])


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(one) for one in re.findall(r"\d+", version)[:3])


# ---- what a question takes ------------------------------------------------------------------------------------


def machine() -> Iterator[Finding]:
    """Cores, memory, room for temporary files, entropy, and the clock."""
    yield ok("cores", str(_cores()))
    yield _memory()
    yield from _temporary()
    yield _entropy()
    yield from _clock()
    yield _engine()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _memory() -> Finding:
    from dpselect.engines.memory import available, check_address_space

    try:
        check_address_space()
        bytes_ = available()
    except DpselectError as error:
        return failed("memory", error, 3)
    if bytes_ is None:
        return better("memory", "the system does not say how much there is; DPSELECT_MEMORY can")
    told = f"{bytes_ / GIB:.1f} GiB may be used"
    return ok("memory", told) if bytes_ >= SMALL else better("memory", f"{told}, which is little for large data")


def _temporary() -> Iterator[Finding]:
    """Where engines spill: can a folder be made there, how much room is there, and does its clock agree?"""
    from dpselect._ground.temporary import Folder

    place = tempfile.gettempdir()
    try:
        with Folder() as folder:
            made = Path(folder.path, "now")
            made.touch()
            apart = abs(made.stat().st_mtime - time.time())
        free = shutil.disk_usage(place).free
    except (DpselectError, OSError) as error:
        found = error if isinstance(error, DpselectError) else OutputError(f"{place}: {error.strerror}")
        yield failed("temporary files", found, 4)
        return
    told = f"{free / GIB:.1f} GiB free in {place}"
    if free >= SMALL:
        yield ok("temporary files", told)
    else:
        yield better("temporary files", f"{told}, which is little for large data; TMPDIR names another folder")
    if apart > SKEW:
        yield better("clock of the disk", f"the files in {place} bear another time than this machine's clock")


def _entropy() -> Finding:
    """Random bits, by the one door through which all of them come."""
    from dpselect.draws.entropy import SystemBits

    try:
        words = within(SOON, lambda: SystemBits().words(64))
    except NoAnswerError:
        return Finding("entropy", State.FAILS, "the system gives no random bits yet", 1)
    if len({*words.tolist()}) != len(words):
        return Finding("entropy", State.FAILS, "the system gives the same random word twice", 1)
    waits = hasattr(os, "getrandom") or sys.platform in ("win32", "darwin")
    told = "the operating system's, which waits until it has gathered enough" if waits else "the operating system's"
    return ok("entropy", told)


def _clock() -> Iterator[Finding]:
    import zoneinfo

    now = datetime.now(UTC)
    told = f"{now:%Y-%m-%d %H:%M} UTC"
    if now < EARLIEST:
        yield better("clock", f"{told}, which is before this program was written: periods and ledgers would bear it")
    else:
        yield ok("clock", told)
    if not zoneinfo.available_timezones():
        yield Finding("time zones", State.ABSENT, "none but UTC: pip install tzdata")


def _engine() -> Finding:
    """One question about invented rows, from the engine to the release."""
    from dpselect.dataset import Dataset

    rows = {"user": list(range(8)), "item": ["a", "b"] * 4}
    try:
        answer = Dataset(rows, user="user", item="item").choose(domain=["a", "b"], epsilon=1)
    except Exception as error:
        return failed(
            "engine DuckDB", error if isinstance(error, DpselectError) else DataError(type(error).__name__), 3
        )
    return ok("engine DuckDB", f"answers a question about invented rows, {answer.privacy.promise}")


# ---- settings -------------------------------------------------------------------------------------------------


def settings() -> Iterator[Finding]:
    """The settings in force. The value of one that may be secret is not shown, nor that of one that nobody knows."""
    from difflib import get_close_matches

    known = {one.name: one for one in (*VARIABLES, *OF_TESTS)}
    for name in sorted(one for one in os.environ if one.startswith(PREFIX)):
        if name in known:
            yield ok(name, os.environ[name] if known[name].shown else "is set; its value is not shown")
        else:
            meant = "".join(f"; did you mean {one}?" for one in get_close_matches(name, known, n=1))
            yield better(name, f"is set, and nothing reads it{meant}")
