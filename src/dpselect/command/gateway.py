"""`dpselect gateway`: check settings, apply them, and make tokens. Nothing here listens to the network."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from dpselect.command.parser import add_subcommand
from dpselect.errors import ParameterError, install_hint

if TYPE_CHECKING:
    from dpselect.gateway.settings.values import Settings

EXAMPLES = """
examples:
  dpselect gateway example
      A complete settings file with a comment for every key, to start your own gateway.toml from.
  dpselect gateway check gateway.toml
      Every mistake with its place; if there is none, warnings.
  dpselect gateway check gateway.toml --sources
      Also check that the sources have these columns, by their schemas. No row is read, but for columns whose types
      are declared: how many of their values are missing is not private.
  dpselect gateway apply gateway.toml
      Change promises and quotas in the ledger to what the settings say; never done by a start, so that no edit of a
      file raises a promise.
  dpselect gateway token --name ann
      A new token for ann, shown once, and the line for the settings, from which the token cannot be recovered.

exit status: 0 done, 2 the settings have mistakes, or a source does not fit them, 130 interrupted, 1 anything else.
"""


def options(command: argparse.ArgumentParser) -> None:
    """Add the actions of the command and their arguments."""
    actions = command.add_subparsers(dest="action", metavar="ACTION", title="actions", required=True)

    def action(act: Callable[[argparse.Namespace], None], summary: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = add_subcommand(actions, act.__name__, summary)
        parser.set_defaults(act=act)
        return parser

    check_options = action(check, "show every mistake in a settings file, or summarise what it declares")
    check_options.add_argument("file", metavar="FILE", help="the settings, in TOML")
    check_options.add_argument(
        "--sources", action="store_true", help="check the schemas of the sources too, and the values of declared types"
    )
    apply_options = action(apply, "change promises and quotas in the ledger to what the settings say")
    apply_options.add_argument("file", metavar="FILE", help="the settings, in TOML")
    token_options = action(token, "make a token, and its line for the settings")
    token_options.add_argument("--name", metavar="NAME", help="who it is for")
    action(example, "print a complete settings file with a comment for every key")


def run(args: argparse.Namespace) -> None:
    """Run one action."""
    args.act(args)


def check_installed(parameter: str, *packages: str) -> None:
    """Raise ParameterError for an optional package that is missing."""
    from importlib.util import find_spec

    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        must, hint = f"have {', '.join(missing)} installed", install_hint("gateway")
        raise ParameterError(parameter, must, "an installation without", hint)


def check(args: argparse.Namespace) -> None:
    """Print what a settings file declares, or raise SettingsError with every mistake."""
    check_installed("gateway check", "pydantic")
    from dpselect.gateway import declared
    from dpselect.gateway.settings.checks import warnings
    from dpselect.gateway.settings.reading import read

    settings = read(args.file)
    cautions = [*warnings(settings, args.file), *declared.compare(settings)]
    lines = [f"{args.file} has no mistakes", *(f"mind: {caution}" for caution in cautions)]
    sys.stdout.write("\n".join(lines) + "\n")
    if args.sources:
        _check_sources(args.file, settings)


def _check_sources(file: str, settings: Settings) -> None:
    from dpselect.gateway.settings.checks import check_sources, missing_in_sources
    from dpselect.gateway.settings.reading import Mistake, SettingsError

    mistakes = check_sources(settings)
    if mistakes:
        raise SettingsError(file, [Mistake(sentence) for sentence in mistakes])
    sys.stdout.write("every source has the columns that are declared\n")
    sys.stdout.write("".join(f"{sentence}\n" for sentence in missing_in_sources(settings)))


def apply(args: argparse.Namespace) -> None:
    """Change promises and quotas in the ledger to those of the settings.

    Raises: SettingsError for changes that are not allowed.
    """
    check_installed("gateway apply", "pydantic")
    from dpselect.gateway import declared
    from dpselect.gateway.books import Books
    from dpselect.gateway.log import Log
    from dpselect.gateway.settings.reading import SettingsError, read

    settings = read(args.file)
    books = Books(settings.server.ledger, Log(io.StringIO()))
    try:
        started = books.begin(settings)
        changed, refused = declared.apply(settings, books.ledger)
    finally:
        books.close()
    lines = [*started, *changed]
    sys.stdout.write(
        "".join(f"{line}\n" for line in lines or ["the ledger is as the settings say"] if lines or not refused)
    )
    if refused:
        raise SettingsError(args.file, refused)


def token(args: argparse.Namespace) -> None:
    """Print a new token, and its digest as a line for the settings; the token is stored nowhere."""
    from dpselect.gateway.settings.tokens import digest, fresh_token
    from dpselect.ledger import clean_name

    name = None if args.name is None else clean_name("--name", args.name)
    new_token = fresh_token()
    recipient = "the person" if name is None else name
    sys.stderr.write(f"the first line is the token, which is shown only once: give it to {recipient}\n")
    sys.stderr.write(f"the second line goes into the settings, under [people.{_format_toml_key(name)}]\n")
    sys.stdout.write(f'{new_token}\ntoken = "sha256:{digest(new_token)}"\n')


def _format_toml_key(name: str | None) -> str:
    """Format a name as a key in a TOML heading."""
    import re

    if name is None:
        return "NAME"
    return name if re.fullmatch("[A-Za-z0-9_-]+", name) else '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def example(args: argparse.Namespace) -> None:  # noqa: ARG001 - each action takes what was typed
    """Print a complete settings file."""
    from dpselect.gateway.settings.tokens import example as text

    sys.stdout.write(text())
