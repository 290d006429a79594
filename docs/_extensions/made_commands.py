"""The reference of the command: what `--help` says of each command and of its actions."""

from __future__ import annotations

import os
from collections.abc import Iterator

from dpselect.command.parser import Parser, build_parser


def commands(_page: str, _argument: str) -> str:
    """A section for each command, a smaller one for each of its actions."""
    os.environ["COLUMNS"] = "100"  # argparse breaks its lines at the width of the terminal
    return "\n\n".join(_sections(build_parser(), 1))


def _sections(command: Parser, depth: int) -> Iterator[str]:
    if depth > 1:
        yield f"{'#' * depth} {command.prog}\n\n```text\n{command.load_options().format_help().strip()}\n```"
    for one in command.load_options().commands().values():
        yield from _sections(one, depth + 1)
