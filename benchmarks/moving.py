"""The ten artists with most listeners, as in the guide to moving: a top k, and counts of all items, sorted.

5,000 invented users of `dpselect demo`; epsilon 1, delta 1e-6, at most 5 items of a user where there is a bound.
Recall is the share of the ten true artists that the first ten of an answer have, in per cent; means of the runs.
"Counts within" is the width of a 95 % interval of one count.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
from measure import table

import dpselect as dps
from dpselect.demo import write_listening_events

EPSILON, DELTA, BOUND, K = 1, "1e-6", 5, 10
Answer = tuple[Iterable[object], float, bool]  # the first ten items, how far counts may be off, and is the list full


def of_top_k(most: int | None) -> Callable[[str], Answer]:
    """A top k with counts."""

    def ask(file: str) -> Answer:
        data = dps.Dataset(file, user="user", item="artist", max_items_per_user=most)
        found = data.top_k(K, epsilon=EPSILON, delta=DELTA, counts=True)
        return found.labels, float(found.accuracy.numbers["width_of_counts"]), len(found) == K

    return ask


def of_sorted_union(method: str) -> Callable[[str], Answer]:
    """Counts of all items that enough users share, sorted."""

    def ask(file: str) -> Answer:
        data = dps.Dataset(file, user="user", item="artist", max_items_per_user=BOUND)
        found = data.union(epsilon=EPSILON, delta=DELTA, method=method, counts=True)
        ten = sorted(found, key=lambda one: -(one.count or 0))[:K]
        return [one.item for one in ten], float(found.accuracy.numbers["width_of_counts"]), len(ten) == K

    return ask


def opendp(file: str) -> Answer:
    """The same with the counts of OpenDP's Polars, with the bound of its Laplace noise that it states."""
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    context = dp.Context.compositor(
        data=pl.scan_parquet(file),
        privacy_unit=dp.unit_of(contributions=1, identifier=pl.col("user")),
        privacy_loss=dp.loss_of(epsilon=float(EPSILON), delta=float(DELTA)),
        split_evenly_over=1,
        margins=[dp.polars.Margin(by=[], max_length=10**7)],
    )
    query = context.query().filter(pl.col("artist").is_not_null())
    query = query.truncate_per_group(1, by=["artist"]).truncate_per_group(BOUND)
    query = query.group_by("artist").agg(dp.len())
    (accuracy,) = query.summarize(alpha=0.05)["accuracy"]  # errors are at least so large with probability alpha
    found = query.release().collect().sort("len", descending=True).head(K)
    return found["artist"].to_list(), math.ceil(accuracy) - 1, len(found) == K


WAYS: dict[str, Callable[[str], Answer]] = {
    "top_k without a bound": of_top_k(None),
    f"top_k, at most {BOUND} items": of_top_k(BOUND),
    **{
        f"union with {method}, sorted, at most {BOUND} items": of_sorted_union(method)
        for method in ("count-gaussian", "count-laplace")
    },
    f"OpenDP, sorted, at most {BOUND} items": opendp,
}


def best(file: str) -> set[object]:
    """The ten true artists."""
    import duckdb

    sql = f"SELECT artist FROM '{file}' GROUP BY artist ORDER BY count(DISTINCT user) DESC LIMIT {K}"
    return {artist for (artist,) in duckdb.execute(sql).fetchall()}


def main() -> None:
    """Print a row for each way; OpenDP where it is installed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--users", type=int, default=5_000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "events.parquet"
        write_listening_events(path, users=args.users)
        file = str(path)
        truth, rows = best(file), []
        for name, ask in WAYS.items():
            try:
                answers = [ask(file) for _ in range(args.runs)]
            except ImportError:
                rows.append([name, "not installed", "", "", ""])
                continue
            recalls = [100 * len(truth & set(items)) / K for items, _, _ in answers]
            error = np.std(recalls) / np.sqrt(args.runs)
            full = 100 * np.mean([full for _, _, full in answers])
            rows.append([name, f"{np.mean(recalls):.0f}", f"{error:.1f}", f"{full:.0f}", str(math.ceil(answers[0][1]))])
        table(["way", "recall", "standard error", "full lists %", "counts within"], rows)


if __name__ == "__main__":
    main()
