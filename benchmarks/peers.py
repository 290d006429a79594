"""Our figures beside those of OpenDP, PipelineDP and SmartNoise, for the same question at the same promise.

Epsilon 1 and delta 1e-6 for adding or removing a user, and the same bound on a user's items. Each library is asked as
its own pages say; where it has several ways, each is a row. Where its odometer charges more than it was asked for, it
is asked for less, until the price that it says itself is the promise. A library is a process of its own; SmartNoise
needs an older OpenDP, hence an environment of its own (`pip install smartnoise-sql duckdb`): `--smartnoise` names its
Python.

Data: `lastfm`, `ml100k` and `msweb` of the folder `DPSELECT_DATA`, and planted users. Only figures are printed.
For unions, each user's items are cut to the bound before, so that no library cuts any. An even chance is that of
planted items with all numbers of users, whose users have about as many items as the bound: the mean number of users
that were not enough. Widths are those of a 95 % interval of one count, as each library says them, or from the noise
that it says; of a histogram also those of all counts at once, of which each has noise of its own in other libraries.
Top tens are of all users' rows, which each library cuts itself. Recall: the places, in per cent, filled
with an item that has at least as many users as the true tenth. Ranks: how many users are between an answer and the
true quantile of the plays of each user, on the same bounds. Bold is the best of a column, and whatever is within two
standard errors of the difference to it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import math
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from statistics import NormalDist
from typing import Any

from measure import single_threaded, table

EPSILON, DELTA, K = 1.0, 1e-6, 10
FILES = ("lastfm", "ml100k", "msweb")
PLANTED = {1: (100, 1), 5: (300, 1), 30: (1200, 8)}  # for each bound: the most users of an item, and the step
DOMAINS, BOUND_OF_DOMAIN = (12, 50), 5
QUANTILES = {"median": (0.5,), "deciles": tuple(tenth / 10 for tenth in range(1, 10))}
HIGHEST, STEP = 100_000, 100  # of plays of a user


@dataclass(frozen=True)
class Question:
    """What is asked, of which file, with how many items of a user (None: all of them)."""

    kind: str
    data: str
    most: int | None = None
    domain: int = 0
    quantiles: tuple[float, ...] = ()

    @property
    def file(self) -> str:
        """The name of the input."""
        if self.kind == "top":
            return self.data
        return (
            f"{self.kind}-{self.data}-{self.domain or ''}-{self.most or 'all'}" if self.kind != "quantile" else "plays"
        )

    @property
    def bound(self) -> int:
        """For libraries that need one."""
        return self.most or self.domain

    @property
    def key(self) -> str:
        """One text for it."""
        return f"{self.file} {self.kind} {self.most} {self.data}"


QUESTIONS = [
    *(Question("union", data, most) for most in PLANTED for data in ("lastfm", "msweb", "planted")),
    *(Question("top", data, most) for data in FILES for most in (5, 30)),
    *(Question("histogram", "lastfm", most, d) for most in (None, BOUND_OF_DOMAIN) for d in DOMAINS),
    *(Question("quantile", name, quantiles=asked) for name, asked in QUANTILES.items()),
]


@dataclass(frozen=True)
class Answer:
    """Counts by item, or values of quantiles; the widths of one count and of all; the price that the library says."""

    counts: dict[str, float] = field(default_factory=dict)
    width: float = math.nan
    width_of_all: float = math.nan
    values: list[float] = field(default_factory=list)
    price: tuple[float, float] = (EPSILON, DELTA)


Way = Callable[[Question, str], Answer]


def chance_of_one(counts: int) -> float:
    """With which chance one of so many independent noises may be beyond a width, if any of them is with 5 %."""
    return 1 - 0.95 ** (1 / counts)


# ----------------------------------------------------------------------------------------------------------- dpselect


def dpselect_ways(asked: Question) -> dict[str, Way]:
    """Our ways."""
    if asked.kind == "union":
        return {method: partial(our_union, method=method) for method in ("auto", "count-gaussian", "count-laplace")}
    if asked.kind == "top":
        return {
            "top_k of all items": our_top,
            "top_k": partial(our_top, bounded=True),
            "union, count-gaussian, sorted": partial(our_union, method="count-gaussian"),
            "union, count-laplace, sorted": partial(our_union, method="count-laplace"),
        }
    return {"": our_histogram} if asked.kind == "histogram" else {"": our_quantile}


def our_union(asked: Question, file: str, *, method: str) -> Answer:
    """A union with counts."""
    import dpselect as dps

    data = dps.Dataset(file, user="user", item="item", max_items_per_user=asked.most)
    found = data.union(epsilon=1, delta="1e-6", method=method, counts=True)
    counts = {str(one.item): float(one.count or 0) for one in found}
    return Answer(counts, float(found.accuracy.numbers["width_of_counts"]))


def our_top(asked: Question, file: str, *, bounded: bool = False) -> Answer:
    """A top ten with counts."""
    import dpselect as dps

    data = dps.Dataset(file, user="user", item="item", max_items_per_user=asked.most if bounded else None)
    found = data.top_k(K, epsilon=1, delta="1e-6", counts=True)
    counts = {str(one.item): float(one.count or 0) for one in found}
    return Answer(counts, float(found.accuracy.numbers["width_of_counts"]))


def our_histogram(asked: Question, file: str) -> Answer:
    """A histogram."""
    import dpselect as dps

    data = dps.Dataset(file, user="user", item="item", max_items_per_user=asked.most)
    found = data.histogram(domain=domain(file), epsilon=1, delta="1e-6")
    one, every = (float(found.accuracy.numbers[name]) for name in ("width_of_one_count", "width_of_counts"))
    return Answer({str(item.item): float(item.count or 0) for item in found}, one, every)


def our_quantile(asked: Question, file: str) -> Answer:
    """Quantiles of one value a user."""
    import dpselect as dps

    data = dps.Dataset(file, user="user", item="plays")
    found = data.quantile(list(asked.quantiles), bounds=(0, HIGHEST), step=STEP, epsilon=1)
    return Answer(values=[float(one) for one in found.labels], price=(EPSILON, 0))


# ------------------------------------------------------------------------------------------------------------- OpenDP


def opendp_ways(asked: Question) -> dict[str, Way]:
    """Laplace noise for a loss of (epsilon, delta), Gaussian noise for the rho that this library converts to it."""
    of = opendp_quantile if asked.kind == "quantile" else opendp_counts
    gaussian = "exponential, rho" if asked.kind == "quantile" else "Gaussian"
    return {"exponential" if asked.kind == "quantile" else "Laplace": of, gaussian: partial(of, rho=True)}


@cache
def opendp_rho(delta: float) -> float:
    """The largest rho that OpenDP itself converts to no more than epsilon at delta."""
    import opendp.prelude as dp

    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)

    def epsilon(scale: float) -> float:
        return dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=scale)).map(1.0).epsilon(delta)

    scale = dp.binary_search(lambda scale: epsilon(scale) <= EPSILON, bounds=(0.1, 1e4))
    return float(dp.m.make_gaussian(*space, scale=scale).map(1.0))


def opendp_loss(*, rho: bool, keys: bool, quantile: bool = False) -> Any:
    """The whole promise. Half of delta is for a threshold, if there is one, and half for rho."""
    import opendp.prelude as dp

    dp.enable_features("contrib", "floating-point")
    if rho:
        return dp.loss_of(rho=opendp_rho(DELTA)) if keys else dp.loss_of(rho=opendp_rho(DELTA / 2), delta=DELTA / 2)
    return dp.loss_of(epsilon=EPSILON) if keys or quantile else dp.loss_of(epsilon=EPSILON, delta=DELTA)


def opendp_counts(asked: Question, file: str, *, rho: bool = False) -> Answer:
    """Numbers of users by key: of keys above a threshold, or of listed keys."""
    import polars as pl

    keys = tuple(domain(file)) if asked.kind == "histogram" else ()
    measurement, widths = opendp_measurement(asked.bound, keys, rho=rho)
    found = measurement(opendp_rows(file)).collect()
    assert isinstance(found, pl.DataFrame)
    counts = {str(item): float(n) for item, n in found.select("item", "len").iter_rows()}
    return Answer(counts, *widths, price=(EPSILON, 0 if keys and not rho else DELTA))


def opendp_rows(file: str) -> Any:
    """Rows that are read when they are needed."""
    import polars as pl

    return pl.scan_parquet(file).select(pl.col("user", "item").cast(pl.Int32))


@cache
def opendp_measurement(most: int, keys: tuple[int, ...], *, rho: bool) -> tuple[Any, list[float]]:
    """What a query is, whatever the data, since it takes seconds to make; and its widths."""
    import opendp.prelude as dp
    import polars as pl

    none = pl.LazyFrame(schema={"user": pl.Int32, "item": pl.Int32})
    context = dp.Context.compositor(
        data=none,
        privacy_unit=dp.unit_of(contributions=1, identifier=pl.col("user")),
        privacy_loss=opendp_loss(rho=rho, keys=bool(keys)),
        split_evenly_over=1,
    )
    query = context.query().truncate_per_group(1, by=["item"], keep="first").truncate_per_group(most)
    query = query.group_by("item").agg(dp.len(signed=True))
    if keys:
        query = query.with_keys(pl.LazyFrame({"item": keys}, schema={"item": pl.Int32}))
    chances = [0.05, *([chance_of_one(len(keys))] if keys else [])]
    accuracies = [query.summarize(alpha=chance)["accuracy"][0] for chance in chances]  # errors are at least so large
    return query.resolve(), [math.ceil(accuracy) - 1 for accuracy in accuracies]


def opendp_quantile(asked: Question, file: str, *, rho: bool = False) -> Answer:
    """Quantiles among the same candidates as ours."""
    import opendp.prelude as dp
    import polars as pl

    context = dp.Context.compositor(
        data=pl.scan_parquet(file).select(pl.col("plays").cast(pl.Int64)),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=opendp_loss(rho=rho, keys=True),
        split_evenly_over=1,
        margins=[dp.polars.Margin(max_length=10**6)],
    )
    candidates = list(range(0, HIGHEST + 1, STEP))
    plays = pl.col("plays").fill_null(0)
    found = context.query().select(*(plays.dp.quantile(q, candidates).alias(f"q{q}") for q in asked.quantiles))
    return Answer(values=[float(one) for one in found.release().collect().row(0)], price=(EPSILON, DELTA if rho else 0))


# --------------------------------------------------------------------------------------------------------- PipelineDP


def pipelinedp_ways(asked: Question) -> dict[str, Way]:
    """Laplace noise is its default; keys are selected before, or by the noisy counts themselves."""
    if asked.kind == "quantile":
        return {"Laplace tree": pipelinedp_quantile, "Gaussian tree": partial(pipelinedp_quantile, gaussian=True)}
    if asked.kind == "histogram":
        return {"Laplace": pipelinedp_counts, "Gaussian": partial(pipelinedp_counts, gaussian=True)}
    return {
        "Laplace": pipelinedp_counts,
        "Laplace, threshold": partial(pipelinedp_counts, after=True),
        "Gaussian, threshold": partial(pipelinedp_counts, gaussian=True, after=True),
    }


@cache
def rows_of(file: str, columns: str) -> list[tuple[Any, ...]]:
    """Rows as Python tuples."""
    import duckdb

    return duckdb.execute(f"SELECT {columns} FROM '{file}'").fetchall()


def pipelinedp_counts(asked: Question, file: str, *, gaussian: bool = False, after: bool = False) -> Answer:
    """Numbers of privacy ids by partition."""
    import pipeline_dp as pdp
    from pipeline_dp import dp_computations

    keys = asked.kind == "histogram"
    delta = DELTA if gaussian or not keys else 0
    accountant = pdp.NaiveBudgetAccountant(total_epsilon=EPSILON, total_delta=delta)
    strategies = pdp.PartitionSelectionStrategy
    params = pdp.AggregateParams(
        metrics=[pdp.Metrics.PRIVACY_ID_COUNT],
        noise_kind=pdp.NoiseKind.GAUSSIAN if gaussian else pdp.NoiseKind.LAPLACE,
        max_partitions_contributed=asked.bound,
        max_contributions_per_partition=1,
        post_aggregation_thresholding=after,
        partition_selection_strategy=(
            strategies.TRUNCATED_GEOMETRIC
            if not after
            else strategies.GAUSSIAN_THRESHOLDING
            if gaussian
            else strategies.LAPLACE_THRESHOLDING
        ),
    )
    of_row = pdp.DataExtractors(
        privacy_id_extractor=lambda row: row[0], partition_extractor=lambda row: row[1], value_extractor=lambda _: 0
    )
    engine = pdp.DPEngine(accountant, pdp.LocalBackend())
    public = domain(file) if keys else None
    found = engine.aggregate(rows_of(file, '"user", item'), params, of_row, public_partitions=public)
    accountant.compute_budgets()
    counts = {str(item): float(one.privacy_id_count) for item, one in found}
    chances = [0.05, *([chance_of_one(asked.domain)] if keys else [])]
    if gaussian:  # a threshold takes half of delta
        spent = DELTA if keys else DELTA / 2
        mechanism = dp_computations.GaussianMechanism.create_from_epsilon_delta(EPSILON, spent, math.sqrt(asked.bound))
        widths = [NormalDist(0, mechanism.noise_parameter).inv_cdf(1 - chance / 2) for chance in chances]
    else:  # selecting before takes half of epsilon
        scale = asked.bound / (EPSILON if keys or after else EPSILON / 2)
        widths = [-math.log(chance) * scale for chance in chances]
    return Answer(counts, *widths, price=(EPSILON, delta))


def pipelinedp_quantile(asked: Question, file: str, *, gaussian: bool = False) -> Answer:
    """Percentiles by a tree of noisy counts."""
    import pipeline_dp as pdp

    delta = DELTA if gaussian else 0
    accountant = pdp.NaiveBudgetAccountant(total_epsilon=EPSILON, total_delta=delta)
    params = pdp.AggregateParams(
        metrics=[pdp.Metrics.PERCENTILE(100 * q) for q in asked.quantiles],
        noise_kind=pdp.NoiseKind.GAUSSIAN if gaussian else pdp.NoiseKind.LAPLACE,
        max_partitions_contributed=1,
        max_contributions_per_partition=1,
        min_value=0,
        max_value=HIGHEST,
    )
    of_row = pdp.DataExtractors(
        privacy_id_extractor=lambda row: row[0], partition_extractor=lambda _: 0, value_extractor=lambda row: row[1]
    )
    engine = pdp.DPEngine(accountant, pdp.LocalBackend())
    found = engine.aggregate(rows_of(file, '"user", plays'), params, of_row, public_partitions=[0])
    accountant.compute_budgets()
    ((_, one),) = list(found)
    values = {float(name.removeprefix("percentile_").replace("_", ".")): value for name, value in one._asdict().items()}
    return Answer(values=[float(values[round(100 * q)]) for q in asked.quantiles], price=(EPSILON, delta))


# --------------------------------------------------------------------------------------------------------- SmartNoise


def smartnoise_ways(asked: Question) -> dict[str, Way]:
    """COUNT(DISTINCT user) by key; there are no quantiles."""
    return {} if asked.kind == "quantile" else {"": smartnoise_counts}


@cache
def frame_of(file: str) -> Any:
    """A frame."""
    import duckdb

    return duckdb.execute(f"""SELECT DISTINCT "user", item FROM '{file}'""").fetch_df()


def smartnoise_counts(asked: Question, file: str) -> Answer:
    """By SQL: it charges half of the delta that it is given on top of it, so it is given two thirds."""
    import snsql

    keys = asked.kind == "histogram"
    columns = {"user": {"type": "int", "private_id": True}, "item": {"type": "int"}}
    options = {"max_ids": asked.bound, "row_privacy": False, "censor_dims": not keys, "clamp_counts": False}
    metadata = {"": {"data": {"events": {**options, **columns}}}}
    privacy = snsql.Privacy(epsilon=EPSILON, delta=DELTA / 1.5)
    reader = snsql.from_connection(frame_of(file), privacy=privacy, metadata=metadata)
    query = "SELECT item, COUNT(DISTINCT user) AS n FROM data.events GROUP BY item"
    epsilon, delta = reader.get_privacy_cost(query)
    assert epsilon <= EPSILON, epsilon
    assert delta <= DELTA, delta
    chances = [0.05, *([chance_of_one(asked.domain)] if keys else [])]
    said = [reader.get_simple_accuracy(query, alpha=chance) for chance in chances]
    widths = [float(one) for accuracy in said for one in accuracy if one is not None]
    found = reader.execute(query)[1:]
    return Answer({str(item): float(n) for item, n in found}, *widths, price=(float(epsilon), float(delta)))


LIBRARIES: dict[str, tuple[str, Callable[[Question], dict[str, Way]]]] = {
    "dpselect": ("dpselect", dpselect_ways),
    "OpenDP": ("opendp", opendp_ways),
    "PipelineDP": ("pipeline_dp", pipelinedp_ways),
    "SmartNoise": ("snsql", smartnoise_ways),
}

# ------------------------------------------------------------------------------------------------------------- inputs


def domain(file: str) -> list[int]:
    """The listed items of a histogram, which are public."""
    return json.loads(Path(file).with_suffix(".json").read_text("ascii"))


def write_inputs(folder: Path) -> None:
    """All files."""
    import duckdb
    from inputs import DATA

    for name in FILES:
        duckdb.execute(
            f"""COPY (SELECT DISTINCT "user", item FROM '{DATA}/{name}.parquet' ORDER BY hash("user", item))
            TO '{folder}/{name}.parquet'"""
        )
    duckdb.execute(
        f"""COPY (SELECT "user", least(sum(plays), {HIGHEST})::BIGINT AS plays FROM '{DATA}/lastfm.parquet' GROUP BY 1)
        TO '{folder}/plays.parquet'"""
    )
    for asked in QUESTIONS:
        file = folder / f"{asked.file}.parquet"
        if asked.kind in ("top", "quantile") or file.exists():
            continue
        if asked.data == "planted":
            plant(file, asked.bound)
            continue
        rows = f"'{folder}/{asked.data}.parquet'"
        if asked.domain:
            best = f"SELECT item FROM {rows} GROUP BY item ORDER BY count(*) DESC, item LIMIT {asked.domain}"
            listed = [item for (item,) in duckdb.execute(best).fetchall()]
            file.with_suffix(".json").write_text(json.dumps(listed), "ascii")
            rows = f"(FROM {rows} WHERE item IN ({', '.join(map(str, listed))}))"
        duckdb.execute(
            f"""COPY (SELECT "user", item FROM {rows} QUALIFY {asked.bound} >=
            row_number() OVER (PARTITION BY "user" ORDER BY hash(item, "user"))) TO '{file}'"""
        )


def plant(file: Path, most: int) -> None:
    """Items with all numbers of users up to about the most, step by step; a user draws so many places of items."""
    import duckdb
    import numpy as np

    largest, step = PLANTED[most]
    sizes = np.arange(step, largest + 1, step)
    slots = np.random.default_rng(most).permutation(np.repeat(sizes, sizes))
    rows = np.column_stack([np.arange(len(slots)) // most, slots]).astype(np.int32)  # an item is named by its size
    users, items = np.unique(rows, axis=0).T
    import pyarrow as pa

    planted = pa.table({"user": users, "item": items})
    duckdb.connect().register("planted", planted).execute(f"COPY planted TO '{file}'")


# ------------------------------------------------------------------------------------------------------------ answers


def answer_all(name: str, folder: Path, runs: int) -> None:
    """In a process of its own: every answer as a line of JSON."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    out, sys.stdout = sys.stdout, sys.stderr
    for asked in QUESTIONS:
        file = str(folder / f"{asked.file}.parquet")
        for way, ask in LIBRARIES[name][1](asked).items():
            for _ in range(runs):
                print(json.dumps([asked.key, way, vars(ask(asked, file))]), file=out, flush=True)


