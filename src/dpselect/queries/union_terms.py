"""What a set union asks for: every parameter checked, and the price of each part of it fixed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Self

from dpselect._ground import methods, parameters
from dpselect._ground.keys import key_of, names
from dpselect._ground.methods import AUTO, NeedsBound, WeightRule
from dpselect._ground.parameters import Number, rounded_up
from dpselect._ground.privacy import Neighbors, Privacy, PureDP, Steps
from dpselect.accounting.calibration import largest_rho
from dpselect.errors import ParameterError, came
from dpselect.ledger.question import named
from dpselect.mechanisms.port import settle
from dpselect.mechanisms.quantile import Quantile
from dpselect.mechanisms.set_union.renyi_shaped import RenyiShaped, has_curve, least_epsilon
from dpselect.queries.found import looks_at_others, users_for
from dpselect.queries.query import Query, Rows
from dpselect.queries.within import AskedAccuracy, asked_for, price_for, times
from dpselect.questions.kinds import LISTED
from dpselect.questions.parts import POPULAR
from dpselect.release.accuracy import TIMES, said_items, said_users
from dpselect.release.formatting import Json
from dpselect.texts.text import Words, level_shares
from dpselect.texts.tokenizer import WORDS, Tokenizer, ngram_levels

ONE_ITEM = "truncated-geometric"
WITHOUT_CURVE = "weighted-gaussian"  # where epsilon is too small for a curve of renyi-shaped
WITH_COUNTS = "count-gaussian"  # what decides there is a noisy count, which may be shown
WITH_POPULAR = "greedy-geometric"
BOUND_SHARE = Fraction(1, 20)  # of epsilon, for choosing max_items_per_user
COUNT_SHARE = Fraction(1, 4)  # of epsilon and of delta, for counts
# What max_items_per_user is chosen from. Few points and wide steps: of many far ones, some would often win by luck.
BOUNDS = (
    *(1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 32, 40, 50, 63, 80),
    *(100, 125, 160, 200, 250, 315, 400, 500, 630, 800, 1000),
)
MOST_ITEMS = BOUNDS[-1]
MANY = Fraction(9, 10)  # of the users shall have no more items than the bound that is chosen
# Outside of these a set union says nothing that anybody wants to know, and thresholds leave what floats can search.
LEAST_EPSILON, LARGEST_EPSILON = Fraction(1, 10**6), Fraction(10**6)
LEAST_DELTA = Fraction(1, 10**100)
MOST_SHARES = 10**6  # what an engine may be given a table of


@dataclass(frozen=True, kw_only=True)
class UnionTerms(Query):
    """All items that enough distinct users share.

    `max_items_per_user` is a number, or "auto", which chooses it privately; left out it is chosen where the method
    needs one. `shares` are the parts of the levels of a text; `words` says which n-grams its items are. `users_for`, in
    place of epsilon, is how many users an item must need to be found: the price follows.
    """

    verb: ClassVar[str] = "union"

    epsilon: Number | None = None
    delta: Number | None = None
    method: str = AUTO
    max_items_per_user: int | str | None = None
    counts: bool = False
    shares: Sequence[Number] | None = None
    popular: Any = None
    in_engine: bool = False
    users_for: int | None = None
    by: Sequence[str] | str | None = None
    exclude: object = None
    words: Words | None = None
    most: int | None = field(init=False, repr=False)
    chosen: bool = field(init=False, repr=False)
    parts: tuple[Fraction, ...] = field(init=False, repr=False)
    total: Fraction = field(init=False, repr=False, compare=False)
    failure: Fraction = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        delta = self.delta_or_default(needed=True)
        if delta < LEAST_DELTA:
            raise ParameterError("delta", "be at least 1e-100 for a union", "less")
        parameters.flag("counts", self.counts)
        self._settle_groups()
        if self.words is None and self.shares is not None:
            raise ParameterError("shares", "be left out where the items are no n-grams", "shares")
        if self.exclude is not None:
            self._settle_exclude()
        parts = level_shares(1 if self.words is None else self.words.longest, self.shares)
        method = methods.checked("union", self.method)
        popular = () if self.popular is None else POPULAR.read("popular", self.popular)
        if popular and method == AUTO:
            method = WITH_POPULAR
        if popular and not methods.named("union", method).popular:
            raise ParameterError("method", f"be {WITH_POPULAR} where popular is given", came(method))
        most, chosen = _bound(method, self.max_items_per_user, self.counts)
        shares = None if self.shares is None else parts
        settle(self, delta=delta, failure=delta, method=method, popular=popular or None, shares=shares)
        settle(self, most=most, chosen=chosen, parts=parts)
        if most is not None and self.max_items_per_user is not None:
            settle(self, max_items_per_user=most)
        self._settle_epsilon()
        if parameters.flag("in_engine", self.in_engine):
            self._refuse_what_engines_cannot()
        self._refuse_what_cannot_be_made()

    @classmethod
    def needs_delta(cls, given: Mapping[str, object]) -> bool:  # noqa: ARG003
        """Always: items are found."""
        return True

    def _settle_exclude(self) -> None:
        """The items that shall not come back."""
        if self.words is not None:
            must = "be left out where the items are those of a text"
            raise ParameterError("exclude", must, came(self.exclude), "leave them out of the answer")
        settle(self, exclude=LISTED.read("exclude", self.exclude))

    def _settle_groups(self) -> None:
        """The columns of groups, where pairs of group and item are meant."""
        if self.by is None:
            return
        for name in ("words", "popular"):
            if getattr(self, name) is not None:
                what = "the items are n-grams" if name == "words" else "popular is given"
                hint = "ask of one group after another, with where="
                raise ParameterError("by", f"be left out where {what}", "both", hint)
        settle(self, by=names(key_of("by", self.by)))

    @property
    def of_pairs(self) -> bool:
        """Is an item a group and an item together?"""
        return self.by is not None

    def _settle_epsilon(self) -> None:
        """The price that was named, or what follows from the accuracy that was."""
        if self.users_for is not None:
            wanted = asked_for("users_for", self.users_for, epsilon=self.epsilon)
            if self.chosen:
                hint = "the price depends on it and is said before anything is read"
                raise ParameterError("max_items_per_user", "be given where users_for is", "nothing", hint)
            settle(self, users_for=wanted)
            asked = _near_enough(self, _digest(self.popular or ()))
            settle(self, total=asked.epsilon, asked=asked)
            return
        if self.epsilon is None:
            raise ParameterError("epsilon", "be given for union, or users_for in its place", "nothing")
        epsilon = parameters.epsilon("epsilon", self.epsilon)
        if not LEAST_EPSILON <= epsilon <= LARGEST_EPSILON:
            raise ParameterError("epsilon", "be between 1e-6 and 1e6 for a union", came(epsilon))
        settle(self, epsilon=epsilon, total=epsilon)

    @property
    def price(self) -> Privacy:
        """The price of all of it, by adding up: choosing the bound, the levels, their counts."""
        return Privacy(
            epsilon=self.total,
            delta=self.failure,
            neighbors=Neighbors.ADD_REMOVE,
            steps=(Steps(PureDP(self.total), 1),),
            failure=self.failure,
            bound="basic",
        )

    @property
    def key(self) -> Mapping[str, object]:
        """What a ledger knows the question by."""
        return {
            "epsilon": self.total,
            "delta": self.delta,
            "most": self.most,
            "chosen": self.chosen,
            "counts": self.counts,
            "method": self.method,
            "shares": self.parts,
            "popular": _digest(self.popular) if self.popular else None,
            **({"in_engine": True} if self.in_engine else {}),
            **({} if self.users_for is None else {"users_for": self.users_for}),
            **({} if self.by is None else {"by": self.by}),
            **({} if self.exclude is None else {"exclude": self.exclude}),
        }

    def of(self, rows: Rows) -> Self:
        """The question of a data set, whose bound and n-grams are the question's own where it has none."""
        if self.by is not None and rows.split is not None:
            raise ParameterError("split", "be left out where by is given", came(rows.split))
        words, most, shares = self.words or rows.words, self.max_items_per_user, self.shares or rows.level_shares
        if words != rows.words:
            raise ParameterError("ngrams", "be those of the data", "others")
        if rows.level_shares is not None and shares != rows.level_shares:
            raise ParameterError("shares", "be those of the data", "others")
        most = rows.max_items_per_user if most is None else most
        found = self.without(rows.excluded)
        if (words, shares, most) == (self.words, self.shares, self.max_items_per_user):
            return found
        return replace(found, words=words, shares=shares, max_items_per_user=most)

    # ---- as JSON --------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Json]:
        """The question in JSON types; the n-grams of a text in three parameters, as a Dataset takes them."""
        found = super().to_dict()
        found.pop("words", None)
        if self.words is None:
            return found
        cutter = self.words.tokenizer
        ngrams: Json = [self.words.shortest, self.words.longest]
        return found | {"ngrams": ngrams, "tokenizer": cutter.name, "lower": cutter.lower}

    @classmethod
    def parameters(cls) -> list[str]:
        """The names of all parameters, as JSON has them."""
        return [name for name in super().parameters() if name != "words"] + ["ngrams", "tokenizer", "lower"]

    @classmethod
    def made(cls, given: dict[str, object]) -> Self:
        """The question of parameters that JSON held."""
        text = {name: given.pop(name) for name in ("ngrams", "tokenizer", "lower") if name in given}
        if not text:
            return super().made(given)
        cutter = Tokenizer(text.get("tokenizer", WORDS), text.get("lower", True))  # type: ignore[arg-type]
        return cls(words=Words(cutter, *ngram_levels(text.get("ngrams", 1), cutter)), **given)  # type: ignore[arg-type]

    # ---- parts of the price ---------------------------------------------------------------------------------

    @property
    def first(self) -> int:
        """The place of the first level that is released: those before only say which candidates there are."""
        return 0 if self.words is None else self.words.shortest - 1

    @property
    def for_bound(self) -> Fraction:
        """The epsilon for choosing max_items_per_user."""
        return self.total * BOUND_SHARE if self.chosen else Fraction(0)

    @property
    def counts_decide(self) -> bool:
        """Are the counts those that decided which items are released? They cost nothing more."""
        return self.counts and self.method == WITH_COUNTS and not self.in_engine

    @property
    def for_counts(self) -> tuple[Fraction, Fraction]:
        """The (epsilon, delta) for counting what was released."""
        if not self.counts or self.counts_decide:
            return Fraction(0), Fraction(0)
        return self.total * COUNT_SHARE, self.failure * COUNT_SHARE

    @property
    def for_union(self) -> tuple[Fraction, Fraction]:
        """The (epsilon, delta) for the items, all levels together."""
        epsilon, delta = self.for_counts
        return self.total - self.for_bound - epsilon, self.failure - delta

    @property
    def chooser(self) -> Quantile:
        """What chooses max_items_per_user: a private quantile of one place in BOUNDS per user."""
        return bound_chooser(self.for_bound, BOUNDS)

    def mechanisms(self, most: int | None) -> tuple[Any, ...]:
        """The set union of each level, for users of at most `most` items."""
        return _mechanisms(self, most, _digest(self.popular or ()))

    def noise(self, place: int, most: int) -> Fraction:
        """The variance of the noise on the counts of a level: a user moves at most `most` of them by 1 each."""
        epsilon, delta = self.for_counts
        part = self.parts[place] / sum(self.parts[self.first :])
        return Fraction(most) / (2 * largest_rho(epsilon, delta) * part)

    def _refuse_what_engines_cannot(self) -> None:
        able = [one.name for one in methods.methods("union") if one.in_engine]
        if self.words is not None:
            hint = "texts are cut here, row after row, and what memory does not hold goes to disk"
            raise ParameterError("in_engine", "be left out where the items are those of a text", "True", hint)
        if self.method != AUTO and self.method not in able:
            hint = "in the others users look at what others gave, so their pairs must be in memory"
            raise ParameterError("method", f"be auto, {', '.join(able)} where in_engine is given", self.method, hint)
        if self.most is not None and self.most > MOST_SHARES:
            raise ParameterError("max_items_per_user", f"be at most {MOST_SHARES} where in_engine is given", self.most)

    def _refuse_what_cannot_be_made(self) -> None:
        """Now, and not when the bound is known: by then the ceiling is reserved."""
        if not self.chosen:
            self.mechanisms(self.most)
        elif self.method == "renyi-shaped":
            epsilon, delta = self.for_union
            if not has_curve(epsilon, delta, MOST_ITEMS):
                hint = f"give max_items_per_user, or take {WITHOUT_CURVE}"
                raise without_curve(self.total, epsilon, delta, None, "renyi-shaped", hint)
        elif self.method != AUTO:
            self.mechanisms(1)
            self.mechanisms(MOST_ITEMS)


