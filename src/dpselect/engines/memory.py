"""Memory: how much of it a question may take, by what the system says or by what the user said."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

from dpselect.errors import DataError, SourceError, came

MEMORY_VARIABLE = "DPSELECT_MEMORY"
GIB = 2**30
MIN_ADDRESS_SPACE = 3 * 2**29  # below it threads and allocators of the engine were seen to fail
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_SIZE = re.compile(r"\s*([0-9]+)\s*([KMGT]?)(?:I?B)?\s*", re.IGNORECASE)
_CGROUPS = Path("/sys/fs/cgroup")
_OWN_CGROUP = Path("/proc/self/cgroup")
_MEMINFO = Path("/proc/meminfo")


def available_bytes() -> int | None:
    """Return the bytes that may be used: `DPSELECT_MEMORY`, else the least that the system grants; None if unknown."""
    said = said_bytes()
    return min(_granted_bytes(), default=None) if said is None else said


def said_bytes() -> int | None:
    """Return the bytes that the user allows by `DPSELECT_MEMORY`; None without it."""
    setting = os.environ.get(MEMORY_VARIABLE)
    return None if setting is None else parse_size(MEMORY_VARIABLE, setting)


def check_address_space() -> None:
    """Refuse where the engine would die in the middle, without a word or with a segmentation fault."""
    soft = _address_space()
    if soft is not None and soft < MIN_ADDRESS_SPACE:
        came = f"{soft // 2**20} MiB of address space (ulimit -v), and the engine needs {MIN_ADDRESS_SPACE // 2**20}"
        raise DataError(
            f"this process may use {came}", f"ulimit -v unlimited; {MEMORY_VARIABLE} sets how much may be used"
        )


def does_not_fit(needed: int) -> DataError:
    """Return the error for too little memory. It names the need as a power of two GiB, and no more of it."""
    gib = 1 << (max(1, -(-needed // GIB)) - 1).bit_length()
    hint = (
        "keep fewer rows with where=, use a machine with more memory, or leave users' items in the engine "
        f"(in_engine=True, --in-engine); {MEMORY_VARIABLE} sets how much may be used"
    )
    return DataError(f"these rows need about {gib} GiB of memory, more than there is", hint)


def parse_size(parameter: str, text: object) -> int:
    """Parse a number of bytes from a text such as 4GiB."""
    size = _SIZE.fullmatch(text) if isinstance(text, str) else None
    if size is None or int(size[1]) == 0:
        raise SourceError(parameter, "be a size such as 4GiB or 500MB", came(text))
    return int(size[1]) * _UNITS[size[2].upper()]


def _granted_bytes() -> Iterator[int]:
    """Yield each limit that this system has and shows."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        lines = _MEMINFO.read_text("ascii").splitlines()
        yield next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")) * 2**10
    with contextlib.suppress(OSError, ValueError, AttributeError):
        yield os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    soft = _address_space()
    if soft is not None:
        yield soft
    for file in _limit_files():
        with contextlib.suppress(OSError, ValueError):  # "max" is no number, and no limit
            yield int(file.read_text("ascii"))


def _address_space() -> int | None:
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_AS)
        return None if soft == resource.RLIM_INFINITY else soft
    return None


def _limit_files() -> Iterator[Path]:
    """Yield the files with a container's limit, of version 2 and version 1, with and without a namespace of its own."""
    paths = {"", *_cgroup_paths()}
    for path in sorted(paths):
        yield _CGROUPS / path / "memory.max"
        yield _CGROUPS / "memory" / path / "memory.limit_in_bytes"


def _cgroup_paths() -> Iterator[str]:
    with contextlib.suppress(OSError, ValueError):
        for line in _OWN_CGROUP.read_text("utf-8").splitlines():
            yield line.split(":", 2)[-1].strip().lstrip("/")