def answers_of(
    name: str, python: str, folder: Path, runs: int, kept: Path | None
) -> dict[tuple[str, str], list[Answer]]:
    """By question and way; empty where the library is not installed."""
    file = kept and kept / f"{name}.jsonl"
    if file and file.exists():
        lines = file.read_text("utf-8")
    else:
        installed = subprocess.run([python, "-c", f"import {LIBRARIES[name][0]}"], capture_output=True, check=False)
        if installed.returncode:
            print(f"{name} is not installed\n")
            return {}
        command = [python, __file__, "--library", name, "--inputs", str(folder), "--runs", str(runs)]
        lines = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout
        if file:
            file.write_text(lines, "utf-8")
    answers: dict[tuple[str, str], list[Answer]] = {}
    for key, way, said in map(json.loads, lines.splitlines()):
        answers.setdefault((key, way), []).append(Answer(**said))
    return answers


# ------------------------------------------------------------------------------------------------------------- scores


@dataclass(frozen=True)
class Score:
    """A mean and its standard error; is less better?"""

    mean: float
    error: float = 0.0
    less: bool = True

    @classmethod
    def of(cls, values: list[float], *, less: bool = True) -> Score:
        """Of the runs."""
        mean = sum(values) / len(values)
        spread = math.sqrt(sum((one - mean) ** 2 for one in values) / max(1, len(values) - 1))
        return cls(mean, spread / math.sqrt(len(values)), less)


