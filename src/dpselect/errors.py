"""The few exceptions of our own. No message ever holds a count, a label or a size of private data."""

from __future__ import annotations

import numbers
import re
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction

LONGEST = 80  # characters of a wrong text that a message repeats
SENTENCE = 300  # characters of all that is said of what came
LARGEST = 256  # bits of a number whose digits are shown; Python refuses to write some of much more


def came(value: object) -> str:
    """A wrong value as a message shows it: a number or a text, cut where it is long, and of all else only the type.

    An array, a frame or a list in the wrong place may hold private data, and a `repr` that is not ours says anything.

    >>> print(came("Germany"), came(0.1), came(10**5000), came([1, 2]), sep=", ")
    'Germany', 0.1, an integer of about 5001 digits, a value of type list
    """
    if value is None or isinstance(value, bool):
        return repr(value)
    if isinstance(value, (str, bytes)):
        return _start(value)
    if isinstance(value, Fraction):
        return _fraction(value)
    if isinstance(value, numbers.Integral):
        return _integer(int(value))
    if isinstance(value, float):
        return float.__repr__(value)
    if isinstance(value, Decimal):
        return cut(Decimal.__repr__(value))
    if isinstance(value, numbers.Real) and type(value).__module__ == "numpy":
        return str(value)  # a float of another width, in its own digits
    return cut(f"a value of type {type(value).__name__}")


def cut(text: str) -> str:
    """The text, or its start where it is long."""
    return text if len(text) <= SENTENCE else f"{text[:SENTENCE]}..."


def _start(value: str | bytes) -> str:
    if isinstance(value, str):
        shown = repr(str.__getitem__(value, slice(LONGEST)))
    else:
        shown = repr(bytes.__getitem__(value, slice(LONGEST)))
    return shown if len(value) <= LONGEST else f"{shown}..."


def _integer(value: int) -> str:
    return int.__repr__(value) if value.bit_length() <= LARGEST else f"an integer of about {_digits(value)} digits"


def _fraction(value: Fraction) -> str:
    longest = max(value.numerator, value.denominator, key=int.bit_length)
    small = longest.bit_length() <= LARGEST
    return Fraction.__str__(value) if small else f"a fraction of about {_digits(longest)} digits"


def _digits(value: int) -> int:
    return value.bit_length() * 30103 // 100000 + 1


def requirements() -> list[tuple[str, str]]:
    """Return each package that dpselect requires, without its bound, and the extra that it belongs to or ""."""
    from importlib import metadata

    pattern = re.compile(r'([\w.-]+(?:\[[\w,-]+\])?)[^;]*(?:;.*extra == "(\w+)")?')
    lines = [line for line in metadata.requires("dpselect") or () if not line.startswith("dpselect[")]
    return [(match[1], match[2] or "") for match in map(pattern.match, lines) if match]


def install_hint(extra: str) -> str:
    """Return the command that installs the packages of an extra, wherever dpselect itself came from.

    >>> install_hint("postgres")
    "pip install 'psycopg[binary]'"
    """
    import shlex

    return shlex.join(["pip", "install", *(package for package, of_extra in requirements() if of_extra == extra)])


class DpselectError(Exception):
    """Base of every error that dpselect raises on purpose. It can be pickled, so another process may raise it too."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        self.hint = hint
        super().__init__(message if hint is None else f"{message}\nhint: {hint}")

    def _render_traceback_(self) -> list[str]:
        """What IPython and notebooks show in place of a traceback: the message and its hint are for the caller."""
        return f"{type(self).__name__}: {self}".splitlines()

    def __reduce__(self) -> tuple[object, ...]:
        """Made anew from its text and attributes: what `__init__` takes differs from error to error."""
        return _again, (type(self), str(self), self.__dict__)


def _again(kind: type[DpselectError], text: str, attributes: dict[str, object]) -> DpselectError:
    error = kind.__new__(kind)
    error.args = (text,)
    error.__dict__.update(attributes)
    return error


class ParameterError(DpselectError, ValueError):
    """A parameter is not what it must be. Raised before any data is touched, so it costs nothing.

    `came` is a text that says what came, or the wrong value itself, which is then shown as the function `came` does.
    Of what was read as a whole, such as a body, `others` are what else is wrong in it.
    """

    others: tuple[ParameterError, ...] = ()

    def __init__(self, parameter: str, must: str, came: object, hint: str | None = None) -> None:
        self.parameter = parameter
        self.must = must
        self.came: str = _said(came)
        super().__init__(f"{parameter} must {must}, got {self.came}", hint)


class UnknownKeyword(ParameterError, TypeError):
    """A keyword that a function has no parameter for. It is a TypeError too, as Python's own is."""

    def __init__(self, keyword: str, called: str, hint: str) -> None:
        super().__init__(keyword, f"be a parameter of {called}", "another", hint)
        self.args: tuple[object, ...] = (f"{called}() has no parameter {keyword!r}\nhint: {hint}",)


class SourceError(ParameterError):
    """A source, or the machine that reads it, is not what was said of it.

    Its message may name files, and columns that nobody asked for: a gateway keeps it for its log.
    """


@contextmanager
def naming_parameter(parameter: str, read_as: str = "domain") -> Iterator[None]:
    """What is said of a domain within is said of this parameter, which is read as one, or as `read_as`.

    >>> with naming("groups"):
    ...     raise ParameterError("domain", "hold at least one item", "none")
    Traceback (most recent call last):
    dpselect.errors.ParameterError: groups must hold at least one item, got none
    """
    try:
        yield
    except ParameterError as error:
        raise type(error)(error.parameter.replace(read_as, parameter), error.must, error.came, error.hint) from None


class WeakPromiseWarning(UserWarning):
    """A price so high that the promise says little about any one person. Given before data are touched."""


def _said(what: object) -> str:
    return cut(what) if isinstance(what, str) else came(what)


class DataError(DpselectError):
    """A source cannot be read as described, or is not there. The message speaks of its schema, never of its rows."""


def missing_source_error(parameter: str, must: str, came: str, hint: str | None = None) -> DataError:
    """Return the error of a file or a table that is not there: it may come later, so a scheduler may try again.

    >>> raise absent("source", "be a file that exists", "'plays.parquet'")
    Traceback (most recent call last):
    dpselect.errors.DataError: source must be a file that exists, got 'plays.parquet'
    """
    return DataError(f"{parameter} must {must}, got {came}", hint)


class OutputError(DpselectError):
    """A result cannot be written where it should go."""


class BudgetError(DpselectError):
    """A question would cost more than what is left. Raised before any data is touched; the question cost nothing."""


class LedgerError(DpselectError):
    """A ledger cannot be read or written, or was changed after it was written."""


class GatewayError(DpselectError):
    """A gateway gives no answer: it cannot be reached, refuses access, or could not answer the question.

    `kind` says which in a word, for programs: "connection", "sign-in", "state", "busy" (docs/connect.md has all).
    """

    def __init__(self, message: str, hint: str | None = None, *, kind: str = "connection") -> None:
        self.kind = kind
        super().__init__(message, hint)


class LedgerWarning(UserWarning):
    """A ledger lies where others can read or replace it."""
