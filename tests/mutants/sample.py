"""Which mutants are judged: a sample that hangs on its seed and on the source alone.

Every mutant has a rank, which a digest of the seed and the change gives: a change of the source elsewhere moves none.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

from tests.mutants.lines import ROOMS
from tests.mutants.planting import Mutant, code_of, mutants, plantable

LEAST = 20  # of each room


@dataclass(frozen=True)
class Sample:
    """The mutants in the order of their ranks, and how many possible ones are left out because they run at import."""

    mutants: list[Mutant]
    at_import: int


def sample(sources: dict[str, str], size: int, seed: int) -> Sample:
    """At least so many mutants, spread over the rooms as their lines of code are."""
    lines = Counter[str]()
    ranked: dict[str, list[tuple[str, Mutant]]] = defaultdict(list)
    at_import = 0
    for path, source in sources.items():
        every, alike = list(mutants(path, source)), Counter[str]()
        lines[path.partition("/")[0]] += len({line for one in every for line in one.lines})
        at_import += sum(one.function is None for one in every)
        for one in every:
            if one.function is not None:
                shape = one.rank(seed, 0)
                ranked[one.room].append((one.rank(seed, alike[shape]), one))
                alike[shape] += 1
    taken: list[tuple[str, Mutant]] = []
    for room, found in ranked.items():
        wanted = max(min(LEAST, size // len(ROOMS)), round(size * lines[room] / lines.total()))
        fitting = (pair for pair in sorted(found, key=by_rank) if plantable(code_of(pair[1], sources[pair[1].path])))
        taken += [pair for _, pair in zip(range(wanted), fitting, strict=False)]
    return Sample([one for _, one in sorted(taken, key=by_rank)], at_import)


def by_rank(pair: tuple[str, Mutant]) -> str:
    """No two are the same."""
    return pair[0]
