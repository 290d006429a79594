"""The manual page: made from the parser, installed as it is made, and shown by man without a warning."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import replace

import pytest

from dpselect.command.completion_tree import tree
from dpselect.command.main import main
from dpselect.command.man import page
from tests.conftest import ROOT

INSTALLED = ROOT / "installed" / "share" / "man" / "man1" / "dpselect.1"
WITHOUT_DATE = 'WARNING: missing date, using "": TH'  # on purpose: the page changes only where the command does


def needs(program: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"no {program} here")


def plain(text: str) -> str:
    """Without what a terminal shows as bold, and in one line."""
    return " ".join(re.sub(".\b", "", text).split())


def test_the_installed_page_is_that_of_the_parser(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["man"]) == 0
    anew = f"make it anew: ./dev run man > {INSTALLED.relative_to(ROOT)}"
    assert capsys.readouterr().out == INSTALLED.read_text(), anew


@needs("groff")
def test_groff_shows_every_option_and_warns_of_nothing() -> None:
    words = ["groff", "-man", "-ww", "-Tascii", "-P-c", "-rLL=400n"]
    done = subprocess.run([*words, str(INSTALLED)], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    shown = plain(done.stdout)
    for place in tree().all():
        for argument in place.arguments if not place.places else ():
            if "--help" not in argument.names:
                assert ", ".join(argument.names) in shown
                assert " ".join(argument.help.split()) in shown
    assert "--where \"country = 'DE'\"" in shown
    assert "e^epsilon" in shown


@needs("mandoc")
def test_mandoc_warns_of_nothing_but_the_date() -> None:
    words = ["mandoc", "-T", "lint", "-W", "warning", str(INSTALLED)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)  # its status says that there is a date
    assert [line for line in done.stdout.splitlines() if WITHOUT_DATE not in line] == []


@needs("man")
def test_man_shows_it() -> None:
    env = {**os.environ, "MANPAGER": "cat", "PAGER": "cat", "MANWIDTH": "100"}
    done = subprocess.run(
        ["man", "--warnings=w", "-l", str(INSTALLED)], capture_output=True, text=True, env=env, check=True
    )
    assert done.stderr == ""
    assert "dpselect ledger grant" in plain(done.stdout)


def test_no_line_of_help_is_a_request_of_roff() -> None:
    root = tree()
    top = replace(root.places[0], arguments=(), summary=".so /etc/passwd", epilog="\n.sy rm\n'br\n\\*x")
    lines = page(replace(root, places=(top,))).splitlines()
    assert not [line for line in lines if line.startswith((".so", ".sy", "'"))]
    assert r"\e*x" in lines
