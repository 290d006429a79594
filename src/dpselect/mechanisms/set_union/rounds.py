"""Rounds: how a budget is dealt to them, and what is left for the next one."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from dpselect import parameters
from dpselect.errors import ParameterError, came
from dpselect.mechanisms.set_union.port import settle
from dpselect.user_sets import UserSets

MOST_ROUNDS = 20
LEAST_SHARE = Fraction(1, 10**6)  # of a budget, for one call
LEAST_PART = Fraction(1, 1000)  # of the call's budget, for one round


def parts_of(mechanism: Any) -> tuple[Fraction, ...]:
    """What each round gets of the budget, in proportion to split^(rounds - r); `part` in all. Settles the three."""
    rounds = parameters.whole("rounds", mechanism.rounds, least=1)
    if rounds > MOST_ROUNDS:
        raise ParameterError("rounds", f"be at most {MOST_ROUNDS}", rounds)
    split, part = (_at_most_1(name, getattr(mechanism, name)) for name in ("split", "part"))
    if part < LEAST_SHARE:
        raise ParameterError("part", f"be at least {float(LEAST_SHARE):g}", came(mechanism.part))
    settle(mechanism, rounds=rounds, split=split, part=part)
    powers = [split ** (rounds - r) for r in range(1, rounds + 1)]
    if powers[0] < LEAST_PART * sum(powers):
        hint = "take fewer rounds, or a split nearer to 1"
        raise ParameterError("rounds", f"leave at least {LEAST_PART} of the budget to the first", rounds, hint)
    return tuple(part * power / sum(powers) for power in powers)


def _at_most_1(name: str, value: object) -> Fraction:
    must = "be above 0 and at most 1"
    number = parameters.positive(name, value, must)
    if number > 1:
        raise ParameterError(name, must, came(value))
    return number


def without(sets: UserSets, gone: npt.NDArray[np.bool_]) -> UserSets:
    """The users without these items, which all of them lose."""
    stays = ~gone[sets.codes]
    before = np.concatenate([[0], np.cumsum(stays)])
    return replace(sets, offsets=before[sets.offsets], codes=sets.codes[stays])
