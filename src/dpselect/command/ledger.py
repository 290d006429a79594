"""`dpselect ledger`: grant, show, check and export budgets. Heavy modules are imported when they are needed."""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import closing
from typing import TYPE_CHECKING

from dpselect._ground.periods import PERIOD_KINDS
from dpselect.command import ledger_pay, ledger_rows
from dpselect.command.asking import parse_account
from dpselect.command.parser import add_subcommand
from dpselect.errors import LedgerError, OutputError, ParameterError

if TYPE_CHECKING:
    from dpselect.ledger import Account, Ledger, Pending
    from dpselect.release.formatting import Json

EXAMPLES = """
examples:
  dpselect ledger init budget.sqlite
      Make an empty ledger.
  dpselect ledger data budget.sqlite plays --epsilon 3 --delta 1e-5
      Promise this for the data "plays", to all analysts together; many small questions fit, because they compose.
  dpselect ledger grant budget.sqlite --data plays --analyst ann --epsilon 1 --delta 1e-6
      Let ann use at most this much of it, on top of earlier grants.
  dpselect top plays.parquet --user user --item artist -k 10 --epsilon 0.1 --budget budget.sqlite --data plays \
      --analyst ann
      Ask, and pay from it.
  dpselect ledger pay budget.sqlite plays --analyst ann --epsilon 0.5 --delta 0 --unit "one user" \
      --neighbors add-remove --note "OpenDP mean" --run python mean.py
      Charge a price that ann states for a run of another library, and run it.
  dpselect ledger show budget.sqlite
      What is promised, and how much of it each analyst has left.
  dpselect ledger history budget.sqlite --analyst ann --plot spending.svg
      What was asked and charged when, as a table and as a picture.
  dpselect ledger pending budget.sqlite
      Which questions died or are running; with --give-back, free those that certainly read no row.
  dpselect ledger verify budget.sqlite
      Check every entry; note the head that it prints, and pass it to --head next time.
  dpselect ledger upgrade budget.sqlite new.sqlite
      Continue a ledger of an older format in a new one, and close it; or move one to PostgreSQL.
  dpselect ledger report budget.sqlite --data plays -o plays.html
      The record for an auditor: the promise, who asked what at which price, and what is left.

FILE is a SQLite file, or an address postgresql://user@host/database.
exit status: 0 done, 2 a parameter is wrong, 4 the output cannot be written, 6 the ledger cannot be used, or is not
clean.
"""

# ---- what it understands ------------------------------------------------------------------------------------


