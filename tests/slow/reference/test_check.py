"""A release checked and judged: every verb's follows, every tampered one is found, every bound is a bound.

`check` plans anew. The judge shares no code with what planned the answers; here it is compared with that code, and with
brute force.
"""

from __future__ import annotations

import ast
import datetime
import json
import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from flint import arb

import dpselect as dps
from dpselect._ground.privacy import Neighbors
from dpselect.checking.finding import Verdict
from dpselect.flat import dataset_of
from dpselect.questions.questions import OneEach
from dpselect.release.statement import Ended, Item
from tests.by_names import by_names, of_values
from tests.house.rules import ROOT, imports
from tests.judge import adaptive, steps
from tests.judge.both import judged
from tests.judge.steps import Kind, Step
from tests.twins.checking import OnTheGridOnly, concentrated_count

FOLLOWS, STATED, FAILS = Verdict
DOMAIN = [str(i) for i in range(20)]
ROWS = {
    "user": [u for u in range(1500) for _ in range(3)],
    "item": [str((u * j) % (5 + u % 9)) for u in range(1500) for j in (1, 2, 5)],
    "w": [w for u in range(1500) for w in (1.5, 0.3, u % 4)],
    "sort": [f"s{u % 4}" for u in range(1500) for _ in range(3)],
}
WORDS = {"user": list(range(400)), "text": [f"a b c{u % 3}" for u in range(400)]}
MEASURES = ["sum(w, -1, 3)", "mean(w, 0, 9)"]
TOP = {
    "unknown": {},
    "unknown, k = 15": {"k": 15},
    "counts": {"counts": True},
    "by group": {"by": "sort", "method": "limited-domain"},
    "by group, counts": {"by": "sort", "max_groups_per_user": 3, "counts": True, "users": True, "delta": "1e-5"},
    "listed groups": {"by": "sort", "groups": ["s0", "s1"], "users": True},
    "discover": {"k": 30, "method": "discover"},
    "discover by group": {"k": 5, "method": "discover", "by": "sort", "counts": True},
    "discover by groups": {"k": 15, "by": "sort", "max_groups_per_user": 3},
    "peeling": {"domain": DOMAIN},
    "limited-domain-sparse": {"method": "limited-domain-sparse"},
    "limited-domain-sparse, composed, counts": {"method": "limited-domain-sparse", "k": 15, "counts": True},
    "limited-domain-sparse, weights": {"method": "limited-domain-sparse", "k": 2, "by_weight": "w", "at_most": 3},
    "limited-domain-sparse, measures": {"method": "limited-domain-sparse", "measures": MEASURES},
    "peeling, composed": {"domain": DOMAIN, "k": 15, "delta": "1e-6"},
    "peeling, counts": {"domain": DOMAIN, "counts": True},
    "measures": {"measures": MEASURES},
    "measures, canonical-set": {"domain": DOMAIN, "method": "canonical-set", "measures": MEASURES},
    "weights": {"by_weight": "w", "at_most": 3},
    "weights, counts": {"by_weight": "w", "at_most": 3, "weight_unit": "0.1", "counts": True},
    "weights, peeling": {"domain": DOMAIN, "by_weight": "w", "at_most": 2, "counts": True},
    "weights, canonical-set": {"domain": DOMAIN, "by_weight": "w", "at_most": 2, "method": "canonical-set"},
    "canonical-set": {"domain": DOMAIN, "method": "canonical-set"},
    "canonical-set, counts": {"domain": DOMAIN, "method": "canonical-set", "counts": True},
    "canonical-set at a delta": {"domain": DOMAIN, "method": "canonical-set", "k": 19, "counts": True, "delta": "5e-4"},
}
BOUNDED = {
    "bounded, counts": {"counts": True},
    "bounded, peeling, counts": {"domain": DOMAIN, "counts": True, "delta": "1e-6"},
    "bounded, canonical-set, counts": {"domain": DOMAIN, "method": "canonical-set", "counts": True},
    "bounded, discover": {"k": 30, "method": "discover", "counts": True},
    "bounded, peeling, measures": {"domain": DOMAIN, "delta": "1e-6", "measures": ["users", *MEASURES]},
    "bounded, discover, measures": {"k": 30, "method": "discover", "measures": MEASURES},
}
UNIONS = "count-laplace count-gaussian weighted-gaussian greedy-geometric renyi-shaped".split()
OF_SEVERAL = {"bounds": (0, 3), "q": [0.1, 0.3, 0.5, 0.7, 0.9], "by": "sort"}
VALUES_BY = {
    "median of listed groups": {"bounds": (0, 3), "by": "sort", "groups": ["s0"]},
    "quantiles of listed groups": {**OF_SEVERAL, "groups": ["s0", "s1"], "delta": "1e-6"},
    "quantiles of found groups": OF_SEVERAL,
    "quantiles of two found groups": {**OF_SEVERAL, "max_groups_per_user": 2, "delta": "1e-5"},
}
CHOSEN_BY = {
    "choice in listed groups": {"by": "sort", "groups": ["s0", "s1"], "max_groups_per_user": 2},
    "flips in found groups": {"by": "sort", "method": "permute-and-flip"},
}
DECIDES = "count-gaussian"
CHOSEN = ("exponential", "permute-and-flip")
UNJUDGED = {
    *CHOSEN, "discover", "discover by group", "discover by groups", "bounded, discover", "bounded, discover, measures",
    "discover of one", "discover, chosen bound", "renyi-shaped", "union, chosen bound", "text",
    "quantiles of two found groups", "replace-one",
}  # fmt: skip
"""What the judge cannot confirm; all else follows."""


