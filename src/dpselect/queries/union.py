"""A set union, as a question that can be run."""

from __future__ import annotations

from dataclasses import dataclass

from dpselect.draws import Draws
from dpselect.engines.port import Engine, Progress
from dpselect.queries import union_in_engine, union_run
from dpselect.queries.union_terms import UnionTerms
from dpselect.release.release import Release


@dataclass(frozen=True, kw_only=True)
class UnionQuery(UnionTerms):
    """All items that enough distinct users share, or the n-grams of a text."""

    def run(self, engine: Engine, draws: Draws, progress: Progress | None) -> Release:
        """The answer."""
        if self.in_engine:
            return union_in_engine.union_of_pairs(engine.pairs(progress=progress), self, draws, progress)
        if self.words is None:
            return union_run.union_of(engine.contributions(progress=progress), self, draws, progress)
        return union_run.vocabulary_of(engine.tokens(self.words.tokenizer, progress=progress), self, draws, progress)
