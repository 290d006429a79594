"""What reads a whole ledger keeps none of its entries, reads each once, and says what the entries say."""

from __future__ import annotations

import json
import subprocess
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dpselect.audit.report import report
from dpselect.audit.sums import replay
from dpselect.command import ledger_rows
from dpselect.command.main import main
from dpselect.errors import OutputError
from dpselect.ledger import Account, Entry, EntryKind, Ledger, records, rows
from dpselect.release.table import TextTable
from tests.ledger.amounts import ask, charge, grant
from tests.ledger.test_upgrade import lived

ANN = Account("plays", "ann")


@pytest.fixture
def full(where: str) -> str:
    """A ledger in which everything happened that can, and stored answers were repeated late."""
    with Ledger(lived(where)) as ledger:
        for number in range(5):
            ask(ledger, ANN, charge("1e-6"), f"question {number}", f"[{number}]")
        for number in (3, 0, 3):
            assert ledger.repeat(ANN, f"question {number}") == f"[{number}]"
        assert ledger.repeat(ANN, "a third") == "[2]"
    return where


def asking_entries(entries: list[Entry]) -> list[Entry]:
    """For each entry the one that asked its question, or itself: the plain form, which keeps all entries."""
    asking: dict[int, Entry] = {}
    for entry in entries:
        asking[entry.number] = asking.get(entry.refers_to or 0, entry)
    return list(asking.values())


def test_each_entry_has_the_question_that_it_refers_to(full: str) -> None:
    with Ledger(full) as ledger:
        entries = list(ledger.entries())
        replayed = list(replay(ledger.entries()))
    assert [entry for entry, _, _ in replayed] == entries
    for (entry, question, _), asking in zip(replayed, asking_entries(entries), strict=True):
        assert question.number == asking.number
        assert list(question.periods) == list(asking.parts)
        assert (entry.question or question.text) == (entry.question or asking.question)
    assert {entry.kind for entry in entries} >= set(EntryKind) - {
        EntryKind.CONTINUES,
        EntryKind.OPENED,
        EntryKind.CLOSED,
    }


def test_entries_are_let_go_once_their_question_is_closed(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "x") as ledger:
        grant(ledger, ANN, 1, "1e-6")
        for number in range(30):
            ask(ledger, ANN, charge("1e-6"), f"question {number}", "[]")
            ledger.repeat(ANN, "question 0")
        pages = list(ledger.entries())
    references: list[weakref.ref[Entry]] = []

    def read() -> Iterator[Entry]:
        while pages:
            entry = pages.pop(0)
            references.append(weakref.ref(entry))
            yield entry

    alive = [sum(reference() is not None for reference in references) for _ in replay(read())]
    assert len(alive) > 100
    assert max(alive) <= 3


def test_each_entry_is_read_once(full: str, monkeypatch: pytest.MonkeyPatch) -> None:
    walks: list[Account | None] = []
    parsed: list[object] = []
    read_entries, parse_entry = Ledger.entries, records.parse_entry
    monkeypatch.setattr(
        Ledger, "entries", lambda ledger, account=None: walks.append(account) or read_entries(ledger, account)
    )
    for module in (rows, records):
        monkeypatch.setattr(module, "parse_entry", lambda row: parsed.append(row[0]) or parse_entry(row))
    with Ledger(full) as ledger:
        assert ledger.verify() == []
        assert parsed == list(range(1, ledger.count + 1))
        assert walks == []
        report(ledger, "plays")
        assert walks == [None]
    assert main(["ledger", "history", full]) == 0
    assert walks == [None, None]


def test_a_history_is_the_same_from_memory_and_from_a_file(
    full: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Ledger(full) as ledger:
        history = [row for row, _ in ledger_rows.history_rows(ledger)]
    cells = {name: [ledger_rows._format_cell(row[name]) for row in history] for name in history[0]}
    table = TextTable(cells, ("analyst", "dataset", "what", "rows", "question")).text()
    for max_bytes in (2**20, 1):
        monkeypatch.setattr(ledger_rows, "_MAX_BYTES_IN_MEMORY", max_bytes)
        assert main(["ledger", "history", full]) == 0
        assert capsys.readouterr().out == f"{table}\n"
        assert main(["ledger", "history", full, "--format", "json"]) == 0
        assert capsys.readouterr().out == json.dumps({"entries": history}, indent=2, ensure_ascii=False) + "\n"


def test_rows_that_find_no_folder_say_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(ledger_rows, "_MAX_BYTES_IN_MEMORY", 1)
    monkeypatch.setattr(ledger_rows.tempfile, "tempdir", str(tmp_path / "none"))
    with pytest.raises(OutputError, match="no temporary file for rows can be written: No such file"):
        ledger_rows.StoredRows([{"a": 1}, {"a": 2}])


@pytest.mark.skipif(sys.platform == "win32", reason="Windows limits no file")
def test_rows_that_find_no_room_say_so_wherever_it_ends() -> None:
    """In a process of its own, whose files may have so many bytes; nothing is told before all rows are stored."""
    code = """
import resource, signal
from dpselect.command import ledger_rows
from dpselect.errors import OutputError
ledger_rows._MAX_BYTES_IN_MEMORY = 2**14
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
told = set()
for limit in range(8000, 80000, 997):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    try:
        rows = ledger_rows.StoredRows({"a": "x" * 50, "n": n} for n in range(1000))
    except OutputError as error:
        told.add(str(error).splitlines()[0])
    else:
        assert len(list(rows)) == 1000
        told.add("stored")
        rows.close()
print(sorted(told))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    assert done.stdout == "['no temporary file for rows can be written: File too large', 'stored']\n"


def test_a_report_is_written_as_it_is(full: str, tmp_path: Path) -> None:
    with Ledger(full) as ledger:
        record: Any = report(ledger, "months")
    assert main(["ledger", "report", full, "--data", "months", "-o", str(tmp_path / "r.json")]) == 0
    assert (tmp_path / "r.json").read_text("utf-8") == json.dumps(record, indent=2, ensure_ascii=False) + "\n"
