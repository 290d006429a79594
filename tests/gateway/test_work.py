"""How long a question may take follows from parameters and declared sizes; what takes longer is late."""

from __future__ import annotations

import datetime
import json
import re
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dpselect as dps
from dpselect.engines.filters.cost import MAX_BYTES
from dpselect.engines.prepared.scan import PreparedScan
from dpselect.errors import DataError, ParameterError
from dpselect.forecast import work
from dpselect.gateway import demo, turn, views
from dpselect.gateway import gateway as gateways
from dpselect.gateway.gateway import Gateway
from dpselect.gateway.jobs import JobState
from dpselect.gateway.settings.kinds import Amount
from dpselect.gateway.settings.reading import read
from dpselect.gateway.settings.values import DataSettings, Settings, Sizes
from dpselect.gateway.sources import has_counts
from dpselect.gateway.web.desk import SlowRequests
from dpselect.mechanisms.port import set_fields
from dpselect.queries import Plan, plan_class
from tests.gateway import served
from tests.gateway.processes import make

PAGE = Path(__file__).resolve().parents[2] / "docs" / "gateway-threats.md"
DATA = DataSettings(
    name="plays",
    source="plays.parquet",
    user="user",
    items=("artist",),
    promise=Amount(epsilon=Fraction(1), delta=Fraction(0)),
)
TOP: dict[str, Any] = {"verb": "top_k", "epsilon": "1", "delta": "1e-6"}
DEAR = " OR ".join(f"contains(comment, 'word {number}')" for number in range(10))


def seconds(where: str | None = None, data: DataSettings = DATA, **asked: Any) -> float:
    """Of a top k about artists."""
    bound = work.bound_work(Plan.from_dict({**TOP, **asked}), where, "artist", data)
    return bound.python_seconds + bound.engine_seconds


def test_more_work_has_a_larger_bound() -> None:
    large = DATA.model_copy(update={"sizes": Sizes(rows=10**7, bytes=10**9)})
    assert seconds() < seconds(data=large) < seconds(by=["country"], data=large)
    assert seconds(k=10) < seconds(k=1000)
    assert seconds(k_bar=100) < seconds(k_bar=10**6)
    assert seconds(k=2, domain=["a", "b"]) < seconds(k=2, domain=[f"{number}" for number in range(10_000)])
    assert seconds() < seconds(verb="union")
    assert seconds(data=DATA.model_copy(update={"source": "postgresql://ann@localhost/plays"})) > seconds()
    assert seconds(data=DATA.model_copy(update={"source": "spark:local"})) > seconds()


def test_a_dear_filter_leaves_later_by_more_than_one_user_can_cost() -> None:
    """Its margin holds ten users of many rows on which all of it is worked out, beside all declared rows."""
    rows, text = work.ROWS_OF_ONE_USER, work.ROWS_OF_ONE_USER * 100
    engine, cost = work.FILES_WORK, work.parse_filter(DEAR).cost
    one_user = rows * engine.operator * cost.operators + text * engine.letter * cost.readings
    all_rows = (
        DATA.sizes.all_rows * engine.operator * cost.operators + DATA.sizes.all_bytes * engine.letter * cost.readings
    )
    assert cost.operators >= 19
    assert cost.readings >= 10
    assert seconds(DEAR) >= seconds() + all_rows + 10 * one_user - 1e-9


def test_the_margin_holds_a_user_whose_texts_are_as_long_as_a_filter_looks_into() -> None:
    for where in (f"contains(comment, '{'a' * 240}')", "lower(comment) = 'b'", DEAR):
        cost = work.parse_filter(where).cost
        bytes_read = cost.readings * (DATA.sizes.all_bytes + work.ROWS_OF_ONE_USER * MAX_BYTES)
        assert seconds(where) >= work.FILES_WORK.start + bytes_read * work.FILES_WORK.letter


def test_groups_whose_users_are_counted_are_counted_once() -> None:
    """They are the items of a histogram, and no table of groups and items is made."""

    def seconds(groups: int) -> float:
        plan = Plan.from_dict({"verb": "users", "epsilon": 1, "by": ["country"], "groups": [*range(groups)]})
        return work.bound_work(plan, None, (), DATA).python_seconds

    few, more, many = map(seconds, (1_000, 2_000, 3_000))
    assert few < more < many
    assert many - more == pytest.approx(more - few)


