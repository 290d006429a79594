"""Units: a promise about whole users does not pay for questions about some of their rows, nor the other way round.

Where several columns say together who a user is, a promise is about one combination of them. Answers about different
units do not add up to a promise about either. Columns of other names may hold the same people, so one column is as
good as another unless an account names it.
"""

from __future__ import annotations

import threading

from dpselect._ground.keys import Key, columns_of, key_from, key_of, said, text_of, unit_of
from dpselect.errors import ParameterError
from dpselect.ledger.account import is_clean

USER = "one user"
HINT = "a budget is about one unit: make another one, or an account whose user is that list of columns"


class OneUnit:
    """What a budget in this process is about: the unit of the first question that it is asked."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known = False
        self._columns: tuple[str, ...] | None = None

    def check(self, user: str | None) -> None:
        """ParameterError for a question of another unit; `user` is the text of its column or columns."""
        columns = several(user)
        with self._lock:
            if not self._known:
                self._known, self._columns = True, columns
            if columns == self._columns:
                return
            was = "one column" if self._columns is None else said(self._columns)
        raise ParameterError("user", f"be {was}, as in the first question to this budget", shown(user), HINT)


def several(user: str | None) -> tuple[str, ...] | None:
    """The columns of users, where they are several."""
    return None if user is None else columns_of(key_from(user))


def shown(user: str | None) -> str:
    """The columns of users in a message."""
    return "nothing" if user is None else said(key_from(user))


def text_given(user: object) -> str | None:
    """The text of the column or columns of users that an owner names."""
    return None if user is None else text_of(key_of("user", user))


def usual_unit(user: str | None, period: str | None) -> str:
    """Whom a promise is about that says nothing else."""
    key: Key = "" if user is None else key_from(user)
    unit = f"one {unit_of(key)}"
    if not is_clean(unit):
        unit = f"one combination of {len(key)} columns"
    return unit if period is None else f"{unit} in one {period}"
