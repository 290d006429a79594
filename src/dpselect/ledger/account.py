"""Accounts: whose budget it is, and the unit that its promise protects.

Names that differ only in invisible characters are one name, or refused.

A promise to whole users does not pay for questions about some of their rows, nor the other way round. If several
columns identify a user, a promise protects one combination of their values. Answers about different units do not
add up to a promise about either. Columns of other names may hold the same people, so any one column is accepted
unless an account names its own.
"""

from __future__ import annotations

import getpass
import threading
import unicodedata
from functools import lru_cache

from dpselect._ground.dataclass import dataclass
from dpselect._ground.keys import Key, composite_columns, format_key, key_from_text, key_to_text, parse_key, unit_of_key
from dpselect._ground.parameters import check_keywords
from dpselect.errors import ParameterError, came

ALL_ANALYSTS = ""  # as an analyst: all of them together
ALWAYS = ""  # as a period: data have none
_LEDGER_ITSELF = ""  # as a data set: an entry is about the ledger itself
_MAX_NAME_LENGTH = 200  # characters: two names fit into one index row of every store
_NAME_REQUIREMENT = f"be a text of 1 to {_MAX_NAME_LENGTH} visible characters, with single spaces between words"
# Controls, marks of direction and joining, halves of pairs, private and unassigned ones, separators, other spaces.
_INVISIBLE_CATEGORIES = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"))
# Letters, marks and symbols that Unicode ignores by default or draws as a blank.
_BLANKS = frozenset(
    chr(point)
    for first, last in (
        (0x034F, 0x034F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x2800, 0x2800), (0x3164, 0x3164),
        (0xFE00, 0xFE0F), (0xFFA0, 0xFFA0), (0x1D159, 0x1D159), (0xE0100, 0xE01EF),
    )
    for point in range(first, last + 1)
)  # fmt: skip
ONE_USER = "one user"
_UNIT_HINT = "a budget protects one unit: make another budget, or an account whose user is that list of columns"


def clean_name(parameter: str, name: object) -> str:
    """Return the name in NFC; ParameterError if a part of it is invisible."""
    if not isinstance(name, str) or not 1 <= len(name) <= _MAX_NAME_LENGTH:
        raise ParameterError(parameter, _NAME_REQUIREMENT, came(name))
    composed = unicodedata.normalize("NFC", name)
    if _is_clean(composed):
        return composed
    invisible = next((character for character in composed if _is_invisible(character)), None)
    hint = "remove spaces at its ends, and all but one between words"
    if invisible is not None:
        hint = f"leave out U+{ord(invisible):04X}, which is invisible or another kind of space"
    raise ParameterError(parameter, _NAME_REQUIREMENT, ascii(name)[:_MAX_NAME_LENGTH], hint)


@lru_cache(maxsize=1024)
def _is_clean(name: str) -> bool:
    """Return whether a name is allowed as it is."""
    has_single_spaces = "  " not in name and name == name.strip(" ")
    is_composed = unicodedata.is_normalized("NFC", name)
    return (
        1 <= len(name) <= _MAX_NAME_LENGTH and has_single_spaces and is_composed and not any(map(_is_invisible, name))
    )


def _is_invisible(character: str) -> bool:
    return character != " " and (unicodedata.category(character) in _INVISIBLE_CATEGORIES or character in _BLANKS)


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
    def parse(data: str, analyst: str | None) -> Account:
        """Return an analyst's account, by default that of this computer's user; errors name `data` and `analyst`."""
        try:
            return Account(dataset=data, analyst=computer_user() if analyst is None else analyst)
        except ParameterError as error:
            name = "data" if error.parameter == "dataset" else error.parameter
            raise ParameterError(name, error.must, error.came, error.hint) from None

    @staticmethod
    def from_stored(dataset: str, analyst: str) -> Account:
        """Return an account with exactly the names that a ledger has; ValueError for names that are never written."""
        if not _is_clean(dataset) or not (analyst == ALL_ANALYSTS or _is_clean(analyst)):
            raise ValueError("no such name is given")
        return Account._with_names(dataset, analyst)

    @staticmethod
    def for_ledger() -> Account:
        """Return the account of entries about the ledger itself."""
        return Account._with_names(_LEDGER_ITSELF, ALL_ANALYSTS)

    @staticmethod
    def for_everybody(dataset: str) -> Account:
        """Return the account of all analysts of a data set together, which keeps the promise."""
        return Account._with_names(clean_name("data", dataset), ALL_ANALYSTS)

    @property
    def everybody(self) -> Account:
        """The account of all analysts of the same data together."""
        return Account._with_names(self.dataset, ALL_ANALYSTS)

    @staticmethod
    def _with_names(dataset: str, analyst: str) -> Account:
        """Return an account with these names, which were checked or are nobody's."""
        account = object.__new__(Account)
        object.__setattr__(account, "dataset", dataset)
        object.__setattr__(account, "analyst", analyst)
        return account

    def __str__(self) -> str:
        return repr(self.dataset) if self.analyst == ALL_ANALYSTS else f"{self.analyst!r} on {self.dataset!r}"


def computer_user() -> str:
    """Return this computer's name for the user."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        raise ParameterError("analyst", "be given if this computer has no name for the user", "nothing") from None


class OneUnit:
    """The unit of privacy of a budget in this process: that of its first question."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_known = False
        self._columns: tuple[str, ...] | None = None

    def check_stated(self, unit: object) -> None:
        """Refuse a stated price of another unit."""
        with self._lock:
            check_unit(unit, f"one {unit_of_key(self._columns or '')}")
            self._is_known = True

    def check(self, user: str | None) -> None:
        """Refuse a question of another unit; `user` is the text of its column or columns."""
        columns = user_columns(user)
        with self._lock:
            if not self._is_known:
                self._is_known, self._columns = True, columns
            if columns == self._columns:
                return
            first_unit = "one column" if self._columns is None else format_key(self._columns)
        raise ParameterError(
            "user", f"be {first_unit}, as in the first question to this budget", format_user(user), _UNIT_HINT
        )


def check_unit(unit: object, budget_unit: str) -> None:
    """Refuse a price that is stated for another unit than that of the budget."""
    if unit != budget_unit:
        hint = "if the library protects single rows, bound the rows of each user, and state the price of all of them"
        raise ParameterError("unit", f"be {budget_unit!r}, which the budget protects", came(unit), hint)


def user_columns(user: str | None) -> tuple[str, ...] | None:
    """Return the columns that identify a user if there are several, else None."""
    return None if user is None else composite_columns(key_from_text(user))


def format_user(user: str | None) -> str:
    """Format the columns that identify a user for a message."""
    return "nothing" if user is None else format_key(key_from_text(user))


def parse_user(user: object) -> str | None:
    """Return the text of the column or columns that identify a user."""
    return None if user is None else key_to_text(parse_key("user", user))


def default_unit(user: str | None, period: str | None) -> str:
    """Return the unit of a promise that names none."""
    key: Key = "" if user is None else key_from_text(user)
    unit = f"one {unit_of_key(key)}"
    if not _is_clean(unit):
        unit = f"one combination of {len(key)} columns"
    return unit if period is None else f"{unit} in one {period}"
