"""What the owner bounds of one person beside the quota: the part of it that one question may cost, and how many a day.

An agent is fast, and may be talked into anything: its quota is all that it can spend, and these say how fast.
"""

from __future__ import annotations

from fractions import Fraction

from dpselect.gateway.problems import Refused
from dpselect.gateway.settings.values import Person
from dpselect.ledger import percent
from dpselect.release import Json


def _refusal_reason(person: Person, share: Fraction) -> str | None:
    """Return why a question that costs this part of a whole quota is refused, or None if it may be asked."""
    if person.max_share is None or share <= person.max_share:
        return None
    maximum = percent(person.max_share)
    return f"is {percent(share, up=True)} of a whole budget, and one question may be at most {maximum} of it"


def check_share(person: Person, share: Fraction) -> None:
    """Refuse a new question that costs too large a part of the quota."""
    reason = _refusal_reason(person, share)
    if reason is not None:
        raise Refused("budget", f"The question {reason}.", "ask with a smaller share")


def check_day(person: Person, today: int) -> None:
    """Refuse a new question beyond the daily limit of a person."""
    if person.max_a_day is not None and today >= person.max_a_day:
        sentence = f"You asked {today} new questions in 24 hours, and {person.max_a_day} are the most."
        raise Refused("too-many", sentence, "answers that are paid for already are free", after=3600)


def must_wait(person: Person, share: Fraction) -> bool:
    """Return whether somebody else must approve a question of this part of the quota."""
    return person.approve_above is not None and share > person.approve_above


def with_limits(person: Person, price: dict[str, Json], share: Fraction) -> dict[str, Json]:
    """Return a price that also says whether these limits allow a question of this part of the whole quota."""
    free = price["free"]
    reason = None if free else _refusal_reason(person, share)
    if reason is not None:
        return {**price, "fits": False, "sentence": reason}
    if must_wait(person, share) and not free:
        return {**price, "sentence": f"{price['sentence']}; somebody else must approve it first"}
    return price
