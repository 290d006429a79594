"""Wrong mechanisms of limited domain by sparse vector: its tests must refuse each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpselect._ground.reals import Exp
from dpselect.draws import Draws, Weights
from dpselect.mechanisms import LimitedDomainSparse


@dataclass(frozen=True)
class Sparse:
    """The mechanism written once more, with the parts that can be wrong."""

    right: LimitedDomainSparse
    lower: int = 0  # by how much the threshold is too low
    cut: bool = True  # does it stand above the count after the k_bar largest?
    noisy: bool = True  # does it have noise?
    blurred: int = 1  # by how much the counts' noise is too small; 0: none
    by_count: bool = False  # are the hidden picks put in the order of their true counts?

    def __call__(self, counts: Any, *, draws: Draws) -> list[int]:
        t = self.right.terms
        known = sorted((i for i, c in enumerate(counts) if c), key=lambda i: (-counts[i], i))
        inside, after = known[: t.k_bar], sum(counts[i] for i in known[t.k_bar : t.k_bar + 1])
        slots = [*inside, *[-1] * (t.k_bar - len(inside))]
        scores = np.array([counts[i] if i >= 0 else 0 for i in slots], dtype=np.int64)
        picked = [slots[g] for g, _ in draws.peel(Weights(scores, t.rate), t.k)]
        if self.by_count:
            picked.sort(key=lambda i: -counts[i] if i >= 0 else 0)
        noise = draws.geometric(t.epsilon_of_threshold / t.sensitivity) if self.noisy else 0
        threshold = (after if self.cut else 0) + t.height - self.lower - noise
        found: list[int] = []
        for i in picked:
            above = -1 if i < 0 else counts[i] - threshold
            missed = Exp(-t.test_rate * self.blurred * (above + 1))
            if above < 0 or (self.blurred and draws.bernoulli(missed)):
                break
            found.append(i)
        return found
