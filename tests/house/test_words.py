"""What is written here can be understood by a reader who has only this checkout."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Names of papers by number, of notes that are not here, and paths of somebody's machine.
UNKNOWN = re.compile(r"\b[Ss]eed" + r" 00\d|\bFORMULA" + r"S\b|/work" + r"/(main|shared)|/ro" + r"ot/")


def test_nothing_names_what_a_reader_cannot_have() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    files = [name for name in listed.stdout.split("\0") if name] or ["README.md"]  # an sdist has no git
    found = []
    for name in files:
        path = ROOT / name
        if path.suffix in (".py", ".md", ".toml", ".cff", "") and path.is_file():
            lines = path.read_text("utf-8", errors="replace").splitlines()
            found += [f"{name}:{at}: {line.strip()[:80]}" for at, line in enumerate(lines, 1) if UNKNOWN.search(line)]
    assert not found, "\n".join(found)


def test_the_check_refuses() -> None:
    for text in ("see seed 00" + "3", "formula in FORMULA" + "S", "read /work" + "/shared/x"):
        assert UNKNOWN.search(text)
    assert not UNKNOWN.search("the formulas of seeds 3 and 4")
