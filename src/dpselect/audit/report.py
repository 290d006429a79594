"""The record of one data set, as facts for an officer: what is promised, what was asked by whom, and what is left.

All of it follows from the entries; nothing in it was computed from rows, and no released item is in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from dpselect.audit.verification import Sums
from dpselect.errors import LedgerError
from dpselect.ledger.account import ALWAYS, EVERYBODY, Account
from dpselect.ledger.chains import parse_chain
from dpselect.ledger.charge import Charge
from dpselect.ledger.entry import LEDGER_KINDS, Entry, EntryKind
from dpselect.ledger.ledger import Ledger
from dpselect.ledger.question import summarize
from dpselect.ledger.rows import promised_account
from dpselect.ledger.standing import DataAccount, Used
from dpselect.release.formatting import Json

STATE_SENTENCES = {
    EntryKind.SETTLE: "answered",
    EntryKind.RETURN: "given back: no row was read",
    EntryKind.READ: "open: rows may have been read, the ceiling stays charged",
    EntryKind.HOLD: "open: no row was read yet",
    EntryKind.REFUSED: "refused",
}


@dataclass
class _Asked:
    """One question, as far as the entries have told of it."""

    entry: Entry
    state: EntryKind
    share: Fraction | None
    charge: Charge
    repeats: int = 0


@dataclass
class _Record:
    """What the entries of one data set say, gathered one after the other."""

    dataset: str
    sums: Sums = field(default_factory=Sums)
    changes: list[dict[str, Json]] = field(default_factory=list)
    asked: dict[int, _Asked] = field(default_factory=dict)
    of_settle: dict[int, int] = field(default_factory=dict)
    used: list[dict[str, Json]] = field(default_factory=list)

    def add(self, entry: Entry) -> None:
        """One more entry."""
        for _ in self.sums.problems(entry):
            pass  # the verification tells of them
        if entry.kind in LEDGER_KINDS:
            what = "closed, and continued in" if entry.kind is EntryKind.CLOSED else "continued from"
            if entry.kind is not EntryKind.OPENED:
                said = f"{what} {parse_chain(entry.terms)}"
                self.changes.append({"when": entry.at, "what": said, "epsilon": None, "delta": None})
        if entry.account.dataset != self.dataset:
            return
        hold = self.asked.get(entry.refers_to or 0)
        match entry.kind:
            case EntryKind.DATA:
                self._change(entry, f"promised to {promised_account(entry).unit}")
            case EntryKind.GRANT:
                by = "" if entry.by is None else f" by {entry.by}"
                self._change(entry, f"granted to {entry.account.analyst}{by}")
            case EntryKind.HOLD | EntryKind.REFUSED:
                self.asked[entry.number] = _Asked(entry, entry.kind, self._share(entry), entry.charge)
            case EntryKind.REPEAT:
                first = self.asked.get(self.of_settle.get(entry.refers_to or 0, 0))
                if first is not None:
                    first.repeats += 1
            case _ if hold is not None:
                hold.state = entry.kind
                if entry.kind is not EntryKind.READ:
                    hold.charge, hold.share = entry.charge, self._share(entry)
                    self.of_settle[entry.number] = hold.entry.number
        self._note(entry, hold.entry if hold else entry)

    def _change(self, entry: Entry, what: str) -> None:
        epsilon, delta = float(entry.charge.epsilon), float(entry.charge.delta)
        self.changes.append({"when": entry.at, "what": what, "epsilon": epsilon, "delta": delta})

    def _share(self, entry: Entry) -> Fraction | None:
        """Return what a charge takes of the promise: what is used with it less what is used without, at that moment.

        Of several periods it is that of the one where most is taken. A refused question took nothing.
        """
        data = self.sums.data.get(self.dataset)
        if data is None or entry.kind in (EntryKind.RETURN, EntryKind.REFUSED):
            return None
        limits = data.promise.limits
        totals = {period: self._used(period).total.as_spent for period in entry.parts}
        charges = {period: charge.as_spent for period, charge in entry.parts.items()}
        return max(limits.part(totals[at]) - limits.part(totals[at] - charges[at]) for at in entry.parts)

    def _used(self, period: str) -> Used:
        """Return what all analysts used in a period."""
        return self.sums.used.get((Account.from_stored(self.dataset, EVERYBODY), period), Used())

    def _note(self, entry: Entry, question: Entry) -> None:
        """How much is used after the entry, in each period that it changed."""
        data = self.sums.data.get(self.dataset)
        if data is None or entry.kind in (EntryKind.GRANT, EntryKind.READ, EntryKind.REFUSED, EntryKind.REPEAT):
            return
        for period in question.parts if entry.kind is not EntryKind.DATA else self.periods():
            part = data.promise.limits.part(self._used(period).total.as_spent)
            self.used.append({"when": entry.at, "number": entry.number, "period": period, "used": float(part)})

    def periods(self) -> dict[str, Used]:
        """What all analysts used, in each period in which something was asked; or ever, of data without periods."""
        data, everybody = self.sums.data[self.dataset], Account.from_stored(self.dataset, EVERYBODY)
        of_all = sorted(
            ((period, used) for (who, period), used in self.sums.used.items() if who == everybody),
            key=lambda one: one[0],
        )
        return {period: used for period, used in of_all if (period != ALWAYS) == (data.period is not None)}


def report(ledger: Ledger, dataset: str) -> dict[str, Json]:
    """All of it in JSON types. LedgerError where nothing was promised about such data."""
    data = ledger.data_account(dataset)
    record = _Record(dataset)
    for entry in ledger.entries():
        record.add(entry)
    problems: list[Json] = [*ledger.verify()]
    promise = data.promise
    questions: list[Json] = [_question(asked) for asked in record.asked.values()]
    changes: list[Json] = [*record.changes]
    return {
        "dataset": dataset,
        "unit": data.unit,
        "period": data.period,
        "timezone": data.timezone,
        "epsilon": float(promise.epsilon),
        "delta": float(promise.delta),
        "order": promise.order,
        "apart": float(promise.apart),
        "kept": float(data.keep),
        "changes": changes,
        "periods": [*_periods(data, record)],
        "analysts": [*_analysts(ledger, dataset)],
        "questions": questions,
        "used": [*record.used],
        "verification": {"problems": problems, "entries": ledger.count, "head": ledger.head},
    }


def _periods(data: DataAccount, record: _Record) -> list[Json]:
    limits = data.promise.limits
    rows: list[Json] = []
    for period, used in record.periods().items():
        total = used.total
        row: Mapping[str, Json] = {
            "period": period or None,
            "used": float(limits.part(total.as_spent)),
            "reserved": float(limits.part(total.as_spent) - limits.part(used.spent.as_spent)),
            "epsilon": float(total.epsilon),
            "renyi": float(total.renyi),
            "delta": float(total.delta),
        }
        rows.append(dict(row))
    return rows


def _analysts(ledger: Ledger, dataset: str) -> list[Json]:
    rows: list[Json] = []
    for one in ledger.balances():
        if one.account.dataset == dataset:
            left = ledger.standing(one.account, one.period).left
            amounts: dict[str, Json] = {"granted_epsilon": float(one.granted.epsilon)}
            amounts |= {"granted_delta": float(one.granted.delta), "left": float(left)}
            rows.append({"analyst": one.account.analyst, "period": one.period or None, **amounts})
    return rows


def _question(asked: _Asked) -> dict[str, Json]:
    entry = asked.entry
    return {
        "number": entry.number,
        "when": entry.at,
        "analyst": entry.account.analyst,
        "question": None if entry.question is None else summarize(entry.question),
        "approved_by": entry.by,
        "periods": [period for period in entry.parts if period],
        "state": STATE_SENTENCES[asked.state],
        "epsilon": float(asked.charge.epsilon),
        "delta": float(asked.charge.delta),
        "share": None if asked.share is None else float(asked.share),
        "repeats": asked.repeats,
    }


def find_only_dataset(ledger: Ledger) -> str:
    """The data of a ledger that has one data set; LedgerError where it must be said which is meant."""
    names = [data.dataset for data, _ in ledger.data_accounts()]
    if len(names) != 1:
        hint = f"say --data with one of {', '.join(names)}" if names else "`dpselect ledger data` promises something"
        raise LedgerError("a report is about the data of one name", hint)
    return names[0]
