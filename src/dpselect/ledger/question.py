"""Questions: what was asked of which data, as one canonical text. Nothing in it depends on rows."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from dpselect._ground.domain import Column, Domain, Listed, Size, Span
from dpselect._ground.parameters import rounded_up
from dpselect._ground.periods import Periods
from dpselect.engines.identity import is_fixed, source_of
from dpselect.release import typed
from dpselect.release.formatting import Json
from dpselect.release.release import Release
from dpselect.release.statement import PAID_AGAIN

STATED = "stated"  # in the place of a verb, where another library did something at a price that somebody stated
FILES = 2  # names of files in the description of a question


@dataclass(frozen=True)
class Fingerprint:
    """The same text means the same question; where it pins down the data too, a stored answer is the answer to it."""

    text: str
    repeatable: bool
    user: str | None = None  # the text of the column, or columns, that say whose a row is
    periods: Periods | None = None  # that it is about

    def told(self, release: Release) -> Release:
        """The answer, whose receipt says so where the same question would be paid again."""
        receipt = release.charged
        if self.repeatable or receipt is None:
            return release
        return replace(release, charged=replace(receipt, sentence=f"{receipt.sentence}; {PAID_AGAIN}"))


def question(
    verb: str,
    asked: Mapping[str, object],
    data: Mapping[str, object],
    pinned: bool,
    *,
    user: str | None = None,
    periods: Periods | None = None,
) -> Fingerprint:
    """The canonical text: keys in order, numbers as exact fractions."""
    known = all(is_fixed(one.source) for one in asked.values() if isinstance(one, Column))
    body = {"verb": verb, "asked": _canonical(asked), "data": _canonical(data)}
    text = json.dumps(body, sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return Fingerprint(text, pinned and known, user, periods)


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


def named(item: object) -> str:
    """What tells a public item from every other: its type and its value, in the form that JSON gives it."""
    return f"{type(item).__name__} {json.dumps(typed.label_to_json(item))}"


def _domain(domain: Domain) -> Json:
    """A domain is public: its items as a digest, a file by its stamp."""
    if isinstance(domain, Listed):
        names = sorted({named(item) for item in domain.items if item is not None})
        return {"listed": hashlib.sha256(json.dumps(names).encode()).hexdigest()}
    if isinstance(domain, Column):
        return {"column": [source_of(domain.source)[0], domain.column, domain.table]}
    if isinstance(domain, Span):
        return {"span": [domain.start, domain.stop]}
    return {"size": domain.items}


def summary(text: str) -> str:
    """Describe a question for a person: what was asked of which columns, at which price, of which source.

    What a caller of `Ledger.reserve` called a question in words of their own stays as it is, if it is short.
    """
    try:
        body = json.loads(text)
        asked, data, verb = dict(body["asked"]), dict(body["data"]), str(body["verb"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return _cut(text)
    if verb == STATED:
        what = f"price stated by {asked.get('stated_by')}: {asked.get('note')}"
    else:
        what = _what(verb, asked, data) + _of_which_rows(asked, data)
    price = [f"{name} {_short(asked[name])}" for name in ("epsilon", "delta") if asked.get(name) is not None]
    source = _source(data)
    return f"{what}, at {' and '.join(price)}" + (f", from {source}" if source else "")


def _what(verb: str, asked: Mapping[str, Json], data: Mapping[str, Json]) -> str:
    """What is counted, chosen or measured."""
    item = _columns(data.get("item") or data.get("text") or "item")
    match verb:
        case "top_k":
            change = "users lost" if asked.get("lost") is True else "users gained"
            usual = "number of users" if asked.get("compared_with") is None else change
            order = usual if asked.get("by_weight") is None else _columns(asked["by_weight"])
            what = f"top {_short(asked.get('k'))} of {item} by {order}"
        case "union":
            what = f"all of {item} that enough users share"
        case "choose":
            what = f"the {item} with most users"
        case "histogram":
            what = f"number of users of each {item}"
        case "users":
            what = "number of users"
        case "quantile":
            q = asked.get("q")
            what = f"quantile {', '.join(map(_short, q)) if isinstance(q, list) else _short(q)} of {item}"
        case _:
            what = _cut(verb)
    return what + (", with counts" if asked.get("counts") is True else "")


def _of_which_rows(asked: Mapping[str, Json], data: Mapping[str, Json]) -> str:
    """Groups, periods that are compared, domain and filter."""
    parts = [f"in every {_columns(asked['by'])}"] if asked.get("by") is not None else []
    parts += [f"since {_columns(asked['compared_with'])}"] if asked.get("compared_with") is not None else []
    parts += ["of a known domain"] if asked.get("domain") is not None else []
    parts += [f"where {_cut(_condition(str(data['where'])))}"] if data.get("where") is not None else []
    return "".join(f", {part}" for part in parts)


def _source(data: Mapping[str, Json]) -> str:
    """Where the rows lie: names of files without their folders, or the kind of source, and the table."""
    source = data.get("source")
    files = [str(one[0]) for one in source if isinstance(one, list) and one] if isinstance(source, list) else []
    named = [os.path.basename(os.path.normpath(path)) for path in files[:FILES]]
    more = f" and {len(files) - FILES:,} more" if len(files) > FILES else ""
    where = ", ".join(map(_cut, named)) + more if files else _cut(str(source)) if isinstance(source, str) else ""
    table, snapshot = data.get("table"), data.get("snapshot")
    where += "" if table is None else f" table {_cut(str(table))}"
    where += "" if data.get("user") is None else f" with users in {_columns(data['user'])}"
    return (where + ("" if snapshot is None else f" as of {_cut(str(snapshot))}")).strip()


def _condition(text: str) -> str:
    """About what a filter says, from its canonical text."""
    try:
        _, nodes = json.loads(text)
        said: list[str] = []
        for sort, *rest in nodes:
            if sort == "column":
                said.append(str(rest[0]))
            elif sort == "constant":
                kind, value = rest[0]
                said.append(repr(value) if kind == "str" else str(value))
            else:
                parts = [_cut(said[place]) for place in rest[2]]
                infix = len(parts) == 2 and not rest[0].isalpha()
                said.append(f" {rest[0]} ".join(parts) if infix else f"{rest[0]}({', '.join(parts)})")
        return said[-1]
    except (ValueError, TypeError, IndexError):
        return text


def _columns(value: Json) -> str:
    """One column, or several."""
    return _cut(",".join(map(str, value)) if isinstance(value, list) else str(value))


def _short(value: Json) -> str:
    try:
        return rounded_up(Fraction(str(value)))
    except ValueError:
        return _cut(str(value))


def _cut(text: str) -> str:
    return text if len(text) <= 40 else text[:39] + "…"
