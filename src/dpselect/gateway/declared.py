"""What the settings declare of promises and quotas, beside what the ledger holds.

The ledger decides. A change of the settings alone changes nothing, so that no restart raises a promise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dpselect._ground.budget_parts import percent
from dpselect._ground.keys import key_to_text
from dpselect.errors import LedgerError, ParameterError
from dpselect.gateway.settings.reading import Mistake
from dpselect.gateway.settings.values import DataSettings, Person, Role, Settings
from dpselect.ledger import Account, Charge, DataAccount, Ledger, parse_grant

APPLY = "`dpselect gateway apply` makes the ledger as the settings say"
SETTINGS = "the settings"  # who grants what they declare
KEPT = "the ledger does not change this; to end a quota, take the data or the person out of the settings"


@dataclass(frozen=True)
class Difference:
    """One value that the settings and the ledger have differently."""

    of: DataSettings | Account  # the account of data, or a quota
    name: str
    declared: str | None  # None where the settings have no such value
    kept: str

    def __str__(self) -> str:
        declared = "have none" if self.declared is None else f"have {self.declared}"
        return f"{self.place}: the settings {declared}, but the ledger keeps {self.kept}"

    @property
    def place(self) -> str:
        """What it is about, in words."""
        if isinstance(self.of, DataSettings):
            return f"the {self.name} of {self.of.name}"
        return f"the quota of {self.of.analyst} for {self.of.dataset}"


def differences(settings: Settings, ledger: Ledger) -> list[Difference]:
    """Return what the ledger has otherwise than the settings; what it does not have yet is made by `serve`."""
    accounts = {account.dataset: account for account, _ in ledger.data_accounts()}
    quotas = {balance.account: balance.granted for balance in ledger.balances()}
    known = [(data, accounts[data.name]) for data in settings.data.values() if data.name in accounts]
    of_data = [difference for data, account in known for difference in _of_data(data, account)]
    return [*of_data, *_of_quotas(settings, quotas)]


def _of_data(data: DataSettings, account: DataAccount) -> Iterator[Difference]:
    declared, kept = parse_grant(data.promise.epsilon, data.promise.delta), account.promise
    if (declared.epsilon, declared.delta) != (kept.epsilon, kept.delta):
        yield Difference(data, "promise", str(declared), str(Charge(kept.epsilon, kept.delta)))
    if data.keep != account.keep:
        yield Difference(data, "keep", percent(data.keep), percent(account.keep))
    user = None if data.user is None else key_to_text(data.user)
    unit = data.whom if data.unit is not None or user is not None else account.unit
    for name, wanted, found in (
        ("unit", unit, account.unit),
        ("user", user or account.user, account.user or user),
        ("period", data.period, account.period),
        ("time", data.time, account.time),
        ("timezone", data.timezone if data.period else account.timezone, account.timezone),
    ):
        if wanted != found:
            yield Difference(data, name, None if wanted is None else repr(wanted), "none" if not found else repr(found))


def _of_quotas(settings: Settings, quotas: dict[Account, Charge]) -> Iterator[Difference]:
    for person, account in _accounts(settings):
        kept = quotas.get(account)
        if kept is None:
            continue
        declared = _quota(person)
        if declared is None:
            yield Difference(account, "quota", None, str(kept))
        elif (declared.epsilon, declared.delta) != (kept.epsilon, kept.delta):
            yield Difference(account, "quota", str(declared), str(kept))


def _accounts(settings: Settings) -> Iterator[tuple[Person, Account]]:
    for person in settings.people.values():
        if person.role is Role.ANALYST:
            for name in settings.data if person.data is None else person.data:
                yield person, Account(dataset=name, analyst=person.name)


def _quota(person: Person) -> Charge | None:
    return None if person.quota is None else parse_grant(person.quota.epsilon, person.quota.delta)


def apply(settings: Settings, ledger: Ledger) -> tuple[list[str], list[Mistake]]:
    """Make the ledger as the settings say; return what was changed, and what may not be changed.

    A promise may be raised at any time, and lowered to what is used. The ledger records each change.
    """
    refused, before = list[Mistake](), differences(settings, ledger)
    for data in {one.of.name: one.of for one in before if isinstance(one.of, DataSettings)}.values():
        try:
            promise(data, ledger)
        except ParameterError as error:
            text = str(error).partition("\nhint: ")[0]
            refused.append(Mistake(f"[data.{data.name}] {text}", error.hint))
    for difference in before:
        quota = _quota(settings.people[difference.of.analyst]) if isinstance(difference.of, Account) else None
        if quota is not None and isinstance(difference.of, Account):
            ledger.grant(difference.of, quota.epsilon, quota.delta, total=True, by=SETTINGS)
    after = {one.place: one for one in differences(settings, ledger)}
    changed = [f"{one.place} is now {one.declared}, and was {one.kept}" for one in before if one.place not in after]
    if not refused:
        refused = [Mistake(str(one), KEPT) for one in after.values()]
    return changed, refused


def promise(data: DataSettings, ledger: Ledger) -> None:
    """Make the account of these data, or change it."""
    ledger.data(
        data.name,
        data.promise.epsilon,
        data.promise.delta,
        keep=data.keep,
        unit=data.unit,
        user=data.user,
        period=data.period,
        time=data.time,
        timezone=data.timezone if data.period is not None else None,
    )


def compare(settings: Settings) -> list[str]:
    """Return sentences about what the ledger of the settings has otherwise; none where it is not there yet."""
    try:
        with Ledger(settings.server.ledger) as ledger:
            return [str(difference) for difference in differences(settings, ledger)]
    except LedgerError as error:
        if error.hint is not None and "ledger init" in error.hint:
            return []
        return [f"promises and quotas were not compared with the ledger: {str(error).partition(chr(10))[0]}"]
