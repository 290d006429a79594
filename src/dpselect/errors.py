"""The exceptions of dpselect. No message ever holds a count, a label or a size of private data."""

from __future__ import annotations

import numbers
import re
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction

MAX_CAME_LENGTH = 80  # characters of a wrong text that a message repeats
MAX_MESSAGE_LENGTH = 300  # characters of all that is said of what came
MAX_DIGIT_BITS = 256  # bits of a number whose digits are shown; Python refuses to write some of much more


def came(value: object) -> str:
    """Format a wrong value for a message: a number or a text, cut if it is long, and of all else only the type.

    An array, a frame or a list in the wrong place may hold private data, and a `repr` that is not ours says anything.

    >>> print(came("Germany"), came(0.1), came(10**5000), came([1, 2]), sep=", ")
    'Germany', 0.1, an integer of about 5001 digits, a value of type list
    """
    if value is None or isinstance(value, bool):
        return repr(value)
    if isinstance(value, (str, bytes)):
        return _format_start(value)
    if isinstance(value, Fraction):
        return _format_fraction(value)
    if isinstance(value, numbers.Integral):
        return _format_integer(int(value))
    if isinstance(value, float):
        return float.__repr__(value)
    if isinstance(value, Decimal):
        return cut(Decimal.__repr__(value))
    if isinstance(value, numbers.Real) and type(value).__module__ == "numpy":
        return str(value)  # a float of another width, in its own digits
    return cut(f"a value of type {type(value).__name__}")


def cut(text: str) -> str:
    """Return the text, or its start if it is long."""
    return text if len(text) <= MAX_MESSAGE_LENGTH else f"{text[:MAX_MESSAGE_LENGTH]}..."


def _format_start(value: str | bytes) -> str:
    if isinstance(value, str):
        start = repr(str.__getitem__(value, slice(MAX_CAME_LENGTH)))
    else:
        start = repr(bytes.__getitem__(value, slice(MAX_CAME_LENGTH)))
    return start if len(value) <= MAX_CAME_LENGTH else f"{start}..."


def _format_integer(value: int) -> str:
    return (
        int.__repr__(value)
        if value.bit_length() <= MAX_DIGIT_BITS
        else f"an integer of about {_count_digits(value)} digits"
    )


def _format_fraction(value: Fraction) -> str:
    longest_part = max(value.numerator, value.denominator, key=int.bit_length)
    is_small = longest_part.bit_length() <= MAX_DIGIT_BITS
    return Fraction.__str__(value) if is_small else f"a fraction of about {_count_digits(longest_part)} digits"


def _count_digits(value: int) -> int:
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
        """Return what IPython and notebooks show in place of a traceback: the message and its hint."""
        return f"{type(self).__name__}: {self}".splitlines()

    def __reduce__(self) -> tuple[object, ...]:
        """Return how to make the error anew from its text and attributes: `__init__` differs from error to error."""
        return _rebuild_error, (type(self), str(self), self.__dict__)


def _rebuild_error(error_class: type[DpselectError], text: str, attributes: dict[str, object]) -> DpselectError:
    error = error_class.__new__(error_class)
    error.args = (text,)
    error.__dict__.update(attributes)
    return error


class ParameterError(DpselectError, ValueError):
    """A parameter does not meet its requirement. Raised before any data is touched, so it costs nothing.

    `came` is a text about what came, or the wrong value itself, which is then formatted by the function `came`. If a
    whole document was read, such as a body, `others` are its other errors.
    """

    others: tuple[ParameterError, ...] = ()

    def __init__(self, parameter: str, must: str, came: object, hint: str | None = None) -> None:
        self.parameter = parameter
        self.must = must
        self.came: str = _format_received(came)
        super().__init__(f"{parameter} must {must}, got {self.came}", hint)


class UnknownKeyword(ParameterError, TypeError):
    """A keyword that a function has no parameter for. It is a TypeError too, as Python's own is."""

    def __init__(self, keyword: str, function_name: str, hint: str) -> None:
        super().__init__(keyword, f"be a parameter of {function_name}", "another", hint)
        self.args: tuple[object, ...] = (f"{function_name}() has no parameter {keyword!r}\nhint: {hint}",)


class SourceError(ParameterError):
    """A source, or the machine that reads it, is not what was said of it.

    Its message may name files, and columns that nobody asked for: a gateway keeps it for its log.
    """


class UnknownSourceError(SourceError):
    """A source that no engine of this package reads: another package may."""


@contextmanager
def naming_parameter(parameter: str, read_as: str = "domain") -> Iterator[None]:
    """Raise errors about a domain within the block as errors about `parameter`, which is read as `read_as`.

    >>> with naming_parameter("groups"):
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


def _format_received(received: object) -> str:
    return cut(received) if isinstance(received, str) else came(received)


class DataError(DpselectError):
    """A source cannot be read as described, or is not there. The message speaks of its schema, never of its rows."""


def missing_source_error(parameter: str, requirement: str, received: str, hint: str | None = None) -> DataError:
    """Return the error of a file or a table that is not there: it may come later, so a scheduler may try again.

    >>> raise missing_source_error("source", "be a file that exists", "'plays.parquet'")
    Traceback (most recent call last):
    dpselect.errors.DataError: source must be a file that exists, got 'plays.parquet'
    """
    return DataError(f"{parameter} must {requirement}, got {received}", hint)


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
