"""Does a release say what the rows say? AssertionError where it does not, whatever was left to chance."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction

import dpselect as dps
from tests.pairs.truth import Group, Score, Truth

SURE = 6  # users whom an item needs to be found for certain, by every method, at the price that is paid here
GREEDY = 20  # where every user gives to one item alone, and others may have been faster
SETS = ("set", "canonical-set")  # in no order
LOOSE = {"within": 16, "threshold": 16}  # how far an answer may be off whose price follows from an accuracy
FAR = 7  # deviations of noise that none is beyond
DISCOVERED = {"discover", "compared"}
NOBODY = Score()


def right(truth: Truth) -> None:
    """Every part of it."""
    JUDGES[truth.call.verb](truth)
    for item in truth.release.items:
        _counted(item, truth.scores.get((item.group, item.item), NOBODY), slack(truth))


def slack(truth: Truth) -> int:
    """By how much a score may be misjudged: seven deviations where the noise of counts is not lost in rounding."""
    noise = float(truth.release.privacy.parameters.get("deviation_of_counts", 0))
    loose = max((far for name, far in LOOSE.items() if truth.call.asked.get(name)), default=0)
    return max(loose, math.floor(FAR * noise + 0.5))


def _counted(item: dps.release.release.Item, score: Score, slack: int) -> None:
    """A count is that of those who counted, and lies in its interval together with that."""
    if item.count is None:
        return
    assert score.least - slack <= Fraction(item.count) <= score.most + slack, item
    assert item.low is not None
    assert item.high is not None
    assert item.low <= item.count <= item.high or item.count < 0
    assert item.low - slack <= score.most, item
    assert item.high + slack >= score.least, item


def _top_k(truth: Truth) -> None:
    release, asked = truth.release, truth.call.asked
    found: dict[Group, list[object]] = {}
    for group in _groups(truth):
        found[group] = [item.item for item in release if item.group == group]
    for group, labels in found.items():
        scores = {label: score for (where, label), score in truth.ranked.items() if where == group}
        _ranking(truth, labels, scores)
    for item in release.items:
        for said in item.measures:
            _measured(truth, item, said)
    for one in release.groups.shown if release.groups is not None and asked.get("users") else ():
        score = truth.groups.get(one.values, NOBODY)
        assert one.users is not None
        assert score.least <= one.users <= score.most, one
        assert one.low is not None
        assert one.low <= one.users <= (one.high or 0)


def _ranking(truth: Truth, labels: list[object], scores: Mapping[object, Score]) -> None:
    """No item that surely has more stands below another, or is missing."""
    asked, off = truth.call.asked, slack(truth)
    domain, need = asked.get("domain"), SURE * (4 if asked.get("by_weight") else 1)
    assert len(labels) == len(set(labels)) <= asked["k"]
    if domain is None:
        assert all(scores[label].users > 1 for label in labels), labels
    else:
        assert len(labels) == asked["k"]
        assert set(labels) <= {*domain}
    below = [scores.get(label, NOBODY) for label in labels]
    if asked.get("method") not in SETS:
        assert all(one.most + off >= other.least for at, one in enumerate(below) for other in below[at:]), labels
    found = DISCOVERED & {asked.get("method"), "compared" if asked.get("compared_with") else None}
    missing = [
        score.least
        for label, score in scores.items()
        if label not in labels and (not found or score.sure >= SURE)  # a bound may have kept an item from discovery
    ]
    if len(labels) == asked["k"]:
        assert min(score.most for score in below) + off >= max(missing, default=Fraction(0)), labels
    else:
        assert max(missing, default=0) < need, (labels, scores)


def _measured(truth: Truth, item: dps.release.release.Item, said: dps.release.release.Measurement) -> None:
    least, most, mean = truth.measured(item.group, item.item)
    low, high = Fraction(said.low), Fraction(said.high)
    if said.name.startswith("sum"):
        assert low <= most, (said, most)
        assert high >= least, (said, least)
    else:
        assert 0 <= low <= high <= 4
        far = 6 * (high - low)  # the noise of a mean is never small beside the steps of its grid
        assert mean is None or low - far <= mean <= high + far, (said, mean)


def _union(truth: Truth) -> None:
    found = {(item.group, item.item) for item in truth.release}
    assert len(found) == len(truth.release)
    need = GREEDY if truth.call.asked.get("method") == "greedy-geometric" else SURE + slack(truth)
    assert {key for key, score in truth.scores.items() if score.least >= need} <= found
    assert all(truth.scores[key].users > 1 for key in found), found


def _choice(truth: Truth) -> None:
    domain = truth.call.asked["domain"]
    for group in _groups(truth):
        (chosen,) = (item.item for item in truth.release if item.group == group)
        assert chosen in [truth._shown(one) for one in domain]
        best = max((score.least for (where, _), score in truth.scores.items() if where == group), default=Fraction(0))
        assert truth.scores.get((group, chosen), NOBODY).most >= best, (group, chosen)


def _histogram(truth: Truth) -> None:
    assert truth.release.labels == truth.call.asked["domain"]
    assert all(item.count is not None for item in truth.release)


def _users(truth: Truth) -> None:
    assert truth.release.labels == (truth.call.asked.get("groups") or ["users"])
    assert all(item.count is not None and item.count >= 0 for item in truth.release)


def _quantiles(truth: Truth) -> None:
    asked = truth.call.asked
    wanted = asked.get("q", (0.5,))
    for group in _groups(truth):
        values = [Fraction(item.item) for item in truth.release if item.group == group]
        assert len(values) == len(wanted)
        assert values == sorted(values)
        for q, value in zip(map(Fraction, map(str, wanted)), values, strict=True):
            _rank(truth, group, q, value, 1 + slack(truth))


def _rank(truth: Truth, group: Group, q: Fraction, value: Fraction, off: int) -> None:
    """No more users are surely below it, or above, than its rank has."""
    below = above = Fraction(0)
    for places, sure in truth.places.get(group, ()):
        low, high = min(places) < value, min(places) <= value
        all_below = max(places) < value
        least = (1 if all_below else 0) - q
        most = (1 if high else 0) - q
        below += least if sure else min(Fraction(0), least)
        above += most if sure else max(Fraction(0), most)
        assert all_below <= low
    assert below <= off, (group, q, value)
    assert above >= -off, (group, q, value)


def _groups(truth: Truth) -> list[Group]:
    """The groups that are answered: all that were listed, and of others all that enough users are in."""
    release, listed = truth.release, truth.call.asked.get("groups")
    if not truth.by:
        return [()]
    assert release.groups is not None
    shown = [one.values for one in release.groups.shown]
    if listed is not None:
        assert sorted(shown) == sorted((one,) for one in listed)
        return shown
    need = SURE * (4 if truth.call.asked.get("by_weight") else 1)
    scores = truth.scores.items() if truth.call.verb == "top_k" else ()
    must = {group for (group, _), score in scores if score.least >= need}
    if truth.call.verb != "top_k":
        must = {group for group, score in truth.groups.items() if score.least >= SURE}
    assert must <= set(shown), (must, shown)
    assert set(shown) <= set(truth.groups), shown
    return shown


JUDGES: Mapping[str, Callable[[Truth], None]] = {
    "top_k": _top_k,
    "union": _union,
    "choose": _choice,
    "histogram": _histogram,
    "quantile": _quantiles,
    "users": _users,
}
