"""The same question as Python and as a command line: what is shown can be copied and works."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from typing import Any

from dpselect.questions.kinds import LISTED, items_read
from dpselect.questions.questions import QUESTIONS

OF_DATA = ("item", "max_items_per_user")  # what the data of the client say, and no question
NARROWED = ("where", "during")
PRICE = ("epsilon", "delta", "share", "within", "threshold", "fresh")
MOST_ITEMS = 1000  # of a domain in an example
TOKEN = "DPSELECT_TOKEN"
NOUNS = ("By", "Choose", "Gain", "Histogram", "Method", "Quantile", "TopK", "Total", "Union", "Users")
NEEDED = {  # by what the code has in it
    r"\bdatetime\.": "import datetime\n",
    r"\bDecimal\(": "from decimal import Decimal\n",
    r"\b(inf|nan)\b": "from math import inf, nan\n",
}


def python(url: str, body: Mapping[str, Any]) -> str:
    """The question through the client; nothing where it would hold a very long list of items."""
    domain = body.get("domain")
    if isinstance(domain, list) and len(domain) > MOST_ITEMS:
        return ""
    price = [f"{name}={_value(body[name])}" for name in PRICE if not (body.get(name) is None or body[name] is False)]
    kind = QUESTIONS[str(body["verb"])]
    question = kind.from_flat({name: body.get(name) for name in kind.flat_names()}, as_json=True)
    of_data = [_value(body["data"]), *(f"{name}={_value(body[name])}" for name in OF_DATA if body.get(name))]
    narrowed = "".join(f".{name}({_value(body[name])})" for name in NARROWED if body.get(name))
    left_out = items_read("exclude", body.get("exclude"))
    less = "" if left_out is None else f".exclude({LISTED.python(LISTED.read('exclude', left_out))})"
    asked = f"{question!r}{less}"
    needed = "".join(line for name, line in NEEDED.items() if re.search(name, asked))
    nouns = [name for name in NOUNS if f"{name}(" in asked]
    return (
        f"{needed}from dpselect import {', '.join([*nouns, 'connect'])}\n\n"
        f"remote = connect({_value(url)})  # with your token in {TOKEN}\n"
        f"data = remote.data({', '.join(of_data)}){narrowed}{less}\n"
        f"print(data.ask({', '.join([repr(question), *price])}))\n"
    )


def python_answer(url: str, number: str) -> str:
    """An answer through the client."""
    return (
        "import dpselect as dps\n\n"
        f"remote = dps.connect({_value(url)})  # with your token in {TOKEN}\n"
        f"print(remote.answer({_value(number)}))\n"
    )


def curl(url: str, body: Mapping[str, Any]) -> str:
    """The question over HTTP; its answer is fetched from the address that comes back."""
    sent = shlex.quote(json.dumps(body, ensure_ascii=False))
    address = shlex.quote(f"{url}/v1/questions")
    return (
        f'curl --header "Authorization: Bearer ${TOKEN}" \\\n'
        "  --header 'Content-Type: application/json' \\\n"
        f"  --data {sent} \\\n  {address}\n"
    )


def curl_answer(url: str, number: str) -> str:
    """An answer over HTTP."""
    return f'curl --header "Authorization: Bearer ${TOKEN}" {shlex.quote(f"{url}/v1/answers/{number}")}\n'


def _value(value: object) -> str:
    """JSON values that are also Python's."""
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_value(key)}: {_value(inner)}' for key, inner in value.items())}}}"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
