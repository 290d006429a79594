"""Choosing one: every parameter checked, a mechanism and its price fixed, and the verb for scores of the caller's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from fractions import Fraction
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from dpselect._ground import methods
from dpselect._ground.dataclass import dataclass
from dpselect._ground.domain import MAX_COUNTED_ITEMS, NamedDomain, Size, max_domain_size, refuse_large_domain
from dpselect._ground.keys import typed_label
from dpselect._ground.parameters import Number, Progress, check_keywords
from dpselect._ground.privacy import Neighbors, Privacy
from dpselect.aggregates.count_groups import CountGroups
from dpselect.aggregates.groups import GroupedCounts
from dpselect.draws import Draws
from dpselect.errors import ParameterError, came
from dpselect.ledger import Budget, LedgerSource
from dpselect.mechanisms.candidates import Input, parse_candidates
from dpselect.mechanisms.choose.port import Choice
from dpselect.mechanisms.port import set_fields
from dpselect.queries.plan import BoundDraw, Plan
from dpselect.queries.values import answer_from_values
from dpselect.questions.parts import Payment, ResolvedGroups
from dpselect.questions.questions import Choose, Scores
from dpselect.release import accuracy
from dpselect.release.accuracy import BETA, Accuracy
from dpselect.release.answers.count_sentences import describe_scores
from dpselect.release.answers.outcome import DrawnItem, Outcome, write_release
from dpselect.release.release import Release
from dpselect.release.statement import FROM_ZERO, Statement

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import TypeVar

    from dpselect.engines import Engine
    from dpselect.queries.groups import PricedGroups

    Label = TypeVar("Label", default=Any)  # of a mapping; of other scores it cannot be known


EXPONENTIAL = "exponential"


@dataclass(frozen=True, kw_only=True, repr=False)
class ChoosePlan(Plan):
    """The best of a known domain by its users; or, without a domain, of candidates by scores of the caller's.

    `monotonic` is about scores: one more user moves all of them the same way. Counts of users are monotonic.
    """

    verb: ClassVar[str] = "choose"

    question: Choose | Scores
    mechanism: Any = field(init=False, repr=False, compare=False)
    priced_groups: PricedGroups | None = field(init=False, repr=False, compare=False, default=None)

    def derive_fields(self) -> None:
        """Set the mechanism: of one choice, or of one in every group."""
        groups = self.resolve_groups()
        if groups is not None:
            set_fields(self, mechanism=self._by_group(groups))
            return
        if self.payment.delta:
            requirement = "be left out if by is not given: a choice of one needs none"
            raise ParameterError("delta", requirement, came(self.payment.delta), "its promise is that of epsilon alone")
        monotonic, sensitivity, neighbors = True, Fraction(1), Neighbors.ADD_REMOVE
        if isinstance(self.question, Scores):
            monotonic, sensitivity = self.question.monotonic, Fraction(self.question.sensitivity)
            neighbors = Neighbors(self.question.neighbors)
        else:
            self.require_domain()
        make = methods.method_row("choose", self.method).make
        epsilon = self.requested_epsilon
        mechanism = make(epsilon=epsilon, sensitivity=sensitivity, monotonic=monotonic, neighbors=neighbors)
        set_fields(self, mechanism=mechanism)

    def _by_group(self, groups: ResolvedGroups) -> Any:
        """Return the mechanism of one group, at the price of the groups that one user counts in."""
        from dpselect.mechanisms.choose.by_group import ChoiceByGroup
        from dpselect.queries.groups import plan_groups

        domain = self.require_domain()
        if isinstance(domain, Size):
            hint = "list the items, or give a range or a Column"
            raise ParameterError("domain", "say which items there are if by is given", "only how many", hint)
        refuse_large_domain(max_domain_size(domain) or 0, MAX_COUNTED_ITEMS)
        priced_groups, mechanism = plan_groups(
            groups, self.requested_epsilon, self.delta, partial(ChoiceByGroup, method=self.method)
        )
        set_fields(self, priced_groups=priced_groups)
        return mechanism.each

    @property
    def of_scores(self) -> bool:
        """The question is about scores of the caller's own."""
        return isinstance(self.question, Scores)

    @property
    def method(self) -> str:
        """The name of the method that answers."""
        return EXPONENTIAL if self.requested_method.name is None else str(self.requested_method.name)

    @property
    def price(self) -> Privacy:
        """The price that any answer promises, and costs at most."""
        return cast(Privacy, self.mechanism.privacy) if self.priced_groups is None else self.priced_groups.privacy

    @property
    def accuracy(self) -> Accuracy:
        """The accuracy for any data; nothing where only reading tells how many candidates there are."""
        return self._accuracy_for(None if self.domain is None else max_domain_size(self.domain))

    @property
    def needs_candidates(self) -> bool:
        """Always true: the more candidates there are, the further the best may be missed."""
        return True

    @property
    def key(self) -> Mapping[str, object]:
        """The key of the question in a ledger."""
        m = self.mechanism
        question_fields: dict[str, object] = {"sensitivity": Fraction(m.sensitivity), "monotonic": m.monotonic}
        if isinstance(self.question, Choose):
            question_fields = {"domain": self.domain}
            if self.resolved_groups is not None:
                question_fields |= {"delta": self.delta, **self.resolved_groups.key_fields}
        return {
            "epsilon": self.epsilon,
            "method": self.method,
            "neighbors": str(self.price.neighbors),
            **question_fields,
        }

    def bind_draw(self, engine: Engine) -> BoundDraw:
        """Bind to the users of each item of the domain, which the column of items must be able to hold."""
        domain = self.require_domain()
        if self.priced_groups is not None:
            return self._bind_draw_by_group(engine, self.priced_groups, cast(NamedDomain, domain))
        engine.check(domain)
        return lambda draws, progress: self.draw(engine.grouped(domain, progress=progress), draws)

    def _bind_draw_by_group(self, engine: Engine, priced_groups: PricedGroups, domain: NamedDomain) -> BoundDraw:
        """Bind to the users of each group that have each item of the domain."""
        engine.check(domain, max_items=MAX_COUNTED_ITEMS)
        find_groups = priced_groups.bind_groups(engine)

        def draw(draws: Draws, progress: Progress | None) -> Outcome:
            groups, names = find_groups(draws, progress), engine.item_names(domain)
            if groups is None:
                return self.draw_by_group(None, names, draws)
            return self.draw_by_group(
                engine.counts_by(domain, priced_groups.groups.groups_per_user, groups, progress=progress), names, draws
            )

        return draw

    def draw_by_group(self, counts: GroupedCounts | None, names: Sequence[object], draws: Draws) -> Outcome:
        """Draw for the counts of every group over a domain of these items; None where there are no groups."""
        groups: Sequence[object] = ()
        chosen: list[object] = []
        if counts is not None:
            groups = counts.groups(np.arange(len(counts.sizes)))
            chosen = choose_by_group(self.mechanism, counts, names, draws)
        outcome = Outcome.by_group(groups, [(DrawnItem(label),) for label in chosen], secure=draws.secure)
        return replace(outcome, candidates=len(names))

    def draw(self, values: Input, draws: Draws) -> Outcome:
        """Draw one of the candidates by their scores."""
        chosen = self.mechanism(values, draws=draws)
        label = next(iter(chosen))
        label = int(label) if isinstance(label, np.integer) else label
        candidates = sum(values.sizes) if isinstance(values, CountGroups) else len(values)  # type: ignore[arg-type]
        return Outcome(
            items=(DrawnItem(label),),
            secure=draws.secure,
            candidates=int(candidates),
            is_place=isinstance(chosen, np.ndarray),
        )

    def answer(self, outcome: Outcome) -> Release:
        """Write the release; only scores of the caller's have places."""
        statement = self.statement(is_place=self.of_scores and outcome.is_place)
        return write_release(outcome, statement, self._accuracy_for(outcome.candidates), columns=self.by)

    def statement(self, *, is_place: bool = False) -> Statement:
        """State the promise; `is_place`: the item is a place in an array of scores."""
        name = type(self.mechanism).__name__
        if self.priced_groups is not None:
            parameters = {"k": 1, "choice": name, "epsilon_per_pick": self.mechanism.epsilon}
            return self.priced_groups.statement("ChoiceByGroup", parameters, (self.sentence,), self.scale)
        parameters = {"k": 1, **self.scale.parameters, **({FROM_ZERO: 0} if is_place else {})}
        return Statement.from_privacy(self.price, name, parameters, (self.sentence, *self.scale.sentences))

    def _accuracy_for(self, candidates: int | None) -> Accuracy:
        """Return how good the one is that is chosen of so many, in every group where there are any."""
        if candidates is None:
            return accuracy.NO_ACCURACY
        gap = self.mechanism.gap(BETA, candidates)
        of_one = accuracy.chosen_item(gap, None if self.of_scores else self.scale)
        return of_one if self.priced_groups is None else self.priced_groups.accuracy(of_one, self.scale)

    @property
    def sentence(self) -> str:
        """The sentence about what was assumed of the scores."""
        sentence = describe_scores(
            of_users=not self.of_scores,
            monotonic=self.mechanism.monotonic,
            sensitivity=Fraction(self.mechanism.sensitivity),
            neighbors=self.price.neighbors,
        )
        return sentence if self.priced_groups is None else f"In each group: {sentence[0].lower()}{sentence[1:]}"


