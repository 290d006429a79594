"""Text: tokens as a plain walk over the characters finds them, n-grams as lists and sets do, one user a row."""

from __future__ import annotations

import random
import unicodedata
from collections import Counter

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpselect.engines.duckdb.text import MAX_MARKS, MAX_PATTERN_TEXT, compile_tokens
from dpselect.engines.duckdb.workspace import Workspace
from dpselect.errors import ParameterError
from dpselect.texts.text import Text
from dpselect.texts.token_stream import Level, release_levels
from dpselect.texts.tokenizer import Tokenizer, ngram_levels
from tests.engines.opened import DuckDBEngine
from tests.engines.sources import AWKWARD as ROWS
from tests.engines.sources import KINDS, READERS
from tests.plain_text import PLAIN, level_sets, spaces
from tests.text_rows import rows_of

AWKWARD = [
    "",
    " ",
    "...",
    "?! \n\t",
    "\u2028",
    "Don't stop, it\u2019s 'quoted' rock'n'roll!",
    "'",
    "''a''",
    "a'",
    "'a",
    "cafe\u0301 CAF\u00c9 caf\u00e9",
    "e\u0301\u0323",
    "\u0301",
    "\u0301a",
    "\u4e2d\u6587\u5206\u8bcd",
    "\u30ab\u30bf\u30ab\u30ca\u3072\u3089\u304c\u306a",
    "\u4e2d\u0301a\u4e2d1.5",
    "\u05e9\u05c1\u05b8\u05dc\u05d5\u05b9\u05dd \u05e2\u05d5\u05dc\u05dd",
    "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "\u0661\u066b\u0662 \u0663.\u0664",
    "\U0001f600",
    "a\U0001f600b \U0001f468\u200d\U0001f469\u200d\U0001f467",
    "a\x00b \x00",
    "col\u00b7lecci\u00f3 \u00b7a b\u00b7",
    "3.14 1,000 v2.0.1 2.0rc1.5 .5 5. 1..2 1.,2 a.5 5.a 1.5a2.5 it's1.5",
    "foo_bar x-y __init__ a\u203fb",
    "\u0130STANBUL \u03a3\u038a\u03a3\u03a5\u03a6\u039f\u03a3 \u1e9e",
    "soft\u00adhyphen \u00ad",
    "\u0939\u093f\u0928\u094d\u0926\u0940 \u092d\u093e\u0937\u093e",
    "\u0e20\u0e32\u0e29\u0e32\u0e44\u0e17\u0e22",
    "\ud55c\uad6d\uc5b4 \ub2e8\uc5b4",
    "Hello there.  How are\n you? Fine... e.g. 3.14 is pi. \u201cYes.\u201d OK",
    "\u4e00\u3002\u4e8c\uff01\u300d\u4e09\uff1f",
    ". a",
    "a.b.",
    "a!?) b?c",
    'x "so?" he.',
    "one\r\ntwo\x85three\u2029four",
    "a\u00a0b\u3000c\x1fd\u200be",
    "\u01c5 \ufb01 \u2160 \u00bd \u2075",
    "x" * 5000 + "! " + "y" * 5000,
    "\ufeffbom",
]
ALL = {word for _, item, _ in ROWS for word in spaces(item or "")}
LETTERS = "ab1. ,'\u2019!?\n\u00e9e\u0301\u4e2d\u3042\u30ab\u05d0_\u200d\u00ad\"\u3002\u300d \U0001f600\u00b7"
MANY = [*AWKWARD, *("".join(random.Random(n).choices(LETTERS, k=n % 40)) for n in range(3000))]


def cut(texts: list[str], tokenizer: Tokenizer) -> list[list[str]]:
    workspace = Workspace()
    try:
        tokens = compile_tokens("t::VARCHAR", tokenizer)
        found = workspace.fetch_unguarded(
            f"SELECT {tokens} FROM (SELECT unnest(?) AS t, unnest(?) AS n) ORDER BY n", [texts, list(range(len(texts)))]
        )
        return [row[0] for row in found]
    finally:
        workspace.close()


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("name", PLAIN)
def test_tokens_are_those_of_a_walk_over_the_characters(name, lower):
    found = cut(MANY, Tokenizer(name, lower))
    for text, tokens in zip(MANY, found, strict=True):
        assert tokens == PLAIN[name](text, lower), ascii(text)