def best_of(scores: list[Score]) -> list[bool]:
    """Which are best, within two standard errors of the difference."""
    known = [one for one in scores if not math.isnan(one.mean)]
    if not known:
        return [False] * len(scores)
    best = (min if known[0].less else max)(known, key=lambda one: one.mean)
    return [abs(one.mean - best.mean) <= 2 * math.hypot(one.error, best.error) + 1e-9 for one in scores]


@cache
def true_counts(file: str) -> dict[str, int]:
    """Users of each item."""
    import duckdb

    rows = duckdb.execute(f"""SELECT item, count(DISTINCT "user") FROM '{file}' GROUP BY item""").fetchall()
    return {str(item): n for item, n in rows}


@cache
def sorted_plays(file: str) -> list[float]:
    """The values of all users."""
    import duckdb

    return [plays for (plays,) in duckdb.execute(f"SELECT plays FROM '{file}' ORDER BY plays").fetchall()]


def scores(asked: Question, folder: Path, answers: list[Answer]) -> dict[str, Score]:
    """The figures of one question and way."""
    file = str(folder / f"{asked.file}.parquet")
    widths = [one.width for one in answers if not math.isnan(one.width)]
    width = Score(round(widths[0]) if widths else math.nan)
    if asked.kind == "quantile":
        return {"ranks": Score.of([rank_error(sorted_plays(file), asked.quantiles, one.values) for one in answers])}
    if asked.kind == "histogram":
        return {"width": width, "width of all": Score(round(answers[0].width_of_all))}
    if asked.kind == "union":
        if asked.data == "planted":
            return {"even chance": Score.of([users_missed(true_counts(file), one.counts) for one in answers])}
        return {"items": Score.of([len(one.counts) for one in answers], less=False), "width": width}
    counts = true_counts(file)
    tenth = sorted(counts.values())[-K]
    found = [sorted(one.counts, key=lambda item: -one.counts[item])[:K] for one in answers]
    recall = [100 * sum(counts[item] >= tenth for item in ten) / K for ten in found]
    return {"recall": Score.of(recall, less=False), "width": width}


