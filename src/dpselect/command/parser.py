"""The parser of the command line. The module of a command is imported when that command is used."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any, NoReturn, Protocol, cast

QUESTION_COMMANDS = ("top", "choose", "histogram", "quantile", "union", "users")
COMMANDS = {
    "top": "the k items that most users share, ranked",
    "choose": "the best of some candidates",
    "histogram": "how many users have each item of a known domain, all at once",
    "quantile": "the median, or other quantiles, of one value per user",
    "union": "all items that enough users share: a vocabulary, the keys of a GROUP BY, n-grams of a text",
    "users": "how many users there are, in total or in listed groups",
    "demo": "a private top ten of invented data, to see it work",
    "ledger": "budgets: who may spend how much, and what it was spent on",
    "check": "check that a release's promise follows from its question, and that a ledger paid for it",
    "plan": "forecasts at several budgets, before anything is spent",
    "prepare": "sort the rows of a source once, so that many questions are answered quickly",
    "serve": "a gateway over HTTP: many people ask under one promise, through web pages or an API",
    "gateway": "settings of a gateway: checked, an example, and tokens for people",
    "mcp": "questions as tools for an agent, over the Model Context Protocol",
    "inspect": "problems of a source, for its owner only: not private",
    "completion": "a script with which bash, zsh or fish completes commands, options and file names",
}

EXAMPLES = """
examples:
  dpselect demo
      See it work on invented data.
  dpselect top plays.parquet --user user --item artist -k 10 --epsilon 1 --delta 1e-6
      The ten artists that most users played.
  dpselect choose models.csv --label model --score correct --epsilon 1
      The best of some candidates by a private score.
  dpselect histogram visits.parquet --user visitor --item month --domain-range 1..12 --epsilon 1
      The visitors of each month.
  dpselect quantile people.csv --user id --item age --type age=BIGINT --q 0.5 --bounds 0 120 --epsilon 1
      The median of one value per user.
  dpselect union plays.parquet --user user --item artist --epsilon 1
      All artists that enough users played.
  dpselect union mail.parquet --user sender --text body --ngrams 1-3 --epsilon 3 -o ngrams.txt
      The words, and up to three in a row, that enough people write.

