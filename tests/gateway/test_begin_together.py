"""Several processes begin with the same new ledger at once: each thing is made once, and none of them fails."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from threading import Barrier

import pytest

from dpselect.gateway.books import Books
from dpselect.gateway.settings.reading import read_text
from tests.gateway.served import settings_in

PROCESSES = 4


def test_processes_that_begin_at_once_grant_a_quota_once(postgres_server: str, tmp_path: Path) -> None:
    psycopg = pytest.importorskip("psycopg")
    settings = read_text(settings_in(tmp_path).read_text(), tmp_path)
    for _ in range(5):
        name = f"begin_{uuid.uuid4().hex}"
        with psycopg.connect(postgres_server.format(name="postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        books = [Books(postgres_server.format(name=name)) for _ in range(PROCESSES)]
        together = Barrier(PROCESSES)

        def begin(one: Books, together: Barrier = together) -> list[str]:
            together.wait()
            return one.begin(settings)

        with ThreadPoolExecutor(PROCESSES) as threads:
            said = [sentence for found in threads.map(begin, books) for sentence in found]
        assert said.count("made the ledger") == 1
        ann = next(one for one in books[0].ledger.all_standings() if one.account.analyst == "ann")
        assert ann.granted.epsilon == Fraction(2)
        for one in books:
            one.close()
