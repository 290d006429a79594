"""What earlier versions stored and offered: today's code reads it with the same meaning, and offers it still.

Every folder `vMAJOR.MINOR` is a set that that version made (tests/golden/make.py); docs/reference/compatibility.md is
the promise. A test that fails here is a change that breaks somebody: the set is never edited to make it pass.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import dpselect as dps
from dpselect.command.main import main
from dpselect.ledger.question import question
from tests.golden import surface
from tests.golden.asked import SNAPSHOT, data_set
from tests.golden.kept import lost, unserved, untaken, withdrawn
from tests.golden.make import asked_of, said

HERE = Path(__file__).parent
SETS = sorted(path for path in HERE.glob("v*") if path.is_dir())
RELEASES = sorted(path for one in SETS for path in (one / "releases").iterdir())
QUERIES = sorted(path for one in SETS for path in (one / "queries").iterdir())
every_set = pytest.mark.parametrize("kept", SETS, ids=lambda path: path.name)
pytestmark = pytest.mark.filterwarnings("ignore::dpselect.errors.WeakPromiseWarning")


def shown(path: Path) -> str:
    return path.relative_to(HERE).with_suffix("").as_posix()


def told(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def test_there_is_a_set_and_it_is_small() -> None:
    assert SETS[0].name == "v0.2"
    for one in SETS:
        assert sum(path.stat().st_size for path in one.rglob("*") if path.is_file()) < 300_000


# ---- releases and queries --------------------------------------------------------------------------------


@pytest.mark.parametrize("path", RELEASES, ids=shown)
def test_a_release_comes_back_whole(path: Path) -> None:
    read = dps.Release.from_json(path)
    assert lost(told(path), read.to_dict()) == []
    assert dps.Release.from_json(read.to_json()) == read


@pytest.mark.parametrize("path", RELEASES, ids=shown)
def test_its_promise_still_follows(path: Path, tmp_path: Path) -> None:
    assert str(dps.check(path).verdict) in ("follows", "stated, not recomputed")
    forged = told(path)
    forged["privacy"]["epsilon"] /= 2
    (tmp_path / "forged.json").write_text(json.dumps(forged), "utf-8")
    assert str(dps.check(tmp_path / "forged.json").verdict) == "does not follow"


@pytest.mark.parametrize("path", QUERIES, ids=shown)
def test_a_query_means_the_same(path: Path) -> None:
    kept = told(path)
    query = dps.Query.from_dict(kept["given"])
    assert lost(kept["full"], query.to_dict()) == []
    assert dps.Query.from_dict(kept["full"]).to_dict() == query.to_dict()
    assert {"epsilon": str(query.ceiling.epsilon), "delta": str(query.ceiling.delta)} == kept["ceiling"]


@pytest.mark.parametrize("path", QUERIES, ids=shown)
def test_a_ledger_knows_a_question_by_the_same_key(path: Path) -> None:
    """Else answers that were paid for are paid for again."""
    kept = told(path)
    query = dps.Query.from_dict(kept["given"])
    assert question(query.verb, query.key, {}, pinned=True).text == kept["known_by"]


# ---- a ledger --------------------------------------------------------------------------------------------


@pytest.fixture
def ledger(kept: Path, tmp_path: Path) -> Path:
    """A copy of the ledger, for its owner alone as it was."""
    copied = Path(shutil.copy(kept / "ledger.sqlite", tmp_path / "ledger.sqlite"))
    copied.chmod(0o600)
    return copied


@every_set
def test_a_ledger_says_what_it_said(kept: Path, ledger: Path) -> None:
    wanted = told(kept / "ledger.json")
    with dps.Ledger(ledger) as opened:
        assert opened.verify(wanted["head"]) == []
        # A newer form may add entries when it is brought up; what was there stays, in its order.
        now = said(opened)
        assert now["entries"][: wanted["count"]] == wanted["entries"]
        for part in ("accounts", "balances", "pending", "verified"):
            assert lost(wanted[part], now[part]) == [], part


@every_set
def test_what_it_answered_is_free_and_the_same(kept: Path, ledger: Path) -> None:
    wanted = told(kept / "ledger.json")
    months = {"time": "day", "period": "month", "timezone": "UTC", "during": "2026-10"}
    with dps.Ledger(ledger) as opened:
        before = opened.balances()
    for name, more, answer in (("plays", {}, 0), ("visits", months, 2)):
        assert lost(wanted["answers"][answer], asked_of(name, ledger, more)) == []
    with dps.Ledger(ledger) as opened:
        assert opened.balances() == before
        assert opened.verify(wanted["head"]) == []


@every_set
def test_it_goes_on_paying_and_refusing(kept: Path, ledger: Path) -> None:
    budget = dps.Budget.open(ledger, data="plays", analyst="bob", snapshot=SNAPSHOT)
    with pytest.raises(dps.BudgetError):
        data_set({}, budget).top_k(2, epsilon=30)
    assert data_set({}, budget).choose(domain=["a", "b"], epsilon=1).charged is not None
    with dps.Ledger(ledger) as opened:
        assert opened.verify(told(kept / "ledger.json")["head"]) == []
        held = {one.entry.question: one for one in opened.pending()}
        opened.give_back(held["died before a row was read"])
        with pytest.raises(dps.LedgerError, match="rows may have been read"):
            opened.give_back(held["died at work"])


# ---- settings --------------------------------------------------------------------------------------------


@every_set
def test_settings_of_a_gateway_are_read(kept: Path, tmp_path: Path) -> None:
    from dpselect.gateway.settings.reading import read_text

    read = read_text((kept / "gateway.toml").read_text("utf-8"), tmp_path)
    (data,) = read.data.values()
    assert (data.name, data.groups, data.items[1]) == ("listening", ("country",), ("country", "artist"))
    assert sorted(one.name for one in read.people.values()) == ["ann", "olga", "rita"]


# ---- what is offered -------------------------------------------------------------------------------------


MEANT = ["Budget: the default of delta was 0, is Fraction"]  # a budget without one pays for no unknown domain


@every_set
def test_public_names_can_be_used_as_they_were(kept: Path) -> None:
    found = withdrawn(told(kept / "names.json"), surface.names())
    assert [one for one in found if one not in MEANT] == []


def test_names_of_our_own_rooms_are_names_that_there_are() -> None:
    """A slip there would promise less than it says, or nothing."""
    rooms = surface.own_rooms()
    assert len(rooms) > 9
    for name, ours in rooms.items():
        kind = getattr(dps, name)
        assert sorted(one for one in ours if not hasattr(kind, one) and one not in kind.__dataclass_fields__) == [], (
            name
        )
    assert "reserve" not in surface.names()["Ledger"]["members"]
    assert "balance" in surface.names()["Ledger"]["members"]


@every_set
def test_lines_of_a_shell_script_are_taken(kept: Path) -> None:
    assert untaken(told(kept / "command.json"), surface.command()) == []


STATUSES: dict[str, tuple[int, str]] = {
    "done": (0, "--version"),
    "no command": (2, ""),
    "a wrong parameter": (2, "top rows.csv --user user --item item --epsilon -1"),
    "no such option": (2, "top rows.csv --usr user"),
    "data that cannot be read": (3, "top broken.parquet --user user --item item --epsilon 1"),
    "no place for the answer": (4, "top rows.csv --user user --item item --epsilon 1 -o missing/top.csv"),
    "no budget left": (5, "top rows.csv --user user --item item --epsilon 30 --budget l --data plays --analyst bob"),
    "no ledger": (6, "top rows.csv --user user --item item --epsilon 1 --budget none"),
    "a promise that does not follow": (7, "check forged.json"),
    "a promise that is stated": (8, "check stated.json"),
    "no release": (3, "check rows.csv"),
}


@every_set
@pytest.mark.parametrize("name", STATUSES)
def test_the_exit_status_says_why(name: str, kept: Path, ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a script asks `$?` for; the table is that of docs/reference/compatibility.md, for every version."""
    monkeypatch.chdir(ledger.parent)
    status, line = STATUSES[name]
    ledger.rename("l")
    Path("rows.csv").write_text("user,item\n1,a\n2,a\n", "utf-8")
    forged = (kept / "releases" / "top_k.json").read_text("utf-8").replace('"epsilon": "40"', '"epsilon": "39"')
    Path("broken.parquet").write_bytes(b"no rows")
    Path("forged.json").write_text(forged, "utf-8")
    shutil.copy(kept / "releases" / "choose.json", "stated.json")
    assert main(line.split()) == status


@every_set
def test_http_serves_what_it_served(kept: Path) -> None:
    pytest.importorskip("starlette")
    assert unserved(told(kept / "http.json"), surface.http()) == []
