"""Makes the golden set of this version: `python -m tests.golden.make`. A set that is there is never overwritten.

What a set holds is invented. It is made once, when a version is released that stores or offers something new, and
stays for good: later versions must read it.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
import tempfile
import warnings
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import dpselect as dps
from dpselect.gateway.settings.example import example
from dpselect.ledger.charge import Charge
from dpselect.ledger.question import question
from tests.golden import surface
from tests.golden.asked import LIKELY, MORE, QUESTIONS, SNAPSHOT, data_set

HERE = Path(__file__).parent
ANN, BOB = dps.Account("plays", "ann"), dps.Account("plays", "bob")


def main() -> int:
    """Make the set, unless it is there."""
    folder = HERE / f"v{'.'.join(version('dpselect').split('.')[:2])}"
    if folder.exists():
        sys.stderr.write(f"{folder.name} is there, and a golden set is never overwritten\n")
        return 1
    with tempfile.TemporaryDirectory() as draft, warnings.catch_warnings():
        warnings.simplefilter("ignore", dps.WeakPromiseWarning)
        fill(Path(draft) / folder.name)
        shutil.copytree(Path(draft) / folder.name, folder)
    return 0


def fill(folder: Path) -> None:
    """Write every part of the set."""
    for part in ("releases", "queries"):
        (folder / part).mkdir(parents=True)
    for name, (more, asked) in QUESTIONS.items():
        keep(folder / "queries" / f"{file(name)}.json", kept_query(asked))
        release = data_set(more).ask(dps.Query.from_dict(asked))
        keep(folder / "releases" / f"{file(name)}.json", release.to_dict())
    for name, asked in MORE.items():
        keep(folder / "queries" / f"{file(name)}.json", kept_query(asked))
    keep(folder / "releases" / "scores.json", dps.choose({"x": 0.25, "y": 30}, epsilon=5).to_dict())
    keep_lines(folder / "names.json", surface.names())
    keep_lines(folder / "command.json", surface.command())
    keep_lines(folder / "http.json", surface.http())
    (folder / "gateway.toml").write_text(example(), "utf-8")
    ledger(folder)


def kept_query(asked: dict[str, Any]) -> dict[str, Any]:
    """A question as it was given, as it is written in full, its price, and what a ledger knows it by."""
    query = dps.Query.from_dict(asked)
    ceiling = query.ceiling
    return {
        "given": asked,
        "full": query.to_dict(),
        "ceiling": {"epsilon": str(ceiling.epsilon), "delta": str(ceiling.delta)},
        "known_by": question(query.verb, query.key, {}, pinned=True).text,
    }


def ledger(folder: Path) -> None:
    """A ledger in which everything has happened that can, and what it says."""
    path = folder / "ledger.sqlite"
    with dps.Ledger.create(path) as made:
        made.data("plays", 60, "1e-4", keep="10%", user="user")
        made.data("visits", 50, "1e-4", user="user", period="month", time="day", timezone="UTC")
        made.grant(ANN, 45, "5e-5")
        made.grant(BOB, 5, "5e-5")
        made.grant(dps.Account("visits", "ann"), 45, "5e-5")
    answers = [asked_of("plays", path, {}), asked_of("plays", path, {})]  # the second is stored
    answers.append(asked_of("visits", path, {"time": "day", "period": "month", "timezone": "UTC", "during": "2026-10"}))
    with contextlib.suppress(dps.BudgetError):  # which the ledger records
        data_set({}, dps.Budget.open(path, data="plays", analyst="bob", snapshot=SNAPSHOT)).top_k(2, epsilon=30)
    with dps.Ledger(path) as made:
        small = Charge.up(*(made.balance(BOB).left.epsilon / 10, made.balance(BOB).left.delta / 10, 0))
        made.start(made.reserve(BOB, small, "died at work", user="user"))
        made.give_back(made.reserve(BOB, small, "given back", user="user"))
        made.reserve(BOB, small, "died before a row was read", user="user")
        keep(folder / "ledger.json", said(made) | {"answers": answers})


def asked_of(data: str, path: Path, more: dict[str, Any]) -> dict[str, Any]:
    """An answer that a ledger paid for, without its receipt."""
    budget = dps.Budget.open(path, data=data, analyst="ann", snapshot=SNAPSHOT)
    release = data_set(more, budget).top_k(2, **LIKELY)
    return replace(release, charged=None).to_dict()


def said(ledger: dps.Ledger) -> dict[str, Any]:
    """What a ledger says of itself, in words and numbers that every version has."""
    return {
        "head": ledger.head,
        "count": ledger.count,
        "verified": ledger.verify(),
        "entries": [
            [str(one.kind), one.account.dataset, one.account.analyst, str(one.charge.epsilon), str(one.charge.delta)]
            for one in ledger.entries()
        ],
        "accounts": [
            {
                "data": one.dataset, "epsilon": str(one.promise.epsilon), "delta": str(one.promise.delta),
                "composes": one.promise.order is not None, "keep": str(one.keep), **one.fixed,
                "used": {period: [str(of.spent.epsilon), str(of.reserved.epsilon)] for period, of in used.items()},
            }
            for one, used in ledger.data_accounts()
        ],
        "balances": [
            [one.account.dataset, one.account.analyst, str(one.granted.epsilon), str(one.spent.epsilon),
             str(one.reserved.epsilon)]
            for one in ledger.balances()
        ],
        "pending": [[one.entry.question, one.may_have_read] for one in ledger.pending()],
    }  # fmt: skip


def file(name: str) -> str:
    """A name as that of a file."""
    return name.replace(", ", "-").replace(" ", "_")


def keep(path: Path, what: Any) -> None:
    """Write one part, for people to read too."""
    path.write_text(json.dumps(what, indent=1, ensure_ascii=False) + "\n", "utf-8", newline="\n")


def keep_lines(path: Path, what: dict[str, Any]) -> None:
    """Write a long part, a line for each name in it."""
    lines = (f"{json.dumps(name)}: {json.dumps(one, separators=(',', ':'))}" for name, one in what.items())
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8", newline="\n")


if __name__ == "__main__":
    sys.exit(main())