def asked() -> dict[str, Callable[[], dps.Release]]:
    """A question of every verb and method."""
    free, bounded, one = (
        by_names(dps.Dataset(ROWS, user="user", item="item", max_items_per_user=most)) for most in (None, 3, 1)
    )
    single = by_names(dps.Dataset({"user": list(range(3000)), "item": ["a"] * 3000}, user="user", item="item"))
    few = by_names(
        dps.Dataset({"user": list(range(3000)) * 2, "item": ["a"] * 3000 + ["b"] * 3000}, user="user", item="item")
    )
    ages = by_names(dps.Dataset({"user": list(range(50)), "age": list(range(50))}, user="user", item="age"))
    of_groups = by_names(dps.Dataset(ROWS, user="user", item="w"))
    words = by_names(dps.Dataset(WORDS, user="user", item=dps.Text("text", ngrams=(1, 2))))
    of_words = partial(words.union, epsilon=2, max_items_per_user=3)
    sure = {"epsilon": 1, "delta": "1e-6"}
    return {
        **{name: partial(free.top_k, **{"k": 5, **how}, epsilon=1) for name, how in TOP.items()},
        **{name: partial(bounded.top_k, **{"k": 5, **how}, epsilon=1) for name, how in BOUNDED.items()},
        **{name: partial(bounded.union, epsilon=1, method=name) for name in UNIONS},
        **{name: partial(free.choose, domain=DOMAIN, epsilon=1, method=name) for name in CHOSEN},
        "union by group": partial(one.union, epsilon=1, by="sort", counts=True),
        "union of one": partial(one.union, epsilon=1),
        "discover of one": partial(one.top_k, 30, epsilon=1, method="discover", counts=True),
        "discover, chosen bound": partial(free.top_k, 30, epsilon=1, method="discover"),
        "union, chosen bound": partial(free.union, epsilon=1, counts=True),
        "union, method by the chosen bound": partial(few.union, epsilon=5, delta="1e-6"),
        "union, chosen bound of one": partial(single.union, epsilon=5, delta="1e-6", counts=True),
        "union, counts that decided": partial(bounded.union, epsilon=1, method=DECIDES, counts=True),
        "text, counts that decided": partial(of_words, method=DECIDES, counts=True),
        "union, Laplace counts that decided": partial(bounded.union, epsilon=1, method="count-laplace", counts=True),
        "union, weighted, counts": partial(bounded.union, epsilon=1, method="weighted-gaussian", counts=True),
        "text": partial(of_words, counts=True),
        "text, weighted": partial(of_words, method="weighted-gaussian", counts=True),
        "replace-one": partial(dps.choose, {"a": 3, "b": 9}, epsilon=1, neighbors="replace-one"),
        "histogram": partial(free.histogram, domain=DOMAIN, epsilon=1),
        "histogram, bounded": partial(bounded.histogram, domain=DOMAIN, epsilon=1),
        "histogram, Gaussian": partial(free.histogram, domain=DOMAIN, **sure),
        "median": partial(ages.median, bounds=(0, 60), epsilon=1),
        "median without bounds": partial(ages.median, epsilon=1),
        "quantiles": partial(ages.quantile, [0.1, 0.5, 0.9], bounds=(0, 60), **sure),
        **{name: partial(free.choose, domain=DOMAIN, epsilon=1, **how) for name, how in CHOSEN_BY.items()},
        **{name: partial(of_groups.quantile, epsilon=1, **how) for name, how in VALUES_BY.items()},
    }


