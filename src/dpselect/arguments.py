"""What the command understands: its words, their help, and examples. Imports nothing heavy, so help is instant."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

from dpselect import inspect_arguments, ledger_arguments, plan_arguments, union_arguments
from dpselect.options import DELTA, TERMS, budget, domain, price, quiet, result, rows, users_and_items

TOP_EXAMPLES = """
examples:
  dpselect top plays.parquet --user user --item artist -k 10 --epsilon 1 --delta 1e-6
      The ten artists that most users played, of a catalogue that nobody has to know.
  dpselect top logs/*.csv --user uid --item page --where "country = 'DE'" --epsilon 0.5 --counts -o top.csv
      German visitors only, with noisy numbers of users, into a file.
  dpselect top films.csv --user user --item film -k 5 --epsilon 1 --delta 0 --domain-from titles.csv:film
      Exactly five of the films listed in another, public file, without any delta.
  dpselect top ratings.parquet --user user --item stars -k 2 --epsilon 1 --domain-range 1..5
      The two most used numbers of stars, one to five.
  dpselect top plays.parquet --user user --item artist --epsilon 1 --ledger budget.sqlite --analyst ann
      Paid from ann's budget; refused, before any row is read, when that does not suffice.
  dpselect top app.duckdb --table events --user user_id --item word --max-items-per-user 20 --epsilon 1 --format json
      A table of a database; of every user at most 20 words, picked at random, which lowers the threshold.
"""

CHOOSE_EXAMPLES = """
examples:
  dpselect choose models.csv --label model --score correct --epsilon 1
      One of a list of models by a score that depends on private data, where one user moves a score by at most 1.
  dpselect choose models.csv --label model --score correct --epsilon 1 --monotonic --method permute-and-flip
      The same where one more user can only raise scores: twice as sharp.
  dpselect choose poll.csv --user voter --item option --domain red,green,blue --epsilon 0.5
      The option that most voters chose.
"""

QUANTILE_EXAMPLES = """
examples:
  dpselect quantile people.csv --user id --column age --bounds 0 120 --step 1 --epsilon 1
      The median age, in whole years.
  dpselect quantile people.csv --user id --column income --q 0.1,0.5,0.9 --bounds 0 1e6 --epsilon 1 --delta 1e-6
      Three quantiles for one price; a delta makes several of them more accurate.
  dpselect quantile visits.parquet --user id --column seconds --per-user max --bounds 0 3600 --epsilon 0.5
      The median of everybody's longest visit.

Choose the bounds without looking at the data: values beyond count as the bound.
"""

DEMO_EXAMPLES = """
examples:
  dpselect demo
      Make listening events of 100,000 invented users, and ask for their ten favourite artists.
  dpselect demo --keep plays.parquet
      The same, and keep the data to try other questions on.
  dpselect demo --users 2000
      Fewer users: the same threshold lets fewer artists through.
"""

EXAMPLES = """
examples:
  dpselect demo
      See it work on invented data.
  dpselect top plays.parquet --user user --item artist -k 10 --epsilon 1 --delta 1e-6
      The ten artists that most users played.
  dpselect choose models.csv --label model --score correct --epsilon 1
      The best of some candidates by a private score.
  dpselect quantile people.csv --user id --column age --q 0.5 --bounds 0 120 --epsilon 1
      The median of one value per user.
  dpselect union plays.parquet --user user --item artist --epsilon 1
      All artists that enough users played.
  dpselect vocab mail.parquet --user sender --text body --ngrams 1-3 --epsilon 3 -o vocab.txt
      The words, and up to three in a row, that enough people write.

dpselect COMMAND --help tells more.
"""


class Parser(argparse.ArgumentParser):
    """argparse with a hint that names the nearest word it knows."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        # -1e-6 is a number and not an option, so that whoever reads it can say what is wrong with it.
        self._negative_number_matcher = re.compile(r"^-(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$")

    def error(self, message: str) -> NoReturn:
        """The mistake and a hint in place of a wall of options; exit status 2."""
        hint = self.hint(message)
        self.exit(2, f"{self.prog}: {message}\nhint: {hint or f'{self.prog} --help shows examples'}\n")

    def hint(self, message: str) -> str | None:
        """Near names for a word that is not known, where there are any."""
        unknown = re.match(r"unrecognized arguments: (--?[\w-]+)", message)
        choice = re.match(r"argument [^:]*: invalid choice: '([^']*)' \(choose from (.*)\)", message)
        if unknown:
            return self.whose(unknown[1]) or near_only(unknown[1], self.every_option())
        if choice:
            return near_only(choice[1], re.findall(r"[\w-]+", choice[2]))
        return None

    def whose(self, option: str) -> str | None:
        """The commands that have this option, where the one that was typed has not."""
        parsers = [action.choices for action in self._actions if isinstance(action, argparse._SubParsersAction)]
        having = [name for choices in parsers for name, one in choices.items() if option in one.every_option()]
        return f"{option} belongs to {', '.join(f'{self.prog} {name}' for name in having)}" if having else None

    def every_option(self) -> list[str]:
        """The options of this command, or of all commands where none was understood."""
        found = [option for action in self._actions for option in action.option_strings]
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                found += [option for parser in action.choices.values() for option in parser.every_option()]
        return sorted(set(found))


def near_only(word: str, known: Sequence[str]) -> str | None:
    """A hint only where some name is near."""
    close = get_close_matches(word, known, n=2, cutoff=0.75 if word.startswith("-") else 0.5)
    return f"did you mean {' or '.join(close)}?" if close else None


def parser() -> Parser:
    """The whole command line."""
    root = Parser(
        prog="dpselect",
        description="Differentially private selection: the top k, the best one, a value at a rank, what many share.",
        epilog=EXAMPLES.strip("\n"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,  # a script written today must not change its meaning when an option is added
    )
    root.add_argument("--version", action="store_true", help="show the version and exit")
    commands = root.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name, fill, summary, examples in (
        ("top", top, "the k items that most users share, ranked", TOP_EXAMPLES),
        ("choose", choose, "the best of some candidates", CHOOSE_EXAMPLES),
        ("quantile", quantile, "the median, or other quantiles, of one value per user", QUANTILE_EXAMPLES),
        ("union", union_arguments.union, union_arguments.UNION, union_arguments.UNION_EXAMPLES),
        ("vocab", union_arguments.vocab, union_arguments.VOCAB, union_arguments.VOCAB_EXAMPLES),
        ("demo", demo, "a private top ten of invented data, to see it work", DEMO_EXAMPLES),
    ):
        command = commands.add_parser(
            name,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            epilog=(examples + TERMS).strip("\n"),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        fill(command)
    ledger = commands.add_parser(
        "ledger",
        help=ledger_arguments.SUMMARY,
        description=ledger_arguments.SUMMARY[0].upper() + ledger_arguments.SUMMARY[1:] + ".",
        epilog=ledger_arguments.EXAMPLES.strip("\n"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    ledger_arguments.fill(ledger, argparse.RawDescriptionHelpFormatter)
    plan_arguments.add(commands, argparse.RawDescriptionHelpFormatter)
    inspect_arguments.add(commands, argparse.RawDescriptionHelpFormatter)
    return root


def top(command: argparse.ArgumentParser) -> None:
    """dpselect top."""
    command.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="CSV, JSON, Parquet, or a database (DuckDB, postgresql://..., spark:...) with --table",
    )
    users_and_items(command, required=True)
    command.add_argument("-k", "--k", type=int, default=10, help="how many items at most (default 10)")
    price(command)
    command.add_argument("--delta", help=DELTA + "; with a domain, 0)")
    command.add_argument(
        "--k-bar", type=int, metavar="N", help="look at the N items with most users (default 10 k, at least 1000)"
    )
    domain(command)
    command.add_argument("--counts", action="store_true", help="release noisy numbers of users too; they share epsilon")
    command.add_argument(
        "--method",
        default="auto",
        metavar="NAME",
        help="auto, limited-domain, discover, chosen-k-bar, limited-domain-laplace or limited-domain-gaussian; with a "
        "domain peeling, joint-sequence, one-shot-laplace, gamma, joint-set, canonical-set, joint-permute-and-flip or "
        "canonical-permute-and-flip",
    )
    command.add_argument("--unordered", action="store_true", help="a set in no order will do, which is often nearer")
    budget(command)
    result(command)


def choose(command: argparse.ArgumentParser) -> None:
    """dpselect choose."""
    command.add_argument("files", nargs="+", metavar="FILE", help="candidates with scores, or events of users")
    scores = command.add_argument_group("candidates with scores")
    scores.add_argument("--label", metavar="COLUMN", help="the candidates; each must occur once")
    scores.add_argument("--score", metavar="COLUMN", help="their scores, computed from private data")
    scores.add_argument("--sensitivity", metavar="S", help="how far one user can move any score (default 1)")
    scores.add_argument("--monotonic", action="store_true", help="one more user moves all scores the same way")
    events = command.add_argument_group("or events of users, with a known domain")
    users_and_items(events, required=False)
    domain(events)
    price(command)
    command.add_argument("--method", default="exponential", help="exponential, permute-and-flip or noisy-max")
    command.add_argument("--neighbors", default="add-remove", help="add-remove (the default) or replace-one")
    budget(command)
    result(command)


def quantile(command: argparse.ArgumentParser) -> None:
    """dpselect quantile."""
    command.add_argument("files", nargs="+", metavar="FILE", help="CSV, JSON, Parquet, or a database with --table")
    command.add_argument("--user", required=True, metavar="COLUMN", help="who: the unit that is protected")
    command.add_argument("--column", required=True, metavar="COLUMN", dest="item", help="the values")
    rows(command)
    command.add_argument(
        "--q", default="0.5", metavar="Q,Q", help="which quantiles, ascending (default 0.5, the median)"
    )
    command.add_argument(
        "--bounds", required=True, nargs=2, metavar=("LOW", "HIGH"), help="where values lie; chosen without the data"
    )
    command.add_argument("--step", metavar="S", help="answers are LOW + i S (default: a very small power of ten)")
    command.add_argument(
        "--per-user",
        default="random",
        metavar="RULE",
        help="the value of a user with several: random (the default), min, max or mean",
    )
    price(command)
    command.add_argument("--delta", default="0", help=DELTA.partition(" (")[0] + " (default 0)")
    budget(command)
    result(command)


def demo(command: argparse.ArgumentParser) -> None:
    """dpselect demo."""
    command.add_argument("--users", type=int, default=100_000, metavar="N", help="how many (default 100000)")
    command.add_argument("--keep", metavar="FILE", help="write the data to this Parquet file and keep it")
    quiet(command)
