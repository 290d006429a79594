"""Data that were taken away from somebody are gone from their list of questions too."""

from __future__ import annotations

from pathlib import Path

from tests.gateway.served import serving


def test_questions_about_data_that_are_closed_now_are_not_listed(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        job = served.ann.ask({"verb": "top_k", "data": "plays", "k": 2, "epsilon": "1/5"})
        assert [one["id"] for one in served.ann.get("/v1/questions").json()["questions"]] == [job["id"]]
        people = dict(served.gateway.settings.people)
        people["ann"] = people["ann"].model_copy(update={"data": ("other",)})
        served.gateway.people.replace(people)
        assert served.ann.get(f"/v1/questions/{job['id']}").status_code == 404
        assert served.ann.get("/v1/questions").json()["questions"] == []
        assert served.ann.get(job["answer"]).status_code == 404
