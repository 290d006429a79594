"""Users' sets of items: every type and shape, judged by Python sets and by the engine's own counts."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpselect.aggregates.user_sets import UserSets
from dpselect.aggregates.value_counts import Grid
from dpselect.engines import memory
from dpselect.engines.duckdb.workspace import Workspace, run_in_little_memory
from dpselect.engines.port import PerUser
from dpselect.errors import DataError, ParameterError
from tests.engines.opened import DuckDBEngine
from tests.engines.test_conformance import named, pairs
from tests.engines.typed_rows import items_of_users


def sets_of(source: object, **more: object) -> list[list[object]]:
    """Every user's items; that they are sets in good order, and agree with the counts, is checked on the way."""
    with DuckDBEngine(source, user="user", item="item", key=b"k", **more) as engine:
        sets = engine.contributions()
        found = named(sets)
        counted = dict(zip(sets.labels(range(sets.size)), np.bincount(sets.codes, minlength=sets.size), strict=True))
        assert {label: n for label, n in counted.items() if n} == dict(
            pairs(engine.grouped())
        )  # a code may be nobody's
    assert (sets.offsets.dtype, sets.codes.dtype) == (np.int64, np.int64)
    assert all(sorted(set(part)) == list(part) for part in np.split(sets.codes, sets.offsets[1:-1]))
    assert (np.diff(sets.offsets) > 0).all()
    return found


def relation(user: str, rows: int = 4) -> duckdb.DuckDBPyRelation:
    return duckdb.connect().sql(f"SELECT {user} AS user, 'item ' || (i % 3) AS item FROM range({rows}) t(i)")


# ---- users ------------------------------------------------------------------------------------------------

USERS: dict[str, str] = {
    "integers": "i // 2",
    "negative integers": "i // 2 - 1",
    "tiny integers, end to end": "(CASE WHEN i < 2 THEN -128 ELSE 127 END)::TINYINT",
    "unsigned": "(i // 2)::UTINYINT",
    "integers far apart": "CASE WHEN i < 2 THEN -9223372036854775808 ELSE 9223372036854775807 END",
    "as near as goes without a dictionary": "CASE WHEN i < 2 THEN 5 ELSE 5 + 2147483647::BIGINT END",
    "one further": "CASE WHEN i < 2 THEN 5 ELSE 5 + 2147483648::BIGINT END",
    "unsigned, the largest": "CASE WHEN i < 2 THEN 0 ELSE 18446744073709551615 END::UBIGINT",
    "huge": "CASE WHEN i < 2 THEN -1 ELSE 170141183460469231731687303715884105727 END::HUGEINT",
    "huge and unsigned": "(i // 2)::UHUGEINT",
    "big numbers": "(i // 2)::BIGNUM",
    "text": "'user ' || (i // 2)",
    "text in two cases": "CASE WHEN i < 2 THEN 'U' ELSE 'u' END",
    "text and the same with a space": "CASE WHEN i < 2 THEN 'u' ELSE 'u ' END",
    "one letter written in two ways": "CASE WHEN i < 2 THEN chr(233) ELSE 'e' || chr(769) END",
    "a text of nothing": "CASE WHEN i < 2 THEN '' ELSE 'u' END",
    "uuid": "('00000000-0000-0000-0000-00000000000' || (i // 2))::UUID",
    "decimals": "(i // 2)::DECIMAL(30, 2)",
    "floats, whose zero has two signs": "CASE i WHEN 0 THEN 0.0 WHEN 1 THEN -0.0 ELSE 1.5 END::DOUBLE",
    "small floats": "(i // 2)::FLOAT",
    "booleans": "i < 2",
    "bytes": "(i // 2)::VARCHAR::BLOB",
    "dates": "DATE '2024-01-01' + (i // 2)::INT",
    "the ends of time": "CASE WHEN i < 2 THEN 'infinity' ELSE '-infinity' END::TIMESTAMP",
    "moments of a zone": "TIMESTAMPTZ '2024-01-01 00:00:00+09' + to_days((i // 2)::INT)",
    "intervals that are equal": "CASE i WHEN 0 THEN INTERVAL 1 MONTH WHEN 1 THEN INTERVAL 30 DAY ELSE to_days(0) END",
    "enumerated": "(i // 2)::VARCHAR::ENUM('1', '0')",
}  # fmt: skip


