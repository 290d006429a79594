"""The experiment of Gopi et al. 2020: how many items every set union finds, by epsilon and by max_items_per_user.

delta = e^-10. The data are 10^5 users of about 9.4 Zipf items each (a new input for each run), the words of commit
messages, and two public sets (the folder `DPSELECT_DATA`): only numbers of items are shown, never items.
The sizes to expect and the settings they were found at are those of `union_sizes`.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache, partial
from itertools import chain, product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from inputs import DATA
from measure import single_threaded, table
from union_sizes import DELTA, KNOWN, SETTINGS, Union, continuous, data, errors_away, halves

import dpselect as dps
from dpselect.aggregates.user_sets import UserSets
from dpselect.mechanisms import (
    CountGaussian,
    GreedyGeometric,
    RenyiShaped,
    TruncatedGeometric,
    WeightedGaussian,
)
from dpselect.papers import PolicyGaussian, PolicyLaplace, WeightedLaplace
from dpselect.testing import SeededDraws

ITEMS = {"commits": "unnest(split(text, ' '))", "lastfm": "item", "msweb": "item"}
ZIPF = "zipf"
TABLES = [(ZIPF, 10), (ZIPF, 100), ("commits", 100), ("lastfm", 100), ("msweb", 10)]
PANELS = [(ZIPF, 10), ("commits", 100), ("lastfm", 100), ("msweb", 10)]
EPSILONS = ("0.5", "1", "3")

Build = Callable[..., Union]
PAPER: Mapping[str, Build] = {
    "count-laplace": continuous,
    "count-gaussian, halves": halves,
    "weighted-laplace": WeightedLaplace,
    "weighted-gaussian": WeightedGaussian,
    "policy-laplace": PolicyLaplace,
    "policy-gaussian": PolicyGaussian,
}
PUBLISHED: Mapping[str, Build] = {
    "truncated-geometric": lambda max_items_per_user, **terms: TruncatedGeometric(**terms),  # noqa: ARG005 - it is 1
}
OURS: Mapping[str, Build] = {
    "count-gaussian": CountGaussian,
    "greedy-geometric": GreedyGeometric,
    "renyi-shaped": RenyiShaped,
}
METHODS = {**PAPER, **PUBLISHED, **OURS}
COLOURS = {"laplace": "C0", "gaussian": "C1"}
KINDS = {"count": ":", "weighted": "--", "policy": "-"}
STYLES = {
    **{name: f"{COLOURS[noise]}{KINDS[kind]}" for name in PAPER for kind, noise in [name.split(",")[0].split("-")]},
    **{method: f"C{number}-." for number, method in enumerate(PUBLISHED, 2)},
    **{method: f"{colour}-o" for method, colour in zip(OURS, ("C4", "C2", "k"), strict=True)},
}
LADDERS = [tuple(PAPER)[0::2], tuple(PAPER)[1::2]]  # of one noise each
BEST_KNOWN = {"0.5": 885, "1": 1693, "3": 4833}  # of all published methods, Zipf, max_items_per_user = 10

BOUNDED = ("renyi-shaped", "greedy-geometric")
BOUNDS = (2, 3, 10, 30, 100, 300)
BOUND_EPSILONS = ("0.1", "1", "3", "10")
RENYI, GREEDY = BOUNDED
RULES: Mapping[str, Callable[[float, int], str]] = {
    f"{RENYI}, always": lambda _, __: RENYI,
    f"{GREEDY}, always": lambda _, __: GREEDY,
    f"{GREEDY} from epsilon = 10 on": lambda epsilon, _: GREEDY if epsilon >= 10 else RENYI,
    "the same, for D0 of at most 10": lambda epsilon, most: GREEDY if epsilon >= 10 and most <= 10 else RENYI,
    f"{GREEDY} at epsilon = 0.1, D0 = 2": lambda epsilon, most: GREEDY if epsilon <= 0.1 and most <= 2 else RENYI,
    f"{GREEDY} at D0 = 2": lambda _, most: GREEDY if most <= 2 else RENYI,
}
FEW = 10  # items; where no method finds more, nothing is compared


@cache
def users(name: str, run: int) -> UserSets:
    """A fresh input for each run, or the same file for all of them."""
    if name == ZIPF:
        return data(run)
    return users(name, 0) if run else from_file(DATA / f"{name}.parquet", ITEMS[name])


def from_file(file: Path, item: str) -> UserSets:
    """Every user's distinct items."""
    found = duckdb.sql(f"""
        SELECT "user" AS person, dense_rank() OVER (ORDER BY item) - 1 AS code
        FROM (SELECT DISTINCT "user", {item} AS item FROM '{file.as_posix()}') WHERE item IS NOT NULL
        ORDER BY person, code""").fetchnumpy()
    codes = found["code"].astype(np.int64)
    starts = np.flatnonzero(np.diff(found["person"], prepend=found["person"][0] - 1))
    offsets = np.append(starts, len(codes)).astype(np.int64)
    return UserSets(offsets=offsets, codes=codes, size=int(codes.max()) + 1, label=lambda code: code)


