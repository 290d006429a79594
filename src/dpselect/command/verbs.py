"""The commands that ask: `top`, `choose`, `histogram`, `quantile`, `union`, `users`. Options are the parameters."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpselect.command import asking, options, shared
from dpselect.errors import ParameterError
from dpselect.queries.facts import Facts
from dpselect.questions.parts import method_names
from dpselect.questions.payment import Payment
from dpselect.questions.questions import QUESTIONS, Question, Scores

if TYPE_CHECKING:
    from dpselect.release.release import Release

OF_TEXTS = ("ngrams", "tokenizer", "lower", "shares")


@dataclass(frozen=True)
class Verb:
    """One of them: the verb that it is in Python, and what of the data and of the price it takes."""

    verb: str
    facts: tuple[str, ...] = ()
    price: tuple[str, ...] = ("epsilon", "share", "delta")
    doing: str = "counting distinct users"
    items: bool = True  # is it about items?

    @property
    def question(self) -> type[Question]:
        """Whose fields are options."""
        return QUESTIONS[self.verb]

    @property
    def fields(self) -> options.Fields:
        """The parameters of the question and of its price."""
        return {**self.question.flat_fields(), **options.some(Payment.flat_fields(), self.price)}


BOUND = "max_items_per_user"
NEAR = ("epsilon", "share", "within", "delta")
VERBS = {
    "top": Verb("top_k", (BOUND, "exclude"), NEAR),
    "choose": Verb("choose"),
    "histogram": Verb("histogram", (BOUND,)),
    "quantile": Verb("quantile", (), NEAR),
    "union": Verb(
        "union",
        (BOUND, "exclude", *OF_TEXTS),
        ("epsilon", "share", "threshold", "delta"),
        "finding what enough users share",
    ),
    "users": Verb("users", (), NEAR, items=False),
}
SCORES = ("sensitivity", "monotonic", "neighbors")  # of candidates, which `choose` takes in place of events


def add(name: str, command: argparse.ArgumentParser) -> None:
    """The options of one of them."""
    one = VERBS[name]
    item = " --item COLUMN" if one.items else ""
    command.usage = f"{command.prog} FILE... --user COLUMN{item} --epsilon E [options]"
    data = command.add_argument_group("the data")
    scored = "candidates with scores, or events of users" if name == "choose" else shared.SOURCE
    shared.files(data, scored)
    shared.rows(
        data,
        options.some(Facts.flat_fields(), one.facts),
        text=name == "union",
        item=one.items,
        split=one.items and name != "quantile",
    )
    asked = command.add_argument_group("the question")
    options.add(asked, one.question.flat_fields())
    for action in asked._group_actions:
        if action.dest == "method":
            names = method_names(one.verb)
            action.words, action.help = names, f"{action.help}: {', '.join(names)}"  # type: ignore[attr-defined]
    options.add(command.add_argument_group("the price"), options.some(Payment.flat_fields(), one.price))
    if name == "choose":
        scores = command.add_argument_group("or a choice among candidates, each with a score")
        options.option(scores, "--label", metavar="COLUMN", help="the candidates; each must occur once")
        options.option(scores, "--score", metavar="COLUMN", help="their scores, computed from private data")
        options.add(scores, options.some(Scores.flat_fields(), SCORES))
    shared.budget(command)
    shared.gateway(command)
    shared.result(command, lines=name == "union")


def examples(name: str) -> str:
    """What the help shows."""
    from dpselect.command.examples import EXAMPLES, TERMS

    return f"{EXAMPLES[name]}{TERMS}"


def run(args: argparse.Namespace) -> None:
    """Ask, and write the answer; a set may be lines, and loses nothing by that."""
    one = VERBS[args.command]
    if args.command == "choose" and by_score(args):
        asking.answer(args, lambda _: of_scores(args))
        return
    asking.put(
        args, one.verb, options.read(args, one.fields, columns_of(args)), one.doing, of_a_set=args.command == "union"
    )


def columns_of(args: argparse.Namespace) -> Mapping[str, list[str] | None]:
    """Of which columns the items of a list are."""
    item = getattr(args, "item", None)
    return {"groups": getattr(args, "by", None), **dict.fromkeys(("domain", "exclude", "popular"), item)}


# ---- candidates with scores -------------------------------------------------------------------------------


def by_score(args: argparse.Namespace) -> bool:
    """Which of its two questions `choose` was asked; half of each is a mistake."""
    scores = options.given(args, ("label", "score", *SCORES))
    if not scores:
        return False
    events = [*asking.ROWS, *VERBS["choose"].question.flat_names(), "delta"]
    other = options.given(args, [name for name in events if name not in ("table", "method")])
    if args.gateway is not None:
        other = ["gateway"]
    if other:
        why = "candidates with scores are asked for here, and have no users, items or domain"
        raise ParameterError(f"--{scores[0]}", f"be left out with {options.named(args, other[0])}", "a value", why)
    for name in ("label", "score"):
        if name not in scores:
            raise ParameterError(f"--{name}", "be given too", "nothing")
    return True


def of_scores(args: argparse.Namespace) -> Release:
    """The answer to a question about scores."""
    from dpselect.engines.duckdb.candidates import read_candidates
    from dpselect.queries.choose import choose

    said: dict[str, Any] = {name: getattr(args, name) for name in options.given(args, (*SCORES, "method"))}
    return choose(
        read_candidates(asking.source_of(args), args.label, args.score, table=args.table),
        epsilon=args.epsilon,
        share=args.share,
        fresh=args.fresh,
        **said,
        **asking.payment(args),
    )
