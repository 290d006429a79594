"""From the menus of the ask page to a question, and back: every choice is one that the owner declared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Any

from dpselect.gateway import filters
from dpselect.gateway.pages import conditions
from dpselect.gateway.pages.conditions import Condition

Fields = Mapping[str, Sequence[str]]
USERS, GAINED = "users", "+users"
SHARE, WITHIN, EPSILON = "share", "within", "epsilon"
PERCENT = Decimal(2)  # of the budget, before anybody has chosen
LEAST, MOST, STEP = Decimal("0.5"), Decimal(20), Decimal("0.5")  # of the slider
DELTAS = 1000  # questions that a promise's delta should be enough for
MEASURES = {"mean": "the mean", "sum": "the sum"}
NEARNESS = {"top_k": "within", "quantile": "within", "users": "within", "union": "threshold"}


class Of(StrEnum):
    """What a wish is about."""

    USERS = "users"
    ITEMS = "items"
    LISTED = "listed"  # items that the owner has listed
    VALUES = "values"  # a column of numbers


@dataclass(frozen=True)
class Wish:
    """One entry of the first menu."""

    name: str
    label: str
    verb: str
    of: Of
    q: Any = None
    numbers: bool = False  # may numbers come with the items?
    groups: bool = True  # may it be asked in every group?

    def items(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """What the second menu offers, by the name of each choice. Nothing, where the owner declared nothing for it."""
        match self.of:
            case Of.USERS:
                return {"": None}
            case Of.VALUES:
                return {column: column for column in data["values"]}
            case Of.LISTED:
                return {item: item for item in data["items"] if isinstance(item, str) and item in data["domains"]}
            case _:
                return {item if isinstance(item, str) else " + ".join(item): item for item in data["items"]}


WISHES = (
    Wish("top", "the top", "top_k", Of.ITEMS, numbers=True),
    Wish("common", "all common", "union", Of.ITEMS, numbers=True),
    Wish("median", "the median of", "quantile", Of.VALUES, "1/2"),
    Wish("quartiles", "the quartiles of", "quantile", Of.VALUES, ["1/4", "1/2", "3/4"]),
    Wish("tenths", "the lowest and highest tenth of", "quantile", Of.VALUES, ["1/10", "9/10"]),
    Wish("users", "how many users there are", "users", Of.USERS, groups=False),
    Wish("each", "how many users of each", "histogram", Of.LISTED, groups=False),
    Wish("best", "the one leading", "choose", Of.LISTED),
)


@dataclass(frozen=True)
class Form:
    """Everything that the menus say, each with a value that it may have."""

    data: Mapping[str, Any]
    wish: Wish
    wishes: Sequence[Wish]
    item: str  # the name of its choice: columns joined
    items: Mapping[str, Any]
    k: int
    by: str
    score: str
    also: str
    numbers: bool
    during: str
    conditions: Sequence[Condition]
    price: str
    percent: Decimal
    within: str
    epsilon: str
    delta: str
    fresh: bool = False
    others: Sequence[Mapping[str, Any]] = field(default_factory=tuple)  # the data sets one can choose from

    @property
    def nearness(self) -> str | None:
        """What takes the place of an epsilon where somebody says how near the answer shall be."""
        if self.score != USERS or (self.wish.verb == "union" and self.data["max_items_per_user"] is None):
            return None
        return NEARNESS.get(self.wish.verb) if self.wish.verb == "union" or not self.grouped else None

    @property
    def grouped(self) -> bool:
        """Is it asked in every group?"""
        return bool(self.by) and self.wish.groups

    @property
    def earlier(self) -> str:
        """The period before the one that is meant, where both are offered and may be compared."""
        periods = list(self.data["periods"])  # newest first
        later = periods.index(self.during) + 1 if self.during in periods else len(periods)
        fits = self.wish.verb == "top_k" and not self.grouped and later < len(periods)
        return str(periods[later]) if fits else ""

    @property
    def slider(self) -> tuple[Decimal, Decimal, Decimal]:
        """The least, the most and the step of the slider; a percentage that was typed elsewhere is among them."""
        fits = LEAST <= self.percent <= MOST and self.percent % STEP == 0
        return (LEAST, MOST, STEP) if fits else (min(self.percent, Decimal("0.1")), Decimal(100), Decimal("0.1"))

    @property
    def also_menu(self) -> dict[str, str]:
        """Measures that may come with the items."""
        return {
            f"{kind}:{column}": f"{said} of {column}"
            for column in self.data["values"]
            for kind, said in MEASURES.items()
        }

    @property
    def measurable(self) -> bool:
        """May measures come with the items?"""
        plain = not self.grouped and self.score == USERS and self.price != WITHIN
        return self.wish.verb == "top_k" and bool(self.data["values"]) and plain

    @property
    def missing(self) -> str | None:
        """What must be said before there is a question."""
        if self.price == WITHIN and self.nearness and not whole(self.within):
            return "Say how many users: a whole number from 1 on."
        return None

    @property
    def where(self) -> str | None:
        """The filter."""
        return conditions.where(self.conditions)

    @property
    def body(self) -> dict[str, Any]:
        """The question as the gateway takes it."""
        return {"data": self.data["name"], "verb": self.wish.verb, **dict(self._parameters()), **dict(self._price())}

    def _parameters(self) -> Iterator[tuple[str, Any]]:
        """Bounds, domains and the most that a user gives are the owner's, and the gateway knows them."""
        if self.wish.of is not Of.USERS:
            yield "item", self.items[self.item]
        if self.wish.q is not None:
            yield "q", self.wish.q
        if self.wish.verb == "top_k":
            yield "k", self.k
        if self.wish.numbers and self.numbers:
            yield "counts", True
        if self.grouped:
            yield "by", [self.by]
        if self.wish.verb == "top_k" and self.score != USERS:
            yield ("compared_with", self.earlier) if self.score == GAINED else ("by_weight", self.score)
        if self.measurable and self.also:
            kind, _, column = self.also.partition(":")
            bounds = self.data["values"][column]
            ends = plain(bounds["low"]), plain(bounds["high"])
            yield "measures", [f"{kind}({filters.column(column)}, {ends[0]}, {ends[1]})"]
        if self.where:
            yield "where", self.where
        if self.during:
            yield "during", self.during

    def _price(self) -> Iterator[tuple[str, Any]]:
        if self.price == WITHIN and self.nearness:
            yield self.nearness, whole(self.within) or 0
        elif self.price == EPSILON:
            yield "epsilon", self.epsilon
        else:
            yield "share", f"{self.percent.normalize():f}%"  # its delta is the same share
        if self.price != SHARE and (self.wish.verb in ("top_k", "union") or self.grouped):
            yield "delta", self.delta
        if self.fresh:
            yield "fresh", True


