"""What every user has, read out of a TokenStream, and a TokenStream of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from dpselect.texts.token_stream import GAP, TokenStream, store_in_memory


def rows_of(stream: TokenStream) -> list[set[str]]:
    """The labels of every user; a label that stands twice for a user is a mistake."""
    sets = stream.sets()
    assert sets.users == stream.users
    assert sets.size == stream.size
    found = []
    for block in sets.blocks():
        for start, stop in zip(block.offsets[:-1], block.offsets[1:], strict=True):
            labels = [block.label(code) for code in block.codes[start:stop].tolist()]
            assert len(set(labels)) == len(labels)
            found.append(set(labels))
    return found


def stream_of(people: Iterable[Iterable[Sequence[str]]]) -> TokenStream:
    """The stream of the messages of each user, each a list of its tokens."""
    code_of_token: dict[str, int] = {}
    codes: list[int] = []
    offsets = [0]
    for messages in people:
        for message in messages:
            codes += [code_of_token.setdefault(token, len(code_of_token)) for token in message]
            codes.append(GAP)
        offsets.append(len(codes))
    labels = [(token,) for token in code_of_token]
    entries = store_in_memory(np.array(offsets, dtype=np.int64), np.array(codes, dtype=np.int64))
    return TokenStream(level=1, entries=entries, size=len(labels), grams=lambda codes: [labels[code] for code in codes])
