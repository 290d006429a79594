"""The protocol: what each revision asks for, and that no message of any kind stops the server or spends."""

from __future__ import annotations

import io
import json
import os
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpselect.mcp import protocol
from dpselect.mcp.tools import AgentTools
from tests.gateway.served import Served
from tests.mcp.talking import called, line, sent

META = {"io.modelcontextprotocol/protocolVersion": protocol.STATELESS}


def result(tools: AgentTools, method: str, **given: object) -> Any:
    (reply,) = sent(tools, line(method, **given))
    assert reply["jsonrpc"] == "2.0"
    assert reply["id"] == 1
    return reply["result"]


@pytest.mark.parametrize("revision", protocol.HANDSHAKE_REVISIONS)
def test_a_client_of_before_begins_with_its_revision(tools: AgentTools, revision: str) -> None:
    found = result(tools, "initialize", protocolVersion=revision, capabilities={}, clientInfo={"name": "a"})
    assert found["protocolVersion"] == revision
    assert found["capabilities"] == {"tools": {}}
    assert found["serverInfo"]["name"] == "dpselect"
    assert "resultType" not in result(tools, "tools/list")
    assert result(tools, "ping") == {}


def test_a_revision_that_is_not_known_is_offered_another(tools: AgentTools) -> None:
    assert result(tools, "initialize", protocolVersion="1999-01-01")["protocolVersion"] == "2025-11-25"
    (reply,) = sent(tools, line("tools/list", _meta={"io.modelcontextprotocol/protocolVersion": "2099-01-01"}))
    assert reply["error"]["code"] == -32022
    assert "2026-07-28" in reply["error"]["data"]["supported"]


def test_without_a_handshake_each_request_says_its_revision(tools: AgentTools) -> None:
    found = result(tools, "server/discover", _meta=META)
    assert found["supportedVersions"][0] == "2026-07-28"
    for method in ("server/discover", "tools/list"):
        found = result(tools, method, _meta=META)
        assert (found["resultType"], found["ttlMs"], found["cacheScope"]) == ("complete", 0, "private")
    assert result(tools, "tools/call", name="budget", _meta=META)["resultType"] == "complete"


BROKEN = {
    "no JSON": b"{\n",
    "half a line": b'{"jsonrpc": "2.0", "id": 1, "method": "pi',
    "not UTF-8": b'{"jsonrpc": "2.0", "id": 1, "method": "\xff"}\n',
    "nested": b"[" * 100_000 + b"\n",
    "a batch": b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]\n',
    "a long number": b'{"jsonrpc": "2.0", "id": ' + b"9" * 10_000 + b', "method": "ping"}\n',
    "no finite number": b'{"jsonrpc": "2.0", "id": NaN, "method": "ping"}\n',
    "too long": b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": "' + b"x" * (3 << 20) + b'"}\n',
    "null": b"null\n",
    "no version": b'{"id": 1, "method": "ping"}\n',
    "no method": b'{"jsonrpc": "2.0", "id": 1}\n',
    "a flag for an id": b'{"jsonrpc": "2.0", "id": true, "method": "ping"}\n',
    "a list of params": b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}\n',
    "another method": line("resources/list"),
    "another tool": line("tools/call", name="sql", arguments={"query": "SELECT 1"}),
    "arguments that are none": line("tools/call", name="budget", arguments=[1]),
    "no name": line("tools/call", arguments={}),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_message_has_an_error_and_the_next_one_its_reply(tools: AgentTools, name: str) -> None:
    broken = BROKEN[name]
    replies = sent(tools, broken, *([line("ping", 2)] if broken.endswith(b"\n") else []))
    errors = [one["error"] for one in replies if "error" in one]
    assert len(errors) == 1
    assert errors[0]["code"] in (-32700, -32600, -32601, -32602)
    if broken.endswith(b"\n"):
        assert {"jsonrpc": "2.0", "id": 2, "result": {}} in replies


@pytest.mark.parametrize("number", [0, -1, 2**70, "", "x" * 10_000, "\ud800"])
def test_an_id_comes_back_as_it_was(tools: AgentTools, number: object) -> None:
    assert sent(tools, line("ping", number)) == [{"jsonrpc": "2.0", "id": number, "result": {}}]


def test_notifications_and_empty_lines_have_no_reply(tools: AgentTools) -> None:
    said = [{"method": "notifications/initialized"}, {"method": "tools/call", "params": {"name": "top_k"}}]
    said += [{"id": 7, "result": {}}]
    lines = [json.dumps({"jsonrpc": "2.0", **one}).encode() + b"\n" for one in said]
    assert sent(tools, b"\n", b"  \n", *lines) == []


def test_nobody_reads_the_replies(tools: AgentTools) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb", buffering=0) as sink:
        protocol.serve(tools, io.BytesIO(line("ping") + line("tools/call", name="top_k")), sink, "0")
    assert called(tools, "answers") == []  # what nobody would read is not paid


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
WORDS = st.sampled_from(
    ["top_k", "union", "quantile", "price", "answer", "tools/call", "initialize", "share", "by", "k"]
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    message=st.fixed_dictionaries(
        {},
        optional={
            "jsonrpc": st.just("2.0") | VALUES,
            "id": VALUES,
            "method": WORDS | VALUES,
            "params": st.fixed_dictionaries(
                {},
                optional={
                    "name": WORDS | VALUES,
                    "arguments": st.dictionaries(WORDS | st.text(), VALUES),
                    "_meta": VALUES,
                },
            )
            | VALUES,
        },
    )
)
def test_whatever_is_sent_one_reply_comes_and_what_is_spent_has_an_answer(
    served: Served, tools: AgentTools, message: dict[str, Any]
) -> None:
    replies = sent(tools, json.dumps(message).encode() + b"\n")
    assert len(replies) <= 1
    for one in replies:
        assert one["jsonrpc"] == "2.0"
        assert ("result" in one) != ("error" in one)
        assert one.get("error", {}).get("code") != protocol.INTERNAL_ERROR
    ledger = served.gateway.books.ledger
    assert not [*ledger.pending()]
