"""`dpselect choose`: the best of some candidates, by their scores or by their users."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from dpselect._ground.methods import names
from dpselect.command import asking, shared
from dpselect.errors import ParameterError

if TYPE_CHECKING:
    from dpselect.release.release import Release

EXPONENTIAL = names("choose")[0]
EXAMPLES = f"""
examples:
  dpselect choose models.csv --label model --score correct --epsilon 1
      One of a list of models by a score that depends on private data, where one user moves a score by at most 1.
  dpselect choose models.csv --label model --score correct --epsilon 1 --monotonic --method permute-and-flip
      The same where one more user can only raise scores: twice as sharp.
  dpselect choose poll.csv --user voter --item option --domain red,green,blue --epsilon 0.5
      The option that most voters chose.
  dpselect choose poll.csv --user voter --item option --domain red,green,blue --epsilon 0.5 --by city
      The same in each city that enough voters are in, at the price of one: a voter counts in one city.
{shared.TERMS}"""


def options(command: shared.Group) -> None:
    """What it understands."""
    shared.files(command, "candidates with scores, or events of users")
    scores = command.add_argument_group("candidates with scores")
    scores.add_argument("--label", metavar="COLUMN", help="the candidates; each must occur once")
    scores.add_argument("--score", metavar="COLUMN", help="their scores, computed from private data")
    scores.add_argument("--sensitivity", metavar="S", help="how far one user can move any score (default 1)")
    scores.add_argument("--monotonic", action="store_true", help="one more user moves all scores the same way")
    scores.add_argument("--neighbors", help="add-remove (the default) or replace-one")
    events = command.add_argument_group("or events of users, with a known domain")
    shared.users_and_items(events)
    shared.domain(events)
    shared.price(command)
    command.add_argument("--method", help=", ".join(names("choose")))
    command.add_argument("--delta", help="with --by alone: the small probability that the promise fails (default 1e-6)")
    shared.groups(command, "the option")
    shared.budget(command)
    shared.gateway(command)
    shared.result(command)


def run(args: argparse.Namespace) -> None:
    """Ask which of the two it was asked, and write the answer."""
    if args.gateway is None and _by_score(args):
        asking.answer(args, lambda _: _of_scores(args))
        return
    given = {name: getattr(args, name) for name in ("method", "by", "max_groups_per_user")}
    asking.put(args, "choose", given | {"groups": asking.listed(args.groups), "domain": asking.domain_of(args)})


def _of_scores(args: argparse.Namespace) -> Release:
    from dpselect.engines.duckdb.candidates import read_candidates
    from dpselect.queries.choose import choose

    return choose(
        read_candidates(asking.source_of(args), args.label, args.score, table=args.table),
        epsilon=args.epsilon,
        share=args.share,
        sensitivity="1" if args.sensitivity is None else args.sensitivity,
        monotonic=args.monotonic,
        neighbors="add-remove" if args.neighbors is None else args.neighbors,
        method=args.method or EXPONENTIAL,
        fresh=args.fresh,
        **asking.payment(args),
    )


def _by_score(args: argparse.Namespace) -> bool:
    """Which of its two questions `choose` was asked; half of each is a mistake."""
    from dpselect.engines.sources.files import prepared_folder

    scores = {"--label": args.label, "--score": args.score, "--sensitivity": args.sensitivity}
    scores["--monotonic"], scores["--neighbors"] = args.monotonic or None, args.neighbors
    events = {"--user": args.user, "--item": args.item, "--where": args.where}
    events["--split"] = args.split
    events["--max-items-per-user"] = args.max_items_per_user
    events |= {"--delta": args.delta, "--by": args.by, "--groups": args.groups}
    events["--max-groups-per-user"] = args.max_groups_per_user
    for name in ("domain", "domain_from", "domain_range", "domain_size"):
        events["--" + name.replace("_", "-")] = getattr(args, name)
    given = [[name for name, value in group.items() if value is not None] for group in (scores, events)]
    either = "be given for candidates with scores, --user, --item and a domain for events of users"
    if all(given) or not any(given):
        came = f"{given[0][0]} with {given[1][0]}" if all(given) else "neither"
        raise ParameterError("--label and --score", either, came)
    known = prepared_folder(asking.source_of(args)) is not None
    needed = ("--label", "--score") if given[0] else () if known else ("--user", "--item")
    for name in needed:
        if name not in given[0] + given[1]:
            raise ParameterError(name, "be given too", "nothing")
    if given[1] and not any(name.startswith("--domain") for name in given[1]):
        raise ParameterError("--domain", "be given, or --domain-from, --domain-range or --domain-size", "nothing")
    return bool(given[0])
