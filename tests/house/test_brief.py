"""What a print shows: a line each for the answer, how good it is, who counted where a bound cut, and the price.

In words that need no theory; `explain()` has all.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import pytest

import dpselect as dps
from dpselect.release import formatting
from dpselect.release.accuracy import TOO_MANY, format_at_most
from dpselect.release.release import Item, Kind, Release
from dpselect.release.statement import Receipt
from tests.by_names import by_names
from tests.house.test_release import STATEMENT, release
from tests.house.test_release_files import KINDS, USUAL, kinds, votes

pytestmark = pytest.mark.filterwarnings("ignore::dpselect.errors.WeakPromiseWarning")
THEORY = re.compile(
    r"limited.domain|k_bar|bottom|peel|\bgap\b|\breach\b|threshold|neighbours|discrete|Laplace|Gaussian|monotonic|coin",
    re.IGNORECASE,
)
USERS = 2000
SIZES = [0] * 6 + [1] * 3 + [2]  # of ten users


def rows(**more: object) -> dps.Dataset:
    """Everybody plays something in one of two countries, half of them twice."""
    found = {
        "user": [*range(USERS), *range(0, USERS, 2)],
        "item": [f"i{SIZES[user % 20 // 2]}" for user in range(USERS)] + ["i9"] * (USERS // 2),
        "minutes": [user % 50 for user in range(USERS)] + [7] * (USERS // 2),
        "land": [("DE", "FR")[user % 2] for user in range(USERS)] + ["FR"] * (USERS // 2),
    }
    return dps.Dataset(found, **{"user": "user", "item": "item", **more})


BY = {"by": "land", "max_groups_per_user": 1}
ASKED: dict[str, Callable[[], Release[Any]]] = {
    "paid": lambda: by_names(rows(budget=dps.Budget(epsilon=50, delta="1e-4"))).top_k(2, **USUAL),
    "by group": lambda: by_names(rows()).top_k(2, **USUAL, **BY),
    "counts by group": lambda: by_names(rows()).top_k(2, **USUAL, **BY, counts=True, users=True),
    "discover by group": lambda: by_names(rows(max_items_per_user=2)).top_k(2, **USUAL, **BY, method="discover"),
    "no groups": lambda: by_names(rows(where="item = 'none'")).top_k(2, **USUAL, **BY),
    "quantile by group": lambda: by_names(rows(item="minutes")).quantile(bounds=(0, 60), **USUAL, **BY),
    "median": lambda: rows(item="minutes").median(bounds=(0, 60), epsilon=5),
    "median without bounds": lambda: rows(item="minutes").median(epsilon=5),
    "choose by group": lambda: by_names(rows()).choose(domain=["i0", "i9"], epsilon="0.5", **BY),
    "set union": lambda: by_names(rows(max_items_per_user=2)).union(**USUAL),
    "no items of a union": lambda: by_names(rows(max_items_per_user=2, where="item = 'none'")).union(**USUAL),
    "by weight": lambda: by_names(rows(max_items_per_user=2)).top_k(
        2, **USUAL, by_weight="minutes", at_most=20_000, counts=True
    ),
    "within": lambda: by_names(rows()).top_k(2, within=100, delta="1e-6", counts=True),
}
MORE_KINDS = (*KINDS, *ASKED)


@cache
def more_kinds() -> dict[str, Release[Any]]:
    """Answers with groups, bounds, budgets and periods, beside those of every verb."""
    return {**kinds(), **{name: ask() for name, ask in ASKED.items()}}


# ---- how much is printed ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MORE_KINDS)
def test_a_print_has_a_line_each_and_no_theory(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    found = more_kinds()[name]
    text = str(found)
    assert not THEORY.search(text), THEORY.search(text)
    shown = len(found) + 1 if "\n\n" in text else 0
    parts = text.split("\n\n")
    beside = len(text.splitlines()) - shown - (len(parts) - 1)
    assert beside <= 7, text  # a headline, and three lines of which each may be broken once
    assert [part for part in parts if part.startswith(("spent: ", "charged: "))] == []  # below how good it is
    assert text.count("spent: ") + text.count("charged: ") == 1
    assert text.count("With 95 % confidence") <= 1
    assert found.explain().count("\n") > text.count("\n")


@pytest.mark.parametrize("name", MORE_KINDS)
def test_explain_has_all_that_is_said(name: str) -> None:
    found = more_kinds()[name]
    words = "".join(found.explain().split()).lower()  # at any width of a terminal
    for sentence in (*found.privacy.sentences, found.privacy.promise):
        assert "".join(sentence.split()).lower() in words
    for sentence in found.accuracy.sentences:
        if not (found.complete and found.groups is None and sentence.startswith("If fewer are returned")):
            assert all("".join(part.split()).lower().removesuffix(".") in words for part in sentence.split(". "))
    assert found.notes  # are whole too
    assert found.explain().endswith(found.notes[-1])


# ---- what it says -----------------------------------------------------------------------------------------

SAYS = {
    "top_k": "Each with 95 % confidence: a row's counted users are from low to high; ",
    "sparse": "Each with 95 % confidence: a row's counted users are from low to high; ",
    "discover": " To find items each user counts for at most 2 items (chosen at random). ",
    "choose": "With 95 % confidence, it has at most {gap} users fewer than the best of the domain. ",
    "scores": "With 95 % confidence, its score is at most ",
    "test draws": "NOT SECURE",
    "histogram": "Each with 95 % confidence, all rows at once: the counted users are from low to high; a count ",
    "union": "Each with 95 % confidence: a row's counted users are from low to high; there may be others. Each user ",
    "quantile": "With 95 % confidence, of about {users} users {too_many_below} too many lie below any of them, "
    "and {too_many_above} above, at any distance in value. Counted: one of each user's distinct "
    "values, chosen at random, moved into 0 to 10, in steps of 0.5. ",
    "empty": "0 of at most 3 items: none could be released, though there may be some. ",
    "paid": "no lower or missing item has over {gap} users more. charged: ",
    "by group": " in each group alone, no lower or missing item has over {gap} counted users more. Each user ",
    "counts by group": "; in a group, no lower or missing item has over {gap} more; the counted users of a group are "
    "within ",
    "discover by group": "With 95 % confidence in each group alone, no lower item has over {gap} ",
    "no groups": "No groups: none could be released. A group that is not shown may still have users. ",
    "quantile by group": "With 95 % confidence in each group alone, at most too_many_below counted users too many lie "
    "below a value, and too_many_above above. Each user counts in one land (chosen at random). Counted: one of each ",
    "median": "With 95 % confidence, of about {users} users {too_many_below} too many lie below it, and "
    "{too_many_above} above, at any distance in value. Counted: one of each user's distinct values, chosen at "
    "random, moved into 0 to 60. spent: epsilon 5 ",
    "median without bounds": "Counted: one of each user's distinct values, chosen at random, moved to six digits. ",
    "choose by group": "in each group alone, a choice has at most {gap} counted users fewer than the best. "
    "Each user counts in one land (chosen at random). spent: ",
    "set union": " users with up to 2 items each is found; there may be others. Each user counts for at most 2 ",
    "no items of a union": "No items: none could be released, though there may be some. ",
    "by weight": "Each user gives an item at most 20,000 of minutes. ",
    "within": "no item here has over 100 users fewer than the 2nd best, as was asked. ",
}


@pytest.mark.parametrize(("name", "said"), SAYS.items(), ids=list(SAYS))
def test_the_words_of_a_print(name: str, said: str) -> None:
    found = more_kinds()[name]
    numbers = found.accuracy.numbers
    shown = {name: f"{number:,}" if isinstance(number, int) else number for name, number in numbers.items()}
    shown |= {name: format_at_most(number) for name in TOO_MANY if isinstance(number := numbers.get(name), int)}
    words = " ".join(str(found).split()) + " "
    assert said.format(**shown) in words


def test_an_order_is_said_as_a_mistake_and_not_as_a_lead() -> None:
    for name in ("paid", "by group"):
        words = " ".join(str(more_kinds()[name]).split())
        assert "lower or missing item has over" in words
        assert " more than" not in words


def test_the_price_on_a_budget_is_its_share_and_then_epsilon() -> None:
    text = " ".join(str(more_kinds()["paid"]).split())
    assert re.search(
        r"charged: \S+ % of the budget \(epsilon 3\); \S+ % left; at least [\d,]+ more like it fit now$", text
    )
    receipt = Receipt("1 % of the budget; asking again is charged again, because these rows may have changed", {})
    assert str(replace(release(["a"]), charged=receipt)).endswith("\ncharged: 1 % of the budget")
    assert "asking again" in replace(release(["a"]), charged=receipt).explain()
    monthly = replace(STATEMENT, unit="user in one month")
    assert str(replace(release(["a"]), charged=receipt, privacy=monthly)).endswith("; per user in one month")
    assert str(replace(release(["a"]), privacy=monthly)).endswith("1e-06 per user in one month")


def test_every_item_is_shown_in_a_sentence_or_a_table() -> None:
    """An item that no sentence names is in a table, also where it is the only one."""
    short = release(["Ærø"], complete=False)
    for found in (release(["Ærø"]), short, replace(release(["Ærø"]), kind=Kind.SET)):
        assert str(found).count("Ærø") == 1
    assert "Ærø       4" in str(release(["Ærø"], [4]))
    periods = {"during": "2026-02", "compared_with": "2026-01"}
    gained = replace(release(["Ærø"]), privacy=replace(STATEMENT, parameters=periods))
    assert str(gained).count("Ærø") == 1
    assert str(release(["Ærø"])).splitlines()[0] == "1 item: Ærø."


# ---- numbers ----------------------------------------------------------------------------------------------


def test_an_index_is_said_to_be_one() -> None:
    assert str(dps.choose([3, 900, 4], epsilon=5)).startswith("Chosen: candidate 1 (counted from 0).\n")
    assert str(dps.choose({3: 3, 2024: 900}, epsilon=5)).startswith("Chosen: 2024.\n")
    found = dps.choose([3, 900, 4], epsilon=5)
    assert Release.from_json(found.to_json()) == found
    assert str(dps.check(found).verdict) == "follows"


def quantile(value: object, **used: object) -> str:
    """The first line of a median."""
    asked = replace(STATEMENT, parameters={"q": (Fraction(1, 2),), **used})
    found = replace(release([]), items=(Item(value, 1, None),), kind=Kind.VALUES, privacy=asked)
    return str(found).splitlines()[0]


FINE = Fraction(1, 10**8)
WIDE = (Fraction(0), Fraction(10**9))  # beside which most values are small
SIXTY = (Fraction(0), Fraction(60))
MEDIANS = {
    "The median is about 2.297.": (2.2973328, {"bounds": SIXTY, "step": FINE}),
    "The median is 2.3.": (2.3, {"bounds": SIXTY, "step": FINE}),
    "The median is 2.25.": (2.25, {"bounds": SIXTY, "step": Fraction(1, 4)}),
    "The median is 2.2973328.": (2.2973328, {"bounds": SIXTY, "step": Fraction(1, 100)}),  # what was asked for
    "The median is 1984.": (1984, {"bounds": (Fraction(1900), Fraction(2030)), "step": Fraction(1)}),
    "The median is about 52310.0.": (52309.87, {"bounds": WIDE, "step": FINE}),
    "The median is about 26.12.": (26.1234, {"bounds": WIDE, "step": FINE}),
    "The median is 0.0.": (0.0, {"bounds": WIDE, "step": FINE}),
    "The median is about 2.884.": (2.88369, {"digits": 6, "step": Fraction(1, 10**12)}),
}


@pytest.mark.parametrize("bounds", [("a", "b"), (Fraction(0), Fraction(10**4000)), (Fraction(1),), (), 7, (1.0, 2.0)])
def test_whatever_a_file_says_of_bounds_a_print_comes(bounds: object) -> None:
    assert re.fullmatch(r"The median is (about 2\.297|2\.2973328)\.", quantile(2.2973328, bounds=bounds, step=FINE))


@pytest.mark.parametrize(("said", "given"), MEDIANS.items(), ids=list(MEDIANS))
def test_a_quantile_has_the_digits_that_a_reader_needs(said: str, given: tuple[object, dict[str, object]]) -> None:
    assert quantile(given[0], **given[1]) == said


@pytest.mark.parametrize(
    ("number", "said"),
    [(52_843.2, "52,840"), (144.66, "144.7"), (1_234_567, "1,235,000"), (0.00001, "1e-05"), (3e20, "3e+20"), (8, "8")],
)
def test_sizes_are_said_in_few_digits_without_exponents(number: float, said: str) -> None:
    assert formatting.round_digits(number, 4) == said


def test_what_was_counted_has_separators_in_every_sentence() -> None:
    price = {"epsilon": "0.001", "delta": "1e-6"}
    found = by_names(votes(max_items_per_user=1_000)).top_k(1_500, **price, k_bar=2_000, counts=True)
    said = " ".join([str(found), found.explain()])
    assert "at most 1,500 items" in said
    assert "at most 1,000 items of those here" in said
    assert not re.search(r"\d{4}|\de\+", said)


# ---- Markdown ---------------------------------------------------------------------------------------------


def test_a_table_for_a_readme() -> None:
    lines = more_kinds()["counts by group"].to_markdown().splitlines()
    assert lines[:2] == [
        "| land | rank | item | counted\\_users | low | high | counted\\_group\\_users | certain place |",
        "| :--- | ---: | :--- | ---: | ---: | ---: | ---: | ---: |",
    ]
    assert lines[2].startswith("| DE | 1 | i")
    assert lines[3].startswith("|  | 2 | i")
    below = "\n".join(lines).split("\n\n")[1:]
    assert [one.partition(" ")[0] for one in below] == ["Each", "Each", "spent:"]
    assert all("\n" not in one.strip() for one in below)


def test_what_a_name_holds_does_nothing_in_markdown() -> None:
    nasty = "a|b\n# c\\ `d` *e* [f](http://g) <h> @i www.j.org"
    row = release([nasty]).to_markdown().splitlines()[2]
    cells = re.split(r"(?<!\\)\|", row)
    assert len(cells) == 4
    assert cells[2].strip() == r"a\|b\\n\# c\\ \`d\` \*e\* \[f\](http\://g) \<h\> \@i www\.j.org"
