"""A release in files and back: CSV, Parquet and JSON with every type, whole or not at all; long ones in print."""

from __future__ import annotations

import csv
import datetime
import io
import json
import math
import os
import re
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import polars
import pytest

import dpselect as dps
from dpselect._ground.domain import UNSEEN
from dpselect.errors import DataError, OutputError, ParameterError
from dpselect.release.accuracy import TOO_MANY, Accuracy
from dpselect.release.archive import archive_release, restore_release
from dpselect.release.files import csv_text
from dpselect.release.release import Item, Receipt, Release
from dpselect.release.rows import UNREADABLE_ROWS
from dpselect.testing import SeededDraws
from tests.by_names import by_names, drawn
from tests.house.test_release import release

LABELS = [
    "ant", "", "=1+1", '"', "1", 7, -(2**70), True, 1.5, 0.1, 1.0, math.inf, None, UNSEEN, b"\x00\xff",
    Decimal("1.10"), datetime.date(2024, 2, 29), datetime.datetime(2024, 2, 29, 1, 2, 3, 456, tzinfo=datetime.UTC),
    datetime.datetime(2024, 2, 29), datetime.time(1, 2, 3), Fraction(1, 3),
]  # fmt: skip
VOTES = {"user": [u for u in range(300) for _ in range(2)], "item": [i for u in range(300) for i in ("a", f"b{u % 3}")]}
USUAL = {"epsilon": 3, "delta": "1e-6"}


def votes(**more: object) -> dps.Dataset:
    return dps.Dataset(VOTES, user="user", item="item", **more)


KINDS = (
    "top_k", "sparse", "discover", "set", "choose", "users", "users of groups", "histogram", "scores", "union",
    "quantile", "empty", "test draws",
)  # fmt: skip


@cache
def kinds() -> dict[str, Release]:
    """A release of every verb."""
    data, domain = votes(max_items_per_user=2), ["a", "b0", "b1", "b2", "never"]
    numbers = dps.Dataset({"user": range(90), "item": [u % 9 for u in range(90)]}, user="user", item="item")
    sets = {"domain": domain, "counts": True}
    return {
        "top_k": by_names(data).top_k(3, **USUAL, counts=True),
        "sparse": by_names(data).top_k(3, **USUAL, counts=True, method="limited-domain-sparse"),
        "discover": by_names(data).top_k(3, **USUAL, counts=True, method="discover"),
        "set": by_names(data).top_k(3, **USUAL, **sets, method="canonical-set"),
        "choose": data.choose(domain=domain, epsilon=1),
        "users": data.users(epsilon=1),
        "users of groups": data.users(epsilon=1, by=dps.By("item", groups=domain)),
        "histogram": data.histogram(domain=domain[::-1], epsilon=1),
        "scores": dps.choose({"x": 0.25, "y": 3}, epsilon=1),
        "union": by_names(data).union(**USUAL, counts=True),
        "quantile": numbers.quantile(("0.25", 0.5), bounds=(0, 10), step="0.5", epsilon=5),
        "empty": by_names(votes(where="item = 'nobody'")).top_k(3, **USUAL),
        "test draws": drawn(SeededDraws(1), lambda: dps.choose([1, 2], epsilon=1)),
    }


# ---- JSON and back ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_comes_back_from_json_and_from_the_archive(name: str, tmp_path: Path) -> None:
    kept = kinds()[name]
    assert Release.from_json(kept.to_json()) == kept
    kept.to_json(tmp_path / "release.json")
    assert Release.from_json(tmp_path / "release.json") == kept
    assert Release.from_json(str(tmp_path / "release.json")).to_json() == kept.to_json()
    assert restore_release(archive_release(kept)) == kept


def test_every_kind_is_among_them() -> None:
    assert tuple(kinds()) == KINDS


FORMS: dict[str, Callable[[Release], Release]] = {
    "JSON": lambda kept: Release.from_json(kept.to_json()),
    "the archive": lambda kept: restore_release(archive_release(kept)),
}


