"""`--within` and `--threshold`: the price is said before anything is read, and the answer is that of the price."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.by_names import plan_of
from tests.end_to_end.conftest import Command, ledger_of

TOP = "--user user --item animal -k 2 --domain ant,bee,cat,dog --within 20".split()


def shown(**given: object) -> str:
    """The price as the command says it."""
    return str(float(plan_of("top_k", **given).price.epsilon)).removesuffix(".0")  # type: ignore[arg-type]


def test_a_top_k_says_its_price_first(events: Path, dpselect: Command) -> None:
    ended = dpselect("top", events, *TOP)
    price = shown(k=2, within=20, domain=4)
    assert ended.status == 0
    assert ended.err == f"dpselect: within 20 users of the 2nd best costs epsilon {price}\n"
    assert f"spent: epsilon {price} per user" in ended.out
    said = "With 95 % confidence, no item here has over 20 users fewer than the 2nd best, as was asked."
    assert said in " ".join(ended.out.split())
    assert dpselect("top", events, *TOP, "--quiet").err == ""


def test_it_is_said_before_a_budget_refuses_and_with_its_delta(events: Path, tmp_path: Path, dpselect: Command) -> None:
    budget = ledger_of(tmp_path / "budget.sqlite", "0.3", "1e-6")
    ended = dpselect("top", events, *TOP, *budget)
    price = shown(k=2, within=20, domain=4)
    assert ended.status == 5
    assert ended.err.startswith(f"dpselect: within 20 users of the 2nd best costs epsilon {price}\n")
    assert re.search(
        r"\ndpselect: it costs up to [0-9.]+ % of the budget, of which only 100 % is left now\n", ended.err
    )
    assert ended.out == ""
    ended = dpselect("top", events, *TOP[:-1], 300, *budget)
    cost, left = re.findall("([0-9.]+ %) of the budget, of which 100(?:.00)? % is left now and ([0-9.]+ %)", ended.err)[
        0
    ]
    assert f"charged: {cost} of the budget of ann" in ended.out
    assert f"; {left} left;" in ended.out
    assert ended.status == 0, ended.err
    assert f"costs epsilon {shown(k=2, within=300, domain=4)}" in ended.err


BAD = [
    ("--within x", "argument --within: invalid int value: 'x'"),
    ("--within 5 --epsilon 1", "within must be left out if epsilon is given"),
    ("--within 5 --share 1%", "share must be left out if within is given"),
    ("", "epsilon must be given for top_k, or within in its place"),
    ("--within 1 -k 50", "within must be at least 3, which costs epsilon 100, got 1"),
]


@pytest.mark.parametrize(("said", "message"), BAD, ids=[said for said, _ in BAD])
def test_what_cannot_be_asked_for_is_refused_and_leaves_no_file(
    said: str, message: str, events: Path, tmp_path: Path, dpselect: Command
) -> None:
    ended = dpselect("top", events, "--user", "user", "--item", "animal", *said.split(), "-o", tmp_path / "out.csv")
    assert ended.status == 2
    assert message in ended.err
    assert "costs epsilon 0" not in ended.err
    assert not (tmp_path / "out.csv").exists()


# ---- dpselect plan ----------------------------------------------------------------------------------------


def test_plan_shows_each_method_at_the_price_that_follows(dpselect: Command) -> None:
    ended = dpselect(
        *"plan top --k 3 --users 500 --items 60 --domain-size 60 --within 20 --quiet --format json".split()
    )
    told = json.loads(ended.out)
    rows = {row["method"]: row for row in told["rows"]}
    assert len(rows) == 2
    assert all(row["within"] <= 20 for row in rows.values())
    assert rows["peeling"]["epsilon"] == float(plan_of("top_k", k=3, within=20, domain=60).price.epsilon)
    price = shown(k=3, within=20, domain=60)
    assert f"By peeling: within 20 users of the 3rd best costs epsilon {price}." in told["notes"]
    asked = "plan union --users 500 --items 60 --max-items-per-user 10 --threshold 3 --quiet --format json"
    told = json.loads(dpselect(*asked.split(), "--methods", "weighted-gaussian,count-gaussian").out)
    assert [row["method"] for row in told["rows"]] == ["weighted-gaussian"]
    assert "count-gaussian is left out: threshold must be at least 4, which costs epsilon 100." in told["notes"]


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("top --within 5 --epsilon 1", "within must be left out if epsilon is given"),
        ("top --within 1 --k 50 --methods limited-domain", "within must be at least 3, which costs epsilon 100"),
        ("union --within 3", "--within belongs to"),
    ],
)
def test_plan_refuses(said: str, message: str, dpselect: Command) -> None:
    ended = dpselect("plan", *said.split(), "--quiet")
    assert ended.status == 2
    assert message in ended.err
