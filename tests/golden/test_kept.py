"""The comparisons with golden files refuse what would break somebody, and let additions pass."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from tests.golden.kept import lost, unserved, untaken, withdrawn

SET = Path(__file__).parent / "v0.2"
NAMES, COMMAND, HTTP = (json.loads((SET / f"{name}.json").read_text("utf-8")) for name in ("names", "command", "http"))


def at(what: Any, path: str) -> Any:
    for part in path.split("/"):
        what = what[int(part) if isinstance(what, list) else part]
    return what


def test_a_release_may_gain_and_not_lose() -> None:
    kept = json.loads((SET / "releases" / "top_k.json").read_text("utf-8"))
    assert lost(kept, {**kept, "new": 1}) == []
    assert lost(kept, {name: one for name, one in kept.items() if name != "secure"}) == ["/secure is gone"]
    for path, other in {"items/0/low": 0, "privacy/epsilon": 41, "items": [], "exact": None, "complete": 1}.items():
        changed = copy.deepcopy(kept)
        above, _, last = path.rpartition("/")
        where = at(changed, above) if above else changed
        where[last] = other
        assert lost(kept, changed)[0].startswith(f"/{path} was "), path


TOP_K = "Dataset/members/top_k/parameters"


@pytest.mark.parametrize(
    ("path", "change", "said"),
    [
        ("Dataset", None, "Dataset was a class, is gone"),
        ("choose", {"kind": "class"}, "choose was a function, is a class"),
        ("Dataset/members/union", None, "Dataset.union was a method, is gone"),
        (f"{TOP_K}/0", {"name": "count"}, "Dataset.top_k: parameter k is gone"),
        (f"{TOP_K}/0", {"kind": "KEYWORD_ONLY"}, "Dataset.top_k: parameter k was POSITIONAL_OR_KEYWORD"),
        (f"{TOP_K}/0", {"default": "11"}, "Dataset.top_k: the default of k was 10, is 11"),
        ("DataError/above", ["ValueError"], "DataError: it is no DpselectError any more"),
        ("Neighbors/members/ADD_REMOVE", {"is": "other"}, "Neighbors.ADD_REMOVE was"),
        ("Release/members/items", None, "Release.items was a field, is gone"),
    ],
)
def test_a_name_that_can_no_longer_be_used_is_named(path: str, change: Any, said: str) -> None:
    found = copy.deepcopy(NAMES)
    above, _, last = path.rpartition("/")
    where = at(found, above) if above else found
    if change is None:
        del where[last]
    elif isinstance(change, dict):
        where[int(last) if isinstance(where, list) else last].update(change)
    else:
        where[last] = change
    assert withdrawn(NAMES, found)[0].startswith(said)


def test_parameters_that_are_added_have_a_default_and_stand_behind() -> None:
    found = copy.deepcopy(NAMES)
    at(found, TOP_K).append({"name": "new", "kind": "KEYWORD_ONLY", "default": "None"})
    found["brand_new"] = {"kind": "function", "parameters": []}
    assert withdrawn(NAMES, found) == []
    at(found, TOP_K)[-1].pop("default")
    assert withdrawn(NAMES, found) == ["Dataset.top_k: parameter new is new and has no default"]
    at(found, TOP_K).insert(0, {"name": "first", "kind": "POSITIONAL_OR_KEYWORD", "default": "None"})
    assert "Dataset.top_k: the order of k has changed" in withdrawn(NAMES, found)


def test_options_of_the_command() -> None:
    found = copy.deepcopy(COMMAND)
    assert untaken(COMMAND, found) == []
    del found["top"]["takes"]["--epsilon"], found["demo"]
    found["choose"]["takes"]["--quiet"]["required"] = True
    found["union"]["takes"]["--format"]["choices"].remove("csv")
    found["ledger"]["actions"]["grant"]["takes"]["--new"] = {"spelled": ["--new"], "choices": [], "required": True}
    assert sorted(untaken(COMMAND, found)) == [
        "dpselect choose --quiet must be given now",
        "dpselect demo is gone",
        "dpselect ledger grant --new is new and must be given",
        "dpselect top --epsilon is gone",
        "dpselect union --format: choices csv is gone",
    ]


def test_http() -> None:
    found = copy.deepcopy(HTTP)
    assert unserved(HTTP, found) == []
    del found["operations"]["GET /v1/me"]
    found["operations"]["GET /v1/questions/{id}"]["parameters"] = {"query new": True}
    found["schemas"]["Release"]["properties"].remove("items")
    found["problems"]["budget"] = 400
    said = "; ".join(unserved(HTTP, found))
    for part in ("problem budget was", "GET /v1/me is gone", "query new must be given now", "schema Release: items is"):
        assert part in said
