"""`dpselect completion`: print a script by which a shell completes commands, options, values and file names.

shtab generates it from the parser, so it includes every new option.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Any

from dpselect.command.parser import Parser, build_parser
from dpselect.errors import ParameterError, install_hint

EXAMPLES = """
examples:
  dpselect completion bash > ~/.local/share/bash-completion/completions/dpselect
      For every new bash, if the package bash-completion is installed.
  source <(dpselect completion bash)
      For this bash only; in ~/.bashrc, for every bash, with a short delay at each start.
  dpselect completion zsh > ~/.zfunc/_dpselect
      For zsh, if ~/.zshrc has: fpath=(~/.zfunc $fpath); autoload -Uz compinit; compinit
  dpselect completion fish > ~/.config/fish/completions/dpselect.fish
      For fish.

Create the folder first if it does not exist: mkdir -p ~/.local/share/bash-completion/completions
Completion starts no Python and reads no data. Create the script again after an update.
shtab writes it: `pip install shtab`.
exit status: 0 done, 2 a parameter is wrong or shtab is not installed, 4 the output cannot be written, 1 anything else.
"""
_SHELLS = ("bash", "zsh", "fish")
_FILE_METAVARS = ("FILE", "OLD", "NEW", "FILE:COLUMN", "RELEASE", "PICTURE", "PAGE", "LINES")
_FOLDERS = ("DIR",)


def options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    command.add_argument("shell", choices=_SHELLS, metavar="SHELL", help=", ".join(_SHELLS))


def run(args: argparse.Namespace) -> None:
    """Print the completion script of a shell."""
    try:
        import shtab
    except ImportError:
        hint = install_hint("completion")
        raise ParameterError("completion", "have shtab installed", "an installation without", hint) from None
    root = build_parser()
    for action in _iter_actions(root):
        action.choices = getattr(action, "words", ()) or action.choices  # the question checks these, not the parser
        if action.metavar in _FILE_METAVARS + _FOLDERS:
            action.complete = shtab.FILE if action.metavar in _FILE_METAVARS else shtab.DIRECTORY
            action.metavar = action.metavar.replace(":", " ")  # a colon would end a word of zsh's specification
    script = shtab.complete(root, args.shell)
    sys.stdout.write(script.replace('"(*):', '"*:') + "\n")  # in zsh "(*):" would complete the first of many files only


def _iter_actions(command: Parser) -> Iterator[Any]:
    """Yield every argument of a command and of its subcommands."""
    yield from command.load_options()._actions
    for subcommand in command.commands().values():
        yield from _iter_actions(subcommand)
