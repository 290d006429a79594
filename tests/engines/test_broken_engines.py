"""Engines that are wrong on purpose: whatever statement is spoilt, a check of the suite notices it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from dpselect._ground.domain import Listed
from dpselect.engines.duckdb import dialect as duckdb_dialect
from dpselect.engines.postgres import dialect
from dpselect.engines.postgres.database import PostgresDatabase
from dpselect.engines.postgres.dialect import POSTGRES
from dpselect.engines.sql import pairs as sql_pairs
from dpselect.engines.sql import questions
from dpselect.engines.sql import values as sql_values
from dpselect.errors import DataError
from tests.engines import test_every_value, test_weights
from tests.engines.every_engine import Hold, judge
from tests.engines.test_every_engine import CROWD, EVEN, check_bound, check_counts, check_domain, check_even, check_key
from tests.engines.test_every_value import EACH, check_rules, check_text
from tests.engines.test_users import check_users
from tests.engines.typed_rows import AWKWARD

pytest.importorskip("psycopg")


@dataclass(frozen=True)
class Twin:
    """What is spoilt, how, and the check that must notice."""

    at: Any
    name: str
    wrong: Any
    check: Callable[[Hold], None]
    noticed: type[Exception] = AssertionError  # the check fails, where the engine does not


def spoilt(at: Any, name: str, old: str, new: str, check: Callable[[Hold], None]) -> Twin:
    """A question whose statement says `new` where it should say `old`."""
    right = getattr(at, name)

    def wrong(*words: Any, **more: Any) -> Any:
        said = right(*words, **more)
        return said.replace(old, new) if isinstance(said, str) else tuple(one.replace(old, new) for one in said)

    return Twin(at, name, wrong, check)


def texts(hold: Hold) -> None:
    check_counts(hold(AWKWARD), AWKWARD, "user", "text")


def everybody(hold: Hold) -> None:
    check_users(hold(AWKWARD))


def bound(hold: Hold) -> None:
    check_bound(hold(CROWD), CROWD)


def weights(hold: Hold) -> None:
    test_weights.check_weights(hold(test_weights.AGAIN))


def users(hold: Hold) -> None:
    test_weights.check_users(hold(test_weights.TABLE))


def values(hold: Hold) -> None:
    check_rules(hold(test_every_value.CROWD), test_every_value.CROWD, "real")


def wide(hold: Hold) -> None:
    test_every_value.check_wide(hold(test_every_value.WIDE))


def keyed(wrong: Callable[[str, str, str], str], check: Callable[[Hold], None]) -> Twin:
    """A bound that is decided by something else."""
    return Twin(PostgresDatabase, "dialect", replace(POSTGRES, keyed_hash=wrong), check)


LOCALE = 'i COLLATE "en-x-icu"'
KEYED = POSTGRES.keyed_hash
TWINS = {
    "rows are counted for users": spoilt(questions, "users_per_item", "count(DISTINCT u)", "count(u)", texts),
    "rows are counted for all users": spoilt(questions, "users_per_item", "count(DISTINCT u)", "count(u)", everybody),
    "a user without items is one": spoilt(questions, "scan_rows", "IS NOT NULL AND", "IS NOT NULL OR", texts),
    "pairs come twice": spoilt(questions, "distinct_pairs", "DISTINCT ", "", bound),
    "pairs come twice to weights": spoilt(questions, "distinct_pairs", "DISTINCT ", "", weights),
    "one item too many": spoilt(questions, "keep_first", "hash_rank <= ", "hash_rank - 1 <= ", bound),
    "one item too few": spoilt(questions, "keep_first", "hash_rank <= ", "hash_rank < ", bound),
    "a tie is cut by a locale": spoilt(questions, "top_items", "n DESC, i", f"n DESC, {LOCALE}", texts),
    "a group is in the order of a locale": spoilt(questions, "ranked_names", "n DESC, i", f"n DESC, {LOCALE}", texts),
    "groups from the least": spoilt(questions, "items_per_count", "DESC", "ASC", texts),
    "items of a domain without a row": spoilt(
        questions,
        "with_unseen_items",
        "LEFT JOIN",
        "JOIN",
        lambda hold: check_domain(hold(AWKWARD), "text", Listed(("x",))),
    ),
    "a domain that others enter": Twin(
        questions, "rows_in_domain", lambda rows, *_: rows, lambda hold: check_bound(hold(CROWD), CROWD)
    ),
    "the key is forgotten": keyed(lambda _, user, item: KEYED("'\\x00'::bytea", user, item), check_key),
    "the user is forgotten": keyed(
        lambda key, _, item: KEYED(key, "'u'::text", item), lambda hold: check_even(hold(EVEN))
    ),
    "the first items are kept": keyed(lambda _key, _user, item: item, lambda hold: check_even(hold(EVEN))),
    "a mean rounded down": spoilt(sql_values, "users_per_grid_index", "+ count(*)", "", values),
    "a place rounded down": spoilt(sql_values, "compile_grid_index", "+ CAST('0.5'", "+ 0 * CAST('0.5'", values),
    "a tenfold that begins too early": spoilt(
        sql_values, "_compile_unbounded_index", "< CAST('5000000.0'", "< CAST('4000000.0'", wide
    ),
    "no side below 0": spoilt(sql_values, "_compile_unbounded_index", "THEN -1 ELSE", "THEN 1 ELSE", wide),
    "what is released stays": Twin(
        sql_pairs,
        "unreleased_pairs",
        lambda pairs, *_: pairs,
        lambda hold: test_weights.check_released(hold(test_weights.TABLE)),
    ),
    "one share too many": spoilt(
        sql_pairs,
        "kept_items",
        "WHERE hash_rank <= ",
        "WHERE hash_rank - 1 <= ",
        lambda hold: test_weights.check_bound_of_weights(hold(test_weights.FORTY)),
    ),
    "shares of all that a user has": spoilt(
        sql_pairs,
        "kept_items",
        "CASE WHEN size < ",
        "CASE WHEN size > ",
        weights,
    ),
    "counts of users without their bound": Twin(
        sql_pairs, "kept_items", lambda pairs, *_: f"(SELECT i, 1 AS t FROM {pairs} AS k)", users
    ),
    "numbers below the least float": Twin(
        dialect,
        "_READ",
        dialect._READ.replace(", 323)", ", 400)"),
        lambda hold: check_text(hold(EACH)),
        DataError,
    ),
    "text that begins as a number": Twin(
        dialect,
        "_READ",
        "substring({} from '^[0-9]{1,9}')::float8",
        lambda hold: check_text(hold(EACH)),
    ),
    "DuckDB's own numbers": Twin(
        duckdb_dialect, "number_form", lambda i, _: f"TRY_CAST({i} AS DOUBLE)", lambda _: check_text(judge(EACH))
    ),
}


@pytest.mark.parametrize("twin", TWINS.values(), ids=list(TWINS))
def test_a_check_notices(elsewhere: Hold, monkeypatch: pytest.MonkeyPatch, twin: Twin) -> None:
    monkeypatch.setattr(twin.at, twin.name, twin.wrong)
    with pytest.raises(twin.noticed):
        twin.check(elsewhere)
