"""Every release that is made here is judged."""

from __future__ import annotations

from tests.judge.every import judge

__all__ = ["judge"]
