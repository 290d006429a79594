"""The examples on the pages work as they stand: Python through the client, curl through curl, against a server."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.conftest import ROOT
from tests.gateway.as_browser import Browser
from tests.gateway.processes import Demonstration, demonstration

WHERE = "column=country&comparison=is&value=Germany&column=country&comparison=is&value=Japan"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demonstration]:
    with demonstration(tmp_path_factory.mktemp("examples") / "demo") as found:
        yield found


@pytest.fixture(scope="module")
def analyst(served: Demonstration) -> Iterator[Browser]:
    with httpx2.Client(base_url=served.url) as client:
        yield Browser(client, served.url).sign_in(served.tokens["analyst"])


def example(browser: Browser, number: str) -> str:
    """The text that is folded under this id."""
    return "".join("".join(one.itertext()) for one in browser.one(number).iter("code"))


def run(words: list[str], served: Demonstration, script: str = "") -> str:
    """What a program prints that has the token in its environment."""
    known = {**os.environ, "DPSELECT_TOKEN": served.tokens["analyst"]}
    done = subprocess.run(words, input=script, env=known, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("query", "shows"),
    [
        (f"verb=histogram&item=country&{WHERE}&share=5", "Iceland"),
        (f"verb=users&{WHERE}&share=5", "count"),
        ("verb=quantile&q=1/10, 9/10&item=minutes&share=5", "0.9"),
    ],
)
def test_python_asks_the_same_question(served: Demonstration, analyst: Browser, query: str, shows: str) -> None:
    script = example(analyst.get(f"/ask?{query}"), "python")
    assert shows in run([sys.executable, "-"], served, script)
    assert "nothing: its answer is stored" in analyst.get(f"/ask?{query}").said  # so it was this question
    analyst.submit("asking")
    again = example(analyst, "python-answer")
    assert shows in run([sys.executable, "-"], served, again)


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
def test_curl_asks_the_same_question(served: Demonstration, analyst: Browser, tmp_path: Path) -> None:
    query = f"verb=choose&item=country&{WHERE}&share=3"
    script = tmp_path / "ask.sh"
    script.write_text(example(analyst.get(f"/ask?{query}"), "curl"))
    assert '"question"' in run(["sh", str(script)], served)
    analyst.get(f"/ask?{query}").submit("asking")
    assert "The country with most users" in analyst.said


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
def test_the_lines_of_the_reference_ask_wait_and_read(
    served: Demonstration, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs" / "gateway-api.md").read_text("utf-8")
    script = re.search(r"```sh\n(.*?)```", page, re.DOTALL)[1]
    token, asking, waiting, reading = script.strip().replace("\\\n", "").split("\n")
    for command in (asking, waiting, reading):
        assert command.startswith("curl ")
    made = json.dumps(dict(served.tokens))
    (tmp_path / "dpselect-demo").mkdir()
    (tmp_path / "dpselect-demo" / "tokens.json").write_text(made)
    monkeypatch.chdir(tmp_path)
    assert run(["sh"], served, f"{token}\necho $DPSELECT_TOKEN").strip() == served.tokens["analyst"]

    def ask(command: str) -> dict[str, object]:
        return json.loads(run(["sh"], served, command.replace("http://127.0.0.1:8080", served.url)))

    asked = ask(asking)
    done = ask(waiting.replace("ID", asked["id"]))
    assert done["state"] == "answered"
    assert done["answer"].endswith(f"/v1/answers/{asked['id']}")
    answer = ask(reading.replace("ID", asked["id"]))
    assert answer["question"]["verb"] == "top_k"
    assert answer["accuracy"]["statement"]
