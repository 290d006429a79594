"""The parts of pages by themselves: filters from menus, numbers, words, pictures."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpselect as dps
from dpselect.engines.filters.grammar import parse
from dpselect.engines.filters.tree import Constant, Name, Operation
from dpselect.errors import ParameterError
from dpselect.gateway import filters, pictures
from dpselect.gateway.pages import conditions, numbers, snippets, words
from dpselect.gateway.pages.conditions import Condition

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = ("<script>", 'a"b', "R&D", "$x^2$", "x" * 200, "名前" * 40, "a\u202eb")


def release_of(labels: tuple[str, ...]) -> dps.Release:
    """Each label is shared by 50 users more than the next: at this epsilon none is missing, and none out of order."""
    users = [(label, user) for place, label in enumerate(labels) for user in range(50 * (len(labels) - place) + 50)]
    rows = {"user": [f"{label} {user}" for label, user in users], "item": [label for label, _ in users]}
    return dps.Dataset(rows, user="user", item="item").top_k(len(labels), epsilon=60, delta="1e-6", counts=True)


# ---- filters ------------------------------------------------------------------------------------------------


# What no engine can hold is refused by the language itself.
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20)


@given(TEXTS, TEXTS)
def test_a_typed_text_is_that_text_and_nothing_else(column: str, value: str) -> None:
    said = conditions.where([Condition(column, "is", f'"{value}"')])
    assert said is not None
    assert parse(said) == Operation("=", (Name(column), Constant(value)))


@pytest.mark.parametrize(
    "value", ["it's", "' OR '1'='1", "x' --", '"', "12", "-3.5", "1e5", "TRUE", "DATE '2024-01-01'"]
)
@pytest.mark.parametrize("operator", list(conditions.OPERATORS))
def test_every_row_is_one_condition_on_its_column(operator: str, value: str) -> None:
    said = conditions.where([Condition("select", operator, value)])
    assert said is not None
    tree = parse(said)
    assert isinstance(tree, Operation)
    if tree.sort == "NOT":
        (tree,) = tree.parts
        assert isinstance(tree, Operation)
    assert tree.parts[0] == Name("select")
    assert all(isinstance(part, Constant) for part in tree.parts[1:])
    filters.check(said, {"select": None})


def test_digits_are_a_number_and_quotation_marks_make_them_a_text() -> None:
    assert conditions.where([Condition("age", "at-least", "18")]) == "age >= 18"
    assert conditions.where([Condition("zip", "is", "'08001'")]) == "zip = '08001'"
    assert conditions.where([Condition("age", "more-than", "1,000")]) == "age > '1,000'"  # which the types then refuse


def test_listed_values_keep_their_types_and_others_are_left_out() -> None:
    values: tuple[object, ...] = ("Germany", 7, True, "7x")
    for chosen, said in (("Germany", "'Germany'"), ("7", "7"), ("True", "TRUE"), ("7x", "'7x'")):
        assert conditions.where([Condition("c", "is", chosen, values)]) == f"c = {said}"
    fields = {"column": ["c", "c", "d"], "comparison": ["at-least", "is"], "value": ["Atlantis", "7"]}
    rows = conditions.rows(fields, {"c": list(values)})
    assert [(row.operator, row.value) for row in rows] == [("is", ""), ("is", "7")]
    assert conditions.where(rows) == "c = 7"


def test_several_values_of_one_column_mean_any_of_them() -> None:
    rows = [
        Condition("c", "is", "a"),
        Condition("c", "is", "b"),
        Condition("d", "is-not", "1"),
        Condition("d", "there", ""),
    ]
    assert conditions.where(rows) == "c IN ('a', 'b') AND d <> 1 AND d IS NOT NULL"
    assert conditions.where([Condition("c", "is", "")]) is None


# ---- numbers and words --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "up", "said"),
    [
        (0.0178, True, "1.8 %"),
        (0.0171, True, "1.8 %"),
        (0.0179, False, "1.7 %"),
        (0.829, False, "82 %"),
        (0.821, True, "83 %"),
        (1, False, "100 %"),
        (0, True, "0 %"),
        (0.00004, True, "0.004 %"),
        (3.03, True, "303 %"),
        (Fraction(1, 3), False, "33 %"),
    ],
)
def test_what_is_taken_is_rounded_up_and_what_is_left_down(part: float, up: bool, said: str) -> None:
    assert numbers.percent(part, up=up).replace(numbers.SPACE, " ") == said


def test_a_lower_place_with_a_larger_number_is_explained() -> None:
    release = release_of(("item 0", "item 1", "item 2"))
    fallen = tuple(replace(one, count=count) for one, count in zip(release.items, (9, 8, 7), strict=True))
    assert words.order(replace(release, items=fallen)) is None
    risen = tuple(replace(one, count=count) for one, count in zip(release.items, (9, 7, 8), strict=True))
    said = words.order(replace(release, items=risen))
    assert said is not None
    assert said.startswith("Place 3, item 2, shows a larger number of users than place 2, item 1.")


def test_a_number_below_zero_is_explained() -> None:
    release = release_of(("item 0", "item 1"))
    for counts, said in (((9, 0), False), ((9, -1), True), ((None, None), False)):
        items = tuple(replace(one, count=count) for one, count in zip(release.items, counts, strict=True))
        assert (words.below_zero(replace(release, items=items)) is not None) is said


def test_titles_say_what_was_asked() -> None:
    assert words.asked({"verb": "top_k", "k": 1, "item": "artist"}) == "Top artist by number of users"
    body = {"verb": "top_k", "k": 5, "item": ["country", "artist"], "by": ["city"], "during": ["2026-10", "2026-11"]}
    assert (
        words.asked(body)
        == "Top 5 pairs of country and artist by number of users in every city, October 2026 and November 2026"
    )
    assert words.asked({"verb": "quantile", "q": ["1/2", "9/10"], "item": "age"}).replace(numbers.SPACE, " ") == (
        "Median and 90 % quantile of age"
    )


def test_python_text_holds_any_value() -> None:
    where = "a = 'it''s \"x\"\\' AND b = '\u202e'"
    code = snippets.python(
        "https://x.example", {"data": "plays", "verb": "top_k", "k": 3, "where": where, "share": "2%"}
    )
    called: dict[str, object] = {}
    names = {"where": None, "share": None}
    tree = compile(code, "page", "exec", dont_inherit=True, flags=0x400)
    import ast

    for node in ast.walk(tree):  # type: ignore[arg-type]
        if isinstance(node, ast.keyword) and node.arg in names:
            called[node.arg] = ast.literal_eval(node.value)
    assert called == {"where": where, "share": "2%"}


# ---- pictures -----------------------------------------------------------------------------------------------


def test_a_picture_is_sound_with_any_label() -> None:
    release = release_of(HOSTILE)
    tree = ElementTree.fromstring(pictures.file(release, "Title <b>"))
    assert len(tree.findall(f".//{SVG}rect[@class='bar']")) == len(HOSTILE)
    assert {one.tag for one in tree.iter()} <= {
        f"{SVG}{name}" for name in "svg title desc rect text path g circle".split()
    }
    texts = [one.text or "" for one in tree.iter(f"{SVG}text")]
    assert any("<script>" in one for one in texts)
    assert "style" not in {name for one in tree.iter() for name in one.attrib}
    assert tree.get("role") == "img"
    named = {one.get("id") for one in tree.iter() if one.get("id")}
    assert set((tree.get("aria-labelledby") or "").split()) == named


def test_a_picture_says_what_it_shows_and_whiskers_are_where_the_intervals_are() -> None:
    release = release_of(("a", "b", "c"))
    (drawn,) = pictures.drawings(release)
    first = release.items[0]
    assert drawn.finding.startswith(f"{first.item} has about {first.count:,} users")
    assert drawn.shapes.count('class="whisker"') == 3
    most = max(one.high or 0 for one in release.items)
    low, high = (min((end or 0) / most * pictures.WIDTH, pictures.WIDTH - 0.75) for end in (first.low, first.high))
    start = drawn.shapes.partition('class="whisker" d="M')[2]
    assert float(start.partition(" ")[0]) == pytest.approx(low, abs=0.06)
    assert float(start.partition("H")[2].partition("M")[0]) == pytest.approx(high, abs=0.06)


def test_groups_have_a_panel_each_and_names_alone_have_none() -> None:
    rows = {"user": range(900), "item": ["x", "y"] * 450, "g": ["one", "two", "three"] * 300}
    data = dps.Dataset(rows, user="user", item="item")
    release = data.top_k(2, by="g", epsilon=60, delta="1e-6", counts=True)
    assert [one.title for one in pictures.drawings(release)] == ["one", "three", "two"]
    assert ElementTree.fromstring(pictures.file(release, "x")).tag == f"{SVG}svg"
    names = data.top_k(2, epsilon=60, delta="1e-6")
    assert pictures.drawings(names) == []
    with pytest.raises(ParameterError, match="without numbers"):
        pictures.file(names, "x")


def test_many_quantiles_are_steps_and_bars() -> None:
    values, ranks = [n % 100 for n in range(5000)], [place / 10 for place in range(1, 10)]
    release = dps.quantile(values, ranks, bounds=(0, 99), step=1, epsilon=60)
    (drawn,) = pictures.drawings(release)
    assert drawn.shapes.count('class="path"') == 1
    path = drawn.shapes.partition('class="path" d="')[2].partition('"')[0]
    assert path.count("V") == 8
    heights = [float(one.partition("H")[0]) for one in path.split("V")[1:]]
    assert heights == sorted(heights, reverse=True)
    assert 8 <= drawn.shapes.count('class="bar"') <= 20
    assert drawn.finding.startswith(f"10 % at {release.labels[0]}, 30 % at {release.labels[2]}")
    assert ElementTree.fromstring(pictures.file(release, "x")).tag == f"{SVG}svg"


def test_values_stand_on_the_scale_of_the_bounds() -> None:
    release = dps.quantile([30] * 500 + [40] * 600, [0.25, 0.75], bounds=(0, 120), step=1, epsilon=60)
    (drawn,) = pictures.drawings(release)
    assert release.labels == [30, 40]
    places = [float(one.partition('"')[0]) for one in drawn.shapes.split('cx="')[1:]]
    scale = (pictures.WIDTH - 12) / 120
    assert places == [pytest.approx(6 + value * scale, abs=0.06) for value in (30, 40)]
    assert drawn.finding == "Quantiles 0.25, 0.75. 30, 40."