def bound_chooser(epsilon: Fraction, bounds: Sequence[int]) -> Quantile:
    """A private quantile of one place in `bounds` per user: the least that leaves a user all they have."""
    return Quantile(q=MANY, bounds=(0, len(bounds) - 1), step=1, epsilon=epsilon)


def chosen_method(query: UnionTerms, most: int | None) -> str:
    """The name of the method that answers, for users of at most `most` items."""
    return best_method(*query.for_union, most) if query.method == AUTO else query.method


@lru_cache(maxsize=4)
def _mechanisms(query: UnionTerms, most: int | None, _popular: str) -> tuple[Any, ...]:
    """Kept by all that decides them, also the types of popular items (1 == True).

    Some take seconds to make, and they are made once to check them and once to run them.
    """
    epsilon, delta = query.for_union
    row = methods.named("union", chosen_method(query, most))
    given: dict[str, object] = {}
    if row.bound is not NeedsBound.NONE and most is not None:
        given["max_items_per_user"] = most
    if query.popular:
        given["popular"] = query.popular
    if row.weights is WeightRule.ROUNDS:  # parts of one budget add up, which is less than adding (epsilon, delta)
        return tuple(row.make(epsilon=epsilon, delta=delta, part=part, **given) for part in query.parts)
    return tuple(row.make(epsilon=epsilon * part, delta=delta * part, **given) for part in query.parts)