class Releases:
    """Each is made when it is first looked at, and once."""

    def __init__(self) -> None:
        self.questions = asked()
        self._made: dict[str, dps.Release] = {}

    def __getitem__(self, name: str) -> dps.Release:
        if name not in self._made:
            self._made[name] = self.questions[name]()
        return self._made[name]


RELEASES = Releases()
NAMES = list(RELEASES.questions)


def stating(parameter: str) -> list[str]:
    """The names of the releases that state a parameter."""
    return [name for name in NAMES if parameter in RELEASES[name].privacy.parameters]


def stated(release: dps.Release, **changed: object) -> dps.Release:
    """The release with another statement."""
    return replace(release, privacy=replace(release.privacy, **changed))


def with_parameters(release: dps.Release, **changed: object) -> dps.Release:
    """The release with other parameters in its statement."""
    return stated(release, parameters={**release.privacy.parameters, **changed})


@pytest.fixture
def written(tmp_path):
    """A file of a release, or of anything."""

    def write(content: object, name: str = "release.json"):
        path = tmp_path / name
        text = content.to_json() if isinstance(content, dps.Release) else content
        path.write_text(text if isinstance(text, str) else json.dumps(text))
        return path

    return write


# ---- every verb and method --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_what_was_released_follows_or_is_stated(name, written):
    release = RELEASES[name]
    found = dps.check(written(release))
    assert found.verdict is FOLLOWS, str(found)
    assert found.paid is None
    assert "not checked: the names of its items" in str(found)
    assert dps.check(release) == found
    assert judged(release) is (STATED if name in UNJUDGED else FOLLOWS)


def test_there_is_a_release_of_every_method():
    from dpselect._ground.methods import METHODS

    asked = {how.get("method") for how in (TOP | BOUNDED).values()} | {*UNIONS, *CHOSEN}
    known = {"limited-domain", "peeling", "truncated-geometric"}  # taken, or as another
    assert {one.name for one in METHODS} == (asked - {None}) | known


# ---- what somebody changed --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in NAMES if name not in (*CHOSEN, "replace-one")])
def test_a_lowered_epsilon_is_found(name):
    release = RELEASES[name]
    assert judged(stated(release, epsilon=release.privacy.epsilon * Fraction(19, 20))) is FAILS


def test_a_raised_epsilon_of_a_pick_is_found():
    for name in stating("epsilon_per_pick"):
        release = RELEASES[name]
        raised = release.privacy.parameters["epsilon_per_pick"] * Fraction(101, 100)
        assert judged(with_parameters(release, epsilon_per_pick=raised)) is FAILS, name


def test_a_removed_delta_is_found():
    with_delta = [name for name in NAMES if RELEASES[name].privacy.delta]
    assert len(with_delta) > len(NAMES) // 2
    for name in with_delta:
        assert judged(stated(RELEASES[name], delta=Fraction(0))) is FAILS, name


@pytest.mark.parametrize("name", [*UNIONS, "union of one"])
def test_a_threshold_too_low_for_a_smaller_price_is_found(name):
    """Also where whoever changed it changed it everywhere."""
    release = RELEASES[name]
    half = {"epsilon": release.privacy.epsilon / 2}
    smaller = with_parameters(stated(release, **half), epsilon_of_items=half["epsilon"])
    assert judged(smaller) is (STATED if name in UNJUDGED else FAILS)


