"""`dpselect union`, of items and of texts: real files, every form, every mistake, odd data, and who pays."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import polars
import pytest

from tests.end_to_end.conftest import CANARY_ITEM, COUNTS, Command, ledger_of, process
from tests.end_to_end.test_cli_refusals import shows_no_data

ANIMALS = sorted(COUNTS)
WORDS = ["fox", "quick", "the"]
PHRASES = ["quick fox", "the quick"]


def union(events: Path, *more: object) -> list[object]:
    """A question whose answer is all but certain: epsilon is large, delta small, and rare items have one user each."""
    price = ["--epsilon", 30, "--delta", "1e-9", "--method", "weighted-gaussian"]
    item = [] if "--item" in more else ["--item", "animal"]
    return ["union", events, "--user", "user", *item, *price, *more]


def of_text(notes: Path, *more: object) -> list[object]:
    price = ["--epsilon", 60, "--delta", "1e-9", "--method", "weighted-gaussian"]
    return ["union", notes, "--user", "user", "--text", "note", *price, *more]


def bounded(question: list[object]) -> list[object]:
    return [*question, "--max-items-per-user", 9]


@pytest.fixture(scope="session")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three words of 120 users, and a word of one."""
    path = tmp_path_factory.mktemp("notes") / "notes.jsonl"
    rows = [{"user": user, "note": "The quick FOX", "size": user} for user in range(120)]
    rows += [{"user": 7, "note": f"my {CANARY_ITEM}", "size": 1}, {"user": 8, "note": None, "size": 2}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def items(text: str) -> list[object]:
    return [item["item"] for item in json.loads(text)["items"]]


# ---- the first result, in every form ----------------------------------------------------------------------


def test_a_table_with_its_statement(events: Path, dpselect: Command) -> None:
    ended = dpselect(*union(events, "--quiet"))
    assert ended.out.splitlines()[-1] == "spent: epsilon 30, delta 1e-09 per user"
    assert "chosen privately" not in ended.out
    ended = dpselect(*union(events, "--quiet", "--explain"))
    assert (ended.status, ended.err) == (0, "")
    assert [line.strip() for line in ended.out.split("\n\n")[1].splitlines()] == ["item", *ANIMALS]
    assert "spent: (30, 1e-09)-DP per user, add-remove neighbours" in ended.out
    assert "chosen privately, with 1/20 of epsilon" in " ".join(ended.out.split())
    assert CANARY_ITEM not in ended.out


def test_pairs_can_stay_in_the_engine(events: Path, dpselect: Command) -> None:
    ended = dpselect(*union(events, "--in-engine", "--format", "json"))
    assert items(ended.out) == ANIMALS
    assert json.loads(ended.out)["privacy"]["parameters"]["in_engine"] is True
    refused = dpselect(
        "union",
        events,
        "--user",
        "user",
        "--item",
        "animal",
        "--epsilon",
        1,
        "--method",
        "greedy-geometric",
        "--in-engine",
    )
    assert refused.status == 2
    assert "in_engine must be left out for greedy-geometric" in refused.err
    shows_no_data(refused.err)


def test_csv_with_counts_has_the_largest_first(events: Path, dpselect: Command) -> None:
    lines = dpselect(*bounded(union(events, "--counts", "--format", "csv"))).out.splitlines()
    assert lines[0] == "item,counted_users,low,high"
    found = {name: int(count) for name, count, _, _ in (line.split(",") for line in lines[1:])}
    assert list(found) == ["ant", "bee", "cat"]
    assert all(abs(found[name] - COUNTS[name]) < 45 for name in found)


def test_json_has_the_form_of_top(events: Path, dpselect: Command) -> None:
    found = json.loads(dpselect(*union(events, "--format", "json")).out)
    assert found["items"] == [{"item": name, "rank": None} for name in ANIMALS]
    assert (found["complete"], found["secure"]) == (True, True)
    privacy = found["privacy"]
    assert (privacy["epsilon"], privacy["delta"], privacy["neighbors"]) == (30, 1e-9, "add-remove")
    assert {"method", "max_items_per_user", "threshold", "epsilon_of_items"} <= set(privacy["parameters"])


def test_lines_are_items_and_nothing_else(events: Path, dpselect: Command) -> None:
    ended = dpselect(*union(events, "--format", "lines", "--quiet"))
    assert ended.out.splitlines() == ANIMALS
    assert "\nspent: epsilon 30, delta 1e-09 per user" in ended.err
    assert "there may be others." in " ".join(ended.err.split())
    all_of_it = dpselect(*union(events, "--format", "lines", "--quiet", "--explain"))
    assert all_of_it.out.splitlines() == ANIMALS
    assert "\nspent: (30, 1e-09)-DP per user" in all_of_it.err


def test_a_text_file_holds_lines_and_the_statement_is_said(notes: Path, tmp_path: Path, dpselect: Command) -> None:
    path = tmp_path / "vocab.txt"
    ended = dpselect(*bounded(of_text(notes, "--ngrams", "1-2", "--quiet", "--explain", "-o", path)))
    assert (ended.status, ended.out) == (0, "")
    assert path.read_text("utf-8") == "".join(f"{word}\n" for word in sorted([*WORDS, *PHRASES]))
    said = " ".join(ended.err.split())
    assert "spent: (60, 1e-09)-DP per user" in said
    assert "level by level, for 2/3, 1/3 of the price of items" in said
    assert "Items by number of tokens: 3 of 1, 2 of 2." in said


def test_an_item_cannot_pass_for_two_lines(tmp_path: Path, dpselect: Command) -> None:
    path = tmp_path / "data.parquet"
    names = ["a", "a\nforged", "b\x1b[31m", "a bit"]
    rows = [(user, name) for user in range(100) for name in names]
    polars.DataFrame(rows, schema=["user", "animal"], orient="row").write_parquet(path)
    ended = dpselect(*bounded(union(path, "--format", "lines")))
    assert ended.out.splitlines() == ["a", "a\\nforged", "a bit", "b\\x1b[31m"]
    assert items(dpselect(*bounded(union(path, "--format", "json"))).out) == ["a", "a\nforged", "a bit", "b\x1b[31m"]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (("--ngrams", "2"), PHRASES),
        (("--ngrams", "1-3", "--shares", "1/3,1/3,1/3"), sorted([*WORDS, *PHRASES, "the quick fox"])),
        (("--no-lower",), ["FOX", "The", "quick"]),
        (("--tokenizer", "re:[A-Z]+", "--no-lower"), ["FOX", "T"]),
        (("--tokenizer", "sentences"), ["the quick fox"]),
        (("--where", "size < 0"), []),
    ],
)
def test_vocabularies(more: tuple[str, ...], expected: list[str], notes: Path, dpselect: Command) -> None:
    assert dpselect(*bounded(of_text(notes, "--format", "lines", *more))).out.splitlines() == expected


