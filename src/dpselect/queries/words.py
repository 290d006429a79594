"""What every parameter of every question is, in a line each: the page of docs, and whoever describes a question.

A link leads to a page beside docs/queries.md; `plain` leaves it out.
"""

from __future__ import annotations

import re

LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")

BOUND = "for how many items a user counts; what the data set says where left out"
LEFT_OUT = "items that must not come back: [their rows do not count](data.md#items-that-must-not-come-back)"
GROUPS = 'only these groups, a list, each answered; of several columns `["tuple", [values]]` each'
IN_GROUPS = "in how many groups a user counts, 1 by default"

WORDS: dict[str, dict[str, str]] = {
    "top_k": {
        "k": "how many items, 10 by default",
        "epsilon": "the price",
        "delta": "1e-6 where no domain is given, else 0",
        "domain": "the items there can be",
        "counts": "noisy counts too",
        "k_bar": "how many items with most users are looked at",
        "method": "`auto`, or a name of [the menu](command.md)",
        "ranked": "`false` lets a whole set be drawn, in no order",
        "max_items_per_user": BOUND,
        "within": (
            "in place of `epsilon`: the most users by which an item may be below the k-th best; "
            "[the price follows](within.md)"
        ),
        "by": "the columns of groups: the k items of [each](by-group.md)",
        "groups": 'only these groups, a list; of several columns `["tuple", [values]]` each',
        "max_groups_per_user": (
            "in how many groups a user counts; left out, 1/20 of epsilon [chooses it privately](by-group.md)"
        ),
        "users": "a noisy number of the users that count in each group that is shown",
        "by_weight": (
            "a column of numbers: the items of [the largest sums over users](weights.md), "
            "in place of those of most users"
        ),
        "at_most": "the most that one user gives to an item, in the unit of that column",
        "weight_unit": "what a user's total is rounded to, 1 by default",
        "measures": (
            "other numbers of the items that come back, a list of "
            "[`users`, `sum(column, low, high)` and `mean(column, low, high)`](measures.md)"
        ),
        "compared_with": (
            "as many other periods as `during`: the items that [gained most users](periods.md#what-rose-most) from "
            "these to those"
        ),
        "exclude": LEFT_OUT,
        "in_engine": "for `discover`: leave users' items in the engine",
    },
    "union": {
        "epsilon": "the price",
        "delta": "1e-6 by default",
        "method": "`auto`, or a name of [the menu](set-union.md)",
        "max_items_per_user": "a number, or `auto`",
        "counts": "noisy counts too",
        "shares": "the parts of the price of the levels of a text",
        "popular": "a public list of likely items",
        "in_engine": "leave users' items in the engine",
        "users_for": (
            "in place of `epsilon`: of how many users an item is to be found; [the price follows](within.md)"
        ),
        "by": "the columns of groups: the items of [each](by-group.md)",
        "ngrams": "for a text: the shortest and the longest",
        "tokenizer": "for a text: `words`, `spaces`, `sentences`, or a regular expression after `re:`",
        "lower": "for a text: whether letters become small, `true` by default",
        "exclude": LEFT_OUT,
    },
    "choose": {
        "domain": "the candidates",
        "epsilon": "the price",
        "method": "`exponential` or `permute-and-flip`",
        "neighbors": "`add-remove` or `replace-one`",
        "max_items_per_user": BOUND,
        "delta": "only beside `by`; 1e-6 by default where groups are to be found, else 0",
        "by": "the columns of groups: the choice in [each](by-group.md#quantiles-and-choices)",
        "groups": GROUPS,
        "max_groups_per_user": IN_GROUPS,
    },
    "histogram": {
        "domain": "the items, listed or as a span",
        "epsilon": "the price of all counts together",
        "delta": "0 by default; spent only where it makes the noise smaller",
        "max_items_per_user": BOUND,
    },
    "quantile": {
        "q": "one share between 0 and 1, or several, ascending",
        "bounds": (
            "two numbers, chosen without looking at the data; "
            "without them, answers of [six digits](mechanisms/quantile.md#without-bounds), "
            "or at a gateway those that its owner declared"
        ),
        "epsilon": "the price of all of them",
        "delta": "0 by default; 1e-6 where groups are to be found",
        "step": "of the grid of answers",
        "per_user": "which value of a user with several takes part: `random`, `min`, `max` or `mean`",
        "within": (
            "in place of `epsilon`: the most users by which a rank may be missed; [the price follows](within.md)"
        ),
        "by": "the columns of groups: the quantiles of [each](by-group.md#quantiles-and-choices)",
        "groups": GROUPS,
        "max_groups_per_user": IN_GROUPS,
    },
}


def plain(words: str) -> str:
    """Without links.

    >>> plain("in [each](by-group.md) group")
    'in each group'
    """
    return LINK.sub(r"\1", words)


def table(verb: str) -> list[str]:
    """The lines of the table of a verb, for docs/queries.md."""
    rows = [f"| `{name}` | {words} |" for name, words in WORDS[verb].items()]
    return ["| parameter | what |", "| --- | --- |", *rows]
