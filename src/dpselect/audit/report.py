"""The record of one data set for an auditor: the promise, who asked what, and what is left.

It follows from the entries alone: nothing in it was computed from rows, and no released item is in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from fractions import Fraction
from typing import Any

from dpselect._ground.dataclass import dataclass
from dpselect.audit.question_text import summarize
from dpselect.audit.sums import Question, Sums, replay
from dpselect.errors import LedgerError
from dpselect.ledger import ALWAYS, Account, DataAccount, Entry, EntryKind, Ledger, Standing, Usage
from dpselect.release.formatting import Json

STATE_SENTENCES = {
    EntryKind.SETTLE: "answered",
    EntryKind.RETURN: "given back: no row was read",
    EntryKind.READ: "open: rows may have been read, the ceiling stays charged",
    EntryKind.HOLD: "open: no row was read yet",
    EntryKind.REFUSED: "refused",
}


@dataclass
class _Record:
    """The record of one data set, gathered entry by entry."""

    dataset: str
    sums: Sums = field(default_factory=Sums)
    changes: list[dict[str, Json]] = field(default_factory=list)
    questions: dict[int, dict[str, Any]] = field(default_factory=dict)
    used: list[dict[str, Json]] = field(default_factory=list)

    def add(self, entry: Entry, question: Question, sums: Sums) -> None:
        """Add the next entry, its question, and the sums after it."""
        self.sums = sums
        if entry.kind in (EntryKind.CONTINUES, EntryKind.CLOSED):
            event = "closed, and continued in" if entry.kind is EntryKind.CLOSED else "continued from"
            self.changes.append({"when": entry.at, "what": f"{event} {entry.chain}", "epsilon": None, "delta": None})
        if entry.account.dataset != self.dataset:
            return
        row = self.questions.get(question.number)
        match entry.kind:
            case EntryKind.DATA:
                self._change(entry, f"promised to {entry.data_account.unit}")
            case EntryKind.GRANT:
                granter = "" if entry.by is None else f" by {entry.by}"
                self._change(entry, f"granted to {entry.account.analyst}{granter}")
            case EntryKind.HOLD | EntryKind.REFUSED:
                self.questions[entry.number] = _question_row(entry) | self._cost_cells(entry)
            case EntryKind.REPEAT if row is not None:
                row["repeats"] += 1
            case EntryKind.READ | EntryKind.SETTLE | EntryKind.RETURN if row is not None:
                row["state"] = STATE_SENTENCES[entry.kind]
                if entry.kind is not EntryKind.READ:
                    row |= self._cost_cells(entry)
        self._add_usage(entry, question)

    def _change(self, entry: Entry, event: str) -> None:
        epsilon, delta = float(entry.charge.epsilon), float(entry.charge.delta)
        self.changes.append({"when": entry.at, "what": event, "epsilon": epsilon, "delta": delta})

    def _cost_cells(self, entry: Entry) -> dict[str, Json]:
        """Return what a question costs by its latest entry, and the share of the promise that this is."""
        share = self._share(entry)
        cost = {"epsilon": float(entry.charge.epsilon), "delta": float(entry.charge.delta)}
        return {**cost, "share": None if share is None else float(share)}

    def _share(self, entry: Entry) -> Fraction | None:
        """Return what a charge takes of the promise: what is used with it less what is used without, at that moment.

        Of several periods it is the largest share. A refused question took nothing.
        """
        data = self.sums.data.get(self.dataset)
        if data is None or entry.kind in (EntryKind.RETURN, EntryKind.REFUSED):
            return None
        limits = data.promise.limits
        totals = {period: self._used_by_all(period).total.as_spent for period in entry.parts}
        charges = {period: charge.as_spent for period, charge in entry.parts.items()}
        return max(
            limits.part(totals[period]) - limits.part(totals[period] - charges[period]) for period in entry.parts
        )

    def _used_by_all(self, period: str) -> Usage:
        """Return what all analysts used in a period."""
        return self.sums.used.get((Account.for_everybody(self.dataset), period), Usage())

    def _add_usage(self, entry: Entry, question: Question) -> None:
        """Record how much is used after the entry, in each period that it changed."""
        data = self.sums.data.get(self.dataset)
        if data is None or entry.kind in (EntryKind.GRANT, EntryKind.READ, EntryKind.REFUSED, EntryKind.REPEAT):
            return
        for period in question.periods if entry.kind is not EntryKind.DATA else self.periods():
            share = data.promise.limits.part(self._used_by_all(period).total.as_spent)
            self.used.append({"when": entry.at, "number": entry.number, "period": period, "used": float(share)})

    def periods(self) -> dict[str, Usage]:
        """Return what all analysts used, in each period with questions; for data without periods, in total."""
        data, everybody = self.sums.data[self.dataset], Account.for_everybody(self.dataset)
        usages = sorted(
            ((period, usage) for (owner, period), usage in self.sums.used.items() if owner == everybody),
            key=lambda item: item[0],
        )
        return {period: usage for period, usage in usages if (period != ALWAYS) == (data.period is not None)}


def report(ledger: Ledger, dataset: str) -> dict[str, Json]:
    """Return the record as JSON types; LedgerError if nothing was promised about such data."""
    data = ledger.data_account(dataset)
    record = _Record(dataset)
    for entry, question, sums in replay(ledger.entries()):
        record.add(entry, question, sums)
    problems: list[Json] = [*ledger.verify()]
    promise = data.promise
    standings = [standing for standing in ledger.all_standings() if standing.account.dataset == dataset]
    questions: list[Json] = [*record.questions.values()]
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
        "periods": [*_period_rows(data, record)],
        "analysts": [_analyst_row(standing) for standing in standings],
        "questions": questions,
        "used": [*record.used],
        "verification": {"problems": problems, "entries": ledger.count, "head": ledger.head},
    }


def _period_rows(data: DataAccount, record: _Record) -> list[Json]:
    limits = data.promise.limits
    rows: list[Json] = []
    for period, usage in record.periods().items():
        total = usage.total
        row: Mapping[str, Json] = {
            "period": period or None,
            "used": float(limits.part(total.as_spent)),
            "reserved": float(limits.part(total.as_spent) - limits.part(usage.spent.as_spent)),
            "epsilon": float(total.epsilon),
            "renyi": float(total.renyi),
            "delta": float(total.delta),
        }
        rows.append(dict(row))
    return rows


def _analyst_row(standing: Standing) -> dict[str, Json]:
    granted = standing.granted
    amounts: dict[str, Json] = {"granted_epsilon": float(granted.epsilon), "granted_delta": float(granted.delta)}
    name, period = standing.account.analyst, standing.period or None
    return {"analyst": name, "period": period, **amounts, "left": float(standing.left)}


def _question_row(entry: Entry) -> dict[str, Any]:
    """Return the row of a question that was asked just now; its cells are in the order of the page."""
    return {
        "number": entry.number,
        "when": entry.at,
        "analyst": entry.account.analyst,
        "question": None if entry.question is None else summarize(entry.question),
        "approved_by": entry.by,
        "periods": [period for period in entry.parts if period],
        "state": STATE_SENTENCES[entry.kind],
        "epsilon": None,
        "delta": None,
        "share": None,
        "repeats": 0,
    }


def find_only_dataset(ledger: Ledger) -> str:
    """Return the data set of a ledger that has one; LedgerError if there are more or none."""
    names = [data.dataset for data, _ in ledger.data_accounts()]
    if len(names) != 1:
        hint = f"say --data with one of {', '.join(names)}" if names else "`dpselect ledger data` promises something"
        raise LedgerError("a report is about the data of one name", hint)
    return names[0]
