"""Names that look alike by what cannot be seen are one account, or none."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpselect.errors import ParameterError
from dpselect.ledger import Account, EntryKind, Ledger
from dpselect.ledger.account import ALL_ANALYSTS, _is_invisible, clean_name
from dpselect.ledger.charge import ZERO
from dpselect.ledger.entry import LEDGER_KINDS, Draft
from tests.ledger.amounts import charge, grant

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


def looks(name: str) -> str:
    """What is left of a name without all that cannot be seen; equal for names that look alike by that."""
    composed = unicodedata.normalize("NFC", name)
    spaced = "".join(" " if unicodedata.category(one) == "Zs" else one for one in composed)
    return " ".join("".join(one for one in spaced if one == " " or not _is_invisible(one)).split())


@pytest.mark.parametrize("name", UNSEEN.values(), ids=UNSEEN)
def test_what_cannot_be_seen_is_refused(name: str) -> None:
    for field, given_ in (("analyst", ("plays", name)), ("dataset", (name, "ann"))):
        with pytest.raises(ParameterError, match=f"{field} must be a text of 1 to 200 visible characters") as no:
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
    (standing,) = ledger.all_standings()
    assert (standing.account.analyst, standing.granted) == (COMPOSED, charge("2"))
    assert ledger.verify() == []


@given(st.text(min_size=1, max_size=20))
def test_no_two_names_look_alike(text: str) -> None:
    try:
        name = clean_name("analyst", text)
    except ParameterError:
        return
    assert name == looks(name) == clean_name("analyst", name)
    assert unicodedata.is_normalized("NFC", name)


@pytest.mark.parametrize("name", ["a\nb", "x" * 201, "\u2028", "\ud800", DECOMPOSED, "ann ", "\u202eann"])
def test_a_name_that_is_never_given_is_damage(name: str) -> None:
    for whose in ((name, "ann"), ("plays", name), (name, ALL_ANALYSTS)):
        with pytest.raises(ValueError, match="no such name is given"):
            Account.from_stored(*whose)


def test_nobody_has_no_name() -> None:
    """In the place of an analyst, all of them; never the name of one, nor of data."""
    assert Account.from_stored("plays", ALL_ANALYSTS) == Account.for_everybody("plays")
    with pytest.raises(ValueError, match="no such name is given"):
        Account.from_stored("", "ann")


@pytest.mark.parametrize("name", [ALL_ANALYSTS, "x" * 201, "nul\0", 7, None])
def test_names_that_are_none(name: str) -> None:
    for field, given_ in (("analyst", ("plays", name)), ("dataset", (name, "ann"))):
        with pytest.raises(ParameterError, match=f"{field} must be a text of 1 to 200 visible characters"):
            Account(*given_)


@pytest.mark.parametrize("kind", [kind for kind in EntryKind if kind is not EntryKind.DATA])
def test_an_entry_of_nobody_is_damage(ledger: Ledger, kind: EntryKind) -> None:
    """With a sound digest: only a promise is made to all analysts together."""
    ledger.data("plays", 1, 0)
    with ledger._session.writing() as (journal, end):
        journal.append(end, Draft(kind, Account.for_everybody("plays"), ZERO, "{}", refers_to=1))
    why = "it is about the ledger, and names a data set or an analyst" if kind in LEDGER_KINDS else "its terms are none"
    assert f"entry 2 is damaged: {why}" in ledger.verify()
