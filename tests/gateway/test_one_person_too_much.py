"""What one person sends fills neither the memory nor the owner's list."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dpselect.gateway.asked import _RECENT_PLANS
from dpselect.gateway.recent import APIECE, MAX_KEPT, MAX_KEPT_BYTES, PLANNED, ROOM, Recent
from tests.gateway.served import serving

TOP: dict[str, Any] = {"verb": "top_k", "data": "plays", "k": 3, "epsilon": "1/4"}


def test_only_short_questions_are_kept_at_hand(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        long = {**TOP, "exclude": [f"artist {place}" for place in range(MAX_KEPT_BYTES // 8)]}
        first, again = served.ann.ask(long), served.ann.ask(long)
        assert again == first
        assert served.bob.ask(long)["cost"]["repeated"]
        gateway = served.gateway
        assert not gateway._known._kept
        first, again = served.ann.ask(TOP), served.ann.ask(TOP)
        assert again == first
        assert served.bob.ask(TOP)["cost"]["repeated"]
        assert len(gateway._known._kept) == 2


def test_questions_that_wait_for_somebody_to_agree_are_counted(tmp_path: Path) -> None:
    with serving(tmp_path, data="approve = true", server="waiting_each = 3\nwaiting = 3") as served:
        sent = [served.ann.post("/v1/questions", {**TOP, "k": k}) for k in range(1, 5)]
        assert [one.status_code for one in sent] == [202, 202, 202, 429]
        assert served.bob.post("/v1/questions", TOP).status_code == 202  # nobody else is kept waiting
        served.olga.post(f"/v1/questions/{sent[0].json()['id']}/reject", {})
        assert served.ann.post("/v1/questions", {**TOP, "k": 5}).status_code == 202


def test_long_questions_fill_nobody_s_lists(tmp_path: Path) -> None:
    """Before, ten of them made a list of ten megabytes, for everybody who may use the data."""
    with serving(tmp_path) as served:
        for place in range(2):
            served.ann.ask({**TOP, "epsilon": "1/50", "exclude": [f"{place} {item:09}" for item in range(5_000)]})
        for somebody, path in ((served.ann, "/v1/questions"), (served.bob, "/v1/answers")):
            told = somebody.get(path)
            (found,) = told.json().values()
            assert len(told.content) < 5_000
            assert found
            assert all(one["question"]["epsilon"] == "1/50" for one in found)
        whole = served.ann.get(f"/v1/questions/{served.ann.get('/v1/questions').json()['questions'][0]['id']}").json()
        assert len(whole["question"]["exclude"]) == 5_000


def bodies(number: int, epsilon: object, items: int = 900) -> Iterator[dict[str, Any]]:
    """Questions of about 12 kB, each another."""
    for place in range(number):
        yield {**TOP, "epsilon": epsilon, "exclude": [f"{place:04} {item:05}" for item in range(items)]}


def held(one: Recent[Any]) -> int:
    """Characters that are kept, as they are counted."""
    return sum(size for _, size in one._kept.values())


def test_a_question_that_is_refused_is_not_remembered(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        for body in bodies(20, 500):
            assert served.ann.post("/v1/questions", body).status_code == 409
        for body in bodies(20, "1/9"):
            assert served.ann.post("/v1/questions", {**body, "by": ["minutes"]}).status_code == 422
        assert not served.gateway._known._kept
        for _ in range(2):
            assert served.ann.ask(next(bodies(1, "1/9")))["state"] == "answered"
        assert len(served.gateway._known._kept) == 1


def test_what_is_remembered_is_bounded_in_characters(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        for body in bodies(200, 500, 500):
            served.ann.post("/v1/price", body)
        assert ROOM - MAX_KEPT_BYTES <= held(_RECENT_PLANS) <= ROOM


@pytest.mark.parametrize("size", [0, 1, 100, MAX_KEPT_BYTES])
def test_the_last_values_that_fit_are_kept(size: int) -> None:
    recent, fit = Recent[int](), min(MAX_KEPT, ROOM // (APIECE + size))
    for name in range(fit + 20):
        recent.put(name, name, size)
    assert [name for name in range(fit + 20) if recent.get(name) is not None] == [*range(20, fit + 20)]
    assert recent._left == ROOM - held(recent) >= 0
    recent.get(20)
    recent.put("new", 1, size)
    assert (recent.get(20), recent.get(21)) == (20, None)
    for _ in range(3 * fit):
        recent.put("new", 2, size)  # in the place of itself
    assert len(recent._kept) == fit
    recent.put("long", 3, MAX_KEPT_BYTES + 1)
    assert recent.get("long") is None
    assert held(recent) <= ROOM


def test_few_planned_questions_are_kept() -> None:
    recent = Recent[int](PLANNED)
    for name in range(PLANNED + 5):
        recent.put(name, name, 1)
    assert [*recent._kept] == [*range(5, PLANNED + 5)]