@pytest.mark.parametrize("name", ["union, counts that decided", "text, counts that decided"])
def test_counts_that_did_not_decide_are_found(name):
    """Of less noise than what decided; of a mechanism that shows none; of another kind; with noise nobody stated."""
    release = RELEASES[name]
    less = release.privacy.parameters["deviation"] * Fraction(9, 10)
    assert judged(with_parameters(release, deviation_of_counts=less)) is FAILS
    assert judged(with_parameters(release, deviation_of_counts=less, deviation=less)) is FAILS
    assert judged(with_parameters(release, counts_decided=None)) is FAILS
    assert judged(with_parameters(release, counts_decided="yes")) is FAILS
    assert judged(with_parameters(release, deviation=None)) is FAILS
    assert judged(with_parameters(release, in_engine=True)) is FAILS
    assert judged(stated(release, mechanism="WeightedGaussian")) is FAILS
    peeled = RELEASES["unknown"]
    laplace = RELEASES["union, Laplace counts that decided"]
    rate, threshold = laplace.privacy.parameters["rate"], laplace.privacy.parameters["threshold"]
    assert judged(with_parameters(laplace, rate=rate * Fraction(11, 10))) is FAILS
    assert judged(with_parameters(laplace, threshold=threshold - 1)) is FAILS
    assert judged(with_parameters(laplace, deviation_of_counts=less / 10)) is FAILS
    assert judged(with_parameters(replace(peeled, counted=True), counts_decided=True)) is FAILS


def test_a_bound_that_was_chosen_in_a_budget_is_judged():
    """Rounds have what the choice leaves of a budget of their order; other methods have less of delta."""
    rounds, one = RELEASES["union, chosen bound"], RELEASES["union, chosen bound of one"]
    said, deviation = rounds.privacy.parameters, rounds.privacy.parameters["deviation_of_counts"]
    assert said["bound_in_budget"] is True
    assert judged(rounds) is STATED
    assert judged(with_parameters(rounds, deviation_of_counts=deviation * 0.99)) is FAILS
    assert judged(with_parameters(rounds, share_of_counts=None)) is FAILS
    assert judged(with_parameters(rounds, order=2)) is FAILS  # its whole budget is below 0
    assert judged(with_parameters(rounds, epsilon_of_bound=said["epsilon_of_bound"] * 18)) is FAILS
    assert judged(stated(rounds, mechanism="CountGaussian")) is FAILS
    assert one.privacy.mechanism == "CountLaplace"
    assert judged(one) is FOLLOWS
    delta = one.privacy.parameters["delta_of_items"]
    assert judged(with_parameters(one, delta_of_items=one.privacy.delta)) is FAILS
    assert judged(with_parameters(one, delta_of_items=delta * Fraction(101, 100))) is FAILS


def test_a_threshold_is_paid_beside_the_composition():
    release = RELEASES["unknown"]
    said = release.privacy.parameters
    needed = steps.renyi_delta([Step(Kind.PICK, said["epsilon_per_pick"], 5)], Fraction(1))
    alone = max(said["delta_threshold"], Fraction(float(needed)) * Fraction(101, 100))
    assert alone < release.privacy.delta
    assert judged(stated(release, delta=alone)) is FAILS  # a twin: each of the two is within it


@pytest.mark.parametrize("name", [*VALUES_BY, *CHOSEN_BY])
def test_groups_that_nobody_paid_for_are_found(name):
    """A user in more groups, groups that come from nowhere, and a union whose threshold is too low."""
    release = RELEASES[name]
    said = release.privacy.parameters
    assert judged(with_parameters(release, max_groups_per_user=said["max_groups_per_user"] + 1)) is FAILS
    assert judged(with_parameters(release, groups_listed=None, groups_found_by=None)) is FAILS
    assert judged(stated(release, mechanism="Quantile")) is FAILS
    if "threshold_of_groups" in said:
        assert judged(with_parameters(release, threshold_of_groups=said["threshold_of_groups"] - 1)) is FAILS
        assert judged(with_parameters(release, epsilon_of_groups=said["epsilon_of_groups"] / 2)) is FAILS


def test_what_cannot_be_true_of_a_release_is_found():
    release, five = RELEASES["unknown"], RELEASES["peeling"]
    assert len(five) == 5
    assert judged(replace(release, secure=False)) is FAILS
    assert judged(stated(release, neighbors=Neighbors.REPLACE_ONE)) is FAILS
    assert judged(replace(five, items=tuple(Item(i.item, i.rank, 9) for i in five.items))) is FAILS
    assert judged(replace(release, counted=True)) is FAILS
    assert judged(replace(five, items=five.items * 2)) is FAILS
    assert judged(with_parameters(five, k=4)) is FAILS
    assert judged(with_parameters(release, delta_threshold=Fraction(0))) is FAILS
    assert judged(stated(release, mechanism="Nothing")) is STATED
    assert judged(with_parameters(RELEASES["greedy-geometric"], cutoff=Fraction(33, 2))) is FAILS
    counted = RELEASES["union, weighted, counts"]
    assert judged(with_parameters(counted, deviation_of_counts=25.0)) is FAILS


