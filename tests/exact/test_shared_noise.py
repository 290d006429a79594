"""Noise that all counts share: its price, the law of the real code, the loss over all neighbours; twins are refused."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import reduce
from itertools import product
from typing import cast

import numpy as np
import numpy.typing as npt
import pytest

from dpselect.accounting.calibration import largest_rho
from dpselect.accounting.gaussian_curve import by_curve, gaussian_delta
from dpselect.errors import ParameterError
from dpselect.mechanisms import HistogramSharedGaussian, HistogramSharedLaplace, shared_noise
from dpselect.mechanisms.gaps import gaussian_width, laplace_width
from dpselect.mechanisms.histogram import HistogramGaussian, HistogramLaplace, nearest
from dpselect.mechanisms.shared_noise import SharedGaussianNoise, SharedLaplaceNoise, zcdp
from dpselect.testing import law
from tests.twins import shared_noise as twins

Floats = npt.NDArray[np.float64]
Law = Callable[[npt.NDArray[np.int64]], Floats]
TINY = 1e-290
SMALL = [(2, 2), (3, 3), (3, 2), (4, 2), (10, 3), (10, 5), (10, 8), (50, 5), (50, 25), (50, 50), (7, 7)]


def gaussian(variance: float) -> Law:
    total = np.exp(-(np.arange(-400, 401) ** 2) / (2 * variance)).sum()
    return lambda z: np.exp(-(z**2) / (2 * variance)) / total


def laplace(rate: float) -> Law:
    return lambda z: math.tanh(rate / 2) * np.exp(-rate * np.abs(z))


def joint(counts: int, own: Law, shared: Law, reach: int) -> Floats:
    """The law of own + shared noise of so many counts, on a grid from -reach to reach."""
    y, total = np.arange(-reach, reach + 1), np.zeros((2 * reach + 1,) * counts)
    for z in range(-reach, reach + 1):
        total += shared(np.array(z)) * reduce(np.multiply.outer, [own(y - z)] * counts)
    return total


def neighbours(base: Floats, multiple: int, most: int, cut: int = 0) -> Iterator[tuple[Floats, Floats]]:
    """The law and that with one user more, of every set of at most so many items, and the other way round."""
    counts, edge = base.ndim, cut + multiple
    inside = (slice(edge, -edge),) * counts
    for items in product((0, 1), repeat=counts):
        if 0 < sum(items) <= most:
            moved = base
            for axis, item in enumerate(items):
                moved = np.roll(moved, multiple * item, axis=axis)
            yield base[inside], moved[inside]
            yield moved[inside], base[inside]


def divergence(here: Floats, there: Floats, order: float) -> float:
    """Rényi divergence over all points that floats can hold."""
    held = (here > TINY) & (there > TINY)
    return math.log(np.exp(order * np.log(here[held]) - (order - 1) * np.log(there[held])).sum()) / (order - 1)


def worst(base: Floats, multiple: int, most: int) -> float:
    """The largest divergence over its order: what rho must not be less than."""
    both = list(neighbours(base, multiple, most))
    return max(divergence(here, there, order) / order for here, there in both for order in (1.5, 2, 4))


def loss(base: Floats, most: int) -> float:
    """The largest logarithm of a ratio over all neighbours, away from the edges, where shared noise was cut off."""
    found = 0.0
    for here, there in neighbours(base, 1, most, cut=base.shape[0] // 4):
        held = (here > TINY) & (there > TINY)
        found = max(found, float(np.abs(np.log(here[held] / there[held])).max()))
    return found


# ---- the price -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("items", "most"), [*SMALL[:6], (7, 7)])
@pytest.mark.parametrize("multiple", [1, 2, 3, 8])
@pytest.mark.parametrize("own", [Fraction(1, 3), Fraction(2), Fraction(31, 3)])
def test_the_price_is_the_worst_user_at_the_best_shift(items: int, most: int, multiple: int, own: Fraction) -> None:
    shared = Fraction(5, 4)

    def bracket(m: int, shift: int) -> Fraction:
        return (shift**2 / shared + (m * (multiple - shift) ** 2 + (items - m) * shift**2) / own) / 2

    every = max(min(bracket(m, shift) for shift in range(multiple + 1)) for m in range(1, most + 1))
    assert zcdp(items, most, multiple, own_variance=own, shared_variance=shared) == every


@pytest.mark.parametrize(("items", "most"), SMALL)
def test_all_of_rho_is_used_and_noise_is_less_than_without_sharing(items: int, most: int) -> None:
    noise = SharedGaussianNoise(items=items, max_items_per_user=most, rho=Fraction("0.02"))
    assert zcdp(items, most, noise.multiple, own_variance=noise.own, shared_variance=noise.shared) == Fraction("0.02")
    assert noise.variance < most / (2 * Fraction("0.02"))


@pytest.mark.parametrize(
    ("items", "most", "factor"),
    [(2, 2, 1.1547), (5, 5, 1.6180), (10, 10, 2.0811), (50, 50, 4.0355), (10, 3, 0.967 * 3**0.5), (10, 5, 2.0000),
     (10, 8, 0.7358 * 8**0.5), (50, 10, 3.0000), (50, 25, 4.0003)],
)  # fmt: skip
def test_deviations_are_those_of_the_page(items: int, most: int, factor: float) -> None:
    """Over the deviation of one count by itself: (1 + sqrt k) / 2 without a bound, and g(k, D) with one."""
    noise = SharedGaussianNoise(items=items, max_items_per_user=most, rho=Fraction(1))
    assert math.sqrt(2 * noise.variance) == pytest.approx(factor, rel=1e-3)


# ---- the law of the code that is used --------------------------------------------------------------------------


def rounded_law(base: Floats, reach: int, rounded: Callable[[npt.NDArray[np.int64]], object]) -> Floats:
    """The law of rounded noises, from that of the noises."""
    places = np.asarray(rounded(np.arange(-reach, reach + 1)))
    found = base
    for axis in range(base.ndim):
        parts = np.moveaxis(found, axis, 0)
        gathered = np.zeros_like(parts)
        np.add.at(gathered, places + reach, parts)
        found = np.moveaxis(gathered, 0, axis)
    return found


def test_the_law_of_the_real_call_is_that_of_the_rounded_sum() -> None:
    mechanism = HistogramSharedGaussian(epsilon=12, delta="0.3", items=2, max_items_per_user=2)
    noise, reach = mechanism.noise, 40
    assert isinstance(noise, SharedGaussianNoise)
    base = joint(2, gaussian(float(noise.own)), gaussian(float(noise.shared)), reach)
    expected = rounded_law(base, reach, lambda n: (2 * n + noise.multiple) // (2 * noise.multiple))
    found = law(lambda draws: tuple(mechanism((3, 0), draws=draws)))
    assert sum(map(float, found.values())) == pytest.approx(1, abs=1e-12)
    for noisy, p in found.items():
        a, b = cast("tuple[int, int]", noisy)
        assert float(p) == pytest.approx(expected[a - 3 + reach, b + reach], rel=1e-6, abs=1e-13)


def test_the_law_of_the_real_call_of_laplace_noise() -> None:
    mechanism = HistogramSharedLaplace(epsilon=30, items=2, max_items_per_user=2)
    noise, reach = mechanism.noise, 30
    assert isinstance(noise, SharedLaplaceNoise)
    base = joint(2, laplace(float(noise.own)), laplace(float(noise.shared)), reach)
    expected = rounded_law(base, reach, lambda n: (2 * n + 2) // 4)
    for noisy, p in law(lambda draws: tuple(mechanism((3, 0), draws=draws))).items():
        a, b = cast("tuple[int, int]", noisy)
        assert float(p) == pytest.approx(expected[a - 3 + reach, b + reach], rel=1e-6, abs=1e-13)


# ---- privacy over all neighbours -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("items", "most", "rho", "reach", "least"),
    [(2, 2, Fraction(1, 2), 40, 0.95), (3, 3, Fraction(1, 2), 26, 0.95), (3, 3, Fraction(2), 16, 0.85)],
)
def test_the_loss_is_the_price_and_no_more(items: int, most: int, rho: Fraction, reach: int, least: float) -> None:
    noise = SharedGaussianNoise(items=items, max_items_per_user=most, rho=rho)
    base = joint(items, gaussian(float(noise.own)), gaussian(float(noise.shared)), reach)
    assert least < worst(base, noise.multiple, most) / float(rho) <= 1 + 1e-9


@pytest.mark.parametrize(
    ("items", "most", "multiple", "own", "shared", "reach"),
    [(3, 1, 2, 6, 1, 24), (3, 2, 4, 12, 3, 34), (3, 2, 3, 8, 3, 30), (2, 1, 6, 20, 6, 70)],
)
def test_the_price_of_a_bound_holds(items: int, most: int, multiple: int, own: int, shared: int, reach: int) -> None:
    """Few steps of a count, so that whole laws can be enumerated; the code's own price of them."""
    rho = float(zcdp(items, most, multiple, own_variance=Fraction(own), shared_variance=Fraction(shared)))
    base = joint(items, gaussian(own), gaussian(shared), reach)
    assert 0.85 < worst(base, multiple, most) / rho <= 1 + 1e-9