def test_a_text_is_a_value():
    """A list could be altered after it was checked: the price was of other n-grams than the key."""
    lengths = [1, 2]
    text = Text("note", ngrams=lengths)
    lengths[1] = 99
    assert text == Text("note", ngrams=(1, 2))
    assert hash(text) == hash(Text("note", ngrams=(1, 2)))
    assert (text.words.shortest, text.words.longest) == (1, 2)
    assert (
        repr(Text("note", ngrams=np.int64(2)))
        == "Text(column='note', ngrams=2, tokenizer='words', lower=True, level_shares=None)"
    )


def test_a_pattern_of_the_caller_s():
    texts = ["Issue #12 and #7, #12", "", "##", "#\u0663", None]
    assert cut(texts, Tokenizer("re:#[0-9]+")) == [["#12", "#7", "#12"], [], [], [], None]
    assert cut(["ab b aab"], Tokenizer("re:(a)*")) == [["a", "aa"]]  # whole matches, and none that are empty
    assert cut(["AB ab"], Tokenizer(r"re:\b[A-Z]+", lower=False)) == [["AB"]]
    assert cut(["it's"], Tokenizer("re:'.")) == [["'s"]]


def test_a_pattern_sees_the_first_letters_of_a_text():
    """It may look at all that is left for each match: a text of a megabyte would take minutes."""
    assert cut(["a" * 10**6, "ab"], Tokenizer("re:a.*b|a")) == [["a"] * MAX_PATTERN_TEXT, ["ab"]]


@pytest.mark.parametrize("pattern", ["re:(", "re:a{5000}", "re:(?=a)b", "re:[z-a]", "re:\\1"])
def test_a_pattern_that_cannot_be_read_is_refused_before_a_row_is(pattern):
    with (
        DuckDBEngine({"user": [1], "item": ["x"]}, user="user", item="item", key=b"k") as engine,
        pytest.raises(ParameterError, match=r"^tokenizer must be a pattern that RE2 can read"),
    ):
        engine.tokens(Tokenizer(pattern))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (str.split, "got a Python function\nhint: text is cut inside the engine"),
        ("word", "got 'word'"), (5, "got 5"), (None, "got None"), ("re:", "must name a pattern"),
        ("re:\\C", "whole characters"), ("re:a\\\\\\C", "whole characters"),
    ],
    ids=["function", "unknown", "number", "nothing", "no pattern", "half characters", "half after a backslash"],
)  # fmt: skip
def test_what_is_no_tokenizer_is_refused(value, message):
    with pytest.raises(ParameterError, match=r"^tokenizer must") as caught:
        Tokenizer(value)
    assert message in str(caught.value)


def test_a_backslash_before_a_c_is_a_pattern():
    assert cut(["\\C x"], Tokenizer(r"re:\\C", lower=False)) == [["\\C"]]


def test_lower_is_a_real_bool():
    with pytest.raises(ParameterError, match=r"^lower must be True or False, got 1"):
        Tokenizer("words", 1)


@pytest.mark.parametrize("value", [0, (0, 2), (3, 1), (1, 2, 3), (), "1", 1.5, True, (1, 17), None])
def test_what_are_no_levels_is_refused(value):
    with pytest.raises(ParameterError, match=r"^ngrams must"):
        ngram_levels(value, Tokenizer())


def test_levels_are_one_number_or_two():
    assert ngram_levels(2, Tokenizer()) == (2, 2)
    assert ngram_levels([1, np.int64(3)], Tokenizer()) == (1, 3)
    with pytest.raises(ParameterError, match=r"^ngrams must be 1 if sentences"):
        ngram_levels((1, 2), Tokenizer("sentences"))


@pytest.mark.parametrize("values", [[1], [1.5], [b"x"], [True]], ids=str)
def test_a_column_that_is_no_text_is_refused_before_a_row_is_read(values):
    with DuckDBEngine(pa.table({"user": [1], "item": values}), user="user", item="item", key=b"k") as engine:
        with pytest.raises(ParameterError, match=r"^text must be a column of text, got a column of"):
            engine.check_text(Tokenizer())
        with pytest.raises(ParameterError, match=r"^text must be a column of text"):
            engine.tokens(Tokenizer())


