"""What an owner says of data becomes an account, or changes the one that is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dpselect._ground.parameters import Number, one_of, part
from dpselect._ground.periods import PERIOD_KINDS, UTC, parse_timezone
from dpselect.accounting.promise import Promise
from dpselect.errors import ParameterError, came
from dpselect.ledger.account import clean_name, text_given, usual_unit
from dpselect.ledger.charge import Charge, short
from dpselect.ledger.standing import DataAccount, Used

SHARE = "be a share from 0 to 1, 1 excluded"


@dataclass(frozen=True)
class Given:
    """What was said; None for what was left out."""

    keep: Fraction | None
    unit: str | None
    user: str | None
    period: str | None
    time: str | None
    timezone: str | None

    @staticmethod
    def read(
        keep: Number | None, *, unit: object, user: object, period: object, time: object, timezone: object
    ) -> Given:
        """Checked, each by itself and together."""
        if period is not None:
            period = one_of("period", period, PERIOD_KINDS)
        if timezone is not None:
            timezone = parse_timezone(timezone)
        kept = None if keep is None else part("keep", keep, SHARE)
        if kept is not None and not 0 <= kept < 1:
            raise ParameterError("keep", SHARE, came(keep))
        if time is not None and not (isinstance(time, str) and time.strip()):
            raise ParameterError("time", "be the name of a column", came(time))
        unit = None if unit is None else clean_name("unit", unit)
        return Given(kept, unit, text_given(user), period, time, timezone)

    def account(
        self, dataset: str, total: Charge, before: DataAccount | None, used: Sequence[Used], *, asked: bool
    ) -> DataAccount:
        """The account of the data from now on."""
        if total.delta >= 1:
            raise ParameterError("delta", "be less than 1", short(total.delta), "1 would allow everything")
        if before is None:
            made = DataAccount(dataset, Promise.of(total.epsilon, total.delta))
        else:
            made = replace(before, promise=changed(before.promise, total, used))
        period, time = self.period or made.period, self.time or made.time
        for name, value in (("time", time), ("timezone", self.timezone)):
            if period is None and value is not None:
                raise ParameterError(name, "be left out if no period is given", came(value))
        if period is not None and time is None:
            raise ParameterError("time", "name the column of times if a period is given", "nothing")
        zone = None if period is None else self.timezone or made.timezone or UTC
        user = self.user or made.user
        usual = usual_unit(user, period) if made.unit == usual_unit(made.user, made.period) else made.unit
        made = replace(made, unit=self.unit or usual, user=user, period=period, time=time, timezone=zone)
        made = made if self.keep is None else replace(made, keep=self.keep)
        if asked and before is not None:
            for name, was in before.fixed.items():
                now = made.fixed[name]
                if now != was:
                    must = f"stay {was!r}" if was else "stay left out"
                    hint = "make an account of another name"
                    raise ParameterError(name, f"{must}, because questions were asked under it", came(now), hint)
        return made


def changed(promise: Promise, total: Charge, used: Sequence[Used]) -> Promise:
    """The same account with another total, which what was used must keep.

    One that only added up begins to compose, if what was used leaves room for the part of delta that this needs.
    """
    sums = [one.total.sums for one in used]
    if promise.order is None:
        begun = Promise.of(total.epsilon, total.delta)
        if all(map(begun.keeps, sums)):
            return begun
    made = promise.granting(total.epsilon, total.delta)
    for one in sums:
        if one.failure > made.limits.failure:
            least, got = short(one.failure + made.apart), short(total.delta)
            raise ParameterError("delta", f"be at least the {least} that is used or reserved", got)
        if not made.keeps(one):
            raise ParameterError("epsilon", "cover what is used, by sum or by Rényi divergence", short(total.epsilon))
    return made
