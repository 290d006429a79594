"""The parts of a release that its texts, tables and pictures show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from dpselect.release.statement import Item, Kind, Receipt, Statement

if TYPE_CHECKING:
    from dpselect.release.accuracy import Accuracy
    from dpselect.release.groups import Groups


class ShownRelease(Protocol):
    """A release, as far as what is shown of it needs it."""

    @property
    def items(self) -> Sequence[Item]:
        """The items that were returned."""
        ...

    @property
    def privacy(self) -> Statement:
        """The promise of privacy."""
        ...

    @property
    def secure(self) -> bool:
        """True unless the draws were made for tests."""
        ...

    @property
    def kind(self) -> Kind:
        """The relation of the items to each other."""
        ...

    @property
    def counted(self) -> bool:
        """True if the items have noisy counts."""
        ...

    @property
    def complete(self) -> bool:
        """True if there are as many items as were asked for."""
        ...

    @property
    def charged(self) -> Receipt | None:
        """The receipt of a budget."""
        ...

    @property
    def accuracy(self) -> Accuracy:
        """The accuracy of the answer."""
        ...

    @property
    def groups(self) -> Groups | None:
        """The groups that are shown."""
        ...

    @property
    def places(self) -> Sequence[tuple[int, int]] | None:
        """The places that items can have by their counts without noise."""
        ...

    @property
    def ranked(self) -> bool:
        """True if the order of the items is a ranking."""
        ...

    @property
    def of_domain(self) -> bool:
        """True if these are the counts of a whole domain, in its own order."""
        ...

    @property
    def weight(self) -> str | None:
        """The column by whose sums items were selected; None if by numbers of users."""
        ...

    @property
    def compared(self) -> str | None:
        """The periods between which items gained users; None if items were not selected by gains."""
        ...

    @property
    def unit(self) -> str:
        """The unit of counts and intervals."""
        ...
