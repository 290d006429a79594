"""Values of every type that a caller may give for a number, a name or a flag, by chance; and marked data."""

from __future__ import annotations

import datetime
import random
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

MARKER = "mArKeR"


class OddInt(int):
    """An int that is written otherwise."""

    def __repr__(self) -> str:
        raise ValueError(MARKER)


class OddFloat(float):
    """A float of somebody's own."""


class Hostile:
    """An object that fails at whatever is done with it."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__array"):
            raise AttributeError(name)
        raise RuntimeError(MARKER)

    def __repr__(self) -> str:
        raise RuntimeError(MARKER)

    def __float__(self) -> float:
        raise RuntimeError(MARKER)

    def __eq__(self, other: object) -> bool:
        raise RuntimeError(MARKER)

    __hash__ = None  # type: ignore[assignment]


NUMBERS: list[object] = [
    *(0, 1, -1, 2, 10, 2**31, 2**63 - 1, 2**63, -(2**63), 10**18, 10**400, -(10**400), 10**5000),
    *(0.0, -0.0, 0.1, 1.0, 1.5, 1e300, 1e308, 5e-324, -1e300, 1e-300, float("nan"), float("inf"), float("-inf")),
    *(np.int8(5), np.int16(300), np.int32(7), np.int64(2**62), np.uint8(200), np.uint64(2**64 - 1)),
    *(np.float16(0.5), np.float32(0.1), np.float64(1e300), np.longdouble("1e400"), np.float64("nan"), np.bool_(True)),
    *(np.array(5), np.array(0.5), np.array([1]), np.array([]), np.array([[1, 2]]), np.datetime64("2024-01-01")),
    *(
        Fraction(1, 3),
        Fraction(10**400, 3),
        Fraction(1, 10**4000),
        Decimal("0.1"),
        Decimal("1e999999"),
        Decimal("sNaN"),
    ),
    *(Decimal("NaN"), Decimal("Infinity"), Decimal("1e-999999"), pa.scalar(3), pa.scalar(0.5), pa.scalar(None)),
    *(
        "1",
        "0.1",
        "1/3",
        "1e999999999",
        "1e-999999999",
        "nan",
        "inf",
        "",
        " 1 ",
        "1_0",
        "0x10",
        "1,5",
        "\u0661",
        "1" * 5000,
    ),
    *(
        "9" * 100_000,
        "1/" + "7" * 50_000,
        "a\0b",
        "\ud83d",
        "auto",
        "-1",
        "1e",
        "\u00bd",
        "10**10",
        b"1",
        bytearray(b"1"),
    ),
    *(True, False, None, ..., NotImplemented, object(), int, len, 1j, complex("nan"), [1], (1,), {1}, {"a": 1}, [], ()),
    *(range(3), iter([1]), datetime.date(2024, 1, 1), datetime.timedelta(1), pd.NA, pd.NaT, pd.Timestamp(0)),
    *(OddInt(3), OddFloat(0.5), Hostile(), pd.Series([MARKER] * 3), pd.DataFrame({"a": [MARKER]})),
]
TEXTS: list[object] = [
    *("user", "item", "USER", "nobody", "", " ", "a" * 100_000, "a\0b", "\ud83d", '"', "'", "item; DROP TABLE x", "%s"),
    *(
        "\u202euser",
        "auto",
        "renyi-shaped",
        "peeling",
        "exponential",
        "min",
        "re:(a+)+$",
        "re:(",
        "re:" + "(" * 3000,
        "words",
    ),
    *("C:\\x", "../..", "/dev/null", "~", "{0}", "user\n", "é", "e\u0301"),
]


@dataclass
class Given:
    """What a case may use: chance, a folder of its own, and the names of files that it makes itself."""

    chance: random.Random
    folder: Path
    expected: set[str] = field(default_factory=set)

    def odd(self) -> object:
        """A number, a text or something else."""
        return self.chance.choice(NUMBERS if self.chance.random() < 0.75 else TEXTS)

    def spoilt(self, good: dict[str, object]) -> dict[str, object]:
        """Parameters of which one, two or three are odd."""
        more = self.chance.sample(sorted(good), min(len(good), self.chance.choice((1, 1, 1, 2, 3))))
        return good | {name: self.odd() for name in more}

    def path(self, name: str) -> Path:
        """A file of this case."""
        self.expected.add(name)
        return self.folder / name


def rows(number: int = 60) -> dict[str, list[str]]:
    """Marked users and items: a word of theirs in a message is a leak."""
    held = [(n, n % 6) for n in range(number)] + [(n, 0) for n in range(number)]
    return {
        "user": [f"{MARKER}-user-{n}" for n, _ in held],
        "item": [f"{MARKER}-item-{n}" for _, n in held],
        "size": [str(n % 7) for n, _ in held],
    }
