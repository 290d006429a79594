"""Mechanisms of the menu and of papers, by the names of their classes."""

from __future__ import annotations

from typing import Any

from dpselect import mechanisms, papers


def named(name: str) -> Any:
    """The class of this name."""
    return getattr(papers if name in papers.__all__ else mechanisms, name)