def delta_of(base: Floats, multiple: int, most: int, epsilon: float) -> float:
    """The least delta over all users of so many items, in both directions."""
    both = neighbours(base, multiple, most)
    return max(float(np.maximum(here - math.exp(epsilon) * there, 0).sum()) for here, there in both)


@pytest.mark.parametrize(
    ("items", "epsilon", "delta", "reach", "least"),
    [(2, "1", "0.1", 60, 0.85), (2, "2", "0.01", 60, 0.7), (3, "1", "0.1", 34, 0.75), (3, "1", "0.01", 44, 0.8)],
)
def test_by_the_exact_curve_the_delta_is_the_promise_and_no_more(
    items: int, epsilon: str, delta: str, reach: int, least: float
) -> None:
    mechanism = HistogramSharedGaussian(epsilon=epsilon, delta=delta, items=items, max_items_per_user=items)
    noise, e = mechanism.noise, float(Fraction(epsilon))
    assert isinstance(noise, SharedGaussianNoise)
    assert noise.wider
    base = joint(items, gaussian(float(noise.own)), gaussian(float(noise.shared)), reach)
    assert least < delta_of(base, noise.multiple, items, e) / float(delta) <= 1
    if items == 3:  # the shared noise for nothing
        twin = twins.shared_for_nothing(items, items, noise.own, noise.shared) / noise.rho
        cheaper = joint(items, gaussian(float(noise.own * twin)), gaussian(float(noise.shared * twin)), reach)
        assert delta_of(cheaper, noise.multiple, items, e) > 1.4 * float(delta)


