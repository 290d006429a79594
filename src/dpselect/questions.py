"""Questions: what was asked of which data, as one text. The same text means the same question of the same data.

The text goes into a ledger, which others may read, so nothing in it depends on what the rows hold. A file is known
by its name and by when and where it was last written, not by its size.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from dpselect.engines.domain import Column, Domain, Listed, Size, Span
from dpselect.engines.files import Files, find
from dpselect.engines.postgres_address import identity, is_postgres
from dpselect.engines.spark_source import is_spark, place
from dpselect.engines.warehouse_source import is_warehouse
from dpselect.errors import ParameterError
from dpselect.forms import Json
from dpselect.parameters import rounded_up

FORM = 2  # of what a question means: an answer to an older one is not an answer to it


@dataclass(frozen=True)
class Question:
    """The text, and whether it pins down the data: only then is a stored answer the answer to it."""

    text: str
    repeatable: bool


def question(verb: str, asked: Mapping[str, object], data: Mapping[str, object], pinned: bool) -> Question:
    """The canonical text: keys in order, numbers as exact fractions."""
    domain = asked.get("domain")
    known = not isinstance(domain, Column) or _is_fixed(domain.source)
    body = {"form": FORM, "verb": verb, "asked": _canonical(asked), "data": _canonical(data)}
    text = json.dumps(body, sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return Question(text, pinned and known)


def source_of(source: object) -> tuple[Json, bool]:
    """A source as the text says it, and whether that pins down its rows. Frames and connections are only named."""
    if is_postgres(source):
        return identity(source), False
    if is_spark(source):
        return place(source), False
    if is_warehouse(source):
        return repr(source), False
    found = _fingerprint(source)
    if found is not None:
        return found, True
    return f"{type(source).__module__.partition('.')[0]} {type(source).__name__}", False


def summary(text: str) -> str:
    """A question for a person: the verb, what matters most of what was asked, and of which columns."""
    body = json.loads(text)
    asked, data = body["asked"], body["data"]
    names = ("k", "q", "k_star", "l_star", "epsilon", "delta", "epsilon_per_pick", "delta_per_query")
    said = [f"{name}={_short(asked[name])}" for name in names if asked.get(name) is not None]
    said += ["counts"] if asked.get("counts") is True else []
    said += ["of a known domain"] if asked.get("domain") is not None else []
    of = [f"{name}={_short(data[name])}" for name in ("user", "item", "text", "where") if data.get(name) is not None]
    return " ".join([body["verb"], *said, *(["from", *of] if of else [])])


def _short(value: Json) -> str:
    try:
        return rounded_up(Fraction(str(value)))
    except ValueError:
        text = str(value)
        return text if len(text) <= 40 else text[:39] + "…"


def _fingerprint(source: object) -> Json:
    """[path, inode, last write, last change] of every file; None for what is no file. None of them is opened."""
    files = _files(source)
    if files is None:
        return None
    # A database may have its newest rows beside it, under the name by which we open it.
    beside = [os.path.realpath(path) + ".wal" for path in files.paths] if files.kind == "duckdb" else []
    try:
        return [_stamp(path) for path in (*files.paths, *beside) if os.path.exists(path)]
    except OSError:
        return None


def _files(source: object) -> Files | None:
    if not isinstance(source, (str, os.PathLike, list, tuple)):
        return None
    try:
        return find(source)
    except (ParameterError, OSError):
        return None


def _is_fixed(source: object) -> bool:
    """Do files decide what a domain is? Of a database only who opens it knows whether it is a table or a view."""
    files = _files(source)
    return files is not None and files.kind != "duckdb"


def _stamp(path: str) -> Json:
    """A folder's name can be a column (`country=DE/`), so a path with a link in it is said as given too."""
    found, given, real = os.stat(path), os.path.abspath(path), os.path.realpath(path)
    return [*([given] if given != real else []), real, found.st_ino, found.st_mtime_ns, found.st_ctime_ns]


def _canonical(value: object) -> Json:
    if isinstance(value, Mapping):
        return {str(name): _canonical(inner) for name, inner in value.items()}
    if isinstance(value, (Listed, Column, Span, Size)):
        return _domain(value)
    if isinstance(value, Fraction):
        return str(value)
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_canonical(inner) for inner in value]
    return str(value)


def _domain(domain: Domain) -> Json:
    """A domain is public: its items as a digest, a file by its stamp."""
    if isinstance(domain, Listed):
        names = sorted(f"{type(item).__name__} {item!r}" for item in domain.items if item is not None)
        return {"listed": hashlib.sha256(json.dumps(names).encode()).hexdigest()}
    if isinstance(domain, Column):
        return {"column": [source_of(domain.source)[0], domain.column, domain.table]}
    if isinstance(domain, Span):
        return {"span": [domain.start, domain.stop]}
    return {"size": domain.items}
