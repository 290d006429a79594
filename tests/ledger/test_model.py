"""Any sequence of steps agrees with a ledger of four lines, and can be verified."""

from __future__ import annotations

import tempfile
from fractions import Fraction
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from dpselect.errors import BudgetError
from dpselect.ledger import Account, Balance, Charge, Ledger, Reservation
from tests.house.pace import examples
from tests.ledger.amounts import grant, started

amounts = st.builds(
    Charge.up,
    st.fractions(min_value=0, max_value=2, max_denominator=10**4),
    st.fractions(min_value=0, max_value=Fraction(1, 100), max_denominator=10**9),
)
steps = st.tuples(st.sampled_from(["grant", "reserve", "reserve", "settle"]), st.integers(0, 2), amounts)


@examples(40)
@given(st.lists(steps, max_size=25))
def test_any_life(life: list[tuple[str, int, Charge]]) -> None:
    accounts = [Account("plays", name) for name in ("ann", "bob", "eve")]
    model = {account: [Charge.up(Fraction(1), Fraction(1, 1000)), *[Charge.up(Fraction(0), Fraction(0))] * 2]
             for account in accounts}  # fmt: skip
    open_ones: list[Reservation] = []
    with tempfile.TemporaryDirectory() as folder, Ledger.create(Path(folder) / "x") as ledger:
        for account in accounts:
            grant(ledger, account, 1, "0.001")
        for what, who, amount in life:
            account = accounts[who]
            granted, spent, reserved = model[account]
            if what == "grant" and (amount.epsilon or amount.delta):
                grant(ledger, account, amount.epsilon, amount.delta)
                model[account][0] = granted + amount
            elif what == "reserve":
                fits = (spent + reserved + amount).fits(granted)
                try:
                    open_ones.append(started(ledger, account, amount, "{}"))
                except BudgetError:
                    assert not fits
                else:
                    assert fits
                    model[account][2] = reserved + amount
            elif what == "settle" and open_ones:
                one = open_ones.pop(who % len(open_ones))
                price = amount if amount.fits(one.ceiling) else one.ceiling
                ledger.settle(one, price, None)
                _, spent, reserved = model[one.account]
                model[one.account][1:] = [spent + price, reserved - one.ceiling]
        assert ledger.balances() == [Balance(account, *model[account]) for account in accounts]
        assert ledger.verify(ledger.head) == []
