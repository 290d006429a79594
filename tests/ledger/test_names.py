"""Names that look alike by what cannot be seen are one account, or none."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpselect.errors import BudgetError, LedgerError, ParameterError
from dpselect.ledger import Account, Kind, Ledger
from dpselect.ledger.account import EVERYBODY, clean_name, is_clean, looks
from dpselect.ledger.charge import ZERO
from dpselect.ledger.entry import Draft
from tests.ledger.amounts import ask, charge, grant
from tests.ledger.earlier import Earlier, amount

COMPOSED, DECOMPOSED = "Ren\u00e9", "Rene\u0301"

UNSEEN = {
    "trailing space": "ann ", "leading space": " ann", "two spaces": "ann  lee", "no-break space": "ann\u00a0lee",
    "ideographic space": "ann\u3000lee", "right-to-left override": "\u202eann", "right-to-left mark": "ann\u200f",
    "isolate": "\u2068ann\u2069", "zero-width space": "an\u200bn", "zero-width joiner": "an\u200dn",
    "byte order mark": "\ufeffann", "soft hyphen": "an\u00adn", "word joiner": "an\u2060n", "tag": "ann\U000e0061",
    "variation selector": "ann\ufe0f", "another selector": "ann\U000e0100", "grapheme joiner": "an\u034fn",
    "Hangul filler": "ann\u3164", "half-width filler": "ann\uffa0", "braille blank": "ann\u2800",
    "Mongolian separator": "ann\u180e", "private": "ann\ue000", "unassigned": "ann\u0378", "newline": "ann\n",
    "line separator": "ann\u2028", "half of a pair": "ann\ud800", "delete": "ann\x7f", "C1 control": "ann\x85",
}  # fmt: skip


@pytest.mark.parametrize("name", UNSEEN.values(), ids=UNSEEN)
def test_what_cannot_be_seen_is_refused(name: str) -> None:
    for field, given_ in (("analyst", ("plays", name)), ("dataset", (name, "ann"))):
        with pytest.raises(
            ParameterError, match=f"{field} must be a text of 1 to 200 characters that can be seen"
        ) as no:
            Account(*given_)
        assert no.value.hint
        assert str(no.value).isascii()  # so that the message shows it
    assert looks(name) in ("ann", "ann lee")


@pytest.mark.parametrize("name", ["ann", "ann lee", "O'Neil", "Åsa", "数学", "🎵", "אן", "आन", "team-7/eu", COMPOSED])
def test_what_can_be_seen_is_a_name(name: str) -> None:
    assert Account("plays", name).analyst == name


def test_composed_and_decomposed_letters_are_one_account(ledger: Ledger) -> None:
    grant(ledger, Account("caf\u00e9", COMPOSED), 1, 0)
    grant(ledger, Account("cafe\u0301", DECOMPOSED), 1, 0)
    (balance,) = ledger.balances()
    assert (balance.account.analyst, balance.granted) == (COMPOSED, charge("2"))
    assert ledger.verify() == []


@given(st.text(min_size=1, max_size=20))
def test_no_two_names_look_alike(text: str) -> None:
    try:
        name = clean_name("analyst", text)
    except ParameterError:
        return
    assert name == looks(name) == clean_name("analyst", name)
    assert unicodedata.is_normalized("NFC", name)


# ---- ledgers of earlier versions --------------------------------------------------------------------------


@pytest.mark.parametrize("name", [DECOMPOSED, "ann\u200b", "ann ", "\u202eann"])
def test_an_account_of_earlier_versions_is_shown_and_leads_to_a_new_name(where: str, name: str) -> None:
    """Earlier versions took any name that prints on one line."""
    old, new = Account.kept("plays", name), Account("plays", looks(name))
    earlier = Earlier(where, 2)
    earlier.grant(old, "2", "0")
    earlier.ask(old, amount("0.5"), "{}", "[]")
    earlier.store.close()
    with Ledger(where) as ledger:
        assert ledger.verify() == []  # nothing about it is damaged
        (balance,) = ledger.balances()
        assert balance.left == charge("1.5")
        assert not is_clean(balance.account.analyst)
        with pytest.raises(LedgerError, match="has no budget for the data set 'plays'\nhint: it looks like") as hint:
            ledger.reserve(new, charge("0.1"), "{}")
        assert ascii(name) in str(hint.value)
        ledger.grant(old, "0.5", 0, total=True)  # its total may be lowered, but not its name changed
        ledger.grant(new, balance.left.epsilon, balance.left.delta)
        ask(ledger, new, charge("1.5"))
        with pytest.raises(BudgetError):
            ledger.reserve(old, charge("0.1"), "{}")
        assert ledger.verify() == []


@pytest.mark.parametrize("name", [DECOMPOSED, "plays\u200b", "plays "])
def test_data_of_earlier_versions_go_on_under_their_name(where: str, name: str) -> None:
    """What is promised of them stays as it was; a new account needs a name of today."""
    old = Account.kept(name, "ann")
    earlier = Earlier(where, 2)
    earlier.grant(old, "2", "0")
    earlier.store.close()
    with Ledger(where) as ledger:
        ((data, _),) = ledger.data_accounts()
        assert (data.dataset, data.promise.epsilon) == (name, 2)
        ask(ledger, old, charge("0.5"))
        assert [one.account for one in ledger.balances()] == [old]
        assert ledger.verify() == []


@pytest.mark.parametrize("name", ["a\nb", "x" * 201, "\u2028", "\ud800"])
def test_what_no_version_wrote_is_damage(name: str) -> None:
    for whose in ((name, "ann"), ("plays", name), (name, EVERYBODY)):
        with pytest.raises(ValueError, match="no version wrote such a name"):
            Account.kept(*whose)


def test_nobody_has_no_name() -> None:
    """In the place of an analyst, all of them; never the name of one, nor of data."""
    assert Account.kept("plays", EVERYBODY) == Account.everybody("plays")
    with pytest.raises(ValueError, match="no version wrote such a name"):
        Account.kept("", "ann")
    with pytest.raises(ParameterError, match="analyst must be a text of 1 to 200 characters"):
        Account("plays", EVERYBODY)


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind is not Kind.DATA])
def test_an_entry_of_nobody_is_damage(ledger: Ledger, kind: Kind) -> None:
    """With a sound digest: only a promise is made to all analysts together."""
    ledger.data("plays", 1, 0)
    with ledger._writing() as (journal, end):
        journal.append(end, Draft(kind, Account.everybody("plays"), ZERO, "{}", refers_to=1))
    assert "entry 2 is damaged: its terms are none" in ledger.verify()
