"""`dpselect completion`: a script with which a shell completes commands, options, their values and file names."""

from __future__ import annotations

import argparse
import sys

EXAMPLES = """
examples:
  dpselect completion bash > ~/.local/share/bash-completion/completions/dpselect
      For every bash that is started from now on, where the package bash-completion is installed.
  source <(dpselect completion bash)
      For this bash; the same line in ~/.bashrc is for every one, and takes a moment at each start.
  dpselect completion zsh > ~/.zfunc/_dpselect
      For zsh, where ~/.zshrc has: fpath=(~/.zfunc $fpath); autoload -Uz compinit; compinit
  dpselect completion fish > ~/.config/fish/completions/dpselect.fish
      For fish.

A folder that is not there yet has to be made: mkdir -p ~/.local/share/bash-completion/completions
The script is text: completing starts no Python and reads no data. Make it again after an update.
exit status: 0 done, 2 a parameter is wrong, 4 the output cannot be written, 1 anything else.
"""
SHELLS = ("bash", "zsh", "fish")


def options(command: argparse.ArgumentParser) -> None:
    """What it understands."""
    command.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))


def run(args: argparse.Namespace) -> None:
    """Print the script."""
    from dpselect.command import completion_bash, completion_fish, completion_zsh
    from dpselect.command.completion_tree import tree

    script = {"bash": completion_bash.script, "zsh": completion_zsh.script, "fish": completion_fish.script}
    sys.stdout.write(script[args.shell](tree()))
