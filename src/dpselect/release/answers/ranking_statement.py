"""The statement and the accuracy of a top k: by picks, as a whole set, in every group, or of discovered items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dpselect._ground.parameters import Number
from dpselect._ground.privacy import Privacy
from dpselect.aggregates.measures import Measure
from dpselect.release import accuracy
from dpselect.release.accuracy import NOTHING, Accuracy, said_items
from dpselect.release.answers.group_statements import in_each_group
from dpselect.release.measures import of_measures
from dpselect.release.scale import Scale
from dpselect.release.statement import Statement

Terms = tuple[dict[str, object], list[str]]
"""Parameters and sentences of a statement."""


@dataclass(frozen=True)
class CountNoise:
    """The discrete Laplace noise of the winners' counts, its price, and how many of them one user moves."""

    epsilon_per_count: Fraction
    rate: Fraction
    max_items_per_user: int | None = None


@dataclass(frozen=True)
class MeasureNoise:
    """The measures of the winners, the price of each noisy number of them, and how many items one user moves."""

    measures: Sequence[Measure]
    epsilon_per_measure: Fraction
    max_items_per_user: int | None = None


def state_selection(
    privacy: Privacy,
    mechanism: str,
    terms: Terms,
    *,
    counts: CountNoise | None,
    measures: MeasureNoise | None,
    scale: Scale,
) -> Statement:
    """State a selection, the noise of the counts and measures that were asked for, and who counts."""
    parameters, sentences = dict(terms[0]), list(terms[1])
    if counts is not None:
        parameters["epsilon_per_count"] = counts.epsilon_per_count
        if counts.max_items_per_user is not None:  # one user moves that many counts
            parameters["max_items_per_user"] = counts.max_items_per_user
        sentences.append(describe_noise(counts.rate, scale))
    if measures is not None:
        more, said = of_measures(measures.measures, measures.epsilon_per_measure, measures.max_items_per_user)
        parameters |= more
        sentences += said
    return Statement.of(privacy, mechanism, parameters | scale.parameters, (*sentences, *scale.sentences))


def describe_noise(rate: Fraction, scale: Scale) -> str:
    """Say how noisy counts are."""
    return f"{scale.score.title()}s carry discrete Laplace noise of scale {scale.about(1 / float(rate), 3)}."


def describe_peeling(k: int, epsilon_per_pick: Number | None, reason: str) -> Terms:
    """Describe one pick for each of k items."""
    return {"k": k, "epsilon_per_pick": epsilon_per_pick}, [reason]


def describe_limited_domain(
    k: int,
    epsilon_per_pick: Number | None,
    reason: str,
    *,
    k_bar: int,
    delta_threshold: Number | None,
    max_items_per_user: int | None,
    height: float,
    scale: Scale,
) -> Terms:
    """Describe picks that end at bottom, which is `height` above the item at rank k_bar + 1."""
    parameters, sentences = describe_peeling(k, epsilon_per_pick, reason)
    parameters |= {"k_bar": k_bar, "delta_threshold": delta_threshold, "max_items_per_user": max_items_per_user}
    touched = "any number of items" if max_items_per_user is None else f"at most {said_items(max_items_per_user)}"
    sentences += [f"One user counts for {touched}.", f"{_describe_bottom(height, k_bar, scale)}."]
    return parameters, sentences


def describe_limited_domain_by_group(
    k: int,
    epsilon_per_pick: Number | None,
    reason: str,
    *,
    max_groups_per_user: int,
    k_bar: int,
    delta_threshold: Number | None,
    max_items_per_user: int | None,
    listed: bool,
    epsilon_per_group: Number | None,
    height: float,
    scale: Scale,
) -> Terms:
    """Describe limited domain in every group; `epsilon_per_group` is that of a number of users, where asked for."""
    parameters: dict[str, object] = {
        "k": k,
        "max_groups_per_user": max_groups_per_user,
        "epsilon_per_pick": epsilon_per_pick,
        "k_bar": k_bar,
        "delta_threshold": delta_threshold,
        "max_items_per_user": max_items_per_user,
        **({"groups_listed": True} if listed else {}),
    }
    if epsilon_per_group is not None:
        parameters["epsilon_per_group"] = epsilon_per_group
    sentences = [reason]
    if scale.totals is not None:
        sentences.append(
            "A user has only the groups in which they give an item a unit; what they give is added up in each."
        )
    if max_items_per_user is not None:
        sentences.append(f"In each of them a user counts for at most {said_items(max_items_per_user)}.")
    sentences.append(f"{_describe_bottom(height, k_bar, scale)} of its group.")
    return parameters, sentences


def _describe_bottom(height: float, k_bar: int, scale: Scale) -> str:
    """Say how high bottom is, in a sentence without its full stop."""
    return (
        f"An item is returned only if it exceeds a noisy threshold (bottom), {scale.about(height)} above "
        f"the {scale.score} at rank k_bar + 1 = {k_bar + 1:,}"
    )