def test_progress_has_words_of_its_own(events: Path, dpselect: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpselect.command.progress.SECONDS_BEFORE_PROGRESS", -1.0)
    assert "finding what enough users share" in dpselect(*bounded(union(events))).err
    assert dpselect(*bounded(union(events, "--quiet"))).err == ""


def test_a_process_of_its_own(events: Path) -> None:
    ended = process(*bounded(union(events, "--format", "lines", "--method", "auto", "--epsilon", 5)))
    assert ended.returncode == 0
    assert ended.stdout.splitlines() == ANIMALS


# ---- mistakes ---------------------------------------------------------------------------------------------

Refused = tuple[Callable[[Path, Path], list[object]], int, str]

REFUSED: dict[str, Refused] = {
    "method misspelt": (
        lambda e, _: union(e, "--method", "gredy-geometric"),
        2,
        r"a method(.|\n)*greedy-geometric",
    ),
    "half an item": (lambda e, _: union(e, "--max-items-per-user", "1.5"), 2, "max-items-per-user: invalid int"),
    "some items": (lambda e, _: union(e, "--max-items-per-user", "some"), 2, "max-items-per-user: invalid int"),
    "column misspelt": (lambda e, _: union(e, "--item", "anmial"), 2, r"anmial(.|\n)*animal"),
    "counts without a place": (lambda e, t: union(e, "--counts", "-o", t / "a.txt"), 2, "--counts must be left out"),
    "form against extension": (lambda e, t: union(e, "--format", "csv", "-o", t / "a.txt"), 2, "--format must fit"),
    "no extension": (lambda e, t: union(e, "-o", t / "vocab"), 2, "-o must end in one of .txt"),
    "output folder missing": (lambda e, t: union(e, "-o", t / "no" / "a.txt"), 4, "folder of -o does not exist"),
    "ngrams reversed": (lambda e, _: of_text(e, "--ngrams", "3-1"), 2, "--ngrams must be.*got 3-1\nhint: for example"),
    "ngrams 0": (lambda e, _: of_text(e, "--ngrams", "0"), 2, "--ngrams must be a whole number of at least 1"),
    "ngrams in words": (lambda e, _: of_text(e, "--ngrams", "two"), 2, "--ngrams must be"),
    "shares too few": (lambda e, _: of_text(e, "--ngrams", "2", "--shares", "1/2"), 2, "shares must be 2 numbers"),
    "text misspelt": (lambda e, _: of_text(e, "--text", "wether"), 2, r"wether(.|\n)*weather"),
}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory, events: Path) -> Path:
    """The events, and beside them the same with sizes as numbers."""
    path = tmp_path_factory.mktemp("both") / "events.csv"
    path.write_bytes(events.read_bytes())
    polars.read_csv(path).with_columns(note=polars.col("weather")).write_csv(path)
    polars.read_csv(path).write_parquet(path.with_name("typed.parquet"))
    return path


