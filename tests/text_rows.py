"""What every user has, read out of a TokenStream."""

from __future__ import annotations

from dpselect.texts.token_stream import TokenStream


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