def test_groups_of_several_columns_whose_users_are_counted_are_items_of_as_many() -> None:
    """The same statement runs as for a histogram of such items, of which a user keeps one."""
    groups, price = [["tuple", ["DE", "tea"]]], {"epsilon": 1}
    users = Plan.from_dict({"verb": "users", "by": ["country", "item"], "groups": groups, **price})
    items = Plan.from_dict({"verb": "histogram", "domain": groups, "max_items_per_user": 1, **price})
    assert work.bound_work(users, None, (), DATA) == work.bound_work(items, None, ("country", "item"), DATA)


def test_the_work_of_many_listed_groups_is_in_the_bound() -> None:
    def median(groups: int, points: int = 1) -> float:
        q = "1/2" if points == 1 else [f"{one}/{points + 1}" for one in range(1, points + 1)]
        asked = {
            "verb": "quantile",
            "q": q,
            "bounds": ["0", "60"],
            "step": "1",
            "epsilon": "1/100",
            "by": ["country"],
            "max_groups_per_user": 1,
        }
        bound = work.bound_work(Plan.from_dict({**asked, "groups": [*range(groups)]}), None, "minutes", DATA)
        return bound.python_seconds + bound.engine_seconds

    assert median(50_000) > 20
    assert median(1_000, points=9) > median(1_000) + 3


@pytest.mark.parametrize(
    "asked", [TOP | {"by": ["country"]}, {"verb": "union", "epsilon": "1", "delta": "1e-6"}], ids=str
)
def test_choosing_a_bound_reads_the_rows_once_more(asked: dict[str, Any]) -> None:
    plan = Plan.from_dict(asked)
    rows = work.bound_work(plan, None, "artist", DATA).engine_seconds
    assert plan.chooses_bound
    set_fields(plan, chooses_bound=False)
    assert rows > 1.05 * work.bound_work(plan, None, "artist", DATA).engine_seconds


def test_a_user_has_rows_in_the_periods_that_others_are_compared_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = []
    monkeypatch.setattr(gateways, "bound_work", lambda *given: counted.append(given[4]) or work.WorkBound(0.0, 0.0))
    asked = {"verb": "top_k", "data": "visits", "k": 2, "epsilon": "1/10", "during": "2026-10..2026-11"}
    with served.serving(tmp_path) as found:
        for more in ({}, {"compared_with": "2026-08..2026-09"}):
            found.gateway.ask(found.people["vera"], {**asked, **more})
    assert counted == [2, 4]


def test_windows_are_ticks_that_double() -> None:
    def at(rows: float, tick: float = 1.0) -> float:
        return turn.window(work.WorkBound(python_seconds=0.0, engine_seconds=rows), tick, workers=1)

    assert [at(bound) for bound in (0.01, 1.0, 1.01, 2.0, 3.9, 4.1)] == [1, 1, 2, 2, 4, 8]
    assert at(0.9, tick=0.25) == 1
    assert turn.window(work.WorkBound(0.0, 1.0), 1.0, workers=10**4) >= 2, "workers that share processors take longer"


def test_a_window_has_room_for_all_threads_that_share_the_interpreter() -> None:
    """Analysts who price dear filters again and again made a question late that took a quarter of its window alone."""
    for workers in (1, 2, 5):
        assert (
            turn.window(work.WorkBound(python_seconds=1.0, engine_seconds=0.0), 1e-3, workers) >= workers + turn.THREADS
        )
        assert turn.window(work.WorkBound(python_seconds=0.0, engine_seconds=1.0), 1e-3, workers) >= workers
    assert SlowRequests()._threads.total_tokens == turn.THREADS


def settings(folder: Path, tick: float) -> Settings:
    return read(make(folder, analysts=2, tick=tick).settings())


def asked(found: Gateway, **more: Any) -> dict[str, Any]:
    """One question to its end."""
    ann = found.settings.people["ann0"]
    body = {"verb": "top_k", "k": 3, "epsilon": "1/100", "delta": "1e-9", "fresh": True, **more}
    number = str(found.ask(ann, body)["id"])
    while (job := found.job(ann, number))["state"] in ("queued", "running"):
        time.sleep(0.01)
    return job


def test_the_first_question_finds_its_engine_loaded(tmp_path: Path) -> None:
    """Loading it took more of the first window than the bound has for a start."""
    make(tmp_path, analysts=1)
    script = """
import sys
from pathlib import Path
from dpselect.gateway.gateway import Gateway
from dpselect.gateway.settings.reading import read
found = Gateway(read(Path(sys.argv[1])))
assert "duckdb" not in sys.modules
found.start()
print("duckdb" in sys.modules)
found.stop()
"""
    run = [sys.executable, "-c", script, tmp_path / "state.toml"]
    assert subprocess.run(run, check=True, stdout=subprocess.PIPE).stdout == b"True\n"


