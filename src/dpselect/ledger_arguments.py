"""What `dpselect ledger` understands: its actions, their options, and examples."""

from __future__ import annotations

import argparse

EXAMPLES = """
examples:
  dpselect ledger init budget.sqlite
      Make an empty ledger.
  dpselect ledger grant budget.sqlite --analyst ann --epsilon 3 --delta 1e-5
      Let ann spend so much in all, on top of what she was granted before.
  dpselect top plays.parquet --user user --item artist -k 10 --epsilon 1 --ledger budget.sqlite --analyst ann
      Ask, and pay from it.
  dpselect ledger show budget.sqlite
      Who has how much left.
  dpselect ledger history budget.sqlite --analyst ann --plot spending.png
      What was asked and paid when, as a table and as a picture.
  dpselect ledger pending budget.sqlite
      Which questions died, or are at work; with --give-back, free those that surely read no row.
  dpselect ledger verify budget.sqlite
      Check every entry; note the head it prints, and give it to --head another time.

FILE is a SQLite file, or an address postgresql://user@host/database.
exit status: 0 done, 2 a parameter is wrong, 4 the output cannot be written, 6 the ledger cannot be used, or is not
clean.
"""
SUMMARY = "budgets: who may spend how much, and who spent it on what"


def fill(command: argparse.ArgumentParser, formatter: type[argparse.HelpFormatter]) -> None:
    """Its own commands and their options."""
    actions = command.add_subparsers(dest="action", metavar="ACTION", title="actions", required=True)

    def action(name: str, summary: str) -> argparse.ArgumentParser:
        made = actions.add_parser(
            name,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            formatter_class=formatter,
            allow_abbrev=False,
        )
        made.add_argument("file", metavar="FILE", help="a SQLite file, or postgresql://user@host/database")
        return made

    action("init", "make an empty ledger where there is none")
    grant = action("grant", "let an analyst spend more, or set the total")
    _whose(grant, required=True)
    grant.add_argument("--epsilon", required=True, metavar="E", help="how much epsilon, added to earlier grants")
    grant.add_argument("--delta", required=True, metavar="D", help="how much delta, added to earlier grants")
    grant.add_argument("--total", action="store_true", help="not added: this is the new total, at least what is used")
    for name, summary in (
        ("show", "how much every analyst was granted, has spent, and has left"),
        ("history", "every entry: who, when, what, for how much, and what was left then"),
    ):
        shown = action(name, summary)
        _whose(shown, required=False)
        shown.add_argument("--format", choices=("table", "json"), default="table", help="default: table")
        shown.add_argument("--plot", metavar="PICTURE", help="draw the spending too, into this .png, .svg or .pdf")
    pending = action(
        "pending", "reservations of questions that died or are at work, and whether they may have read rows"
    )
    _whose(pending, required=False)
    pending.add_argument(
        "--give-back",
        action="store_true",
        help="free those that surely read no row; a question that still lives is refused when it comes to read",
    )
    pending.add_argument("--format", choices=("table", "json"), default="table", help="default: table")
    verify = action("verify", "check every entry, sum and digest; exit status 0 only when all is clean")
    verify.add_argument("--head", metavar="DIGEST", help="a head noted earlier, which must still be in the ledger")
    export = action("export", "write every entry as a line of JSON")
    export.add_argument("-o", "--output", metavar="LINES", help="into this file; default: standard output")


def _whose(action: argparse.ArgumentParser, *, required: bool) -> None:
    action.add_argument("--analyst", required=required, metavar="NAME", help="whose budget")
    one = "default" if required else None
    action.add_argument("--dataset", default=one, metavar="NAME", help="for which data (default: default)")