def test_words_of_old_unicode_only():
    """The plain walk and the engine may know different editions of Unicode; what is tested here is in both."""
    assert all(unicodedata.category(c) != "Cn" for text in MANY for c in text)


# ---- through the engine -----------------------------------------------------------------------------------


def everything(source, tokenizer: Tokenizer | None = None, levels: int = 2, **more) -> list[Counter[frozenset[str]]]:
    """The rows of every level where all is released."""
    with DuckDBEngine(source, user="user", item="item", key=b"k", **more) as engine:
        stream = engine.tokens(tokenizer or Tokenizer())
        found = [Counter(map(frozenset, rows_of(stream)))]
        for _ in range(levels - 1):
            stream = stream.grow(np.arange(stream.size))
            found.append(Counter(map(frozenset, rows_of(stream))))
    return found


def test_a_user_of_many_messages_and_files_is_one_user(tmp_path):
    for number, rows in enumerate(
        ["ann,to be\nbob,or not\n", "ann,to be to be\nann,not\n,nobody said\n", "cyd,\ncyd,...\n"]
    ):
        (tmp_path / f"{number}.csv").write_text("user,item\n" + rows)
    words, pairs = everything(tmp_path)
    assert words == Counter([frozenset({"to", "be", "not"}), frozenset({"or", "not"}), frozenset()])
    assert pairs == Counter([frozenset({"to be", "be to"}), frozenset({"or not"}), frozenset()])


@pytest.mark.parametrize("kind", READERS)
def test_every_source_holds_the_same_words(kind, tmp_path):
    source, table = KINDS[kind](ROWS, tmp_path)
    users = {user for user, item, _ in ROWS if user is not None and item is not None}
    plain = level_sets([[spaces(i) for u, i, _ in ROWS if u == user and i is not None] for user in users], [ALL])
    found = everything(source, Tokenizer("spaces"), table=table)
    assert found == [Counter(map(frozenset, sets)) for sets in plain]


def test_null_text_and_null_users_do_not_exist_and_filters_hold():
    rows = {"user": ["a", None, "b", "c", "d"], "item": ["x y", "x y", None, "x z", "q"]}
    assert everything(rows, where="user <> 'd'")[0] == Counter([frozenset({"x", "y"}), frozenset({"x", "z"})])


@pytest.mark.parametrize("rows", [[], [("a", "")], [("a", "...")], [("a", None)]], ids=str)
def test_no_words_are_no_items(rows):
    table = pa.table(
        {"user": pa.array([u for u, _ in rows], pa.string()), "item": pa.array([t for _, t in rows], pa.string())}
    )
    with DuckDBEngine(table, user="user", item="item", key=b"k") as engine:
        stream = engine.tokens(Tokenizer())
        assert (stream.size, len(stream.sets().codes), stream.sets().users) == (0, 0, stream.users)
        assert stream.grow([]).size == 0
        assert list(release_levels(stream, 2, lambda sets, _: np.arange(sets.size))) == [Level(1, ()), Level(2, ())]


def test_a_line_that_is_no_unicode_changes_nothing_else(tmp_path):
    (tmp_path / "rows.csv").write_bytes(
        "user,item\na,caf\u00e9 au lait\n".encode() + b"b,\xff\xfe lait\n" + b"c,lait\n"
    )
    found = everything(tmp_path / "rows.csv")[0]
    assert found == Counter([frozenset({"caf\u00e9", "au", "lait"}), frozenset({"lait"})])


def test_parquet_that_is_no_unicode_is_read_on(tmp_path):
    texts = pa.array([b"late \xff\xfe", b"fine"], pa.binary())
    broken = pa.StringArray.from_buffers(2, texts.buffers()[1], texts.buffers()[2])
    pq.write_table(pa.table({"user": ["a", "b"], "item": broken}), tmp_path / "rows.parquet")
    with DuckDBEngine(tmp_path / "rows.parquet", user="user", item="item", key=b"k") as engine:
        sets = engine.tokens(Tokenizer()).sets()
        assert sets.labels(np.arange(sets.size)) == ["fine", "late"]


