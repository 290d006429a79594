"""docs/gateway-api.md holds what is made from the operations and problems that there are, and JSON that they take."""

from __future__ import annotations

import json
import re
import sys

from dpselect.gateway.problems import PROBLEM_KINDS
from dpselect.gateway.web.openapi import OPERATIONS
from tests.conftest import ROOT
from tests.gateway.described import validator

sys.path.insert(0, str(ROOT / "docs" / "_extensions"))
from made import filled

PAGE = (ROOT / "docs" / "gateway-api.md").read_text("utf-8")


def test_every_operation_and_every_kind_of_problem_is_on_the_page() -> None:
    made = filled(PAGE, "gateway-api")
    for one in OPERATIONS:
        heading = f"### {one.method} {one.path}".replace("{", "\\{")
        assert f"\n{heading}\n\n{one.summary.rstrip('.')}" in made
    assert re.findall(r"^\| (\d+) \| `([\w-]+)` \| (.*) \|$", made, re.MULTILINE)[: len(PROBLEM_KINDS)] == [
        (str(kind.status), name, kind.title) for name, kind in PROBLEM_KINDS.items()
    ]


def test_the_json_of_the_page_is_what_it_says() -> None:
    blocks = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]
    asked, job, problem = blocks
    validator("Question").validate(asked)
    validator("Job").validate(job)
    validator("Problem").validate(problem)
