"""How a top k is answered, as a value: made and priced before any data is touched."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpselect.aggregates.histogram import Histogram
from dpselect.domain import Domain
from dpselect.draws import Draws
from dpselect.engines.port import Engine, Progress
from dpselect.privacy import ApproxDP, Privacy, Steps
from dpselect.release.release import Release

if TYPE_CHECKING:
    from dpselect.mechanisms.top_k.noisy_counts import NoisyCounts


@dataclass(frozen=True, kw_only=True)
class Plan(ABC):
    """By which method of the menu, what selects, what counts the winners, what both cost, and why it was taken."""

    method: str
    selector: Any
    counter: NoisyCounts | None = None
    privacy: Privacy
    reason: str

    @property
    def k_bar(self) -> int | None:
        """How many items with most users are looked at; None for a known domain, or where all are."""
        return None

    def check(self, engine: Engine, domain: Domain | None) -> None:
        """Refuse what does not fit the schema, before a row is read."""
        if domain is not None:
            engine.check(domain)

    def run(self, engine: Engine, domain: Domain | None, draws: Draws, progress: Progress | None) -> Release:
        """The answer for the rows of an engine. At most k_bar + 1 of its rows leave it where the domain is unknown."""
        if self.k_bar is None:
            return self.select(engine.grouped(domain, progress=progress), draws)
        return self.select(engine.top(self.k_bar + 1, progress=progress), draws)

    @abstractmethod
    def select(self, histogram: Histogram, draws: Draws) -> Release:
        """The answer for counts."""

    def taken(self, found: int) -> tuple[Steps, ...]:  # noqa: ARG002 - only picks can be saved
        """The steps that an answer of `found` items took."""
        return self.privacy.steps

    def charge(self, found: int) -> ApproxDP:  # noqa: ARG002
        """What an answer of `found` items costs."""
        return self.privacy.approx
