"""Text as SQL: every row's text is cut into tokens by DuckDB, and the tokens leave as numbers, never as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from dpselect.aggregates.stored_sets import store_sets
from dpselect.aggregates.user_sets import MAX_ROWS, PAIRS_PER_BLOCK, Sets, offsets_of
from dpselect.engines.duckdb.library import duckdb
from dpselect.engines.duckdb.types import base_type, has_text
from dpselect.engines.duckdb.workspace import OpenRows, Workspace, literal, run_in_little_memory
from dpselect.errors import DataError, ParameterError, SourceError
from dpselect.texts.token_stream import GAP, NO_CODES, Int64, TokenStream, refuse_label, store_in_memory
from dpselect.texts.tokenizer import SENTENCES, SPACES, Tokenizer

# A letter of a script that puts spaces between words, a mark, a digit, an underscore and its kind.
_WORD = r"(?:[^\P{L}\p{Han}\p{Hiragana}]|[\p{M}\p{N}\p{Pc}])"
# A run of such characters; a point or comma between digits stays, and so does an apostrophe, a middle dot or a joiner
# inside of a word. Han and Hiragana come one by one, as the Unicode rules for words have it (UAX 29): without a
# dictionary nobody knows where their words end, and n-grams find them.
_NUMBERS = rf"{_WORD}*\p{{N}}(?:[.,]\p{{N}}(?:{_WORD}*\p{{N}})?)*[.,]\p{{N}}{_WORD}*"
_RUN = rf"(?:{_NUMBERS}|{_WORD}+)"
_WORDS = rf"[\p{{Han}}\p{{Hiragana}}]\p{{M}}*|{_RUN}(?:['\x{{B7}}\x{{200C}}\x{{200D}}]{_RUN})*"
_APOSTROPHE, _SOFT_HYPHEN = 0x2019, 0xAD
# Each match is found in linear time, but a pattern may look at all that is left of a text for each of them.
MAX_PATTERN_TEXT = 20_000  # characters
MAX_MARKS = 30  # on one letter: the Unicode rules for streams (UAX 15) allow as many, no language has half of them
_MANY_MARKS = literal(r"\p{M}{4,}")  # a run of many marks
_MAX_SHORT_TEXT = 1000  # bytes
MAX_TOKENS_IN_MEMORY = 1 << 23  # with more tokens, they are kept on disk
_WHITE = r"\s\p{Z}\x{0B}\x{85}\x{1C}-\x{1F}"
_BLANK, _SPACES = f"[{_WHITE}]+", f"[^{_WHITE}]+"
# A sentence ends after . ! ? or three dots in one, closing quotes and brackets included, where white space or the end
# follows; after the full stops of Chinese and Japanese; and where the line ends.
_LINE_END = r"\n\r\x{0B}\f\x{85}\x{2028}\x{2029}"
_STOP = r"""[.!?\x{2026}]+["'\x{2019}\x{201D}\x{BB})\]]*"""
_WIDE_STOP = r"[\x{3002}\x{FF01}\x{FF1F}]+[\x{201D}\x{2019}\x{300D}\x{300F}\x{FF09}]*"
_SENTENCES = rf"[^{_LINE_END}]*?(?:{_STOP}(?:[{_WHITE}]|$)|{_WIDE_STOP}|[{_LINE_END}]|$)"


def check_text(workspace: Workspace, item_type: str, tokenizer: Tokenizer) -> None:
    """Refuse a column that is no text, and a pattern that RE2 cannot read; no row is read."""
    if not has_text(item_type):
        raise SourceError("text", "be a column of text", f"a column of {base_type(item_type)}")
    if tokenizer.pattern is None:  # RE2 reads ours
        return
    problem = ""
    try:
        workspace.fetch_unguarded("SELECT " + compile_tokens("''", tokenizer))
    except duckdb.Error as error:
        problem = str(error).splitlines()[0]  # the message is about the caller's own pattern: there is no row
    if problem:
        raise ParameterError("tokenizer", "be a pattern that RE2 can read", repr(tokenizer.name), problem)


def compile_tokens(text: str, tokenizer: Tokenizer) -> str:
    """Compile the list of tokens of one text, null if it cannot be split: no row makes the query fail."""
    form = _normalize(text)
    if tokenizer.lower:
        form = _normalize(f"lower({form})")
    if tokenizer.pattern is not None:
        matches = f"regexp_extract_all(left({form}, {MAX_PATTERN_TEXT}), {literal(tokenizer.pattern)})"
        return f"TRY(list_filter({matches}, lambda t: t <> ''))"
    if tokenizer.name == SPACES:
        return f"TRY(regexp_extract_all({form}, {literal(_SPACES)}))"
    if tokenizer.name == SENTENCES:
        folded = f"trim(regexp_replace(s, {literal(_BLANK)}, ' ', 'g'))"
        matches = f"regexp_extract_all({form}, {literal(_SENTENCES)})"
        return f"TRY(list_filter(list_transform({matches}, lambda s: {folded}), lambda t: t <> ''))"
    plain = f"replace(replace({form}, chr({_APOSTROPHE}), ''''), chr({_SOFT_HYPHEN}), '')"
    return f"TRY(regexp_extract_all({plain}, {literal(_WORDS)}))"


def _normalize(text: str) -> str:
    """Compile the text in normal form C, null if a letter has very many marks: ordering them takes quadratic time.

    Only marks are ever reordered. A short text is not worth the check. A pattern that counts to 31 itself
    takes the engine a tenth of a second to compile, in every query of a text.
    """
    too_many = f"list_filter(regexp_extract_all({text}, {_MANY_MARKS}), lambda m: length(m) > {MAX_MARKS})"
    has_many_marks = f"strlen({text}) > {_MAX_SHORT_TEXT} AND strlen({text}) > length({text}) AND len({too_many}) > 0"
    return f"CASE WHEN {has_many_marks} THEN NULL ELSE nfc_normalize({text}) END"


def token_stream(workspace: Workspace, rows: OpenRows, tokenizer: Tokenizer) -> TokenStream:
    """Return all tokens of the rows (u, i), coded; inside guarded work. One table stays: the words and their codes."""
    return run_in_little_memory(workspace, lambda: _token_stream(workspace, rows, tokenizer))


def _token_stream(workspace: Workspace, rows: OpenRows, tokenizer: Tokenizer) -> TokenStream:
    messages, users_table, words, tokens_table = (workspace.fresh_name() for _ in range(4))
    with rows() as source:
        workspace.fetch_unguarded(
            f"CREATE TEMP TABLE {messages} AS SELECT u, {compile_tokens('i', tokenizer)} AS t FROM {source}"
        )
    # A row's rowid in its table is its code. Users and words are in their own order, which hides the order of rows.
    workspace.fetch_unguarded(
        f"CREATE TEMP TABLE {users_table} AS SELECT u FROM (SELECT DISTINCT u FROM {messages}) ORDER BY u"
    )
    distinct_words = f'SELECT DISTINCT unnest(t) COLLATE "C" AS t FROM {messages}'
    workspace.fetch_unguarded(f"CREATE TEMP TABLE {words} AS SELECT t FROM ({distinct_words}) ORDER BY t")
    ((expected_tokens, row_count, word_count, user_count),) = workspace.fetch_unguarded(
        f"SELECT (SELECT coalesce(sum(len(t)), 0) FROM {messages}), (SELECT count(*) FROM {messages}), "
        f"(SELECT count(*) FROM {words}), (SELECT count(*) FROM {users_table})"
    )
    if max(row_count, word_count) > MAX_ROWS:
        raise DataError("there are more than 2^31 rows or words", "keep fewer with where=")
    texts_of_users = (
        f"SELECT {users_table}.rowid AS v, {messages}.rowid AS m, {messages}.t "
        f"FROM {messages} JOIN {users_table} ON {messages}.u IS NOT DISTINCT FROM {users_table}.u"
    )
    single_tokens = f'SELECT v, m, unnest(t) COLLATE "C" AS t, generate_subscripts(t, 1) AS p FROM ({texts_of_users})'
    # Numbers below 2^32 are sorted in half the time that others take.
    code_columns = f"v::UINTEGER AS v, m::UINTEGER AS m, p::UINTEGER AS p, {words}.rowid::UINTEGER AS c"
    coded = f"SELECT {code_columns} FROM ({single_tokens}) AS apart JOIN {words} ON apart.t = {words}.t"
    workspace.fetch_unguarded(f"CREATE TEMP TABLE {tokens_table} AS {coded} ORDER BY v, m, p")
    ((token_count,),) = workspace.fetch_unguarded(f"SELECT count(*) FROM {tokens_table}")
    workspace.fetch_unguarded(f"DROP TABLE {messages}")
    workspace.fetch_unguarded(f"DROP TABLE {users_table}")
    if expected_tokens != token_count:  # otherwise tokens would be given to another user
        raise DataError("the source's users cannot be distinguished", "cast users to text or to numbers")
    with workspace.without_progress():
        entries = _make_entries(
            _fetch_tokens(workspace, tokens_table, token_count), user_count, many=token_count > MAX_TOKENS_IN_MEMORY
        )
        workspace.fetch_unguarded(f"DROP TABLE {tokens_table}")
    return TokenStream(
        level=1,
        entries=entries,
        size=word_count,
        grams=lambda codes: [(word,) for word in _fetch_words(workspace, words, codes)],
    )


def _fetch_tokens(workspace: Workspace, tokens_table: str, token_count: int) -> Iterator[tuple[Int64, Int64, Int64]]:
    """Yield the user, the message and the word of each token, in blocks, in order."""
    for start in range(0, max(token_count, 1), PAIRS_PER_BLOCK):
        in_block = f"rowid >= {start} AND rowid < {start + PAIRS_PER_BLOCK}"
        arrays = workspace.fetch_arrays_unguarded(f"SELECT v, m, c FROM {tokens_table} WHERE {in_block} ORDER BY rowid")
        yield tuple(arrays[name].astype(np.int64, copy=False) for name in "vmc")  # type: ignore[misc]


def _make_entries(tokens: Iterable[tuple[Int64, Int64, Int64]], user_count: int, *, many: bool) -> Sets:
    """Return each user's words in their order, with a GAP after every message."""
    lengths = np.zeros(user_count, dtype=np.int64)

    def blocks() -> Iterator[tuple[Int64, Int64]]:
        last_token: tuple[int, int] | None = None  # the user and the message of the token before
        for users_of_tokens, message, code in tokens:
            if not len(code):
                continue
            user, open_message = last_token or (int(users_of_tokens[0]), int(message[0]))
            ends = np.flatnonzero(np.diff(message, prepend=open_message))
            previous_users = np.where(ends > 0, users_of_tokens[ends - 1], user)
            lengths[:] += np.bincount(np.concatenate([users_of_tokens, previous_users]), minlength=user_count)
            last_token = int(users_of_tokens[-1]), int(message[-1])
            yield NO_CODES, np.insert(code, ends, GAP)
        if last_token is not None:
            lengths[last_token[0]] += 1
            yield NO_CODES, np.array([GAP], dtype=np.int64)
        for start in range(0, user_count, PAIRS_PER_BLOCK):
            yield lengths[start : start + PAIRS_PER_BLOCK], NO_CODES

    if many:
        return store_sets(blocks(), GAP + 1, refuse_label)
    codes = np.concatenate([NO_CODES, *(block for _, block in blocks())])
    return store_in_memory(offsets_of(lengths), codes)


def _fetch_words(workspace: Workspace, words: str, codes: Int64) -> list[str]:
    """Return the words with these codes; only those of released words are ever requested."""
    words_sql = f"SELECT rowid, t FROM {words} WHERE rowid IN (SELECT unnest(?::BIGINT[]))"
    word_of_code: dict[int, str] = dict(workspace.fetch(words_sql, [codes.tolist()]))
    return [word_of_code[code] for code in codes.tolist()]
