"""`dpselect top` on real files: the answer in every form, on standard output and nothing else there."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from pathlib import Path

import polars
import pytest

from tests.end_to_end.conftest import COUNTS, Command, ask, process, write_events

ANIMALS = list(COUNTS)


def test_the_real_command(events: Path) -> None:
    ended = process(*ask(events, "--format", "json", "--quiet"))
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == ""
    found = json.loads(ended.stdout)
    assert [item["item"] for item in found["items"]] == ANIMALS
    assert found["secure"] is True


def test_json_form(events: Path, dpselect: Command) -> None:
    found = json.loads(dpselect(*ask(events, "--format", "json", "--epsilon", "30.1", "--delta", "1e-6")).out)
    assert set(found) == {
        "items",
        "kind",
        "counted",
        "complete",
        "ended",
        "accuracy",
        "privacy",
        "secure",
        "question",
        "exact",
    }
    assert found["items"] == [{"item": animal, "rank": rank} for rank, animal in enumerate(ANIMALS, 1)]
    assert found["complete"] is True
    privacy = found["privacy"]
    assert set(privacy) == {
        "epsilon", "delta", "neighbors", "unit", "mechanism", "parameters", "bound", "statement",
    }  # fmt: skip
    assert privacy["epsilon"] == 30.1
    assert privacy["delta"] <= 1e-6
    assert (privacy["neighbors"], privacy["unit"]) == ("add-remove", "user")
    assert privacy["parameters"]["k"] == 3
    assert isinstance(privacy["parameters"]["epsilon_per_pick"], float)
    assert all(isinstance(sentence, str) for sentence in privacy["statement"])


def test_table(events: Path, dpselect: Command) -> None:
    lines = dpselect(*ask(events)).out.splitlines()
    assert lines[:3] == ["3 items, best first.", "", "rank  item"]
    assert lines[6] == ""
    assert re.fullmatch(
        r"With 95 % confidence, no lower or missing item has over \d+ users? more\.",
        lines[7],
    )
    assert lines[8:] == ["spent: epsilon 30, delta 1e-06 per user"]
    ended = dpselect(*ask(events, "--explain"))
    assert ended.status == 0
    assert ended.err == ""
    lines = ended.out.splitlines()
    assert lines[0].startswith("3 items, best first. With 95 % confidence, an item that is left out or ranked")
    assert lines[2:4] == ["", "rank  item"]
    assert [line.split() for line in lines[4:7]] == [[str(rank), name] for rank, name in enumerate(ANIMALS, 1)]
    assert "spent: (30, 1e-06)-DP per user, add-remove neighbours" in lines


def test_csv(events: Path, dpselect: Command) -> None:
    rows = list(csv.reader(io.StringIO(dpselect(*ask(events, "--format", "csv")).out)))
    assert rows == [["rank", "item"], *([str(rank), name] for rank, name in enumerate(ANIMALS, 1))]
    with_counts = dpselect(*ask(events, "--format", "csv", "--counts")).out
    assert with_counts.splitlines()[0] == "rank,item,count,low,high"


@pytest.mark.parametrize("name", ["top.txt", "top.csv", "top.json", "top.md", "top.parquet"])
def test_the_extension_decides_the_format(name: str, events: Path, tmp_path: Path, dpselect: Command) -> None:
    path = tmp_path / name
    ended = dpselect(*ask(events, "--counts", "-o", path))
    assert (ended.status, ended.out) == (0, "")
    beside = ended.err.startswith("3 items, best first.\nEach with 95 % confidence")
    assert beside is (
        name not in ("top.txt", "top.json", "top.md")
    )  # rows alone have no room for what must be said of them
    assert os.listdir(tmp_path) == [name]
    if name == "top.json":
        assert [item["item"] for item in json.loads(path.read_text("utf-8"))["items"]] == ANIMALS
    elif name == "top.md":
        assert path.read_text("utf-8").startswith("| rank | item | count | low | high |")
    elif name == "top.txt":
        assert path.read_text("utf-8").startswith("3 items, best first.")
    else:
        frame = polars.read_parquet(path) if name == "top.parquet" else polars.read_csv(path)
        assert frame.columns == ["rank", "item", "count", "low", "high"]
        assert frame["item"].to_list() == ANIMALS


def test_several_files_and_a_filter(events: Path, tmp_path: Path, dpselect: Command) -> None:
    second = tmp_path / "second.csv"
    write_events(second)
    question = ["top", events, second, "--user", "user", "--item", "animal", "-k", 1, "--epsilon", 30]
    found = dpselect(*question, "--where", "animal <> 'ant' AND weather = 'dry'", "--format", "json", "--counts")
    items = json.loads(found.out)["items"]
    assert [item["item"] for item in items] == ["bee"]
    assert abs(items[0]["count"] - COUNTS["bee"] // 2) < 40


# ---- domains ----------------------------------------------------------------------------------------------


def test_listed_domain(events: Path, dpselect: Command) -> None:
    found = json.loads(dpselect(*ask(events, "--domain", 'cat,dog,"eel, long",bee', "--format", "json")).out)
    assert [item["item"] for item in found["items"][:2]] == ["bee", "cat"]
    assert found["items"][2]["item"] in {"dog", "eel, long"}
    assert found["complete"] is True


def test_listed_domain_of_numbers(typed: Path, dpselect: Command) -> None:
    question = ["top", typed, "--user", "user", "--item", "size", "-k", 1, "--epsilon", 30, "--domain", "77,3"]
    assert json.loads(dpselect(*question, "--format", "json").out)["items"][0]["item"] == 3


def test_domain_from_a_file(events: Path, tmp_path: Path, dpselect: Command) -> None:
    public = tmp_path / "public.csv"
    public.write_text("name\ncat\ndog\nbee\n", "utf-8")
    found = json.loads(dpselect(*ask(events, "--domain-from", f"{public}:name", "--format", "json")).out)
    assert [item["item"] for item in found["items"]] == ["bee", "cat", "dog"]


def test_domain_range_includes_both_ends(typed: Path, dpselect: Command) -> None:
    question = ["top", typed, "--user", "user", "--item", "size", "-k", 3, "--epsilon", 30]
    found = json.loads(dpselect(*question, "--domain-range", "3..5", "--format", "json").out)
    assert sorted(item["item"] for item in found["items"]) == [3, 4, 5]
    too_many = dpselect(*question, "--domain-range", "3..4")
    assert too_many.status == 2
    assert "k must be at most" in too_many.err


def test_domain_size_can_answer_with_an_unseen_item(events: Path, dpselect: Command) -> None:
    question = ask(events, "--where", "animal <> 'ant'", "--domain-size", 10**12, "--delta", 0)
    found = json.loads(dpselect(*question, "--format", "json").out)
    assert [item["item"] for item in found["items"][:2]] == ["bee", "cat"]
    assert found["items"][2]["item"] is None
    assert "(unseen item)" in dpselect(*question).out
    assert found["privacy"]["delta"] == 0


def test_items_that_must_not_come_back(events: Path, tmp_path: Path, dpselect: Command) -> None:
    (tmp_path / "list.csv").write_text("name\nant\nbee\n", "utf-8")
    for more, left in (
        (("--exclude", 'ant,"no, such"'), ["bee", "cat"]),
        (("--exclude-from", f"{tmp_path / 'list.csv'}:name"), ["cat"]),
    ):
        found = json.loads(dpselect(*ask(events, *more, "--format", "json")).out)
        assert [item["item"] for item in found["items"]] == left
    for more, message in (
        (("--exclude-from", "list.csv"), "--exclude-from must be FILE:COLUMN"),
        (("--exclude", "a", "--exclude-from", "list.csv:x"), "not allowed with"),
    ):
        ended = dpselect(*ask(events, *more))
        assert (ended.status, message in ended.err) == (2, True)


# ---- outcomes that are no errors --------------------------------------------------------------------------


def test_bottom_ends_the_list(events: Path, dpselect: Command) -> None:
    ended = dpselect(*ask(events, "-k", 5))
    assert ended.status == 0
    assert "3 of at most 5 items: no other could be released" in ended.out
    assert json.loads(dpselect(*ask(events, "-k", 5, "--format", "json")).out)["complete"] is False


def test_a_filter_that_matches_nobody_is_an_outcome(events: Path, dpselect: Command) -> None:
    question = ask(events, "--where", "size::INT > 1000")
    ended = dpselect(*question, "--format", "json")
    assert ended.status == 0
    assert json.loads(ended.out)["items"] == []
    assert json.loads(ended.out)["complete"] is False
    assert "0 of at most 3 items" in dpselect(*question).out
    assert dpselect(*question, "--format", "csv").out == "rank,item\n"


def test_users_items_stay_in_the_engine(dpselect: Command, tmp_path: Path):
    path = tmp_path / "rows.csv"
    path.write_text("user,item\n" + "".join(f"{n},tea\n" for n in range(300)))
    asked = ["--epsilon", "8", "-k", "3", "--method", "discover", "--in-engine", "--format", "json"]
    found = json.loads(dpselect("top", str(path), "--user", "user", "--item", "item", *asked).out)
    assert [item["item"] for item in found["items"]] == ["tea"]
    assert found["privacy"]["parameters"]["in_engine"] is True


def test_what_rose_most(dpselect: Command, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    lines = [f"{n},tea,2026-{month}-05\n" for n in range(400) for month in ("09", "10")]
    path.write_text("user,item,at\n" + "".join(lines + [f"{n},soup,2026-10-06\n" for n in range(300)]))
    asked = ["--epsilon", "8", "-k", "1", "--time", "at", "--period", "month", "--during", "2026-10", "--counts"]
    asked += ["--type", "at=DATE", "--compared-with", "2026-09", "--user", "user", "--item", "item"]
    found = dpselect("top", str(path), *asked, "--format", "csv").out.splitlines()
    assert found[0] == "rank,item,gain,low,high"
    assert found[1].startswith("1,soup,")
    said = " ".join(dpselect("top", str(path), *asked).out.split())  # lines end at the width of the terminal
    first = "1 item by gained users from 2026-09 to 2026-10; an item that gained nothing or lost users may be listed"
    assert said.startswith(first)
    alone = [
        one
        for one in asked
        if one not in ("--type", "at=DATE", "--time", "at", "--period", "month", "--during", "2026-10")
    ]
    refused = dpselect("top", str(path), *alone)
    assert refused.status == 2
    assert "compared_with must go with data that have a time" in refused.err