@cache
def size(mechanism: Union, name: str, run: int) -> int:
    """How many items it finds in one run."""
    return len(mechanism(users(name, run), draws=SeededDraws(seed=run)))


def sizes(mechanism: Union, name: str, runs: int) -> list[int]:
    """And in each of several runs."""
    return [size(mechanism, name, run) for run in range(runs)]


@cache
def at(method: str, epsilon: str, most: int) -> Union:
    """A method at these settings."""
    return METHODS[method](epsilon=epsilon, delta=DELTA, max_items_per_user=most)


def found(method: str, name: str, epsilon: str, most: int, runs: int) -> list[int]:
    """How many items a method finds in each run."""
    return sizes(at(method, epsilon, most), name, runs)


def spread(values: Sequence[int]) -> str:
    """The mean, and the standard deviation of one run."""
    return f"{statistics.mean(values):,.0f} ± {statistics.stdev(values):.0f}"


def size_table(name: str, most: int, runs: int) -> None:
    """Every method at every epsilon; bold is the best."""
    cells = {epsilon: {method: found(method, name, epsilon, most, runs) for method in METHODS} for epsilon in EPSILONS}
    best = {epsilon: max(each, key=lambda method: sum(each[method])) for epsilon, each in cells.items()}
    print(f"{name}, max_items_per_user = {most}\n")
    rows = []
    for method in METHODS:
        marks = ["**" if method == best[epsilon] else "" for epsilon in EPSILONS]
        shown = [f"{mark}{spread(cells[e][method])}{mark}" for mark, e in zip(marks, EPSILONS, strict=True)]
        rows.append([method, *shown])
    table(["method", *(f"epsilon = {epsilon}" for epsilon in EPSILONS)], rows)
    for ladder in LADDERS:
        means = {e: [statistics.mean(cells[e][method]) for method in ladder] for e in EPSILONS}
        wrong = [f"epsilon = {e}" for e, each in means.items() if each != sorted(each)]
        print(" < ".join(ladder) + ":", f"NOT at {', '.join(wrong)}" if wrong else "at every epsilon")
    print(flush=True)


def expected_table(runs: int) -> None:
    """The methods whose sizes on Zipf users are known from elsewhere, and the best of ours beside the best of those."""
    print("zipf: size to expect / found (standard errors away)\n")
    rows, away = [], []
    for method, (build, known) in KNOWN.items():
        cells = []
        for (epsilon, most), expected in zip(SETTINGS, known, strict=True):
            ours = sizes(build(epsilon, most), ZIPF, runs)
            away.append(0.0 if expected is None else errors_away(ours, expected))
            cells.append(
                f"{expected or '-'} / {statistics.mean(ours):.0f}" + (f" ({away[-1]:+.1f})" if expected else "")
            )
        rows.append([method, *cells])
    table(["method", *(f"epsilon = {epsilon}, D0 = {most}" for epsilon, most in SETTINGS)], rows)
    print(f"Most standard errors away: {max(map(abs, away)):.1f}.")
    for epsilon, known_best in BEST_KNOWN.items():
        ours = {method: statistics.mean(found(method, ZIPF, epsilon, 10, runs)) for method in OURS}
        best = max(ours, key=lambda method: ours[method])
        gain = ours[best] / known_best - 1
        print(f"epsilon = {epsilon}: {best} {ours[best]:,.0f}, best published {known_best:,} ({gain:+.0%})")
    print(flush=True)


def chosen(method: str, epsilon: str, name: str, runs: int) -> tuple[list[int], list[int]]:
    """With a bound that is chosen privately: the bounds, the sizes. Rounds share a budget with the choice."""
    terms: Any = dps.Union(method=method).at(epsilon=epsilon, delta=DELTA)
    if terms.chooses_bound:
        choice, mechanism = terms.bound_choice, lambda most: terms.mechanisms(most)[0]
    else:  # greedy needs no bound: its price would be what the same choice leaves
        choice = dps.Union(method=RENYI).at(epsilon=epsilon, delta=DELTA).bound_choice
        left = str(Fraction(epsilon) - choice.epsilon)
        mechanism = partial(at, method, left)
    bounds = [choice.of_sets(users(name, run), SeededDraws(seed=run)) for run in range(runs)]
    return bounds, [size(mechanism(most), name, run) for run, most in enumerate(bounds)]


