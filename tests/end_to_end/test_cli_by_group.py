"""`--by` of `dpselect top`, `union`, `quantile` and `choose`: the same in every group, as a person types it."""

from __future__ import annotations

import csv
import io
import json

import pytest

from dpselect.command.main import main


@pytest.fixture
def rows(tmp_path):
    lines = ["user,country,city,page"]
    lines += [f"{u},{'DE' if u % 2 else 'FR'},c{u % 3},p{(u * j) % 3}" for u in range(2000) for j in (0, 1)]
    path = tmp_path / "views.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def asked(capsys, *words: object) -> str:
    assert main([*map(str, words), "--quiet"]) == 0
    return capsys.readouterr().out


def test_the_top_of_every_group(rows, capsys):
    words = ("top", rows, "--user", "user", "--item", "page", "-k", 2, "--epsilon", 4)
    found = asked(capsys, *words, "--by", "country", "--counts", "--users", "--format", "csv")
    table = list(csv.DictReader(io.StringIO(found)))
    assert [(row["country"], row["rank"]) for row in table] == [("DE", "1"), ("DE", "2"), ("FR", "1"), ("FR", "2")]
    assert all(abs(int(row["counted_group_users"]) - 1000) < 100 for row in table)
    found = asked(capsys, *words, "--by", "country,city", "--max-groups-per-user", 2, "--format", "json")
    assert json.loads(found)["by"] == ["country", "city"]
    assert json.loads(found)["items"][0]["group"] == {"country": "DE", "city": "c0"}
    each = asked(capsys, *words, "--by", "country", "--by", "city", "--max-groups-per-user", 2, "--format", "json")
    assert json.loads(each)["by"] == ["country", "city"]
    found = asked(capsys, *words, "--by", "country", "--groups", "FR,LI")
    assert "2 groups, 1 with no item that could be told: LI" in found


def test_all_items_of_every_group(rows, capsys):
    words = ("union", rows, "--user", "user", "--item", "page", "--epsilon", 4, "--by", "country")
    table = list(csv.DictReader(io.StringIO(asked(capsys, *words, "--format", "csv"))))
    assert {(row["country"], row["item"]) for row in table} == {(c, f"p{n}") for c in ("DE", "FR") for n in range(3)}


def test_a_median_and_a_choice_in_every_group(rows, capsys):
    words = ("quantile", rows, "--user", "page", "--item", "user", "--bounds", 0, 2000, "--step", 1, "--epsilon", 4)
    found = asked(capsys, *words, "--q", "0.1,0.9", "--by", "country", "--groups", "FR,LI", "--format", "csv")
    table = list(csv.DictReader(io.StringIO(found)))
    assert [(row["country"], row["q"]) for row in table] == [(c, q) for c in ("FR", "LI") for q in ("0.1", "0.9")]
    words = ("choose", rows, "--user", "user", "--item", "page", "--domain", "p1,p2,p0", "--epsilon", 4)
    found = asked(capsys, *words, "--by", "country", "--delta", "1e-9", "--format", "csv")
    assert [row["country"] for row in csv.DictReader(io.StringIO(found))] == ["DE", "FR"]
    found = asked(capsys, *words, "--by", "country,city", "--max-groups-per-user", 2, "--format", "json")
    assert json.loads(found)["privacy"]["parameters"]["max_groups_per_user"] == 2
    assert json.loads(found)["items"][0]["group"] == {"country": "DE", "city": "c0"}


def test_scores_have_no_groups(rows, capsys):
    words = ["choose", str(rows), "--label", "page", "--score", "user", "--epsilon", "1", "--by", "country"]
    assert main(words) == 2
    assert "--label with --by" in capsys.readouterr().err


def test_lines_have_no_groups(rows, capsys):
    words = ["union", str(rows), "--user", "user", "--item", "page", "--epsilon", "4", "--by", "country"]
    assert main([*words, "--format", "lines"]) == 2
    assert "--by must be left out where the answer is lines" in capsys.readouterr().err
