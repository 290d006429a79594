"""A gateway that runs, and its tools in the hands of ann."""

from __future__ import annotations

import pytest

from dpselect.gateway.web.agents import open_desk
from dpselect.mcp.tools import AgentTools
from tests.gateway.conftest import questions_share_a_duckdb, served  # noqa: F401 # fixtures
from tests.gateway.served import Served


@pytest.fixture
def tools(served: Served) -> AgentTools:  # noqa: F811
    return AgentTools(open_desk(served.gateway, served.people["ann"]))
