"""What every test may ask for."""

from __future__ import annotations

import gc
import os
import re
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings

from tests import postgres
from tests.engines import spark as local_spark
from tests.house import pace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parents[1]

# Hypothesis looks for new examples on our own machines, few of them; in CI it repeats the same ones, so that a red
# run is the change's doing. No deadline: how long an example takes is a matter for benchmarks.
# Nor does luck decide: new examples that are refused too often, or made slowly on a busy machine, are no failure.
LUCK = [HealthCheck.filter_too_much, HealthCheck.too_slow]
settings.register_profile("everyday", deadline=None, max_examples=10, suppress_health_check=LUCK)
settings.register_profile("slow", deadline=None, suppress_health_check=LUCK)
settings.register_profile("ci", deadline=None, derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") == "true" else "slow" if pace.thorough() else "everyday")


def pytest_configure(config: pytest.Config) -> None:
    """In CI a test not marked `slow` is named when it is not quick."""
    if os.environ.get("CI") == "true":
        config.pluginmanager.register(pace.Pace())


KEYS, TOTALS, GROUPS = (f"test_{name}.py::test_" for name in ("keys", "totals", "by_group"))
RARE_ON_SPARK = (
    *(f"{KEYS}{name}" for name in ("items_of_several", "users_of_several", "one_row", "domains", "tuples", "what")),
    *(f"{KEYS}{name}" for name in ("every_user_keeps", "a_filter", "users_of_several_columns_in")),
    *(f"{TOTALS}{name}" for name in ("sums_and", "types_of", "a_range", "items_without", "users_and", "columns_that")),
    *(f"{GROUPS}{name}" for name in ("groups_of_other", "a_user_keeps", "items_are", "no_user", "no_rows")),
    "test_sorted_texts.py::test_decimals",
)


# Of each test of these, the first case on Spark runs every time.
FIRST_ON_SPARK = tuple(
    f"tests/engines/test_{name}"
    for name in (
        *("measures.py", "values_by_group.py", "by_group_weights.py", "weights.py::test_items_of_every_type"),
        *("every_engine.py::test_domains", "every_engine.py::test_sets_of_users"),
        "every_value.py::test_one_place_of_every_user",
    )
)


# Of the many cases of these tests run every time: whatever names a source, a value or a question that no case before
# had, and a third of the rest. Where a case has one name, a third runs, another one of each test. All run with SLOW=2.
THIRDS = (
    "tests/engines/test_awkward_rows.py::test_one_line_speaks_for_nobody_else",
    "tests/engines/test_awkward_rows.py::test_texts_of_parquet_that_are_not_utf8",
    "tests/engines/test_awkward_values.py::test_an_odd_value_of_a_declared_type_is_its_own_users_affair",
    "tests/engines/test_awkward_values.py::test_an_odd_value_without_a_declared_type_is_its_own_users_affair",
    "tests/engines/test_awkward_values.py::test_every_question_reads_past_all_of_them_together",
    "tests/engines/test_conformance.py::test_counts",
    "tests/engines/test_conformance.py::test_no_rows_are_an_outcome",
    "tests/engines/test_conformance.py::test_sets_of_filtered_rows",
    "tests/engines/test_conformance.py::test_sets_of_users",
    "tests/engines/test_conformance.py::test_sets_without_users",
    "tests/engines/test_every_engine.py::test_counts_of_every_type",
    "tests/engines/test_every_engine.py::test_domains",
    "tests/engines/test_every_engine.py::test_sets_of_users",
    "tests/engines/test_every_value.py::test_one_place_of_every_user",
    "tests/engines/test_keys.py::test_sets_and_weights",
    "tests/engines/test_periods.py::test_the_period_of_every_row",
    "tests/engines/test_postgres.py::test_types_as_in_duckdb",
    "tests/engines/test_prepared.py::test_periods",
    "tests/engines/test_prepared.py::test_users_of_every_type",
    "tests/engines/test_text.py::test_every_source_holds_the_same_words",
    "tests/engines/test_values.py::test_one_value_of_every_user",
    "tests/engines/test_values_by_group.py::test_items_of_any_type_have_the_same_name_with_users_and_without",
    "tests/gateway/test_bad_requests.py::test_a_body_that_is_no_question",
    "tests/gateway/test_openapi.py::test_every_answer_is_described",
    "tests/reference/test_composition.py::test_every_promise_is_covered_by_its_own_steps",
    "tests/replay/test_calls.py::test_a_call_on_a_neighbour",
    "tests/replay/test_command.py::test_the_command_on_a_neighbour",
    "tests/replay/test_rows.py::test_awkward_lines",
    "tests/replay/test_rows.py::test_awkward_values",
    "tests/statistical/test_noise.py::test_draws_at_one_cut_after_another",
)
NAMES = re.compile(r"[-:,] ?| as | among ")


# What takes long, and stands beside something like it that runs every time.
RARE = (
    "tests/border/test_left_behind.py::test_a_signal_at_many_more_lines_leaves_nothing",
    "tests/border/test_numbers.py::test_every_door_answers_or_refuses_every_number[budgets]",
    "tests/border/test_numbers.py::test_a_number_of_any_type_means_the_same[budgets]",
    "tests/border/test_numbers.py::test_every_door_answers_or_refuses_every_number[verbs]",
    "tests/border/test_numbers.py::test_a_number_of_any_type_means_the_same[verbs]",
    "tests/end_to_end/test_cli_own_session.py",
    "tests/end_to_end/test_prepare_killed.py",
    "tests/engines/test_by_group.py::test_a_filter_a_split_and_periods_come_before[spark]",
    "tests/engines/test_by_group.py::test_counts_are_those_of_plain_python[spark]",
    "tests/engines/test_by_group.py::test_listed_groups_are_there_and_no_others[spark]",
    "tests/engines/test_by_group.py::test_groups_of_several_columns[spark]",
    "tests/engines/test_every_engine.py::test_counts_of_every_type[spark-written]",
    "tests/engines/test_every_engine.py::test_every_user_keeps_as_many_as_they_may[spark]",
    "tests/engines/test_filter_everywhere.py::test_any_filter_keeps_the_same_rows_on_spark",
    "tests/engines/test_killed_executors.py",
    "tests/exact/test_composing.py::test_the_order_must_be_chosen_before",
    "tests/exact/test_joint.py::test_the_law_of_every_count_vector_of_a_grid[JointSequence-4",
    "tests/exact/test_peeling.py::test_theorem_1_one_shot_gumbel_is_peeling",
    "tests/gateway/chromium/test_chromium.py::test_people_do_their_work[plain]",
    "tests/gateway/test_killed.py::test_one_of_two",
    "tests/gateway/test_killed.py::test_postgres",
    "tests/house/test_selection.py::test_a_change_here_selects_its_tests_and_not_all[src/dpselect/mechanisms/",
    "tests/house/test_selection.py::test_a_selection_that_skips_too_much_is_refused[no packages]",
    "tests/house/test_selection.py::test_a_selection_that_skips_too_much_is_refused[one step]",
    "tests/house/test_selection.py::test_a_change_here_selects_its_tests_and_not_all[src/dpselect/engines/spark/",
    "tests/ledger/test_crashes.py::test_killed_at_any_moment[postgres]",
    "tests/ledger/test_crashes.py::test_killed_at_many_lines_postgres",
    "tests/ledger/test_crowds.py::test_twelve_processes[postgres]",
    "tests/ledger/test_patterns.py::test_sessions_in_a_ledger[postgres-",
    "tests/ledger/test_patterns.py::test_sessions_in_a_ledger[sqlite-object]",
    "tests/reference/test_optimal.py::test_the_non_adaptive_optimum_equals_a_direct_computation_at_1000_points",
    "tests/replay/test_fuzz.py::test_values[DuckDB table]",
    "tests/replay/test_fuzz.py::test_values[JSON lines]",
    "tests/replay/test_fuzz.py::test_values[pyarrow]",
    "tests/statistical/test_draws.py::test_binomial[refining often",
    "tests/statistical/test_draws.py::test_geometric[refining often",
    "tests/statistical/test_draws.py::test_geometric[as shipped-rate0]",
    "tests/statistical/test_draws.py::test_many_equal_integers_are_grouped_and_found_again",
    "tests/statistical/test_noise.py::test_discrete_gaussian[variance1]",
    "tests/statistical/test_noise.py::test_discrete_gaussian[variance2]",
    "tests/statistical/test_noise.py::test_few_candidates_all_get_a_number[refining often",
    "tests/statistical/test_noise.py::test_the_radius_of_the_gamma_mechanism[3-rate1]",
    *(
        f"tests/engines/test_awkward_values.py::test_an_odd_value_without_a_declared_type_is_its_own_users_affair[{one}"
        for one in ("whole numbers-object", "whole numbers-pandas", "text-pandas")
    ),
    *(
        f"tests/replay/test_rows.py::test_awkward_values[spark frame: all of them as item among {one}"
        for one in ("day", "real", "text")
    ),
)


def left_out(items: list[pytest.Item]) -> list[pytest.Item]:
    """Two thirds of the cases that are like others."""
    seen: dict[str, set[str]] = {test: set() for test in THIRDS}
    number = {test: place for place, test in enumerate(THIRDS)}
    cases = Counter(item.nodeid.partition("[")[0] for item in items)
    found = []
    for item in items:
        test, _, case = item.nodeid.partition("[")
        if test not in seen or cases[test] == 1:  # one that is asked for by its name runs
            continue
        names = set(NAMES.split(case[:-1]))
        number[test] += 1
        like_others = len(names) == 1 or names <= seen[test]
        if like_others and (number[test] if len(names) == 1 else crc32(item.nodeid.encode())) % 3:
            found.append(item)
        else:
            seen[test] |= names
    return found


def rare(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    """Tests of shapes of what other engines are asked too, which would make CI too long; one of each kind stays."""
    begun = set()
    for item in items:
        rare_shape = any(item.nodeid.startswith(f"tests/engines/{one}") for one in RARE_ON_SPARK)
        if item.nodeid.startswith(RARE) or ("spark" in item.name and rare_shape):
            yield item
        elif "[ibis" in item.name and not item.nodeid.startswith("tests/engines/test_conformance.py"):
            file = f"ibis in {item.nodeid.partition('::')[0]}"  # a query of DuckDB, which the others of that file ask
            if file in begun:
                yield item
            begun.add(file)
        elif "spark" in item.name and item.nodeid.startswith(FIRST_ON_SPARK):
            case = item.nodeid.partition("[")[0]
            if case in begun:
                yield item
            begun.add(case)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """What is imported and collected stays to the end: no search for garbage looks through it, now or later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_unconfigure() -> None:
    """DuckDB says at the end what is left of it: nothing, once that is garbage again."""
    gc.unfreeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests marked `slow` (crowds of processes, a kill at every line) run in CI, or where SLOW=1 asks for them.

    Rare ones run where SLOW=2 asks for them, before a release say.

    Groups that are slow for the most part come first, then those of many tests, so that no worker begins a long one
    when the others are done.
    """
    if not pace.thorough():
        for item in items:
            if item.get_closest_marker("slow"):
                item.add_marker(pytest.mark.skip(reason="slow: runs in CI, and with SLOW=1 ./dev check"))
    if os.environ.get("SLOW") != "2":
        seldom = set(rare(items))
        for item in [*seldom, *left_out([item for item in items if item not in seldom])]:
            item.add_marker(pytest.mark.skip(reason="rare: runs with SLOW=2 ./dev check --all"))
    slow: dict[str, list[bool]] = {}
    for item in items:
        slow.setdefault(worker_group(item.nodeid), []).append(item.get_closest_marker("slow") is not None)
    rank = {group: (-sum(marks) / len(marks), -len(marks)) for group, marks in slow.items()}
    items.sort(key=lambda item: rank[worker_group(item.nodeid)])


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as for a job in the background: Ctrl-C is tested all the same
    signal.signal(signal.SIGINT, signal.default_int_handler)


def worker_group(nodeid: str) -> str:
    """Tests of one group run in one worker: those of one file, for what they share is then made once.

    All whose name says Spark are one group, since each worker that runs one starts a JVM. Tests that start a Spark in
    a process of their own do not say it: the other workers have more time.
    """
    return "spark" if "spark" in nodeid else nodeid.partition("::")[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Workers take whole groups of tests, in the order of the collection."""
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return worker_group(nodeid)

    config.option.loadscopereorder = False
    return Together(config, log)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of public data sets, `DPSELECT_DATA`; a test that needs it is skipped without."""
    folder = Path(os.environ.get("DPSELECT_DATA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip("needs public data sets: set DPSELECT_DATA to the folder that holds them")
    return folder


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """A running server; CI on Linux must have one, elsewhere its tests are skipped without."""
    try:
        import psycopg  # noqa: F401 - is it there?

        with postgres.server() as address:
            yield address
    except (ImportError, postgres.NoServerError) as error:
        if os.environ.get("CI") == "true" and sys.platform == "linux":
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A running session; CI on Linux must have one, elsewhere its tests are skipped without."""
    try:
        with local_spark.session() as session:
            yield session
    except local_spark.NoSparkError as error:
        if os.environ.get("CI") == "true" and sys.platform == "linux":
            raise
        pytest.skip(str(error))