def test_what_would_take_too_long_is_refused_before_it_begins(tmp_path: Path) -> None:
    declared = settings(tmp_path, 1.0)
    data = declared.data["plays"].model_copy(update={"sizes": Sizes(rows=10**9), "longest": Fraction(60)})
    with (
        served.at_its_ticks(declared.model_copy(update={"data": {"plays": data}})) as found,
        pytest.raises(ParameterError, match=r"take at most 60 s .* got one that takes up to \d+ s"),
    ):
        asked(found)


def test_what_is_late_twice_is_given_up_and_paid_and_the_owner_sees_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gateways, "bound_work", lambda *_: work.WorkBound(0.0, 0.0))
    with served.at_its_ticks(settings(tmp_path, 0.004)) as found:  # less than any question takes
        job = asked(found)
        ann, olga = (found.settings.people[name] for name in ("ann0", "olga"))
        assert job["state"] == str(JobState.FAILED)
        assert job["problem"]["type"] == "/problems/late"
        assert float(job["cost"]["share"]) > 0
        slips = views.described(found, olga)[0]["slips"]
        assert isinstance(slips, int)
        assert slips == 2
        assert views.described(found, ann)[0]["tick"] == pytest.approx(0.004 * 2**slips)
        assert job["tick"] == pytest.approx(0.004 * 2**slips)
        answered = (asked(found)["state"] == str(JobState.ANSWERED) for _ in range(12))
        assert any(answered), "at longer ticks it is answered"
    assert "late" in json.dumps(str(found.metrics.text(0)))


# ---- prepared data ----------------------------------------------------------------------------------------


def prepared(folder: Path, name: str = "plays.prepared", **options: Any) -> Path:
    """Rows of users, artists, countries and days, prepared."""
    rows = {
        "user": [*range(60)] * 2,
        "artist": [f"artist {number % 7}" for number in range(120)],
        "country": ["DE", "FR"] * 60,
        "at": [datetime.date(2026, 3, 1)] * 120,
    }
    dps.Dataset(rows, user="user", item="artist", **options).prepare(folder / name, keep="country")
    return folder / name


def test_the_bound_of_counts_is_of_items_and_not_of_rows() -> None:
    def bound(has_counts: bool, rows: int, where: str | None = None, **asked: Any) -> float:
        data = DATA.model_copy(update={"sizes": Sizes(rows=rows, items=1_000)})
        plan = Plan.from_dict({**TOP, **asked})
        return work.bound_work(plan, where, "artist", data, 1, has_counts).engine_seconds

    assert bound(True, 10**7) == bound(True, 10**8) < bound(False, 10**7) < bound(False, 10**8)
    for more in ({"by": ["country"]}, {"k": 2, "domain": ["a", "b"]}, {"verb": "union"}, {"max_items_per_user": 3}):
        assert bound(True, 10**7, **more) == bound(False, 10**7, **more)
    assert bound(True, 10**7, "country = 'DE'") == bound(False, 10**7, "country = 'DE'")
    assert bound(True, 10**7, method="discover") == bound(False, 10**7, method="discover")


def test_a_top_k_whose_bound_is_that_of_counts_reads_no_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = prepared(tmp_path)

    def refuse(*_: object) -> None:
        raise DataError("rows are read")

    monkeypatch.setattr(PreparedScan, "source_rows", refuse)
    monkeypatch.setattr(PreparedScan, "read_codes", refuse)
    for method in ("limited-domain", "limited-domain-sparse"):
        assert len(dps.Dataset(path).top_k(3, epsilon=50, method=method)) == 3
    with pytest.raises(DataError, match="rows are read"):
        dps.Dataset(path).top_k(3, epsilon=50, by="country")


PARAMETERS: dict[str, dict[str, Any]] = {
    "k": {"k": 3},
    "by": {"by": ["country"]},
    "groups": {"by": ["country"], "groups": ["DE", "FR"]},
    "max_groups_per_user": {"by": ["country"], "max_groups_per_user": 1},
    "users": {"by": ["country"], "users": True},
    "by_weight": {"by_weight": "minutes", "at_most": "10"},
    "at_most": {"by_weight": "minutes", "at_most": "20"},
    "weight_unit": {"by_weight": "minutes", "at_most": "10", "weight_unit": "1"},
    "compared_with": {"compared_with": ["2026-02"]},
    "lost": {"compared_with": ["2026-02"], "lost": True},
    "counts": {"counts": True},
    "measures": {"measures": ["users"], "max_items_per_user": 2},
    "domain": {"domain": ["artist 1", "artist 2", "artist 3"]},
    "method": {"method": "limited-domain-sparse"},
    "k_bar": {"k_bar": 5},
    "in_engine": {"method": "discover", "in_engine": True},
    "epsilon": {"epsilon": "30"},
    "delta": {"delta": "1e-7"},
    "within": {"within": 9, "epsilon": None},
    "max_items_per_user": {"max_items_per_user": 2, "counts": True},
    "exclude": {"exclude": ["artist 1"]},
}


