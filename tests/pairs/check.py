"""One pair tested: what is answered must be right in every respect, what is refused is refused before a row is read."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import dpselect as dps
from dpselect.checking.finding import Verdict
from dpselect.questions.parts import BY_BOUND
from tests.judge.both import check as judged
from tests.judge.every import refuse_wrong
from tests.pairs.asking import Asking
from tests.pairs.crossing import Call, Pair
from tests.pairs.judging import right
from tests.pairs.rows import PINNED, Unread
from tests.pairs.states import Refused, state
from tests.pairs.truth import Truth, names_of

NO_PICTURE = "counts must be released for a plot"


def check(pair: Pair, asking: Asking) -> None:
    """What `state` declares of a pair is so."""
    declared = state(pair)
    assert declared.call is not None
    if declared.refusal is not None:
        refused(declared.call, declared.refusal, asking)
    else:
        answered(declared.call, asking)


def refused(call: Call, declared: Refused, asking: Asking) -> None:
    """For the parameter that is declared, with a hint, and before a row is read."""
    unread = Unread()
    budget = dps.Budget(epsilon=10**6, delta="1e-2")
    rows = {"source": unread} if call.source == "arrow" else {"budget": budget}
    with pytest.raises(dps.ParameterError if declared.parameter else dps.DataError) as found:
        asking.ask(call, **({} if "surface" in call.given else {"rows": rows}))
    if isinstance(found.value, dps.ParameterError):
        assert found.value.parameter == declared.parameter, found.value
    assert found.value.hint, found.value
    assert not unread.touched
    assert budget.left == 1


def answered(call: Call, asking: Asking) -> None:
    """The answer is that of the rows, keeps its promise, costs what it says, and can be written."""
    form, call = call.given.get("form"), call.without("form")
    release = asking.answer(call)
    right(Truth(call, release))
    refuse_wrong(replace(release, charged=None))
    assert dps.Release.from_json(release.to_json()) == release
    if "budget" in call.given:
        paid(call, release, asking)
    if "surface" in call.given and "share" not in call.asked:
        same_question(release, asking.answer(call.in_python()), keys_of(call))
    if form is not None:
        FORMS[form](release, asking.folder)


def keys_of(call: Call) -> list[str]:
    """The columns that an answer names because nothing says that they are there: those asked of JSON lines."""
    return [*names_of(call.given["user"]), *names_of(call.given["item"])] if call.source == "jsonl" else []


def same_question(release: dps.Release, other: dps.Release, keys: Sequence[str] = ()) -> None:
    """It says that the same was asked, but for what the owner of a gateway may have said: where values lie.

    Beside that it names just these keys, and the other none.
    """
    assert release.question is not None
    assert other.question is not None
    here, there = ({**one.question} for one in (release, other))  # type: ignore[dict-item] # it is there
    assert "keys" not in there["rows"]
    there["rows"] = there["rows"] | ({"keys": [*keys]} if keys else {})
    if "bounds" not in there:
        here, there = ({**one, "bounds": None, "step": None} for one in (here, there))
    if BY_BOUND in (here.get("method"), there.get("method")):  # where no account is kept, and no plan was made before
        assert {here.get("method"), there.get("method")} <= {None, BY_BOUND}
        here, there = ({**one, "method": BY_BOUND} for one in (here, there))
    assert here == there


def paid(call: Call, release: dps.Release, asking: Asking) -> None:
    """The charge is that of the receipt; where the rows are known again, so is the answer, for nothing."""
    again = asking.ask(call)
    assert release.charged is not None
    assert again.charged is not None
    assert release.charged.numbers["repeated"] is False
    assert 0 < release.charged.numbers["share"] <= 0.6  # type: ignore[operator] # a number
    known = call.source in PINNED
    assert again.charged.numbers["repeated"] is known
    if known:
        assert replace(again, charged=None).to_json() == replace(release, charged=None).to_json()
    else:
        assert "asking again is charged again" in again.charged.sentence
    if call.given["budget"] == "ledger":
        assert judged(release, asking.ledger(call)).paid is Verdict.FOLLOWS
        return
    left = asking.budget(call).left
    taken = release.charged.numbers["share"] * (1 if known else 2)  # type: ignore[operator]
    assert left == pytest.approx(1 - taken, abs=1e-5)


# ---- forms -------------------------------------------------------------------------------------------------------


def _words(release: dps.Release, _: Path) -> None:
    shown = (release.text, release.explain(), release.to_markdown())
    assert all(str(label)[:3] in form for label in release.labels if isinstance(label, str) for form in shown)
    assert all(item in release for item in release)
    words = " ".join(release.explain().split())
    assert all(" ".join(sentence.split()) in words for sentence in release.privacy.sentences)
    assert str(release)


def _json(release: dps.Release, folder: Path) -> None:
    release.to_json(folder / "release.json")
    found = dps.check(folder / "release.json")
    assert found.verdict is Verdict.FOLLOWS, found


def _csv(release: dps.Release, _: Path) -> None:
    table = release.to_columns()
    head, *lines = csv.reader(io.StringIO(release.to_csv()))
    assert head == list(table)
    assert len(lines) == len(release)


def _parquet(release: dps.Release, folder: Path) -> None:
    release.to_parquet(folder / "release.parquet")
    found = pq.read_table(folder / "release.parquet")
    assert (found.column_names, found.num_rows) == (list(release.to_columns()), len(release))


def _html(release: dps.Release, _: Path) -> None:
    assert release._repr_html_().count("<tr") >= len(release)


def _picture(release: dps.Release, _: Path) -> None:
    """Drawn, in words and as SVG; a union without counts has none."""
    if release.privacy.parameters.get("k") is None and not (release.ranked or release.counted):
        with pytest.raises(dps.ParameterError, match=f"^{NO_PICTURE}"):
            release.plot()
        return
    picture = release.plot()
    assert "<svg" in picture.svg()
    assert picture.alt


FORMS: Mapping[str, Callable[[dps.Release, Path], None]] = {
    "words": _words,
    "JSON": _json,
    "CSV": _csv,
    "Parquet": _parquet,
    "HTML": _html,
    "picture": _picture,
}
