"""Codes: rows as numbers. A number is a place in a dictionary of distinct values, so no two values share one."""

from __future__ import annotations

from dpselect.engines.duckdb.keys import Key
from dpselect.engines.duckdb.preparing.starts import keep_starts, times_of
from dpselect.engines.duckdb.preparing.work import Work, stored_form, stored_type
from dpselect.engines.duckdb.scans import Scan
from dpselect.engines.duckdb.workspace import quoted
from dpselect.engines.prepared.state import CODES
from dpselect.errors import DataError


def stage(work: Work, scan: Scan) -> int:
    """Keep the rows that have a user, read once; how many there are. An item or a kept value may be missing."""
    rules = work.rules
    present = Key(tuple(map(quoted, rules.user)), tuple(rules.types[name] for name in rules.user)).present
    forms = [f"{stored_form(name, rules.types[name])} AS {work.staged(name)}" for name in rules.stored]
    forms += [] if rules.time is None else [f"{times_of(rules).moment} AS t"]

    def select(source: str) -> str:
        return f"SELECT {', '.join(forms)} FROM {source} WHERE {present}"

    with scan.rows(work.workspace, rules.names, select) as source:
        work.rows(f"CREATE TEMP TABLE staged AS FROM {source}")
    return work.number("SELECT count(*) FROM staged")


def keep_dictionaries(work: Work) -> None:
    """Every value has its number: those from before keep theirs, new ones follow in their own order."""
    for name, columns in work.dictionaries.items():
        values = [f"v{at}" for at in range(len(columns))]
        listed = ", ".join(values)
        staged = (f"{work.staged(column)} AS {value}" for column, value in zip(columns, values, strict=True))
        new = f"SELECT DISTINCT {', '.join(staged)} FROM staged"
        work.rows(f"CREATE TEMP TABLE {name} AS SELECT 0::BIGINT AS code, {listed} FROM ({new}) LIMIT 0")
        if old := work.old(name):
            known = ", ".join([CODES[name], *work.back("v", columns)])
            work.rows(f"INSERT INTO {name} SELECT {known} FROM {work.files(old)}")
            same = " AND ".join(f"n.{one} IS NOT DISTINCT FROM o.{one}" for one in values)
            new = f"SELECT n.* FROM ({new}) AS n ANTI JOIN {name} AS o ON {same}"
        work.firsts[name] = first = work.number(f"SELECT coalesce(max(code) + 1, 0) FROM {name}")
        place = f"row_number() OVER (ORDER BY {listed}) - 1 + {first}"
        work.rows(f"INSERT INTO {name} SELECT {place}, {listed} FROM ({new})")
    nameable = Key(
        tuple(f"v{at}" for at in range(len(work.rules.item))),
        tuple(stored_type(work.rules.types[one]) for one in work.rules.item),
    ).nameable
    work.rows("ALTER TABLE items ADD COLUMN k BOOLEAN")  # can it be an item that comes back?
    work.rows(f"UPDATE items SET k = ({nameable})")


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
