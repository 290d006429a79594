"""A job's state follows on the last as the table says, on the server that runs it, and an answer has one address."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, product
from pathlib import Path

import pytest

from dpselect.gateway.jobs import FINAL, NEXT, Job, JobState
from dpselect.gateway.store import Jobs
from dpselect.ledger import Account
from dpselect.ledger.charge import ZERO
from dpselect.ledger.entry import Draft, Entry, EntryKind, chain_entry

NUMBERS = count()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Jobs]:
    found = Jobs(tmp_path / "questions.sqlite")
    yield found
    found.close()


def settle(number: int) -> Entry:
    draft = Draft(EntryKind.SETTLE, Account("plays", "ann"), ZERO, release="{}")
    return chain_entry(draft, number, "the digest of the entry before")


def added(store: Jobs, state: JobState, server: str | None = None) -> Job:
    number = next(NUMBERS)
    job = Job(
        id=f"{number:032}", analyst="ann", data="plays", repeat_key=f"k{number}", body={}, state=state,
        asked_at=float(number), base_window=1.0, process_id=server,
    )  # fmt: skip
    store.add(job)
    return job


@pytest.mark.parametrize(("before", "after"), [pair for pair in product(JobState, JobState) if pair[0] != pair[1]])
def test_a_state_follows_only_on_those_of_the_table(store: Jobs, before: JobState, after: JobState) -> None:
    job = added(store, before)
    may = after in NEXT.get(before, ())
    assert (store.change(job, state=after) is not None) is may
    found = store.find(job.id)
    assert found is not None
    assert found.state is (after if may else before)


def test_every_state_is_final_or_has_a_next_one() -> None:
    assert {*FINAL} | {*NEXT} == {*JobState}
    assert {after for follow in NEXT.values() for after in follow} | {JobState.APPROVAL} == {*JobState}


def test_what_has_moved_on_is_not_changed(store: Jobs) -> None:
    job = added(store, JobState.QUEUED)
    assert store.change(job, state=JobState.RUNNING, process_id="one") is not None
    assert store.change(job, state=JobState.CANCELLED) is None  # as it was seen before
    running = store.find(job.id)
    assert running is not None
    assert store.change(running, process_id="two") is not None  # which took it over
    assert store.change(running, state=JobState.ANSWERED) is None


def test_an_entry_of_the_ledger_answers_under_one_address(store: Jobs) -> None:
    first, second, other = (added(store, JobState.RUNNING) for _ in range(3))
    seventh, eighth = settle(7), settle(8)
    assert [store.record_answer(one, seventh) for one in (first, second, first)] == [first.id] * 3
    assert store.record_answer(other, eighth) == other.id
    assert [job.id for job in store.answers(["plays"], 10)] == [other.id, first.id]
    assert store.answer(second.id) is None
    found = store.answer_to(first.repeat_key)
    assert found is not None
    assert (found.id, found.settle_entry) == (first.id, 7)
    assert store.answers([], 10) == []