# ---- what was asked ---------------------------------------------------------------------------------------


LEFT = {"charged", "question"}  # a receipt is its payer's, and a question is what all else is compared with
FOUND = {  # of rows: what no plan knows
    *("item", "exact", "group", "count", "sum", "gain", "group_users", "value", "users_below", "users_above")
}
SEVERAL = [
    "counts", "by group, counts", "weights, counts", "bounded, peeling, measures", "discover", "renyi-shaped",
    "quantiles", "discover by group", "histogram", "union, weighted, counts", "median of listed groups",
    "choice in listed groups", "text, counts that decided", "exponential", "discover, chosen bound",
]  # fmt: skip


def leaves(found: object, place: tuple[object, ...] = ()) -> Iterator[tuple[object, ...]]:
    """The places of all numbers and texts that a plan decides."""
    if isinstance(found, dict):
        for name, one in found.items():
            of_rows = place[:1] in (("items",), ("groups",)) and (name in FOUND or name.startswith("mean"))
            if not of_rows and not (not place and name in LEFT):
                yield from leaves(one, (*place, name))
    elif isinstance(found, list):
        for at, one in enumerate(found):
            yield from leaves(one, (*place, at))
    else:
        yield place


def other(value: object) -> object:
    """Another value of its type."""
    if isinstance(value, bool) or value is None:
        return not value
    return value + 1 if isinstance(value, (int, float)) else f"{value}1"


@pytest.mark.parametrize("name", SEVERAL)
def test_whatever_a_plan_decides_cannot_be_changed_alone(name, written):
    """Each number, text and flag of a file, one by one: it is refused, as no release or as another than was planned."""
    text = RELEASES[name].to_json()
    places = list(leaves(json.loads(text)))
    assert len(places) > 15
    for place in places:
        found = json.loads(text)
        inner = found
        for step in place[:-1]:
            inner = inner[step]
        inner[place[-1]] = other(inner[place[-1]])
        try:
            verdict = dps.check(written(found)).verdict
        except dps.DataError:
            continue
        assert verdict is FAILS, place


@pytest.mark.parametrize(
    ("changed", "verdict"),
    [
        ({"k": 6}, FAILS),
        ({"epsilon": "9/10"}, FAILS),
        ({"verb": "union", "k": None}, FAILS),
        ({"verb": "union"}, FAILS),
        ({"k": "5"}, FAILS),
        ({"k": {}}, FAILS),
        ({"domain": 10**30}, FAILS),
        ({"domain": {"column": 3}}, FAILS),
        ({"groups": 10**18}, FAILS),
        ({"exclude": -1}, FAILS),
        ({"exclude": 3}, FAILS),
        ({"surprise": 1}, FAILS),
        ({"epsilon": "1e999999999"}, FAILS),
        ({"epsilon": 10**5000}, None),
        ({"rows": {"period": "month"}}, FAILS),
        ({"rows": {"user": ["a", "b"]}}, FAILS),
        ({"rows": {"user": 3}}, FAILS),
        ({"rows": []}, FAILS),
        ({"rows": {"time": "t", "period": "month", "during": "2026-10"}}, FAILS),
        ({"rows": {"time": "t", "period": "day", "during": "2000-01-01..2026-10-10"}}, FAILS),
    ],
)
def test_another_question_than_was_asked_is_found(changed, verdict, written):
    found = json.loads(RELEASES["unknown"].to_json())
    found["question"] |= changed
    if verdict is None:
        with pytest.raises((dps.DataError, ValueError)):
            dps.check(written(found))
    else:
        assert dps.check(written(found)).verdict is verdict


def test_a_release_that_does_not_say_what_was_asked_is_not_confirmed(written):
    found = dps.check(replace(RELEASES["unknown"], question=None))
    assert found.verdict is STATED
    assert "does not contain its question" in str(found)
    text = json.loads(RELEASES["unknown"].to_json())
    with pytest.raises(dps.DataError, match="holds no release"):
        dps.check(written({**text, "question": []}))