@pytest.mark.parametrize("refused", REFUSED.values(), ids=list(REFUSED))
def test_refused_before_anything_is_paid(refused: Refused, both: Path, tmp_path: Path, dpselect: Command) -> None:
    question, status, says = refused
    account = ledger_of(book := tmp_path / "budget.sqlite", 100, "0.25")
    ended = dpselect(*question(both, tmp_path), *account)
    assert ended.status == status, ended
    assert ended.out == ""
    assert ended.err.startswith("dpselect")
    assert re.search(says, ended.err), ended.err
    shows_no_data(ended.err)
    (found,) = json.loads(dpselect("ledger", "show", book, "--format", "json").out)["analysts"]
    assert (found["spent_epsilon"], found["reserved_epsilon"]) == (0, 0)


# ---- odd data ---------------------------------------------------------------------------------------------


def test_no_rows_are_an_answer(tmp_path: Path, dpselect: Command) -> None:
    path = tmp_path / "empty.csv"
    path.write_text("user,animal,note\n", "utf-8")
    ended = dpselect(*union(path))
    assert ended.status == 0
    assert ended.out.startswith("No items: none could be released, though there may be some.")
    assert dpselect(*union(path, "--format", "csv")).out == "item\n"
    assert dpselect(*union(path, "--format", "lines")).out == ""
    assert dpselect(*of_text(path, "--format", "lines", "--ngrams", "1-3")).out == ""


# ---- who pays ---------------------------------------------------------------------------------------------


def test_a_ledger_pays_once(events: Path, notes: Path, tmp_path: Path, dpselect: Command) -> None:
    account = ledger_of(book := tmp_path / "budget.sqlite", 130)
    lines = dpselect(*union(events, "--format", "lines", "--quiet", *account))
    assert "charged: 23.08 % of the budget of ann" in lines.err
    text, repeated = (
        json.loads(dpselect(*of_text(notes, "--ngrams", "1-2", "--format", "json", *account)).out) for _ in range(2)
    )
    assert repeated["privacy"] == text["privacy"]
    assert repeated["charged"]["repeated"] is True
    history = dpselect("ledger", "history", book).out
    assert "all of note that enough users share, at epsilon 60 and delta 1e-09, from " in history


def test_a_public_list_says_what_people_give_to_first(tmp_path: Path, dpselect: Command) -> None:
    """Sixty people have the same forty words: without a list each of them goes to another one."""
    rows = "".join(f"{user},word{i}\n" for user in range(60) for i in range(40))
    (tmp_path / "words.csv").write_text("user,word\n" + rows)
    (tmp_path / "public.tsv").write_text("word7\t900\nnever\t800\n")
    asked = ["union", tmp_path / "words.csv", "--user", "user", "--item", "word", "--epsilon", 20, "--delta", "1e-9"]
    ended = dpselect(*asked, "--popular", tmp_path / "public.tsv", "--format", "lines", "--explain")
    assert ended.status == 0
    assert "word7" in ended.out.split()
    assert "by greedy-geometric" in ended.err
    refused = dpselect(*asked, "--popular", tmp_path / "missing.tsv")
    assert refused.status == 3
    assert "missing.tsv cannot be read" in refused.err
