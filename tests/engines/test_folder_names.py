"""Columns that names of folders hold: what one row's folder is called decides nothing about the others."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpselect as dps
from dpselect.engines.duckdb.workspace import Workspace
from dpselect.engines.sources.csv_form import CsvForm
from dpselect.engines.sources.files import Files
from dpselect.engines.sources.scans.declarations import parse_type
from dpselect.engines.sources.scans.parquet import parquet_scan
from dpselect.errors import ParameterError
from tests.engines.opened import open_engine

PLACES = {"1": 5, "2": 3}


def written(folder: Path, place: str, users: list[int]) -> None:
    (folder / f"place={place}").mkdir(parents=True)
    pq.write_table(pa.table({"user": users}), folder / f"place={place}" / "rows.parquet")


def counted(folder: Path, where: str | None = None) -> dict[object, int]:
    with open_engine(folder, user="user", item="place", where=where, key=bytes(16)) as engine:
        found = engine.top(9)
        return {found.label(place, 0): count for place, count in enumerate(found.counts.tolist())}


@pytest.mark.parametrize(("where", "kept"), [(None, {**PLACES, "x": 1}), ("place::INT >= 2", {"2": 3})])
def test_a_folder_of_one_user_changes_the_items_of_nobody_and_stops_no_filter(tmp_path, where, kept):
    """Numbers, were they numbers because all are, would be texts from the first that is none on."""
    for place, users in PLACES.items():
        written(tmp_path, place, [*range(users)])
    assert counted(tmp_path, where) == {place: users for place, users in kept.items() if place != "x"}
    written(tmp_path, "x", [99])
    assert counted(tmp_path, where) == kept


# ---- in every form of file, below the given root only --------------------------------------------------------


def put(path: Path, users: list[str], **more: str) -> None:
    """A file of these users, as its ending says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = {"user": users, "item": ["tea"] * len(users)} | {name: [one] * len(users) for name, one in more.items()}
    if path.suffix == ".parquet":
        pq.write_table(pa.table(rows), path)
    elif path.suffix == ".csv":
        path.write_text("\n".join([",".join(rows), *map(",".join, zip(*rows.values(), strict=True))]) + "\n")
    else:
        records = (dict(zip(rows, values, strict=True)) for values in zip(*rows.values(), strict=True))
        path.write_text("".join(json.dumps(record) + "\n" for record in records))


ENDINGS = ("parquet", "csv", "jsonl")
COUNTRIES = {"DE": ["a", "b", "c"], "caf%C3%A9": ["d"], "a=b": ["e"], "__HIVE_DEFAULT_PARTITION__": ["f"], "": ["g"]}
NAMED = {"DE": 3, "caf\u00e9": 1, "a=b": 1}


def labels(source: object, item: str = "country", **more: object) -> dict[object, int]:
    with open_engine(source, user="user", item=item, key=bytes(16), **more) as engine:  # type: ignore[arg-type]
        found = engine.top(9)
        return {found.label(place, 0): count for place, count in enumerate(found.counts.tolist())}


@pytest.mark.parametrize("ending", ENDINGS)
def test_names_of_folders_are_texts_in_every_form_of_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    for country, users in COUNTRIES.items():
        put(tmp_path / "above=1" / "rows" / f"country={country}" / "plain" / f"x.{ending}", users)
    root = tmp_path / "above=1" / "rows"
    assert labels(root) == labels([root]) == labels(f"{root}/**/*.{ending}") == NAMED
    assert labels(root, where="country = 'DE'") == {"DE": 3}
    assert labels(root, "user", where="country IS NULL") == {"f": 1, "g": 1}
    monkeypatch.chdir(root)
    assert labels(".") == labels(f"country=*/plain/*.{ending}") == NAMED
    file = root / "country=DE" / "plain" / f"x.{ending}"
    assert labels(file, "item") == {"tea": 3}
    for source, name, above in [([file], "country", root), (root, "above", tmp_path), (".", "above", Path("../.."))]:
        for asked in ({"item": name}, {"item": "item", "by": [name]}, {"item": "item", "where": f"{name} = 'DE'"}):
            with pytest.raises(ParameterError, match=r"columns? of the source") as error:
                labels(source, **asked)
            assert f"below a folder or glob that is given: give '{above}' to have it" in str(error.value)
            assert ("if it is a key of the lines, say so: types={" in str(error.value)) == (ending == "jsonl")
    if ending == "jsonl":  # whose records have any name, and the owner says which
        assert labels(file, "item", where="country IS NULL", types={"country": parse_type("country", "VARCHAR")}) == {
            "tea": 3
        }