MONTHS = {
    "user": list(range(900)),
    "item": ["a", "b", "c"] * 300,
    "day": [f"2026-{9 + u % 3:02}-05" for u in range(900)],
}
PERIODS = {"time": "day", "period": "month"}


@pytest.mark.parametrize(
    ("rows", "unit"),
    [
        ({**PERIODS, "during": "2026-10"}, "user in one month"),
        ({**PERIODS, "during": "2026-09..2026-11"}, "user in one month"),
        ({"user": ["user", "day"]}, "(user, day) pair"),
        ({**PERIODS, "user": ["user", "day"], "during": "2026-09"}, "(user, day) pair in one month"),
    ],
)
def test_whom_a_promise_is_about_cannot_be_changed(rows, unit, written):
    """The sentences may be changed along with it."""
    release = dataset_of(MONTHS, **{"user": "user", "item": "item", **rows}).top_k(2, epsilon=1)
    assert release.privacy.unit == unit
    assert dps.check(written(release)).verdict is FOLLOWS
    assert dps.check(stated(release, unit="user")).verdict is FAILS
    said = tuple(one for one in release.privacy.sentences if "month" not in one and "pair" not in one)
    assert dps.check(stated(release, unit="user", sentences=said)).verdict is FAILS


def test_periods_that_had_not_ended_may_have_ended_since():
    year = 2 + datetime.datetime.now(datetime.UTC).year
    rows = {**MONTHS, "day": [f"{year}-10-05"] * 900}
    data = dps.Dataset(rows, user="user", item="item", time=dps.Time("day", period="month"))
    release = data.during(f"{year}-10").top_k(2, epsilon=1)
    assert release.privacy.sentences[-1].endswith("has not ended: rows that come later are not counted.")
    assert dps.check(release).verdict is FOLLOWS
    assert dps.check(stated(release, sentences=release.privacy.sentences[:-1])).verdict is FOLLOWS
    assert dps.check(stated(release, sentences=(*release.privacy.sentences, "All is well."))).verdict is FAILS
    free = f"It costs nothing, and {release.privacy.sentences[-1]}"
    assert dps.check(stated(release, sentences=(*release.privacy.sentences[:-1], free))).verdict is FAILS


def test_an_answer_has_no_more_than_its_question_allows():
    """Not more groups than were listed, no value outside of the bounds, no union that was cut short."""
    groups = RELEASES["listed groups"]
    more = replace(groups.groups.shown[-1], values=("nowhere",))
    assert (
        dps.check(replace(groups, groups=replace(groups.groups, shown=(*groups.groups.shown, more)))).verdict is FAILS
    )
    values = RELEASES["quantiles"]
    low, high = values.privacy.parameters["bounds"]
    for beyond in (low - 1, high + 1):
        changed = (*values.items[:-1], replace(values.items[-1], item=beyond))
        assert dps.check(replace(values, items=changed)).verdict is FAILS
    union = RELEASES["union of one"]
    assert dps.check(replace(union, ended=Ended.BOTTOM)).verdict is FAILS


def test_accuracy_that_cannot_be_planned_is_named():
    """It rests on how many items a column tells apart, which its length does not say."""
    release = dps.Dataset({"user": [1], "item": [1]}, user="user", item="item").top_k(1, domain=[1, "1"], epsilon=9)
    found = dps.check(release)
    assert found.verdict is FOLLOWS
    assert "all other fields agree, but its accuracy depends on" in str(found)
    assert "all its fields agree" in str(dps.check(RELEASES["peeling"]))


def test_words_of_a_file_steer_no_terminal(written):
    said = json.loads(RELEASES["unknown"].to_json())
    found = dps.check(written({**said, "\x1b[2Jall is well": 1}))
    assert found.verdict is FAILS
    assert "\x1b" not in str(found)
    said["privacy"]["statement"].append("\x1b[2Jall is well")
    assert dps.check(written(said)).verdict is FAILS
    assert "\x1b" not in f"{dps.check(written(said))} {dps.Release.from_json(json.dumps(said))}"


def test_a_deep_part_of_a_file_is_no_error(written):
    said, deep = json.loads(RELEASES["unknown"].to_json()), []
    for _ in range(900):
        deep = [deep]
    assert dps.check(written({**said, "more": deep})).verdict is FAILS


