"""Every release that is made here is judged."""

from tests.judge.every import judge

__all__ = ["judge"]
