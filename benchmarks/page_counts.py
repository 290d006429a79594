"""Pages with counts: what a noisy count with a threshold finds, tuned by hand as it is published, and what ours find.

Views of pages by users in one country each, of whom each counts for at most 10 pages. By hand: zCDP, its usual
conversion to (epsilon, delta), and the split of delta between noise and threshold that makes the threshold lowest; and
the same with the exact law of Gaussian noise. A count's precision is its distance from the true one, with
95 % confidence.
"""

from __future__ import annotations

import argparse
import math
import statistics
from fractions import Fraction
from statistics import NormalDist

import duckdb
import numpy as np
from by_group import views
from measure import single_threaded, table

import dpselect as dps
from dpselect.accounting.gaussian_curve import smallest_deviation

EPSILON, DELTA, MOST = 1.0, 1e-6, 10
PARTS = np.linspace(0.02, 0.98, 49)  # of delta, for the noise


def by_hand(exact: bool) -> tuple[float, float]:
    """Deviation and threshold of the split that makes the threshold lowest."""
    return min((tuned(float(part), exact=exact) for part in PARTS), key=lambda found: found[1])


def tuned(part: float, *, exact: bool) -> tuple[float, float]:
    """Deviation and threshold where the noise gets this part of delta."""
    if exact:
        deviation = float(smallest_deviation(Fraction(EPSILON), Fraction(DELTA * part))) * math.sqrt(MOST)
    else:  # epsilon = rho + 2 sqrt(rho ln(1 / delta))
        log = math.log(1 / (DELTA * part))
        rho = (math.sqrt(log + EPSILON) - math.sqrt(log)) ** 2
        deviation = math.sqrt(MOST / (2 * rho))
    each = -math.expm1(math.log1p(-DELTA * (1 - part)) / MOST)
    return deviation, 1 - deviation * NormalDist().inv_cdf(each)


def counted(file: str, deviation: float, threshold: float, runs: int) -> float:
    """How many pages come back: a random 10 pages of every user, counts, noise, a threshold."""
    found = []
    for run in range(runs):
        place = f"row_number() OVER (PARTITION BY user ORDER BY hash(page, {run}, user))"
        kept = f"SELECT * FROM (SELECT DISTINCT user, country, page FROM '{file}') QUALIFY {place} <= {MOST}"
        counts = duckdb.sql(f"SELECT count(*) AS n FROM ({kept}) GROUP BY country, page").fetchnumpy()["n"]
        noise = np.random.default_rng(run).normal(0, deviation, len(counts))
        found.append(int((counts + noise > threshold).sum()))
    return statistics.mean(found)


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--rows", type=int, default=2 * 10**7)
    options = parser.parse_args()
    file = str(views(options.rows, options.rows // 20, 200, 10**5))
    half = -NormalDist().inv_cdf(0.025)
    lines = []
    for name, exact in (("by hand, zCDP", False), ("by hand, exact Gaussian", True)):
        deviation, threshold = by_hand(exact)
        pages = counted(file, deviation, threshold, options.runs)
        lines.append([name, f"{deviation:.2f}", f"{threshold:.1f}", f"{pages:,.0f}", f"{half * deviation:.0f}"])
    data = dps.Dataset(file, user="user", item="page", max_items_per_user=MOST)
    for method in ("count-gaussian", "auto"):
        found = [
            data.union(epsilon=EPSILON, delta=DELTA, by="country", counts=True, method=method)
            for _ in range(options.runs)
        ]
        said = found[0].privacy.parameters
        lines.append(
            [
                f"union, {said['method']}",
                f"{said['deviation_of_counts']:.2f}",
                f"{float(said['threshold']):.1f}" if "threshold" in said else "-",
                f"{statistics.mean(map(len, found)):,.0f}",
                f"{half * said['deviation_of_counts']:.0f}",
            ]
        )
    print(f"{options.rows:,} rows, at most {MOST} pages of a user, ({EPSILON:g}, {DELTA:g}), means of {options.runs}\n")
    table(["way", "deviation of counts", "threshold", "pages", "precision"], lines)


if __name__ == "__main__":
    single_threaded()
    main()