def describe_sparse_limited_domain(
    k: int,
    epsilon_per_pick: Number | None,
    reason: str,
    *,
    k_bar: int,
    epsilon_of_threshold: Number | None,
    epsilon_of_test: Number | None,
    delta_threshold: Number | None,
    height: float,
    scale: Scale,
) -> Terms:
    """Describe picks that end at the first one below one noisy threshold."""
    parameters, sentences = describe_peeling(k, epsilon_per_pick, reason)
    parameters |= {
        "k_bar": k_bar,
        "epsilon_of_threshold": epsilon_of_threshold,
        "epsilon_of_test": epsilon_of_test,
        "delta_threshold": delta_threshold,
        "height": height,
    }
    sentences += [
        "One user counts for any number of items.",
        f"Picks are shown in their order while their {scale.score}s pass one noisy threshold, which is at most "
        f"{scale.about(height)} above the {scale.score} of rank k_bar + 1 = {k_bar + 1:,}; "
        "the first one below it ends the list.",
    ]
    return parameters, sentences


def describe_whole_set(k: int, epsilon: Number, reason: str, *, ordered: bool) -> Terms:
    """Describe k items that were chosen all at once."""
    sentences = [reason]
    if not ordered:
        sentences.append("The items are a set: their order says nothing, unless noisy counts give one.")
    return {"k": k, "epsilon_of_set": epsilon}, sentences


def describe_discovery(
    k: int,
    reason: str,
    *,
    discovered: int,
    max_items_per_user: int,
    union_share: Number | None,
    order: int | None,
    epsilon_per_pick: Number | None,
    epsilon_of_bound: Fraction | None,
    share_of_bound: Fraction,
    by_group: bool,
    scale: Scale,
) -> Terms:
    """Describe a union and the ranking of what it found; a bound that was chosen privately has an epsilon."""
    parameters: dict[str, object] = {
        "k": k,
        "discovered": discovered,
        "max_items_per_user": max_items_per_user,
        "union_share": union_share,
        **({} if order is None else {"order": order}),
        "epsilon_per_pick": epsilon_per_pick,
        **({} if epsilon_of_bound is None else {"epsilon_of_bound": epsilon_of_bound}),
    }
    bound = f"Every user takes part in the discovery with at most {max_items_per_user} random items"
    if epsilon_of_bound is not None:
        bound += f"; that number was chosen privately, with 1/{1 / share_of_bound} of epsilon"
    ranked = f"the best {k} of them are" if discovered > k else "all of them are"
    ranked = f"of each group the best {k} are" if by_group else ranked
    how = "what they gained of all users" if scale.gains else "the numbers of all their users"
    found = f"Items discovered: {discovered:,}; {ranked} ranked by {how}: max_items_per_user limits the discovery only."
    return parameters, [reason, f"{bound}.", found]


def add_chosen_groups(
    statement: Statement, *, epsilon: Fraction, epsilon_of_choice: Fraction, share: Fraction, chosen: int, largest: int
) -> Statement:
    """Return the statement of a top k by group at the whole `epsilon`, with how its bound on groups was chosen."""
    sentence = (
        f"max_groups_per_user = {chosen} was chosen privately, with {share} of epsilon, so that 9 of 10 users "
        f"are in no more groups. The choice is noisy, and with a few thousand users mostly random; at most "
        f"{largest} can be chosen."
    )
    parameters = {**statement.parameters, "epsilon_of_max_groups": epsilon_of_choice}
    return replace(statement, epsilon=epsilon, parameters=parameters, sentences=(*statement.sentences, sentence))


# ---- accuracy ---------------------------------------------------------------------------------------------


def describe_counts(width: int | None, scale: Scale) -> Accuracy:
    """Say how near counts with noise of their own are; nothing where none were asked for."""
    return NOTHING if width is None else accuracy.counts_apart(width, scale)


def describe_unknown_domain(gap: int, reach: int, k_bar: int, scale: Scale) -> Accuracy:
    """Say how good a list is that may end early."""
    return accuracy.ranking(gap, scale=scale) + accuracy.ends_early(reach, k_bar + 1, scale)


def describe_ranking_by_group(
    gap: int, reach: int, k_bar: int, *, width: int | None, group_width: int | None, scale: Scale
) -> Accuracy:
    """Say how good the list of each group is, its counts and, where asked for, its number of users."""
    good = in_each_group(describe_unknown_domain(gap, reach, k_bar, scale)) + describe_counts(width, scale)
    return good if group_width is None else good + accuracy.users_of_groups(group_width, replace(scale, totals=None))


def describe_discovered_ranking(gap: int | None, scale: Scale, *, by_group: bool) -> Accuracy:
    """Say how good the ranking of discovered items is; of none or one there is nothing to say."""
    if gap is None:
        return NOTHING
    good = accuracy.ranking(gap, what=accuracy.DISCOVERED, scale=scale)
    return in_each_group(good) if by_group else good
