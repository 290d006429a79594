"""Answers: a plan run on the engine that holds the rows. Whoever calls these has seen to the price.

The checks beside them refuse, before a row is read and before anything is paid, what does not fit the source.
"""

from __future__ import annotations

from dpselect import engine_unions, union_answers
from dpselect.discovery import TopFound
from dpselect.draws import Draws
from dpselect.engines.domain import Domain
from dpselect.engines.opening import Engine
from dpselect.engines.port import PerUser, Progress
from dpselect.mechanisms.port import secure
from dpselect.plans import TopK, TopNoisy, TopSet, ValuesAt
from dpselect.release import Release
from dpselect.texts.words import Words
from dpselect.unions import UnionTerms

TopPlan = TopK | TopSet | TopNoisy | TopFound


def top(plan: TopPlan, known: Domain | None, engine: Engine, progress: Progress | None, draws: Draws | None) -> Release:
    """The items that a plan for top k selects."""
    if isinstance(plan, TopFound):
        return plan.select(engine.contributions(progress=progress), secure(draws), progress)
    if plan.rows is None:
        return plan.select(engine.grouped(known, progress=progress), secure(draws))
    return plan.select(engine.top(plan.rows, progress=progress), secure(draws))


def check_top(plan: TopPlan, known: Domain | None, engine: Engine) -> None:
    """The domain fits, and the engine has sets of users where the plan needs them."""
    if isinstance(plan, TopFound):
        engine.check_sets()
    if known is not None:
        engine.check(known)


def values(plan: ValuesAt, which: PerUser, engine: Engine, progress: Progress | None, draws: Draws | None) -> Release:
    """The quantiles of one value per user."""
    return plan.select(engine.users_at(plan.mechanism.grid, which, progress=progress), secure(draws))


def union(
    terms: UnionTerms, words: Words | None, engine: Engine, progress: Progress | None, draws: Draws | None
) -> Release:
    """The items, or the n-grams of a text, that enough users share."""
    if words is None:
        return union_answers.union_of(engine.contributions(progress=progress), terms, secure(draws), progress)
    stream = engine.tokens(words.tokenizer, progress=progress)
    return union_answers.vocabulary_of(stream, words.shortest, words.longest, terms, secure(draws), progress)


def union_in_engine(terms: UnionTerms, engine: Engine, progress: Progress | None, draws: Draws | None) -> Release:
    """The items that enough users share, with the pairs left where they are."""
    return engine_unions.union_of_pairs(engine.pairs(progress=progress), terms, secure(draws), progress)


def check_union(words: Words | None, engine: Engine) -> None:
    """The engine has sets of users, or the column of text is one."""
    if words is None:
        engine.check_sets()
    else:
        engine.check_text(words.tokenizer)
