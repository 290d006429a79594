"""Bad input: the right status, one clear message with a hint, nothing on standard output, and no data in it."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path

import polars
import pytest

from tests.end_to_end.conftest import CANARY_ITEM, CANARY_USER, COUNTS, Command, ask, process

Refused = tuple[Callable[[Path, Path], list[object]], int, str]


def broken_parquet(folder: Path) -> Path:
    path = folder / "broken.parquet"
    path.write_bytes(b"PAR1" + CANARY_ITEM.encode() * 20 + b"PAR1")
    return path


def empty_folder(folder: Path) -> Path:
    path = folder / "empty"
    path.mkdir()
    return path


def two(folder: Path) -> Path:
    path = folder / "two.csv"
    path.write_text("name\ndog\nelk\n", "utf-8")
    return path


# name: the question (of the events and an empty folder), the status, what the message says
REFUSED: dict[str, Refused] = {
    "missing file": (lambda e, _: ask(e.with_name("evnts.csv")), 3, r"exists.*\n.*did you mean events.csv\?"),
    "missing folder": (lambda _, t: ask(t / "no" / "data.csv"), 3, "there is no folder"),
    "directory without data": (lambda _, t: ask(empty_folder(t)), 3, "be a folder that holds"),
    "unknown kind of file": (lambda _, __: ask(Path(__file__)), 2, "Parquet"),
    "broken Parquet": (lambda _, t: ask(broken_parquet(t)), 3, "broken.parquet|cannot be read|could not be read"),
    "missing user column": (lambda e, _: ask(e, "--user", "usr"), 2, r"usr(.|\n)*user"),
    "missing item column": (lambda e, _: ask(e, "--item", "anmial"), 2, r"anmial(.|\n)*animal"),
    "epsilon 0": (lambda e, _: ask(e, "--epsilon", "0"), 2, "epsilon must be a positive, finite number, got '0'"),
    "epsilon with a comma": (lambda e, _: ask(e, "--epsilon", "0,5"), 2, "hint: write the decimal point"),
    "delta 1": (lambda e, _: ask(e, "--delta", "1"), 2, "delta must be at least 0 and less than 1"),
    "k 0": (lambda e, _: ask(e, "-k", "0"), 2, "k must be a whole number of at least 1, got 0"),
    "k_bar below k": (lambda e, _: ask(e, "--k-bar", "2"), 2, "k_bar must be at least k = 3, got 2\nhint"),
    "k above a domain from a file": (lambda e, t: ask(e, "--domain-from", f"{two(t)}:name"), 2, "k must be at most"),
    "unknown method": (
        lambda e, _: ask(e, "--method", "peelin"),
        2,
        "method must be the name of a method(.|\n)*peeling",
    ),
    "domain range reversed": (lambda e, _: ask(e, "--domain-range", "5..1"), 2, "domain stop"),
    "domain range no numbers": (lambda e, _: ask(e, "--domain-range", "a..z"), 2, "START..STOP"),
    "domain from no column": (lambda e, _: ask(e, "--domain-from", "x.csv"), 2, "FILE:COLUMN"),
    "domain from missing column": (lambda e, _: ask(e, "--domain-from", f"{e}:anmal"), 2, "animal"),
    "where does not parse": (lambda e, _: ask(e, "--where", "animal >"), 2, "where"),
    "where on a missing column": (lambda e, _: ask(e, "--where", "sice > 3"), 2, r"sice(.|\n)*size"),
    "where fails on some rows": (lambda e, _: ask(e, "--where", "animal::INTEGER > 3"), 0, "^$"),
    "output over the data": (lambda e, _: ask(e, "-o", e), 2, "-o must name a file other than the data"),
    "output without a format": (lambda e, t: ask(e, "-o", t / "top.xyz"), 2, "-o must end in one of"),
    "output of two minds": (lambda e, t: ask(e, "--format", "csv", "-o", t / "top.json"), 2, "--format must fit"),
    "parquet to the terminal": (lambda e, _: ask(e, "--format", "parquet"), 2, "give -o FILE"),
    "output folder missing": (lambda e, t: ask(e, "-o", t / "no" / "top.csv"), 4, "folder of -o does not exist"),
    "output is a folder": (lambda e, t: ask(e, "-o", t, "--format", "csv"), 4, "is a folder"),
}


@pytest.mark.parametrize("refused", REFUSED.values(), ids=list(REFUSED))
def test_refused(refused: Refused, events: Path, tmp_path: Path, dpselect: Command) -> None:
    question, status, says = refused
    before = events.read_bytes()
    ended = dpselect(*question(events, tmp_path))
    assert ended.status == status, ended
    assert re.search(says, ended.err), ended.err
    if status:
        assert ended.out == ""
        assert ended.err.startswith("dpselect: ")
        assert ended.err.count("\n") <= 2
    assert events.read_bytes() == before
    assert not [path for path in tmp_path.rglob("*") if path.name.endswith(".part")]
    shows_no_data(ended.err)


def shows_no_data(message: str) -> None:
    """No item, user, value or count of the events; a folder of pytest may have any number in its name."""
    message = re.sub(r"pytest-\d+", "pytest", message)
    assert CANARY_ITEM not in message
    assert CANARY_USER not in message
    for word in [*COUNTS, "wet", *(str(count) for count in COUNTS.values()), str(sum(COUNTS.values()))]:
        assert not re.search(rf"\b{word}\b", message), message


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("ragged.csv", f"user,animal\na,b,{CANARY_ITEM}\n{CANARY_ITEM}\n"),
        ("quoted.csv", f'user,animal\na,"{CANARY_ITEM}\n'),
        ("late.csv", "user,animal\n" + "1,2\n" * 30_000 + f"{CANARY_USER},{CANARY_ITEM}\n"),
        ("broken.jsonl", f'{{"user": 1, "animal": "{CANARY_ITEM}"}}\n{{"user": {CANARY_ITEM}\n'),
        ("binary.csv", b"user,animal\n\xff\xfe" + CANARY_ITEM.encode() + b"\x00,b\n"),
    ],
    ids=lambda value: value if isinstance(value, str) and "." in value and "\n" not in value else "",
)
def test_broken_rows_are_never_shown(name: str, content: str | bytes, tmp_path: Path, dpselect: Command) -> None:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    ended = dpselect(*ask(path, "--epsilon", 1))
    assert ended.status in {0, 3}
    shows_no_data(ended.err + ended.out)


def test_unexpected_failures_show_their_class_only(
    events: Path, dpselect: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ArithmeticError(f"{CANARY_ITEM} has 300 users")

    monkeypatch.setattr("dpselect.dataset.Dataset.ask", fail)
    ended = dpselect(*ask(events))
    assert ended.status == 1
    assert ended.out == ""
    assert ended.err == (
        "dpselect: unexpected ArithmeticError\nhint: DPSELECT_TRACEBACK=1 shows the traceback (it may show data)\n"
    )
    monkeypatch.setenv("DPSELECT_TRACEBACK", "1")
    assert f"ArithmeticError: {CANARY_ITEM} has 300 users" in dpselect(*ask(events)).err


def test_interrupted(events: Path, dpselect: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dpselect.dataset.Dataset.ask", interrupt)
    ended = dpselect(*ask(events, "-o", tmp_path / "top.csv"))
    assert (ended.status, ended.out, ended.err) == (130, "", "dpselect: interrupted\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="this system sends no such signals")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_impatience_does_not_stop_the_tidying_up(
    number: int, status: int, events: Path, dpselect: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    tidied = []

    def work(*_: object, **__: object) -> None:
        try:
            os.kill(os.getpid(), number)
            time.sleep(10)
        finally:
            for again in (signal.SIGINT, signal.SIGTERM):
                os.kill(os.getpid(), again)
                time.sleep(0.01)
            tidied.append(True)

    before = [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)]
    monkeypatch.setattr("dpselect.dataset.Dataset.ask", work)
    assert dpselect(*ask(events)).status == status
    assert tidied == [True]
    assert before == [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)]


def test_a_real_process_says_it_too(events: Path) -> None:
    ended = process(*ask(events, "--item", "anmial"))
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert "animal" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(("missing", "words"), [("--user", "--item animal"), ("--item", "--user user"), ("--user", "")])
def test_who_forgets_a_column_is_told_which_there_are(
    missing: str, words: str, events: Path, dpselect: Command
) -> None:
    """But of CSV, whose first line may be somebody's row."""
    typed = events.with_suffix(".parquet")
    polars.read_csv(events).write_parquet(typed)
    for source, hint in ((typed, "there is user, animal"), (events, "the first line of a CSV file must name")):
        ended = dpselect("top", source, *words.split(), "--epsilon", 1)
        assert (ended.status, ended.out) == (2, "")
        assert ended.err.splitlines()[0].startswith(f"dpselect: {missing} must be the name of a column")
        assert ended.err.splitlines()[1].startswith(f"hint: {hint}")


def test_who_forgets_a_column_of_no_file_is_told_that_first(events: Path, dpselect: Command) -> None:
    ended = dpselect("top", events.with_name("evnts.csv"), "--epsilon", 1)
    assert (ended.status, ended.out) == (3, "")
    assert ended.err.startswith("dpselect: source must be a file that exists")
    assert "\nhint: did you mean events." in ended.err