@lru_cache(maxsize=4)
def _near_enough(query: UnionTerms, _popular: str) -> AskedAccuracy:
    """The price that follows from `users_for`. Kept, since some mechanisms take long to make and several are tried."""
    wanted, most = query.users_for or 1, query.most

    def made(epsilon: Fraction) -> Any:
        found = replace(query, epsilon=epsilon, users_for=None).mechanisms(most)[-1]
        # By its first shares, as when it had no others: else what was asked and paid would have another price today.
        return found.of_first_shares() if isinstance(found, RenyiShaped) else found

    def miss(epsilon: Fraction) -> int | None:
        return users_for(made(epsilon), TIMES / 100, 1)

    epsilon = price_for("users_for", wanted, miss, "; so is a smaller max_items_per_user")
    mechanism, more = made(epsilon), ""
    many = None if most in (None, 1) or looks_at_others(mechanism) else users_for(mechanism, TIMES / 100, most or 1)
    if many is not None:
        more = f"; {said_users(many)} of at most {said_items(most or 1)} each will do too"
    whereof = f"finding an item {times()} if {said_users(wanted)} have it and no other item"
    return AskedAccuracy(name="users_for", wanted=wanted, epsilon=epsilon, whereof=whereof, more=more)


def _digest(popular: tuple[Any, ...]) -> str:
    """What tells one public list from another: its items, their types, and their order."""
    return hashlib.sha256(json.dumps(list(map(named, popular))).encode()).hexdigest()