def users_missed(counts: dict[str, int], found: dict[str, float]) -> float:
    """How many numbers of users were not enough: each item stands for those from the next smaller one's on."""
    smaller, missed = 0, 0
    for item, n in sorted(counts.items(), key=lambda one: one[1]):
        missed += 0 if item in found else n - smaller
        smaller = n
    return missed


def rank_error(ordered: list[float], quantiles: tuple[float, ...], values: list[float]) -> float:
    """Mean number of users between an answer and its quantile."""
    from bisect import bisect_left, bisect_right

    errors = []
    for q, value in zip(quantiles, values, strict=True):
        place = q * len(ordered)
        errors.append(max(bisect_left(ordered, value) - place, place - bisect_right(ordered, value), 0.0))
    return sum(errors) / len(errors)


def shown(figure: str, score: Score) -> str:
    """A figure for people."""
    if math.isnan(score.mean):
        return "-"
    return f"{score.mean:,.1f}" if figure == "ranks" else f"{score.mean:,.0f}"


def heading(asked: Question, figure: str) -> str:
    """A column."""
    if asked.kind == "quantile":
        return f"{asked.data}, {figure}"
    if asked.kind == "histogram":
        return f"{asked.domain} items, {f'at most {asked.most} of a user' if asked.most else 'all of a user'}, {figure}"
    return figure if asked.data == "planted" else f"{asked.data}, {figure}"