def options(command: argparse.ArgumentParser) -> None:
    """Add the actions of the command and their arguments."""
    actions = command.add_subparsers(dest="action", metavar="ACTION", title="actions", required=True)

    def action(act: Callable[[argparse.Namespace], None], summary: str, file: str = "FILE") -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = add_subcommand(actions, act.__name__, summary)
        parser.set_defaults(act=act)
        parser.add_argument("file", metavar=file, help="a SQLite file, or postgresql://user@host/database")
        return parser

    action(init, "make an empty ledger where there is none")
    data_options = action(
        data, "promise an epsilon and a delta for all answers about some data, or change what is promised"
    )
    data_options.add_argument("name", metavar="NAME", help="the name of the data in the ledger")
    data_options.add_argument("--epsilon", required=True, metavar="E", help="for all answers to all analysts together")
    data_options.add_argument(
        "--delta",
        required=True,
        metavar="D",
        help="delta, for all answers to all analysts together; half of the first one is reserved for composition",
    )
    data_options.add_argument(
        "--user",
        action="append",
        metavar="COLUMN",
        help="the column of users; questions with another one are refused; repeat it for several columns",
    )
    data_options.add_argument("--unit", metavar="TEXT", help="the unit that the promise protects (default: one user)")
    data_options.add_argument(
        "--keep", metavar="SHARE", help="a share that analysts cannot use, such as 20%% (default: 0)"
    )
    data_options.add_argument(
        "--period", choices=PERIOD_KINDS, help="the whole promise holds for each such period separately"
    )
    data_options.add_argument("--time", metavar="COLUMN", help="the column that gives the time of a row")
    data_options.add_argument(
        "--timezone", metavar="ZONE", help="the time zone of these days, such as Europe/Berlin (default: UTC)"
    )
    grant_options = action(grant, "let an analyst use more of the promise, or set the total")
    _add_account_options(grant_options, required=True)
    grant_options.add_argument("--epsilon", required=True, metavar="E", help="epsilon, added to earlier grants")
    grant_options.add_argument("--delta", required=True, metavar="D", help="delta, added to earlier grants")
    grant_options.add_argument("--total", action="store_true", help="set the total instead of adding")
    grant_options.add_argument(
        "--every", choices=PERIOD_KINDS, help="grant this in each period; it must be the period of the data"
    )
    ledger_pay.add_options(
        action(ledger_pay.pay, "charge a price that you state for a run of another library, and run it")
    )
    for act, summary in (
        (show, "the promise of each data set, and what each analyst was granted, has spent, and has left"),
        (history, "every entry: who, when, what, its price, and what was left"),
    ):
        parser = action(act, summary)
        _add_account_options(parser, required=False)
        parser.add_argument("--format", choices=("table", "json"), default="table", help="default: table")
        parser.add_argument("--plot", metavar="PICTURE", help="draw the spending too, into this .svg")
    pending_options = action(
        pending, "reservations of running or interrupted questions, and whether they may have read rows"
    )
    _add_account_options(pending_options, required=False)
    pending_options.add_argument(
        "--give-back",
        action="store_true",
        help="free those that certainly read no row; one that is still running is then refused before it reads rows",
    )
    pending_options.add_argument("--format", choices=("table", "json"), default="table", help="default: table")
    verify_options = action(verify, "check every entry, sum and digest; exit status 0 only if all are correct")
    verify_options.add_argument(
        "--head",
        metavar="DIGEST",
        help="a head that you noted earlier, of this ledger or of one that it continues, which must still be met",
    )
    upgrade_options = action(
        upgrade, "make a ledger of today's format that continues an old one, and close the old", "OLD"
    )
    upgrade_options.add_argument("new", metavar="NEW", help="a file or an address where there is no ledger yet")
    report_options = action(report, "write the record of one data set for an auditor, as a page or as JSON")
    report_options.add_argument("--data", metavar="NAME", help="the data, if the ledger has several")
    report_options.add_argument("-o", "--output", required=True, metavar="PAGE", help="into this .html or .json file")
    export_options = action(export, "write every entry as a line of JSON")
    export_options.add_argument("-o", "--output", metavar="LINES", help="into this file; default: standard output")


def _add_account_options(action: argparse.ArgumentParser, *, required: bool) -> None:
    action.add_argument("--analyst", required=required, metavar="NAME", help="whose budget")
    default_data = "default" if required else None
    action.add_argument("--data", default=default_data, metavar="NAME", help="for which data (default: default)")


# ---- what it does -----------------------------------------------------------------------------------------


def run(args: argparse.Namespace) -> None:
    """Run one action; raise LedgerError if the ledger does not allow it."""
    args.act(args)


def init(args: argparse.Namespace) -> None:
    """Make an empty ledger."""
    from dpselect.ledger import Ledger

    with Ledger.create(args.file):
        pass
    print(
        "made an empty ledger; `dpselect ledger data` promises something about data, `ledger grant` lets somebody ask"
    )


def data(args: argparse.Namespace) -> None:
    """Make or change the account of data."""
    with _open_ledger(args) as ledger:
        account = ledger.data(
            args.name,
            args.epsilon,
            args.delta,
            keep=args.keep,
            unit=args.unit,
            user=args.user,
            period=args.period,
            time=args.time,
            timezone=args.timezone,
        )
    print(ledger_rows.describe_promise(account))


def grant(args: argparse.Namespace) -> None:
    """Grant a quota, or more of it."""
    account = parse_account(args)
    with _open_ledger(args) as ledger:
        standing = ledger.grant(account, args.epsilon, args.delta, total=args.total, every=args.every, by=_user())
    print(ledger_rows.describe_grant(standing))


