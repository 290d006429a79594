"""A sign-in link works once, however it is spelled."""

from __future__ import annotations

import pytest

from dpselect.gateway.people import People
from dpselect.gateway.settings.kinds import Role
from dpselect.gateway.settings.server import Person


class Remembered:
    """What was used, in memory."""

    def __init__(self) -> None:
        self._said: set[str] = set()

    def record_once(self, name: str, until: float) -> bool:  # noqa: ARG002 - it forgets nothing
        first = name not in self._said
        self._said.add(name)
        return first

    def is_recorded(self, name: str) -> bool:
        return name in self._said


@pytest.mark.parametrize("more", ["!!!!", "=", "====", "\n\n\n\n", "$$$$"])
def test_a_used_code_is_not_good_again_in_another_spelling(more: str) -> None:
    ann = Person(name="ann", role=Role.OWNER, token="sha256:" + "ab" * 32)
    people = People({"ann": ann}, b"s" * 32, Remembered())
    code = people.code(ann)
    assert people.redeem_code(code) == ann
    assert people.redeem_code(code) is None
    assert people.redeem_code(code + more) is None
    assert people.redeem_code(more + code) is None


def test_the_last_character_says_nothing_that_is_not_read() -> None:
    ann = Person(name="ann", role=Role.OWNER, token="sha256:" + "ab" * 32)
    people = People({"ann": ann}, b"s" * 32, Remembered())
    code = people.code(ann)
    assert people.redeem_code(code) == ann
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    assert [last for last in letters if people.redeem_code(code[:-1] + last) is not None] == []
