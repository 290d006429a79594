"""What rose most: how much of it is found, and what would subtracting two noisy histograms find?

Per cent of the users that the true k risers gained which the k items of an answer did not gain; medians of the runs.
`two histograms` asks for the noisy counts of every item of a known domain in both periods, at the same price for each
user in one period, and takes the k largest differences. `invented` has 20,000 users in each of two months, with 10 of
5,000 items on average, liked as r^-1, of which 50 in the middle are liked twice as much in the second month; `ml100k`
is that file of the folder `DPSELECT_DATA`, the ratings of one month against those of the month before.
"""

from __future__ import annotations

import argparse
import os
import statistics
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from measure import alternate, call, table

import dpselect as dps

DELTA = "1e-6"
BOUND = 20
ITEMS = 5_000
Counts = dict[object, int]


def invented(users: int = 20_000) -> tuple[dict[str, Any], list[str], range]:
    """Rows of two months, their names and the items that there can be."""
    rng = np.random.default_rng(7)
    liked = 1 / np.arange(1, ITEMS + 1)
    rose = liked.copy()
    rose[rng.choice(np.arange(20, 500), 50, replace=False)] *= 2
    rows: dict[str, Any] = {"user": [], "item": [], "at": []}
    for month, weights in (("2026-09", liked), ("2026-10", rose)):
        length = rng.poisson(10, users)
        rows["user"].append(np.repeat(np.arange(users), length))
        rows["item"].append(rng.choice(ITEMS, int(length.sum()), p=weights / weights.sum()))
        rows["at"].append(np.repeat(np.datetime64(f"{month}-15"), int(length.sum())))
    return {name: np.concatenate(parts) for name, parts in rows.items()}, ["2026-09", "2026-10"], range(ITEMS)


def ratings() -> tuple[dict[str, Any], list[str], range]:
    """The same of films that were rated."""
    import pyarrow.parquet as pq

    found = pq.read_table(Path(os.environ["DPSELECT_DATA"]) / "ml100k.parquet").to_pydict()
    at = np.array(found["timestamp"], dtype="datetime64[s]").astype("datetime64[us]")
    rows = {"user": np.array(found["user"]), "item": np.array(found["item"]), "at": at}
    return rows, ["1997-10", "1997-11"], range(1, 1683)


def gains(rows: dict[str, Any], months: list[str]) -> Counter[object]:
    """By how many users every item rose."""
    at = rows["at"].astype("datetime64[M]").astype(str)
    triples = set(zip(at.tolist(), rows["user"].tolist(), rows["item"].tolist(), strict=True))
    now, before = (Counter(item for month, _, item in triples if month == name) for name in reversed(months))
    return now - before


def dataset(rows: dict[str, Any], during: str, **more: Any) -> dps.Dataset:
    """The rows of one month."""
    return dps.Dataset(rows, user="user", item="item", time=dps.Time("at", period="month"), **more).during(during)


def subtracted(rows: dict[str, Any], months: list[str], domain: range, k: int, epsilon: float) -> list[object]:
    """The largest differences of two noisy histograms."""
    before, now = (
        {
            item.item: item.count or 0
            for item in dataset(rows, month, max_items_per_user=BOUND).histogram(
                domain=domain, epsilon=epsilon, delta=DELTA
            )
        }
        for month in months
    )
    return sorted(domain, key=lambda item: before.get(item, 0) - now.get(item, 0))[:k]  # type: ignore[return-value]


def answers(rows: dict[str, Any], months: list[str], domain: range, k: int, epsilon: float) -> dict[str, list[object]]:
    """What each way finds."""
    data, asked = dataset(rows, months[1]), {"epsilon": epsilon, "delta": DELTA, "score": dps.Gain(months[0])}
    return {
        "limited-domain": data.top_k(k, method="limited-domain", **asked).labels,
        "discover": data.top_k(k, method="discover", **asked).labels,
        "known domain": data.top_k(k, domain=domain, **asked).labels,
        "two histograms": subtracted(rows, months, domain, k, epsilon),
    }


def costs(users: int) -> None:
    """The CPU of the question beside that of an ordinary top k of the rows of the same two months."""
    rows, months, _ = invented(users)
    both, later = dataset(rows, f"{months[0]}..{months[1]}"), dataset(rows, months[1])
    asked: dict[str, Any] = {"epsilon": 1, "delta": DELTA, "method": "limited-domain"}
    found = alternate(
        {
            "top k of both": lambda: call(lambda: both.top_k(10, **asked)),
            "what rose most": lambda: call(lambda: later.top_k(10, score=dps.Gain(months[0]), **asked)),
        },
        3,
    )
    ratio = found["what rose most"].cpu / found["top k of both"].cpu
    figures = [f"{one.cpu:.2g} s" for one in found.values()]
    table(["rows", *found, "ratio"], [[f"{len(rows['user']):,}", *figures, f"{ratio:.2f}"]])


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=5)
    options.add_argument("--epsilons", default="0.3,1")
    options.add_argument("--ks", default="10,50")
    options.add_argument("--cost", type=int, metavar="USERS", help="the CPU with so many users, and nothing else")
    args = options.parse_args()
    if args.cost:
        costs(args.cost)
        return
    found = {"invented": invented()}
    if "DPSELECT_DATA" in os.environ:
        found["ml100k"] = ratings()
    lines: list[list[object]] = []
    for name, (rows, months, domain) in found.items():
        true = gains(rows, months)
        for epsilon in map(float, args.epsilons.split(",")):
            for k in map(int, args.ks.split(",")):
                best = sum(gain for _, gain in true.most_common(k))
                runs = [answers(rows, months, domain, k, epsilon) for _ in range(args.runs)]
                missed = [
                    statistics.median(100 * (1 - sum(true[item] for item in run[way]) / best) for run in runs)
                    for way in runs[0]
                ]
                lines.append([name, epsilon, k, best, *(f"{one:.0f}" for one in missed)])
    table(["data", "epsilon", "k", "gained by the best k", *runs[0]], lines)


if __name__ == "__main__":
    main()
