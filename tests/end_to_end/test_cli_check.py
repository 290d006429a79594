"""`dpselect check` as a privacy officer uses it: a status for every verdict, and no traceback for hostile files."""

from __future__ import annotations

import json
import os
import sqlite3
from dataclasses import replace
from fractions import Fraction

import pytest

import dpselect as dps
from dpselect.checking.finding import Verdict, worst_verdict
from dpselect.ledger import Charge
from dpselect.release.archive import archive_release
from tests.by_names import by_names
from tests.end_to_end.conftest import ledger_of
from tests.judge.payment import paid

ROWS = {"user": [u for u in range(300) for _ in range(2)], "item": [i for u in range(300) for i in ("a", f"b{u % 3}")]}


@pytest.fixture
def ledger(tmp_path):
    """A ledger in which ann may use all of the promise about "plays"."""
    ledger_of(path := tmp_path / "budget.sqlite", 9, data="plays")
    return path


@pytest.fixture
def paying(ledger):
    return dps.Budget.open(ledger, data="plays", analyst="ann")


@pytest.fixture
def written(tmp_path):
    def write(release, name="release.json", change=lambda text: text):
        path = tmp_path / name
        path.write_text(change(release.to_json()))
        return path

    return write


def settled(ledger, release, charge, asked="1"):
    """Whoever keeps the ledger writes it by its own rules."""
    with dps.Ledger(ledger) as opened:
        held = opened.reserve(dps.Account("plays", "ann"), charge, json.dumps({"asked": {"epsilon": asked}}))
        opened.start(held)
        opened.settle(held, charge, archive_release(release))


def judged(release, ledger):
    """What the judge says of the payment."""
    with dps.Ledger(ledger) as opened:
        return worst_verdict(paid(release, opened))


def data(budget=None, most=None):
    return dps.Dataset(ROWS, user="user", item="item", budget=budget, max_items_per_user=most)


def test_a_release_that_follows_and_was_paid(dpselect, ledger, paying, written):
    path = written(data(paying).top_k(2, epsilon=1, counts=True))
    found = dpselect("check", path)
    assert (found.status, found.err) == (0, "")
    assert found.out.startswith("The promise (1, 2e-08) follows from the question, which was planned again.\n  planned")
    assert "top_k costs epsilon 1, delta 2e-08 by LimitedDomain" in found.out
    paid = dpselect("check", path, "--budget", ledger)
    assert (paid.status, paid.err) == (0, "")
    assert "The ledger paid for it.\n" in paid.out
    assert "entry 5: ann paid for it from the account of plays on " in paid.out
    with dps.Ledger(ledger) as opened:
        assert opened.head in paid.out


def test_as_json(dpselect, ledger, paying, written):
    path = written(data(paying).top_k(2, epsilon=1))
    found = dpselect("check", path, "--budget", ledger, "--format", "json")
    told = json.loads(found.out)
    assert (told["promise"], told["verdict"], told["paid"]) == ("(1, 2e-08)", "follows", "follows")
    assert [set(one) for one in told["findings"]] == [{"verdict", "sentence"}]


def test_a_lowered_epsilon_does_not_follow(dpselect, ledger, paying, written):
    release = data(paying).top_k(2, epsilon=1)
    path = written(release, change=lambda text: text.replace('"epsilon": "1"', '"epsilon": "1/2"'))
    for more in ((), ("--budget", ledger)):  # the promise is worse than a missing payment
        found = dpselect("check", path, *more)
        assert (found.status, found.err) == (7, "")
        assert found.out.startswith("DOES NOT FOLLOW: the promise (0.5, 2e-08)")
    assert "THE LEDGER DOES NOT CONFIRM IT." in found.out


def test_what_cannot_be_planned_has_a_status_of_its_own(dpselect, ledger, written):
    """A release that does not say what was asked, also where a ledger has it."""
    release = replace(by_names(data()).union(epsilon=1, max_items_per_user=2), question=None)
    settled(ledger, release, Charge.round_up(Fraction(1), Fraction(1, 10**6)))
    path = written(release)
    for more in ((), ("--budget", ledger)):
        found = dpselect("check", path, *more)
        assert (found.status, found.err) == (8, "")
        assert found.out.startswith("NOT CONFIRMED: the promise (1, 1e-06) is stated")
    assert "entry 5: ann paid for it" in found.out


def test_a_release_that_the_ledger_does_not_know(dpselect, ledger, paying, written):
    data(paying).top_k(2, epsilon=1)
    other = written(data().top_k(2, epsilon=1), "other.json")
    found = dpselect("check", other, "--budget", ledger)
    assert found.status == 6
    assert "no question in it was answered with exactly this release" in found.out


