"""The ledger that all questions of a gateway are paid from, opened again where its database went away.

Who was given a stored answer is written into it in batches: nothing is charged by it, and it is common.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Collection, Iterator

from dpselect._ground.periods import Periods
from dpselect.errors import LedgerError, ParameterError
from dpselect.gateway import declared
from dpselect.gateway.log import Log
from dpselect.gateway.problems import Refused
from dpselect.gateway.settings.values import DataSettings, Person, Role, Settings
from dpselect.ledger import (
    Account,
    Entry,
    EntryKind,
    Ledger,
    LedgerBudget,
    Outcome,
    PromiseBudget,
    Standing,
    cost_and_rest,
)

PAUSE = 0.2  # seconds between two batches of repeated answers
NO_QUOTA = "You have no budget for these data."


class Books:
    """One ledger, for all threads."""

    def __init__(self, where: str, log: Log | None = None) -> None:
        self._where, self._log = where, log or Log()
        self._lock, self._ending = threading.Lock(), threading.Event()
        self._ledger: Ledger | None = None
        self._repeated: list[tuple[Account, int]] = []
        self._teller = threading.Thread(target=self._tell, name="repeats", daemon=True)

    def start(self) -> None:
        """From now on repeated answers are written down."""
        self._teller.start()

    @property
    def ledger(self) -> Ledger:
        """The ledger, opened anew where the last one can no longer be used."""
        with self._lock:
            if self._ledger is not None and not self._ledger.alive:
                with contextlib.suppress(LedgerError):
                    self._ledger.close()
                self._ledger = None
            if self._ledger is None:
                self._ledger = Ledger(self._where)
            return self._ledger

    @contextlib.contextmanager
    def apart(self) -> Iterator[Ledger]:
        """A connection of its own, for what takes long and must keep nobody waiting."""
        with Ledger(self._where) as ledger:
            yield ledger

    def close(self) -> None:
        """Write what is left, and give it back."""
        self._ending.set()
        if self._teller.is_alive():
            self._teller.join()
        with self._lock:
            if self._ledger is not None:
                self._ledger.close()
                self._ledger = None

    # ---- what the settings promise and grant --------------------------------------------------------------

    def begin(self, settings: Settings) -> list[str]:
        """Make the ledger, accounts and quotas that are not there yet; sentences about what was done, as in the log.

        What is there stays as it is: a promise or a quota is changed by its owner, and never by a restart.
        """
        said = ["made the ledger"] if not self._is_there() and self._create() else []
        ledger = self.ledger
        ledger.check_open()
        known = {data.dataset for data, _ in ledger.data_accounts()}
        for data in settings.data.values():
            if data.name not in known:
                said.append(self._promise(data))
            else:
                self._same(data)
        granted = {balance.account for balance in ledger.balances()}
        for person in settings.people.values():
            for name in settings.data if person.data is None else person.data:
                account = Account(dataset=name, analyst=person.name)
                if person.quota is not None and account not in granted:
                    # As a total: another process that begins in this moment grants the same, and not once more.
                    ledger.grant(account, person.quota.epsilon, person.quota.delta, total=True, by=declared.SETTINGS)
                    said.append(f"granted {person.name} a quota of {name}")
        for sentence in said:
            self._log("begun", said=sentence)
        return said

    def _is_there(self) -> bool:
        try:
            _ = self.ledger
        except LedgerError as error:
            if error.hint is not None and "ledger init" in error.hint:
                return False
            raise
        return True

    def _create(self) -> bool:
        """Make it; False where another process has made it in this moment."""
        try:
            Ledger.create(self._where).close()
        except LedgerError:
            if self._is_there():
                return False
            raise
        return True

    def _promise(self, data: DataSettings) -> str:
        declared.promise(data, self.ledger)
        return f"promised {data.name} to its users"

    def _same(self, data: DataSettings) -> None:
        """The account must be about the same users and periods as the settings are."""
        account = self.ledger.data_account(data.name)
        for name in ("period", "time"):
            was, now = getattr(account, name), getattr(data, name)
            if was != now:
                must = f"be {was!r} as in the account of {data.name!r}" if was else "be left out, as in the account"
                raise ParameterError(name, must, repr(now), "data that mean something else need another name")

    # ---- how people stand ---------------------------------------------------------------------------------

    def paying(self, data: DataSettings, person: Person) -> LedgerBudget:
        """The budget of a person, as far as prices are asked of it. An analyst without a quota has none."""
        ledger = self.ledger
        if person.role is not Role.ANALYST:
            return PromiseBudget(ledger, data=data.name, analyst=person.name, snapshot=data.snapshot)
        self.check_quota(data, person)
        return LedgerBudget(ledger, data=data.name, analyst=person.name, snapshot=data.snapshot)

    def check_quota(self, data: DataSettings, person: Person) -> None:
        """Refused for an analyst without a quota, also where an answer would be free: the record has no such right."""
        account = Account(dataset=data.name, analyst=person.name)
        if not self.ledger.has_quota(account):
            raise Refused("budget", NO_QUOTA, "the owner of the data grants one")

    def standings(self, data: DataSettings, person: Person, during: Periods | None) -> Collection[Standing]:
        """How a person stands in the periods that are meant; an owner as if all of the promise were theirs."""
        ledger, account = self.ledger, Account(dataset=data.name, analyst=person.name)
        if person.role is Role.ANALYST:
            self.check_quota(data, person)
            return ledger.standings(account, during).values()
        return ledger.promise_standings(account, during)

    # ---- answers that were given again -----------------------------------------------------------------------

    def repeated(self, account: Account, settle: int) -> None:
        """Somebody was given the answer that this entry settled."""
        with self._lock:
            self._repeated.append((account, settle))

    def _tell(self) -> None:
        ending = False
        while not ending:
            ending = self._ending.wait(PAUSE)
            with self._lock:
                told, self._repeated = self._repeated, []
            try:
                if told:
                    self.ledger.record_repeats([(who, self._question_of(settle), settle) for who, settle in told])
            except LedgerError as error:
                self._log.failed("repeated answers are not in the record", error, answers=len(told))

    def _question_of(self, settle: int) -> str:
        """The question that a settle answered."""
        entry = self.ledger.entry(settle)
        hold = None if entry is None or entry.refers_to is None else self.ledger.entry(entry.refers_to)
        return "" if hold is None else hold.question or ""

    # ---- a ledger that continues another ---------------------------------------------------------------------

    def outcome(self, hold: int, its: Callable[[Entry], bool]) -> Outcome | None:
        """Return what became of a reservation, by its number here or in a ledger that this one continues."""
        for number in self._numbers(hold):
            outcome = self.ledger.outcome(number)
            if outcome is not None and its(outcome.reservation.entry):
                return outcome
        return None

    def _numbers(self, former: int) -> Iterator[int]:
        yield former
        yield from (entry.number for number, _, entry in self._former() if number == former)

    def _former(self) -> Iterator[tuple[int, str, Entry]]:
        """Nothing is read where the ledger continues no other."""
        if self.ledger.continued_from is not None:
            yield from self.ledger.former_entries()

    def former_answers(self) -> dict[tuple[int, str], tuple[int, str]]:
        """Return number and digest of each answer, by those that it had in a ledger that this one continues."""
        return {
            (number, digest): (entry.number, entry.digest)
            for number, digest, entry in self._former()
            if entry.kind is EntryKind.SETTLE
        }

    # ---- what a charge was ----------------------------------------------------------------------------------

    def cost_of(self, entry: Entry) -> tuple[float, float] | None:
        """Return what an entry took of a quota, and what is left of it; None if the ledger does not say."""
        with contextlib.suppress(LedgerError):
            if entry.parts:
                return cost_and_rest(
                    (self.ledger.standing(entry.account, at), paid) for at, paid in entry.parts.items()
                )
        return None