def _user() -> str | None:
    """Return this computer's name for the user, or None if the ledger cannot record it."""
    from dpselect.ledger import clean_name, computer_user

    try:
        return clean_name("by", computer_user())
    except ParameterError:
        return None


def show(args: argparse.Namespace) -> None:
    """Print what is promised, and what each analyst may use, has used and has left."""
    with _open_ledger(args) as ledger:
        accounts = [account for account in ledger.data_accounts() if args.data in (None, account[0].dataset)]
        standings = [standing for standing in ledger.all_standings() if _matches(args, standing.account)]
        data_rows = [row for account in accounts for row in ledger_rows.data_rows(*account)]
        analyst_rows = [ledger_rows.analyst_row(standing) for standing in standings]
        head, count, successor = ledger.head, ledger.count, ledger.continued_in
        if args.plot:
            _save_plot(args, ledger)
    _refuse_unknown_names(args, [standing.account for standing in standings] or ([] if args.analyst else accounts))
    if successor is not None:
        print(f"nothing can be spent from it: ledger {successor.ledger} continues it", file=sys.stderr)
    if args.format == "json":
        print(_format_json({"data": data_rows, "analysts": analyst_rows, "entries": count, "head": head}))
    elif not accounts:
        print("nothing was promised yet")
    else:
        _print_lines(ledger_rows.format_table([ledger_rows.format_row(row) for row in data_rows]))
        print()
        if not standings:
            print("nobody may ask yet")
            return
        _print_lines(ledger_rows.format_table([ledger_rows.format_analyst_row(row) for row in analyst_rows]))
        print(ledger_rows.ONE_UNIT)


def history(args: argparse.Namespace) -> None:
    """Print the entries, with what was left after each."""
    with _open_ledger(args) as ledger, closing(ledger_rows.StoredRows(_matching_rows(args, ledger))) as rows:
        if args.plot:
            _save_plot(args, ledger)
        _refuse_unknown_names(args, rows)
        _print_rows(args, "entries", rows, "no entries")


def _matching_rows(args: argparse.Namespace, ledger: Ledger) -> Iterator[dict[str, Json]]:
    return (row for row, entry in ledger_rows.history_rows(ledger) if _matches(args, entry.account))


def pending(args: argparse.Namespace) -> None:
    """Print the open reservations; with --give-back, free those under which no row was read."""
    with _open_ledger(args) as ledger:
        reservations = [reservation for reservation in ledger.pending() if _matches(args, reservation.entry.account)]
        freed = [
            reservation for reservation in reservations if args.give_back and _try_to_give_back(ledger, reservation)
        ]
    rows = [ledger_rows.pending_row(reservation, is_given_back=reservation in freed) for reservation in reservations]
    _print_rows(args, "reservations", rows, "nothing is reserved")
    if args.format == "json":
        return
    unread_count = sum(not reservation.may_have_read for reservation in reservations) - len(freed)
    if freed:
        print(f"\ngave back {len(freed)}: no row had been read")
    elif unread_count:
        print(f"\n{unread_count} of them read no row: --give-back frees what they reserve")


def _try_to_give_back(ledger: Ledger, pending_reservation: Pending) -> bool:
    """Return whether a reservation was given back; its question may have started to read, or ended, meanwhile."""
    if pending_reservation.may_have_read:
        return False
    try:
        ledger.give_back(pending_reservation)
    except LedgerError:
        if pending_reservation in ledger.pending():
            raise
        return False
    return True


def verify(args: argparse.Namespace) -> None:
    """Print each problem on a line of its own, or the head of a clean ledger."""
    with _open_ledger(args) as ledger:
        problems = ledger.verify(head=args.head)
        if not problems:
            print(f"clean: {ledger.count} {'entry' if ledger.count == 1 else 'entries'}, head {ledger.head}")
            former, successor = ledger.continued_from, ledger.continued_in
            if former is not None:
                print(f"continued from {former}, head {former.head}")
            if successor is not None:
                print(f"closed: continued in ledger {successor.ledger}")
            return
    for problem in problems:
        print(problem)
    raise LedgerError(f"the ledger is not clean: {len(problems)} problem{'s' * (len(problems) > 1)}, listed above")


