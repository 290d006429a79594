"""What is written here can be understood by a reader who has only this checkout."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SUFFIXES = ("", ".cff", ".html", ".js", ".md", ".py", ".toml", ".yml")
# Names of papers by number, of notes that are not here, and paths of somebody's machine.
UNKNOWN = re.compile(r"\b[Ss]eed" + r" 00\d|\bFORMULA" + r"S\b|/work" + r"/(main|shared)|/ro" + r"ot/")

# Nothing is published yet, so a command that installs this name from an index would install something else.
UNPUBLISHED = re.compile(r"\b(pip3?|uv) (\S+ )*(install|add) ([^\s`]+ )*[\"']?dpselect\b|\buvx [\"']?dpselect\b")


def test_nothing_names_what_a_reader_cannot_have() -> None:
    assert not lines_with(UNKNOWN)


def test_nothing_installs_from_an_index_what_is_not_published() -> None:
    assert not lines_with(UNPUBLISHED)


def lines_with(pattern: re.Pattern[str]) -> list[str]:
    """Return each line of the checkout that the pattern matches, with its place."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    files = [name for name in listed.stdout.split("\0") if name] or ["README.md"]  # an sdist has no git
    places = []
    for name in files:
        path = ROOT / name
        if path.suffix in SUFFIXES and path.is_file():
            lines = path.read_text("utf-8", errors="replace").splitlines()
            places += [f"{name}:{at}: {line.strip()[:80]}" for at, line in enumerate(lines, 1) if pattern.search(line)]
    return places


def test_the_check_refuses() -> None:
    for text in ("see seed 00" + "3", "formula in FORMULA" + "S", "read /work" + "/shared/x"):
        assert UNKNOWN.search(text)
    assert not UNKNOWN.search("the formulas of seeds 3 and 4")
    for text in ("dpselect", "'dpselect[lake]'", '"dpselect[lake]"', "--upgrade dpselect", "duckdb dpselect==0.2"):
        for command in ("pip install", "pip3 install", "python -m pip install", "uv add", "uv pip install"):
            assert UNPUBLISHED.search(f"{command} {text}")
    assert UNPUBLISHED.search("uvx " + "dpselect top")
    for text in (
        "pip install .",
        "pip install '.[all]'",
        "uvx --from . dpselect top",
        "pip install dist/dpselect-0.2.0.whl",
        "`pip install pyarrow` for dpselect",
    ):
        assert not UNPUBLISHED.search(text)
