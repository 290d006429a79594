"""Which pair is tested in which file, and as a page what becomes of every pair."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from tests.pairs.crossing import Call, Pair, pairs
from tests.pairs.features import FEATURES, Feature
from tests.pairs.states import state
from tests.pairs.triples import TRIPLES

CARRIERS = {"surface", "form", "budget", "price"}
OF_ROWS, OF_CARRIERS, OF_QUESTIONS, ON_SPARK = "of rows", "of carriers", "of questions", "on Spark"


def file_of(pair: Pair) -> str:
    """The file that tests it: three of about the same length, for as many workers, and one of Spark's. Two are slow."""
    kinds = {one.kind for one in pair}
    if "spark" in {one.name for one in pair}:
        return ON_SPARK
    if "source" in kinds:
        return OF_ROWS
    return OF_CARRIERS if kinds & CARRIERS else OF_QUESTIONS


def ids(pair: Pair) -> str:
    """The name of a test."""
    return " x ".join(map(str, pair))


def pairs_of(file: str) -> list[Pair]:
    """The pairs of a file that are a call."""
    return [pair for pair in pairs() if file_of(pair) == file and state(pair).impossible is None]


def answered_calls(file: str) -> Iterator[Call]:
    """The calls of a file that are answered."""
    for pair in pairs():
        found = state(pair)
        if file_of(pair) == file and found.answered and found.call is not None:
            yield found.call


# ---- the page ----------------------------------------------------------------------------------------------------

HEAD = """\
# Every pair of features

A question is made of features: where the rows are, what an item is, which score, which groups, what it costs, who asks.
A fault between two of them is found only by a test that crosses the two.
So this list of features is code (`tests/pairs/features.py`), and each pair of different kinds is one of three things:

- **crossed** by a test: the answer is compared with a count in plain Python, its price is recomputed, its sentences are
  checked, and it is written and read again;
- **refused**: a test holds that the error names the parameter, has a hint, and comes before a row is read;
- **impossible**: no call says both.
"""


def page() -> str:
    """What `python -m tests.pairs` prints, as Markdown."""
    return "\n".join([HEAD, *_counted(), *_features(), *_triples()])


def _counted() -> Iterator[str]:
    found = Counter(_sort(pair) for pair in pairs())
    yield "## How many\n"
    yield "| pairs | crossed | refused | impossible |"
    yield "| ---: | ---: | ---: | ---: |"
    numbers = (sum(found.values()), *(found[sort] for sort in ("crossed", "refused", "impossible")))
    yield f"| {' | '.join(f'{number:,}' for number in numbers)} |\n"


def _sort(pair: Pair) -> str:
    found = state(pair)
    return "crossed" if found.answered else "refused" if found.refusal is not None else "impossible"


def _features() -> Iterator[str]:
    """Of each feature what it is not crossed with; all others of other kinds are crossed with it."""
    others: dict[Feature, dict[tuple[str, str], list[Feature]]] = defaultdict(lambda: defaultdict(list))
    for one, other in pairs():
        if not state((one, other)).answered:
            others[one][_why((one, other))].append(other)
            others[other][_why((one, other))].append(one)
    yield "## By feature\n"
    yield "A feature is crossed with every other one of another kind that its line does not name.\n"
    for kind in dict.fromkeys(one.kind for one in FEATURES):
        yield f"### {kind.capitalize()}\n"
        yield "| feature | refused with | impossible with |"
        yield "| --- | --- | --- |"
        for one in FEATURES:
            if one.kind == kind:
                yield f"| {one.name} | {_named(others[one], 'refused')} | {_named(others[one], 'impossible')} |"
        yield ""


def _why(pair: Pair) -> tuple[str, str]:
    """Of a pair that is not answered: what becomes of it, and why."""
    found = state(pair)
    if found.refusal is None:
        return "impossible", str(found.impossible)
    said = "" if found.refusal.parameter is None else f"`{found.refusal.parameter}`: "
    return "refused", f"{said}{found.refusal.because}"


def _named(found: dict[tuple[str, str], list[Feature]], sort: str) -> str:
    said = []
    for (of, why), others in found.items():
        if of == sort:
            kinds: dict[str, list[str]] = defaultdict(list)
            for one in others:
                kinds[one.kind].append(one.name)
            named = "; ".join(_of_kind(kind, names) for kind, names in kinds.items())
            said.append(f"{named} ({why})")
    return "<br>".join(said)


def _of_kind(kind: str, names: list[str]) -> str:
    """Several of a kind in few words."""
    several = sum(one.kind == kind for one in FEATURES)
    return f"every {kind}" if len(names) == several > 1 else f"{kind} {', '.join(names)}"


def _triples() -> Iterator[str]:
    yield "## Three at once\n"
    yield "Each of these three held a bug once, and is a test of its own.\n"
    yield "| features | what was wrong |"
    yield "| --- | --- |"
    yield from (f"| {'; '.join(names)} | {bug} |" for names, bug in TRIPLES.items())
    yield ""
