"""The command line, put together from one file for each command, which is imported when that command is asked for."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any, NoReturn, Protocol, cast

ASKING = ("top", "choose", "histogram", "quantile", "union", "users")
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
    "doctor": "versions, extras, and whether engines and ledgers work",
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


class Command(Protocol):
    """What the file of a command holds."""

    EXAMPLES: str

    def options(self, command: Parser) -> None:
        """Add what it understands."""
        ...

    def run(self, args: argparse.Namespace) -> None:
        """Do it; an error of ours where it cannot be done."""
        ...


class Parser(argparse.ArgumentParser):
    """argparse that fills in a command when it is asked for, and answers a mistake with a hint at what was meant.

    `fill` adds the options. Until then a command has a name and a summary, and its file is not imported.
    """

    epilog: str | None

    def __init__(self, *args: Any, fill: Callable[[Parser], None] | None = None, **settings: Any) -> None:
        # A script written today must not change its meaning when an option is added: no abbreviations.
        plain = {"allow_abbrev": False, "formatter_class": Lines, "add_help": False}
        super().__init__(*args, **{**plain, **settings})
        self.add_argument("-h", "--help", action=Help, nargs=0, help="show this and exit")
        self._fill = fill
        self._words: Sequence[str] | None = None
        self.examples: Callable[[], str] = partial(str, self.epilog or "")  # read where the help is shown
        # -1e-6 is a number and not an option, so that whoever reads it can say what is wrong with it; so is -5,5.
        self._negative_number_matcher = re.compile(r"^-(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?(,.*)?$")

    def filled(self) -> Parser:
        """This parser, with all of its options."""
        if self._fill is not None:
            fill, self._fill = self._fill, None
            fill(self)
        return self

    def commands(self) -> Mapping[str, Parser]:
        """The commands, or the actions of one, by name; they may lack their options."""
        found = [one.choices for one in self._actions if isinstance(one, argparse._SubParsersAction)]
        return found[0] if found else {}

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse does; the words are kept for a hint."""
        self._words = sys.argv[1:] if args is None else list(args)
        self.filled()
        return super().parse_known_args([*self.apart(self._words)], namespace)

    def apart(self, words: Sequence[str]) -> Iterator[str]:
        """The words; an option of several values stands before each of them: `--q .1 .9` is `--q .1 --q .9`.

        Where a FILE has still to come, a word that follows the first value is that. A file that follows one of more
        is refused: it would be a value, and its rows would not be asked.
        """
        many = (argparse._AppendAction, argparse._ExtendAction)
        missing = any(not one.option_strings and one.nargs == "+" for one in self._actions)
        option, taking = "", 0
        for at, word in enumerate(words):
            if word == "--" or self.commands():
                yield from words[at:]
                return
            if word.startswith("-") and len(word) > 1 and not self._negative_number_matcher.match(word):
                name, equals, _ = word.partition("=")
                action = self._option_string_actions.get(name)
                option = name if isinstance(action, many) else ""
                taking = 0 if action is None or equals or action.nargs == 0 else 1
            elif taking:
                taking -= 1
            elif option and not missing:
                if os.path.isfile(word):
                    self.error(f"{word} is a file, and would be a value of {option}: name all files before it")
                yield option
            else:
                missing, option = False, ""
            yield word

    def format_help(self) -> str:
        """The whole help."""
        self.epilog = self.examples().strip("\n")
        return super().format_help()

    def short_help(self) -> str:
        """Return the help without rare options, and with two of the examples."""
        rare = {one: one.help for one in self._actions if getattr(one, "rare", False)}
        hidden = rare | {one: one.help for one in self._actions if isinstance(one, Help)}
        if not rare:
            return self.format_help()
        whole = self.examples().strip("\n")
        begun = [*re.finditer(rf"^  {self.prog} ", whole, re.MULTILINE)]
        some = whole[: begun[2].start()] if len(begun) > 2 else whole
        for one in hidden:
            one.help = argparse.SUPPRESS
        try:
            self.epilog = f"{some}\n{len(rare)} more options, and more examples: {self.prog} --help-all"
            return super().format_help()
        finally:
            for one, said in hidden.items():
                one.help = said

    # ---- mistakes -------------------------------------------------------------------------------------------

    def error(self, message: str) -> NoReturn:
        """The mistake and a hint in place of a wall of options; exit status 2."""
        hint = self.hint(message) or f"{self.asked().prog} --help shows examples"
        self.exit(2, f"{self.prog}: {message}\nhint: {hint}\n")

    def hint(self, message: str) -> str | None:
        """What was meant, where that can be guessed."""
        lost = r"unrecognized arguments|the following arguments are required|one of the arguments .* is required"
        choice = re.match(r"argument ([^:]*): invalid choice: '([^']*)' \(choose from (.*)\)", message)
        if choice:
            return near_only(choice[2], re.findall(r"[\w-]+", choice[3]))
        if re.match(lost, message):
            asked = self.asked()
            first = next(asked.unknown(), None)
            return None if first is None else near_only(first, asked.known()) or self.whose(first)
        return None

    def asked(self) -> Parser:
        """The command, or the action of one, that the words came to."""
        return next((one.asked() for one in self.commands().values() if one._words is not None), self)

    def known(self) -> list[str]:
        """The options of this command."""
        return sorted(self.filled()._option_string_actions)

    def unknown(self) -> Iterator[str]:
        """The options among the words that this command has not."""
        known = self.known()
        for word in self._words or ():
            name = word.partition("=")[0]
            if word == "--":
                return
            if len(word) < 2 or word[0] != "-" or self._negative_number_matcher.match(word):
                continue
            if name not in known and (word.startswith("--") or word[:2] not in known):  # -k10 is -k 10
                yield name

    def whose(self, option: str) -> str | None:
        """The commands that have this option, where the one that was typed has not."""
        having = [name for name, one in self.commands().items() if option in one.everywhere()]
        return f"{option} belongs to {', '.join(f'{self.prog} {name}' for name in having)}" if having else None

    def everywhere(self) -> set[str]:
        """The options of this command and of its actions."""
        return {*self.known(), *(option for one in self.commands().values() for option in one.everywhere())}


