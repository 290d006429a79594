"""`dpselect check`: verify a release of somebody else without its data."""

from __future__ import annotations

import argparse
import json
import sys

EXAMPLES = """
examples:
  dpselect check top.json
      Does the release match what its question would give?
  dpselect check top.json --budget budget.sqlite
      And did this ledger pay for exactly this release, and no less than it costs?
  dpselect check 7a1f24f81df64f8871fac8e6a42aff65 --gateway https://stats.example.org
      The same for an answer of a gateway, given its id; DPSELECT_TOKEN holds your token.

RELEASE is the file that --format json or Release.to_json wrote. Only it and the ledger are read.
exit status: 0 the promise follows, and the ledger paid for it if one was given, 2 a parameter is wrong, 3 the file
holds no release, 6 the ledger cannot be used, is not clean or does not confirm the
release, 7 the promise does not follow, 8 it is stated and the release does not say what was asked, 130 interrupted, 1
anything else.
"""

_NOT_PAID, _DOES_NOT_FOLLOW, _NOT_PLANNED = 6, 7, 8


def options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    command.add_argument("release", metavar="RELEASE", help="the JSON of a release, or the id of a gateway's answer")
    command.add_argument("--budget", metavar="FILE", help="the ledger that should have paid for it")
    command.add_argument("--gateway", metavar="URL", help="the gateway that has the answer of this id")
    command.add_argument("--token-file", metavar="FILE", help="a file that holds the token, instead of DPSELECT_TOKEN")
    command.add_argument("--format", choices=("text", "json"), default="text", help="default: text")


def run(args: argparse.Namespace) -> None:
    """Print the findings about a release, and exit with the status of the worst."""
    from dpselect.checking.check import check
    from dpselect.checking.finding import Verdict

    release = args.release
    if args.gateway is not None:
        from dpselect.command.from_gateway import connect_remote

        release = connect_remote(args.gateway, args.token_file).answer(release)
    check_result = check(release, args.budget)
    text = json.dumps(check_result.to_dict(), indent=2) if args.format == "json" else str(check_result)
    sys.stdout.write(text + "\n")
    verdicts = check_result.verdict, check_result.paid
    for verdict, status in ((check_result.verdict, _DOES_NOT_FOLLOW), (check_result.paid, _NOT_PAID)):
        if verdict is Verdict.FAILS:
            raise SystemExit(status)
    if Verdict.STATED in verdicts:
        raise SystemExit(_NOT_PLANNED)
