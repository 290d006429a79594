"""Hostile numbers, and numbers of every type, at the verbs: rows are read at every knock."""

from tests.border.test_numbers import READING, check_doors, check_types


def test_every_verb_answers_or_refuses_every_number() -> None:
    check_doors(READING)


def test_a_number_of_any_type_means_the_same_to_a_verb() -> None:
    check_types(READING)
