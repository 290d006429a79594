"""Totals of k bounded-range and k pure steps by every bound, and Figure 1 of Durfee and Rogers 2019.

dp-accounting is an oracle here and nothing else needs it; its columns are "-" where it is not installed. `--figure`
draws the figure of docs/accounting.md.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import math
import statistics
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

from flint import arb, ctx
from measure import table

from dpselect._ground.privacy import BoundedRange, PureDP, Steps
from dpselect._ground.reals import enclose, upper
from dpselect.accounting.calibration import largest_under_each
from dpselect.accounting.composition import advanced, basic, bounded_range, compose, every_bound, zcdp
from dpselect.accounting.optimal_adaptive import adaptive_epsilon
from dpselect.accounting.renyi import renyi_epsilon
from dpselect.papers.composition import nonadaptive_epsilon, optimal_pure

DELTA = Fraction(1, 10**6)
PICKS = (10, 50, 100, 1000)
EPSILONS = ("0.01", "0.1", "0.5", "1")
FIGURE = Path(__file__).resolve().parents[1] / "docs" / "figures" / "composition-ratio.svg"
CURVES = {"0.01": "#332288", "0.1": "#4477aa", "0.5": "#228833", "1": "#ee6677"}
ORACLE = importlib.util.find_spec("dp_accounting") is not None


def durfee_rogers(steps: list[Steps], delta: Fraction) -> Fraction:
    """Durfee and Rogers 2019, Lemma 4.4: the smallest of its three terms."""
    return min(basic(steps), advanced(steps, delta), bounded_range(steps, delta))


def oracle_zcdp(k: int, epsilon: float) -> float | None:
    """dp-accounting's Renyi accountant, told the zCDP of a bounded-range step."""
    if not ORACLE:
        return None
    dpa, rdp = importlib.import_module("dp_accounting"), importlib.import_module("dp_accounting.rdp")
    accountant = rdp.RdpAccountant().compose(dpa.ZCDpEvent(epsilon**2 / 8), k)
    return float(accountant.get_epsilon(float(DELTA)))


def oracle_pure(k: int, epsilon: float) -> float | None:
    """dp-accounting's privacy loss distribution of k randomised responses."""
    if not ORACLE:
        return None
    module = importlib.import_module("dp_accounting.pld.privacy_loss_distribution")
    one = module.from_randomized_response(2 / (1 + math.exp(epsilon)), 2)
    return float(one.self_compose(k).get_epsilon_for_delta(float(DELTA)))


def oracle_laplace(k: int, epsilon: float) -> float | None:
    """The same for Laplace noise: what one pure mechanism costs whose law is known."""
    if not ORACLE:
        return None
    module = importlib.import_module("dp_accounting.pld.privacy_loss_distribution")
    return float(module.from_laplace_mechanism(1 / epsilon).self_compose(k).get_epsilon_for_delta(float(DELTA)))


def shown(value: Fraction | float | None) -> str:
    """Four digits, or a dash."""
    return "-" if value is None else f"{float(value):.4g}"


def never_larger(steps: list[Steps], others: list[float | None]) -> None:
    """`compose` is at most every valid bound, ours or theirs."""
    found = compose(steps, DELTA).epsilon
    valid = [t.epsilon for t in every_bound(steps, DELTA)] + [Fraction(o) for o in others if o is not None]
    assert all(found <= v * (1 + Fraction(1, 10**7)) for v in valid), (steps, float(found), [float(v) for v in valid])


def totals() -> None:
    """Totals for picks, of which docs/accounting.md has one row, and for pure steps."""
    rows, pure_rows = [], []
    for k in PICKS:
        for epsilon in EPSILONS:
            e = Fraction(epsilon)
            steps, pure = [Steps(BoundedRange(e), k)], [Steps(PureDP(e), k)]
            theirs, response = oracle_zcdp(k, float(e)), oracle_pure(k, float(e))
            never_larger(steps, [theirs])
            bounds = [
                basic(steps),
                durfee_rogers(steps, DELTA),
                optimal_pure(steps, DELTA),
                zcdp(steps, DELTA),
                renyi_epsilon(steps, DELTA),
                adaptive if (adaptive := adaptive_epsilon(steps, DELTA)) < basic(steps) else None,
                nonadaptive_epsilon(k, e, DELTA),
                theirs,
            ]
            rows.append([k, epsilon, *map(shown, bounds)])
            named = {t.bound: t.epsilon for t in every_bound(pure, DELTA)}
            ours = [*(named[n] for n in ("basic", "advanced", "zCDP", "Renyi")), optimal_pure(pure, DELTA)]
            pure_rows.append([k, epsilon, *map(shown, [*ours, response, oracle_laplace(k, float(e))])])
    print("Bounded-range steps at delta = 1e-6:\n")
    names = ["basic", "Durfee and Rogers", "Kairouz", "zCDP", "Renyi", "adaptive optimum", "non-adaptive optimum"]
    table(["k", "epsilon", *names, "dp-accounting, zCDP"], rows)
    print("Pure steps at delta = 1e-6:\n")
    names = ["basic", "advanced", "zCDP", "Renyi", "Kairouz (optimal)"]
    table(["k", "epsilon", *names, "dp-accounting, randomised response", "dp-accounting, Laplace"], pure_rows)
    print("For picks `compose` was never larger than a valid bound of these, ours or dp-accounting's.\n")