def without_curve(
    asked: Fraction, epsilon: Fraction, delta: Fraction, most: int | None, method: str, hint: str
) -> ParameterError:
    """The refusal where `epsilon`, the union's part of the price asked, is too small for a Renyi-shaped curve."""
    items = "max_items_per_user chosen privately" if most is None else f"{most} items per user"
    if delta < LEAST_DELTA:
        return ParameterError("delta", f"be at least {rounded_up(LEAST_DELTA)} for {method}", rounded_up(delta), hint)
    least = rounded_up(least_epsilon(delta, MOST_ITEMS if most is None else most) * asked / epsilon)
    return ParameterError("epsilon", f"be at least {least} for {method} with {items}", rounded_up(asked), hint)


def _bound(method: str, given: int | str | None, counted: bool) -> tuple[int | None, bool]:
    """max_items_per_user, and whether it is to be chosen privately."""
    auto = isinstance(given, str) and given == AUTO
    must = "be a whole number of at least 1, or 'auto'"
    if isinstance(given, str) and not auto:
        raise ParameterError("max_items_per_user", must, came(given))
    number = None if given is None or auto else parameters.whole("max_items_per_user", given, least=1)
    if method == ONE_ITEM and number not in (None, 1):
        raise ParameterError("max_items_per_user", f"be 1 for {ONE_ITEM}", came(given))
    if method == ONE_ITEM or number is not None:
        return number or 1, False
    needed = method == AUTO or methods.named("union", method).bound is NeedsBound.REQUIRED
    return None, needed or counted or auto


def best_method(epsilon: Fraction, delta: Fraction, most: int | None) -> str:
    """By epsilon, delta and the bound alone; measured in docs/set-union.md."""
    if most == 1:
        return ONE_ITEM
    return "renyi-shaped" if has_curve(epsilon, delta, most or MOST_ITEMS) else WITHOUT_CURVE
