"""What the owner bounds of one person beside the quota: the part of it that one question may cost, and how many a day.

An agent is fast, and may be talked into anything: its quota is all that it can spend, and these say how fast.
"""

from __future__ import annotations

from fractions import Fraction

from dpselect._ground.budget_parts import percent
from dpselect.gateway.problems import Refused
from dpselect.gateway.settings.values import Person
from dpselect.release.formatting import Json


def too_much(person: Person, share: Fraction) -> str | None:
    """Why a question that is this part of the whole quota by itself is refused to them, if it is."""
    if person.max_share is None or share <= person.max_share:
        return None
    most = percent(person.max_share)
    return f"is {percent(share, up=True)} of a whole budget, and one question may be at most {most} of it"


def check_share(person: Person, share: Fraction) -> None:
    """Refuse a new question that costs too large a part of the quota."""
    said = too_much(person, share)
    if said is not None:
        raise Refused("budget", f"The question {said}.", "ask with a smaller share")


def check_day(person: Person, today: int) -> None:
    """Refuse a new question after so many in a day."""
    if person.max_a_day is not None and today >= person.max_a_day:
        said = f"You asked {today} new questions in 24 hours, and {person.max_a_day} are the most."
        raise Refused("too-many", said, "answers that are paid for already are free", after=3600)


def must_wait(person: Person, share: Fraction) -> bool:
    """Must somebody else agree to a question of this part?"""
    return person.approve_above is not None and share > person.approve_above


def priced(person: Person, price: dict[str, Json], share: Fraction) -> dict[str, Json]:
    """A price, with whether these limits allow a question of this part of the whole quota."""
    free = price["free"]
    said = None if free else too_much(person, share)
    if said is not None:
        return {**price, "fits": False, "sentence": said}
    if must_wait(person, share) and not free:
        return {**price, "sentence": f"{price['sentence']}; somebody else must approve it first"}
    return price
