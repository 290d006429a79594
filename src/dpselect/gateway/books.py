"""The ledger that all questions of a gateway are paid from, opened again where its database went away.

Who was given a stored answer is written into it in batches: nothing is charged by it, and it is common.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Collection, Iterator

from dpselect.errors import LedgerError, ParameterError
from dpselect.gateway import declared
from dpselect.gateway.log import Log
from dpselect.gateway.problems import Refused
from dpselect.gateway.settings.kinds import Role
from dpselect.gateway.settings.server import Person
from dpselect.gateway.settings.values import DataSettings, Settings
from dpselect.ledger import (
    Account,
    Entry,
    EntryKind,
    Ledger,
    LedgerBudget,
    Periods,
    PromiseBudget,
    ReservationOutcome,
    Standing,
    cost_and_rest,
)

REPEATS_PAUSE = 0.2  # seconds between two batches of repeated answers
_NO_QUOTA = "You have no budget for these data."


class Books:
    """The ledger of a gateway, shared by all its threads."""

    def __init__(self, address: str, log: Log | None = None) -> None:
        self._address, self._log = address, log or Log()
        self._lock, self._ending = threading.Lock(), threading.Event()
        self._ledger: Ledger | None = None
        self._repeated: list[tuple[Account, int]] = []
        self._repeats_thread = threading.Thread(target=self._record_repeats, name="repeats", daemon=True)

    def start(self) -> None:
        """Start the thread that records repeated answers."""
        self._repeats_thread.start()

    @property
    def ledger(self) -> Ledger:
        """The ledger, opened anew if the last connection can no longer be used."""
        with self._lock:
            if self._ledger is not None and not self._ledger.alive:
                with contextlib.suppress(LedgerError):
                    self._ledger.close()
                self._ledger = None
            if self._ledger is None:
                self._ledger = Ledger(self._address)
            return self._ledger

    @contextlib.contextmanager
    def open_separately(self) -> Iterator[Ledger]:
        """Open a second connection to the ledger, for work that takes long and must block nobody."""
        with Ledger(self._address) as ledger:
            yield ledger

    def close(self) -> None:
        """Record the repeats that are left, and close the ledger."""
        self._ending.set()
        if self._repeats_thread.is_alive():
            self._repeats_thread.join()
        with self._lock:
            if self._ledger is not None:
                self._ledger.close()
                self._ledger = None

    # ---- what the settings promise and grant --------------------------------------------------------------

    def begin(self, settings: Settings) -> list[str]:
        """Make the ledger, accounts and quotas that are missing; return the sentences that are logged about it.

        What exists stays as it is: only its owner changes a promise or a quota, never a restart.
        """
        sentences = ["made the ledger"] if not self._exists() and self._create() else []
        ledger = self.ledger
        ledger.check_open()
        known_names = {data.dataset for data, _ in ledger.data_accounts()}
        for data in settings.data.values():
            if data.name not in known_names:
                sentences.append(self._make_account(data))
            else:
                self._check_unchanged(data)
        granted = {standing.account for standing in ledger.all_standings()}
        for person in settings.people.values():
            for name in settings.data if person.data is None else person.data:
                account = Account(dataset=name, analyst=person.name)
                if person.quota is not None and account not in granted:
                    # As a total: another process that begins in this moment grants the same, and not once more.
                    ledger.grant(account, person.quota.epsilon, person.quota.delta, total=True, by=declared.GRANTED_BY)
                    sentences.append(f"granted {person.name} a quota of {name}")
        for sentence in sentences:
            self._log("begun", said=sentence)
        return sentences

    def _exists(self) -> bool:
        try:
            _ = self.ledger
        except LedgerError as error:
            if error.hint is not None and "ledger init" in error.hint:
                return False
            raise
        return True

    def _create(self) -> bool:
        """Make the ledger; return False if another process made it at this moment."""
        try:
            Ledger.create(self._address).close()
        except LedgerError:
            if self._exists():
                return False
            raise
        return True

    def _make_account(self, data: DataSettings) -> str:
        declared.promise(data, self.ledger)
        return f"promised {data.name} to its users"

    def _check_unchanged(self, data: DataSettings) -> None:
        """Refuse settings with other periods than the account has."""
        account = self.ledger.data_account(data.name)
        for name in ("period", "time"):
            recorded, declared_value = getattr(account, name), getattr(data, name)
            if recorded != declared_value:
                requirement = (
                    f"be {recorded!r} as in the account of {data.name!r}"
                    if recorded
                    else "be left out, as in the account"
                )
                raise ParameterError(
                    name, requirement, repr(declared_value), "data that mean something else need another name"
                )

    # ---- how people stand ---------------------------------------------------------------------------------

    def budget_for(self, data: DataSettings, person: Person) -> LedgerBudget:
        """Return the budget at which a person's questions are priced; refuse an analyst without a quota."""
        ledger = self.ledger
        if person.role is not Role.ANALYST:
            return PromiseBudget(ledger, data=data.name, analyst=person.name, snapshot=data.snapshot)
        self.check_quota(data, person)
        return LedgerBudget(ledger, data=data.name, analyst=person.name, snapshot=data.snapshot)

    def check_quota(self, data: DataSettings, person: Person) -> None:
        """Refuse an analyst without a quota, also where an answer would be free: the record has no such right."""
        account = Account(dataset=data.name, analyst=person.name)
        if not self.ledger.has_quota(account):
            raise Refused("budget", _NO_QUOTA, "the owner of the data grants one")

    def standings(self, data: DataSettings, person: Person, during: Periods | None) -> Collection[Standing]:
        """Return the standings of a person in the periods of a question; an owner has the whole promise."""
        ledger, account = self.ledger, Account(dataset=data.name, analyst=person.name)
        if person.role is Role.ANALYST:
            self.check_quota(data, person)
            return ledger.standings(account, during)
        return ledger.promise_standings(account, during)

    # ---- answers that were given again -----------------------------------------------------------------------

    def note_repeat(self, account: Account, settle: int) -> None:
        """Note that somebody was given the answer of this settlement; the next batch records it."""
        with self._lock:
            self._repeated.append((account, settle))

    def _record_repeats(self) -> None:
        ending = False
        while not ending:
            ending = self._ending.wait(REPEATS_PAUSE)
            with self._lock:
                repeats, self._repeated = self._repeated, []
            try:
                if repeats:
                    self.ledger.record_repeats(
                        [(account, self._question_text(settle), settle) for account, settle in repeats]
                    )
            except LedgerError as error:
                self._log.failed("repeated answers are not in the record", error, answers=len(repeats))

    def _question_text(self, settle: int) -> str:
        """Return the text of the question that a settlement answered."""
        entry = self.ledger.entry(settle)
        hold = None if entry is None or entry.refers_to is None else self.ledger.entry(entry.refers_to)
        return "" if hold is None else hold.question or ""

    # ---- a ledger that continues another ---------------------------------------------------------------------

    def find_outcome(self, hold: int, belongs: Callable[[Entry], bool]) -> ReservationOutcome | None:
        """Return what became of a reservation, by its number here or in a ledger that this one continues."""
        for number in self._numbers_of(hold):
            outcome = self.ledger.outcome(number)
            if outcome is not None and belongs(outcome.reservation.entry):
                return outcome
        return None

    def _numbers_of(self, former: int) -> Iterator[int]:
        yield former
        yield from (entry.number for number, _, entry in self._former_entries() if number == former)

    def _former_entries(self) -> Iterator[tuple[int, str, Entry]]:
        """Yield entries from the ledgers that this one continues; nothing is read if there are none."""
        if self.ledger.continued_from is not None:
            yield from self.ledger.former_entries()

    def former_answers(self) -> dict[tuple[int, str], tuple[int, str]]:
        """Return number and digest of each answer, by those that it had in a ledger that this one continues."""
        return {
            (number, digest): (entry.number, entry.digest)
            for number, digest, entry in self._former_entries()
            if entry.kind is EntryKind.SETTLE
        }

    # ---- what a charge was ----------------------------------------------------------------------------------

    def cost_of(self, entry: Entry) -> tuple[float, float] | None:
        """Return what an entry took of a quota, and what is left of it; None if the ledger does not say."""
        with contextlib.suppress(LedgerError):
            if entry.parts:
                return cost_and_rest(
                    (self.ledger.standing(entry.account, period), paid) for period, paid in entry.parts.items()
                )
        return None
