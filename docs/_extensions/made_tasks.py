"""Tasks in Python, on the command line and as the body of a request: all three are written from the same question."""

from __future__ import annotations

import csv
import inspect
import io
import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dpselect._ground.domain import Listed, Size, Span
from dpselect.questions.parts import By, Gain, Method, Payment, Total
from dpselect.questions.questions import Choose, Histogram, Quantile, Question, TopK, Union, Users
from dpselect.verbs import Verbs

COMMANDS = {"top_k": "top"}
NOUNS = re.compile(r"\b(By|Choose|Gain|Histogram|Method|Quantile|TopK|Total|Union|Users)\(")
PLAYS, FILMS, MINUTES = ("plays", "artist"), ("films", "film"), ("plays", "minutes")


@dataclass(frozen=True)
class Task:
    """What somebody wants to know of which data, at what price."""

    wish: str
    question: Question
    price: Mapping[str, Any] = field(default_factory=lambda: {"epsilon": 1})
    of: tuple[str, str] = PLAYS  # the data, and their column of items
    narrowed: Mapping[str, Any] = field(default_factory=dict)  # where, during or exclude

    @property
    def payment(self) -> Payment:
        """The price as a value."""
        return Payment(**self.price)


TASKS = (
    Task("How many people there are", Users()),
    Task("The ten artists that most people played", TopK()),
    Task("Five, with noisy numbers of people", TopK(5, counts=True)),
    Task("Only of plays in Germany", TopK(5), narrowed={"where": "country = 'DE'"}),
    Task("In October 2026", TopK(5), narrowed={"during": "2026-10"}),
    Task("Without two that everybody knows", TopK(5), narrowed={"exclude": ["ABBA", "Queen"]}),
    Task("Three of every country", TopK(3, by="country")),
    Task(
        "Of two countries, where a person may count in both",
        TopK(3, by=By("country", groups=["DE", "FR"], max_groups_per_user=2)),
    ),
    Task("With how many people each country has", TopK(3, by=By("country", sizes=True))),
    Task("By minutes played, an hour of a person at most", TopK(5, score=Total("minutes", at_most=60))),
    Task("What gained most people since September", TopK(5, score=Gain("2026-09")), narrowed={"during": "2026-10"}),
    Task("The mean rating of each of the five", TopK(5, measures="mean(stars, 1, 5)"), of=FILMS),
    Task("Exactly three of a list", TopK(3, domain=["Alien", "Brazil", "Casablanca", "Dune"]), of=FILMS),
    Task(
        "The same in no order, which is more accurate",
        TopK(3, domain=["Alien", "Brazil", "Casablanca", "Dune"], method="set"),
        of=FILMS,
    ),
    Task("None over 50 people below the tenth best", TopK(), {"within": 50}),
    Task("For a hundredth of a budget", TopK(), {"share": "1%"}),
    Task("From data larger than memory", TopK(method=Method("discover", in_engine=True))),
    Task("Every artist that enough people played", Union()),
    Task("Every one that 300 people played", Union(), {"threshold": 300}),
    Task("Every pair of country and artist", Union(by="country", counts=True)),
    Task("The best of three films", Choose(["Alien", "Brazil", "Casablanca"]), of=FILMS),
    Task("The best in every country", Choose(["Alien", "Brazil"], by="country"), of=FILMS),
    Task("How many people saw each", Histogram(["Alien", "Brazil", "Casablanca"]), of=FILMS),
    Task("The median of minutes", Quantile(bounds=(0, 60), step=1), of=MINUTES),
    Task(
        "Quartiles of everybody's longest play, by country",
        Quantile(["1/4", "1/2", "3/4"], bounds=(0, 60), step=1, per_user="max", by="country"),
        of=MINUTES,
    ),
)


def tasks(_page: str, _argument: str) -> str:
    """Each task with its three forms."""
    return "\n\n".join(
        f"## {one.wish}\n\n```python\n{python(one)}\n```\n\n```console\n$ {command(one)}\n```\n\n"
        f"```json\n{json.dumps(body(one))}\n```"
        for one in TASKS
    )


def python(task: Task) -> str:
    """The call of the verb, or of `ask` where it says what the verb does not take."""
    verb, of_price = task.question.verb, [f"{name}={value!r}" for name, value in task.price.items()]
    known = inspect.signature(getattr(Verbs, verb)).parameters
    said = [one.name for one, _ in task.question.non_default_fields()]
    asked = NOUNS.sub(r"dps.\1(", repr(task.question))
    if {*said, *task.price} <= set(known) and "dps.Method(" not in asked:
        inner = asked[asked.index("(") + 1 : -1]
        call = f"{verb}({', '.join([*([inner] if inner else []), *of_price])})"
    else:
        call = f"ask({asked}, {', '.join(of_price)})"
    narrowed = "".join(f".{name}({value!r})" for name, value in task.narrowed.items())
    return f"{data_of(task)}{narrowed}.{call}"


def data_of(task: Task) -> str:
    """The name of the data in Python."""
    return "minutes" if task.of == MINUTES else task.of[0]


def command(task: Task) -> str:
    """The same as words of a shell."""
    verb, (source, item) = task.question.verb, task.of
    words = [COMMANDS.get(verb, verb), f"{source}.parquet", "--user", "user"]
    words += [] if verb == "users" else ["--item", item]
    times = {"time": "at", "period": "month"} if "during" in task.narrowed else {}
    said = {**task.question.flat(), **task.payment.flat(), **times, **task.narrowed}
    for name, value in said.items():
        words += _words(name, value)
    return " ".join(["dpselect", *map(_quoted, words)])


def _quoted(word: str) -> str:
    return f'"{word}"' if "'" in word and not set(word) & set('"$`\\!') else shlex.quote(word)


def _words(name: str, value: Any) -> Iterator[str]:
    option = "-k" if name == "k" else f"--{name.replace('_', '-')}"
    if isinstance(value, Span):
        return iter([f"{option}-range", f"{value.start}..{value.stop - 1}"])
    if isinstance(value, Size):
        return iter([f"{option}-size", str(value.items)])
    if isinstance(value, Listed):
        return iter([option, _line(value.items)])
    if value is True:
        return iter([option])
    if name == "share":
        return iter([option, f"{100 * value}%"])
    if name == "measures":
        return iter([option, *map(str, value)])
    return iter([option, _line(value) if isinstance(value, (tuple, list)) else str(value)])


def _line(values: Any) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(values)
    return text.getvalue()


def body(task: Task) -> dict[str, Any]:
    """The body of POST /v1/questions."""
    item = {} if task.of[1] in ("artist", "film") else {"item": task.of[1]}
    return {"data": task.of[0], **task.question.to_dict(), **task.payment.flat_json(), **item, **task.narrowed}