@pytest.mark.parametrize("ending", ENDINGS)
def test_names_of_folders_are_read_as_declared(tmp_path: Path, ending: str) -> None:
    for day, users in {"1": ["a", "b"], "01": ["b"], "1.0": ["c"], "x": ["d"]}.items():
        put(tmp_path / f"day={day}" / f"x.{ending}", users)
    declared = {"day": parse_type("day", "BIGINT")}
    assert labels(tmp_path, "day") == {"1": 2, "01": 1, "1.0": 1, "x": 1}
    assert labels(tmp_path, "day", types=declared) == {1: 3}
    with pytest.raises(ParameterError, match="types must declare column 'day'"):
        dps.Dataset(tmp_path, user="user", item="day").histogram(domain=[1, 2], epsilon=1)
    with dps.Dataset(tmp_path, user="user", item="item", where="day = '1'").engine() as engine:
        assert engine.source.declared == {"folders": ["day"]}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize(
    ("odd", "must"),
    [
        ("plain", "have the same columns in the folders of every file"),
        ("country=DE/city=B", "have the same columns in the folders of every file"),
        ("city=B", "have the same columns in the folders of every file"),
        ("country=%E9", "have folders whose % codes are UTF-8"),
        ("country=DE/country=FR", "have folders that name each column once"),
    ],
)
def test_odd_folders_are_refused_with_their_path(tmp_path: Path, ending: str, odd: str, must: str) -> None:
    put(tmp_path / "country=DE" / f"x.{ending}", ["a"])
    put(tmp_path / odd / f"y.{ending}", ["b"])
    with pytest.raises(ParameterError, match=must) as error:
        labels(tmp_path)
    assert f"y.{ending}" in str(error.value)


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_name_of_files_and_of_folders_is_refused_where_it_is_used(tmp_path: Path, ending: str) -> None:
    put(tmp_path / "country=DE" / f"x.{ending}", ["a", "b"], country="FR")
    with pytest.raises(ParameterError, match="source must have 'country' in its files or in names of folders"):
        labels(tmp_path)
    assert labels(tmp_path, "item") == {"tea": 2}


def test_parts_of_a_table_are_exactly_of_its_type_or_missing(tmp_path: Path) -> None:
    """A log of Delta names any folder, and only its values were checked."""
    names = {
        "INTEGER": {"19": 19, "19.7": None, "0x10": None, "1_0": None, "99999999999": None},
        "TIMESTAMP WITH TIME ZONE": {"2026-03-31 23:59:59.9999999": "23:59:59.999999", "epoch": None},
        "FLOAT": {"0.5": 0.5, "1e39": None, "1_0": None},
        "DECIMAL(5,2)": {"1.50": "1.50", "1.555": None},
    }
    for declared, values in names.items():
        root = tmp_path / declared
        for number, value in enumerate(values):
            put(root / f"part={value}" / "x.parquet", [str(number)])
        paths = tuple(str(path) for path in sorted(root.glob("*/*")))
        columns = (("user", "VARCHAR"), ("item", "VARCHAR"), ("part", declared))
        files = Files("parquet", paths, columns, ("part",), (str(root) + os.sep,) * len(paths))
        workspace = Workspace()
        scan = parquet_scan(workspace, files)
        with scan.rows(workspace, ["user", "part"]) as source:
            found = dict(workspace.fetch(f"SELECT user, CAST(part AS VARCHAR) FROM {source}"))
        workspace.close()
        for number, expected in enumerate(values.values()):
            assert (found[str(number)] is None) == (expected is None)
            assert expected is None or str(expected) in found[str(number)]


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_that_is_named_twice_is_read_once(tmp_path: Path, ending: str) -> None:
    file = tmp_path / "country=DE" / f"x.{ending}"
    put(file, ["a", "b"])
    assert labels([file, file], "item") == {"tea": 2}
    assert labels([f"{tmp_path}/*/*.{ending}", tmp_path]) == {"DE": 2}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_a_file_of_two_names_is_read_once(tmp_path: Path, ending: str, link: Callable[..., None]) -> None:
    """Its rows are no others by another path: a sum would have them twice."""
    put(file := tmp_path / "country=DE" / f"x.{ending}", ["a", "b"], n="1")
    link(file, tmp_path / "country=DE" / f"y.{ending}")
    named_otherwise = f"{file.parent}/../country=DE/x.{ending}"
    for source in (tmp_path, f"{tmp_path}/*/*.{ending}", [file, named_otherwise], [file.with_stem("y"), file]):
        data = dps.Dataset(source, user="user", item="item", types={"n": "BIGINT"})
        (tea,) = data.top_k(1, measures=[dps.Sum("n", 0, 2)], epsilon=400).items
        assert tea.measures[0].value == 2