class Lines(argparse.RawDescriptionHelpFormatter):
    """Options and what they are on one line, where that has the room."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=32)


class Help(argparse.Action):
    """Show the usual options; `--help-all` shows everything."""

    def __call__(self, parser: Any, *rest: Any) -> None:
        """Print it, and end."""
        text = parser.format_help() if rest[-1] == "--help-all" else parser.short_help()
        parser._print_message(text, sys.stdout)
        parser.exit()


def subcommand(commands: Any, name: str, summary: str, **settings: Any) -> Any:
    """A command, or an action of one, that says what it is for."""
    stop = "" if summary.endswith("?") else "."
    return commands.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}{stop}", **settings)


def near_only(word: str, known: Sequence[str]) -> str | None:
    """A hint only where some name is near, or begins so."""
    from difflib import get_close_matches

    if elsewhere := _elsewhere(word, known):
        return meant(elsewhere)
    begun = [one for one in known if len(word) > len("--e") and one.startswith(word)]
    return meant(begun[:2] or get_close_matches(word, known, n=2, cutoff=0.75 if word.startswith("-") else 0.5))


def _elsewhere(word: str, known: Sequence[str]) -> Sequence[str]:
    """What strangers and other tools call so."""
    from dpselect._ground.keywords import choices_with_alias, parameters_with_alias

    if not word.startswith("--"):
        return choices_with_alias(word, known)
    options = {f"--{one.replace('_', '-')}" for one in parameters_with_alias(word.removeprefix("--").replace("-", "_"))}
    return [one for one in known if one in options]


def meant(names: Sequence[str]) -> str | None:
    """A guess as a question."""
    return f"did you mean {' or '.join(names)}?" if names else None


def parser() -> Parser:
    """The whole command line. What comes of it has `run`, which does what was asked."""
    root = Parser(
        prog="dpselect",
        description="Differentially private selection: top k, best option, quantiles, set union.",
        epilog=EXAMPLES.strip("\n"),
    )
    root.add_argument("--version", action="store_true", help="show the version and exit")
    commands = root.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name, summary in COMMANDS.items():
        subcommand(commands, name, summary, fill=filler(name))
    return root


def filler(name: str) -> Callable[[Parser], None]:
    """What adds the options, the examples and the action of a command, from its own file."""

    def fill(command: Parser) -> None:
        if name in ASKING:
            from dpselect.command import verbs

            verbs.add(name, command)
            command.examples, run = partial(verbs.examples, name), verbs.run
        else:
            file = cast("Command", import_module(f"dpselect.command.{name}"))
            file.options(command)
            command.examples, run = partial(str, file.EXAMPLES), file.run
        if any(getattr(one, "rare", False) for one in command._actions):
            command.add_argument("--help-all", action=Help, nargs=0, help="show every option, and more examples")
        command.set_defaults(run=run, usual=command.get_default)

    return fill
