"""Accuracy first: what was asked for holds with 95 % confidence by the exact law at the price that follows, over all
small histograms, and not at the price before it. Wrong prices are refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from dpselect._ground.methods import NeedsBound, method_row, names
from dpselect.mechanisms import CertifiedQuantiles, LimitedDomain, Peeling, Quantile, RecursiveQuantiles
from dpselect.mechanisms.gaps import FACTORS, exponential, failure_per_step, kth, log_others
from dpselect.mechanisms.shared_noise import SharedLaplaceNoise
from dpselect.mechanisms.top_k.noisy_counts import CountNoise, NoisyCounts
from dpselect.mechanisms.top_k.sharp_counts import SharpCounts
from dpselect.release.accuracy import BETA
from dpselect.release.answers.target_accuracy import TargetAccuracy
from dpselect.testing import Law
from dpselect.testing import law as law_of_run
from dpselect.utility.price import index_at_least, number_at
from dpselect.utility.union_accuracy import users_for
from tests.by_names import plan_of
from tests.exact.joint_laws import sorted_grid
from tests.exact.laws import law_of
from tests.slow.exact.test_quantile import missed

FAR = 4000  # where laws of noise end
Counts = tuple[int, ...]
Histograms = Callable[[], Iterable[Counts]]


def chance(law: Law, wrong: Callable[[Any], bool]) -> float:
    return sum(float(p.mid()) for answer, p in law.items() if wrong(answer))


def short(counts: Counts, k: int, answer: Sequence[int]) -> int:
    """By how much an item that came back is below the k-th best."""
    return sorted(counts, reverse=True)[k - 1] - min((counts[i] for i in answer), default=10**9)


@cache
def law(mechanism: Any, counts: Counts) -> Law:
    return law_of(mechanism, counts)


def worst(mechanism: Any, within: int, histograms: Histograms) -> float:
    """The largest probability, over all histograms, of an item that is further below the k-th best."""
    return max(chance(law(mechanism, c), lambda a, c=c: short(c, mechanism.k, a) > within) for c in histograms())


def before(asked: TargetAccuracy | None) -> Fraction:
    """The price before the one that follows: a little smaller."""
    assert asked is not None
    return number_at(index_at_least(asked.epsilon) - 1)


# ---- a top k: the rate of a pick --------------------------------------------------------------------------

WITHIN = 2


def few(items: int) -> Histograms:
    return lambda: sorted_grid(items, WITHIN + 2)


def far_up(items: int) -> Histograms:
    """Far above bottom, so that lists hardly ever end early: that only helps."""
    return lambda: (tuple(90 + c for c in counts) for counts in sorted_grid(items, WITHIN + 2))


def peeling(k: int, pick: Fraction) -> Any:
    return Peeling(k=k, epsilon_per_pick=pick)


def limited(k: int, pick: Fraction) -> Any:
    return LimitedDomain(k=k, k_bar=4, epsilon_per_pick=pick, delta=Fraction(1, 5), delta_threshold=Fraction(1, 5))


def wanted(k: int, candidates: int = 4, within: int = WITHIN, picks: int | None = None) -> Fraction:
    """The least epsilon of a pick."""
    return kth(Fraction(1), log_others(candidates, k), k if picks is None else picks, BETA) / (within + 1)


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize(("made", "histograms"), [(peeling, few(4)), (limited, far_up(4))], ids=["known", "unknown"])
def test_the_epsilon_of_a_pick_is_the_least_that_keeps_the_bound(k: int, made: Any, histograms: Histograms) -> None:
    assert BETA * (1 - 1e-6) <= worst(made(k, wanted(k)), WITHIN, histograms) <= BETA


WRONG = {
    "so many picks are forgotten": lambda k: wanted(k, picks=1),
    "one user more": lambda k: wanted(k, within=WITHIN + 1),
    "the best are taken for all others": lambda k: wanted(k, candidates=k + 1),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("made", [peeling, limited])
def test_a_smaller_epsilon_of_a_pick_is_refused(made: Any, name: str) -> None:
    histograms = few(4) if made is peeling else far_up(4)
    assert worst(made(2, WRONG[name](2)), WITHIN, histograms) > 1.1 * BETA


@pytest.mark.parametrize(
    ("k", "candidates"), [(1, 2), (2, 3), (10, 1000), (FACTORS, 10**4), (50_000, 10**6), (7, 10**500)]
)
def test_the_gap_to_the_kth_best_is_below_the_union_bound_and_the_product_is_kept(k: int, candidates: int) -> None:
    gap, many = float(kth(Fraction(1), log_others(candidates, k), k, BETA)), log_others(candidates, k)
    log = math.fsum(np.log1p(math.exp(many - gap) / np.arange(1, k + 1)))
    assert log <= -math.log1p(-BETA) <= log * (1.0001 if k <= FACTORS else 1.01)
    assert gap <= math.log(k / BETA) + many
    assert gap <= float(exponential(Fraction(1), log_others(candidates), failure_per_step(BETA, k))) * (1 + 1e-9)
    assert kth(Fraction(1), log_others(k, k), k, BETA) == 0


# ---- a top k: the price -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        {"k": 1, "domain": 4},
        {"k": 2, "domain": 4},
        {"k": 2, "domain": 4, "delta": Fraction(1, 100)},
        {"k": 2, "domain": 4, "method": "canonical-set"},
        {"k": 2, "domain": 4, "method": "set"},
        {"k": 2, "k_bar": 4, "delta": Fraction(1, 5)},
    ],
    ids=str,
)
def test_a_top_k_is_as_near_as_asked_for_at_its_price_and_mostly_not_below(given: dict[str, Any]) -> None:
    query = plan_of("top_k", within=WITHIN, **given)
    cheaper = plan_of("top_k", epsilon=before(query.target_accuracy), **given | {"method": query.selection.method})
    histograms = few(4) if "domain" in given else far_up(4)
    assert worst(query.selection.selector, WITHIN, histograms) <= BETA
    if query.selection.method in ("peeling", "limited-domain"):  # the bound of sets is not met by four items
        assert worst(cheaper.selection.selector, WITHIN, histograms) > BETA


def test_all_come_back_where_the_kth_best_is_as_far_up_as_is_said_before() -> None:
    query = plan_of("top_k", within=WITHIN, k=2, k_bar=3, delta=Fraction(1, 5))
    reach = query.selection.reach()
    assert query.target_accuracy is not None
    assert (
        f"all 2 come back with 95 % confidence if the 2nd best has over {reach} users more"
        in query.target_accuracy.price_sentence
    )
    for after in (0, 3):
        up = after + reach + 1  # type: ignore[operator]
        assert chance(law(query.selection.selector, (up, up, after, after)), lambda a: len(a) < 2) <= BETA
    low = reach // 4  # type: ignore[operator]
    assert chance(law(query.selection.selector, (low, low, 0, 0)), lambda a: len(a) < 2) > BETA


@pytest.mark.parametrize("k", [1, 10])
def test_all_counts_are_as_near_as_asked_for_at_once(k: int) -> None:
    """Counts decide the price here."""

    def density(rate: Fraction) -> npt.NDArray[np.float64]:
        found = np.exp(-float(rate) * np.abs(np.arange(-FAR, FAR + 1)))
        return np.asarray(found / found.sum())

    def all_near(counter: CountNoise) -> float:
        """The chance that all k counts are within 20, of noise that is shared or not."""
        if isinstance(counter, NoisyCounts):
            return float(density(counter.rate)[FAR - 20 : FAR + 21].sum()) ** k
        assert isinstance(counter, SharpCounts)
        assert isinstance(counter.noise, SharedLaplaceNoise)
        own, shared = density(counter.noise.own), density(counter.noise.shared)
        places = [
            (z, max(0, FAR - 41 - z), max(0, FAR + 41 - z)) for z in range(-FAR, FAR + 1)
        ]  # halves are rounded up
        return sum(float(shared[FAR + z]) * float(own[low:high].sum()) ** k for z, low, high in places)

    query = plan_of("top_k", within=20, k=k, domain=k + 1, counts=True)
    cheaper = plan_of("top_k", epsilon=before(query.target_accuracy), k=k, domain=k + 1, counts=True)
    enough, less = (one.selection.counter for one in (query, cheaper))
    assert all_near(enough) >= 1 - BETA > all_near(less)
    one = plan_of("top_k", within=20, k=1, domain=2, counts=True).selection.counter
    assert k == 1 or all_near(one) < 1 - BETA  # that of one count is not enough for all


# ---- quantiles --------------------------------------------------------------------------------------------


def far(mechanism: Quantile | RecursiveQuantiles, values: Sequence[int], within: int) -> float:
    found = law_of_run(lambda draws: tuple(mechanism(list(values), draws=draws)))
    shares = mechanism.shares
    return chance(found, lambda a: max(missed(values, q, x) for q, x in zip(shares, a, strict=True)) > within)


POINTS = 4
DATA = [*combinations_with_replacement(range(POINTS), 3), *([place] * n for place in (0, 2) for n in range(1, 20))]


@pytest.mark.parametrize("q", [(Fraction(1, 2),), (Fraction(9, 10),), (Fraction(1, 4), Fraction(1, 2))], ids=str)
def test_no_rank_is_missed_by_more_than_was_asked_for(q: tuple[Fraction, ...]) -> None:
    given: dict[str, Any] = {"q": q, "bounds": (0, POINTS - 1), "step": 1}
    query = plan_of("quantile", within=WITHIN, **given)
    assert max(far(query.mechanism.quantiles, values, WITHIN) for values in DATA) <= BETA
    cheaper = CertifiedQuantiles(epsilon=before(query.target_accuracy), **given).quantiles
    if q == (Fraction(1, 2),):  # five users at one point miss by 5/2 at any other; the bound has 0.9 of BETA
        assert max(far(cheaper, values, WITHIN) for values in DATA) > 0.9 * BETA
    one_more = plan_of("quantile", within=WITHIN + 2, **given).mechanism.quantiles
    assert max(far(one_more, values, WITHIN) for values in DATA) > BETA


def test_a_steep_rank_costs_more_since_one_user_moves_its_miss_further() -> None:
    """Without the factor max(q, 1 - q) both would cost the same, and the steep one would be missed."""
    middle, steep = (plan_of("quantile", q=q, within=50, bounds=(0, 9), step=1) for q in ("0.5", "0.9"))
    assert middle.target_accuracy is not None
    assert steep.target_accuracy is not None
    assert 1.7 * middle.target_accuracy.epsilon < steep.target_accuracy.epsilon < 1.9 * middle.target_accuracy.epsilon
    cheap = CertifiedQuantiles(q="0.9", epsilon=middle.target_accuracy.epsilon, bounds=(0, 9), step=1)
    assert cheap.gap(BETA) > 50


# ---- set unions -------------------------------------------------------------------------------------------


ONE_ITEM = "truncated-geometric"


@pytest.mark.parametrize("name", [name for name in names("union") if name != "renyi-shaped"])
@pytest.mark.parametrize("users", [30, 200])
def test_a_union_finds_an_item_of_so_many_users_and_not_at_the_price_before(name: str, users: int) -> None:
    given: dict[str, Any] = {"method": name}
    given |= {} if name == ONE_ITEM or method_row("union", name).bound is NeedsBound.NONE else {"max_items_per_user": 3}
    query = plan_of("union", threshold=users, **given)
    [mechanism] = query.mechanisms(query.max_items_per_user)
    assert (users_for(mechanism, 0.95, 1) or users + 1) <= users
    [cheaper] = plan_of("union", epsilon=before(query.target_accuracy), **given).mechanisms(query.max_items_per_user)
    assert (users_for(cheaper, 0.95, 1) or users + 1) > users