@check_keywords
def choose(
    scores: Mapping[Label, Any] | CountGroups | npt.ArrayLike,
    *,
    epsilon: Number | None = None,
    share: Number | None = None,
    sensitivity: Number = 1,
    monotonic: bool = False,
    neighbors: Neighbors | str = Neighbors.ADD_REMOVE,
    method: str = "exponential",
    budget: Budget | LedgerSource | None = None,
    fresh: bool = False,
) -> Release[Label]:
    """Choose the best of some candidates by a private score.

    Guarantee: epsilon-DP for one user against `neighbors`.

    Args:
        scores: An array (an index is chosen), a mapping from label to score, a pandas Series (a label of its index is
            chosen), or count groups.
        epsilon: One person changes the odds of any answer by a factor of at most e^epsilon.
        share: Instead of epsilon: a share of the budget, such as "1%".
        sensitivity: How far one user can move any score.
        monotonic: Adding a user moves all scores in the same direction, which is worth twice the epsilon; add-remove
            only.
        neighbors: "add-remove" or "replace-one".
        method: "exponential", or "permute-and-flip", which is never less accurate on average at this epsilon but costs
            more of a budget.
        budget: The budget that pays, as for a Dataset. A stored answer is found only if its `snapshot` names the state
            of the scores.
        fresh: Draw a new answer and pay again, even if the ledger has an answer to this question.

    Raises: ParameterError before any score is looked at.

    Example:
        >>> choose({"left": 3, "right": 90}, epsilon=1, monotonic=True).labels
        ['right']
    """
    question = Scores(sensitivity=sensitivity, monotonic=monotonic, neighbors=str(neighbors), method=method)
    return answer_from_values(question, Payment(epsilon=epsilon, share=share), scores, budget=budget, fresh=fresh)