def test_no_parameter_makes_a_top_k_read_rows_in_the_window_of_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = DATA.model_copy(update={"source": str(prepared(tmp_path)), "sizes": Sizes(items=1_000, rows=10**7)})

    def refuse(*_: object) -> None:
        raise DataError("rows are read")

    monkeypatch.setattr(PreparedScan, "source_rows", refuse)
    monkeypatch.setattr(PreparedScan, "read_codes", refuse)
    assert PARAMETERS.keys() == set(plan_class("top_k").fields())
    of_counts = set()
    for name, more in PARAMETERS.items():
        asked = {key: value for key, value in (TOP | {"k": 2, "epsilon": "20"} | more).items() if value is not None}
        plan = Plan.from_dict(asked)
        if work.bound_work(plan, None, "artist", data, 1, True) != work.bound_work(plan, None, "artist", data):
            of_counts.add(name)
            dps.Dataset(data.source).ask(plan)
    assert of_counts == {"k", "counts", "method", "k_bar", "epsilon", "delta", "within"}


def test_items_to_leave_out_are_looked_up_for_every_row() -> None:
    few, many = ([f"{number}" for number in range(size)] for size in (2, 10_000))
    assert seconds() < seconds(exclude=few) < seconds(exclude=many)
    one_pass, with_list = (
        work.bound_work(Plan.from_dict(asked), None, "artist", DATA).engine_seconds
        for asked in (TOP, TOP | {"exclude": few})
    )
    assert with_list > 1.05 * one_pass


def test_which_data_have_counts(tmp_path: Path) -> None:
    def counted(path: object, item: Any = "artist", **more: Any) -> bool:
        return has_counts(DATA.model_copy(update={"source": str(path), "sizes": Sizes(items=1_000), **more}), item)

    path = prepared(tmp_path)
    assert counted(path)
    assert not counted(path, sizes=Sizes(rows=10**6))
    assert not counted(path, "country")
    assert not counted(path, ("artist", "country"))
    assert not counted(path, split=" ")
    assert not counted(path, types={"country": "VARCHAR"})
    assert not counted(tmp_path / "none.prepared")
    assert not counted("plays.parquet")
    (tmp_path / "damaged.prepared").write_bytes(path.read_bytes()[:5000])
    assert not counted(tmp_path / "damaged.prepared")
    assert not counted(prepared(tmp_path, "timed.prepared", time=dps.Time("at", period="month")))


def test_the_demo_and_its_windows_are_those_of_the_page(tmp_path: Path) -> None:
    folder, page = tmp_path / "demo", PAGE.read_text("utf-8")
    token = demo.make(folder, users=300)["analyst"]
    block = page.partition("`dpselect serve --demo` has these settings:\n\n```\n")[2].partition("```")[0]
    shown = [line for line in block.splitlines() if line]
    assert shown[0] == "[server]"
    assert set(shown) <= set((folder / demo.SETTINGS_FILE).read_text("utf-8").splitlines())
    settings = read(folder / demo.SETTINGS_FILE)
    lines = re.findall(r"^\| ([\d,]+) \|((?: \d+ \|){5})$", page, re.MULTILINE)
    assert [size for size, _ in lines] == ["1,000,000", "10,000,000"]
    for size, windows in lines:
        rows = int(size.replace(",", ""))
        sizes = Sizes(users=rows // 10, items=100_000, rows=rows, bytes=50 * rows)
        data = {"listening": settings.data["listening"].model_copy(update={"sizes": sizes})}
        price = {"epsilon": "1/10", "delta": f"{len(size)}e-9"}  # of each size another question
        top: dict[str, Any] = {"verb": "top_k", "k": 10, **price}
        questions: list[dict[str, Any]] = [
            top,
            {**top, "where": "country = 'Germany'"},
            {"verb": "quantile", "item": "minutes", "epsilon": f"1/{len(size)}"},
            {"verb": "union", **price},
            {**top, "by": ["country"]},
        ]
        with served.running(settings.model_copy(update={"data": data}), folder) as found:
            analyst = served.Client(found.http, token)
            jobs = [analyst.post("/v1/questions", body).json() for body in questions]
        assert [job["tick"] for job in jobs] == [float(window) for window in windows.split("|")[:-1]]
