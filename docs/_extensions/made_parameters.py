"""The parameters of a verb with what each means, as one table."""

from __future__ import annotations

from dpselect.queries.parameters import table


def parameters(_page: str, verb: str) -> str:
    """The table of a verb's parameters; its links lead from docs/queries.md."""
    return "\n".join(table(verb))