@pytest.mark.parametrize("user", USERS.values(), ids=list(USERS))
def test_users_of_any_type(user):
    assert sorted(sets_of(relation(user))) == [["item 0", "item 1"], ["item 0", "item 2"]]


@pytest.mark.parametrize("user", ["[i // 2, NULL]", "{'x': i // 2, 'y': NULL}", "MAP {'x': i // 2}", "[i, 1]::INT[2]"])
def test_users_are_no_lists_or_records(user):
    """A text in one may be of any length."""
    with pytest.raises(DataError, match="cannot say who a user is"):
        sets_of(relation(user))


def test_users_come_in_their_own_order():
    values = [7, -3, 2**40, 0]
    rows = {"user": np.array(values), "item": [str(value) for value in values]}
    assert sets_of(rows) == [["-3"], ["0"], ["7"], [str(2**40)]]
    texts = {"user": rows["item"], "item": rows["item"]}
    assert sets_of(texts) == [["-3"], ["0"], [str(2**40)], ["7"]]


# ---- shapes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spread", [1, 2**33], ids=["near", "far"])
@pytest.mark.parametrize("write", [str, int], ids=["text", "numbers"])
def test_many_rows_over_several_files(spread, write, tmp_path):
    random = np.random.default_rng(7)
    users = [write(user) for user in random.integers(-500, 500, 20_000) * spread]
    items = [write(item) for item in np.minimum(random.pareto(1, 20_000) * 10, 200).astype(np.int64)]
    for number in range(4):  # every user stands in each of them
        columns = {"user": users[number::4], "item": items[number::4]}
        pl.DataFrame(columns if number % 2 else dict(reversed(columns.items()))).write_parquet(
            tmp_path / f"{number}.parquet"
        )
    assert sets_of(tmp_path) == items_of_users(pa.table({"user": users, "item": items}), "user", "item")


@pytest.mark.parametrize("kind", ["TINYINT", "UINTEGER", "BIGINT", "HUGEINT"])
@pytest.mark.parametrize("span", [8, 9])
def test_whole_numbers_that_fill_their_range_are_codes_as_they_are(kind, span):
    """Of 64 rows up to 8 different numbers, one of which nobody has; further apart they have a dictionary."""
    least = 0 if kind == "UINTEGER" else -3
    numbers = [0, *range(2, 7), span - 1]
    items = ", ".join(f"({number + least})" for number in numbers)
    sql = f"SELECT i % 5 AS user, x::{kind} AS item FROM range(10) r(i), (VALUES {items}) v(x) LIMIT 64"
    rows = duckdb.sql(sql).fetchall()
    with DuckDBEngine(duckdb.sql(sql), user="user", item="item", key=b"k") as engine:
        sets = engine.contributions()
        own_codes = kind != "HUGEINT" and span == 8
        assert sets.size == (8 if own_codes else len(numbers))
        table = pa.table(dict(zip(("user", "item"), map(list, zip(*rows, strict=True)), strict=True)))
        assert named(sets) == items_of_users(table, "user", "item")
        assert all(type(label) is int for label in sets.labels(sets.codes))


@pytest.mark.parametrize("least", [-(2**63), -(2**40), 2**40, 2**63 - 3])
def test_whole_numbers_far_from_0_are_codes_as_they_are_whoever_else_is_there(least):
    """A code is small, however large the number is, and so its pair fits beside the largest code of a user."""
    users = [*range(40), 2**31 - 2]
    rows = {"user": np.array(users), "item": np.array([least + user % 3 for user in users])}
    assert sets_of(rows) == [[least + user % 3] for user in users]