@pytest.mark.parametrize("ending", ENDINGS)
def test_folders_are_read_in_any_order_and_with_any_name_that_is_not_hidden(tmp_path: Path, ending: str) -> None:
    put(tmp_path / "_day=1" / "country=DE" / f"x.{ending}", ["a", "b"])
    put(tmp_path / "country=FR" / "_day=1" / f"x.{ending}", ["c", "d"])
    put(tmp_path / "_temporary" / "_day=1" / f"x.{ending}", ["e"])
    put(tmp_path / ".day=2" / "country=DE" / f"x.{ending}", ["e"])
    assert labels(tmp_path) == {"DE": 2, "FR": 2}
    assert labels(tmp_path, "_day") == {"1": 4}


def test_what_is_no_file_is_refused_with_its_path(tmp_path: Path) -> None:
    """A link to a folder would be left out without a word, and to open a pipe waits until somebody writes."""
    put(tmp_path / "in" / "x.csv", ["a", "b"])
    put(tmp_path / "out" / "x.csv", ["c", "d"])
    for name, make, must in (
        ("part", lambda path: path.symlink_to(tmp_path / "out"), "source must hold no link to a folder, got '.*part'"),
        ("loop", lambda path: path.symlink_to(tmp_path), "source must hold no link to a folder, got '.*loop'"),
        ("pipe.csv", os.mkfifo, "source must be files, got '.*pipe.csv', which is none\nhint: .* - reads a pipe"),
        ("gone.csv", lambda path: path.symlink_to(tmp_path / "x"), "source must be files that exist, got '.*gone.csv'"),
    ):
        make(path := tmp_path / "in" / name)
        with pytest.raises(dps.DpselectError, match=must):
            labels(tmp_path / "in", "item")
        path.rename(path.with_name(f".{name}"))
        assert labels(tmp_path / "in", "item") == {"tea": 2}


def test_a_column_with_the_name_of_ours_stops_no_question(tmp_path: Path) -> None:
    put(tmp_path / "country=DE" / "x.parquet", ["a", "b"])
    put(tmp_path / "country=FR" / "x.parquet", ["c"], DPSELECT_FILE="odd")
    assert labels(tmp_path) == {"DE": 2, "FR": 1}
    assert labels(tmp_path, "DPSELECT_FILE", where="country = 'FR'") == {"odd": 1}


def test_values_over_lines_have_folders_too(tmp_path: Path) -> None:
    for country in ("DE", "FR"):
        put(tmp_path / f"country={country}" / "x.csv", [country])
    assert labels(tmp_path, csv=CsvForm(newlines_in_values=True)) == {"DE": 1, "FR": 1}


def test_a_file_without_the_column_of_users_is_refused(tmp_path: Path) -> None:
    """Its people would be nobody, and their promise empty."""
    put(tmp_path / "x.parquet", ["a"])
    pq.write_table(pa.table({"user_id": ["b"], "item": ["tea"]}), tmp_path / "y.parquet")
    with pytest.raises(ParameterError, match="user must be a column of every file") as error:
        labels(tmp_path, "item")
    assert "y.parquet" in str(error.value)
    pq.write_table(pa.table({"user": ["b"]}), tmp_path / "y.parquet")
    assert labels(tmp_path, "item") == {"tea": 1}
