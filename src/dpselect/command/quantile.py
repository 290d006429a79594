"""`dpselect quantile`: the median, or other quantiles, of one value per user."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from dpselect.command import asking, shared

if TYPE_CHECKING:
    pass

EXAMPLES = f"""
examples:
  dpselect quantile people.csv --user id --item age --bounds 0 120 --step 1 --epsilon 1
      The median age, in whole years.
  dpselect quantile people.csv --user id --item income --q 0.1,0.5,0.9 --bounds 0 1e6 --epsilon 1 --delta 1e-6
      Three quantiles for one price; a delta makes several of them more accurate.
  dpselect quantile people.csv --user id --item age --bounds 0 120 --step 1 --within 100
      The median again, at most 100 people off by counted values, 95 times of 100; the price follows, and is said first.
  dpselect quantile visits.parquet --user id --item seconds --per-user max --bounds 0 3600 --epsilon 0.5
      The median of everybody's longest visit.
  dpselect quantile visits.parquet --user id --item bytes --step 1 --epsilon 1
      The median where nobody knows bounds: an answer of six digits, wherever it lies.
  dpselect quantile people.csv --user id --item age --bounds 0 120 --step 1 --epsilon 1 --by country --groups DE,FR
      The median of each of these countries, at the price of one: a user counts in one country.

Choose the bounds without looking at the data: values beyond count as the bound.
{shared.TERMS}"""


def options(command: shared.Group) -> None:
    """What it understands."""
    shared.files(command)
    shared.users(command)
    command.add_argument("--item", metavar="COLUMN", help="the values")
    shared.rows(command)
    shared.periods(command)
    command.add_argument(
        "--q", default="0.5", metavar="Q,Q", help="which quantiles, ascending (default 0.5, the median)"
    )
    command.add_argument(
        "--bounds",
        nargs=2,
        metavar=("LOW", "HIGH"),
        help="where values lie, chosen without the data; without them answers have six digits",
    )
    command.add_argument("--step", metavar="S", help="answers are LOW + i S (default: a very small power of ten)")
    command.add_argument(
        "--per-user",
        default="random",
        metavar="RULE",
        help="the value of a user with several: random (the default), min, max or mean",
    )
    shared.price(command, "--within", "no rank is missed by over N users, 95 times of 100")
    usual = " (default 0; with --by and no --groups, 1e-6)"
    command.add_argument("--delta", help=shared.DELTA.partition(" (")[0] + usual)
    shared.groups(command, "the quantiles")
    shared.budget(command)
    shared.gateway(command)
    shared.result(command)


def run(args: argparse.Namespace) -> None:
    """Ask, and write the answer."""
    given: dict[str, Any] = {"q": args.q.split(","), "bounds": None if args.bounds is None else tuple(args.bounds)}
    given |= {name: getattr(args, name) for name in ("step", "per_user", "by", "max_groups_per_user")}
    asking.put(args, "quantile", given | {"groups": asking.listed(args.groups)})