def test_compared_periods_and_what_is_left_out_are_planned_anew():
    """With 3 items left out, and 2 months compared with 2 others."""
    rows = dps.Dataset(MONTHS, user="user", item="item", time=dps.Time("day", period="month")).during("2026-10")
    release = by_names(rows).top_k(2, epsilon=1, compared_with="2026-09", exclude=["x", "y", "z"])
    assert release.question["exclude"] == 3
    assert release.question["rows"]["compared_with"] == "2026-09"
    assert dps.check(release).verdict is FOLLOWS
    assert dps.check(replace(release, question={**release.question, "exclude": 2})).verdict is FAILS


@pytest.mark.parametrize("verb", ["top_k", "choose", "histogram"])
def test_a_question_names_no_item_of_its_lists(verb, tmp_path):
    """Nor does it need what a column of another source holds."""
    rows = dps.Dataset(MONTHS, user="user", item="item", max_items_per_user=2)
    k = {"k": 2} if verb == "top_k" else {}
    release = getattr(rows, verb)(**k, domain=["a", "b", "c", "secret"], epsilon=1)
    assert release.question["domain"] == 4
    assert "secret" not in json.dumps(release.question)
    assert dps.check(release).verdict is FOLLOWS
    (tmp_path / "items.csv").write_text("name\na\nb\nc\n")
    release = getattr(rows, verb)(**k, domain=dps.Column(tmp_path / "items.csv", "name"), epsilon=1)
    assert release.question["domain"] == {"column": "name"}
    (tmp_path / "items.csv").unlink()
    assert dps.check(release).verdict is FOLLOWS
    assert dps.check(stated(release, epsilon=Fraction(1, 2))).verdict is FAILS


def test_answers_about_values_of_the_callers_are_planned_anew():
    releases = [
        dps.choose({"a": 3, "b": 9}, epsilon=1, monotonic=True),
        dps.choose({"a": 3, "b": 9}, epsilon=1, sensitivity="1/3", method="permute-and-flip"),
        dps.quantile(list(range(100)), bounds=(0, 99), epsilon=1),
        of_values(OneEach([0.2, 0.8], bounds=(0, 99)), list(range(100)), within=30),
    ]
    for release in releases:
        assert dps.check(release).verdict is FOLLOWS
        assert dps.check(stated(release, epsilon=release.privacy.epsilon / 2)).verdict is FAILS


@pytest.mark.parametrize("name", ["weights, counts", "counts"])
def test_a_count_or_sum_beyond_all_is_found(name, written):
    """A sum of 10^400 is no float, and was an OverflowError."""
    release = RELEASES[name]
    items = (replace(release.items[0], count=10**400, low=10**400 - 1, high=10**400 + 1), *release.items[1:])
    assert judged(replace(release, items=items)) is (FAILS if "weights" in name else FOLLOWS)
    assert dps.check(written(replace(release, items=items))).verdict is FAILS


# ---- the file ---------------------------------------------------------------------------------------------


def test_a_number_that_was_changed_for_people_only_is_found(written):
    found = json.loads(RELEASES["unknown"].to_json())
    found["privacy"]["epsilon"] = 0.1
    checked = dps.check(written(found))
    assert checked.verdict is FAILS
    assert "privacy.epsilon" in str(checked)
    found["privacy"] |= {"delta": 0.1, "unit": "day", "statement": []}
    found["accuracy"] |= {"gap": 0, "reach": 0}
    assert "  does not follow: 1 more fields differ from the plan\n" in str(dps.check(written(found)))


def test_whom_a_promise_is_about_is_said_where_it_is_not_a_user(written):
    assert dps.check(written(RELEASES["replace-one"])).promise == "(1, 0) against replace-one neighbours"
    month = stated(RELEASES["unknown"], unit="user in one month\x1b[2J" + "x" * 100)
    promise = dps.check(written(month)).promise
    assert promise.startswith("(1, 1e-06) per user in one month\\x1b[2Jxx")
    assert len(promise) < 90