See dpselect COMMAND --help for more.
"""


class CommandModule(Protocol):
    """The module of a command."""

    EXAMPLES: str

    def options(self, command: Parser) -> None:
        """Add the arguments of the command."""
        ...

    def run(self, args: argparse.Namespace) -> None:
        """Run the command, or raise a DpselectError."""
        ...


class Parser(argparse.ArgumentParser):
    """Argument parser that loads a command's options on demand, and answers mistakes with a hint.

    `fill` adds the options. Until it is called, a command has a name and a summary, and its module is not imported.
    """

    epilog: str | None

    def __init__(self, *args: Any, fill: Callable[[Parser], None] | None = None, **settings: Any) -> None:
        # No abbreviations: an option that is added later must not change what a script means.
        defaults = {"allow_abbrev": False, "formatter_class": HelpFormatter, "add_help": False}
        super().__init__(*args, **{**defaults, **settings})
        self.add_argument("-h", "--help", action=HelpAction, nargs=0, help="show this and exit")
        self._fill = fill
        self._words: Sequence[str] | None = None
        self.examples: Callable[[], str] = partial(str, self.epilog or "")  # called when the help is shown
        # -1e-6 and -5,5 are values, so that the parameter's own check refuses them with its message.
        self._negative_number_matcher = re.compile(r"^-(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?(,.*)?$")

    def load_options(self) -> Parser:
        """Return this parser, with all of its options."""
        if self._fill is not None:
            fill, self._fill = self._fill, None
            fill(self)
        return self

    def commands(self) -> Mapping[str, Parser]:
        """Return the commands, or the actions of one, by name; their options may not be loaded."""
        choices = [action.choices for action in self._actions if isinstance(action, argparse._SubParsersAction)]
        return choices[0] if choices else {}

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse as argparse does, and keep the words for a hint."""
        self._words = sys.argv[1:] if args is None else list(args)
        self.load_options()
        return super().parse_known_args([*self._repeat_options(self._words)], namespace)

    def _repeat_options(self, words: Sequence[str]) -> Iterator[str]:
        """Yield the words, with an option of several values before each of them: `--q .1 .9` is `--q .1 --q .9`.

        Where a FILE has still to come, the second word after such an option is that file. Otherwise a word that is an
        existing file is refused: it would be taken for a value, and its rows would not be counted.
        """
        list_actions = (argparse._AppendAction, argparse._ExtendAction)
        needs_file = any(not action.option_strings and action.nargs == "+" for action in self._actions)
        option, values_to_come = "", 0
        for index, word in enumerate(words):
            if word == "--" or self.commands():
                yield from words[index:]
                return
            if word.startswith("-") and len(word) > 1 and not self._negative_number_matcher.match(word):
                name, equals, _ = word.partition("=")
                action = self._option_string_actions.get(name)
                option = name if isinstance(action, list_actions) else ""
                values_to_come = 0 if action is None or equals or action.nargs == 0 else 1
            elif values_to_come:
                values_to_come -= 1
            elif option and not needs_file:
                if os.path.isfile(word):
                    self.error(f"{word} is a file, and would be a value of {option}: name all files before it")
                yield option
            else:
                needs_file, option = False, ""
            yield word

    def format_help(self) -> str:
        """Return the whole help."""
        self.epilog = self.examples().strip("\n")
        return super().format_help()

    def short_help(self) -> str:
        """Return the help without rare options, and with two of the examples."""
        rare_help = {action: action.help for action in self._actions if getattr(action, "rare", False)}
        hidden_help = rare_help | {action: action.help for action in self._actions if isinstance(action, HelpAction)}
        if not rare_help:
            return self.format_help()
        all_examples = self.examples().strip("\n")
        example_starts = [*re.finditer(rf"^  {self.prog} ", all_examples, re.MULTILINE)]
        first_examples = all_examples[: example_starts[2].start()] if len(example_starts) > 2 else all_examples
        for action in hidden_help:
            action.help = argparse.SUPPRESS
        try:
            self.epilog = f"{first_examples}\n{len(rare_help)} more options, and more examples: {self.prog} --help-all"
            return super().format_help()
        finally:
            for action, help_text in hidden_help.items():
                action.help = help_text

    # ---- mistakes -------------------------------------------------------------------------------------------

    def error(self, message: str) -> NoReturn:
        """Print the mistake and a hint, and exit with status 2."""
        hint = self._find_hint(message) or f"{self._innermost().prog} --help shows examples"
        self.exit(2, f"{self.prog}: {message}\nhint: {hint}\n")

    def _find_hint(self, message: str) -> str | None:
        """Return a hint at what was meant, or None if it cannot be guessed."""
        missing_or_unknown = (
            r"unrecognized arguments|the following arguments are required|one of the arguments .* is required"
        )
        choice = re.match(r"argument ([^:]*): invalid choice: '([^']*)' \(choose from (.*)\)", message)
        if choice:
            return suggest(choice[2], re.findall(r"[\w-]+", choice[3]))
        if re.match(missing_or_unknown, message):
            command = self._innermost()
            unknown_option = next(command._unknown_options(), None)
            return (
                None
                if unknown_option is None
                else suggest(unknown_option, command.option_names()) or self._hint_at_owner(unknown_option)
            )
        return None

    def _innermost(self) -> Parser:
        """Return the command, or the action of one, that parsed the words."""
        return next((command._innermost() for command in self.commands().values() if command._words is not None), self)

    def option_names(self) -> list[str]:
        """Return the options of this command."""
        return sorted(self.load_options()._option_string_actions)

    def _unknown_options(self) -> Iterator[str]:
        """Yield the options among the words that this command lacks."""
        known_options = self.option_names()
        for word in self._words or ():
            name = word.partition("=")[0]
            if word == "--":
                return
            if len(word) < 2 or word[0] != "-" or self._negative_number_matcher.match(word):
                continue
            if name not in known_options and (word.startswith("--") or word[:2] not in known_options):  # -k10 is -k 10
                yield name

    def _hint_at_owner(self, option: str) -> str | None:
        """Return a sentence with the commands that have this option, or None."""
        owners = [name for name, command in self.commands().items() if option in command._all_option_names()]
        return f"{option} belongs to {', '.join(f'{self.prog} {name}' for name in owners)}" if owners else None

    def _all_option_names(self) -> set[str]:
        """Return the options of this command and of its actions."""
        return {
            *self.option_names(),
            *(option for command in self.commands().values() for option in command._all_option_names()),
        }


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Help formatter with an option and its help on one line, if there is room."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=32)


