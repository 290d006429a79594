"""k items that together reach most users: how many do they miss, and what is the exact price of a pick worth?

Per cent of users that have none of the k items; medians of the runs. `greedy` sees the data and adds no noise;
`k steps` spends the same budget as picks of a plain composition, as published (Dick, Joseph and Raman 2026, whose union
is another one, too); `discover` takes the k items with most users. Data: the Parquet files of the folder
`DPSELECT_DATA`; only figures about them are printed.
"""

from __future__ import annotations

import argparse
import statistics
from fractions import Fraction

import numpy as np
from discover import DELTA, loaded
from inputs import Integers
from measure import table

from dpselect.accounting.hitting_set import largest_hitting_pick_at
from dpselect.aggregates.user_sets import UserSets
from dpselect.draws import Draws
from dpselect.mechanisms.top_k.discover import DiscoverThenPeel, picks
from dpselect.mechanisms.top_k.hitting_set import Held, HittingSet, chosen_together
from dpselect.testing import SeededDraws

KS = (5, 10, 20, 50, 100)


def missed(sets: UserSets, codes: Integers) -> float:
    """Per cent of users that have none of these items."""
    held = Held.of(sets, codes)
    return 100 * (1 - float(np.mean(np.diff(held.offsets) > 0)))


def greedy(k: int, sets: UserSets) -> Integers:
    """The items that reach most users not yet reached, without noise."""
    held = Held.of(sets, np.arange(sets.size))
    scores, reached, chosen = np.bincount(held.items, minlength=sets.size), np.zeros(sets.users, dtype=bool), []
    for _ in range(min(k, sets.size)):
        item = int(np.argmax(scores))
        chosen.append(item)
        new = held.users_of(item)[~reached[held.users_of(item)]]
        reached[new] = True
        scores -= np.bincount(held.items_of(new), minlength=sets.size)
        scores[item] = -1
    return np.array(chosen)


def by_steps(made: DiscoverThenPeel, sets: UserSets, draws: Draws) -> Integers:
    """The same picks, each paid as a bounded-range step."""
    found = made.union(sets, draws=draws)
    each = made.epsilon_per_pick(picks(made.k, found))
    return chosen_together(min(made.k, len(found)), sets, found, each, draws)


def prices() -> None:
    """The epsilon of a pick, beside that of bounded-range steps."""
    rows = []
    for epsilon in ("0.1", "1", "4"):
        for k in (5, 10, 100, 1000):
            plain = DiscoverThenPeel(k=k, epsilon=epsilon, delta=DELTA, max_items_per_user=10)
            budget = plain.rest.divergence(plain.union.order)
            assert budget is not None
            steps, ours = plain.epsilon_per_pick(k), largest_hitting_pick_at(k, plain.union.order, budget)
            rows.append([epsilon, k, f"{float(steps):.2g}", f"{float(ours):.2g}", f"{float(ours / steps):.1f}"])
    table(["epsilon", "k", "bounded-range steps", "here", "ratio"], rows)


def main() -> None:
    """The price, then every data set at every k."""
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--runs", type=int, default=5)
    reader.add_argument("--epsilons", default="0.3,1")
    reader.add_argument("--bound", type=int, default=20, help="max_items_per_user")
    given = reader.parse_args()
    prices()
    for data in loaded():
        rows = []
        for epsilon in given.epsilons.split(","):
            for k in KS:
                terms = {"k": k, "epsilon": Fraction(epsilon), "delta": DELTA, "max_items_per_user": given.bound}
                ours, plain = HittingSet(**terms), DiscoverThenPeel(**terms)
                found: list[list[float]] = [[], [], []]
                for seed in range(given.runs):
                    answers = (
                        ours(data.sets, draws=SeededDraws(seed)),
                        by_steps(plain, data.sets, SeededDraws(seed)),
                        plain(data.sets, draws=SeededDraws(seed)),
                    )
                    for place, codes in enumerate(answers):
                        found[place].append(missed(data.sets, codes))
                best = missed(data.sets, greedy(k, data.sets))
                rows.append([epsilon, k, f"{best:.1f}", *(f"{statistics.median(one):.1f}" for one in found)])
        print(f"\n{data.name}: {data.sets.users:,} users, {data.sets.size:,} items\n")
        table(["epsilon", "k", "greedy", "hitting-set", "k steps", "discover"], rows)


if __name__ == "__main__":
    main()
