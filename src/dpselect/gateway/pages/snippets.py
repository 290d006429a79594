"""The same question as Python and as a command line: what is shown can be copied and works."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any

OF_DATA = ("item", "where", "during", "max_items_per_user")  # what the data set of the client takes, not its verbs
VERBS = {"top_k": "k", "quantile": "q"}  # the parameter that stands first, without its name
OWNERS = {"choose": ("domain",), "histogram": ("domain",), "quantile": ("bounds",)}  # None: what the owner declared
MOST_ITEMS = 1000  # of a domain in an example
TOKEN = "DPSELECT_TOKEN"


def python(url: str, body: Mapping[str, Any]) -> str:
    """The question through the client; nothing where it would hold a very long list of items."""
    if len(body.get("domain") or ()) > MOST_ITEMS:
        return ""
    given = {name: value for name, value in body.items() if name not in ("data", "verb", *OF_DATA)}
    first = VERBS.get(str(body["verb"]))
    arguments = [_value(given.pop(first))] if first in given else []
    given |= {name: None for name in OWNERS.get(str(body["verb"]), ()) if name not in body}
    arguments += [f"{name}={_value(value)}" for name, value in given.items()]
    of_data = [_value(body["data"]), *(f"{name}={_value(body[name])}" for name in OF_DATA if body.get(name))]
    return (
        "import dpselect as dps\n\n"
        f"remote = dps.connect({_value(url)})  # with your token in {TOKEN}\n"
        f"data = remote.data({', '.join(of_data)})\n"
        f"print(data.{body['verb']}({', '.join(arguments)}))\n"
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
