"""docs/queries.md shows the table of every verb, made from the code, and every parameter has a line there."""

from __future__ import annotations

import sys

import pytest

from dpselect.queries.parameters import schemas, table
from dpselect.queries.planning import PLANS
from dpselect.questions.value import strip_links
from tests.conftest import ROOT

sys.path.insert(0, str(ROOT / "docs" / "_extensions"))
from made_parameters import parameters

PAGE = (ROOT / "docs" / "queries.md").read_text("utf-8")


def made(page: str, verb: str) -> list[str]:
    """What is made in the section of a verb."""
    section = page.partition(f"\n## {verb}\n")[2].partition("\n## ")[0]
    return [line for line in section.splitlines() if line]


@pytest.mark.parametrize("verb", PLANS)
def test_the_page_has_the_table(verb: str) -> None:
    assert made(PAGE, verb) == [f"<!-- made: parameters {verb} -->"]
    assert parameters("queries.md", verb).splitlines() == table(verb)


def test_links_are_for_the_page_alone() -> None:
    assert not [one for verb in PLANS for one in schemas(verb).values() if "](" in one["description"]]
    assert strip_links("[a](b.md#c) and [`d`](e)") == "a and `d`"
