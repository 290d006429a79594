"""Any sequence of steps agrees with a ledger of a few lines, and can be verified."""

from __future__ import annotations

import tempfile
from fractions import Fraction
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from dpselect.errors import BudgetError
from dpselect.ledger import ZERO, Account, Charge, Ledger, Reservation
from dpselect.ledger.standing import Usage
from tests.ledger.amounts import started

LOSS = st.fractions(min_value=0, max_value=2, max_denominator=10**4)
FAILURE = st.fractions(min_value=0, max_value=Fraction(1, 100), max_denominator=10**9)
DIVERGENCE = st.sampled_from([1, Fraction(1, 2), Fraction(1, 50)])
amounts = st.builds(lambda e, d, part: Charge.round_up(e, d, e * part), LOSS, FAILURE, DIVERGENCE)
steps = st.tuples(st.sampled_from(["grant", "reserve", "reserve", "settle", "data"]), st.integers(0, 2), amounts)


@settings(max_examples=40)
@given(st.lists(steps, max_size=25))
def test_any_life(life: list[tuple[str, int, Charge]]) -> None:
    accounts = [Account("plays", name) for name in ("ann", "bob", "eve")]
    model = {account: [Charge.round_up(Fraction(1), Fraction(1, 1000)), ZERO, ZERO] for account in accounts}
    open_ones: list[Reservation] = []
    with tempfile.TemporaryDirectory() as folder, Ledger.create(Path(folder) / "x") as ledger:
        promise = ledger.data("plays", 2, "0.02").promise
        apart, divergence = promise.apart, promise.renyi  # of both, half of delta and what that is worth stay the same
        assert divergence is not None
        total = Charge(Fraction(2), Fraction(2, 100))
        for account in accounts:
            ledger.grant(account, 1, "0.001")
        for what, who, amount in life:
            account = accounts[who]
            granted, spent, reserved = model[account]
            of_all = Charge.round_up(Fraction(0), Fraction(0))
            for _, one, other in model.values():
                of_all = of_all + one + other
            if what == "data":
                total = total + Charge.round_up(amount.epsilon, amount.delta / 10)
                divergence = promised(ledger, total)
            elif what == "grant" and (amount.epsilon or amount.delta):
                ledger.grant(account, amount.epsilon, amount.delta)
                model[account][0] = granted + Charge(amount.epsilon, amount.delta)
            elif what == "reserve":
                own, everybody = spent + reserved + amount, of_all + amount
                share = divergence * granted.epsilon / total.epsilon
                fits = (
                    own.delta <= granted.delta
                    and (own.epsilon <= granted.epsilon or own.renyi <= share)
                    and everybody.delta <= total.delta - apart
                    and (everybody.epsilon <= total.epsilon or everybody.renyi <= divergence)
                )
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
        found = {one.account: [one.granted, one.own.spent, one.own.reserved] for one in ledger.all_standings()}
        assert found == model
        ((_, used),) = ledger.data_accounts()
        spent, reserved = (sum((parts[i] for parts in model.values()), start=ZERO) for i in (1, 2))
        assert used.get("", Usage()) == Usage(spent, reserved)
        assert ledger.verify(ledger.head) == []
        with Ledger.upgrade(Path(folder) / "x", Path(folder) / "y") as after:
            assert (after.all_standings(), after.data_accounts()) == (ledger.all_standings(), ledger.data_accounts())
            assert after.verify(ledger.head) == []


def promised(ledger: Ledger, total: Charge) -> Fraction:
    """Promise a larger total; the divergence that it is worth."""
    divergence = ledger.data("plays", total.epsilon, total.delta).promise.renyi
    assert divergence is not None
    return divergence
