"""The headline of an answer: what came back, and in a print also what that leaves open."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dpselect.release import formatting
from dpselect.release.accuracy import CHOSEN, NO_OTHER, NONE
from dpselect.release.groups import describe_groups_of_user
from dpselect.release.quantile_values import quantile_shares, rounded_values
from dpselect.release.scale import LOST, format_items, score_column, score_name
from dpselect.release.shown import ShownRelease
from dpselect.release.statement import FROM_ZERO, Kind


def brief_headline(release: ShownRelease) -> str:
    """Return the headline for a print, and what it does not say about missing items or groups."""
    headline = describe_result(release, formatting.printed)
    if release.groups is not None:
        listed = release.privacy.parameters.get("groups_listed")
        return headline if listed else f"{headline} A group that is not shown may still have users."
    if not release.items:
        return headline.replace(NO_OTHER, NONE).replace(NONE, f"{NONE}, though there may be some")
    shares = release.privacy.parameters.get("q")
    if release.kind is Kind.VALUES and isinstance(shares, tuple):
        values = rounded_values(release)
        is_rounded = values != [item.item for item in release.items]
        return formatting.quantiles([float(q) for q in shares], values, is_rounded=is_rounded)
    if not release.complete:
        return headline.replace(NO_OTHER, f"{NO_OTHER}, though there may be more")
    return headline


def describe_result(release: ShownRelease, show: Callable[[object], str] = formatting.brief) -> str:
    """Return the headline, with a single item as `show` writes it. A sum says that it is none of refunds."""
    headline = _describe_items(release, show)
    return headline if release.weight is None else f"{headline.removesuffix('.')}; rows below 0 count as 0."


def _describe_items(release: ShownRelease, show: Callable[[object], str]) -> str:
    parameters, item_count = release.privacy.parameters, len(release.items)
    items = f"{item_count:,} item{'' if item_count == 1 else 's'}"
    if release.groups is not None:
        groups = release.groups.outcome(release.items)
        if release.kind is Kind.SET and release.items:
            groups = f"{items} of {groups} that enough users share, unranked"
        counts_in = describe_groups_of_user(release.privacy) if release.groups.shown else ""
        return f"{groups[0].upper()}{groups[1:]}{counts_in}."
    k = parameters.get("k")
    if release.compared is not None:
        return _describe_gains(release, release.compared, k)
    if not release.complete:
        items_of_k = items if k is None else f"{item_count:,} of at most {formatting.format_count(k)} items"
        return f"{items_of_k}: {NO_OTHER}."
    if not release.items:
        return f"No items: {NONE}."
    if shares := quantile_shares(release):
        return formatting.quantiles([float(q) for q in shares], [item.item for item in release.items])
    if "users_by" in parameters:
        return _describe_users(release)
    if release.of_domain:
        return f"The numbers of {release.unit} of all {items} of the domain, with noise."
    if release.kind is Kind.SET:
        return f"{items}{' that enough users share' if k is None else ''}, unranked."
    if item_count == 1:
        is_choice = bool(release.accuracy.sentences) and release.accuracy.sentences[0].startswith(CHOSEN)
        item_text = "candidate {} (counted from 0)" if parameters.get(FROM_ZERO) == 0 else "{}"
        return f"{'Chosen' if is_choice else items}: {item_text.format(show(release.items[0].item))}."
    score = score_column(score_name(parameters), parameters)
    ranking_basis = "" if release.weight is None else f"by {score.replace('_', ' ')}s, "
    return f"{items}, {ranking_basis}best first."


def _describe_users(release: ShownRelease) -> str:
    """Describe how many users there are, in all or in each group."""
    if release.privacy.parameters["users_by"]:
        count = len(release.items)
        groups = f"{'the' if count == 1 else 'all'} {count:,} group{'' if count == 1 else 's'}"
        return f"The numbers of {release.unit} of {groups}, with noise{describe_groups_of_user(release.privacy)}."
    return f"{release.items[0].count:,} {release.unit}, with noise."


def _describe_gains(release: ShownRelease, periods: str, k: object) -> str:
    """Describe how many items were returned, by which users."""
    item_count = len(release.items)
    if release.complete:
        items = format_items(item_count)
        ending = ", best first" if release.ranked and item_count > 1 else ""
    else:
        items, ending = f"{item_count:,} of at most {formatting.format_count(k)} items", f": {NO_OTHER}"
    verb, opposite_verb = ("lost", "gained") if LOST in release.privacy.parameters else ("gained", "lost")
    zero_note = (
        f"; an item that {verb} nothing or {opposite_verb} users may be listed (it counts as 0)" if item_count else ""
    )
    return f"{items} by {verb} users {periods}{ending}{zero_note}."


def compared_periods(parameters: Mapping[str, object]) -> str | None:
    """Return the compared periods in words, or None if nothing is compared."""
    baseline, current = parameters.get("compared_with"), parameters.get("during")
    return f"from {baseline} to {current}" if isinstance(baseline, str) and isinstance(current, str) else None
