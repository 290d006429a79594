"""Messages as a client sends them, and the replies."""

from __future__ import annotations

import io
import json
from typing import Any

from dpselect.mcp.protocol import serve
from dpselect.mcp.tools import AgentTools


def sent(tools: AgentTools, *lines: bytes) -> list[Any]:
    """The replies to lines, of which nobody says in which order those to calls come."""
    sink = io.BytesIO()
    serve(tools, io.BytesIO(b"".join(lines)), sink, "0")
    return [json.loads(line) for line in sink.getvalue().splitlines()]


def line(method: str, number: object = 1, **given: object) -> bytes:
    """One request."""
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": given}).encode() + b"\n"


def called(tools: AgentTools, name: str, **arguments: object) -> Any:
    """What a tool says: its JSON, or of an error the text."""
    (reply,) = sent(tools, line("tools/call", name=name, arguments=arguments))
    result = reply["result"]
    text = result["content"][0]["text"]
    assert len(result["content"]) == 1
    assert isinstance(text, str)
    return text if result["isError"] else json.loads(text)