def test_where_rows_stood_changes_nothing():
    rows = [(f"u{n % 7}", f"w{n % 5} w{n % 3} x") for n in range(3000)]
    found = []
    for some in (rows, rows[::-1]):
        source = {"user": [u for u, _ in some], "item": [t for _, t in some]}
        with DuckDBEngine(source, user="user", item="item", key=b"k") as engine:
            stream = engine.tokens(Tokenizer())
            sets = [stream.sets(), stream.grow([0, 1, 2, 5]).sets()]
            labels = sets[0].labels(np.arange(sets[0].size))
        found.append(([(s.offsets.tolist(), s.codes.tolist()) for s in sets], labels))
    assert found[0] == found[1]
    assert found[0][1] == ["w0", "w1", "w2", "w3", "w4", "x"]


def test_users_of_odd_types_are_told_apart():
    relation = duckdb.connect().sql(
        "SELECT u AS user, t AS item FROM (VALUES (INTERVAL 1 DAY, 'x y'), (INTERVAL 2 DAY, 'y'), "
        "(INTERVAL 1 DAY, 'z')) AS rows(u, t)"
    )
    assert everything(relation)[0] == Counter([frozenset("xyz"), frozenset("y")])
    source = {"user": np.array([0.0, -0.0, 1.5, np.nan]), "item": ["x", "y", "z", "q"]}
    assert everything(source)[0] == Counter([frozenset("xy"), frozenset("z")])


def test_a_very_long_message():
    rows = {"user": ["a", "b"], "item": ["x y " * 100_000 + "end", "x y"]}
    words, pairs = everything(rows)
    assert words == Counter([frozenset({"x", "y", "end"}), frozenset({"x", "y"})])
    assert pairs == Counter([frozenset({"x y", "y x", "y end"}), frozenset({"x y"})])


@pytest.mark.parametrize("lower", [True, False])
def test_a_letter_with_marks_without_end_is_no_text(lower):
    rows = {"user": ["a", "b", "c"], "item": ["a" + "\u0301\u0316" * 200_000, "x", "e" + "\u0316" * 30 + " x" * 500]}
    words = everything(rows, Tokenizer(lower=lower), levels=1)[0]
    assert words == Counter([frozenset(), frozenset({"x"}), frozenset({"e" + "\u0316" * 30, "x"})])


@pytest.mark.parametrize("behind", ["", "a", "\u0939\u093f", "e" + "\u0316" * 5])
def test_thirty_marks_are_a_letter_s_and_one_more_is_none_s(behind):
    long = " x" * 500
    texts = ["e" + "\u0316" * number + behind + long for number in (MAX_MARKS, MAX_MARKS + 1)]
    assert cut([*texts, "e" + "\u0316" * 31], Tokenizer("spaces")) == [spaces(texts[0]), None, ["e" + "\u0316" * 31]]


def test_sentences_are_items():
    rows = {"user": ["a", "a", "b"], "item": ["Fix  it. Now!", "See\n3.14", "fix\tit.\n"]}
    found = everything(rows, Tokenizer("sentences"), levels=1)[0]
    assert found == Counter([frozenset({"fix it.", "now!", "see", "3.14"}), frozenset({"fix it."})])


def test_equal_texts_of_two_forms_are_one_word():
    rows = {"user": ["a", "b"], "item": ["CAF\u00c9 don\u2019t", "cafe\u0301 don't"]}
    assert everything(rows)[0] == Counter({frozenset({"caf\u00e9", "don't"}): 2})
    assert len(everything(rows, Tokenizer(lower=False))[0]) == 2


def test_only_released_words_are_named(monkeypatch):
    said = []
    inner = Workspace.fetch_unguarded

    def rows(self, sql, values=()):
        found = inner(self, sql, values)
        said.append(str(found))
        return found

    monkeypatch.setattr(Workspace, "fetch_unguarded", rows)
    source = {"user": [1, 1, 2], "item": ["open CANARY door", "open door", "open door"]}
    with DuckDBEngine(source, user="user", item="item", key=b"k") as engine:
        said.clear()
        stream = engine.tokens(Tokenizer())

        def release(sets, _level):
            return np.flatnonzero(np.bincount(sets.codes, minlength=sets.size) >= 2)

        levels = list(release_levels(stream, 3, release))
    assert levels == [Level(1, ("door", "open")), Level(2, ("open door",)), Level(3, ())]
    assert "open" in "".join(said)
    assert "canary" not in "".join(said).lower()
