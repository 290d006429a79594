"""Questions as canonical text: what was asked of which data. Nothing in it depends on rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from dpselect._ground.dataclass import dataclass
from dpselect._ground.domain import Column, Domain, Listed, Size, Span
from dpselect._ground.periods import Periods
from dpselect.engines.address import Address
from dpselect.engines.identity import identify_source, is_fixed_domain
from dpselect.release import typed
from dpselect.release.formatting import Json
from dpselect.release.release import Release
from dpselect.release.statement import PAID_AGAIN

STATED = "stated"  # as a verb: a price that somebody stated for another library's release


@dataclass(frozen=True)
class Fingerprint:
    """Text that identifies a question.

    If it is `repeatable`, it identifies the data too, so a stored answer is an answer to it.
    """

    text: str
    repeatable: bool
    user: str | None = None  # the text of the column or columns of users
    periods: Periods | None = None  # that it is about

    def with_repeat_price(self, release: Release) -> Release:
        """Return the answer; its receipt says if the same question would be paid again."""
        receipt = release.charged
        if self.repeatable or receipt is None:
            return release
        return replace(release, charged=replace(receipt, sentence=f"{receipt.sentence}; {PAID_AGAIN}"))


def fingerprint(
    verb: str,
    parameters: Mapping[str, object],
    data: Mapping[str, object],
    has_fixed_data: bool,
    *,
    user: str | None = None,
    periods: Periods | None = None,
) -> Fingerprint:
    """Return the fingerprint of a question: keys in order, numbers as exact fractions."""
    has_fixed_columns = all(
        is_fixed_domain(column.source) for column in parameters.values() if isinstance(column, Column)
    )
    document = {"verb": verb, "asked": _to_canonical(parameters), "data": _to_canonical(data)}
    text = json.dumps(document, sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return Fingerprint(text, has_fixed_data and has_fixed_columns, user, periods)


def _to_canonical(value: object) -> Json:
    if isinstance(value, Mapping):
        return {str(name): _to_canonical(inner) for name, inner in value.items()}
    if isinstance(value, (Listed, Column, Span, Size)):
        return _domain_to_json(value)
    if isinstance(value, Fraction):
        return str(value)
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_to_canonical(inner) for inner in value]
    return str(value)


def typed_name(item: object) -> str:
    """Return a text that differs for any two public items: the type and the value as JSON."""
    return f"{type(item).__name__} {json.dumps(typed.label_to_json(item))}"


def _domain_to_json(domain: Domain) -> Json:
    """Return a public domain as JSON: items as a digest, a file by its identity."""
    if isinstance(domain, Listed):
        names = sorted({typed_name(item) for item in domain.items if item is not None})
        return {"listed": hashlib.sha256(json.dumps(names).encode()).hexdigest()}
    if isinstance(domain, Column):
        return {"column": [identify_source(Address.parse(domain.source))[0], domain.column, domain.table]}
    if isinstance(domain, Span):
        return {"span": [domain.start, domain.stop]}
    return {"size": domain.items}
