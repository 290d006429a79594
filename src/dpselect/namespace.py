"""Namespace: the verbs of a Dataset on a data frame. `import dpselect.pandas` or `dpselect.polars` gives it to frames.

The parameters are those of Dataset and of its verbs, which do all that is done here: nothing is checked twice.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dpselect._ground.privacy import Neighbors
from dpselect.dataset import Dataset
from dpselect.engines.port import PerUser

if TYPE_CHECKING:
    from dpselect._ground.parameters import Number, Progress
    from dpselect.aggregates.measures import Measure
    from dpselect.draws import Draws
    from dpselect.ledger.budget import Budget, Where
    from dpselect.queries.quantile import Bounds
    from dpselect.release.release import Release
    from dpselect.texts.text import Text


class Namespace:
    """`frame.dps`: private questions about the rows of this frame, which are read anew for each.

    A frame that was filtered before is taken as it is: nothing checks that its rows were kept one by one (`where` is
    checked). A change of the frame is a change of the data, also where a budget with a `snapshot` says otherwise.
    """

    def __init__(self, frame: object) -> None:
        self._frame = frame

    def __repr__(self) -> str:
        return f"<dpselect for a {type(self._frame).__module__.partition('.')[0]} {type(self._frame).__name__}>"

    # ---- written by tests/integrations/written.py

    def dataset(
        self,
        *,
        user: str | Sequence[str] | None = None,
        item: str | Sequence[str] | Text | None = None,
        where: str | None = None,
        max_items_per_user: int | None = None,
        split: str | None = None,
        budget: Budget | Where | None = None,
        time: str | None = None,
        period: str | None = None,
        during: str | Sequence[str] | None = None,
        timezone: str = "UTC",
    ) -> Dataset:
        """The rows as a Dataset, for several questions, or for `ask`: its parameters are those of a Dataset."""
        return Dataset(self._frame, **_without_self(locals()))

    def top_k(
        self,
        k: int = 10,
        *,
        user: str | Sequence[str] | None = None,
        item: str | Sequence[str] | Text | None = None,
        where: str | None = None,
        max_items_per_user: int | None = None,
        split: str | None = None,
        budget: Budget | Where | None = None,
        time: str | None = None,
        period: str | None = None,
        during: str | Sequence[str] | None = None,
        timezone: str = "UTC",
        epsilon: Number | None = None,
        share: Number | None = None,
        within: int | None = None,
        delta: Number | None = None,
        domain: object = None,
        counts: bool = False,
        k_bar: int | None = None,
        method: str = "auto",
        ranked: bool = True,
        by_weight: str | None = None,
        at_most: Number | None = None,
        weight_unit: Number | None = None,
        measures: Sequence[Measure | str] | Measure | str | None = None,
        compared_with: Sequence[str] | str | None = None,
        by: Sequence[str] | str | None = None,
        groups: object = None,
        max_groups_per_user: int | None = None,
        users: bool = False,
        exclude: object = None,
        in_engine: bool = False,
        fresh: bool = False,
        progress: Progress | None = None,
        draws: Draws | None = None,
    ) -> Release:
        """The k items that most distinct users share, best first.

        Parameters and guarantee are those of `Dataset.top_k`.
        """
        return self._ask("top_k", locals())

    def union(
        self,
        *,
        user: str | Sequence[str] | None = None,
        item: str | Sequence[str] | Text | None = None,
        where: str | None = None,
        split: str | None = None,
        budget: Budget | Where | None = None,
        time: str | None = None,
        period: str | None = None,
        during: str | Sequence[str] | None = None,
        timezone: str = "UTC",
        epsilon: Number | None = None,
        share: Number | None = None,
        users_for: int | None = None,
        delta: Number | None = None,
        max_items_per_user: int | str | None = None,
        method: str = "auto",
        counts: bool = False,
        shares: Sequence[Number] | None = None,
        popular: Sequence[object] | Release | None = None,
        in_engine: bool = False,
        by: Sequence[str] | str | None = None,
        exclude: object = None,
        fresh: bool = False,
        progress: Progress | None = None,
        draws: Draws | None = None,
    ) -> Release:
        """All items that enough distinct users share: a vocabulary, or the keys of a GROUP BY. They have no ranks.

        Parameters and guarantee are those of `Dataset.union`.
        """
        return self._ask("union", locals())

    def quantile(
        self,
        q: Number | Sequence[Number] = 0.5,
        *,
        user: str | Sequence[str] | None = None,
        item: str | Sequence[str] | Text | None = None,
        where: str | None = None,
        max_items_per_user: int | None = None,
        split: str | None = None,
        budget: Budget | Where | None = None,
        time: str | None = None,
        period: str | None = None,
        during: str | Sequence[str] | None = None,
        timezone: str = "UTC",
        bounds: Bounds | None = None,
        epsilon: Number | None = None,
        share: Number | None = None,
        within: int | None = None,
        delta: Number | None = None,
        step: Number | None = None,
        per_user: PerUser | str = PerUser.RANDOM,
        by: Sequence[str] | str | None = None,
        groups: object = None,
        max_groups_per_user: int | None = None,
        fresh: bool = False,
        progress: Progress | None = None,
        draws: Draws | None = None,
    ) -> Release[int | float]:
        """The value in the `item` column below which a share q of all users lies, or several such values, ascending.

        Parameters and guarantee are those of `Dataset.quantile`.
        """
        return self._ask("quantile", locals())

    def median(
        self,
        *,
        user: str | Sequence[str] | None = None,
        item: str | Sequence[str] | Text | None = None,
        where: str | None = None,
        max_items_per_user: int | None = None,
        split: str | None = None,
        budget: Budget | Where | None = None,
        time: str | None = None,
        period: str | None = None,
        during: str | Sequence[str] | None = None,
        timezone: str = "UTC",
        bounds: Bounds | None = None,
        epsilon: Number | None = None,
        share: Number | None = None,
        within: int | None = None,
        delta: Number | None = None,
        step: Number | None = None,
        per_user: PerUser | str = PerUser.RANDOM,
        by: Sequence[str] | str | None = None,
        groups: object = None,
        max_groups_per_user: int | None = None,
        fresh: bool = False,
        progress: Progress | None = None,
        draws: Draws | None = None,
    ) -> Release[int | float]:
        """The middle one of all users' values: `quantile` with q = 1/2, which needs no delta but to find groups.

        Parameters and guarantee are those of `Dataset.median`.
        """
        return self._ask("median", locals())

    def choose(
        self,
        *,
        user: str | Sequence[str] | None = None,
        item: str | Sequence[str] | Text | None = None,
        where: str | None = None,
        max_items_per_user: int | None = None,
        split: str | None = None,
        budget: Budget | Where | None = None,
        time: str | None = None,
        period: str | None = None,
        during: str | Sequence[str] | None = None,
        timezone: str = "UTC",
        domain: object,
        epsilon: Number | None = None,
        share: Number | None = None,
        method: str = "exponential",
        neighbors: Neighbors | str = Neighbors.ADD_REMOVE,
        delta: Number | None = None,
        by: Sequence[str] | str | None = None,
        groups: object = None,
        max_groups_per_user: int | None = None,
        fresh: bool = False,
        progress: Progress | None = None,
        draws: Draws | None = None,
    ) -> Release:
        """The item of a known domain that most distinct users share: epsilon-DP for one whole user.

        Parameters and guarantee are those of `Dataset.choose`.
        """
        return self._ask("choose", locals())

    def histogram(
        self,
        *,
        user: str | Sequence[str] | None = None,
        item: str | Sequence[str] | Text | None = None,
        where: str | None = None,
        max_items_per_user: int | None = None,
        split: str | None = None,
        budget: Budget | Where | None = None,
        time: str | None = None,
        period: str | None = None,
        during: str | Sequence[str] | None = None,
        timezone: str = "UTC",
        domain: object,
        epsilon: Number | None = None,
        share: Number | None = None,
        delta: Number = 0,
        fresh: bool = False,
        progress: Progress | None = None,
        draws: Draws | None = None,
    ) -> Release:
        """How many distinct users have each item of a known domain: all noisy counts at once, in the domain's order.

        Parameters and guarantee are those of `Dataset.histogram`.
        """
        return self._ask("histogram", locals())

    # ---- as far as this

    def _ask(self, verb: str, given: Mapping[str, Any]) -> Release:
        """Ask one question, with the arguments of both the rows and the verb."""
        own = [name for name in inspect.signature(getattr(Dataset, verb)).parameters if name != "self"]
        rows = {name: value for name, value in _without_self(given).items() if name not in own}
        release: Release = getattr(Dataset(self._frame, **rows), verb)(**{name: given[name] for name in own})
        return release


def _without_self(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name != "self"}
