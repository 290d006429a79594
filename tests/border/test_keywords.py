"""A keyword that no parameter has: each public callable says which was meant, and nothing else of it changed."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable, Iterator

import pytest

import dpselect as dps
from dpselect._ground.keywords import CALLS_WITH_PARAMETER, CHOICE_ALIASES, PARAMETER_ALIASES
from dpselect.command.main import main
from dpselect.command.parser import suggest
from dpselect.errors import UnknownKeyword
from dpselect.questions.value import ParameterSet

DATA = dps.Dataset("not-there.csv", user="user", item="page")
QUESTIONS = (dps.TopK, dps.Union, dps.Choose, dps.Quantile, dps.Histogram, dps.Users)
QUANTILE = ["quantile", "x.csv", "--user", "u", "--item", "i", "--epsilon", "1"]
VERBS = ("top_k", "union", "choose", "histogram", "users", "quantile", "median")


def callables() -> Iterator[tuple[str, Callable[..., object]]]:
    for name in dps.__all__:
        value = getattr(dps, name)
        if isinstance(value, type) and not issubclass(value, Exception):
            if not inspect.isabstract(value) and value is not dps.Question:
                yield name, value
            for method, one in inspect.getmembers(value, inspect.isroutine):
                if not method.startswith("_") and callable(one) and not hasattr(ParameterSet, method):
                    yield f"{name}.{method}", one
        elif inspect.isfunction(value):
            yield name, value


CALLABLES = dict(callables())


def takes_any(function: Callable[..., object]) -> bool:
    return any(one.kind is one.VAR_KEYWORD for one in inspect.signature(function).parameters.values())


@pytest.mark.parametrize("name", [name for name, one in CALLABLES.items() if not takes_any(one)])
def test_every_public_callable_refuses_a_keyword_that_is_no_parameter(name: str) -> None:
    with pytest.raises(UnknownKeyword, match=r"^\w+\(\) has no parameter 'zzz'") as error:
        CALLABLES[name](zzz=1)
    assert isinstance(error.value, TypeError)
    assert isinstance(error.value, dps.ParameterError)


@pytest.mark.parametrize(
    ("ask", "keyword", "hint"),
    [
        (lambda: DATA.top_k(eps=1), "eps of top_k", "did you mean epsilon? top_k(epsilon=1)"),
        (lambda: DATA.quantile(quantile=0.5), "quantile of quantile", "did you mean q? quantile(q=0.5)"),
        (lambda: dps.quantile([1], 0.5, Epsilon=1), "Epsilon of quantile", "did you mean epsilon? quantile(epsilon=1)"),
        (lambda: DATA.union(max_items_per_user=3), "max_items_per_user of union", "Dataset(..., max_items_per_user=3)"),
        (lambda: DATA.top_k(where="a = 1"), "where of top_k", "data.where(...)"),
        (lambda: DATA.top_k(within=50), "within of top_k", "data.ask(question, within=50)"),
        (lambda: dps.TopK(3, epsilon=1), "epsilon of TopK", "data.ask(question, epsilon=1)"),
        (lambda: dps.TopK(3, groups=["a"]), "groups of TopK", 'by=dps.By("country", groups=...)'),
        (lambda: DATA.top_k(k_bar=9), "k_bar of top_k", "method=dps.Method(k_bar=9)"),
        (lambda: DATA.top_k(at_most=9), "at_most of top_k", 'score=dps.Total("amount", at_most=9)'),
        (
            lambda: dps.By("a", max_groups=2),
            "max_groups of By",
            "did you mean max_groups_per_user? By(max_groups_per_user=2)",
        ),
        (lambda: dps.Budget(eps=2), "eps of Budget", "did you mean epsilon? Budget(epsilon=2)"),
        (lambda: dps.Dataset("x", users="u"), "users of Dataset", "did you mean user? Dataset(user=...)"),
        (lambda: dps.Dataset("x", eps=1), "eps of Dataset", "data.top_k(10, epsilon=1)"),
        (lambda: dps.Dataset("x", delta=0.1), "delta of Dataset", "data.top_k(10, delta=0.1)"),
        (lambda: dps.Dataset("x", percentile=95), "percentile of Dataset", "data.quantile(..., q=95)"),
        (lambda: dps.Dataset(file="x"), "file of Dataset", "did you mean source? Dataset(source=...)"),
        (lambda: dps.TopK(3, eps=1), "eps of TopK", "data.ask(question, epsilon=1)"),
        (lambda: dps.connect("x", tok="secret"), "tok of connect", "did you mean token? connect(token=...)"),
    ],
)
def test_the_hint_is_the_line_that_mends_it(ask: Callable[[], object], keyword: str, hint: str) -> None:
    name, called = keyword.split(" of ")
    with pytest.raises(UnknownKeyword) as error:
        ask()
    assert str(error.value) == f"{called}() has no parameter {name!r}\nhint: {hint}"
    again = pickle.loads(pickle.dumps(error.value))
    assert (str(again), again.parameter, again.hint) == (str(error.value), name, hint)


def test_signatures_stay_those_of_the_functions() -> None:
    assert [*inspect.signature(DATA.top_k).parameters][:4] == ["k", "epsilon", "delta", "share"]
    assert [*inspect.signature(dps.TopK).parameters][:2] == ["k", "by"]
    assert dps.quantile.__name__ == "quantile"
    assert dps.Dataset.top_k.__doc__ is not None
    with pytest.raises(TypeError, match="positional"):
        DATA.histogram(["a"], 1)  # type: ignore[misc]


def test_homes_and_other_names_are_those_of_parameters() -> None:
    """So that a name that changes changes here too."""
    parameters = {name: set(inspect.signature(one).parameters) for name, one in CALLABLES.items()}
    every = set().union(*parameters.values())
    assert set(PARAMETER_ALIASES) <= every
    for home, inner in ((dps.By, "by"), (dps.Total, "score"), (dps.Gain, "score"), (dps.Method, "method")):
        first, *others = inspect.signature(home).parameters
        for name in others if home is not dps.Method else [first, *others][1:]:
            assert CALLS_WITH_PARAMETER[name][0] == {inner}
            assert f"dps.{home.__name__}(" in CALLS_WITH_PARAMETER[name][1]
    verbs = [getattr(dps.Dataset, name) for name in VERBS]
    for name in inspect.signature(dps.Dataset.ask).parameters.keys() - {"self", "question"}:
        assert all(
            name in inspect.signature(one).parameters or "data.ask" in CALLS_WITH_PARAMETER[name][1] for one in verbs
        )
    for others in PARAMETER_ALIASES.items():
        assert len({*others[1]}) == len(others[1])


@pytest.mark.parametrize(
    ("option", "meant"), [("--group-by", "--by"), ("--filter", "--where"), ("--top", "--k"), ("--user-id", "--user")]
)
def test_the_command_knows_the_same_names(option: str, meant: str) -> None:
    assert suggest(option, ["--by", "--epsilon", "--k", "--user", "--where"]) == f"did you mean {meant}?"


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ({"q": "median"}, "write 0.5"),
        ({"q": "50%"}, "write 0.5"),
        ({"q": "p95"}, "write 0.95"),
        ({"q": "99.9th"}, "write 0.999"),
        ({"q": "q1"}, "write 0.25"),
        ({"q": ["0", "5"]}, "write 0.5, with a point"),
        ({"q": "0.25; .5"}, "write 0.25,.5, with commas"),
        ({"q": ["95"]}, "write 0.95"),
        ({"q": ["1"]}, "a share of users: 1/2 is the median"),
        ({"per_user": "average"}, "did you mean mean?"),
        ({"per_user": "minimum"}, "did you mean min?"),
        ({"per_user": "first"}, "did you mean random?"),
        ({"per_user": "sum"}, None),
    ],
)
def test_other_words_for_choices_of_a_quantile(given: dict[str, object], hint: str | None) -> None:
    with pytest.raises(dps.ParameterError) as python:
        dps.Quantile(**given)  # type: ignore[arg-type]
    many = given["q"] if isinstance(given.get("q"), list) else [given.get("q", "0.5")]
    with pytest.raises(dps.ParameterError) as json:
        dps.Plan.from_dict({"verb": "quantile", "epsilon": "1", **given, "q": many})  # type: ignore[dict-item]
    assert (python.value.hint, json.value.hint) == (hint, hint)


@pytest.mark.parametrize(
    ("ask", "hint"),
    [
        (lambda: dps.Time("at", period="months"), "did you mean month?"),
        (lambda: dps.Time("at", period="Daily"), "did you mean day?"),
        (lambda: dps.Time("at", period="hour"), None),
        (lambda: dps.choose([1, 2], epsilon=1, neighbors="add_remove"), "did you mean add-remove?"),
        (lambda: dps.choose([1, 2], epsilon=1, neighbors="swap"), "did you mean replace-one?"),
        (lambda: dps.TopK(method="gumbel"), "did you mean peeling?"),
        (lambda: dps.Choose(["a"], method="gumbel"), "did you mean exponential?"),
        (lambda: dps.Union(method="gaussian"), "did you mean count-gaussian or weighted-gaussian?"),
        (lambda: dps.Question.from_dict({"verb": "median"}), "did you mean quantile?"),
        (lambda: dps.Question.from_dict({"verb": "topk"}), "did you mean top_k?"),
        (lambda: dps.Question.from_dict({"verb": "count"}), "did you mean users?"),
        (lambda: dps.Question.from_dict({"verb": "top_k", "group_by": ["a"]}), "did you mean by?"),
        (lambda: dps.Plan.from_dict({"verb": "top_k", "limit": 3, "epsilon": "1"}), "did you mean k?"),
        (lambda: dps.Plan.from_dict({"verb": "top_k", "eps": "1"}), "did you mean epsilon?"),
    ],
)
def test_other_words_for_choices(ask: Callable[[], object], hint: str | None) -> None:
    with pytest.raises(dps.ParameterError) as error:
        ask()
    assert error.value.hint == hint


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["count", "x.csv"], "did you mean users?"),
        ([*QUANTILE, "--format", "md"], "did you mean markdown?"),
        ([*QUANTILE, "--format", "pretty"], "did you mean table?"),
        ([*QUANTILE, "--q", "p99"], "write 0.99"),
        (["ledger", "data", "b.sqlite", "plays", "--epsilon", "1", "--period", "monthly"], "did you mean month?"),
        (["top", "x.csv", "--eps", "1"], "did you mean --epsilon?"),
        (["top", "x.csv", "--user-id", "u"], "did you mean --user?"),
    ],
)  # fmt: skip
def test_other_words_of_the_command(capsys: pytest.CaptureFixture[str], words: list[str], hint: str) -> None:
    try:
        status = main(words)
    except SystemExit as end:
        status = end.code  # type: ignore[assignment]
    assert status == 2
    assert capsys.readouterr().err.splitlines()[-1] == f"hint: {hint}"


def test_no_choice_is_another_word_for_one_beside_it() -> None:
    """Else a right word would be asked whether it is another one."""
    for words in (dps.Time.flat_fields()["period"], dps.Quantile.flat_fields()["per_user"]):
        known = words.metadata["kind"].words
        assert not {other for one in known for other in CHOICE_ALIASES.get(one, ())} & set(known)
    assert len({word for others in CHOICE_ALIASES.values() for word in others if word != word.lower()}) == 0
