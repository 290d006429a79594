"""Stub."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dpselect.engines.sql_port import Dialect, SqlType


@dataclass(frozen=True)
class SqlFilter:
    """Stub."""

    columns: tuple[str, ...] = ()

    def needs(self, names: Sequence[str]) -> list[str]:
        """Stub."""
        return []

    def sql(self, types: Mapping[str, SqlType], dialect: Dialect) -> str:
        """Stub."""
        return "true"


def parse(text: str) -> SqlFilter:
    """Stub."""
    raise NotImplementedError
