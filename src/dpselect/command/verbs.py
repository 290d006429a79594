"""The commands that ask: `top`, `choose`, `histogram`, `quantile`, `union`, `users`. Options are their parameters."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dpselect._ground.dataclass import dataclass
from dpselect.command import asking, options, shared
from dpselect.errors import ParameterError
from dpselect.queries.facts import Facts
from dpselect.questions.parts import Payment, method_names
from dpselect.questions.questions import QUESTIONS, Question, Scores

if TYPE_CHECKING:
    from dpselect.release.release import Release

_TEXT_FIELDS = ("ngrams", "tokenizer", "lower", "shares")


@dataclass(frozen=True)
class Verb:
    """A command that asks: its Python verb, and the parameters of data and price that it takes."""

    verb: str
    facts: tuple[str, ...] = ()
    price: tuple[str, ...] = ("epsilon", "share", "delta")
    activity: str = "counting distinct users"
    has_items: bool = True

    @property
    def question(self) -> type[Question]:
        """The question whose fields are options."""
        return QUESTIONS[self.verb]

    @property
    def fields(self) -> options.Fields:
        """The parameters of the question and of its price."""
        return {**self.question.flat_fields(), **options.select_fields(Payment.flat_fields(), self.price)}


_BOUND_FIELD = "max_items_per_user"
_PRICE_FIELDS = ("epsilon", "share", "within", "delta")
COMMAND_VERBS = {
    "top": Verb("top_k", (_BOUND_FIELD, "exclude"), _PRICE_FIELDS),
    "choose": Verb("choose"),
    "histogram": Verb("histogram", (_BOUND_FIELD,)),
    "quantile": Verb("quantile", (), _PRICE_FIELDS),
    "union": Verb(
        "union",
        (_BOUND_FIELD, "exclude", *_TEXT_FIELDS),
        ("epsilon", "share", "threshold", "delta"),
        "finding what enough users share",
    ),
    "users": Verb("users", (), _PRICE_FIELDS, has_items=False),
}
_SCORE_OPTIONS = ("sensitivity", "monotonic", "neighbors")  # of candidates, which `choose` takes in place of events


def add_options(name: str, command: argparse.ArgumentParser) -> None:
    """Add the options of a command that asks."""
    verb = COMMAND_VERBS[name]
    item_usage = " --item COLUMN" if verb.has_items else ""
    command.usage = f"{command.prog} FILE... --user COLUMN{item_usage} --epsilon E [options]"
    data = command.add_argument_group("the data")
    source_help = "candidates with scores, or events of users" if name == "choose" else shared.SOURCE_HELP
    shared.add_files(data, source_help)
    shared.add_rows(
        data,
        options.select_fields(Facts.flat_fields(), verb.facts),
        has_text=name == "union",
        has_item=verb.has_items,
        has_split=verb.has_items and name != "quantile",
    )
    question_group = command.add_argument_group("the question")
    options.add_options(question_group, verb.question.flat_fields())
    for action in question_group._group_actions:
        if action.dest == "method":
            names = method_names(verb.verb)
            action.words, action.help = names, f"{action.help}: {', '.join(names)}"  # type: ignore[attr-defined]
    options.add_options(
        command.add_argument_group("the price"), options.select_fields(Payment.flat_fields(), verb.price)
    )
    if name == "choose":
        scores = command.add_argument_group("or a choice among candidates, each with a score")
        options.add_option(scores, "--label", metavar="COLUMN", help="the candidates; each must occur once")
        options.add_option(scores, "--score", metavar="COLUMN", help="their scores, computed from private data")
        options.add_options(scores, options.select_fields(Scores.flat_fields(), _SCORE_OPTIONS))
    shared.add_budget(command)
    shared.add_gateway(command)
    shared.add_result(command, allows_lines=name == "union")


def format_examples(name: str) -> str:
    """Return the examples and terms that end the help."""
    from dpselect.command.examples import EXAMPLES, TERMS

    return f"{EXAMPLES[name]}{TERMS}"


def run(args: argparse.Namespace) -> None:
    """Ask the question and write the answer."""
    verb = COMMAND_VERBS[args.command]
    if args.command == "choose" and _asks_by_score(args):
        asking.write_answer(args, lambda _: _choose_by_score(args))
        return
    asking.ask_question(
        args,
        verb.verb,
        options.read_values(args, verb.fields, item_columns(args)),
        verb.activity,
        is_set=args.command == "union",
    )


def item_columns(args: argparse.Namespace) -> Mapping[str, list[str] | None]:
    """Return, by list of items, the columns that its items belong to."""
    item = getattr(args, "item", None)
    return {"groups": getattr(args, "by", None), **dict.fromkeys(("domain", "exclude", "popular"), item)}


# ---- candidates with scores -------------------------------------------------------------------------------


def _asks_by_score(args: argparse.Namespace) -> bool:
    """Return whether `choose` was asked for candidates with scores.

    Raises: ParameterError for a mixture of its two questions.
    """
    scores = options.explicit_options(args, ("label", "score", *_SCORE_OPTIONS))
    if not scores:
        return False
    events = [*asking.ROW_OPTIONS, *COMMAND_VERBS["choose"].question.flat_names(), "delta"]
    conflicting = options.explicit_options(args, [name for name in events if name not in ("table", "method")])
    if args.gateway is not None:
        conflicting = ["gateway"]
    if conflicting:
        hint = "candidates with scores are asked for here, and have no users, items or domain"
        raise ParameterError(
            f"--{scores[0]}", f"be left out with {options.option_name(args, conflicting[0])}", "a value", hint
        )
    for name in ("label", "score"):
        if name not in scores:
            raise ParameterError(f"--{name}", "be given too", "nothing")
    return True


def _choose_by_score(args: argparse.Namespace) -> Release:
    """Choose among candidates by their scores."""
    from dpselect.engines.duckdb.candidates import read_candidates
    from dpselect.queries.choose import choose

    arguments: dict[str, Any] = {
        name: getattr(args, name) for name in options.explicit_options(args, (*_SCORE_OPTIONS, "method"))
    }
    return choose(
        read_candidates(asking.find_source(args), args.label, args.score, table=args.table),
        epsilon=args.epsilon,
        share=args.share,
        fresh=args.fresh,
        **arguments,
        **asking.budget_arguments(args),
    )
