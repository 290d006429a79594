"""What every question by group says of groups: by which columns, which of them, and in how many one user counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpselect._ground.domain import Domain, most_items
from dpselect.questions.parts import By


@dataclass(frozen=True)
class AskedGroups:
    """The groups of a question, with the bound that is meant where none is given."""

    by: tuple[str, ...]
    listed: Domain | None
    most: int | None  # max_groups_per_user; None where it is to be chosen
    sizes: bool

    @classmethod
    def of(cls, by: By, *, chooses: bool = False) -> AskedGroups:
        """Those of `by`; where nothing chooses the bound, or there is nothing to choose, it is 1."""
        columns: Any = by.columns
        listed: Any = by.groups
        most = by.max_groups_per_user
        if most is None and (not chooses or (listed is not None and most_items(listed) == 1)):
            most = 1
        return cls(columns, listed, most, by.sizes)

    @property
    def said(self) -> dict[str, object]:
        """What a ledger knows of them."""
        return {"by": self.by, "groups": self.listed, "max_groups_per_user": self.most}

    @property
    def each(self) -> int:
        """In how many groups one user counts at most: no more than are listed."""
        known = None if self.listed is None else most_items(self.listed)
        assert self.most is not None
        return self.most if known is None else min(self.most, known)
