"""The settings that come from the environment: docs/reference/settings.md has them, `dpselect doctor` shows them.

`shown` says whether a value may be shown; those of the others hold secrets, or say where somebody keeps things.
"""

from __future__ import annotations

from dataclasses import dataclass

PREFIX = "DPSELECT_"


@dataclass(frozen=True)
class Variable:
    """One setting."""

    name: str
    meaning: str
    shown: bool = False


VARIABLES = (
    Variable("DPSELECT_MEMORY", "how much memory a question may take, such as 4GiB", shown=True),
    Variable("DPSELECT_TOKEN", "the token that says to a gateway who asks"),
    Variable("DPSELECT_GATEWAY", "the file of settings of dpselect.gateway:app"),
    Variable("DPSELECT_TRACEBACK", "1 shows the traceback of an unexpected error, which may show data", shown=True),
    Variable("DPSELECT_COMMAND", "what dpselect demo calls the command when it suggests what to type next", shown=True),
)
# For tests, benchmarks and pages of this project; the package does not read them.
OF_TESTS = (Variable("DPSELECT_DATA", "the folder of public data sets for tests and benchmarks"),)
