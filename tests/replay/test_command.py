"""The command on neighbours: exit code, standard error, the answer where it is all but certain, and files left over."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from dpselect.ledger import Account, Ledger
from tests.replay.calls import makers
from tests.replay.kinds import KINDS

# What a single user has comes out with a probability of at most delta, in each of these commands and on both sides.
LIKELY = "--epsilon 100 --delta 1e-12"
COMMANDS = {
    "top": f"top ROWS --user user --item item -k 3 {LIKELY}",
    "top, paid": f"top ROWS --user user --item item -k 3 {LIKELY} --budget budget.sqlite --analyst ann",
    "top, refused": "top ROWS --user user --item item -k 3 --epsilon 1000 --budget budget.sqlite --analyst ann",
    "top, filter": f"top ROWS --user user --item item -k 3 {LIKELY} --where \"other <> '8'\"",
    "top, wrong filter": f'top ROWS --user user --item item -k 3 {LIKELY} --where "other ="',
    "top, domain": "top ROWS --user user --item item -k 2 --epsilon 100 --domain a,b,c,lone --format json",
    "choose": "choose ROWS --user user --item item --domain a,b,c --epsilon 100 -o answer.json",
    "quantile": "quantile ROWS --user user --item number --bounds 0 10 --step 1 --epsilon 100",
    "union": f"union ROWS --user user --item item {LIKELY} --max-items-per-user 50 --method weighted-gaussian",
    "union of a text": f"union ROWS --user user --text item {LIKELY} --max-items-per-user 50 -o words.txt",
}
OFTEN = ("top, paid", "top, refused", "quantile", "union of a text")
FILES = {"CSV": "rows.csv", "JSON lines": "rows.jsonl", "Parquet": "rows.parquet"}


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    status: int
    out: str
    err: str
    left: list[str]


def _parameters() -> list[object]:
    pairs = [(kind, name) for kind in FILES for name in COMMANDS]
    often = [("CSV", name) for name in OFTEN] + [("JSON lines", "union"), ("Parquet", "top, domain")]
    marks = {pair: [] if pair in often else [pytest.mark.slow] for pair in pairs}
    return [pytest.param(*pair, id=": ".join(pair), marks=marks[pair]) for pair in pairs]


@pytest.mark.parametrize(("kind", "name"), _parameters())
def test_the_command_on_a_neighbour(kind: str, name: str, tmp_path: Path):
    ended = [_run(make, COMMANDS[name], FILES[kind], tmp_path / f"{n}") for n, make in enumerate(makers(KINDS[kind]))]
    assert ended[0] == ended[1]
    assert ended[0].status == {"top, refused": 5, "top, wrong filter": 2}.get(name, 0)


def _run(make, words: str, rows: str, folder: Path) -> Ended:
    """The command where the rows are, with a folder of its own for what is temporary; progress goes by the clock."""
    temporary = folder / "temporary"
    temporary.mkdir(parents=True)
    make(folder)
    with Ledger.create(folder / "budget.sqlite") as ledger:
        ledger.data("default", 100, "0.2")
        ledger.grant(Account("default", "ann"), 100, "0.1")
    done = subprocess.run(
        [sys.executable, "-m", "dpselect", *shlex.split(words.replace("ROWS", rows)), "--quiet"],
        cwd=folder,
        env=os.environ | {"TMPDIR": str(temporary), "DPSELECT_MEMORY": "1GiB"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=1200,
        check=False,
    )
    left = sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
    answers = [(folder / name).read_text() for name in ("answer.json", "words.txt") if (folder / name).exists()]
    return Ended(done.returncode, "\n".join([done.stdout, *answers]), done.stderr, left)