@pytest.mark.parametrize(
    ("items", "most", "multiple", "own", "shared", "reach"), [(3, 1, 2, 17, 10, 40), (3, 2, 4, 12, 3, 34)]
)
def test_the_exact_curve_of_a_bound_holds(
    items: int, most: int, multiple: int, own: int, shared: int, reach: int
) -> None:
    """At epsilon 1, of few steps of a count: its delta is that of one count with the deviation of that rho."""
    found = by_curve(Fraction(1), Fraction(1, 100), items + 1)
    assert found is not None
    rho = zcdp(items, most, multiple, own_variance=own - found.wider, shared_variance=shared - found.wider)
    promised = float(gaussian_delta(Fraction(1 / math.sqrt(2 * rho)), Fraction(1)).mid())
    base = joint(items, gaussian(own), gaussian(shared), reach)
    assert 0.3 < delta_of(base, multiple, most, 1) / promised <= 1
    charged_for_bound = twins.bound_in_place_of_items(items, most, Fraction(own), Fraction(shared))
    if multiple == 2:
        twin = float(gaussian_delta(Fraction(1 / math.sqrt(2 * charged_for_bound)), Fraction(1)).mid())
        assert delta_of(base, multiple, most, 1) > 1.05 * twin


@pytest.mark.parametrize(
    ("twin", "items", "most", "multiple", "own", "shared", "reach"),
    [
        (twins.bound_in_place_of_items, 3, 1, 2, "3", "1.7", 24),
        (twins.bound_in_place_of_items, 3, 2, 2, "3", "1.7", 24),
        (twins.shared_for_nothing, 3, 3, 2, "3", "1.7", 24),
        (twins.half_shifts_of_whole_noise, 3, 3, 1, "0.3", "0.3", 14),
        (twins.half_shifts_of_whole_noise, 1, 1, 1, "0.1", "0.1", 14),
    ],
)
def test_wrong_prices_are_refused(
    twin: Callable[..., Fraction], items: int, most: int, multiple: int, own: str, shared: str, reach: int
) -> None:
    base = joint(items, gaussian(float(own)), gaussian(float(shared)), reach)
    assert worst(base, multiple, most) > 1.1 * float(twin(items, most, Fraction(own), Fraction(shared)))


