"""One-shot Laplace against Gumbel discovery with Laplace counts (Durfee and Rogers 2021); costs of noisy mechanisms."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable, Iterator
from functools import partial
from math import log, pi, sqrt
from pathlib import Path

from inputs import distinct_counts, zipf_counts
from measure import call, in_turns, median, seconds, single_threaded, table

from dpselect.mechanisms import CountGaussian, LimitedDomain, Peeling
from dpselect.papers import ApproxOneShotLaplace, GammaMechanism, LimitedDomainLaplace, OneShotLaplace

FIGURE = Path(__file__).resolve().parents[1] / "docs" / "figures" / "one-shot.svg"
SETTINGS = [(10, 10**4, 0.1, 1e-6), (100, 10**4, 0.1, 1e-6), (100, 10**6, 0.1, 1e-6), (1000, 10**6, 0.1, 1e-6)]
SETTINGS += [(100, 10**6, 0.01, 1e-6), (100, 10**6, 0.19, 1e-6), (100, 10**6, 0.1, 1e-10), (100, 10**6, 0.1, 0.04)]


def one_shot(k: float, d: float, epsilon: float, delta: float) -> float:
    """Durfee and Rogers 2021: the standard deviation of one-shot Laplace noise, on discovery and on counts."""
    return 8 * sqrt(2 * k * log(d / delta)) / epsilon


def gumbel_and_laplace(k: float, epsilon: float, delta: float) -> tuple[float, float]:
    """Durfee and Rogers 2021: those of Gumbel noise on discovery and Laplace noise on counts, at the same privacy."""
    large = log(1 / delta)
    e = 2 * sqrt(large) * (sqrt(1 + epsilon / large) - 1)
    return pi * sqrt(k) / (sqrt(6) * e), 2 * sqrt(2 * k) / e


def peeled(k: int, epsilon: float, delta: float) -> float:
    """The Gumbel noise of our peeling alone, with its smallest bound."""
    pick = Peeling(k=k, epsilon=str(epsilon), delta=str(delta)).epsilon_per_pick
    assert pick is not None
    return pi / (sqrt(6) * float(pick))


def comparison() -> None:
    """Standard deviations in users, and the two ratios that Durfee and Rogers 2021 bound by 1/4 and 1/2."""
    rows = []
    for k, d, epsilon, delta in SETTINGS:
        both, (gumbel, counts) = one_shot(k, d, epsilon, delta), gumbel_and_laplace(k, epsilon, delta)
        ratios = [f"{gumbel:,.0f} ({gumbel / both:.3f})", f"{counts:,.0f} ({counts / both:.3f})"]
        pure = f"{2 * sqrt(2) * k / epsilon:,.0f}"
        rows.append([k, f"{d:,}", epsilon, delta, f"{both:,.0f}", *ratios, pure, f"{peeled(k, epsilon, delta):,.0f}"])
    head = ["k", "d", "epsilon", "delta", "one-shot Laplace", "Gumbel (ratio, at most 1/4)"]
    table([*head, "Laplace counts (ratio, at most 1/2)", "pure, 2k / epsilon", "our peeling"], rows)


def heights() -> None:
    """How far above the first count beyond an item must be, and how large the noise is."""
    plain = LimitedDomain(k=10, epsilon=1, delta="1e-6")
    rows = []
    for items in (1, 2, 5, 10, 30, 100):
        terms = {"k": 10, "epsilon": 1, "delta": "1e-6", "max_items_per_user": items}
        laplace, counted = (
            LimitedDomainLaplace(**terms),
            CountGaussian(epsilon=1, delta="1e-6", max_items_per_user=items),
        )
        deviation = sqrt(2) / float(laplace.rate)
        ours = LimitedDomain(**terms)
        rows.append(
            [
                items,
                f"{laplace.height} / {deviation:.1f}",
                f"{ours.height:.0f} / {pi / (sqrt(6) * float(ours.epsilon_per_pick or 0)):.1f}",
                f"{float(counted.threshold):.0f} / {float(counted.deviation):.1f}",
            ]
        )
    rows.append(["no bound", "", f"{plain.height:.0f} / {pi / (sqrt(6) * float(plain.epsilon_per_pick or 0)):.1f}", ""])
    head = ["max_items_per_user", "height / standard deviation", "LimitedDomain, k = 10, no counts"]
    table([*head, "CountGaussian, with counts"], rows)


def mechanisms() -> Iterator[tuple[str, Callable[..., object]]]:
    """What is timed."""
    terms = {"k": 100, "epsilon": 1, "delta": "1e-6", "max_items_per_user": 10}
    yield "Peeling, epsilon 1", Peeling(k=100, epsilon=1)
    yield "OneShotLaplace, epsilon 1", OneShotLaplace(k=100, epsilon=1)
    yield "ApproxOneShotLaplace, epsilon 0.1", ApproxOneShotLaplace(k=100, epsilon="0.1", delta="1e-6")
    yield "GammaMechanism, epsilon 1", GammaMechanism(k=100, epsilon=1)
    yield "LimitedDomainLaplace, epsilon 1", LimitedDomainLaplace(**terms)


def timings(d: int, runs: int) -> None:
    """CPU seconds of a call, k = 100."""
    print(f"\nd = {d:,}, k = 100, CPU, medians of {runs} runs\n")
    shapes = {"Zipf(1.1)": zipf_counts(d), "all distinct": distinct_counts(d)}
    rows: dict[str, list[str]] = {name: [name] for name, _ in mechanisms()}
    for counts in shapes.values():
        costs = in_turns({name: partial(call, partial(run, counts)) for name, run in mechanisms()}, runs)
        for name, found in costs.items():
            rows[name].append(seconds(median(found).cpu))
    table(["mechanism", *shapes], list(rows.values()))


def figure() -> None:
    """Both ratios of Durfee and Rogers 2021 by k and by epsilon, with their bounds."""
    pyplot = importlib.import_module("matplotlib.pyplot")
    pyplot.rcParams.update({"svg.hashsalt": "dpselect", "svg.fonttype": "none", "font.size": 9})
    picture, panels = pyplot.subplots(1, 2, figsize=(9, 3.2), sharey=True, layout="constrained")
    epsilons = [0.002 * i for i in range(1, 100)]
    domains = [10 ** (1 + i / 10) for i in range(91)]
    for delta, color in ((1e-2, "#999999"), (1e-6, "#1f77b4"), (1e-10, "#d62728")):
        along = [(e, one_shot(100, 10**6, e, delta), gumbel_and_laplace(100, e, delta)) for e in epsilons]
        over = [(d, one_shot(10, d, 0.1, delta), gumbel_and_laplace(10, 0.1, delta)) for d in domains]
        for panel, lines in zip(panels, (along, over), strict=True):
            for part, style, name in ((0, "-", "Gumbel, discovery"), (1, "--", "Laplace, counts")):
                values = [both[part] / laplace for _, laplace, both in lines]
                label = f"{name}, delta = {delta:g}"
                panel.plot([x for x, _, _ in lines], values, style, color=color, linewidth=1.1, label=label)
    for panel, axis in zip(panels, ("epsilon (k = 100, d = 10^6)", "d (k = 10, epsilon = 0.1)"), strict=True):
        for bound, name in ((0.25, "bound for Gumbel: at most 1/4"), (0.5, "bound for Laplace: at most 1/2")):
            panel.axhline(bound, color="black", linewidth=0.6)
            panel.text(0.98, bound + 0.006, name, ha="right", fontsize=7, transform=panel.get_yaxis_transform())
        panel.set_xlabel(axis)
        panel.grid(color="#dddddd", linewidth=0.6)
        panel.spines[["top", "right"]].set_visible(False)
    panels[1].set_xscale("log")
    panels[0].set_ylabel("standard deviation / one-shot Laplace's")
    panels[0].set_ylim(0, 0.55)
    picture.legend(*panels[1].get_legend_handles_labels(), frameon=False, fontsize=8, loc="outside right center")
    FIGURE.parent.mkdir(exist_ok=True)
    picture.savefig(FIGURE, metadata={"Date": None, "Creator": None})


def main() -> None:
    """Tables, timings and, if asked for, the figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--figure", action="store_true", help="only draw docs/figures/one-shot.svg")
    parser.add_argument("-d", type=int, default=10**6)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    if options.figure:
        figure()
        return
    comparison()
    print()
    heights()
    timings(options.d, options.runs)


if __name__ == "__main__":
    single_threaded()
    main()