def upgrade(args: argparse.Namespace) -> None:
    """Continue a ledger in a new one, and close the old one."""
    from dpselect.ledger import Ledger

    with Ledger.upgrade(args.file, args.new) as ledger:
        former, head = ledger.continued_from, ledger.head
        open_count = sum(1 for _ in ledger.pending())
    print(f"continued from {former}; head {head}")
    print("the old ledger is closed: it can still be read and verified; let all programs use the new one")
    if open_count:
        verb_phrase = "reservation was open, and stays" if open_count == 1 else "reservations were open, and stay"
        print(f"{open_count} {verb_phrase} reserved: `dpselect ledger pending` shows which read no row")


def report(args: argparse.Namespace) -> None:
    """Write the record of one data set, as a page or as JSON."""
    from dpselect.audit.report import find_only_dataset, report
    from dpselect.release import files

    if not args.output.endswith((".html", ".json")):
        raise ParameterError("--output", "end in .html or .json", args.output)
    with _open_ledger(args) as ledger:
        record = report(ledger, args.data or find_only_dataset(ledger))
    if args.output.endswith(".json"):
        content: str | bytes = _encode_json(record)
    else:
        from dpselect.command.report_page import render_page

        content = render_page(record)
    files.save(args.output, content, private=True)


def export(args: argparse.Namespace) -> None:
    """Write every entry as a line of JSON, in the form that the digests are made of."""
    with _open_ledger(args) as ledger:
        lines = (json.dumps(ledger_rows.export_entry(entry), ensure_ascii=False) for entry in ledger.entries())
        if args.output is None:
            for line in lines:
                print(line)
            return
        try:
            with open(args.output, "x", encoding="utf-8", opener=_open_private) as file:
                file.writelines(line + "\n" for line in lines)
        except OSError as error:
            raise OutputError(f"{args.output} cannot be written: {error.strerror}") from None


def _open_private(path: str, flags: int) -> int:
    """Open a file for its owner only: an export is as private as the ledger."""
    return os.open(path, flags, 0o600)


def _open_ledger(args: argparse.Namespace) -> Ledger:
    from dpselect.ledger import Ledger

    return Ledger(args.file)


def _format_json(document: object) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False)


def _encode_json(document: object) -> bytes:
    """Encode a long document piece by piece: a list of its pieces would take several times its memory."""
    content = io.BytesIO()
    text = io.TextIOWrapper(content, "utf-8", "backslashreplace", newline="\n")
    text.writelines(json.JSONEncoder(indent=2, ensure_ascii=False).iterencode(document))
    text.write("\n")
    text.flush()
    return content.getvalue()


def _print_rows(
    args: argparse.Namespace,
    name: str,
    rows: Sequence[Mapping[str, Json]] | ledger_rows.StoredRows[dict[str, Json]],
    nothing: str,
) -> None:
    """Print rows as a table or as JSON under a name."""
    if args.format == "json":
        _print_lines(ledger_rows.format_json(name, rows) if rows else [_format_json({name: []})])
    else:
        _print_lines(ledger_rows.format_table(rows) if rows else [nothing])


def _print_lines(lines: Iterable[str]) -> None:
    for line in lines:
        print(line)


def _matches(args: argparse.Namespace, account: Account) -> bool:
    return args.analyst in (None, account.analyst) and args.data in (None, account.dataset)


def _refuse_unknown_names(args: argparse.Namespace, matches: Sized) -> None:
    """Raise LedgerError if an analyst or data was named and nothing in the ledger has that name."""
    if not matches and (args.analyst or args.data):
        unknown = [f"analyst {args.analyst!r}"] if args.analyst else []
        unknown += [f"data set {args.data!r}"] if args.data else []
        raise LedgerError(f"the ledger knows no {' with '.join(unknown)}", "dpselect ledger show lists all it knows")


def _save_plot(args: argparse.Namespace, ledger: Ledger) -> None:
    """Save a picture of the part of each budget that is used after every entry."""
    ledger.plot(analyst=args.analyst, data=args.data).save(args.plot)
    print(f"the picture is {args.plot}", file=sys.stderr)
