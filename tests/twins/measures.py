"""Wrong ways to measure items that came back: from users and their rows to noisy numbers. Tests must refuse each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from dpselect.aggregates.measures import Measure, Measured, Sum
from dpselect.draws import Draws
from dpselect.mechanisms.top_k.noisy_measures import NoisyMeasures
from tests.engines.measured_rows import judged, of_one

User = Sequence[tuple[int, float]]  # rows: item and value
Users = Sequence[User]
Found = list[list[Measured]]
Told = tuple[object, ...]


def measured(users: Users, measures: Sequence[Measure], items: Sequence[int], most: int | None = None) -> Found:
    """What is right: every user's own rows of an item, of the first items that they keep."""
    rows = []
    for name, user in enumerate(users):
        kept = sorted({item for item, _ in user})[:most]
        rows += [(name, item, value) for item, value in user if item in kept]
    return [[Measured(*one) for one in row] for row in judged(measures, rows, items)]


def cut_by_row(users: Users, measures: Sequence[Measure], items: Sequence[int], most: int | None = None) -> Found:
    """Every row is cut to the bounds of a sum, and a user may have many."""
    apart = [
        (item, [of_one(one, [value])[0] for one in measures]) for user in users for item, value in user
    ]  # one user for each row
    right = measured(users, measures, items, most)
    return [
        [Measured(sum(of[at] for i, of in apart if i == item), one.users) for at, one in enumerate(row)]
        for item, row in zip(items, right, strict=True)
    ]


def told(mechanism: NoisyMeasures, found: Found, draws: Draws) -> Told:
    """The code that is used."""
    return tuple((one.value, one.low, one.high) for row in mechanism(found, 0.05, draws=draws) for one in row)


def rate_of(mechanism: NoisyMeasures, measure: Measure) -> Fraction:
    """The rate of the noise of each item's own."""
    return Fraction(mechanism.epsilon_per_noise) / measure.sensitivity


def width_of_the_bounds(mechanism: NoisyMeasures, found: Found, draws: Draws) -> Told:
    """Noise for high - low, which is what a user changes who stays; who comes brings all of their total."""
    (measure,) = mechanism.measures
    assert isinstance(measure, Sum)
    rate = Fraction(mechanism.epsilon_per_noise) / (measure.most - measure.least)
    return tuple(row[0].total + draws.laplace(rate) for row in found)


def true_number_of_users(mechanism: NoisyMeasures, found: Found, draws: Draws) -> Told:
    """A mean whose denominator has no noise."""
    (measure,) = mechanism.measures
    return tuple(
        Fraction(row[0].total + draws.laplace(rate_of(mechanism, measure)), max(1, row[0].users)) for row in found
    )


def noise_used_twice(mechanism: NoisyMeasures, found: Found, draws: Draws) -> Told:
    """One draw for all items: their differences come out as they are."""
    (measure,) = mechanism.measures
    noise = draws.laplace(rate_of(mechanism, measure))
    return tuple(row[0].total + noise for row in found)


def of_all_items(tell: Callable[[NoisyMeasures, Found, Draws], Told]) -> Callable[..., Told]:
    """Measures of every item that somebody has, also of those that did not come back."""

    def run(mechanism: NoisyMeasures, users: Users, draws: Draws) -> Told:
        items = sorted({item for user in users for item, _ in user})
        return (tuple(items), *tell(mechanism, measured(users, mechanism.measures, items), draws))

    return run
