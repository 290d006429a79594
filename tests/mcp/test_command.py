"""`dpselect mcp FILE`: what its options declare, beside what the ledger has."""

from __future__ import annotations

from pathlib import Path

import pytest

import dpselect as dps
from dpselect.command.mcp import _declare_settings
from dpselect.command.parser import build_parser
from dpselect.gateway.declared import compare


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("1/3", 0), (0, "1e-6")])
def test_the_options_declare_what_the_ledger_has(tmp_path: Path, epsilon: str | int, delta: str | int) -> None:
    (tmp_path / "plays.csv").write_text("user,artist\n1,Abba\n")
    path = str(tmp_path / "budget.sqlite")
    with dps.Ledger.create(path) as ledger:
        ledger.data("plays", epsilon="2/3", delta="1e-5", keep="20%")
        ledger.grant(dps.Account("plays", "agent"), epsilon, delta)
    words = ["--user", "user", "--item", "artist", "--budget", path, "--data", "plays", "--analyst", "agent"]
    settings = _declare_settings(build_parser().parse_args(["mcp", str(tmp_path / "plays.csv"), *words]))
    differences = compare(settings)
    # Settings cannot declare a quota without an epsilon.
    assert [line.partition(":")[0] for line in differences] == ([] if epsilon else ["the quota of agent for plays"])
