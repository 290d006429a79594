"""What one person sends fills neither the memory nor the owner's list."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dpselect.gateway.gateway import SHORT
from tests.gateway.served import serving

TOP: dict[str, Any] = {"verb": "top_k", "data": "plays", "k": 3, "epsilon": "1/4"}


def test_only_short_questions_are_kept_at_hand(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        long = {**TOP, "exclude": [f"artist {place}" for place in range(SHORT // 8)]}
        first, again = served.ann.ask(long), served.ann.ask(long)
        assert again == first
        assert served.bob.ask(long)["cost"]["repeated"]
        gateway = served.gateway
        kept = (gateway._intake._asked, gateway._intake._ended, gateway._intake._places)
        assert [len(one._kept) for one in kept] == [0, 0, 0]
        first, again = served.ann.ask(TOP), served.ann.ask(TOP)
        assert again == first
        assert served.bob.ask(TOP)["cost"]["repeated"]
        assert all(one._kept for one in kept)


def test_questions_that_wait_for_somebody_to_agree_are_counted(tmp_path: Path) -> None:
    with serving(tmp_path, data="approve = true", server="waiting_each = 3\nwaiting = 3") as served:
        sent = [served.ann.post("/v1/questions", {**TOP, "k": k}) for k in range(1, 5)]
        assert [one.status_code for one in sent] == [202, 202, 202, 429]
        assert served.bob.post("/v1/questions", TOP).status_code == 202  # nobody else is kept waiting
        served.olga.post(f"/v1/questions/{sent[0].json()['id']}/reject", {})
        assert served.ann.post("/v1/questions", {**TOP, "k": 5}).status_code == 202