@pytest.mark.parametrize("again", FORMS.values(), ids=list(FORMS))
def test_labels_come_back_with_their_types(again: Callable[[Release], Release]) -> None:
    kept = release(LABELS)
    assert again(kept) == kept
    assert [type(label) for label in again(kept).labels] == [type(label) for label in LABELS]
    assert math.isnan(again(release([math.nan])).labels[0])
    of_numpy = [np.int64(3), np.str_("x"), np.float64(0.5)]
    assert again(release([*of_numpy, ("a", 1, b"\x00")])).labels == [3, "x", 0.5, ("a", 1, b"\x00")]
    assert "\n" not in archive_release(kept)


def test_receipts_and_intervals_come_back() -> None:
    charged = Receipt("1 pick", {"picks": Fraction(1, 3), "left": 2})
    item = Item(Decimal("1.5"), 1, 30, 20, 40)
    kept = replace(release(["a"]), items=(item,), charged=charged, accuracy=Accuracy(("So.",), {"gap": Fraction(1, 7)}))
    assert Release.from_json(kept.to_json()) == kept
    assert archive_release(kept) == archive_release(
        replace(kept, charged=None)
    )  # what a budget was charged is the ledger's own


@pytest.mark.parametrize("text", ["{", "{}", '{"items": 3}', "{" * 100_000, '{"items": [], "exact": {}, "privacy": 1}'])
def test_another_json_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="text must be the JSON of a release"):
        Release.from_json(text)


@pytest.mark.parametrize(
    ("name", "value"),
    [("epsilon", "1e999999999"), ("epsilon", 0.5), ("epsilon", "1/0"), ("delta", None), ("parameters", [])],
)
def test_a_forged_price_is_refused(name: str, value: object) -> None:
    forged = json.loads(release(["a"]).to_json())
    forged["exact"][name] = value
    with pytest.raises(ParameterError, match="text must be the JSON of a release"):
        Release.from_json(json.dumps(forged))


@pytest.mark.parametrize("row", [{"rank": "1"}, {"count": 1.5}, {"low": True}, {"exact": ["fraction", "1e9999999"]}])
def test_a_forged_item_is_refused(row: dict[str, object]) -> None:
    forged = json.loads(release(["a"]).to_json())
    forged["items"] = [{"item": "a", "rank": 1, **row}]
    with pytest.raises(ParameterError, match="text must be the JSON of a release"):
        Release.from_json(json.dumps(forged))


FORGED = [
    {"secure": "no"}, {"secure": 1}, {"secure": None}, {"counted": "false"}, {"complete": False}, {"complete": "yes"},
    {"ended": "bottom"}, {"kind": "VALUES"}, {"privacy": {"mechanism": 5}}, {"privacy": {"bound": []}},
    {"privacy": {"unit": {"of": "users"}}}, {"exact": {"epsilon": "-5"}}, {"exact": {"delta": "7"}},
    {"exact": {"charged": [7, {}]}}, {"kind": "values", "exact": {"parameters": {"q": ["tuple", ["a"]]}}},
    {"kind": "values", "exact": {"parameters": {"q": ["tuple", [0.5, 0.25]]}}},
]  # fmt: skip


@pytest.mark.parametrize("changed", FORGED, ids=str)
def test_a_forged_statement_is_refused(changed: dict[str, object]) -> None:
    """Any text was taken for True, also where draws for tests had been said to be not secure."""
    told = json.loads(release(["a"]).to_json())
    for name, value in changed.items():
        told[name] = {**told[name], **value} if isinstance(value, dict) else value
    with pytest.raises(ParameterError, match="text must be the JSON of a release"):
        Release.from_json(json.dumps(told))