def choose_by_group(mechanism: Choice, counts: GroupedCounts, names: Sequence[object], draws: Draws) -> list[object]:
    """Choose the item of each group by the mechanism; `names` are all items of the domain."""
    ends = np.cumsum(counts.sizes)
    starts = ends - counts.sizes
    picks = []
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        group, member = mechanism.pick(parse_candidates(_histogram(counts.counts[start:end], len(names))), draws)
        picks.append((start + group if group < end - start else end, member))
    return list(_name_picks(counts, starts, ends, picks, names))


def _histogram(counts: np.ndarray, items: int) -> CountGroups:
    """Return the counts of one group over the whole domain: those of its rows, and 0 for all other items."""
    unseen, sizes = items - len(counts), [1] * len(counts)
    if unseen:
        counts, sizes = np.append(counts, 0), [*sizes, unseen]
    return CountGroups(counts=counts, sizes=sizes, label=lambda group, member: (group, member))


def _name_picks(
    counts: GroupedCounts,
    starts: np.ndarray,
    ends: np.ndarray,
    picks: Sequence[tuple[int, int]],
    names: Sequence[object],
) -> Iterator[object]:
    """Yield the items by name: of a group's rows, or, where its end was picked, of the items that have none there.

    All rows are asked for at once. Which items a group has is needed only where one was picked that it has not.
    """
    ranges = [
        range(start, end) if picked_row == end else range(picked_row, picked_row + 1)
        for start, end, (picked_row, _) in zip(starts.tolist(), ends.tolist(), picks, strict=True)
    ]
    rows = np.array([row for part in ranges for row in part], dtype=np.int64)
    labels = iter(counts.items(rows))
    names_of_ranges = [list(islice(labels, len(part))) for part in ranges]
    ranges_of_absent = [
        range_names
        for range_names, end, (picked_row, _) in zip(names_of_ranges, ends.tolist(), picks, strict=True)
        if picked_row == end
    ]
    listed_keys = {typed_label(item) for range_names in ranges_of_absent for item in range_names}
    positions = {
        key: rank
        for rank, name in enumerate(names if ranges_of_absent else ())
        if (key := typed_label(name)) in listed_keys
    }
    for range_names, end, (picked_row, member) in zip(names_of_ranges, ends.tolist(), picks, strict=True):
        if picked_row < end:
            yield range_names[0]
            continue
        rank = member
        for listed_position in sorted(positions[typed_label(item)] for item in range_names):
            rank += listed_position <= rank
        yield names[rank]
