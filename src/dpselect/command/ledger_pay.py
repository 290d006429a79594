"""`dpselect ledger pay`: charge a price that an analyst states for another program, and run it."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys

from dpselect.errors import ParameterError

_NOT_RUN = 126  # the exit status of shells for a command that cannot be run
_STATED_OPTIONS = {
    "epsilon": "the epsilon of everything that is released",
    "delta": "the delta of everything that is released; all of it counts as failure",
    "unit": "the unit that the price protects, as in the account, such as 'one user'",
    "neighbors": "must be add-remove: one such unit is added or removed",
    "note": "a note for the record",
}


def add_options(action: argparse.ArgumentParser) -> None:
    """Add the arguments of the action."""
    action.add_argument("data", metavar="NAME", help="the name of the data in the ledger")
    action.add_argument(
        "--analyst", metavar="NAME", help="the analyst whose budget is charged (default: this computer's user)"
    )
    for name, help_text in _STATED_OPTIONS.items():
        action.add_argument(f"--{name}", required=True, metavar=name.upper(), help=help_text)
    action.add_argument(
        "--during", metavar="PERIODS", help="all periods whose rows are read, if the account has periods"
    )
    action.add_argument(
        "--run", dest="program", nargs=argparse.REMAINDER, metavar="COMMAND", help="run this; comes last"
    )


def pay(args: argparse.Namespace) -> None:
    """Charge a stated price, and run the program that it pays for.

    The exit status is that of the program.
    """
    from dpselect._ground.budget_parts import format_left
    from dpselect.ledger import Budget

    if args.program is not None and shutil.which("".join(args.program[:1])) is None:
        raise ParameterError("--run", "start with a program that can be run", "".join(args.program[:1]) or "nothing")
    budget = Budget.open(args.file, data=args.data, analyst=args.analyst)
    with budget.spend(during=args.during, **{name: getattr(args, name) for name in _STATED_OPTIONS}):
        try:
            status = subprocess.run(args.program, check=False).returncode if args.program else 0
        except OSError as error:
            problem, status = f"the price was charged, but {args.program[0]} cannot be run: {error.strerror}", _NOT_RUN
            print(f"dpselect: {problem}", file=sys.stderr)
    print(
        f"paid what {budget.account.analyst} stated; {format_left(budget.left)} of the budget is left", file=sys.stderr
    )
    if status:
        raise SystemExit(status)
