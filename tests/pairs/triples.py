"""Triples of features that once held a bug, each with it; every one is a test."""

from __future__ import annotations

from tests.pairs.crossing import Pair
from tests.pairs.features import FEATURES

NAMED = {str(one): one for one in FEATURES}

TRIPLES: dict[tuple[str, str, str], str] = {
    (
        "told: counts",
        "groups: groups, bounded",
        "bound: bound",
    ): "an interval was said to hold all users of an item, where both bounds had kept some from counting",
    (
        "told: counts",
        "periods: two months",
        "bound: bound",
    ): "an interval in which a user counts once in each period was said to be of all users",
    (
        "score: weights",
        "told: counts",
        "form: JSON",
    ): "the interval of a sum was not planned anew when a release was checked",
    (
        "source: pandas",
        "question: top k",
        "budget: ledger",
    ): "a frame that had changed in place was taken for the same, and its old answer came back",
    (
        "source: arrow",
        "filter: filter",
        "budget: ledger",
    ): "the same question of the same table was paid again",
    (
        "source: prepared",
        "question: top k",
        "bound: bound",
    ): "users had numbers that nobody drew, on which it hung which of their items a bound kept",
    (
        "question: top k",
        "groups: groups",
        "exclude: left out",
    ): "an item that was left out still gave its users groups when the bound on groups was chosen",
    (
        "question: top k, sparse",
        "score: what rose most",
        "form: words",
    ): "gains that passed a threshold were called counts",
    (
        "question: union",
        "bound: bound",
        "surface: gateway",
    ): "a bound that a remote data set had was not given to the question, which was refused for lack of it",
    (
        "question: top k, discovered",
        "groups: groups, bounded",
        "told: counts",
    ): "the judge of releases refused an answer whose union had left some of a large price to its picks",
}


def features_of(names: tuple[str, str, str]) -> Pair:
    """The features of these names."""
    return tuple(NAMED[name] for name in names)
