"""The tables of docs/gateway-api.md are those of the operations and problems that there are."""

from __future__ import annotations

import json
import re

from dpselect.gateway.problems import KINDS
from dpselect.gateway.settings.values import Role
from dpselect.gateway.web.openapi import OPERATIONS, roles_of
from dpselect.gateway.web.routes import Route
from tests.conftest import ROOT
from tests.gateway.described import validator

PAGE = (ROOT / "docs" / "gateway-api.md").read_text("utf-8")


def who(one: Route) -> str:
    """Who may."""
    return "everybody" if len(one.roles) == len(Role) else ", ".join(roles_of(one)) or "also without a token"


def operations() -> list[str]:
    rows = [f"| `{one.method} {one.path}` | {one.summary} | {who(one)} |" for one in OPERATIONS]
    return ["| operation | what | who |", "| --- | --- | --- |", *rows]


def problems() -> list[str]:
    rows = [f"| {kind.status} | `{name}` | {kind.title} |" for name, kind in KINDS.items()]
    return ["| status | kind | title |", "| --- | --- | --- |", *rows]


def tabled(page: str, title: str) -> list[str]:
    """The lines of the table in a section."""
    section = page.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    return [line for line in section.splitlines() if line.startswith("|")]


def test_every_operation_is_on_the_page() -> None:
    assert tabled(PAGE, "Operations") == operations()


def test_every_kind_of_problem_is_on_the_page() -> None:
    assert tabled(PAGE, "Problems") == problems()


def test_the_json_of_the_page_is_what_it_says() -> None:
    blocks = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]
    asked, job, problem = blocks
    validator("Question").validate(asked)
    validator("Job").validate(job)
    validator("Problem").validate(problem)
