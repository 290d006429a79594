"""`dpselect top`: the k items that most users share."""

from __future__ import annotations

import argparse
from typing import Any

from dpselect._ground.methods import names
from dpselect.command import asking, shared

EXAMPLES = f"""
examples:
  dpselect top plays.parquet --user user --item artist -k 10 --epsilon 1 --delta 1e-6
      The ten artists that most users played, of a catalogue that nobody has to know.
  dpselect top logs/*.csv --user uid --item page --where "country = 'DE'" --epsilon 0.5 --counts -o top.csv
      German visitors only, with noisy numbers of users, into a file.
  dpselect top films.csv --user user --item film -k 5 --epsilon 1 --domain-from all.csv:film --measure "mean(stars,1,5)"
      Exactly five of the films listed in another, public file, without any delta; and the mean of each one's stars.
  dpselect top plays.parquet --user user --item artist -k 10 --epsilon 1 --by country --counts
      The ten artists of every country, at the price of one: a user counts in one country.
  dpselect top plays.parquet --user user --item artist --epsilon 1 --time at --period month --during 2026-10
      Of October 2026 alone; the promise is for one user in one month. With --compared-with 2026-09 what rose most.
  dpselect top plays.parquet --user user --item artist --epsilon 1 --budget budget.sqlite --analyst ann
      Paid from ann's budget; refused, before any row is read, when that does not suffice.
  dpselect top plays.parquet --user user --item artist -k 10 --within 50
      No artist of the ten has over 50 users fewer than the tenth best, 95 times of 100; that is priced, and said first.
  dpselect top plays.parquet --user user --item artist --epsilon 1 --by-weight minutes --at-most 60 --counts
      The artists with the largest sums of minutes, of which one user gives an artist at most 60; noisy sums.
{shared.TERMS}"""


def options(command: shared.Group) -> None:
    """What it understands."""
    shared.files(command, "CSV, JSON, Parquet, or a database (DuckDB, postgresql://..., spark:...) with --table")
    shared.users_and_items(command)
    command.add_argument("-k", "--k", type=int, default=10, help="how many items at most (default 10)")
    shared.price(command, "--within", "no item has over N users fewer than the k-th best, 95 times of 100")
    command.add_argument("--delta", help=shared.DELTA + "; with a domain, 0)")
    command.add_argument(
        "--k-bar", type=int, metavar="N", help="look at the N items with most users (default 10 k, at least 1000)"
    )
    shared.domain(command)
    shared.exclude(command)
    command.add_argument("--counts", action="store_true", help="release noisy numbers of users too; they share epsilon")
    command.add_argument(
        "--method",
        default="auto",
        metavar="NAME",
        help=f"auto, {', '.join(names('top_k', domain=False))}; with a domain "
        f"{', '.join(names('top_k', domain=True))}, set",
    )
    command.add_argument("--by-weight", metavar="COLUMN", help="rank by sums over users of this column of numbers")
    command.add_argument("--at-most", metavar="X", help="with --by-weight: the most that one user gives to an item")
    command.add_argument(
        "--weight-unit", metavar="X", help="what a user's total is rounded to (default 1, for a whole --at-most)"
    )
    command.add_argument(
        "--measure",
        dest="measures",
        action="append",
        metavar="WHAT",
        help="of the items also users, 'sum(COLUMN, LOW, HIGH)' or 'mean(COLUMN, LOW, HIGH)'; once for each",
    )
    command.add_argument(
        "--compared-with",
        metavar="NAME,NAME",
        help="as many other periods as --during: the items that gained most users from these to those",
    )
    command.add_argument(
        "--in-engine",
        action="store_true",
        help="for discover: leave users and items in the engine, which spills to disk, for data larger than memory",
    )
    groups = shared.groups(command, "the k items", "chosen privately, for 1/20 of epsilon")
    groups.add_argument("--users", action="store_true", help="release a noisy number of users of each group shown too")
    shared.budget(command)
    shared.gateway(command)
    shared.result(command)


def run(args: argparse.Namespace) -> None:
    """Ask, and write the answer."""
    names = ("k", "counts", "k_bar", "method", "max_groups_per_user", "users", "in_engine", "by", "measures")
    given: dict[str, Any] = {name: getattr(args, name) for name in (*names, "by_weight", "at_most", "weight_unit")}
    given |= {"compared_with": shared.periods_named(args.compared_with), "groups": asking.listed(args.groups)}
    asking.put(args, "top_k", given | {"domain": asking.domain_of(args)})
