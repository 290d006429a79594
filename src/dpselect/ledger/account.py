"""Whose budget it is, how it stands, and the unit that its promise is about.

Names of analysts and data sets that look alike by what cannot be seen are one name, or none.

A promise about whole users does not pay for questions about some of their rows, nor the other way round. Where several
columns say together who a user is, a promise is about one combination of them. Answers about different units do not
add up to a promise about either. Columns of other names may hold the same people, so one column is as good as another
unless an account names it.
"""

from __future__ import annotations

import threading
import unicodedata
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from dpselect._ground.keys import Key, composite_columns, format_key, key_from_text, key_to_text, parse_key, unit_of_key
from dpselect._ground.parameters import check_keywords
from dpselect.errors import ParameterError, came
from dpselect.ledger.charge import Charge

EVERYBODY = ""  # in the place of an analyst
ALWAYS = ""  # in the place of a period: data that have none
NO_DATA = ""  # in the place of a data set, with nobody in that of an analyst: the ledger itself
LONGEST = 200  # characters: two names fit into one index row of every store
_MUST = f"be a text of 1 to {LONGEST} visible characters, with single spaces between words"
# Controls, marks of direction and joining, halves of pairs, private and unassigned ones, separators, other spaces.
_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"))
# What Unicode ignores by default or draws as a blank although it counts as a letter, a mark or a symbol.
_BLANK = frozenset(
    chr(point)
    for first, last in (
        (0x034F, 0x034F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x2800, 0x2800), (0x3164, 0x3164),
        (0xFE00, 0xFE0F), (0xFFA0, 0xFFA0), (0x1D159, 0x1D159), (0xE0100, 0xE01EF),
    )
    for point in range(first, last + 1)
)  # fmt: skip
USER = "one user"
HINT = "a budget protects one unit: make another budget, or an account whose user is that list of columns"


def clean_name(parameter: str, name: object) -> str:
    """The name, composed (NFC); ParameterError where something in it cannot be seen."""
    if not isinstance(name, str) or not 1 <= len(name) <= LONGEST:
        raise ParameterError(parameter, _MUST, came(name))
    composed = unicodedata.normalize("NFC", name)
    if is_clean(composed):
        return composed
    unseen = next((one for one in composed if _is_unseen(one)), None)
    hint = "remove spaces at its ends, and all but one between words"
    if unseen is not None:
        hint = f"leave out U+{ord(unseen):04X}, which is invisible or another kind of space"
    raise ParameterError(parameter, _MUST, ascii(name)[:LONGEST], hint)


@lru_cache(maxsize=1024)
def is_clean(name: str) -> bool:
    """May it be given?"""
    single = "  " not in name and name == name.strip(" ")
    composed = unicodedata.is_normalized("NFC", name)
    return 1 <= len(name) <= LONGEST and single and composed and not any(map(_is_unseen, name))


def _is_unseen(character: str) -> bool:
    return character != " " and (unicodedata.category(character) in _UNSEEN or character in _BLANK)


@check_keywords
@dataclass(frozen=True)
class Account:
    """The budget of one analyst for one data set.

    Args:
        dataset: The name of the data in a ledger.
        analyst: The name of the analyst.
    """

    dataset: str
    analyst: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "dataset", clean_name("dataset", self.dataset))
        object.__setattr__(self, "analyst", clean_name("analyst", self.analyst))

    @staticmethod
    def kept(dataset: str, analyst: str) -> Account:
        """An account as a ledger has it, exactly."""
        if not is_clean(dataset) or not (analyst == EVERYBODY or is_clean(analyst)):
            raise ValueError("no such name is given")
        account = object.__new__(Account)
        object.__setattr__(account, "dataset", dataset)
        object.__setattr__(account, "analyst", analyst)
        return account

    @staticmethod
    def of_the_ledger() -> Account:
        """Whose the entries are that are about the ledger itself."""
        account = object.__new__(Account)
        object.__setattr__(account, "dataset", NO_DATA)
        object.__setattr__(account, "analyst", EVERYBODY)
        return account

    @staticmethod
    def everybody(dataset: str) -> Account:
        """All analysts of a data set together: whose account keeps the promise."""
        account = object.__new__(Account)
        object.__setattr__(account, "dataset", clean_name("data", dataset))
        object.__setattr__(account, "analyst", EVERYBODY)
        return account

    def __str__(self) -> str:
        return repr(self.dataset) if self.analyst == EVERYBODY else f"{self.analyst!r} on {self.dataset!r}"


@dataclass(frozen=True)
class Balance:
    """How an analyst stands: what was granted in total, what is spent, and what open questions may still cost.

    All are amounts as they add up; data that have periods have one for each in which something was asked.
    """

    account: Account
    granted: Charge
    spent: Charge
    reserved: Charge
    period: str = ALWAYS

    @property
    def used(self) -> Charge:
        """What is spent or reserved."""
        return self.spent + self.reserved

    @property
    def left(self) -> Charge:
        """What is left by adding up; more questions fit where they compose."""
        used = self.used
        nothing = Fraction(0)
        epsilon = max(self.granted.epsilon - used.epsilon, nothing)
        return Charge(epsilon, max(self.granted.delta - used.delta, nothing))


class OneUnit:
    """What a budget in this process is about: the unit of the first question that it is asked."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known = False
        self._columns: tuple[str, ...] | None = None

    def check_stated(self, unit: object) -> None:
        """ParameterError for a stated price of another unit."""
        with self._lock:
            check_unit(unit, f"one {unit_of_key(self._columns or '')}")
            self._known = True

    def check(self, user: str | None) -> None:
        """ParameterError for a question of another unit; `user` is the text of its column or columns."""
        columns = several(user)
        with self._lock:
            if not self._known:
                self._known, self._columns = True, columns
            if columns == self._columns:
                return
            was = "one column" if self._columns is None else format_key(self._columns)
        raise ParameterError("user", f"be {was}, as in the first question to this budget", shown(user), HINT)


def check_unit(unit: object, of: str) -> None:
    """ParameterError where a price is stated for another unit than that of the budget."""
    if unit != of:
        hint = "if the library protects single rows, bound the rows of each user, and state the price of all of them"
        raise ParameterError("unit", f"be {of!r}, which the budget protects", came(unit), hint)


def several(user: str | None) -> tuple[str, ...] | None:
    """The columns of users, where they are several."""
    return None if user is None else composite_columns(key_from_text(user))


def shown(user: str | None) -> str:
    """The columns of users in a message."""
    return "nothing" if user is None else format_key(key_from_text(user))


def text_given(user: object) -> str | None:
    """The text of the column or columns of users that an owner names."""
    return None if user is None else key_to_text(parse_key("user", user))


def usual_unit(user: str | None, period: str | None) -> str:
    """Whom a promise is about that says nothing else."""
    key: Key = "" if user is None else key_from_text(user)
    unit = f"one {unit_of_key(key)}"
    if not is_clean(unit):
        unit = f"one combination of {len(key)} columns"
    return unit if period is None else f"{unit} in one {period}"
