"""Examples of requests. All of them can be asked of the demonstration data."""

from __future__ import annotations

from typing import Any

TOP = {"verb": "top_k", "k": 10, "share": "1%"}
QUESTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "top": ("The ten artists that most users hear", TOP),
    "by_country": (
        "The same in every country, of those who listen for ten minutes at once",
        {"verb": "top_k", "k": 5, "epsilon": "1/4", "by": "country", "where": "minutes >= 10"},
    ),
    "union": ("All artists that enough users hear", {"verb": "union", "epsilon": "1/4", "max_items_per_user": 10}),
    "median": ("How many minutes half of all users listen at once", {"verb": "quantile", "epsilon": "1/4"}),
}
GRANT = ("More for one analyst", {"data": "listening", "analyst": "analyst", "epsilon": "1/10", "delta": "1e-7"})
EXAMPLES: dict[str, dict[str, Any]] = {
    **{
        name: {which: {"summary": said, "value": value} for which, (said, value) in QUESTIONS.items()}
        for name in ("plan", "price", "ask")
    },
    "grant": {"more": {"summary": GRANT[0], "value": GRANT[1]}},
}
