"""Text as SQL: every row's text is cut into tokens by DuckDB, and the tokens leave as numbers, never as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import duckdb
import numpy as np

from dpselect.aggregates.stored_sets import stored
from dpselect.aggregates.user_sets import BLOCK, MOST_ROWS, Sets, offsets_of
from dpselect.engines.duckdb.types import has_text, kind
from dpselect.engines.duckdb.workspace import Rows, Workspace, literal, sparing
from dpselect.errors import DataError, ParameterError, SourceError
from dpselect.texts.token_stream import GAP, NO_CODES, Int64, TokenStream, refuse_label, store_in_memory
from dpselect.texts.tokenizer import SENTENCES, SPACES, Tokenizer

# A letter of a script that puts spaces between words, a mark, a digit, an underscore and its kind.
_WORD = r"(?:[^\P{L}\p{Han}\p{Hiragana}]|[\p{M}\p{N}\p{Pc}])"
# Such characters in a row; a point or comma between digits stays, and so does an apostrophe, a middle dot or a joiner
# inside of a word. Han and Hiragana come one by one, as the Unicode rules for words have it (UAX 29): without a
# dictionary nobody knows where their words end, and n-grams find them.
_NUMBERS = rf"{_WORD}*\p{{N}}(?:[.,]\p{{N}}(?:{_WORD}*\p{{N}})?)*[.,]\p{{N}}{_WORD}*"
_RUN = rf"(?:{_NUMBERS}|{_WORD}+)"
_WORDS = rf"[\p{{Han}}\p{{Hiragana}}]\p{{M}}*|{_RUN}(?:['\x{{B7}}\x{{200C}}\x{{200D}}]{_RUN})*"
_APOSTROPHE, _SOFT_HYPHEN = 0x2019, 0xAD
# Each match is found in linear time, but a pattern may look at all that is left of a text for each of them.
MOST_OF_A_PATTERN = 20_000  # characters
MOST_MARKS = 30  # on one letter: the Unicode rules for streams (UAX 15) allow as many, no language has half of them
_MARKS = literal(r"\p{M}{4,}")  # all of those in a row, where they are many
_SHORT = 1000  # bytes
MANY = 1 << 23  # tokens from which on they are kept on disk
_WHITE = r"\s\p{Z}\x{0B}\x{85}\x{1C}-\x{1F}"
_BLANK, _SPACES = f"[{_WHITE}]+", f"[^{_WHITE}]+"
# A sentence ends after . ! ? or three dots in one, closing quotes and brackets included, where white space or the end
# follows; after the full stops of Chinese and Japanese; and where the line ends.
_LINE_END = r"\n\r\x{0B}\f\x{85}\x{2028}\x{2029}"
_STOP = r"""[.!?\x{2026}]+["'\x{2019}\x{201D}\x{BB})\]]*"""
_WIDE_STOP = r"[\x{3002}\x{FF01}\x{FF1F}]+[\x{201D}\x{2019}\x{300D}\x{300F}\x{FF09}]*"
_SENTENCES = rf"[^{_LINE_END}]*?(?:{_STOP}(?:[{_WHITE}]|$)|{_WIDE_STOP}|[{_LINE_END}]|$)"


def check_text(workspace: Workspace, item_type: str, tokenizer: Tokenizer) -> None:
    """Refuse a column that is no text, and a pattern that RE2 cannot read; no row is looked at."""
    if not has_text(item_type):
        raise SourceError("text", "be a column of text", f"a column of {kind(item_type)}")
    if tokenizer.pattern is None:  # RE2 reads ours
        return
    problem = ""
    try:
        workspace.rows("SELECT " + tokens_of("''", tokenizer))
    except duckdb.Error as error:
        problem = str(error).splitlines()[0]  # it speaks of the caller's own pattern: there is no row
    if problem:
        raise ParameterError("tokenizer", "be a pattern that RE2 can read", repr(tokenizer.name), problem)


def tokens_of(text: str, tokenizer: Tokenizer) -> str:
    """The SQL of the list of tokens of one text, null where it cannot be cut: no row makes the query fail."""
    form = _normalized(text)
    if tokenizer.lower:
        form = _normalized(f"lower({form})")
    if tokenizer.pattern is not None:
        matches = f"regexp_extract_all(left({form}, {MOST_OF_A_PATTERN}), {literal(tokenizer.pattern)})"
        return f"TRY(list_filter({matches}, lambda t: t <> ''))"
    if tokenizer.name == SPACES:
        return f"TRY(regexp_extract_all({form}, {literal(_SPACES)}))"
    if tokenizer.name == SENTENCES:
        folded = f"trim(regexp_replace(s, {literal(_BLANK)}, ' ', 'g'))"
        matches = f"regexp_extract_all({form}, {literal(_SENTENCES)})"
        return f"TRY(list_filter(list_transform({matches}, lambda s: {folded}), lambda t: t <> ''))"
    plain = f"replace(replace({form}, chr({_APOSTROPHE}), ''''), chr({_SOFT_HYPHEN}), '')"
    return f"TRY(regexp_extract_all({plain}, {literal(_WORDS)}))"


def _normalized(text: str) -> str:
    """The text in normal form C, null where marks without end stand on one letter: ordering them takes quadratic time.

    Only marks are ever put in another order. A short text is not worth the look. A pattern that counts to 31 itself
    takes the engine a tenth of a second to compile, in every query of a text.
    """
    too_many = f"list_filter(regexp_extract_all({text}, {_MARKS}), lambda m: length(m) > {MOST_MARKS})"
    endless = f"strlen({text}) > {_SHORT} AND strlen({text}) > length({text}) AND len({too_many}) > 0"
    return f"CASE WHEN {endless} THEN NULL ELSE nfc_normalize({text}) END"


def token_stream(workspace: Workspace, rows: Rows, tokenizer: Tokenizer) -> TokenStream:
    """All tokens of the rows (u, i), coded; inside guarded work. One table stays: the words and their codes."""
    return sparing(workspace, lambda: _token_stream(workspace, rows, tokenizer))


def _token_stream(workspace: Workspace, rows: Rows, tokenizer: Tokenizer) -> TokenStream:
    messages, people, words, cut = (workspace.fresh() for _ in range(4))
    with rows() as source:
        workspace.rows(f"CREATE TEMP TABLE {messages} AS SELECT u, {tokens_of('i', tokenizer)} AS t FROM {source}")
    # A row's place in its table is its code. Users and words stand in their own order, so where rows stood is gone.
    workspace.rows(f"CREATE TEMP TABLE {people} AS SELECT u FROM (SELECT DISTINCT u FROM {messages}) ORDER BY u")
    each = f'SELECT DISTINCT unnest(t) COLLATE "C" AS t FROM {messages}'
    workspace.rows(f"CREATE TEMP TABLE {words} AS SELECT t FROM ({each}) ORDER BY t")
    ((tokens, rows_kept, size, users),) = workspace.rows(
        f"SELECT (SELECT coalesce(sum(len(t)), 0) FROM {messages}), (SELECT count(*) FROM {messages}), "
        f"(SELECT count(*) FROM {words}), (SELECT count(*) FROM {people})"
    )
    if max(rows_kept, size) > MOST_ROWS:
        raise DataError("there are more than 2^31 rows or words", "keep fewer with where=")
    whose = (
        f"SELECT {people}.rowid AS v, {messages}.rowid AS m, {messages}.t "
        f"FROM {messages} JOIN {people} ON {messages}.u IS NOT DISTINCT FROM {people}.u"
    )
    apart = f'SELECT v, m, unnest(t) COLLATE "C" AS t, generate_subscripts(t, 1) AS p FROM ({whose})'
    # Numbers below 2^32 are sorted in half the time that others take.
    numbers = f"v::UINTEGER AS v, m::UINTEGER AS m, p::UINTEGER AS p, {words}.rowid::UINTEGER AS c"
    coded = f"SELECT {numbers} FROM ({apart}) AS apart JOIN {words} ON apart.t = {words}.t"
    workspace.rows(f"CREATE TEMP TABLE {cut} AS {coded} ORDER BY v, m, p")
    ((number,),) = workspace.rows(f"SELECT count(*) FROM {cut}")
    workspace.rows(f"DROP TABLE {messages}")
    workspace.rows(f"DROP TABLE {people}")
    if tokens != number:  # or tokens would go to somebody else
        raise DataError("the source's users cannot be distinguished", "cast users to text or to numbers")
    with workspace.untold():
        entries = _entries(_fetched(workspace, cut, number), users, many=number > MANY)
        workspace.rows(f"DROP TABLE {cut}")
    return TokenStream(
        level=1,
        entries=entries,
        size=size,
        grams=lambda codes: [(word,) for word in _named(workspace, words, codes)],
    )


def _fetched(workspace: Workspace, cut: str, number: int) -> Iterator[tuple[Int64, Int64, Int64]]:
    """Whose each token is, in which message, and which word: some at a time, in order."""
    for start in range(0, max(number, 1), BLOCK):
        found = workspace.columns(
            f"SELECT v, m, c FROM {cut} WHERE rowid >= {start} AND rowid < {start + BLOCK} ORDER BY rowid"
        )
        yield tuple(found[name].astype(np.int64, copy=False) for name in "vmc")  # type: ignore[misc]


def _entries(tokens: Iterable[tuple[Int64, Int64, Int64]], users: int, *, many: bool) -> Sets:
    """Each user's words in their order, a GAP behind every message."""
    lengths = np.zeros(users, dtype=np.int64)

    def written() -> Iterator[tuple[Int64, Int64]]:
        last: tuple[int, int] | None = None  # the user and the message of the token before
        for whose, message, code in tokens:
            if not len(code):
                continue
            user, open_message = last or (int(whose[0]), int(message[0]))
            ends = np.flatnonzero(np.diff(message, prepend=open_message))
            before = np.where(ends > 0, whose[ends - 1], user)
            lengths[:] += np.bincount(np.concatenate([whose, before]), minlength=users)
            last = int(whose[-1]), int(message[-1])
            yield NO_CODES, np.insert(code, ends, GAP)
        if last is not None:
            lengths[last[0]] += 1
            yield NO_CODES, np.array([GAP], dtype=np.int64)
        for start in range(0, users, BLOCK):
            yield lengths[start : start + BLOCK], NO_CODES

    if many:
        return stored(written(), GAP + 1, refuse_label)
    codes = np.concatenate([NO_CODES, *(part for _, part in written())])
    return store_in_memory(offsets_of(lengths), codes)


def _named(workspace: Workspace, words: str, codes: Int64) -> list[str]:
    """The words with these codes; those of released ones are all that is ever asked for."""
    asked = f"SELECT rowid, t FROM {words} WHERE rowid IN (SELECT unnest(?::BIGINT[]))"
    found: dict[int, str] = dict(workspace.fetch(asked, [codes.tolist()]))
    return [found[code] for code in codes.tolist()]
