"""`dpselect doctor`: is all in order here? One line for each thing, and nothing is changed."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpselect.command.doctor_findings import Finding

EXAMPLES = """
examples:
  dpselect doctor
      Versions, extras, memory, room for temporary files, entropy, clock, and the settings in force.
  dpselect doctor --budget budget.sqlite
      And the ledger: may it be read and written, by whom, is it locked, is its last entry whole?
  dpselect doctor --engine postgresql://ann@db.example/shop --engine spark:local
      And do these answer, within seconds?

Each line is ok, could be better, not there, or fails. It reads no data, changes nothing, and shows no token and no
password: a report may be sent to whoever helps.
exit status: 0 nothing fails (what could be better, or is not there, may stay so), else that of the first line that
fails: 2 a setting is wrong, 3 an engine, or the machine, cannot answer, 4 no temporary files, 6 the ledger cannot be
used.
"""


def options(command: argparse.ArgumentParser) -> None:
    """What it understands."""
    command.add_argument("--budget", metavar="FILE", help="a ledger to look at: a file, or postgresql://...")
    command.add_argument(
        "--engine", action="append", default=[], metavar="ADDRESS", help="an engine to reach; once for each"
    )
    command.add_argument("--format", choices=("table", "json"), default="table", help="default: table")


def run(args: argparse.Namespace) -> None:
    """Look at everything, say it, and end with the status that says the same."""
    from dpselect.command.doctor_findings import State, table

    found = list(findings(args.budget, args.engine))
    failed = [one.status for one in found if one.state is State.FAILS]
    if args.format == "json":
        told = json.dumps({"ok": not failed, "findings": [one.to_dict() for one in found]}, indent=2) + "\n"
    else:
        told = table(found) + (f"\n{len(failed)} of these fail\n" if failed else "\nnothing fails\n")
    sys.stdout.write(told)
    if failed:
        raise SystemExit(failed[0])


def findings(budget: str | None, engines: list[str]) -> Iterator[Finding]:
    """All that is looked at, in this order."""
    from dpselect.command import doctor_machine, doctor_places

    yield from doctor_machine.versions()
    yield from doctor_machine.extras()
    yield from doctor_machine.machine()
    yield from doctor_places.java()
    for address in engines:
        yield doctor_places.engine(address)
    if budget is not None:
        yield from doctor_places.ledger(budget)
    yield from doctor_machine.settings()
