"""The questions that can be asked. They have no data and no price: `Dataset.ask(question, epsilon=1)` has both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, ClassVar

from dpselect._ground import parameters
from dpselect._ground.first_use import door
from dpselect._ground.parameters import Number, Progress, check_keywords
from dpselect.errors import ParameterError, came
from dpselect.questions.kinds import BOUNDS, COLUMNS, DOMAIN, FLAG, MEASURES, NUMBER, SHARES, one_of, whole_number_kind
from dpselect.questions.parts import By, Gain, Method, Payment, Total, check_method, check_method_name
from dpselect.questions.value import Inner, ParameterSet, frozen, inner, param
from dpselect.release.formatting import Json

if TYPE_CHECKING:
    from dpselect.aggregates.measures import Measure
    from dpselect.forecast import Forecast, Population
    from dpselect.queries.plan import Plan
    from dpselect.release.release import Release

Items = Any  # a list, a range, a number of items, or a Column
BY = inner(By, plain=By)


def _method(verb: str) -> Inner:
    def from_name(name: Any) -> Method:
        check_method_name(verb, name)
        return Method(name)

    return inner(Method, plain=from_name)


_BY = "answer in every group: a column, several columns, or By(...)"
_METHOD_HELP = "the method, if dpselect should not choose it: a name, or Method(...)"
_COUNTS_HELP = "also return noisy counts; they use epsilon too, so the choice is less accurate"


@check_keywords
class Question(ParameterSet):
    """A question as a value: equal to any question that says the same, and its repr is its Python code.

    What can be checked of a question alone is checked when it is made; its price, and whether it fits data, when it is
    asked. If the owner of a gateway declared a domain, bounds or the most that one user adds, leave these out.
    """

    verb: ClassVar[str]

    @classmethod
    def name_in_errors(cls) -> str:
        """Return the verb."""
        return cls.verb

    def to_dict(self) -> dict[str, Json]:
        """Return the question in JSON types: its verb, and what differs from the defaults. Numbers are exact texts."""
        return {"verb": self.verb, **self.flat_json()}

    @staticmethod
    def from_dict(document: Mapping[str, Json]) -> Question:
        """Return the question of a dict, such as `to_dict` returns, with the same checks as for any other.

        Raises ParameterError for a key that the question does not have, such as a price.

        Example:
            >>> Question.from_dict({"verb": "top_k", "k": 5, "by": ["country"]})
            TopK(5, by='country')
        """
        if not isinstance(document, Mapping):
            raise ParameterError("question", "be an object with a verb", came(document))
        verb = parameters.one_of("verb", document.get("verb"), QUESTIONS)
        question_type = QUESTIONS[verb]
        flat_values = {name: value for name, value in document.items() if name != "verb"}
        parameters.refuse_unknown_names(
            flat_values, question_type.flat_names(), f"be a parameter of {question_type.verb}"
        )
        return question_type.from_flat(flat_values, as_json=True)

    def at(
        self,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        within: int | None = None,
        threshold: int | None = None,
        max_items_per_user: int | None = None,
    ) -> Plan:
        """Return the plan of the question at a price, without data.

        `Dataset.plan` does the same for data, which have their own bound, and whose budget may pay.

        Args:
            epsilon: One person changes the odds of any answer by a factor of at most e^epsilon.
            delta: Bounds the chance that this fails (at most 1e-6 to find items or groups, else 0).
            within: Instead of epsilon: the accuracy, in users or ranks.
            threshold: Instead of epsilon: an item is found if this many users have only it.
            max_items_per_user: The most items that a user counts for, chosen at random.

        Example:
            >>> TopK(5).at(epsilon=1).method
            'limited-domain'
        """
        payment = Payment(epsilon=epsilon, delta=delta, within=within, threshold=threshold)
        plan: Plan = door("queries.planning", "plan_without_data")(self, payment, max_items_per_user=max_items_per_user)
        return plan

    def forecast(
        self,
        like: Population | Release | Sequence[int] | None = None,
        *,
        epsilon: Number | Sequence[Number] | None = None,
        delta: Number | None = None,
        within: int | None = None,
        threshold: int | None = None,
        max_items_per_user: int | None = None,
        methods: str | Sequence[str] | None = None,
        progress: Progress | None = None,
    ) -> Forecast:
        """Simulate a top k or a union at each epsilon, by each method, before any budget is spent. No data is read.

        Args:
            like: A `Population`, a Release with counts, or counts that were published before. For a top k by group the
                Population has `groups`.
            epsilon: One value or several; 0.1, 0.3, 1 and 3 if left out.
            delta: Bounds the chance that this fails (at most 1e-6 to find items or groups, else 0).
            within: For a top k, instead of epsilon: each method is shown at the price of this accuracy (docs/plan.md).
            threshold: For a union, the same.
            max_items_per_user: The most items that a user counts for, chosen at random.
            methods: The methods to compare; all that apply if left out, or the one that the question names.
            progress: Called with the finished part, or None if it is unknown, about five times a second.

        Example:
            >>> found = Union(method="count-laplace").forecast([812, 640, 12, 3], max_items_per_user=1, epsilon=1)
            >>> [(row.method, round(row.items), row.smallest_count) for row in found]
            [('count-laplace', 2, 15)]
        """
        simulated: Forecast = door("forecast.guide", "forecast")(
            self,
            like,
            epsilon=epsilon,
            delta=delta,
            within=within,
            threshold=threshold,
            max_items_per_user=max_items_per_user,
            methods=methods,
            progress=progress,
        )
        return simulated

    def check(self) -> None:
        """Refuse a method of another verb, and group sizes for a verb that does not know them."""
        by, method = getattr(self, "by", None), getattr(self, "method", None)
        if isinstance(by, By) and by.sizes and "users" in self.without:
            requirement = f"be left out for {self.verb}: a top k alone shows the number of users of a group"
            raise ParameterError("sizes", requirement, came(by.sizes))
        if method is not None:
            object.__setattr__(self, "method", check_method(self.verb, method))


@frozen
class TopK(Question):
    """The k items with the most distinct users, or with the largest totals or gains, best first.

    Example:
        >>> TopK(5, by=By("country", groups=["DE", "FR"]), counts=True)
        TopK(5, by=By('country', groups=['DE', 'FR']), counts=True)
    """

    verb: ClassVar[str] = "top_k"
    without: ClassVar[tuple[str, ...]] = ("popular",)

    k: int = param(whole_number_kind(), default=10, help="the most items to return")
    _: KW_ONLY
    by: By | str | Sequence[str] | None = param(BY, default=None, help=_BY)
    score: Total | Gain | None = param(
        inner(Total, Gain), default=None, help="what to rank by; default: distinct users"
    )
    counts: bool = param(FLAG, default=False, help=_COUNTS_HELP)
    measures: Sequence[Measure | str] | Measure | str | None = param(
        MEASURES, default=None, help="numbers for each item: users, 'sum(COLUMN, LOW, HIGH)', 'mean(COLUMN, LOW, HIGH)'"
    )
    domain: Items | None = param(DOMAIN, default=None, help="all possible items; found privately if left out")
    method: Method | str | None = param(_method("top_k"), default=None, help=_METHOD_HELP)


@frozen
class Union(Question):
    """All items that enough distinct users share, unranked: a vocabulary, or the keys of a GROUP BY."""

    verb: ClassVar[str] = "union"
    without: ClassVar[tuple[str, ...]] = ("k_bar",)

    _: KW_ONLY
    by: str | Sequence[str] | None = param(
        COLUMNS, default=None, help="find items in every group of a column, or of several"
    )
    counts: bool = param(FLAG, default=False, help=_COUNTS_HELP)
    method: Method | str | None = param(_method("union"), default=None, help=_METHOD_HELP)


@frozen
class Choose(Question):
    """The item of a known domain that most distinct users share."""

    verb: ClassVar[str] = "choose"
    without: ClassVar[tuple[str, ...]] = ("k_bar", "in_engine", "popular", "users")

    domain: Items | None = param(DOMAIN, default=None, help="all possible items")
    _: KW_ONLY
    by: By | str | Sequence[str] | None = param(BY, default=None, help=_BY)
    method: Method | str | None = param(_method("choose"), default=None, help=_METHOD_HELP)


@frozen
class Quantile(Question):
    """The value below which a share q of all users lies, or several such values; the median by default."""

    verb: ClassVar[str] = "quantile"
    without: ClassVar[tuple[str, ...]] = ("users",)

    q: Number | Sequence[Number] = param(
        SHARES, default="1/2", help="a share between 0 and 1, or several in ascending order"
    )
    _: KW_ONLY
    bounds: tuple[Number, Number] | None = param(
        BOUNDS,
        default=None,
        help="the range of values, chosen without looking at the data; if left out, answers have six digits",
    )
    step: Number | None = param(NUMBER, default=None, help="answers are low + i step; if left out, a very fine grid")
    per_user: str = param(
        one_of("random", "min", "max", "mean"), default="random", help="which of a user's values counts"
    )
    by: By | str | Sequence[str] | None = param(BY, default=None, help=_BY)


@frozen
class Histogram(Question):
    """A noisy count of distinct users for each item of a known domain."""

    verb: ClassVar[str] = "histogram"

    domain: Items | None = param(DOMAIN, default=None, help="all possible items")


@frozen
class Users(Question):
    """The number of distinct users, in total or in each of some listed groups.

    Example:
        >>> Users(by=By("country", groups=["DE", "FR"]))
        Users(by=By('country', groups=['DE', 'FR']))
    """

    verb: ClassVar[str] = "users"
    without: ClassVar[tuple[str, ...]] = ("users",)

    _: KW_ONLY
    by: By | str | Sequence[str] | None = param(
        BY, default=None, help="answer in each listed group: By(COLUMNS, groups=...)"
    )

    def check(self) -> None:
        """Refuse groups that are not listed."""
        super().check()
        if isinstance(self.by, By) and self.by.groups is None:
            hint = "groups are found by union(by=..., counts=True), or by top_k(by=By(..., sizes=True)), --users"
            raise ParameterError("groups", "be listed for users", "nothing", hint)


@frozen
class Scores(Question):
    """The best of candidates by scores of the caller's own, of which one user moves each by `sensitivity` at most."""

    verb: ClassVar[str] = "choose"
    without: ClassVar[tuple[str, ...]] = ("k_bar", "in_engine", "popular")

    _: KW_ONLY
    sensitivity: Number = param(NUMBER, default=1, help="how far one user can move any score")
    monotonic: bool = param(FLAG, default=False, help="adding a user moves all scores in the same direction")
    neighbors: str = param(one_of("add-remove", "replace-one"), default="add-remove", help="the kind of neighbours")
    method: Method | str | None = param(_method("choose"), default=None, help=_METHOD_HELP)


@frozen
class OneEach(Quantile):
    """Quantiles of values that the caller holds, of which every user has one."""

    per_user: None = param(one_of(), default=None, help="nobody has several")  # type: ignore[assignment]


QUESTIONS: dict[str, type[Question]] = {
    question.verb: question for question in (TopK, Union, Choose, Quantile, Histogram, Users)
}
