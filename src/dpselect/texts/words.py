"""Words: which n-grams of a text are meant, as a value."""

from __future__ import annotations

from dataclasses import dataclass

from dpselect.texts.tokenizer import Tokenizer


@dataclass(frozen=True)
class Words:
    """`shortest` to `longest` tokens in a row, of text that `tokenizer` cuts."""

    tokenizer: Tokenizer
    shortest: int
    longest: int