def test_files_that_hold_no_release(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the release cannot be read: No such file"):
        Release.from_json(tmp_path / "none.json")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    with pytest.raises(ParameterError, match="text must be"):
        Release.from_json(tmp_path / "bytes")
    with pytest.raises(ParameterError, match="text must be"):
        Release.from_json(3)  # type: ignore[arg-type]


# ---- tables in files --------------------------------------------------------------------------------------


def test_csv_and_parquet(tmp_path: Path) -> None:
    found = kinds()["top_k"]
    found.to_csv(tmp_path / "top.csv")
    found.to_parquet(tmp_path / "top.parquet")
    assert (tmp_path / "top.csv").read_text("utf-8") == found.to_csv()
    columns = {name: list(cells) for name, cells in found.to_columns().items()}
    assert list(columns) == ["rank", "item", "counted_users", "low", "high"]
    assert polars.read_parquet(tmp_path / "top.parquet").to_dict(as_series=False) == columns
    assert polars.read_csv(tmp_path / "top.csv").to_dict(as_series=False) == columns
    assert sorted(os.listdir(tmp_path)) == ["top.csv", "top.parquet"]


ATTACKS = [
    "=cmd|' /C calc'!A0", "=1+1", "+1", "-1", "@SUM(A1:A9)", "\t=1", "\r=1", "'=1", "''+1", "-", "--1", "=", "+cmd|x",
    '=HYPERLINK("http://evil.example","x")', "@x", "-2+3", "=A1,B1", "+\n", "'@", "=\"x\"", " =1", "\n=1",
    "a;=cmd|' /C calc'!A0;b", "a;+1;-2", ";'@x", 'a; "=1"', "=1;=2", "a;\t=1", "\uff1d1",
]  # fmt: skip
HARMLESS = ["a,b", 'say "x"', "two\nlines", "a\r=1", " ", "'tis", "a=1", "1-1", "", "'", "a;b", "a; b=1", ";", "x;1-1"]


def unescaped(text: str) -> str:
    """As docs/releases.md says it."""
    pieces = [
        piece[1:]
        if piece.startswith("'") and re.match(r"[\s'\"]*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]", piece)
        else piece
        for piece in text.split(";")
    ]
    return ";".join(pieces)


def cells_of(text: str) -> list[str]:
    """What a spreadsheet makes of a label where semicolons separate cells."""
    return [cell.strip(' "') for cell in text.split(";")]


def labels_of(text: str) -> list[str]:
    return [row[1] for row in csv.reader(io.StringIO(text, newline=""))][1:]


def test_no_label_of_a_csv_is_a_formula() -> None:
    found = release([*ATTACKS, *HARMLESS])
    escaped = labels_of(found.to_csv())
    run = tuple("=+-@\t\r\n\uff1d")
    assert not [cell for one in escaped for cell in (one, *cells_of(one)) if cell.startswith(run)]
    assert escaped[len(ATTACKS) :] == HARMLESS
    assert [unescaped(one) for one in escaped] == [*ATTACKS, *HARMLESS]
    assert labels_of(found.to_csv(escape=False)) == [*ATTACKS, *HARMLESS]


def test_numbers_of_a_csv_stay_numbers() -> None:
    columns = {"=x": [-1, -2.5, Decimal("-3"), None, "-4"]}
    assert csv_text(columns, escape=True) == "'=x\n-1\n-2.5\n-3\n\"\"\n'-4\n"


def test_quantiles_have_columns_of_their_own() -> None:
    found = kinds()["quantile"]
    most = {name: [getattr(item.ranked, name) for item in found] for name in TOO_MANY}
    assert found.to_columns() == {"q": [0.25, 0.5], "value": found.labels, **most}
    assert str(found).split("\n\n")[1].splitlines()[0].split() == ["q", "value", *TOO_MANY]
    assert found.to_csv().splitlines()[0] == "q,value,too_many_below,too_many_above"
    assert [row["q"] for row in json.loads(found.to_json())["items"]] == [0.25, 0.5]


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "top.csv"
    path.write_text("old", "utf-8")
    path.chmod(0o640)

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(Path, "replace", fail)
        with pytest.raises(OutputError, match="No space left"):
            release(["a"]).to_csv(path)
    assert (path.read_text("utf-8"), os.listdir(tmp_path)) == ("old", ["top.csv"])
    release(["a"]).to_csv(path)
    assert path.read_text("utf-8") == "rank,item\n1,a\n"
    assert os.name == "nt" or path.stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(os.name == "nt", reason="a link may need rights there")
def test_a_link_in_the_place_of_a_draft_leads_nowhere(tmp_path: Path) -> None:
    """In a folder of several users somebody else may have put it there."""
    other = tmp_path / "other"
    other.write_text("of somebody else")
    (tmp_path / f".top.csv.{os.getpid()}.part").symlink_to(other)
    release(["a"]).to_csv(tmp_path / "top.csv")
    assert (other.read_text(), (tmp_path / "top.csv").read_text()) == ("of somebody else", "rank,item\n1,a\n")


@pytest.mark.parametrize("name", ["missing/top.csv", "."])
def test_places_that_cannot_be_written(name: str, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot be written"):
        release(["a"]).to_json(tmp_path / name)


# ---- a sequence, long ones --------------------------------------------------------------------------------


def test_places_and_slices() -> None:
    found = release(["a", "b", "c"])
    assert found[0].item == "a"
    assert found[-1] is found.items[2]
    assert [item.item for item in found[1:]] == ["b", "c"]
    with pytest.raises(IndexError):
        found[3]


def test_a_long_release_prints_a_head() -> None:
    found = release([f"item {i:04}" for i in range(6132)])
    assert len(str(found).splitlines()) < 30
    assert "... and 6,112 more: to_pandas(), to_csv(path) have all" in str(found).splitlines()
    assert len(found._repr_html_()) < 5000
    assert "... and 6,112 more" in found._repr_html_()
    assert found.text.count("item ") == 6132
    assert repr(found) == str(found)  # what an interactive Python shows
    assert "more: to_pandas" not in str(release(list(range(30))))


@pytest.mark.parametrize("columns", [60, 100])
@pytest.mark.parametrize("name", KINDS)
def test_what_is_printed_fits_the_terminal(name: str, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    text = str(kinds()[name])
    assert max(map(len, text.splitlines())) <= columns
    words = " ".join(text.split())
    assert words.index("95 % confidence") < words.index("spent: ")
    text = kinds()[name].explain()
    assert max(map(len, text.splitlines())) <= max(columns, 75)  # the promise is a line that is not broken
    text = " ".join(text.split())
    assert text.index("95 % confidence") < text.index("spent: ") < text.index("how it was found")


def test_an_empty_answer_says_what_to_look_at() -> None:
    words = " ".join(str(kinds()["empty"]).split())
    assert (
        "things to check: the filter, the column of items, a larger epsilon or delta, fewer k, a public list" in words
    )
    assert "whoever has the rows: `dpselect inspect`" in words  # no analyst of a gateway has
    assert "fewer k" in kinds()["empty"]._repr_html_()
    assert "things to check" not in str(kinds()["top_k"])
    assert "fewer k" not in str(by_names(votes(where="item = 'nobody'")).union(**USUAL))


def test_an_empty_answer_names_the_column_of_times() -> None:
    rows = {"user": [1], "item": ["a"], "day": [datetime.date(2026, 9, 1)]}
    data = dps.Dataset(rows, user="user", item="item", time=dps.Time("day", period="month"))
    words = " ".join(str(data.during("2026-09").ask(dps.TopK(3), **USUAL)).split())
    assert "the filter, the column of items, that of times day, a larger epsilon" in words


def test_an_empty_answer_names_who_tells_whether_rows_could_be_read(tmp_path) -> None:
    """It says so whatever was read: of a file in Latin-1, of which no line can be, and of one that is read well."""
    rows = "user,item\n" + "".join(f"{user},caf\u00e9 {user}\n" for user in range(500))
    said = []
    for name, encoding in (("good.csv", "utf-8"), ("bad.csv", "latin-1")):
        (tmp_path / name).write_bytes(rows.encode(encoding))
        found = by_names(dps.Dataset(tmp_path / name, user="user", item="item")).top_k(3, **USUAL)
        assert len(found) == 0
        said.append(str(found))
    assert said[0] == said[1]
    three = dps.Dataset({"user": [1, 2], "item": [3, 4], "g": [5, 6]}, user="user", item="item")
    full = by_names(votes()).top_k(2, **USUAL), votes().choose(domain=["a"], epsilon=1)
    for one in (found, by_names(three).top_k(2, by="g", **USUAL), *full):
        assert one.privacy.sentences[-1] == UNREADABLE_ROWS


def test_an_empty_answer_speaks_of_what_is_missing_alone() -> None:
    """Nothing is left out of a list of none, and no count has an interval."""
    empty = dps.Dataset(VOTES | {"day": VOTES["item"]}, user="user", item="item", where="item = 'nobody'")
    by_group = by_names(empty).top_k(2, by="day", counts=True, max_groups_per_user=1, **USUAL)
    for found in (by_names(empty).top_k(2, counts=True, **USUAL), by_group):
        (said,) = found.accuracy.sentences
        assert re.search(r"No item has over [0-9]+ (counted )?users more than the item at rank", said)
    assert all(" is found if " in one for one in by_names(empty).union(counts=True, **USUAL).accuracy.sentences)
    assert len(by_names(votes()).top_k(2, counts=True, **USUAL).accuracy.sentences) > 1


def test_an_item_is_in_its_release() -> None:
    rows = {"user": [*range(900)] * 2, "item": ["ant"] * 900 + ["bee"] * 900, "day": [1] * 900 + [2] * 900}
    found = by_names(dps.Dataset(rows, user="user", item="item")).top_k(2, **USUAL)
    assert ("ant" in found, "bee" in found, "cat" in found, 7 in found) == (True, True, False, False)
    assert found[0] in found
    keys = by_names(dps.Dataset(rows, user="user", item=["item", "day"])).top_k(2, **USUAL)
    assert (("ant", 1) in keys, ["bee", 2] in keys, ("ant", 2) in keys, "ant" in keys) == (True, True, False, False)
    assert all(item in keys and item.item in keys for item in keys)
    assert len(keys) == len(list(keys)) == 2


def test_an_item_is_in_its_release_by_group() -> None:
    """In any group by itself, in one with the values of the group before it."""
    rows = {"user": [*range(900)] * 2, "item": ["ant"] * 900 + ["bee"] * 900, "land": ["DE"] * 900 + ["FR"] * 900}
    asked = dps.TopK(1, by=dps.By("land", groups=["DE", "FR"], max_groups_per_user=2))
    found = dps.Dataset(rows, user="user", item="item").ask(asked, **USUAL)
    assert [(item.group, item.item) for item in found] == [(("DE",), "ant"), (("FR",), "bee")]
    assert ("ant" in found, "bee" in found, "cat" in found, "DE" in found) == (True, True, False, False)
    assert (("DE", "ant") in found, ["FR", "bee"] in found, ("FR", "ant") in found) == (True, True, False)
    of_keys = dps.Dataset({**rows, "day": [1] * 1800}, user="user", item=["item", "day"]).ask(asked, **USUAL)
    assert (("ant", 1) in of_keys, ("DE", "ant", 1) in of_keys, ("FR", "ant", 1) in of_keys) == (True, True, False)


def test_a_choice_of_scores_says_how_counts_are_chosen_better() -> None:
    """Whatever the scores are: whole numbers may be counts or not, and what is said depends on no score."""
    hint = "If each is a number of users, say monotonic=True: the answer is as good at half the epsilon."
    given = ({"left": 31, "right": 90}, {"left": 0.5, "right": 90.5})
    said = [dps.choose(scores, epsilon=1).explain() for scores in given]
    assert all(hint in " ".join(one.split()) for one in said)
    for more in ({"monotonic": True}, {"neighbors": "replace-one"}):
        assert "monotonic=True" not in dps.choose({"left": 31, "right": 90}, epsilon=1, **more).explain()
    better, usual = dps.choose([1, 9], epsilon=1, monotonic=True), dps.choose([1, 9], epsilon=2)
    assert better.accuracy == usual.accuracy


# ---- how good it is, in a machine's form ------------------------------------------------------------------


def test_accuracy_is_words_and_numbers() -> None:
    found = kinds()["top_k"]
    said = found.to_dict()["accuracy"]
    assert isinstance(said, dict)
    assert said["confidence_percent"] == 95
    assert said["statement"] == list(found.accuracy.sentences)
    assert {"gap", "reach", "width_of_counts"} <= set(said)
    width = found.accuracy.numbers["width_of_counts"]
    assert all(item.high - item.low == 2 * width for item in found if item.low)  # type: ignore[operator]


def test_what_is_said_does_not_depend_on_the_rows() -> None:
    """Two data sets of nothing in common, one answer of as many items: the same words."""
    other = {"user": list(range(900)), "item": ["x", "y", "z"] * 300}
    for method in ("limited-domain", "limited-domain-sparse"):
        asked = {**USUAL, "counts": True, "method": method}
        two = [
            by_names(dps.Dataset(rows, user="user", item="item", max_items_per_user=2)).top_k(3, **asked)
            for rows in (VOTES, other)
        ]
        assert two[0].accuracy == two[1].accuracy
        assert two[0].notes == two[1].notes