def form(fields: Fields, described: Sequence[Mapping[str, Any]]) -> Form:
    """What the menus say; whatever does not fit the data is at its first choice. There is at least one data set."""
    said = {name: values[-1].strip() for name, values in fields.items()}

    def chosen(name: str, among: Iterable[str], usual: str | None = None) -> str:
        """The one that was chosen; the usual one where it is none of these, or the first."""
        found, choices = said.get(name, ""), list(among)
        return found if found in choices else next(iter(choices), "") if usual is None else usual

    by_name = {one["name"]: one for one in described}
    data = by_name[chosen("data", by_name)]
    wishes = {wish.name: wish for wish in WISHES if wish.items(data)}
    wish = wishes[chosen("wish", wishes)]
    items = wish.items(data)
    found = Form(
        data=data,
        wish=wish,
        wishes=[*wishes.values()],
        item=chosen("item", items),
        items=items,
        k=min(max(1, whole(said.get("k", "")) or 10), data["max_k"]),
        by=chosen("by", data["groups"], ""),
        score=chosen("score", [GAINED, *data["weights"]], USERS),
        also=chosen("also", [f"{kind}:{column}" for column in data["values"] for kind in MEASURES], ""),
        numbers=said.get("numbers") != "no",
        during=chosen("during", data["periods"]),
        conditions=conditions.rows(fields, data["filters"]),
        price=chosen("price", (SHARE, WITHIN, EPSILON)),
        percent=_percent(said.get("share", "")),
        within=said.get("within", ""),
        epsilon=said.get("epsilon") or "0.1",
        delta=said.get("delta") or f"{data['promise']['delta'] / DELTAS:.0e}".removesuffix("e+00"),
        fresh=said.get("fresh") == "yes",
        others=described,
    )
    found = replace(found, score=USERS) if found.score == GAINED and not found.earlier else found
    return replace(found, price=SHARE) if found.price == WITHIN and found.nearness is None else found


def plain(number: Any) -> Any:
    """A whole number without a point."""
    return int(number) if isinstance(number, float) and number.is_integer() else number


def whole(text: str) -> int | None:
    """A whole number that somebody typed, also with separators."""
    digits = text.replace(",", "").replace(" ", "")
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 16 else None


def _percent(text: str) -> Decimal:
    try:
        said = Decimal(text.removesuffix("%").strip())
    except InvalidOperation:
        return PERCENT
    return min(said, Decimal(100)) if said.is_finite() and said >= Decimal("0.01") else PERCENT
