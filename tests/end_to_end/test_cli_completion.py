"""Real shells complete the command: its commands, options, values and files, from the script that it prints."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator

import pytest

from dpselect._ground.methods import names
from dpselect.command.main import main
from dpselect.command.parser import COMMANDS, Parser, build_parser
from tests.end_to_end.shells import PREPARE, Fish, Terminal


def missing(way: str) -> bool:
    return sys.platform == "win32" or shutil.which(way.partition(",")[0]) is None


WAYS = [
    pytest.param(way, marks=pytest.mark.skipif(missing(way), reason=f"no {way} here")) for way in (*PREPARE, "fish")
]


def places(command: Parser, words: str = "") -> Iterator[tuple[str, list[str]]]:
    """Each command and action, as its words, with its options."""
    yield words, command.option_names()
    for name, one in command.commands().items():
        yield from places(one, f"{words} {name}".strip())


def script(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


@pytest.fixture(scope="module", params=WAYS)
def shell(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fish | Terminal]:
    """A shell that has read its script, in a folder with a few files."""
    way, folder = request.param, tmp_path_factory.mktemp("folder")
    (folder / "plays.parquet").touch()
    (folder / "films.csv").touch()
    (folder / "folder").mkdir()
    home = tmp_path_factory.mktemp("scripts") / "_dpselect"
    with home.open("w") as file, pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout", file)
        assert main(["completion", way.partition(",")[0]]) == 0
    made = Fish(home, folder) if way == "fish" else Terminal(way, home, folder)
    yield made
    made.close()


def test_commands_and_actions(shell: Fish | Terminal) -> None:
    assert set(shell.completed("dpselect ")) == set(COMMANDS)
    assert shell.completed("dpselect hist") == ["histogram"]
    assert {"init", "data", "grant", "report", "export"} <= set(shell.completed("dpselect ledger "))


@pytest.mark.parametrize("place", ["top", "ledger grant", "plan union", "gateway check", "inspect"])
def test_every_long_option(shell: Fish | Terminal, place: str) -> None:
    long = {name for name in dict(places(build_parser()))[place] if name.startswith("--")}
    assert set(shell.completed(f"dpselect {place} --")) == {*place.split(), *long}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("top --format ", {"table", "csv", "plain-csv", "json", "markdown", "parquet"}),
        ("top plays.parquet -k 3 --format j", {"json"}),
        ("union --format l", {"lines"}),
        ("choose --method ", set(names("choose"))),
        ("ledger grant b.sqlite --every q", {"quarter"}),
        ("completion ", {"bash", "zsh", "fish"}),
        ("top --period w", {"week"}),
    ],
)
def test_values(shell: Fish | Terminal, line: str, words: set[str]) -> None:
    found = shell.completed(f"dpselect {line}")[len(line.split(" ")) - 1 :]
    assert set(found) == words


def test_files_and_folders(shell: Fish | Terminal) -> None:
    assert shell.completed("dpselect top pl") == ["top", "plays.parquet"]
    assert shell.completed("dpselect top plays.parquet fi") == ["top", "plays.parquet", "films.csv"]
    assert shell.completed("dpselect top plays.parquet --domain-from fi")[-1] == "films.csv"
    assert {one.rstrip("/") for one in shell.completed("dpselect serve --folder f")[2:]} == {"folder"}


def test_nothing_where_nobody_can_guess(shell: Fish | Terminal) -> None:
    assert shell.completed("dpselect top --epsilon ")[1:] in (["--epsilon"], ["--epsilon", ""])
    assert shell.completed("dpselect top --user pl")[2:] in (["pl"], [])  # no file, though one begins so


def test_every_option_is_in_every_script(capsys: pytest.CaptureFixture[str]) -> None:
    scripts = {shell: script(shell, capsys) for shell in ("bash", "zsh", "fish")}
    for _, names_of_options in places(build_parser()):
        for name in names_of_options:
            assert name in scripts["bash"]
            assert name in scripts["zsh"]
            assert f"-l {name[2:]}" in scripts["fish"] or f"-s {name[1:]}" in scripts["fish"]


def test_without_shtab_the_command_says_how_to_get_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)  # as where it is not installed
    assert main(["completion", "bash"]) == 2
    told = capsys.readouterr()
    assert (told.out, "pip install shtab" in told.err) == ("", True)


def test_an_unknown_shell_is_refused_with_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "fisch"]) == 2
    assert "did you mean fish" in capsys.readouterr().err
