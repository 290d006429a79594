"""What src/dpselect/namespace.py has to say: the verbs of a Dataset, with the rows' own parameters beside each.

`python -m tests.integrations.written` writes it anew, after a change of Dataset.
"""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Callable
from enum import Enum
from inspect import Parameter

from dpselect.dataset import Dataset
from tests.house.rules import PACKAGE

FILE = PACKAGE / "namespace.py"
VERBS = ("top_k", "union", "quantile", "median", "choose", "histogram")
NOT_OF_FRAMES = {"source", "table", "newlines_in_values"}
_BEGIN, _END = "    # ---- written by tests/integrations/written.py", "    # ---- as far as this"


def of_rows() -> dict[str, Parameter]:
    """The parameters of Dataset that say something of a frame."""
    given = inspect.signature(Dataset).parameters
    return {name: one for name, one in given.items() if name not in NOT_OF_FRAMES}


def parameters(verb: str) -> list[Parameter]:
    """Those of a verb, its own place first: those of the rows stand before its others. What both have is the verb's."""
    own = inspect.signature(getattr(Dataset, verb)).parameters
    placed = [one for name, one in own.items() if one.kind is not Parameter.KEYWORD_ONLY and name != "self"]
    named = [one for one in own.values() if one.kind is Parameter.KEYWORD_ONLY]
    return [*placed, *(one for name, one in of_rows().items() if name not in own), *named]


def method(name: str, given: list[Parameter], back: str, says: str, does: str) -> str:
    """One method as source."""
    star = next(at for at, one in enumerate(given) if one.kind is Parameter.KEYWORD_ONLY)
    words = ["self", *map(_said, given)]
    listed = "".join(f"        {word},\n" for word in [*words[: star + 1], "*", *words[star + 1 :]])
    return f'    def {name}(\n{listed}    ) -> {back}:\n        """{says}"""\n        {does}\n\n'


def _said(one: Parameter) -> str:
    said = f"{one.name}: {one.annotation}"
    if one.default is Parameter.empty:
        return said
    default = one.default
    return f"{said} = {type(default).__name__}.{default.name}" if isinstance(default, Enum) else f"{said} = {default!r}"


def first_line(of: Callable[..., object]) -> str:
    """The first line of a docstring."""
    return str(of.__doc__).partition("\n")[0]


def methods() -> str:
    """All of them."""
    says = "The rows as a Dataset, for several questions, or for `ask`: its parameters are those of a Dataset."
    made = method(
        "dataset", list(of_rows().values()), "Dataset", says, "return Dataset(self._frame, **_without_self(locals()))"
    )
    for verb in VERBS:
        first = first_line(getattr(Dataset, verb))
        line = f"{first}\n\n        Parameters and guarantee are those of `Dataset.{verb}`.\n        "
        back = inspect.signature(getattr(Dataset, verb)).return_annotation  # such as Release[int | float]
        made += method(verb, parameters(verb), back, line, f'return self._ask("{verb}", locals())')
    return made


def written(text: str) -> str:
    """The file, with its methods written anew."""
    before, _, rest = text.partition(f"{_BEGIN}\n")
    whole = f"{before}{_BEGIN}\n\n{methods()}{_END}{rest.partition(_END)[2]}"
    words = ["format", "--quiet", f"--stdin-filename={FILE}", "-"]
    done = subprocess.run(
        [sys.executable, "-m", "ruff", *words], input=whole, capture_output=True, text=True, check=True
    )
    return done.stdout


if __name__ == "__main__":
    FILE.write_text(written(FILE.read_text("utf-8")), "utf-8")
