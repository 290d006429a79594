"""An accuracy that stands in place of epsilon: what it comes to, before it is paid and in the release."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

from dpselect._ground.dataclass import dataclass
from dpselect.release import formatting
from dpselect.release.accuracy import AS_ASKED, CONFIDENCE_PERCENT, NO_ACCURACY, Accuracy, format_users
from dpselect.release.release import Release
from dpselect.release.scale import Scale, format_items


@dataclass(frozen=True)
class TargetAccuracy:
    """The accuracy that was asked for and the price that follows, before any data is touched."""

    name: str
    target: int
    epsilon: Fraction
    description: str  # such as "users of the 10th best"
    caveat: str = ""  # what is not promised
    accuracy: Accuracy = NO_ACCURACY  # what a release says beside what it always says

    @property
    def price_sentence(self) -> str:
        """Sentence for whoever is about to pay."""
        return f"{self.description} costs epsilon {formatting.price(self.epsilon)}{self.caveat}"

    @property
    def of_counted_users(self) -> TargetAccuracy:
        """Target of counted users, for rows or periods that decide who counts."""
        description, caveat = (_USERS.sub(r"counted \1", text) for text in (self.description, self.caveat))
        return replace(self, description=description, caveat=caveat)

    @property
    def but_excluded(self) -> TargetAccuracy:
        """Target for a list that leaves items out, which may be better than the best."""
        phrases = ("best", "best but for the excluded")
        sentences = tuple(sentence.replace(*phrases) for sentence in self.accuracy.sentences)
        description, caveat = self.description.replace(*phrases), self.caveat.replace(*phrases)
        accuracy = replace(self.accuracy, sentences=sentences)
        return replace(self, description=description, caveat=caveat, accuracy=accuracy)

    def added_to(self, release: Release) -> Release:
        """Return the release with a sentence that says what was asked for and what it cost."""
        statement = release.privacy
        price = formatting.price(self.epsilon)
        sentence = f"Asked for: {self.description}. Epsilon {price} is what that costs, for any data."
        parameters = {**statement.parameters, self.name: self.target}
        privacy = replace(statement, parameters=parameters, sentences=(*statement.sentences, sentence))
        return replace(release, privacy=privacy, accuracy=release.accuracy + self.accuracy)


def describe_target_ranking(
    target: int, epsilon: Fraction, *, k: int, k_bar: int | None, reach: int | None, with_counts: bool, scale: Scale
) -> TargetAccuracy:
    """Describe a top k that is within `target` users of the k-th best; `reach` is above the item at rank k_bar + 1."""
    users, is_cut = scale.format_score(target), bool(scale.bounds)
    true_counts = "those before noise" if is_cut else "the true ones"
    description = f"within {users} of {nth_best(k)}"
    sentences = [f"No item here has over {users} fewer than {nth_best(k)}{AS_ASKED}"]
    if with_counts:
        sentences.append(f"All counts are within {users} of {true_counts} at once{AS_ASKED}")
    caveat = ""
    if reach is not None:
        returned_items = "it comes back" if k == 1 else f"all {k:,} come back"
        caveat = (
            f"; {returned_items} {_CONFIDENT} if {nth_best(k)} has over {scale.format_score(reach)} more than the item "
            f"at rank {(k_bar or 0) + 1:,}"
        )
    return TargetAccuracy(
        name="within",
        target=target,
        epsilon=epsilon,
        description=f"{description} and of all {'counts before noise' if is_cut else 'true counts'}"
        if with_counts
        else description,
        caveat=caveat,
        accuracy=Accuracy(tuple(sentences), {"within": target}),
    )


def describe_target_ranks(target: int, epsilon: Fraction, *, quantiles: int) -> TargetAccuracy:
    """Describe quantiles that are within `target` users of their ranks."""
    description = f"within {format_users(target)} of the {'rank' if quantiles == 1 else 'ranks'}"
    return TargetAccuracy(name="within", target=target, epsilon=epsilon, description=description)


def describe_target_users(target: int, epsilon: Fraction) -> TargetAccuracy:
    """Describe a number of all users that is within `target` of the true one."""
    description = f"within {format_users(target)} of the number of all"
    return TargetAccuracy(name="within", target=target, epsilon=epsilon, description=description)


def describe_target_threshold(
    target: int, epsilon: Fraction, *, users_of_many: int | None, items_of_many: int
) -> TargetAccuracy:
    """Describe a union that finds an item of `target` users, or of more users who have up to several items each."""
    caveat = ""
    if users_of_many is not None:
        caveat = f"; {format_users(users_of_many)} of at most {format_items(items_of_many)} each will do too"
    description = f"finding an item {_CONFIDENT} if {format_users(target)} have it and no other item"
    return TargetAccuracy(name="threshold", target=target, epsilon=epsilon, description=description, caveat=caveat)


_USERS = re.compile(r"\b(users?)\b")
_CONFIDENT = f"with {CONFIDENCE_PERCENT} % confidence"


def nth_best(k: int) -> str:
    """Name the k-th best."""
    if k == 1:
        return "the best"
    last = 0 if k % 100 in (11, 12, 13) else k % 10
    return f"the {k:,}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(last, 'th') } best"
