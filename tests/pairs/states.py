"""What becomes of a pair: it is answered, refused, or no call at all. This is the one place that says which.

A refusal is declared by what a call says, so that one line stands for many pairs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tests.pairs.crossing import Call, Impossible, Pair, crossed

SAID = object()  # in any way


@dataclass(frozen=True)
class Refused:
    """Calls that say all of this are refused, for their `parameter`; for None where a column does not fit."""

    parameter: str | None
    because: str
    when: dict[str, Any]

    def fits(self, call: Call) -> bool:
        given = {"verb": call.verb, **call.given}
        return all(name in given and _is(given[name], value) for name, value in self.when.items())


def _is(given: object, wanted: object) -> bool:
    if wanted is SAID:
        return given is not None
    return given in wanted if isinstance(wanted, (set, frozenset)) else given == wanted


def refused(parameter: str | None, because: str, **when: Any) -> Refused:
    """One line of the table."""
    return Refused(parameter, because, when)


SEVERAL = frozenset({"2026-10..2026-11", "2026-W44..2026-W46"})
BOTH_COLUMNS = ("country", "flag")
NO_UNION = ("choose", "histogram", "quantile", "top_k")

REFUSED: tuple[Refused, ...] = (
    # ---- groups
    refused("method", "the items of a group come in order", by=SAID, method="canonical-set"),
    refused("domain", "groups of a domain are another question", verb="top_k", by=SAID, domain=SAID),
    refused("method", "groups have two methods", by=SAID, method="limited-domain-sparse"),
    refused("in_engine", "groups are found in memory", verb="top_k", by=SAID, in_engine=True),
    refused("by", "only the items of one list are measured", by=SAID, measures=SAID),
    refused("by", "only one list is compared", by=SAID, compared_with=SAID),
    refused("by", "a group is no item", by=BOTH_COLUMNS, item="flag"),
    refused("within", "an accuracy is of one list", by=SAID, within=SAID),
    refused("users", "discovery counts users of items only", users=True, method="discover"),
    # ---- scores, and what else is told
    refused("method", "it selects by numbers of users alone", by_weight=SAID, method="discover"),
    refused("measures", "the number of users is no score there", by_weight=SAID, measures=SAID),
    refused("measures", "they would be of the rows of all these periods", compared_with=SAID, measures=SAID),
    refused("split", "a part of a text has no number of its own", split=SAID, measures=SAID),
    refused("split", "a part of a text has no weight of its own", split=SAID, by_weight=SAID),
    refused("exclude", "left out of the domain they are left out", exclude=SAID, domain=SAID),
    # ---- types
    refused(None, "they are no numbers", verb="quantile", item=frozenset({"day", "moment", "flag"})),
    refused("item", "a value is in one column", verb="quantile", item=("name", "level")),
    refused("split", "a value is no part of a text", verb="quantile", split=SAID),
    refused("max_items_per_user", "a user takes part with one value", verb="quantile", max_items_per_user=2),
    *(refused("item", "only a union is of words", verb=verb, item="words") for verb in NO_UNION),
    refused("in_engine", "words are cut here", item="words", in_engine=True),
    refused("by", "words have no groups", verb="union", item="words", by=SAID),
    refused("exclude", "words are left out by nobody", verb="union", item="words", exclude=SAID),
    refused("item", "a gateway counts columns", item="words", surface="gateway"),
    refused("timezone", "a list of times has no declared type", source="dict", timezone=SAID),
    # ---- prices and budgets
    refused("delta", "a choice of one needs none", verb="choose", delta=SAID),
    refused("delta", "a number of users needs none", verb="users", delta=SAID),
    refused("within", "it is a number of users", within=SAID, by_weight=SAID),
    refused("within", "it is a number of users", within=SAID, compared_with=SAID),
    refused("within", "it is about items and counts", within=SAID, measures=SAID),
    refused("method", "how near its items are is known afterwards", within=SAID, method="discover"),
    refused("max_items_per_user", "the price is said before rows are read", threshold=SAID, max_items_per_user=None),
    refused("compared_with", "one user may be in both periods", compared_with=SAID, budget="memory"),
    refused("during", "one user may be in several periods", during=SEVERAL, budget="memory"),
)  # fmt: skip


@dataclass(frozen=True)
class State:
    """What becomes of a pair, and why where it is not answered."""

    call: Call | None
    refusal: Refused | None = None
    impossible: str | None = None

    @property
    def answered(self) -> bool:
        """Is there an answer?"""
        return self.call is not None and self.refusal is None


def state(features: Pair) -> State:
    """What is declared of these features together."""
    try:
        call = crossed(*features)
    except Impossible as error:
        return State(None, impossible=str(error))
    return State(call, refusal=next((one for one in REFUSED if one.fits(call)), None))


def unused(calls: Iterable[Call]) -> list[Refused]:
    """Refusals that no call meets: they say nothing."""
    known = list(calls)
    return [one for one in REFUSED if not any(one.fits(call) for call in known)]