def test_groups_that_are_codes_as_they_are_can_be_asked_for():
    groups = np.arange(40) % 2 * 2 + 7
    rows = {"user": np.arange(40), "group": groups.astype(np.int16), "item": groups // 2}
    with DuckDBEngine(rows, user="user", item="item", by=("group",), key=b"k") as engine:
        sets = engine.group_sets()
        assert (sets.size, sets.labels([2, 0])) == (3, [9, 7])
        found = engine.users_at_by(Grid.parse((0, 10), 1), PerUser.MIN, 1, engine.keep_groups(np.array([0, 2])))
    users = [dict(zip(one.indices.tolist(), one.users.tolist(), strict=True)) for one in found.users]
    assert dict(zip(found.groups, users, strict=True)) == {7: {3: 20}, 9: {4: 20}}


def test_one_user_with_very_many_items():
    rows = pa.table({"user": pa.array(["all"] * 10**5 + ["one"]), "item": pa.array([*range(10**5), 17])})
    with DuckDBEngine(rows, user="user", item="item", key=b"k") as engine:
        sets = engine.contributions()
        assert sets.offsets.tolist() == [0, 10**5, 10**5 + 1]
        assert np.array_equal(sets.codes[:-1], np.arange(10**5))
        assert sets.labels([sets.codes[-1], 5, 5]) == [17, 5, 5]


# ---- labels -----------------------------------------------------------------------------------------------


def test_labels_come_in_the_order_that_is_asked_for():
    with DuckDBEngine({"user": [1, 1, 2], "item": ["b", "c", "a"]}, user="user", item="item", key=b"k") as engine:
        sets = engine.contributions()
        assert sets.labels(np.array([2, 0, 1, 0])) == ["c", "a", "b", "a"]
        assert [sets.label(code) for code in (1, 2)] == ["b", "c"]
        for code in (-1, 3):
            with pytest.raises(IndexError, match="no item with such a code"):
                sets.label(code)
    with pytest.raises(DataError):
        sets.label(0)


def test_labels_of_sets_given_by_hand():
    sets = UserSets.from_sets([["b", "a", "b"], [], ["c", "a"]])
    assert (sets.offsets.tolist(), sets.codes.tolist(), sets.users) == ([0, 2, 2, 4], [0, 1, 2, 1], 3)
    assert sets.labels([2, 0]) == ["c", "b"]
    assert sets.labels([]) == []


def test_nothing_but_numbers_and_released_labels_leaves(monkeypatch):
    leaving: list[int] = []
    inner = Workspace.fetch_unguarded

    def rows(self, sql, values=()):
        found = inner(self, sql, values)
        leaving.append(len(found))
        return found

    monkeypatch.setattr(Workspace, "fetch_unguarded", rows)
    users = [f"u{n}" for n in range(500)]
    with DuckDBEngine({"user": users, "item": users}, user="user", item="item", key=b"k") as engine:
        leaving.clear()
        sets = engine.contributions()
        assert max(leaving) <= 1
        leaving.clear()
        sets.labels(range(7))
        assert leaving == [7]
        assert repr(sets) == "UserSets(private)"


def test_only_the_dictionary_of_items_stays():
    rows = {"user": ["secret user"], "item": ["a"]}
    with DuckDBEngine(rows, user="user", item="item", key=b"k") as engine:
        engine.contributions()
        tables = engine._database.workspace.fetch(
            "SELECT table_name, column_count FROM duckdb_tables() WHERE table_name ~ '_'"
        )
        kept = [name for name, _ in tables if engine._database.workspace.fetch(f"FROM {name}") == [("a", 0)]]
        held = [name for name, _ in tables if "secret user" in str(engine._database.workspace.fetch(f"FROM {name}"))]
        assert (len(kept), held) == (1, [])


# ---- memory -----------------------------------------------------------------------------------------------


def test_what_the_engine_cannot_even_spill_is_refused(monkeypatch, tmp_path):
    rows = pa.table({"user": [1] * 100, "item": [f"secret {n}" for n in range(100)]})
    pq.write_table(rows, tmp_path / "rows.parquet")
    monkeypatch.setenv(memory.MEMORY_VARIABLE, "5kB")
    for source in (rows, tmp_path / "rows.parquet", duckdb.connect().from_arrow(rows)):
        with DuckDBEngine(source, user="user", item="item", key=b"k") as engine:
            with pytest.raises(DataError) as caught:
                engine.contributions()
            assert "secret" not in str(caught.value)


def test_the_engine_keeps_to_three_quarters_of_what_the_user_allows(monkeypatch):
    def limit(workspace):
        return workspace.fetch("SELECT current_setting('memory_limit')")[0][0]

    monkeypatch.delenv(memory.MEMORY_VARIABLE, raising=False)
    with closing(Workspace()) as workspace:
        usual = limit(workspace)
    for allowed, shown in (("4GiB", "3.0 GiB"), ("1000 MB", "750.0 MiB"), ("5kB", "128.0 MiB"), (None, usual)):
        if allowed is None:
            monkeypatch.delenv(memory.MEMORY_VARIABLE)
        else:
            monkeypatch.setenv(memory.MEMORY_VARIABLE, allowed)
        with closing(Workspace()) as workspace:
            assert limit(workspace) == shown
            if allowed != "5kB":  # in which not even this can be asked
                less = run_in_little_memory(workspace, lambda opened=workspace: limit(opened))
                assert less == ("750.0 MiB" if allowed == "1000 MB" else "1.0 GiB")
            assert limit(workspace) == shown


@pytest.mark.parametrize(("gib", "said"), [(0.1, 1), (1, 1), (1.01, 2), (2, 2), (2.5, 4), (100, 128)], ids=str)
def test_the_need_is_a_power_of_two(gib, said):
    assert str(memory.does_not_fit(int(gib * 2**30))).startswith(f"these rows need about {said} GiB")


SIZES = {"4GiB": 2**32, "500 MB": 500 * 2**20, "3k": 3072, "1tb": 2**40, "77": 77}


@pytest.mark.parametrize(("text", "size"), SIZES.items(), ids=list(SIZES))
def test_memory_as_the_user_says(monkeypatch, text, size):
    monkeypatch.setenv(memory.MEMORY_VARIABLE, text)
    assert memory.available_bytes() == size


@pytest.mark.parametrize("text", ["", "much", "-1GB", "0", "1.5GB", "1PB"])
def test_memory_must_be_a_size(monkeypatch, text):
    monkeypatch.setenv(memory.MEMORY_VARIABLE, text)
    with pytest.raises(ParameterError, match=r"^DPSELECT_MEMORY must be a size such as 4GiB or 500MB, got"):
        sets_of({"user": [1], "item": ["a"]})


def test_memory_as_the_system_says(monkeypatch, tmp_path):
    monkeypatch.delenv(memory.MEMORY_VARIABLE, raising=False)
    for name in ("_CGROUPS", "_OWN_CGROUP", "_MEMINFO"):
        monkeypatch.setattr(memory, name, tmp_path / name)
    whole = memory.available_bytes()
    assert whole is None or whole > 2**26
    write(tmp_path / "_MEMINFO", "MemTotal: 9999 kB\nMemAvailable:   30000 kB\n")
    assert memory.available_bytes() == 30000 * 1024
    write(tmp_path / "_CGROUPS" / "memory.max", "max\n")
    assert memory.available_bytes() == 30000 * 1024
    write(tmp_path / "_OWN_CGROUP", "9:memory:/jobs/one\n0::/box\n")
    write(tmp_path / "_CGROUPS" / "memory" / "jobs" / "one" / "memory.limit_in_bytes", "20000000\n")
    assert memory.available_bytes() == 20_000_000
    write(tmp_path / "_CGROUPS" / "box" / "memory.max", "10000000\n")
    assert memory.available_bytes() == 10_000_000


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
