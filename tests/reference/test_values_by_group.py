"""Quantiles and choices by group, from a data set to a release: what is shown, what it costs, and what is refused."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import dpselect as dps
from dpselect._ground.privacy import BoundedRange, PureDP, Steps
from dpselect.accounting.composition import compose
from dpselect.errors import ParameterError
from dpselect.queries.groups import SHARE_FOR_FINDING
from dpselect.release.accuracy import TOO_MANY
from dpselect.release.archive import archive_release, restore_release
from tests.by_names import by_names, plan_of

DOMAIN = ["red", "blue", "grey"]
OF_AGE = {"bounds": (0, 120), "step": 1, "epsilon": 4}
FOUND = OF_AGE | {"delta": "1e-12"}  # a group of two is found once in 10^11 runs
MEDIANS = {"DE": 20, "FR": 60}


def rows(users: int = 2000) -> dict[str, list]:
    """Every user is in one country, of two that differ in all; two users are in a third."""
    people = range(users)
    country = ["LI" if u < 2 else ("DE", "FR")[u % 2] for u in people]
    return {
        "user": list(people),
        "country": country,
        "city": [f"c{u % 3}" for u in people],
        "age": [MEDIANS.get(c, 99) + u // 2 % 11 - 5 for u, c in enumerate(country)],
        "option": [{"DE": "red", "FR": "blue"}.get(c, "grey") for c in country],
    }


@pytest.fixture(scope="module")
def ages() -> dps.Dataset:
    return dps.Dataset(pa.table(rows()), user="user", item="age")


@pytest.fixture(scope="module")
def options() -> dps.Dataset:
    return dps.Dataset(pa.table(rows()), user="user", item="option")


def by_group(found: dps.Release) -> dict[tuple[object, ...], list[object]]:
    return {group.values: [item.item for item in found if item.group == group.values] for group in found.groups.shown}


def test_groups_that_enough_users_are_in_are_found_and_answered(ages, options):
    found = by_names(ages).quantile([0.25, 0.5, 0.75], by="country", **FOUND)
    assert list(by_group(found)) == [("DE",), ("FR",)]
    for (country,), answers in by_group(found).items():
        assert np.abs(np.array(answers) - MEDIANS[country] - [-3, 0, 3]).max() <= 2
    assert [item.rank for item in found] == [1, 2, 3, 1, 2, 3]
    assert "LI" not in found.text
    chosen = options.choose(domain=DOMAIN, epsilon=4, delta="1e-12", by="country")
    assert by_group(chosen) == {("DE",): ["red"], ("FR",): ["blue"]}
    assert chosen.found == (1, 1)
    assert found.complete
    assert chosen.complete


def test_listed_groups_are_answered_in_any_case(ages, options):
    found = by_names(ages).median(by="country", groups=["FR", "XX", "DE", "LI"], **OF_AGE)
    assert list(by_group(found)) == [("DE",), ("FR",), ("LI",), ("XX",)]
    assert all(len(answers) == 1 for answers in by_group(found).values())
    assert found.privacy.delta == 0
    chosen = by_names(options).choose(domain=DOMAIN, epsilon=4, by="country", groups=["XX"])
    assert by_group(chosen)["XX",][0] in DOMAIN


def test_no_group_that_can_be_told(ages):
    found = ages.median(bounds=(0, 120), step=1, epsilon="0.01", by="country", delta="1e-12")
    assert found.groups.shown == ()
    assert len(found) == 0
    assert "No groups: none could be released" in found.text
    chosen = dps.Dataset({"user": [], "option": [], "g": []}, user="user", item="option").choose(
        domain=DOMAIN, epsilon=1, by="g"
    )
    for one in (found, chosen):
        assert dps.Release.from_json(one.to_json()) == one
        assert restore_release(archive_release(one)) == one


def test_columns_of_groups_that_a_table_has_itself():
    given = rows(300)
    given["q"] = given.pop("country")
    found = by_names(dps.Dataset(given, user="user", item="age")).median(by="q", groups=["DE"], **OF_AGE)
    assert list(found.to_columns()) == ["group_q", "q", "value", *TOO_MANY, "group_users"]


def test_groups_that_python_takes_for_equal_are_not_one():
    groups = [True, 1, 0.1, Decimal.from_float(0.1)]
    given = {
        "user": np.arange(2000),
        "item": np.array([DOMAIN[u % 4 % 3] for u in range(2000)], dtype=object),
        "g": np.array([groups[u % 4] for u in range(2000)], dtype=object),
    }
    found = dps.Dataset(given, user="user", item="item").choose(domain=DOMAIN, epsilon=20, by="g")
    assert {repr(item.group): item.item for item in found} == {
        "(True,)": "red",
        "(1,)": "blue",
        "(0.1,)": "grey",
        repr((Decimal.from_float(0.1),)): "red",
    }


# ---- what it costs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_the_price_of_listed_groups_is_that_of_the_groups_of_a_user(groups, delta):
    of = {"by": "g", "groups": list("abcd"), "max_groups_per_user": groups, "delta": delta}
    quantiles = plan_of("quantile", q=[0.25, 0.5], bounds=(0, 9), step=1, epsilon=2, **of)
    assert [one.times for one in quantiles.price.steps] == [2 * groups, groups]
    assert quantiles.price.epsilon == 2
    assert quantiles.price.failure == 0
    if groups == 1 and not delta:
        alone = plan_of("quantile", q=[0.25, 0.5], bounds=(0, 9), step=1, epsilon=2)
        assert quantiles.price == alone.price
    chosen = plan_of("choose", domain=["x", "y"], epsilon=2, **of)
    assert [one.times for one in chosen.price.steps] == [groups]
    flips = plan_of("choose", domain=["x", "y"], epsilon=2, method="permute-and-flip", **of)
    assert isinstance(flips.price.steps[0].value, PureDP)
    fewer = plan_of("choose", domain=["x", "y"], epsilon=2, **of | {"groups": ["a"]})
    assert fewer.price.steps == (Steps(BoundedRange(Fraction(2)), 1),)  # there is no second group


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("q", [0.5, [0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9]])
def test_finding_groups_takes_a_part_of_the_price(groups, q):
    query = plan_of("quantile", q=q, bounds=(0, 9), step=1, epsilon=2, by="g", max_groups_per_user=groups)
    finder = query.priced_groups.finder
    assert query.delta == Fraction(1, 10**6)
    assert finder.epsilon == 2 * SHARE_FOR_FINDING
    assert finder.union.privacy.epsilon <= finder.epsilon
    assert finder.union.privacy.delta <= finder.delta
    first, *picks = query.price.steps
    assert first == Steps(PureDP(finder.epsilon), 1)
    assert query.price.failure == finder.delta
    left = query.price.delta - finder.delta
    assert compose(picks, left).epsilon <= 2 - finder.epsilon
    assert left in (0, Fraction(1, 2 * 10**6))


# ---- what is refused --------------------------------------------------------------------------------------

BAD = {
    "by must be columns other than user and item": {"by": "age"},
    "by must be a column of the source, got 'cuontry'\nhint": {"by": "cuontry"},
    "by must name each column once": {"by": ["country", "country"]},
    "by must be given for groups": {"groups": ["DE"]},
    "by must be given for groups, got nothing": {"max_groups_per_user": 2},
    "max_groups_per_user must be a whole number of at least 1": {"by": "country", "max_groups_per_user": 0},
    "max_groups_per_user must be a whole number from": {"by": "country", "max_groups_per_user": 10**9},
    "groups must hold at least one item": {"by": "country", "groups": []},
    "groups must be a list": {"by": "country", "groups": 4},
    "types must declare column 'country'": {"by": "country", "groups": [1, 2]},
    "groups must list single values": {"by": "country", "groups": [("DE", 1)]},
    "delta must be": {"by": "country", "delta": 0},
    "epsilon must be between 6e-6 and 6e6 if groups are to be found": {"by": "country", "epsilon": "1e-6"},
}


@pytest.mark.parametrize("said", BAD)
def test_bad_input(ages, options, said):
    for ask in (
        lambda: by_names(ages).median(**OF_AGE | BAD[said]),
        lambda: by_names(options).choose(
            **{"domain": DOMAIN, "epsilon": 1} | {n: "option" if v == "age" else v for n, v in BAD[said].items()}
        ),
    ):
        with pytest.raises(ParameterError) as error:
            ask()
        assert str(error.value).startswith(said)


def test_what_does_not_go_with_groups(ages, options):
    with pytest.raises(ParameterError, match="within must be left out if by is given"):
        by_names(ages).median(bounds=(0, 120), within=50, by="country")
    with pytest.raises(ParameterError, match="domain must say which items there are if by is given"):
        options.choose(domain=10, epsilon=1, by="country")
    with pytest.raises(ParameterError, match="domain must have at most 1,000,000 items"):
        options.choose(domain=range(10**15), epsilon=1, by="country")
    with pytest.raises(ParameterError, match="delta must be left out if by is not given"):
        options.choose(domain=DOMAIN, epsilon=1, delta="1e-6")


def test_groups_that_look_alike_are_two_in_a_picture():
    given = {"user": [*range(40)], "item": [3, 7] * 20, "g": [1, "1"] * 20}
    found = dps.Dataset(given, user="user", item="item").median(bounds=(0, 9), step=1, epsilon=9, by="g")
    listed = by_names(dps.Dataset(given, user="user", item="item")).median(
        bounds=(0, 9), step=1, epsilon=90, by="g", groups=[1, "1"]
    )
    assert len(found.groups.panels(found.items, found.items)) == len(found)
    panels = listed.groups.panels(listed.items, listed.labels)
    assert list(panels) == ["1", "1 (another)"]
    assert sorted(panels.values()) == [[3], [7]]
