"""`dpselect man`: the manual page, in roff, made from the parser: what `--help` says, in one page."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator

from dpselect.command.completion_tree import Argument, Place
from dpselect.command.variables import VARIABLES

EXAMPLES = """
examples:
  dpselect man > ~/.local/share/man/man1/dpselect.1
      Then: man dpselect. A wheel has the page too, and pip puts it below the environment's share/man.
  dpselect man | man -l -
      Show it once.

exit status: 0 done, 2 a parameter is wrong, 4 the output cannot be written, 1 anything else.
"""
STATUS = {
    "0": "done, also when fewer items than asked for could be told",
    "1": "anything else",
    "2": "a parameter is wrong",
    "3": "the data cannot be read",
    "4": "the output cannot be written",
    "5": "the budget does not suffice",
    "6": "the ledger cannot be used, or is not clean",
    "7": "check: a release is not what its question is planned as",
    "8": "check: a release does not say what was asked",
    "9": "a gateway gives no answer",
    "130": "interrupted",
}
SYSTEMS = {"TMPDIR": "where temporary files go"}  # variables that other programs read too


def options(command: argparse.ArgumentParser) -> None:
    """Nothing but --help."""


def run(args: argparse.Namespace) -> None:  # noqa: ARG001 - each command takes what was typed
    """Print the page."""
    from dpselect.command.completion_tree import tree

    sys.stdout.write(page(tree()))


def page(root: Place) -> str:
    """The whole page. It names no date and no version, so that it changes only where the command does."""
    return "".join(f"{line}\n" for line in _lines(root))


def _lines(root: Place) -> Iterator[str]:
    yield '.TH DPSELECT 1 "" "dpselect" "User Commands"'
    yield from (".SH NAME", r"dpselect \- differentially private selection with exact randomness")
    yield from (".SH SYNOPSIS", r".B dpselect", r"\fICOMMAND\fR [\fIARGUMENTS\fR]")
    yield ".SH DESCRIPTION"
    yield "Selects from data about people, so that no answer tells much about any one of them:"
    yield "the items that most users share, the best of some candidates, a value at a rank, all that many share."
    yield "Only the result is written to standard output."
    yield ".SH COMMANDS"
    for place in root.all():
        if place.words and not place.places:
            yield from _command(place)
    yield from (".SH EXAMPLES", *list(_verbatim(root.epilog))[1:])  # no paragraph begins below a heading
    yield from (".SH EXIT STATUS", *_pairs(STATUS))
    yield from (".SH ENVIRONMENT", *_pairs({one.name: one.meaning for one in VARIABLES}), *_pairs(SYSTEMS))
    yield ".SH SEE ALSO"
    yield "The documentation, which says what is promised and why that holds."


def _command(place: Place) -> Iterator[str]:
    yield f".SS {_quoted(f'dpselect {place.at}')}"
    yield f"{_text(place.summary[:1].upper() + place.summary[1:])}."
    for argument in place.arguments:
        if "--help" not in argument.names:
            yield from (".TP", _head(argument), _text(argument.help) or r"\&")
    yield from _verbatim(place.epilog)


def _head(argument: Argument) -> str:
    values = " ".join(rf"\fI{_text(one)}\fR" for one in argument.shown)
    if not argument.names:
        return values + (" ..." if argument.repeated else "")
    names = ", ".join(rf"\fB{_text(name)}\fR" for name in argument.names)
    return f"{names} {values}".rstrip()


def _pairs(told: dict[str, str]) -> Iterator[str]:
    for name, meaning in told.items():
        yield from (".TP", rf"\fB{_text(name)}\fR", _text(meaning))


def _verbatim(text: str) -> Iterator[str]:
    """Lines as they stand."""
    if text.strip():
        yield from (".PP", ".nf", *(_text(line) for line in text.strip("\n").splitlines()), ".fi")


def _text(text: str) -> str:
    """As roff prints it: a dash is a dash, and no line is a request."""
    escaped = re.sub(r"[\\'`^~-]", lambda found: ESCAPES[found[0]], text)
    return rf"\&{escaped}" if escaped.startswith(".") else escaped


def _quoted(text: str) -> str:
    return '"' + _text(text).replace('"', r"\(dq") + '"'


ESCAPES = {"\\": r"\e", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti", "-": r"\-"}
