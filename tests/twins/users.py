"""Wrong ways to tell how many users there are. Tests must refuse each."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpselect.draws import Draws

Row = tuple[str | None, str | None, str | None]  # user, item, country


def rows_counted(rows: Sequence[Row]) -> tuple[int, ...]:
    """Rows in place of users."""
    return (sum(user is not None for user, _, _ in rows),)


def items_of_users_counted(rows: Sequence[Row]) -> tuple[int, ...]:
    """Every item of a user counts once more."""
    return (len({(user, item) for user, item, _ in rows if user is not None}),)


def in_every_group(rows: Sequence[Row]) -> tuple[int, ...]:
    """A user counts in all of their groups, at the price of one."""
    return tuple(len({user for user, _, place in rows if user and place == country}) for country in ("DE", "FR"))


def noise_of_one_group(counts: Sequence[int], epsilon: Fraction, draws: Draws) -> tuple[int, ...]:
    """All of epsilon for the number of each listed group, in all of which a user counts."""
    return tuple(max(0, count + draws.laplace(epsilon)) for count in counts)


def half_of_the_noise(counts: Sequence[int], rate: Fraction, draws: Draws) -> tuple[int, ...]:
    """Noise of half the scale."""
    return tuple(max(0, count + draws.laplace(2 * rate)) for count in counts)


def noise_of_one_side(counts: Sequence[int], rate: Fraction, draws: Draws) -> tuple[int, ...]:
    """Noise that only adds: the true number is the least that can come out."""
    return tuple(count + abs(draws.laplace(rate)) for count in counts)
