"""The line of every name and value of a TOML text: told apart by how it was written, and complete by tomllib."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st

from dpselect.gateway.settings.lines import Steps, lines


def ways(value: object, steps: Steps = ()) -> Iterator[Steps]:
    """The way to everything in what tomllib read."""
    yield steps
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from ways(inner, (*steps, name))
    if isinstance(value, list):
        for place, inner in enumerate(value):
            yield from ways(inner, (*steps, place))


def test_nothing() -> None:
    assert lines("") == lines("\n# only this") == {}


# ---- texts that are written at random: whoever writes one knows its lines -----------------------------------

Written = tuple[str, list[tuple[Steps, int]]]  # a text, and what is in it with how many lines further down

NUMBERS = ["1", "-0.5", "1e-6", "true", "nan", "2027-12-31", "2027-12-31 10:00:00", "10:00:00", "0xff", "1_000"]
TEXTS = ['""', '"a # ] } , b"', "'\\'", '"\\"]"', '"""x"""', "'''a\nb'''", '"""\n"\n""\n\\"" """""', "''''''"]
PLAIN = st.sampled_from([*NUMBERS, *TEXTS])
SPACE = st.sampled_from(["", " ", "\t"])
BREAK = st.sampled_from(["", " ", "\n", " # ] , }\n", "\r\n", "\n\n"])


def leaf(text: str) -> Written:
    return text, []


@st.composite
def a_list(draw: st.DrawFn, inner: st.SearchStrategy[Written]) -> Written:
    text, found = "[", []
    elements = draw(st.lists(inner, max_size=3))
    for place, (source, below) in enumerate(elements):
        text += draw(BREAK)
        down = text.count("\n")
        found += [((place,), down), *(((place, *steps), down + more) for steps, more in below)]
        text += source + draw(BREAK)
        text += "," if place < len(elements) - 1 or draw(st.booleans()) else ""
    return text + draw(BREAK) + "]", found


@st.composite
def a_table(draw: st.DrawFn, inner: st.SearchStrategy[Written]) -> Written:
    text, found = "{", []
    values = draw(st.lists(inner, max_size=3))
    for place, (source, below) in enumerate(values):
        name = f"k{place}"
        down = text.count("\n")
        text += draw(SPACE) + draw(st.sampled_from([name, f'"{name}"', f"'{name}'"])) + draw(SPACE) + "=" + draw(SPACE)
        found += [((name,), down), *(((name, *steps), down + more) for steps, more in below)]
        text += source + draw(SPACE) + ("," if place < len(values) - 1 else "")
    return text + draw(SPACE) + "}", found


VALUES = st.recursive(PLAIN.map(leaf), lambda inner: st.one_of(a_list(inner), a_table(inner)), max_leaves=8)


@given(st.data())
@settings(max_examples=100)
def test_texts_at_random(data: st.DataObject) -> None:
    text, expected, table, many = "", {}, (), 0
    for place in range(data.draw(st.integers(1, 6))):
        text += data.draw(BREAK)
        at = text.count("\n") + 1
        kind = data.draw(st.sampled_from(["pair", "pair", "dotted", "table", "list"]))
        source, below = data.draw(VALUES)
        if kind in ("table", "list"):
            table = (f"t{place}",) if kind == "table" else ("many", many)
            text += f'["t{place}"]\n' if kind == "table" else "[[ many ]]#\n"
            many += kind == "list"
            expected.setdefault(table[:1], at)
            expected[table] = at
            at += 1
        steps: Steps = (*table, f"n{place}") if kind != "dotted" else (*table, f"d{place}", "x.y")
        text += (f"n{place}" if kind != "dotted" else f'd{place} . "x.y"') + " = " + source + "\n"
        for size in range(len(table) + 1, len(steps) + 1):
            expected[steps[:size]] = at
        expected |= {(*steps, *more): at + down for more, down in below}
    assert {one for one in ways(tomllib.loads(text)) if one} == set(expected)
    assert {steps: line for steps, line in lines(text).items() if steps} == expected
