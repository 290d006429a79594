"""What a question costs on a page, over HTTP and for an agent: what was left before less what is left after."""

from __future__ import annotations

import html
import re
from decimal import Decimal
from typing import Any

from dpselect.gateway.web.agents import open_desk
from dpselect.mcp.tools import AgentTools
from tests.gateway.served import Served
from tests.mcp.talking import called

SHOWN = re.compile(r"^([0-9.]+) % of the budget of ann .*; ([0-9.]+) % left;")


def asking(epsilon: str) -> dict[str, Any]:
    return {"verb": "choose", "data": "plays", "item": "country", "epsilon": epsilon, "fresh": True}


def test_every_door_shows_the_same_cost_and_the_same_rest(served: Served) -> None:
    """After the first question it is the sum of epsilons that has more room."""
    before = Decimal(100)
    for epsilon in ("0.4", "0.1", "0.1", "0.05"):
        price = served.ann.post("/v1/price", asking(epsilon)).json()
        assert round(price["left"] - price["left_after"], 6) == price["share"]
        job = served.ann.ask(asking(epsilon))
        cost = job["cost"]
        found = SHOWN.match(cost["sentence"])
        assert found is not None, cost
        taken, left = map(Decimal, found.groups())
        assert left + taken == before
        assert (cost["share"], cost["left"]) == (price["share"], price["left_after"])
        assert price["sentence"].startswith(f"costs up to {found[1]} % of the budget, of which {before:f}")
        assert price["sentence"].endswith(f" % is left now and {found[2]} % after it")
        number = job["answer"].rpartition("/")[2]
        page = html.unescape(served.ann.get(f"/answers/{number}?question={job['id']}").text).replace("\xa0", " ")
        assert f"cost {found[1]} % of your budget" in page
        assert f"{found[2]} % left" in page
        before = left
    tools = AgentTools(open_desk(served.gateway, served.people["ann"]))
    assert called(tools, "budget")[0]["left_of_yours"].startswith(f"{before} % of ")
    price = called(tools, "price", tool="choose", arguments={"item": "country", "share": "5%"})
    assert f"{price['left_after']} after it" in price["cost"]
    row = served.ann.get("/v1/budget").json()["budgets"][0]
    assert Decimal(str(row["left"])) * 100 >= before > Decimal(str(row["left"])) * 100 - Decimal("0.01")
    page = served.ann.get("/budget").text.replace("\xa0", " ")
    assert f"{before} %" in page
