"""What the settings declare of promises and quotas, beside what the ledger holds.

The ledger decides. A change of the settings alone changes nothing, so that no restart raises a promise.
"""

from __future__ import annotations

from collections.abc import Iterator

from dpselect._ground.dataclass import dataclass
from dpselect.errors import LedgerError, ParameterError
from dpselect.gateway.settings.kinds import Role
from dpselect.gateway.settings.reading import Mistake
from dpselect.gateway.settings.server import Person
from dpselect.gateway.settings.values import DataSettings, Settings
from dpselect.ledger import Account, Charge, DataAccount, Ledger, key_to_text, parse_grant, percent

APPLY = "`dpselect gateway apply` makes the ledger as the settings say"
GRANTED_BY = "the settings"  # who grants what they declare
NOT_LOWERED = "the ledger does not change this; to end a quota, take the data or the person out of the settings"


@dataclass(frozen=True)
class Difference:
    """A value that differs between the settings and the ledger."""

    subject: DataSettings | Account  # the account of data, or a quota
    name: str
    declared: str | None  # None where the settings have no such value
    recorded: str

    def __str__(self) -> str:
        declared = "have none" if self.declared is None else f"have {self.declared}"
        return f"{self.label}: the settings {declared}, but the ledger keeps {self.recorded}"

    @property
    def label(self) -> str:
        """The name of the value, with the data or quota it belongs to."""
        if isinstance(self.subject, DataSettings):
            return f"the {self.name} of {self.subject.name}"
        return f"the quota of {self.subject.analyst} for {self.subject.dataset}"


def differences(settings: Settings, ledger: Ledger) -> list[Difference]:
    """List what the ledger has otherwise than the settings, except what it does not have yet and is made."""
    accounts = {account.dataset: account for account, _ in ledger.data_accounts()}
    quotas = {standing.account: standing.granted for standing in ledger.all_standings()}
    pairs = [(data, accounts[data.name]) for data in settings.data.values() if data.name in accounts]
    data_differences = [difference for data, account in pairs for difference in _data_differences(data, account)]
    return [*data_differences, *_quota_differences(settings, quotas)]


def _data_differences(data: DataSettings, account: DataAccount) -> Iterator[Difference]:
    declared, ledger_promise = parse_grant(data.promise.epsilon, data.promise.delta), account.promise
    if (declared.epsilon, declared.delta) != (ledger_promise.epsilon, ledger_promise.delta):
        yield Difference(data, "promise", str(declared), str(Charge(ledger_promise.epsilon, ledger_promise.delta)))
    if data.keep != account.keep:
        yield Difference(data, "keep", percent(data.keep), percent(account.keep))
    user = None if data.user is None else key_to_text(data.user)
    unit = data.protected_unit if data.unit is not None or user is not None else account.unit
    for name, setting, recorded in (
        ("unit", unit, account.unit),
        ("user", user or account.user, account.user or user),
        ("period", data.period, account.period),
        ("time", data.time, account.time),
        ("timezone", data.timezone if data.period else account.timezone, account.timezone),
    ):
        if setting != recorded:
            yield Difference(
                data, name, None if setting is None else repr(setting), "none" if not recorded else repr(recorded)
            )


def _quota_differences(settings: Settings, quotas: dict[Account, Charge]) -> Iterator[Difference]:
    for person, account in _analyst_accounts(settings):
        granted = quotas.get(account)
        if granted is None:
            continue
        declared = _quota(person)
        if declared is None:
            yield Difference(account, "quota", None, str(granted))
        elif (declared.epsilon, declared.delta) != (granted.epsilon, granted.delta):
            yield Difference(account, "quota", str(declared), str(granted))


def _analyst_accounts(settings: Settings) -> Iterator[tuple[Person, Account]]:
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
    refused, old_differences = list[Mistake](), differences(settings, ledger)
    for data in {
        difference.subject.name: difference.subject
        for difference in old_differences
        if isinstance(difference.subject, DataSettings)
    }.values():
        try:
            promise(data, ledger)
        except ParameterError as error:
            text = str(error).partition("\nhint: ")[0]
            refused.append(Mistake(f"[data.{data.name}] {text}", error.hint))
    for difference in old_differences:
        quota = _quota(settings.people[difference.subject.analyst]) if isinstance(difference.subject, Account) else None
        if quota is not None and isinstance(difference.subject, Account):
            ledger.grant(difference.subject, quota.epsilon, quota.delta, total=True, by=GRANTED_BY)
    remaining = {difference.label: difference for difference in differences(settings, ledger)}
    changed = [
        f"{difference.label} is now {difference.declared}, and was {difference.recorded}"
        for difference in old_differences
        if difference.label not in remaining
    ]
    if not refused:
        refused = [Mistake(str(difference), NOT_LOWERED) for difference in remaining.values()]
    return changed, refused


def promise(data: DataSettings, ledger: Ledger) -> None:
    """Make the account of these data in the ledger, or change it."""
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
    """Describe what the ledger has otherwise than the settings; an empty list if there is no ledger yet."""
    try:
        with Ledger(settings.server.ledger) as ledger:
            return [str(difference) for difference in differences(settings, ledger)]
    except LedgerError as error:
        if error.hint is not None and "ledger init" in error.hint:
            return []
        return [f"promises and quotas were not compared with the ledger: {str(error).partition(chr(10))[0]}"]
