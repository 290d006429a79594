"""The same question as Python: what is shown can be copied and works."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from dpselect.questions import LISTED, QUESTIONS, domain_from_json

OF_DATA = ("item", "max_items_per_user")  # what the data of the client say, and no question
NARROWED = ("where", "during")
PRICE_NAMES = ("epsilon", "delta", "share", "within", "threshold", "fresh")
MAX_SNIPPET_ITEMS = 1000  # of a domain in an example
TOKEN_VARIABLE = "DPSELECT_TOKEN"
IMPORTED_NAMES = ("By", "Choose", "Gain", "Histogram", "Method", "Quantile", "TopK", "Total", "Union", "Users")
_NEEDED = {  # by what the code has in it
    r"\bdatetime\.": "import datetime\n",
    r"\bDecimal\(": "from decimal import Decimal\n",
    r"\b(inf|nan)\b": "from math import inf, nan\n",
}


def python(url: str, body: Mapping[str, Any]) -> str:
    """Write a question as Python that uses the client; an empty text if a list of items would be too long."""
    domain = body.get("domain")
    if isinstance(domain, list) and len(domain) > MAX_SNIPPET_ITEMS:
        return ""
    price = [f"{name}={body[name]!r}" for name in PRICE_NAMES if not (body.get(name) is None or body[name] is False)]
    question_class = QUESTIONS[str(body["verb"])]
    question = question_class.from_flat({name: body.get(name) for name in question_class.flat_names()}, as_json=True)
    data_arguments = [repr(body["data"]), *(f"{name}={body[name]!r}" for name in OF_DATA if body.get(name))]
    narrowed = "".join(f".{name}({body[name]!r})" for name in NARROWED if body.get(name))
    left_out = domain_from_json("exclude", body.get("exclude"))
    exclusion = "" if left_out is None else f".exclude({LISTED.python(LISTED.read('exclude', left_out))})"
    code = f"{question!r}{exclusion}"
    imports = "".join(line for name, line in _NEEDED.items() if re.search(name, code))
    nouns = [name for name in IMPORTED_NAMES if f"{name}(" in code]
    return (
        f"{imports}from dpselect import {', '.join([*nouns, 'connect'])}\n\n"
        f"remote = connect({url!r})  # with your token in {TOKEN_VARIABLE}\n"
        f"data = remote.data({', '.join(data_arguments)}){narrowed}{exclusion}\n"
        f"print(data.ask({', '.join([repr(question), *price])}))\n"
    )
