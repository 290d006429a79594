"""An owner's declaration about data, which makes an account or changes the one that is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import Number, one_of, part
from dpselect._ground.periods import PERIOD_KINDS, UTC, parse_timezone
from dpselect.accounting.promise import Promise
from dpselect.errors import ParameterError, came
from dpselect.ledger.account import clean_name, default_unit, parse_user
from dpselect.ledger.charge import Charge, format_amount
from dpselect.ledger.standing import DataAccount, Usage

_MUST_BE_SHARE = "be a share from 0 to 1, 1 excluded"


@dataclass(frozen=True)
class Declaration:
    """The parameters of `Ledger.data`; None for each that was left out."""

    keep: Fraction | None
    unit: str | None
    user: str | None
    period: str | None
    time: str | None
    timezone: str | None

    @staticmethod
    def parse(
        keep: Number | None, *, unit: object, user: object, period: object, time: object, timezone: object
    ) -> Declaration:
        """Check the parameters by themselves and together."""
        if period is not None:
            period = one_of("period", period, PERIOD_KINDS)
        if timezone is not None:
            timezone = parse_timezone(timezone)
        share = None if keep is None else part("keep", keep, _MUST_BE_SHARE)
        if share is not None and not 0 <= share < 1:
            raise ParameterError("keep", _MUST_BE_SHARE, came(keep))
        if time is not None and not (isinstance(time, str) and time.strip()):
            raise ParameterError("time", "be the name of a column", came(time))
        unit = None if unit is None else clean_name("unit", unit)
        return Declaration(share, unit, parse_user(user), period, time, timezone)

    def update_account(
        self, dataset: str, total: Charge, previous: DataAccount | None, usages: Sequence[Usage], *, was_asked: bool
    ) -> DataAccount:
        """Return the account of the data from now on."""
        if total.delta >= 1:
            raise ParameterError("delta", "be less than 1", format_amount(total.delta), "1 would allow everything")
        if previous is None:
            account = DataAccount(dataset, Promise.for_account(total.epsilon, total.delta))
        else:
            account = replace(previous, promise=change_total(previous.promise, total, usages))
        period, time = self.period or account.period, self.time or account.time
        for name, value in (("time", time), ("timezone", self.timezone)):
            if period is None and value is not None:
                raise ParameterError(name, "be left out if no period is given", came(value))
        if period is not None and time is None:
            raise ParameterError("time", "name the column of times if a period is given", "nothing")
        zone = None if period is None else self.timezone or account.timezone or UTC
        user = self.user or account.user
        default = (
            default_unit(user, period) if account.unit == default_unit(account.user, account.period) else account.unit
        )
        account = replace(account, unit=self.unit or default, user=user, period=period, time=time, timezone=zone)
        account = account if self.keep is None else replace(account, keep=self.keep)
        if was_asked and previous is not None:
            for name, old_value in previous.fixed_terms.items():
                new_value = account.fixed_terms[name]
                if new_value != old_value:
                    must = f"stay {old_value!r}" if old_value else "stay left out"
                    hint = "make an account of another name"
                    raise ParameterError(name, f"{must}, because questions were asked under it", came(new_value), hint)
        return account


def change_total(promise: Promise, total: Charge, usages: Sequence[Usage]) -> Promise:
    """Return the account with another total, which must cover what was used.

    An account that only added up begins to compose, if what was used leaves room for the delta that composition needs.
    """
    totals = [usage.total.as_spent for usage in usages]
    if promise.order is None:
        composing = Promise.for_account(total.epsilon, total.delta)
        if all(map(composing.keeps, totals)):
            return composing
    changed = promise.granting(total.epsilon, total.delta)
    for total_used in totals:
        if total_used.failure > changed.limits.failure:
            minimum, requested = format_amount(total_used.failure + changed.apart), format_amount(total.delta)
            raise ParameterError("delta", f"be at least the {minimum} that is used or reserved", requested)
        if not changed.keeps(total_used):
            raise ParameterError(
                "epsilon", "cover what is used, by sum or by Rényi divergence", format_amount(total.epsilon)
            )
    return changed