def calibrations() -> None:
    """The largest pick under each bound."""
    found = {k: largest_under_each(Fraction(1), DELTA, k) for k in (5, 10, 50, 100, 200)}
    names = list(found[5])
    print("Largest epsilon of a pick at total (1, 1e-6):\n")
    table(["k", *names], [[k, *(shown(each[name]) for name in names)] for k, each in found.items()])


def timings() -> None:
    """What one call of `compose` takes."""
    e = Fraction(1, 10)
    cases = {f"{k} picks": [Steps(BoundedRange(e), k)] for k in (10, 100, 1000)}
    cases["100 picks, 100 counts"] = [Steps(BoundedRange(e), 100), Steps(PureDP(e / 2), 100)]
    cases |= {f"{k} pure": [Steps(PureDP(e), k)] for k in (10, 100, 1000)}
    cases["100 pure of one epsilon, 100 of another"] = [Steps(PureDP(e), 100), Steps(PureDP(2 * e), 100)]
    rows = [
        [name, compose(steps, DELTA).bound, f"{milliseconds(lambda s=steps: compose(s, DELTA)):.2f}"]
        for name, steps in cases.items()
    ]
    table(["steps", "smallest bound", "compose, ms"], rows)


def milliseconds(function: Callable[[], object]) -> float:
    """The median of 21 calls."""
    times = []
    for _ in range(21):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return 1000 * statistics.median(times)


def matched(k: int, epsilon: Fraction) -> tuple[Fraction, Fraction]:
    """Durfee and Rogers 2019, Section 4.3: the smallest epsilon of Lemma 4.5 with delta_i <= 1e-6, and its delta_i."""
    total, delta = k * epsilon, Fraction(0)
    with ctx.workprec(192):
        x = enclose(epsilon).exp()
        for i in range(1, k // 2 + 1):
            terms = (math.comb(k, n) * (x ** (k - n) - x ** (k - 2 * i + n)) for n in range(i))
            found = upper(sum(terms, arb(0)) / (1 + x) ** k)
            if found > DELTA:
                break
            total, delta = (k - 2 * i) * epsilon, found
    return total, delta


def figure() -> None:
    """Optimal composition over that of Durfee and Rogers 2019, and over the smallest of our bounds."""
    pyplot = importlib.import_module("matplotlib.pyplot")
    pyplot.rcParams.update({"svg.hashsalt": "dpselect", "svg.fonttype": "none", "font.size": 9})
    picture, panels = pyplot.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
    for epsilon, color in CURVES.items():
        lines: tuple[list[float], list[float]] = [], []
        for k in range(1, 101):
            steps = [Steps(BoundedRange(Fraction(epsilon)), k)]
            total, delta = matched(k, Fraction(epsilon))
            ours = durfee_rogers(steps, delta) if delta else basic(steps)
            lines[0].append(float(total / ours))
            lines[1].append(float(total / compose(steps, delta).epsilon))
        for panel, line in zip(panels, lines, strict=True):
            panel.plot(range(1, 101), line, color=color, linewidth=1.1, label=f"epsilon = {epsilon}")
    for panel, title in zip(panels, ("over Durfee and Rogers 2019, Lemma 4.4", "over compose"), strict=True):
        panel.set_title(f"optimal composition of pure steps {title}", fontsize=9)
        panel.set_xlabel("k")
        panel.grid(color="#dddddd", linewidth=0.6)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("ratio of total epsilons")
    panels[1].legend(frameon=False)
    FIGURE.parent.mkdir(exist_ok=True)
    picture.savefig(FIGURE, metadata={"Date": None, "Creator": None})


def main() -> None:
    """Tables, timings and, if asked for, the figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--figure", action="store_true", help="only draw docs/figures/composition-ratio.svg")
    if parser.parse_args().figure:
        figure()
    else:
        totals()
        calibrations()
        timings()


if __name__ == "__main__":
    main()
