"""`dpselect ledger`: budgets granted, shown, checked and exported. Heavy imports wait until they are needed."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dpselect.errors import LedgerError, OutputError

if TYPE_CHECKING:
    from dpselect.forms import Json
    from dpselect.ledger import Account, Balance, Charge, Entry, Ledger, Pending

# ---- what it does -----------------------------------------------------------------------------------------


def run(args: argparse.Namespace) -> None:
    """One action; LedgerError where the ledger is not fit for it."""
    actions: dict[str, Callable[[argparse.Namespace], None]] = {
        "init": init,
        "grant": grant,
        "show": show,
        "history": history,
        "pending": pending,
        "verify": verify,
        "export": export,
    }
    actions[args.action](args)


def init(args: argparse.Namespace) -> None:
    """An empty ledger."""
    from dpselect.ledger import Ledger

    with Ledger.create(args.file):
        pass
    print("made an empty ledger; `dpselect ledger grant` lets somebody spend")


def grant(args: argparse.Namespace) -> None:
    """A budget, or more of it."""
    from dpselect.ledger import Account

    account = Account(dataset=args.dataset, analyst=args.analyst)
    with _opened(args) as ledger:
        balance = ledger.grant(account, args.epsilon, args.delta, total=args.total)
    print(f"{args.analyst} on {args.dataset}: granted {balance.granted}, left {balance.left}")


def show(args: argparse.Namespace) -> None:
    """Balances."""
    with _opened(args) as ledger:
        balances = [b for b in ledger.balances() if _meant(args, b.account)]
        head, count = ledger.head, ledger.count
        if args.plot:
            _plot(args, ledger)
    _known(args, [b.account for b in balances])
    if args.format == "json":
        found: dict[str, Json] = {"analysts": _by_analyst(balances), "entries": count, "head": head}
        print(json.dumps(found, indent=2, ensure_ascii=False))
    elif not balances:
        print("no budget was granted yet")
    else:
        print(_table([_balance_row(b) for b in balances]))


def history(args: argparse.Namespace) -> None:
    """Entries with what was left after each."""
    with _opened(args) as ledger:
        rows = [row for row, entry in _told(ledger) if _meant(args, entry.account)]
        if args.plot:
            _plot(args, ledger)
    if args.analyst or args.dataset:
        _known(args, rows)
    if args.format == "json":
        print(json.dumps({"entries": rows}, indent=2, ensure_ascii=False))
    else:
        print(_table(rows) if rows else "no entries")


def pending(args: argparse.Namespace) -> None:
    """What is reserved and not closed; what surely read no row goes back where that is asked."""
    with _opened(args) as ledger:
        found = [one for one in ledger.pending() if _meant(args, one.entry.account)]
        freed = [one for one in found if args.give_back and _given_back(ledger, one)]
    rows = [_pending_row(one, given_back=one in freed) for one in found]
    if args.format == "json":
        print(json.dumps({"reservations": rows}, indent=2, ensure_ascii=False))
        return
    print(_table(rows) if rows else "nothing is reserved")
    unread = sum(not one.may_have_read for one in found) - len(freed)
    if freed:
        print(f"\ngave back {len(freed)}: no row had been read")
    elif unread:
        print(f"\n{unread} of them read no row: --give-back frees what they reserve")


def _given_back(ledger: Ledger, one: Pending) -> bool:
    """Whether it could be: its question may have come to read, or may have ended, since it was looked at."""
    if one.may_have_read:
        return False
    try:
        ledger.give_back(one)
    except LedgerError:
        if one in ledger.pending():
            raise
        return False
    return True


def verify(args: argparse.Namespace) -> None:
    """Every problem on a line of its own, or how clean it is."""
    from dpselect.ledger import Ledger

    with Ledger(args.file) as ledger:
        problems = ledger.verify(head=args.head)
        if not problems:
            print(f"clean: {ledger.count} entries, head {ledger.head}")
            return
    for problem in problems:
        print(problem)
    raise LedgerError(f"the ledger is not clean: {len(problems)} problem{'s' * (len(problems) > 1)}, listed above")


def export(args: argparse.Namespace) -> None:
    """Lines of JSON, one for each entry, in the form that the digests are made of."""
    with _opened(args) as ledger:
        lines = (json.dumps(_exported(entry), ensure_ascii=False) for entry in ledger.entries())
        if args.output is None:
            for line in lines:
                print(line)
            return
        try:
            with open(args.output, "x", encoding="utf-8", opener=_for_its_owner) as file:
                file.writelines(line + "\n" for line in lines)
        except OSError as error:
            raise OutputError(f"{args.output} cannot be written: {error.strerror}") from None


def _for_its_owner(path: str, flags: int) -> int:
    """An export holds what the ledger holds, and is no more for others than the ledger is."""
    return os.open(path, flags, 0o600)


# ---- what it shows ----------------------------------------------------------------------------------------


def _opened(args: argparse.Namespace) -> Ledger:
    from dpselect.ledger import Ledger

    return Ledger(args.file)


def _meant(args: argparse.Namespace, account: Account) -> bool:
    return args.analyst in (None, account.analyst) and args.dataset in (None, account.dataset)


def _known(args: argparse.Namespace, found: Sequence[object]) -> None:
    """A name that was asked for and is not there is a mistake."""
    if not found and (args.analyst or args.dataset):
        named = [f"analyst {args.analyst!r}"] if args.analyst else []
        named += [f"data set {args.dataset!r}"] if args.dataset else []
        raise LedgerError(f"the ledger knows no {' with '.join(named)}", "dpselect ledger show lists all it knows")


def _by_analyst(balances: Sequence[Balance]) -> dict[str, Json]:
    """For each analyst the sums over all data, and each budget."""
    found: dict[str, Json] = {}
    for name in dict.fromkeys(b.account.analyst for b in balances):
        own = [b for b in balances if b.account.analyst == name]
        budgets: list[Json] = [{"dataset": b.account.dataset, **_amounts([b])} for b in own]
        found[name] = {**_amounts(own), "budgets": budgets}
    return found


def _amounts(balances: Sequence[Balance]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for part in ("granted", "spent", "reserved", "left"):
        charges: list[Charge] = [getattr(b, part) for b in balances]
        found[f"{part}_epsilon"] = float(sum(c.epsilon for c in charges))
        found[f"{part}_delta"] = float(sum(c.delta for c in charges))
    return found


def _balance_row(balance: Balance) -> dict[str, object]:
    from dpselect.parameters import rounded_down, rounded_up

    row: dict[str, object] = dict(_named(balance.account))
    for part, rounded in (
        ("granted", rounded_down),
        ("spent", rounded_up),
        ("reserved", rounded_up),
        ("left", rounded_down),
    ):
        charge: Charge = getattr(balance, part)
        row[part] = f"({rounded(charge.epsilon)}, {rounded(charge.delta)})"
    return row


def _told(ledger: Ledger) -> Iterator[tuple[dict[str, Json], Entry]]:
    """Every entry for a person, with what the account had left after it."""
    from dpselect.ledger.sums import Sums
    from dpselect.questions import summary

    sums = Sums()
    asked: dict[int, str | None] = {}
    for entry in ledger.entries():
        for _ in sums.problems(entry):
            pass  # verify tells of them
        left = sums.balance(entry.account).left
        asked[entry.number] = entry.question or asked.get(entry.refers_to or 0)
        question = asked[entry.number]
        row: dict[str, Json] = {
            "number": entry.number,
            "when": entry.at[:19].replace("T", " "),
            **_named(entry.account),
            "what": str(entry.kind),
            "epsilon": float(entry.charge.epsilon),
            "delta": float(entry.charge.delta),
            "left_epsilon": float(left.epsilon),
            "left_delta": float(left.delta),
            "question": None if question is None else summary(question),
        }
        yield row, entry


def _named(account: Account) -> dict[str, Json]:
    from dpselect.ledger.names import seen

    return {"analyst": seen(account.analyst), "dataset": seen(account.dataset)}


def _pending_row(one: Pending, *, given_back: bool) -> dict[str, Json]:
    from dpselect.questions import summary

    entry = one.entry
    state = "given back" if given_back else "may have been read" if one.may_have_read else "none was read"
    return {
        "number": entry.number,
        "when": entry.at[:19].replace("T", " "),
        **_named(entry.account),
        "rows": state,
        "epsilon": float(entry.charge.epsilon),
        "delta": float(entry.charge.delta),
        "question": None if entry.question is None else summary(entry.question),
    }


def _exported(entry: Entry) -> dict[str, Json]:
    from dpselect.ledger.charge import decimal

    return {
        "number": entry.number,
        "kind": str(entry.kind),
        "dataset": entry.account.dataset,
        "analyst": entry.account.analyst,
        "epsilon": decimal(entry.charge.epsilon),
        "delta": decimal(entry.charge.delta),
        "question": entry.question,
        "refers_to": entry.refers_to,
        "release": entry.release,
        "at": entry.at,
        "previous": entry.previous,
        "digest": entry.digest,
    }


def _table(rows: Sequence[Mapping[str, object]]) -> str:
    from dpselect import forms

    left = ("analyst", "dataset", "what", "rows", "question")
    return forms.text_table({name: [_brief(row[name]) for row in rows] for name in rows[0]}, left=left)


def _brief(value: object) -> object:
    """Four digits are enough for a person."""
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else value


def _plot(args: argparse.Namespace, ledger: Ledger) -> None:
    """Epsilon used after every entry, a line for each account."""
    from dpselect import plots

    lines: dict[str, list[tuple[int, float, float]]] = {}
    for row, entry in _told(ledger):
        if _meant(args, entry.account):
            name = f"{entry.account.analyst} on {entry.account.dataset}"
            granted = (
                float(entry.charge.epsilon) if row["what"] == "grant" else lines[name][-1][2] if name in lines else 0
            )
            left = row["left_epsilon"]
            used = granted - (left if isinstance(left, float) else 0.0)
            lines.setdefault(name, []).append((entry.number, used, granted))
    plots.spending(lines, Path(args.plot))
    print(f"the picture is {args.plot}", file=sys.stderr)
