"""The promise of a release, recomputed from the parameters in its statement."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dpselect.checking.finding import Finding, fails, stated
from tests.judge import by_group, counts, histograms, in_groups, picks, sparse, tops, unions
from tests.judge.balls import told
from tests.judge.measures import measured
from tests.judge.numbers import Parameters, UnfitError
from tests.judge.weights import weighed

if TYPE_CHECKING:
    from dpselect.release.release import Release

ONE_DRAW = {"ExponentialMechanism", "PermuteAndFlip"}
PICKS = {"LimitedDomain", "Peeling", "Quantile", picks.RECURSIVE, picks.OF_SETS}
UNIONS = {"RenyiShaped", *unions.THRESHOLDS}
COUNTED_BY = {  # what says how counts got their noise; no other mechanism pays for any
    histograms.LAPLACE: ("epsilon_per_count",),
    **dict.fromkeys([*PICKS, sparse.NAME, by_group.NAME, tops.DISCOVERED], counts.SAID),
    histograms.GAUSSIAN: ("variance",),
    histograms.SHARED_LAPLACE: ("own_rate",),
    histograms.SHARED_GAUSSIAN: ("own_variance",),
    **dict.fromkeys(UNIONS, ("epsilon_of_counts", "deviation_of_counts")),
}
ANYHOW = (*counts.SAID, "epsilon_of_counts", "height")  # of a mechanism that is not known here


def promised(release: Release) -> tuple[Finding, ...]:
    """Everything that was looked at, of which the promise needs each."""
    try:
        return tuple(_findings(release))
    except UnfitError as error:
        return (fails(f"{error}, so nothing can be recomputed"),)


def _findings(release: Release) -> Iterator[Finding]:
    statement, said = release.privacy, Parameters(release.privacy.parameters)
    numbers = Parameters({"epsilon": statement.epsilon, "delta": statement.delta})
    epsilon, delta, name = numbers.epsilon("epsilon"), numbers.delta("delta"), statement.mechanism
    yield from _form(release, said)
    yield from weighed(release, said)
    yield from measured(release, said)
    if name in ONE_DRAW:
        yield stated(
            f"one draw of {name}, whose epsilon is the stated one: the release has no other number from which "
            f"{told(epsilon)} could be recomputed"
        )
    elif name in PICKS:
        yield picks.composed(name, said, epsilon, delta, statement.bound)
    elif name == sparse.NAME:
        yield sparse.composed(said, epsilon, delta, statement.bound)
    elif name == by_group.NAME:
        yield by_group.composed(said, epsilon, delta, statement.bound)
    elif name in in_groups.NAMES:
        yield from in_groups.findings(name, said, epsilon, delta, statement.bound)
    elif name in histograms.NAMES:
        yield histograms.composed(name, said, epsilon, delta, statement.bound)
    elif name == tops.DISCOVERED:
        yield from tops.discovered(said, epsilon, delta, _has_counts(release))
    elif name in UNIONS:
        yield from unions.findings(name, said, epsilon, delta)
    else:
        yield stated(f"this version knows no mechanism called {name!r:.60}")


def _form(release: Release, said: Parameters) -> Iterator[Finding]:
    """Is it an answer that such a statement can be about?"""
    name = release.privacy.mechanism
    if not release.secure:
        yield fails("it was made with test draws, which anybody can repeat, so it is not private at all")
    if str(release.privacy.neighbors) != "add-remove" and name not in ONE_DRAW:
        yield fails(f"{name} promises something about add-remove neighbours only")
    if release.groups is not None and name not in {by_group.NAME, tops.DISCOVERED, *in_groups.NAMES, *UNIONS}:
        yield fails(f"{name} promises nothing about groups")
    if release.groups is None and name in {by_group.NAME, *in_groups.NAMES}:
        yield fails(f"{name} answers in groups, and there are none")
    of_users = {by_group.NAME: "epsilon_per_group", in_groups.QUANTILES: "epsilon_of_cells"}
    if _has_users(release) and not (name in of_users and said.has(of_users[name])):
        yield fails("the groups have numbers of users, and nothing says how noisy these are")
    decided = name in UNIONS and said.of.get("counts_decided") is True
    named = COUNTED_BY.get(name, () if name in {*ONE_DRAW, *in_groups.NAMES} else ANYHOW)
    if _has_counts(release) and not decided and not any(map(said.has, named)):
        yield fails("the items have counts, and nothing says how noisy these are")
    if name not in UNIONS and max(release.found, default=0) > _most(name, said):
        yield fails("there are more items than the statement speaks of")


def _most(name: str, said: Parameters) -> int:
    """How many items the statement speaks of; in groups, how many of each."""
    if name in ("Quantile", picks.RECURSIVE, in_groups.QUANTILES):
        return len(said.several("q"))
    most = 1 if name in {*ONE_DRAW, in_groups.CHOICE} else said.of.get("items" if name in histograms.NAMES else "k")
    return most if isinstance(most, int) else 0


def _has_users(release: Release) -> bool:
    groups = release.groups
    return groups is not None and (groups.counted or any(group.users is not None for group in groups.shown))


def _has_counts(release: Release) -> bool:
    return release.counted or any(item.count is not None for item in release.items)
