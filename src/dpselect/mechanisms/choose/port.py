"""What every mechanism that chooses one candidate is: one step, by scores that one user moves by a bounded amount.

Proofs: docs/mechanisms/exponential-mechanism.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import ClassVar

from dpselect._ground import parameters
from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import Number
from dpselect._ground.privacy import BoundedRange, Neighbors, Privacy, PureDP, parse_neighbors, single_step
from dpselect.draws import Draws, secure
from dpselect.errors import ParameterError
from dpselect.mechanisms.candidates import Answer, Candidates, Input, parse_candidates
from dpselect.mechanisms.port import set_fields


@dataclass(frozen=True, kw_only=True)
class Choice(ABC):
    """Choose one of the candidates. The port of these mechanisms: each is final, and says its step and how it picks."""

    step: ClassVar[type[BoundedRange | PureDP]]

    epsilon: Number
    k: int = 1
    sensitivity: Number = 1
    monotonic: bool = False
    neighbors: Neighbors = Neighbors.ADD_REMOVE

    def __post_init__(self) -> None:
        parse(self)

    @property
    def privacy(self) -> Privacy:
        """The price: one step of this epsilon."""
        return single_step(self.step(Fraction(self.epsilon)), self.neighbors)

    @property
    def rate(self) -> Fraction:
        """epsilon / (2 sensitivity), without the 2 for monotonic scores (one more user moves all the same way)."""
        return Fraction(self.epsilon) / ((1 if self.monotonic else 2) * Fraction(self.sensitivity))

    @abstractmethod
    def pick(self, candidates: Candidates, draws: Draws) -> tuple[int, int]:
        """Draw the chosen candidate as (group, member)."""

    def __call__(self, counts: Input, *, draws: Draws | None = None) -> Answer:
        """Choose a candidate, as one index or label."""
        candidates = parse_candidates(counts)
        return candidates.names([self.pick(candidates, secure(draws))])


def parse(choice: Choice) -> None:
    """Parse the parameters into exact values, before any data is touched."""
    if parameters.listed_size("k", choice.k) != 1:
        raise ParameterError("k", "be 1, since this mechanism chooses one", choice.k, "Peeling selects the top k")
    set_fields(
        choice,
        epsilon=parameters.epsilon("epsilon", choice.epsilon),
        sensitivity=parameters.sensitivity("sensitivity", choice.sensitivity),
        monotonic=parameters.flag("monotonic", choice.monotonic),
        neighbors=parse_neighbors(choice.neighbors),
    )
    if choice.monotonic and choice.neighbors is Neighbors.REPLACE_ONE:
        hint = "replacing a user can raise one score and lower another"
        raise ParameterError("monotonic", "be False for replace-one neighbors", "True", hint)
