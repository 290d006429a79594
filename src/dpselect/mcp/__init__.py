"""Questions as tools of an agent: the Model Context Protocol, on standard input and output or over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpselect._ground.first_use import lazy_attributes

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpselect.mcp.desk import Body, Desk, is_open
    from dpselect.mcp.protocol import MessageError, error_reply, parse_message, reply_to
    from dpselect.mcp.tools import AgentTools
    from dpselect.remote.problems import error_of

_HOMES = {
    "AgentTools": "tools",
    "Body": "desk",
    "Desk": "desk",
    "MessageError": "protocol",
    "error_of": "dpselect.remote.problems",
    "error_reply": "protocol",
    "is_open": "desk",
    "parse_message": "protocol",
    "reply_to": "protocol",
}

__all__ = [
    "AgentTools",
    "Body",
    "Desk",
    "MessageError",
    "error_of",
    "error_reply",
    "is_open",
    "parse_message",
    "reply_to",
]

__getattr__: Callable[[str], object] = lazy_attributes(__name__, _HOMES)