HOSTILE = {
    "nothing": "",
    "text": "hello",
    "a path": '"/etc/passwd"',
    "a list": "[]",
    "an empty object": "{}",
    "deep": '{"a":' * 200_000,
    "deep and whole": '{"a":' + "[" * 100_000 + "]" * 100_000 + "}",
    "a long number": '{"a": ' + "9" * 100_000 + "}",
    "no number": '{"a": NaN}',
    "a name twice": '{"a": 1, "a": 2}',
    "a release cut": RELEASES["unknown"].to_json()[:-9],
    "epsilon of a power": RELEASES["unknown"].to_json().replace('"epsilon": "1"', '"epsilon": "1e999999999"'),
    "no epsilon": RELEASES["unknown"].to_json().replace('"epsilon": "1"', '"epsilon": "-1"'),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_that_is_no_release_is_refused(name, written):
    with pytest.raises(dps.DataError, match="holds no release"):
        dps.check(written(HOSTILE[name]))


def test_what_is_no_file_is_refused(tmp_path, monkeypatch, written):
    for where, said in (
        (tmp_path, "must be a file"),
        (tmp_path / "none", "no such file"),
        ("a\0b", "no such file|read"),
    ):
        with pytest.raises(dps.DataError, match=said):
            dps.check(where)
    (tmp_path / "bytes").write_bytes(b"\xff\xfe{}")
    with pytest.raises(dps.DataError, match="holds no release"):
        dps.check(tmp_path / "bytes")
    with pytest.raises(dps.ParameterError, match="release must be a Release, or the path of a file, got"):
        dps.check({"items": []})  # type: ignore[arg-type]
    monkeypatch.setattr("dpselect.checking.check.MAX_BYTES", 2**10)
    with pytest.raises(dps.DataError, match="at most"):
        dps.check(written(RELEASES["unknown"]))


def test_the_judge_shares_nothing_with_what_planned_the_answer():
    code = "import sys, tests.judge.promise; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "tests.judge.picks" in loaded
    apart = tuple(f"dpselect.{one}" for one in ("accounting", "mechanisms", "queries", "engines", "draws", "methods"))
    assert not [name for name in loaded if name.startswith(apart)]
    judge = [path for path in (ROOT / "tests" / "judge").glob("*.py") if path.stem not in ("both", "every")]
    assert len(judge) > 15
    for path in judge:
        used = imports(ast.parse(path.read_text("utf-8")), "tests.judge")
        assert not [one.name for one in used if one.name.startswith(apart)], path.name


# ---- twins of the judge -------------------------------------------------------------------------------------


def test_the_moment_of_a_count_is_not_that_of_a_pick():
    count = Step(Kind.PURE, Fraction(1, 2), 1)
    flip = math.exp(0.5) / (1 + math.exp(0.5))
    true = math.log(flip * math.exp(0.5 * 3) + (1 - flip) * math.exp(-0.5 * 3))
    assert float(steps.log_moment(count, arb(3))) == pytest.approx(true, rel=1e-12)
    assert float(concentrated_count(count, arb(3))) < true / 2  # the twin


def brute(kinds: list[tuple[str, float]], z: float, parts: int) -> float:
    """F(z) of docs/accounting.md with t on a grid: an adversary that is there, so never too much."""
    if not kinds:
        return max(0.0, 1 - z)
    (kind, e), rest = kinds[0], kinds[1:]
    if kind == "count":
        q = 1 / (1 + math.exp(-e))
        return q * brute(rest, z * math.exp(-e), parts) + (1 - q) * brute(rest, z * math.exp(e), parts)
    best = 0.0
    for t in np.linspace(0, e, parts + 1):
        w = (1 - math.exp(t - e)) / (1 - math.exp(-e))
        best = max(
            best,
            w * brute(rest, z * math.exp(-t), parts) + (1 - w) * brute(rest, z * math.exp(e - t), parts),
        )
    return best


def test_the_adversary_between_the_nodes_is_counted():
    """The twin that looks at t on the grid alone is below what an adversary attains."""
    e, total = Fraction(1), Fraction(1, 10)
    true = (math.exp(0.5) - math.exp(0.05)) ** 2 / math.expm1(1)
    honest, twin = adaptive._Grid(e / 2), OnTheGridOnly(e / 2)
    for grid in (honest, twin):
        grid.pick(2)
        grid.pick(2)
    assert float(twin.values[twin.reach]) < brute([("pick", 1.0)] * 2, 1.0, 30) <= float(honest.values[honest.reach])
    assert float(adaptive.needed([Step(Kind.PICK, e, 1)], total, e / 2)) >= true
