"""`dpselect histogram`: how many users have each item of a known domain."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from dpselect.command import asking, shared

if TYPE_CHECKING:
    pass

EXAMPLES = f"""
examples:
  dpselect histogram visits.parquet --user visitor --item month --domain-range 1..12 --epsilon 1
      The visitors of each month, one to twelve, those of empty months too.
  dpselect histogram poll.csv --user voter --item answer --domain yes,no --max-items-per-user 1 --epsilon 0.5
      The voters of each answer, where a voter counts for one of theirs.
  dpselect histogram a.csv --user u --item i --domain-from b.csv:i --max-items-per-user 50 --epsilon 1 --delta 1e-6
      Every item of another, public file; where a user counts for so many, a delta makes the noise smaller.
{shared.TERMS}"""


def options(command: shared.Group) -> None:
    """What it understands."""
    shared.files(command)
    shared.users_and_items(command)
    shared.named_domain(command)
    shared.price(command)
    command.add_argument(
        "--delta", default="0", help="spent only where it makes the noise smaller: of users of many items (default 0)"
    )
    shared.budget(command)
    shared.gateway(command)
    shared.result(command)


def run(args: argparse.Namespace) -> None:
    """Ask, and write the answer."""
    asking.put(args, "histogram", {"domain": asking.domain_of(args)})
