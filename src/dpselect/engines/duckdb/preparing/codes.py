"""Codes: rows as numbers, no two values with the same. That of a user is drawn, others are places in a dictionary."""

from __future__ import annotations

import numpy as np

from dpselect.engines.duckdb.keys import DuckDBKey
from dpselect.engines.duckdb.preparing.starts import keep_starts, times_of
from dpselect.engines.duckdb.preparing.work import Work, stored_form, stored_type
from dpselect.engines.duckdb.scans import Scan
from dpselect.engines.duckdb.workspace import quoted
from dpselect.engines.prepared.state import CODES
from dpselect.engines.prepared.users import numbers_of
from dpselect.errors import DataError


def stage(work: Work, scan: Scan) -> int:
    """Keep the rows that have a user, read once; how many there are. An item or a kept value may be missing."""
    rules = work.rules
    present = DuckDBKey(tuple(map(quoted, rules.user)), tuple(rules.types[name] for name in rules.user)).present
    forms = [f"{stored_form(name, rules.types[name])} AS {work.staged(name)}" for name in rules.stored]
    forms += [] if rules.time is None else [f"{times_of(rules).moment} AS t"]

    def select(source: str) -> str:
        return f"SELECT {', '.join(forms)} FROM {source} WHERE {present}"

    with scan.rows(work.workspace, rules.names, select) as source:
        work.rows(f"CREATE TEMP TABLE staged AS FROM {source}")
    return work.number("SELECT count(*) FROM staged")


def keep_dictionaries(work: Work) -> None:
    """Every value has its number, also `fresh` ones: those from before keep theirs."""
    for name, columns in work.dictionaries.items():
        values = [f"v{at}" for at in range(len(columns))]
        listed = ", ".join(values)
        staged = (f"{work.staged(column)} AS {value}" for column, value in zip(columns, values, strict=True))
        new = f"SELECT DISTINCT {', '.join(staged)} FROM staged"
        work.rows(f"CREATE TEMP TABLE {name} AS SELECT 0::BIGINT AS code, {listed}, true AS fresh FROM ({new}) LIMIT 0")
        if old := work.old(name):
            known = ", ".join([CODES[name], *work.back("v", columns)])
            work.rows(f"INSERT INTO {name} SELECT {known}, false FROM {work.files(old)}")
            same = " AND ".join(f"n.{one} IS NOT DISTINCT FROM o.{one}" for one in values)
            new = f"SELECT n.* FROM ({new}) AS n ANTI JOIN {name} AS o ON {same}"
        placed = f"SELECT row_number() OVER (ORDER BY {listed}) - 1 AS place, {listed} FROM ({new})"
        if name == "users":
            _keep_drawn(work, placed, listed)
        else:
            code = f"place + (SELECT coalesce(max(code) + 1, 0) FROM {name})"
            work.rows(f"INSERT INTO {name} SELECT {code}, {listed}, true FROM ({placed})")
    nameable = DuckDBKey(
        tuple(f"v{at}" for at in range(len(work.rules.item))),
        tuple(stored_type(work.rules.types[one]) for one in work.rules.item),
    ).nameable
    work.rows("ALTER TABLE items ADD COLUMN k BOOLEAN")  # can it be an item that comes back?
    work.rows(f"UPDATE items SET k = ({nameable})")


def _keep_drawn(work: Work, placed: str, listed: str) -> None:
    """Keep new users by numbers that are drawn."""
    work.rows(f"CREATE TEMP TABLE new_users AS {placed}")
    taken = work.workspace.columns("SELECT code FROM users")["code"].astype(np.int64)
    number = work.number("SELECT count(*) FROM new_users")
    drawn = {"place": np.arange(number), "number": numbers_of(number, taken)}
    with work.workspace.registered(drawn) as given:
        work.rows(f"INSERT INTO users SELECT number, {listed}, true FROM new_users JOIN {given} USING (place)")
    work.rows("DROP TABLE new_users")


def keep_coded(work: Work, staged: int) -> None:
    """Distinct combinations of codes, weights and periods, and how often each is there."""
    rules, source = work.rules, "staged"
    columns = [f"{name}.code AS {CODES[name]}" for name in work.dictionaries]
    columns += [] if rules.keep else ["0::BIGINT AS c"]
    columns += [f"staged.{work.staged(column)} AS w{at}" for at, column in enumerate(rules.weight)]
    columns += ["NULL::DATE AS p" if rules.time is None else "starts.p"]
    if rules.time is not None:
        keep_starts(work)
        source += " ASOF LEFT JOIN starts ON staged.t >= starts.start"
    for name, values in work.dictionaries.items():
        same = (f"staged.{work.staged(value)} IS NOT DISTINCT FROM {name}.v{at}" for at, value in enumerate(values))
        source += f" JOIN {name} ON {' AND '.join(same)}"
    work.rows(f"CREATE TEMP TABLE coded AS SELECT {', '.join(columns)}, count(*) AS n FROM {source} GROUP BY ALL")
    if work.number("SELECT coalesce(sum(n), 0) FROM coded") != staged:
        raise DataError("the source's values cannot be told apart", "cast its columns to text or to numbers")
    work.rows("DROP TABLE staged")
