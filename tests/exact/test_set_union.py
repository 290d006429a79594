"""Set unions: the whole law on all tiny databases is private for all neighbours, and tight; twins fail."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import arb, ctx

from dpselect._ground.reals import enclose
from dpselect.accounting.gaussian_curve import gaussian_delta
from dpselect.mechanisms import CountLaplace, GreedyGeometric, TruncatedGeometric, WeightedGaussian
from dpselect.mechanisms.set_union.release_laws import LaplaceTail, new_item_bound
from dpselect.papers import PolicyLaplace, WeightedLaplace
from tests.exact.laws import BITS, at_most, delta_between, equals
from tests.exact.union_laws import private, union_law, weights_of, worst
from tests.papers.named import named
from tests.twins import unions as broken

ONE_ROUND = """CountLaplace CountGaussian WeightedLaplace WeightedGaussian PolicyLaplace PolicyGaussian
    GreedyGeometric""".split()
POLICIES = "PolicyLaplace PolicyGaussian GreedyGeometric".split()
BUDGETS = [("1", "0.1"), ("1/2", "0.4"), ("3", "0.01")]


def made(name, epsilon, delta, most):
    more = {"alpha": 0} if name in POLICIES else {}  # the lowest cutoff is reached by few users
    return named(name)(epsilon=epsilon, delta=delta, max_items_per_user=most, **more)


@pytest.mark.parametrize("name", ONE_ROUND)
@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_private_for_all_neighbours(name, epsilon, delta):
    assert private(made(name, epsilon, delta, 3), size=3, most=3, users=3)


@pytest.mark.parametrize("name", ONE_ROUND)
@pytest.mark.parametrize("most", [1, 2])
def test_private_with_fewer_items_a_user(name, most):
    assert private(made(name, "1", "0.1", most), size=3, most=most, users=3)


@pytest.mark.parametrize("name", POLICIES)
def test_private_with_one_user_more(name):
    assert private(made(name, "1/2", "0.4", 2), size=2, most=2, users=5)


@pytest.mark.parametrize(("epsilon", "delta"), [*BUDGETS, ("1", "1/2"), ("0.1", "0.9")])
def test_truncated_geometric_is_private_and_uses_all_of_delta(epsilon, delta):
    found = worst(TruncatedGeometric(epsilon=epsilon, delta=delta), size=2, most=1, users=5)
    assert equals(found, Fraction(delta))


@pytest.mark.parametrize(
    "mechanism",
    [
        GreedyGeometric(epsilon=1, delta="0.1"),
        WeightedLaplace(epsilon=1, delta="0.1", max_items_per_user=3),
        PolicyLaplace(epsilon=1, delta="0.1", max_items_per_user=3),
    ],
    ids=lambda m: type(m).__name__,
)
def test_a_lone_user_uses_all_of_delta(mechanism):
    """Laplace and geometric releases are tight: some number of new items comes back with probability delta."""
    deltas = [delta_between({0: arb(1)}, union_law(mechanism, (tuple(range(t)),), 3), Fraction(1)) for t in (1, 2, 3)]
    assert max(float(d.mid()) for d in deltas) == pytest.approx(0.1, rel=1e-8)


# ---- the budget, as the proofs spend it ---------------------------------------------------------------------


def spent(mechanism) -> arb:
    """delta of the noise and delta of new items, for a mechanism of uniform weights."""
    with ctx.workprec(BITS):
        noise = arb(0)
        if not isinstance(mechanism.law, LaplaceTail):
            noise = gaussian_delta(mechanism.law.deviation, Fraction(mechanism.epsilon))
        share = WeightedGaussian(epsilon=1, delta="0.1", max_items_per_user=3).share
        misses = [1 - (1 - mechanism.law.at(share(t)).ball(BITS)) ** t for t in (1, 2, 3)]
        return noise + max(misses, key=lambda p: float(p.mid()))


def test_delta_is_split_between_noise_and_new_items():
    right = WeightedGaussian(epsilon=1, delta="0.1", max_items_per_user=3)
    assert at_most(spent(right), Fraction(1, 10))
    assert float(spent(right).mid()) == pytest.approx(0.1, rel=1e-9)
    assert not at_most(spent(broken.DeltaNotHalved(epsilon=Fraction(1), delta=Fraction(1, 10))), Fraction(1, 10))


def test_one_of_t_is_what_t_share():
    with ctx.workprec(BITS):
        for t in (1, 2, 7):
            assert abs(1 - (1 - new_item_bound(Fraction(1, 10), t)) ** t - enclose(Fraction(1, 10))) < 1e-40


# ---- wrong twins ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("counts", [True, False], ids=["count", "weighted"])
def test_the_threshold_for_one_new_item_is_refused(counts):
    """For weighted Laplace with a small epsilon, where three items of 1/3 are worse than one of 1."""
    twin = broken.ThresholdForOne(epsilon=Fraction(1, 10), delta=Fraction(1, 100), counts=counts)
    right = CountLaplace if counts else WeightedLaplace
    assert not private(twin, size=3, most=3, users=1)
    assert private(right(epsilon="0.1", delta="0.01", max_items_per_user=3), size=3, most=3, users=1)


def test_the_noise_of_weighted_counts_is_refused_for_counts():
    """Three counts move by 1 each, just below the threshold."""
    twin = broken.CountedAsWeighted(epsilon=Fraction(1), delta=Fraction(1, 10))
    right = CountLaplace(epsilon=1, delta="0.1", max_items_per_user=3)
    many = ((0, 1, 2),) * 9
    found = {
        mechanism: delta_between(union_law(mechanism, many[:-1], 3), union_law(mechanism, many, 3), Fraction(1))
        for mechanism in (twin, right)
    }
    assert not at_most(found[twin], Fraction(1, 10))
    assert at_most(found[right], Fraction(1, 10))


# i1, i2, l1, l2 are one half below a cutoff of 4.5 when the added user fills i1 and i2; two others then find room
# elsewhere only: in j1 and j2, that nobody else has.
CHAIN = ([0], [1], [2], [3]) * 4
BEFORE = (*map(tuple, CHAIN), (0, 2, 4), (1, 3, 5))
AFTER = (*map(tuple, CHAIN), (0, 1), (0, 2, 4), (1, 3, 5))


def test_greedy_updates_to_a_cutoff_that_is_no_integer_are_refused():
    """Not by its l1 distance, which is 1: two items are new, and neither belongs to the added user."""
    terms = {"epsilon": Fraction(1, 2), "delta": Fraction(1, 10)}
    twin = broken.FractionalGreedy(cutoff=Fraction(9, 2), **terms)
    before, after = (weights_of(twin, database, 6) for database in (BEFORE, AFTER))
    assert [b - a for a, b in zip(before, after, strict=True)] == [0, 0, 0, 0, Fraction(1, 2), Fraction(1, 2)]
    laws = [union_law(twin, database, 6) for database in (BEFORE, AFTER)]
    assert float(delta_between(*laws, Fraction(1, 2)).mid()) > 0.14
    for right in (broken.NoisyGreedy(**terms), GreedyGeometric(**terms)):
        laws = [union_law(right, database, 6) for database in (BEFORE, AFTER)]
        assert at_most(delta_between(*laws, Fraction(1, 2)), Fraction(1, 10))


def test_noise_on_weight_zero_is_refused():
    twin = broken.NoisedZeros(epsilon=Fraction(1), delta=Fraction(1, 10))
    assert not private(twin, size=3, most=3, users=1)
    assert private(twin.inner, size=3, most=3, users=1)
