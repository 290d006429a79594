"""`dpselect union`: all items, or all n-grams of a text, that enough users share."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING, Any

from dpselect._ground.methods import names
from dpselect.command import asking, shared
from dpselect.errors import DataError, ParameterError

if TYPE_CHECKING:
    from dpselect.texts.text import Text

EXAMPLES = f"""
examples:
  dpselect union plays.parquet --user user --item artist --epsilon 1
      Every artist that enough users played, of a catalogue that nobody has to know.
  dpselect union logs/*.csv --user uid --item page --epsilon 1 --delta 1e-8 --counts -o pages.csv
      The pages with noisy numbers of users, a quarter of the price, into a file.
  dpselect union plays.parquet --user user --item artist --users-for 100 --max-items-per-user 50 --format lines
      At the price at which an artist is found, 95 times of 100, whom 100 users played and who played no other. One
      artist a line; the statement goes to standard error. At most 50 random artists of every user take part.
  dpselect union posts.csv --user author --item tags --split ";" --epsilon 1 --method policy-gaussian
      Of a column that holds several tags in a row, by a method of your own choice.
  dpselect union mail.parquet --user sender --text body --epsilon 1 -o words.txt
      The words that enough people write, one a line.
  dpselect union mail.parquet --user sender --text body --ngrams 1-3 --epsilon 3 --shares 1/2,1/3,1/6 -o ngrams.csv
      One to three words in a row, as a table; half of the budget is for single words.
  dpselect union mail.parquet --user sender --text body --ngrams 2 --no-lower --epsilon 3
      Two words in a row only, capitals as they were written.
  dpselect union notes.csv --user id --text note --tokenizer "re:#[a-z]+" --epsilon 1 --format lines
      What a pattern matches, here hashtags.
{shared.TERMS}"""


def options(command: shared.Group) -> None:
    """What it understands."""
    shared.files(command)
    shared.users(command)
    either = command.add_mutually_exclusive_group()
    shared.key(either, "--item", "the items")
    either.add_argument("--text", metavar="COLUMN", help="a text, whose tokens are the items")
    shared.rows(command)
    shared.periods(command)
    shared.split(command)
    text = command.add_argument_group("how a text is cut")
    text.add_argument("--ngrams", metavar="N|M-N", help="how many tokens in a row: 2, or 1-3 (default 1)")
    text.add_argument(
        "--tokenizer",
        metavar="NAME",
        help="words (the default), spaces, sentences, or re: and a pattern whose matches are the tokens",
    )
    text.add_argument("--no-lower", dest="lower", action="store_false", help="do not put the text into lower case")
    text.add_argument(
        "--shares", metavar="S,S", help="the part of the budget for 1, 2, ... tokens (default for three: 1/2,1/3,1/6)"
    )
    shared.price(command, "--users-for", "an item that N users have, and no other item, is found 95 times of 100")
    command.add_argument("--delta", help=shared.DELTA + ")")
    command.add_argument(
        "--max-items-per-user",
        type=int,
        metavar="N",
        help="N random items of every user take part; where it is left out and the method needs it, it is chosen "
        "privately, for 1/20 of epsilon",
    )
    command.add_argument("--method", default="auto", metavar="NAME", help=f"auto, {', '.join(names('union'))}")
    command.add_argument(
        "--popular",
        metavar="FILE",
        help="public: items that are likely to be shared, best first, one a line (what stands before a tab; of several "
        "columns a list in JSON); for greedy-geometric, which auto then takes",
    )
    shared.exclude(command)
    counts = "noisy numbers of users too, for 1/4 of the price, or by count-gaussian for nothing more"
    command.add_argument("--counts", action="store_true", help=counts)
    shared.by(command, "the items")
    command.add_argument(
        "--in-engine",
        action="store_true",
        help="leave users and items in the engine, which spills to disk: for data larger than memory, and the methods "
        "whose users do not look at each other's contributions",
    )
    shared.budget(command)
    shared.gateway(command)
    shared.result(command, (*shared.FORMS, "lines"))


def run(args: argparse.Namespace) -> None:
    """Ask, and write the answer, which may be lines: a set loses nothing by that."""
    text = text_of(args) if args.gateway is None else None
    given = {"method": args.method, "counts": args.counts, "popular": listed(args)}
    what = f"finding the {'items' if args.text is None else 'n-grams'} that enough users share"
    asking.put(args, "union", given | {"in_engine": args.in_engine, "by": args.by}, what, text=text, of_a_set=True)


def text_of(args: argparse.Namespace) -> Text | None:
    """The column of text that is meant; None where the items are a column of their own."""
    from dpselect.texts.text import Text

    said = {"ngrams": ngrams(args.ngrams), "tokenizer": args.tokenizer, "lower": None if args.lower else False}
    said |= {"level_shares": None if args.shares is None else args.shares.split(",")}
    given: dict[str, Any] = {name: value for name, value in said.items() if value is not None}
    if args.text is not None:
        return Text(args.text, **given)
    if given:
        raise ParameterError("--text", f"name a column where {', '.join(given)} is given", "nothing")
    return None


def listed(args: argparse.Namespace) -> list[Any] | None:
    """The items of a public file, one a line: what stands before a tab, so that a list of frequencies will do."""
    path = args.popular
    if path is None:
        return None
    try:
        with open(path, encoding="utf-8") as file:
            lines = [line.rstrip("\n").partition("\t")[0] for line in file]
            return lines if len(args.item or ()) < 2 else [asking.tuple_of("--popular", line) for line in lines]
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read", getattr(error, "strerror", None) or "it must be UTF-8 text") from None


def ngrams(text: str | None) -> int | tuple[int, int] | None:
    """2 is 2, and 1-3 is one to three."""
    if text is None:
        return None
    found = re.fullmatch(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", text)
    first, last = (0, 0) if found is None else (int(found[1]), int(found[2] or found[1]))
    if not 1 <= first <= last:
        must = "be a whole number of at least 1, or two of them, the smaller first"
        raise ParameterError("--ngrams", must, text, "for example 2 or 1-3")
    return first if first == last else (first, last)