class HelpAction(argparse.Action):
    """Action that shows the usual options; as `--help-all` it shows all."""

    def __call__(self, parser: Any, *arguments: Any) -> None:
        """Print the help, and exit."""
        text = parser.format_help() if arguments[-1] == "--help-all" else parser.short_help()
        parser._print_message(text, sys.stdout)
        parser.exit()


def add_subcommand(commands: Any, name: str, summary: str, **settings: Any) -> Any:
    """Add a command, or an action of one, with its summary."""
    full_stop = "" if summary.endswith("?") else "."
    return commands.add_parser(
        name, help=summary, description=f"{summary[0].upper()}{summary[1:]}{full_stop}", **settings
    )


def suggest(word: str, known_names: Sequence[str]) -> str | None:
    """Return the known names that are close to a word, as a question; None if none is."""
    from difflib import get_close_matches

    if translated := _translate_name(word, known_names):
        return _format_suggestion(translated)
    completions = [name for name in known_names if len(word) > len("--e") and name.startswith(word)]
    return _format_suggestion(
        completions[:2] or get_close_matches(word, known_names, n=2, cutoff=0.75 if word.startswith("-") else 0.5)
    )


def _translate_name(word: str, known_names: Sequence[str]) -> Sequence[str]:
    """Return the known names for a name that other tools use."""
    from dpselect._ground.keywords import also_called, choices_meant

    if not word.startswith("--"):
        return choices_meant(word, known_names)
    options = {f"--{name.replace('_', '-')}" for name in also_called(word.removeprefix("--").replace("-", "_"))}
    return [name for name in known_names if name in options]


def _format_suggestion(names: Sequence[str]) -> str | None:
    """Format names as a question, or return None if there are none."""
    return f"did you mean {' or '.join(names)}?" if names else None


def build_parser() -> Parser:
    """Return the parser of the whole command line; what it parses has `run`, the function to call."""
    root = Parser(
        prog="dpselect",
        description="Differentially private selection: top k, best option, quantiles, set union.",
        epilog=EXAMPLES.strip("\n"),
    )
    root.add_argument("--version", action="store_true", help="show the version and exit")
    commands = root.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name, summary in COMMANDS.items():
        add_subcommand(commands, name, summary, fill=_make_filler(name))
    return root


def _make_filler(name: str) -> Callable[[Parser], None]:
    """Return a function that adds the options, the examples and the `run` of a command, from its module."""

    def fill(command: Parser) -> None:
        if name in QUESTION_COMMANDS:
            from dpselect.command import verbs

            verbs.add_options(name, command)
            command.examples, run = partial(verbs.format_examples, name), verbs.run
        else:
            module = cast("CommandModule", import_module(f"dpselect.command.{name}"))
            module.options(command)
            command.examples, run = partial(str, module.EXAMPLES), module.run
        if any(getattr(action, "rare", False) for action in command._actions):
            command.add_argument("--help-all", action=HelpAction, nargs=0, help="show every option, and more examples")
        command.set_defaults(run=run, usual=command.get_default)

    return fill
