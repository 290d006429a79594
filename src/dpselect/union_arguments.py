"""What `dpselect union` and `dpselect vocab` understand: their options, and examples."""

from __future__ import annotations

import argparse

from dpselect.options import DELTA, FORMS, budget, price, result, rows

SETS = (*FORMS, "lines")

UNION = "all items that enough users share: a vocabulary, or the keys of a GROUP BY"
UNION_EXAMPLES = """
examples:
  dpselect union plays.parquet --user user --item artist --epsilon 1
      Every artist that enough users played, of a catalogue that nobody has to know.
  dpselect union logs/*.csv --user uid --item page --epsilon 1 --delta 1e-8 --counts -o pages.csv
      The pages with noisy numbers of users, a quarter of the price, into a file.
  dpselect union plays.parquet --user user --item artist --epsilon 1 --max-items-per-user 50 --format lines
      One artist a line; the statement goes to standard error. At most 50 random artists of every user take part.
  dpselect union posts.csv --user author --item tags --split ";" --epsilon 1 --method policy-gaussian
      Of a column that holds several tags in a row, by a method of your own choice.
"""

VOCAB = "all words, or n-grams, of a text that enough users share"
VOCAB_EXAMPLES = """
examples:
  dpselect vocab mail.parquet --user sender --text body --epsilon 1 -o vocab.txt
      The words that enough people write, one a line.
  dpselect vocab mail.parquet --user sender --text body --ngrams 1-3 --epsilon 3 --shares 1/2,1/3,1/6 -o vocab.csv
      One to three words in a row, as a table; half of the budget is for single words.
  dpselect vocab mail.parquet --user sender --text body --ngrams 2 --keep-case --epsilon 3
      Two words in a row only, capitals as they were written.
  dpselect vocab notes.csv --user id --text note --tokenizer "re:#[a-z]+" --epsilon 1 --format lines
      What a pattern matches, here hashtags.
"""

METHODS = (
    "auto, renyi-shaped, sips, truncated-geometric (one item of every user), count-laplace, count-gaussian, "
    "weighted-laplace, weighted-gaussian, policy-laplace, policy-gaussian, greedy-pouring, shaped-weighted, "
    "shaped-policy or shaped-pouring"
)


def union(command: argparse.ArgumentParser) -> None:
    """dpselect union."""
    _source(command)
    command.add_argument("--item", required=True, metavar="COLUMN", help="the items")
    rows(command)
    command.add_argument(
        "--split", metavar="TEXT", help="what stands between items, if a row holds several: ' ' for words"
    )
    command.add_argument(
        "--in-engine",
        action="store_true",
        help="leave users and items in the engine, which spills to disk: for data larger than memory, and the methods "
        "whose users do not look at each other's gifts",
    )
    _union(command)


def vocab(command: argparse.ArgumentParser) -> None:
    """dpselect vocab."""
    _source(command)
    command.add_argument("--text", required=True, metavar="COLUMN", help="the text; its tokens are the items")
    rows(command)
    command.add_argument(
        "--ngrams", default="1", metavar="N|M-N", help="how many tokens in a row: 2, or 1-3 (default 1)"
    )
    command.add_argument(
        "--tokenizer",
        default="words",
        metavar="NAME",
        help="words (the default), spaces, sentences, or re: and a pattern whose matches are the tokens",
    )
    command.add_argument("--keep-case", action="store_true", help="do not put the text into lower case")
    command.add_argument(
        "--shares", metavar="S,S", help="the part of the budget for 1, 2, ... tokens (default for three: 1/2,1/3,1/6)"
    )
    _union(command)


def _source(command: argparse.ArgumentParser) -> None:
    command.add_argument("files", nargs="+", metavar="FILE", help="CSV, JSON, Parquet, or a database with --table")
    command.add_argument("--user", required=True, metavar="COLUMN", help="who: the unit that is protected")


def _union(command: argparse.ArgumentParser) -> None:
    """What both have in common: the price, the method, the result."""
    price(command)
    command.add_argument("--delta", default="1e-6", help=DELTA + ")")
    command.add_argument(
        "--max-items-per-user",
        dest="most",
        metavar="N|auto",
        help="N random items of every user take part; auto chooses N privately, for 1/20 of epsilon (the default, but "
        "for methods that need no N)",
    )
    command.add_argument("--method", default="auto", metavar="NAME", help=METHODS)
    command.add_argument(
        "--popular",
        metavar="FILE",
        help="public: items that are likely to be shared, best first, one a line (what stands before a tab); for the "
        "methods of pouring, of which auto then takes one",
    )
    command.add_argument("--counts", action="store_true", help="noisy numbers of users too, for 1/4 of the price")
    budget(command)
    result(command, SETS)