def test_a_ledger_that_was_changed(dpselect, ledger, paying, written):
    path = written(data(paying).top_k(2, epsilon=1))
    with sqlite3.connect(ledger) as book:
        tables = [name for (name,) in book.execute("select name from sqlite_master where type = 'trigger'")]
        for name in tables:
            book.execute(f'drop trigger "{name}"')
        book.execute("update entry set epsilon = '0.500000000000000000000000000000' where number = 5")
    book.close()
    found = dpselect("check", path, "--budget", ledger)
    assert found.status == 6
    assert "the ledger is not clean: " in found.out


@pytest.mark.parametrize(
    ("epsilon", "delta", "renyi", "status"),
    [
        ("1", "1e-6", "1", 0),
        ("2", "1e-5", "2", 0),
        ("0.99", "1e-6", "1", 6),
        ("1", "1e-9", "1", 6),
        ("1", "1e-6", "0.001", 6),
        ("0", "0", "0", 6),
    ],
)
def test_what_was_charged_is_not_less_than_the_cost(dpselect, ledger, written, epsilon, delta, renyi, status):
    """Also in a ledger that is whole, because whoever wrote it did so by its own rules."""
    release = data().top_k(2, epsilon=1)
    settled(ledger, release, Charge.round_up(Fraction(epsilon), Fraction(delta), Fraction(renyi)))
    assert dpselect("check", written(release), "--budget", ledger).status == status
    assert (judged(release, ledger) is Verdict.FAILS) is (status != 0)


def test_an_epsilon_above_the_one_stated_was_asked_for(dpselect, ledger, written):
    release = data().choose(domain=["a", "b0"], epsilon=1)
    settled(ledger, release, Charge.round_up(Fraction(2), Fraction(0)), asked="2")
    found = dpselect("check", written(release), "--budget", ledger)
    assert found.status == 6
    assert "asked for epsilon 2" in found.out


def test_every_verb_is_found_in_its_ledger(dpselect, ledger, paying, written):
    mine = data(paying, 2)
    ages = dps.Dataset({"user": list(range(90)), "age": list(range(90))}, user="user", item="age", budget=paying)
    answers = {
        "top": (mine.top_k(2, epsilon="0.1", counts=True), 0),
        "list that ends early": (mine.top_k(9, epsilon="0.1"), 0),
        "list of limited domain": (mine.top_k(9, epsilon="0.1", method="limited-domain"), 0),
        "list of few picks": (mine.top_k(2, epsilon="0.1", counts=True, method="limited-domain-sparse"), 0),
        "peeling": (mine.top_k(2, epsilon="0.1", domain=["a", "b0", "b1"], counts=True), 0),
        "set": (by_names(mine).top_k(2, epsilon="0.1", domain=["a", "b0", "b1"], method="set"), 0),
        "union": (mine.union(epsilon="0.1", method="weighted-gaussian"), 0),
        "chosen": (mine.choose(domain=["a", "b0"], epsilon="0.1"), 0),
        "flip": (mine.choose(domain=["a", "b0"], epsilon="0.1", method="permute-and-flip"), 0),
        "quantile": (ages.quantile([0.2, 0.8], bounds=(0, 9), epsilon="0.1"), 0),
    }
    for name, (release, status) in answers.items():
        found = dpselect("check", written(release), "--budget", ledger)
        assert judged(release, ledger) is not Verdict.FAILS
        assert found.status == status, (name, found.out)
        assert "does not follow" not in found.out, (name, found.out)


@pytest.mark.parametrize("content", ["", '{"a":' * 100_000])
def test_a_file_that_is_no_release(dpselect, tmp_path, content):
    path = tmp_path / "hostile.json"
    path.write_text(content)
    found = dpselect("check", path)
    assert (found.status, found.out) == (3, "")
    assert found.err.startswith("dpselect: the file holds no release")


def test_what_is_no_file_and_no_ledger(dpselect, tmp_path, written):
    assert dpselect("check", tmp_path).err == "dpselect: the release must be a file\n"
    assert dpselect("check", tmp_path / "none").status == 3
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "fifo")
        assert dpselect("check", tmp_path / "fifo").status == 3
    path = written(data().top_k(2, epsilon=1))
    assert dpselect("check", path, "--budget", tmp_path / "none.sqlite").status == 6
    path.chmod(0o600)
    assert dpselect("check", path, "--budget", path).status == 6
