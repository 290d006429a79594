"""An accuracy that stands in place of epsilon: what it comes to, before it is paid and in the release."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from dpselect.release import formatting
from dpselect.release.accuracy import AS_ASKED, NOTHING, TIMES, Accuracy, said_items, said_users
from dpselect.release.release import Release
from dpselect.release.scale import Scale


@dataclass(frozen=True)
class AskedAccuracy:
    """The accuracy that was asked for and the price that follows, before any data is touched."""

    name: str
    wanted: int
    epsilon: Fraction
    whereof: str  # such as "users of the 10th best"
    more: str = ""  # what is not promised
    accuracy: Accuracy = NOTHING  # what a release says beside what it always says

    @property
    def before(self) -> str:
        """The sentence for whoever is about to pay."""
        return f"{self.whereof} costs epsilon {formatting.price(self.epsilon)}{self.more}"

    def added_to(self, release: Release) -> Release:
        """Return the release with a sentence that says what was asked for and what it cost."""
        statement = release.privacy
        price = formatting.price(self.epsilon)
        sentence = f"Asked for: {self.whereof}. Epsilon {price} is what that costs, for any data."
        parameters = {**statement.parameters, self.name: self.wanted}
        privacy = replace(statement, parameters=parameters, sentences=(*statement.sentences, sentence))
        return replace(release, privacy=privacy, accuracy=release.accuracy + self.accuracy)


def describe_asked_ranking(
    wanted: int, epsilon: Fraction, *, k: int, k_bar: int | None, reach: int | None, counted: bool, scale: Scale
) -> AskedAccuracy:
    """Describe a top k that is within `wanted` users of the k-th best; `reach` is above the item at rank k_bar + 1."""
    users, cut = scale.said(wanted), bool(scale.bounds)
    true = "those before noise" if cut else "the true ones"
    near = f"within {users} of {nth_best(k)}"
    sentences = [f"No item here has over {users} fewer than {nth_best(k)}{AS_ASKED}"]
    if counted:
        sentences.append(f"All counts are within {users} of {true} at once{AS_ASKED}")
    more = ""
    if reach is not None:
        all_of = "it comes back" if k == 1 else f"all {k:,} come back"
        more = (
            f"; {all_of} {_CONFIDENT} if {nth_best(k)} has over {scale.said(reach)} more than the item at rank "
            f"{(k_bar or 0) + 1:,}"
        )
    return AskedAccuracy(
        name="within",
        wanted=wanted,
        epsilon=epsilon,
        whereof=f"{near} and of all {'counts before noise' if cut else 'true counts'}" if counted else near,
        more=more,
        accuracy=Accuracy(tuple(sentences), {"within": wanted}),
    )


def describe_asked_ranks(wanted: int, epsilon: Fraction, *, quantiles: int) -> AskedAccuracy:
    """Describe quantiles that are within `wanted` users of their ranks."""
    whereof = f"within {said_users(wanted)} of the {'rank' if quantiles == 1 else 'ranks'}"
    return AskedAccuracy(name="within", wanted=wanted, epsilon=epsilon, whereof=whereof)


def describe_asked_users(wanted: int, epsilon: Fraction) -> AskedAccuracy:
    """Describe a number of all users that is within `wanted` of the true one."""
    whereof = f"within {said_users(wanted)} of the number of all"
    return AskedAccuracy(name="within", wanted=wanted, epsilon=epsilon, whereof=whereof)


def describe_asked_threshold(
    wanted: int, epsilon: Fraction, *, users_of_many: int | None, items_of_many: int
) -> AskedAccuracy:
    """Describe a union that finds an item of `wanted` users, or of more users who have up to several items each."""
    more = ""
    if users_of_many is not None:
        more = f"; {said_users(users_of_many)} of at most {said_items(items_of_many)} each will do too"
    whereof = f"finding an item {_CONFIDENT} if {said_users(wanted)} have it and no other item"
    return AskedAccuracy(name="threshold", wanted=wanted, epsilon=epsilon, whereof=whereof, more=more)


_CONFIDENT = f"with {TIMES} % confidence"


def nth_best(k: int) -> str:
    """Name the k-th best."""
    if k == 1:
        return "the best"
    last = 0 if k % 100 in (11, 12, 13) else k % 10
    return f"the {k:,}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(last, 'th') } best"