def bound_table(name: str, runs: int) -> None:
    """Three methods over max_items_per_user; bold is the best of a row."""
    print(f"{name}, mean sizes over max_items_per_user\n")
    rows = []
    for epsilon in BOUND_EPSILONS:
        bounds, _ = chosen(BOUNDED[0], epsilon, name, runs)
        for method in BOUNDED:
            means = [statistics.mean(found(method, name, epsilon, most, runs)) for most in BOUNDS]
            own = statistics.mean(chosen(method, epsilon, name, runs)[1])
            marks = ["**" if mean == max(means) and mean else "" for mean in means]
            cells = [f"{mark}{mean:,.0f}{mark}" for mark, mean in zip(marks, means, strict=True)]
            rows.append([epsilon, method, *cells, f"{own:,.0f} (at {min(bounds)} to {max(bounds)})"])
    table(["epsilon", "method", *map(str, BOUNDS), "chosen privately"], rows)


def rule_table(runs: int) -> None:
    """What rules for a method by epsilon and max_items_per_user would find, as parts of the best of three."""
    print("Parts of the best of the three: geometric mean (least) over the tables above\n")
    rows = []
    for rule, method_at in RULES.items():
        parts: dict[str, list[float]] = {name: [] for name, _ in PANELS}
        for name, epsilon, most in product(parts, BOUND_EPSILONS, BOUNDS):
            means = {method: statistics.mean(found(method, name, epsilon, most, runs)) for method in BOUNDED}
            if max(means.values()) >= FEW:
                parts[name].append(means[method_at(float(epsilon), most)] / max(means.values()))
        cells = [f"{statistics.geometric_mean(each):.2f} ({min(each):.2f})" for each in parts.values()]
        rows.append([rule, *cells, f"{statistics.geometric_mean(chain(*parts.values())):.3f}"])
    table(["rule", *(name for name, _ in PANELS), "all"], rows)


def draw(path: Path, runs: int, bound_runs: int) -> None:
    """Above, sizes over epsilon; below, sizes over max_items_per_user at epsilon 1."""
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullLocator

    mpl.rcParams["svg.hashsalt"] = "dpselect"
    figure = Figure(figsize=(14, 7.5), layout="constrained")
    for place, (name, most) in enumerate(PANELS):
        axes = figure.add_subplot(2, len(PANELS), place + 1)
        for method, style in STYLES.items():
            means = [max(statistics.mean(found(method, name, epsilon, most, runs)), 1) for epsilon in EPSILONS]
            axes.plot([float(epsilon) for epsilon in EPSILONS], means, style, label=method, markersize=3)
        axes.set(xscale="log", yscale="log", xlabel="epsilon")
        axes.set_title(f"{name}, max_items_per_user = {most}", fontsize=10)
        axes.set_xticks([float(epsilon) for epsilon in EPSILONS], EPSILONS)
        axes.xaxis.set_minor_locator(NullLocator())
        below = figure.add_subplot(2, len(PANELS), len(PANELS) + place + 1)
        for method in BOUNDED:
            means = [statistics.mean(found(method, name, "1", bound, bound_runs)) for bound in BOUNDS]
            below.plot(BOUNDS, means, STYLES[method], label=method, markersize=3)
        below.set(xscale="log", xlabel="max_items_per_user", ylim=(0, None))
        below.set_title(f"{name}, epsilon = 1", fontsize=10)
        below.set_xticks(BOUNDS, BOUNDS)
        below.xaxis.set_minor_locator(NullLocator())
    for axes in figure.axes[::2][:1] + figure.axes[1:2]:
        axes.set_ylabel("mean size of the answer")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside right center", fontsize=8, frameon=False)
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    """The tables, and the picture where a path is given."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two runs instead of five and three")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the curves too")
    options = parser.parse_args()
    runs, bound_runs = (2, 2) if options.quick else (5, 3)
    for name, most in TABLES:
        size_table(name, most, runs)
    expected_table(runs)
    for name, _ in PANELS:
        bound_table(name, bound_runs)
    rule_table(bound_runs)
    if options.plot:
        draw(options.plot, runs, bound_runs)


if __name__ == "__main__":
    single_threaded()
    main()
