"""Questions as tools of an agent: the Model Context Protocol, on standard input and output or over HTTP."""

from dpselect.mcp.desk import AgentDesk, Body, is_open
from dpselect.mcp.protocol import MessageError, error_reply, parse_message, reply_to
from dpselect.mcp.tools import AgentTools
from dpselect.remote.problems import error_of

__all__ = [
    "AgentDesk",
    "AgentTools",
    "Body",
    "MessageError",
    "error_of",
    "error_reply",
    "is_open",
    "parse_message",
    "reply_to",
]
