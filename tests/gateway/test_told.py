"""What an analyst is told where the fault is not theirs: one text, whatever is missing, in every form of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpselect.errors import DataError, ParameterError, SourceError, naming_parameter
from dpselect.gateway import problems
from dpselect.gateway.problems import FAILED, problem_of_error
from tests.gateway.served import Served, rows, serving

TOP: dict[str, Any] = {"verb": "top_k", "data": "plays", "item": "artist", "k": 3, "epsilon": "1/8", "delta": "1e-9"}
NOT_OPENED = ("patient_ssn", "salary_usd", "hiv_status", "zz_moved", "plays.parquet", "neighbours.parquet", "sqlite")
QUESTIONS = {
    "artist": TOP,
    "country": {**TOP, "by": ["country"]},
    "minutes": {**TOP, "where": "minutes > 3"},
    "user": {**TOP, "by_weight": "minutes"},
}


def rewritten(folder: Path, without: str | None) -> None:
    """The source as it is one day: a declared column has another name, or all is away; and columns nobody opened."""
    found = rows()
    found |= dict.fromkeys(NOT_OPENED[:3], found["user"])
    pq.write_table(pa.table(found), folder / "neighbours.parquet")
    (folder / "plays.parquet").unlink()
    if without is not None:
        found["zz_moved"] = found.pop(without)
        pq.write_table(pa.table(found), folder / "written")
        (folder / "written").rename(folder / "plays.parquet")


def everywhere(served: Served, body: dict[str, Any]) -> list[str]:
    """All that somebody is told of a question: in JSON, on pages; and what the last of it is."""
    job = served.ann.ask({**body, "fresh": True})
    assert (job["state"], job["cost"]["share"]) == ("failed", 0)
    assert job["problem"]["detail"] == FAILED
    paths = (f"/v1/questions/{job['id']}", f"/questions/{job['id']}", "/history")
    found = [served.ann.get(path).text for path in paths]
    found += [served.ann.post(path, body).text for path in ("/v1/price", "/v1/plan")]
    return [*found, served.ann.get("/ask?data=plays&price=epsilon&epsilon=0.2").text]


@pytest.mark.parametrize("gone", [*QUESTIONS, None])
def test_what_is_missing_in_a_source_has_one_text(gone: str | None, tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        rewritten(tmp_path, gone)
        for tries in range(4):
            body = {**QUESTIONS[gone or "artist"], "k": 3 + tries}
            for told in everywhere(served, body):
                assert not [word for word in (*NOT_OPENED, str(tmp_path)) if word in told], told
        assert ("DataError" if gone is None else "SourceError") in served.log.getvalue()
        assert gone is None or "salary_usd" in served.log.getvalue()  # the owner reads why


def test_without_the_class_an_analyst_reads_columns_that_nobody_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(problems, "SourceError", LookupError)
    with serving(tmp_path) as served:
        rewritten(tmp_path, "artist")
        assert "salary_usd" in str(served.ann.ask(TOP)["problem"])


@pytest.mark.parametrize("where", ["patient > 3", "zz_moved = 'x'", "Salary_usd IS NULL", "minutes.x = 1"])
def test_a_filter_hints_at_opened_columns_only(where: str, tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        rewritten(tmp_path, "country")
        for path in ("/v1/price", "/v1/plan", "/v1/questions"):
            told = served.ann.post(path, {**TOP, "where": where})
            assert told.status_code == 422
            assert not [word for word in NOT_OPENED[:3] if word in told.text]


def test_a_text_in_double_quotes_gets_a_hint(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        for path in ("/v1/price", "/v1/plan", "/v1/questions"):
            told = served.ann.post(path, {**TOP, "where": 'country = "Japan"'})
            assert told.status_code == 422
            assert "double quotes name a column, a text is in single quotes: 'Japan'" in told.text


def test_what_is_wrong_in_the_asker_s_words_is_told(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        job = served.ann.ask({**TOP, "where": "minutes = 'long'"})
        assert job["state"] == "refused"
        assert job["problem"]["parameter"] == "where"


def test_the_text_goes_by_the_class_of_an_error() -> None:
    said = ("item", "be a column of the source", "'artist'", "there is patient_ssn")
    told = problem_of_error(SourceError(*said))
    assert told == problem_of_error(DataError("a file")) == problem_of_error(OSError("/private/plays.parquet"))
    assert (told["detail"], told["title"]) == (FAILED, "Something unexpected happened")
    with pytest.raises(SourceError), naming_parameter("groups"):
        raise SourceError("domain", *said[1:])
    assert "patient_ssn" in str(problem_of_error(ParameterError(*said)))  # as an engine's error was told before
