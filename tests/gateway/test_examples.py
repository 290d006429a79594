"""The examples of the description are answered by the demonstration."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from dpselect.gateway import demo
from dpselect.gateway.settings.reading import read
from dpselect.gateway.web.openapi import ASKED, EXAMPLES, GRANT
from tests.gateway.described import validator
from tests.gateway.served import running


@pytest.fixture(scope="module")
def tokens() -> dict[str, str]:
    return {}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory, tokens: dict[str, str]) -> Iterator[TestClient]:
    folder: Path = tmp_path_factory.mktemp("demo") / "demo"
    tokens |= demo.make(folder, users=300)
    with running(read(folder / demo.SETTINGS_FILE), folder) as served:
        yield served.http


def test_every_question_is_planned_priced_and_answered(client: TestClient, tokens: dict[str, str]) -> None:
    headers, taken = {"Authorization": f"Bearer {tokens['analyst']}"}, []
    for _, body in ASKED.values():
        for name in ("plan", "price"):
            found = client.post(f"/v1/{name}", json=body, headers=headers)
            assert found.status_code == 200, found.text
            validator(name.title()).validate(found.json())
        taken.append(client.post("/v1/questions", json=body, headers=headers).headers["Location"])
    for where in taken:
        job = client.get(f"{where}?wait=30", headers=headers).json()
        validator("Job").validate(job)
        assert job["state"] == "answered", job
        validator("Release").validate(client.get(job["answer"], headers=headers).json())


def test_a_grant_is_granted(client: TestClient, tokens: dict[str, str]) -> None:
    found = client.post("/v1/grants", json=GRANT[1], headers={"Authorization": f"Bearer {tokens['owner']}"})
    assert found.status_code == 200, found.text
    validator("Granted").validate(found.json())


def test_there_are_no_other_examples() -> None:
    said = [one["value"] for of_name in EXAMPLES.values() for one in of_name.values()]
    assert all(one in [*(body for _, body in ASKED.values()), GRANT[1]] for one in said)
