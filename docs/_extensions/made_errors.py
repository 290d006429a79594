"""The table of errors: what each means, in its own words, and how the command ends."""

from __future__ import annotations

import inspect

from dpselect import errors as module
from dpselect.command.main import status_of


def errors(_page: str, _argument: str) -> str:
    """One row for each error, in the order of the code."""
    found = [one for one in vars(module).values() if inspect.isclass(one) and issubclass(one, module.DpselectError)]
    rows = [
        f"| `{one.__name__}` | {_said(one)} | {status_of(one)} |" for one in found if one.__module__ == module.__name__
    ]
    return "\n".join(["| error | what it means | exit status |", "| --- | --- | --- |", *rows[1:]])


def _said(error: type) -> str:
    first = inspect.cleandoc(error.__doc__ or "").partition("\n\n")[0]
    return " ".join(first.split())