def test_noise_that_is_rounded_to_even_numbers_by_itself_is_refused() -> None:
    own, shared, reach = Fraction(2), Fraction(1), 24
    rho = float(zcdp(2, 2, 2, own_variance=own, shared_variance=shared))
    base = joint(2, gaussian(float(own)), gaussian(float(shared)), 2 * reach)
    right = rounded_law(base, 2 * reach, lambda n: (2 * n + 2) // 4)
    wrong = rounded_law(base, 2 * reach, lambda n: twins.half_even(n, 2))
    assert worst(right, 1, 2) <= rho
    assert worst(wrong, 1, 2) > 2 * rho


def test_one_user_replaced_is_not_what_the_price_is_for() -> None:
    """Counts of two users that change places move one up and one down, which the shared noise does not hide."""
    noise = SharedGaussianNoise(items=2, max_items_per_user=2, rho=Fraction(1, 2))
    base = joint(2, gaussian(float(noise.own)), gaussian(float(noise.shared)), 40)
    moved = np.roll(np.roll(base, noise.multiple, axis=0), -noise.multiple, axis=1)
    inside = (slice(4, -4),) * 2
    assert divergence(base[inside], moved[inside], 2) > 1.5 * 2 * 0.5


# ---- widths ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "noise",
    [
        SharedGaussianNoise(items=3, max_items_per_user=3, rho=Fraction(1, 4)),
        SharedGaussianNoise(items=2, max_items_per_user=2, rho=Fraction(1, 4)),
        SharedLaplaceNoise(items=3, max_items_per_user=3, epsilon=Fraction(3)),
    ],
)
def test_a_width_is_the_least_that_holds(noise: SharedGaussianNoise | SharedLaplaceNoise) -> None:
    form = gaussian if isinstance(noise, SharedGaussianNoise) else laplace
    reach, m = 40, noise.multiple
    for times in (1, 2, 3):
        base = joint(times, form(float(noise.own)), form(float(noise.shared)), reach)
        law_of_errors = rounded_law(base, reach, lambda n: (2 * n + m) // (2 * m))
        width = noise.width(0.05, times)

        def covered(width: int, errors: Floats = law_of_errors) -> float:
            inside = slice(reach - width, reach + width + 1)
            return float(errors[(inside,) * errors.ndim].sum())

        assert covered(width) >= 0.95
        assert covered(width - 1) < 0.95
        assert noise._users(noise.bound(0.05, times)) >= width


@pytest.mark.parametrize("times", [1, 10])
def test_widths_of_wide_laws_are_a_little_larger(times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Added up in cells, they are never below the least, and near it."""
    for noise in (
        SharedGaussianNoise(items=10, max_items_per_user=10, rho=Fraction("0.00002")),
        SharedLaplaceNoise(items=10, max_items_per_user=10, epsilon=Fraction("0.01")),
    ):
        found = []
        for cells in (2**20, 2**11):
            monkeypatch.setattr(shared_noise, "CELLS", cells)
            found.append(shared_noise.SharedNoise.width.__wrapped__(noise, 0.05, times))
        assert found[0] < found[1] <= 1.02 * found[0]


@pytest.mark.parametrize("times", [1, 10])
def test_bounds_of_laws_that_are_too_wide_to_be_added_up(times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Never below the width, and for one count hardly above; the sum of both noises' widths would be a third more."""
    monkeypatch.setattr(shared_noise, "POINTS", 2**14)
    monkeypatch.setattr(shared_noise, "CELLS", 2**20)
    for noise in (
        SharedGaussianNoise(items=10, max_items_per_user=10, rho=Fraction("0.0000002")),
        SharedLaplaceNoise(items=10, max_items_per_user=10, epsilon=Fraction("0.001")),
    ):
        width = shared_noise.SharedNoise.width.__wrapped__(noise, 0.05, times)
        assert width <= noise._users(noise.bound(0.05, times)) <= (1.01 if times == 1 else 1.06) * width


def test_widths_of_all_counts_at_once() -> None:
    """At rho = 0.02 and epsilon = 1: the widths that the page states, beside independent noise."""
    rho = Fraction("0.02")
    for items, one, every, alone in [(2, 11, 13, 14), (5, 16, 21, 22), (10, 20, 29, 31), (50, 40, 66, 69)]:
        noise = SharedGaussianNoise(items=items, max_items_per_user=items, rho=rho)
        assert (noise.width(0.05), noise.width(0.05, items)) == (one, every)
        assert gaussian_width(items / (2 * rho), 0.05) == alone
    for items, every, alone in [(12, 40, 65), (50, 188, 344), (200, 863, 1654)]:
        pure = SharedLaplaceNoise(items=items, max_items_per_user=items, epsilon=Fraction(1))
        assert pure.width(0.05, items) == every
        assert laplace_width(Fraction(1, items), 0.05, items) == alone


# ---- which noise a histogram takes -----------------------------------------------------------------------------


def test_a_histogram_takes_the_narrowest_noise_by_public_numbers() -> None:
    one, small = Fraction(1), Fraction(1, 10**6)
    assert isinstance(nearest(one, Fraction(0), 12, 12, 0.05, domain_size=12), HistogramSharedLaplace)
    assert isinstance(nearest(one, Fraction(0), 3, 12, 0.05, domain_size=12), HistogramLaplace)
    assert isinstance(nearest(one, Fraction(0), 12, 12, 0.05), HistogramLaplace)
    assert isinstance(nearest(one, small, 50, 50, 0.05, domain_size=50), HistogramSharedGaussian)
    assert isinstance(nearest(one, small, 50, 50, 0.05), HistogramGaussian)
    assert isinstance(nearest(one, small, 1, 50, 0.05, domain_size=50), HistogramLaplace)
    for most in (1, 2, 5, 12, 24):
        taken = nearest(one, small, most, 24, 0.05, domain_size=24)
        alone = nearest(one, small, most, 24, 0.05)
        assert taken.width(0.05, 24) <= alone.width(0.05, 24)


def test_a_histogram_of_more_counts_is_refused_before_noise_is_drawn() -> None:
    mechanism = HistogramSharedGaussian(epsilon=1, delta="1e-6", items=3, max_items_per_user=3)
    assert largest_rho(Fraction(1), Fraction(1, 10**6)) < mechanism.rho.rho <= 0.0281
    with pytest.raises(ParameterError, match="counts must be at most 3, as the domain has items, got 4 of them"):
        mechanism([1, 2, 3, 4])
    assert len(mechanism([1, 2])) == 2


@pytest.mark.parametrize(("items", "most"), SMALL)
def test_fewer_counts_than_the_noise_is_for_cost_no_more(items: int, most: int) -> None:
    """Of listed items a column may take some for equal."""
    noise = SharedGaussianNoise(items=items, max_items_per_user=most, rho=Fraction("0.02"))
    for fewer in range(1, items):
        price = zcdp(fewer, min(most, fewer), noise.multiple, own_variance=noise.own, shared_variance=noise.shared)
        assert price <= Fraction("0.02")


@pytest.mark.parametrize(
    ("given", "message"),
    [({"items": 1}, "items must"), ({"max_items_per_user": 1}, "max_items_per_user must"), ({"epsilon": 0}, "epsilon")],
)
def test_bad_parameters(given: dict[str, object], message: str) -> None:
    sound: dict[str, object] = {"epsilon": 1, "items": 3, "max_items_per_user": 3}
    if "max_items_per_user" not in given:
        with pytest.raises(ParameterError, match=message):
            HistogramSharedLaplace(**(sound | given))  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=message):
        HistogramSharedGaussian(**(sound | {"delta": "1e-6"} | given))  # type: ignore[arg-type]
