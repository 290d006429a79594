"""The command on neighbours: exit code, standard error, the answer where it is all but certain, and files left over."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from dpselect.command.main import main
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
FILES = {"CSV": "rows.csv", "JSON lines": "rows.jsonl", "Parquet": "rows.parquet"}
DECLARED = {"quantile": "--type number=BIGINT"}  # of text files; a Parquet file declares its own


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    status: int
    out: str
    err: str
    left: list[str]


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("kind", FILES)
def test_the_command_on_a_neighbour(kind: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd):
    def run(words: list[str], folder: Path) -> tuple[int, str, str]:
        monkeypatch.chdir(folder)
        monkeypatch.setattr(tempfile, "tempdir", str(folder / "temporary"))
        monkeypatch.setenv("DPSELECT_MEMORY", "1GiB")
        return main(words), *capfd.readouterr()

    _compare(run, kind, name, tmp_path)


@pytest.mark.parametrize(("kind", "name"), [("CSV", "union of a text"), ("Parquet", "top, paid")])
def test_the_process_on_a_neighbour(kind: str, name: str, tmp_path: Path):
    """What a whole process says and leaves, from its start to its end."""

    def run(words: list[str], folder: Path) -> tuple[int, str, str]:
        environment = os.environ | {"TMPDIR": str(folder / "temporary"), "DPSELECT_MEMORY": "1GiB"}
        command = [sys.executable, "-m", "dpselect", *words]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", check=False)
        return done.returncode, done.stdout, done.stderr

    _compare(run, kind, name, tmp_path)


def _compare(run: Callable[[list[str], Path], tuple[int, str, str]], kind: str, name: str, tmp_path: Path) -> None:
    ended = [_ended(run, make, kind, name, tmp_path / f"{n}") for n, make in enumerate(makers(KINDS[kind]))]
    assert ended[0] == ended[1]
    assert ended[0].status == {"top, refused": 5, "top, wrong filter": 2}.get(name, 0)


def _ended(run, make, kind: str, name: str, folder: Path) -> Ended:
    """The command where the rows are, with a folder of its own for what is temporary; progress goes by the clock."""
    (folder / "temporary").mkdir(parents=True)
    make(folder)
    with Ledger.create(folder / "budget.sqlite") as ledger:
        ledger.data("default", 100, "0.2")
        ledger.grant(Account("default", "ann"), 100, "0.1")
    declared = "" if kind == "Parquet" else DECLARED.get(name, "")
    words = shlex.split(f"{COMMANDS[name].replace('ROWS', FILES[kind])} {declared}")
    status, out, err = run([*words, "--quiet"], folder)
    left = sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
    answers = [(folder / name).read_text() for name in ("answer.json", "words.txt") if (folder / name).exists()]
    out = re.sub(r"of about [\d,]+ users", "of so many users", out)  # a noisy number of all, one more on one side
    return Ended(status, "\n".join([out, *answers]), err, left)
