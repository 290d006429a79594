"""What a set union costs an account of one Rényi order: choosing the bound, the items of all levels, their counts.

Each is a step of its own, which may look at those before it; docs/composing.md ("A union") has the proof.
"""

from __future__ import annotations

from fractions import Fraction

from dpselect._ground.privacy import ZCDP, BoundedRange, PureDP
from dpselect.accounting.calibration import largest_rho
from dpselect.accounting.renyi_prices import divergence, up
from dpselect.accounting.two_prices import Price, ceiling
from dpselect.mechanisms.set_union.renyi_shaped import RenyiShaped
from dpselect.queries.union_terms import UnionTerms


def union_price(terms: UnionTerms, most: int | None, order: int | None) -> Price:
    """The price of an answer for users of at most `most` items; where that was to be chosen and is None, of any."""
    if order is None:
        return ceiling(terms.price, None)
    renyi = divergence(BoundedRange(terms.for_bound), order) + _items(terms, most, order) + _counts(terms, order)
    return Price(terms.price.epsilon, renyi, terms.price.delta, added=terms.price.epsilon)


def _items(terms: UnionTerms, most: int | None, order: int) -> Fraction:
    """The divergence of all levels: of any (epsilon, delta) step, or less where the release curves say so."""
    stated = divergence(PureDP(terms.for_union[0]), order)
    if terms.chosen and most is None:
        return stated
    made = [one.divergence(order) if isinstance(one, RenyiShaped) else None for one in terms.mechanisms(most)]
    known = [one for one in made if one is not None]
    return min(stated, up(sum(known, Fraction(0)))) if len(known) == len(made) else stated


def _counts(terms: UnionTerms, order: int) -> Fraction:
    """The divergence of the Gaussian noise on all counts together."""
    if not terms.counts or terms.counts_decide:
        return Fraction(0)
    epsilon, delta = terms.for_counts
    return min(divergence(PureDP(epsilon), order), divergence(ZCDP(largest_rho(epsilon, delta)), order))
