"""The cases that are tried meet every pair, and not the whole product."""

from __future__ import annotations

import itertools

from tests.covering import covering_of
from tests.replay.calls import CALLED, cases
from tests.replay.cells import HARMED, KINDS, line_cells, pairs_of, place_of, value_cells
from tests.replay.odd_lines import LINES
from tests.replay.sorts import PLACES, ROLES
from tests.replay.verbs import VERBS

CELLS = value_cells()


def test_a_few_cases_meet_every_pair():
    cases = list(itertools.product("abc", "pqr", "xyz"))
    chosen = covering_of(cases, lambda case: set(itertools.combinations(case, 2)))
    met = {pair for case in chosen for pair in itertools.combinations(case, 2)}
    assert met == {pair for case in cases for pair in itertools.combinations(case, 2)}
    assert len(chosen) < len(cases) / 2


def test_every_kind_meets_each_of_its_sorts():
    met = {(cell.kind.name, sort) for cell in CELLS for sort in cell.sorts}
    assert met == {(kind.name, sort) for kind in KINDS.values() for sort in kind.sorts}


def test_every_sort_meets_every_role_and_place():
    met = {(sort, role) for cell in CELLS for sort, role in zip(cell.sorts, ROLES, strict=True)}
    places = {(sort, place_of(at, cell.turn)) for cell in CELLS for at, sort in enumerate(cell.sorts)}
    sorts = {sort for kind in KINDS.values() for sort in kind.sorts}
    assert met == set(itertools.product(sorts, ROLES))
    assert places == set(itertools.product(sorts, PLACES))
    assert {(cell.kind.name, cell.turn) for cell in CELLS} == set(itertools.product(KINDS, range(3)))


def test_every_kind_meets_each_question_that_its_columns_allow():
    met = {pair for cell in CELLS for pair in pairs_of(cell.kind, cell.sorts, cell.turn)}
    assert {(kind.name, "filtered") for kind in KINDS.values()} <= met
    assert {(kind.name, one) for kind in KINDS.values() if not kind.like for one in ("paired", "plain")} <= met
    assert {(kind.name, "split") for kind in KINDS.values() if not kind.like and "text" in kind.sorts} <= met


def test_what_once_did_harm_is_tried():
    met = {(cell.kind.name, *one) for cell in CELLS for one in zip(ROLES, cell.sorts, strict=True)}
    assert HARMED.keys() <= met


def test_every_awkward_value_of_a_kind_is_in_a_cell():
    held = {
        (cell.kind.name, odd.name, sort)
        for cell in CELLS
        for sort, odds in zip(cell.sorts, cell.odds, strict=True)
        for odd in odds
    }
    assert held == {
        (kind.name, odd.name, sort) for kind in KINDS.values() for sort in kind.sorts for odd in kind.odd(sort)
    }


def test_every_awkward_line_is_at_each_place():
    for kind in (KINDS["CSV"], KINDS["JSON lines"]):
        met = {(line.name, place) for cell in line_cells(kind) for place, line in cell.lines.items()}
        assert met == {(line.name, place) for line in LINES[str(kind.lines)] for place in PLACES}
    for kind in (KINDS["CSV, gz"], KINDS["JSON lines, gz"]):
        assert {line.name for cell in line_cells(kind) for line in cell.lines.values()} == {
            line.name for line in LINES[str(kind.lines)]
        }


def test_every_verb_and_every_kind_is_in_a_call():
    kinds, verbs = zip(*cases(), strict=True)
    assert set(verbs) == set(VERBS)
    assert set(kinds) == {kind.name for kind in CALLED}