GROUPS: dict[str, Callable[[Question], bool]] = {
    **{
        f"Union with counts, at most {m} items of a user": partial(lambda q, m: q.kind == "union" and q.most == m, m=m)
        for m in PLANTED
    },
    **{
        f"Top 10 with counts, at most {m} items of a user": partial(lambda q, m: q.kind == "top" and q.most == m, m=m)
        for m in (5, 30)
    },
    "Histogram": lambda q: q.kind == "histogram",
    "Quantiles: mean error in ranks": lambda q: q.kind == "quantile",
}


def columns(found: dict[tuple[str, str, str], list[Answer]], group: Callable[[Question], bool], folder: Path) -> Any:
    """The figures of a group: by column, by library and way."""
    told: dict[str, dict[tuple[str, str], Score]] = {}
    for asked in filter(group, QUESTIONS):
        for (key, name, way), answers in found.items():
            if key == asked.key:
                for figure, score in scores(asked, folder, answers).items():
                    told.setdefault(heading(asked, figure), {})[name, way] = score
    return told


def report(found: dict[tuple[str, str, str], list[Answer]], folder: Path) -> Iterator[list[object]]:
    """Print a table for each group; yield lines of the CSV file."""
    for title, group in GROUPS.items():
        told = columns(found, group, folder)
        ways = list(dict.fromkeys(one for column in told.values() for one in column))
        cells: dict[tuple[str, str], list[str]] = {way: [] for way in ways}
        for name, column in told.items():
            figure = name.rpartition(", ")[2]
            known = [column.get(way, Score(math.nan)) for way in ways]
            for way, score, best in zip(ways, known, best_of(known), strict=True):
                text = shown(figure, score)
                cells[way].append(f"**{text}**" if best else text)
                if way in column and not math.isnan(score.mean):
                    yield [title, name, *way, round(score.mean, 2), round(score.error, 2), "yes" if best else ""]
        print(f"{title}\n")
        table(["library", "way", *told], [[*way, *row] for way, row in cells.items()])


def main() -> None:
    """All tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--smartnoise", default=sys.executable, help="a Python that has SmartNoise")
    parser.add_argument(
        "--keep", type=Path, help="a folder for inputs and answers; answers that are there are not asked for again"
    )
    parser.add_argument("--csv", type=Path, help="write the figures here, too")
    parser.add_argument("--library", choices=LIBRARIES, help="answer with one library (used by this script itself)")
    parser.add_argument("--inputs", type=Path)
    options = parser.parse_args()
    if options.library:
        answer_all(options.library, options.inputs, options.runs)
        return
    with contextlib.ExitStack() as stack:
        folder = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(exist_ok=True)
        write_inputs(folder)
        found: dict[tuple[str, str, str], list[Answer]] = {}
        for name in LIBRARIES:
            python = options.smartnoise if name == "SmartNoise" else sys.executable
            for (key, way), answers in answers_of(name, python, folder, options.runs, options.keep).items():
                found[key, name, way] = answers
        lines = list(report(found, folder))
    if options.csv:
        import csv

        with options.csv.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(
                [["question", "figure", "library", "way", "mean", "standard_error", "best"], *lines]
            )


if __name__ == "__main__":
    single_threaded()
    main()
