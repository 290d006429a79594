"""The command line as values: what can stand at each place, for the shells' completion and the manual page.

It is read from the parser, so that a new option is in all of them. Values that the parser leaves to the query, such as
the names of methods, come from where they are defined.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dpselect.command.parser import Parser, parser

FILES = {"FILE", "FILE:COLUMN", "RELEASE", "PICTURE", "PAGE", "LINES"}
FOLDERS = {"DIR"}


@dataclass(frozen=True)
class Argument:
    """An option, or an argument without a name, and what it takes: `values` if they are few, `paths` if on disk."""

    names: tuple[str, ...]
    shown: tuple[str, ...]  # what stands for each of its values: FILE, or LOW and HIGH
    help: str
    values: tuple[str, ...] = ()
    paths: str = ""  # "files", "folders", or neither
    repeated: bool = False
    optional: bool = False

    @property
    def takes(self) -> bool:
        """Does a value follow its name?"""
        return bool(self.shown)


@dataclass(frozen=True)
class Place:
    """A command, or an action of one: the words that lead there, and what may stand after them."""

    words: tuple[str, ...]
    summary: str
    arguments: tuple[Argument, ...]
    places: tuple[Place, ...]
    epilog: str

    @property
    def at(self) -> str:
        """Its words as one text; empty for the command itself."""
        return " ".join(self.words)

    @property
    def options(self) -> list[Argument]:
        """What has a name."""
        return [one for one in self.arguments if one.names]

    @property
    def positions(self) -> list[Argument]:
        """What has none."""
        return [one for one in self.arguments if not one.names]

    def all(self) -> Iterator[Place]:
        """This place, and those below it."""
        yield self
        for one in self.places:
            yield from one.all()


def tree() -> Place:
    """The whole command line."""
    return _place(parser(), (), "")


def _place(command: Parser, words: tuple[str, ...], summary: str) -> Place:
    command.filled()
    below: list[Place] = []
    arguments: list[Argument] = []
    for action in command._actions:
        if isinstance(action, argparse._SubParsersAction):
            said = {one.dest: one.help or "" for one in action._choices_actions}
            below += [_place(one, (*words, name), said.get(name, "")) for name, one in action.choices.items()]
        else:
            arguments.append(_argument(command, action, words))
    return Place(words, summary, tuple(arguments), tuple(below), command.epilog or "")


def _argument(command: Parser, action: argparse.Action, words: tuple[str, ...]) -> Argument:
    names = tuple(action.option_strings)
    count = 0 if action.nargs == 0 else action.nargs if isinstance(action.nargs, int) else 1
    meta = action.metavar or (action.dest.upper() if names else action.dest)
    shown = tuple(meta) if isinstance(meta, tuple) else (meta,) * count
    last = shown[-1] if shown else ""
    return Argument(
        names=names,
        shown=shown,
        help=command._get_formatter()._expand_help(action) if action.help else "",
        values=tuple(str(one) for one in action.choices or _known(words[:1], names[-1:])),
        paths="files" if last in FILES else "folders" if last in FOLDERS else "",
        repeated=isinstance(action, argparse._AppendAction) or action.nargs in ("+", "*"),
        optional=action.nargs in ("?", "*"),
    )


# ---- values that a query checks, not the parser ---------------------------------------------------------------


def _known(command: tuple[str, ...], option: tuple[str, ...]) -> list[str]:
    """The values of an option that has few, in the order in which its help has them."""
    find = KNOWN.get((*command, *option)) or KNOWN.get(option)
    return [] if find is None else find()


def _methods(verb: str) -> Callable[[], list[str]]:
    def found() -> list[str]:
        from dpselect._ground.methods import AUTO, names

        return [*([] if verb == "choose" else [AUTO]), *names(verb)]

    return found


def _periods() -> list[str]:
    from dpselect._ground.periods import SORTS

    return list(SORTS)


def _per_user() -> list[str]:
    from dpselect.engines.port import PerUser

    return [str(one) for one in PerUser]


def _neighbors() -> list[str]:
    from dpselect._ground.privacy import Neighbors

    return [str(one) for one in Neighbors]


def _tokenizers() -> list[str]:
    from dpselect.texts.tokenizer import SENTENCES, SPACES, WORDS

    return [WORDS, SPACES, SENTENCES]


KNOWN: dict[tuple[str, ...], Callable[[], list[str]]] = {
    ("top", "--method"): _methods("top_k"),
    ("choose", "--method"): _methods("choose"),
    ("union", "--method"): _methods("union"),
    ("union", "--tokenizer"): _tokenizers,
    ("quantile", "--per-user"): _per_user,
    ("choose", "--neighbors"): _neighbors,
    ("--period",): _periods,
}
