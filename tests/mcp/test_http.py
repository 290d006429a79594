"""`POST /mcp` of a gateway: the same messages and replies, with the tokens and roles of everybody."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

from dpselect.gateway import views
from tests.gateway.served import Served, serving

HOST = b"127.0.0.1:8080"
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}


def posted(served: Served, who: str, method: str, number: int | None = 1, **given: object) -> Any:
    message = {"jsonrpc": "2.0", "method": method, "params": given} | ({} if number is None else {"id": number})
    return served.http.post("/mcp", json=message, headers=served.headers(who))


def test_each_request_has_its_reply(served: Served) -> None:
    assert posted(served, "ann", "initialize", protocolVersion="2025-11-25").json()["result"]["serverInfo"]
    assert len(posted(served, "ann", "tools/list", _meta=META).json()["result"]["tools"]) == 11
    told = posted(served, "ann", "tools/call", name="top_k", arguments={"k": 4, "share": "5%"}, _meta=META).json()
    assert told["result"]["resultType"] == "complete"
    found = json.loads(told["result"]["content"][0]["text"])
    assert served.ann.get(f"/v1/answers/{found['id']}").status_code == 200
    refused = posted(served, "ann", "tools/call", name="top_k", arguments={"where": "user = 1"}).json()["result"]
    assert refused["isError"] is True
    vera = posted(served, "vera", "tools/call", name="answer", arguments={"id": found["id"]}).json()["result"]
    assert vera["content"][0]["text"] == "refused: There is no answer with that id."


def test_other_messages_have_the_status_of_what_they_are(served: Served) -> None:
    sent = posted(served, "ann", "notifications/initialized", None)
    assert (sent.status_code, sent.content) == (202, b"")
    broken = served.http.post("/mcp", content=b"{", headers=served.headers("ann"))
    assert (broken.status_code, broken.json()["error"]["code"]) == (400, -32700)
    assert served.http.get("/mcp", headers=served.headers("ann")).status_code == 405
    assert posted(served, "ann", "resources/list").json()["error"]["code"] == -32601


def test_who_is_taken_out_while_waiting_has_no_answer(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        served.leave.clear()
        told: list[Any] = []
        call = {"name": "top_k", "arguments": {"k": 3, "share": "5%"}}
        waits = threading.Thread(target=lambda: told.append(posted(served, "ann", "tools/call", **call)))
        waits.start()
        served.until(lambda: bool(views.questions(served.gateway, served.people["ann"])))
        served.remove("ann")
        served.leave.set()
        waits.join(60)
        assert told[0].status_code == 401


def test_who_has_left_takes_no_connection(tmp_path: Path) -> None:
    """Else an agent that gives up waiting and sends a question again soon has no connection left to ask on."""
    with serving(tmp_path) as served:
        served.leave.clear()
        call = {"name": "top_k", "arguments": {"k": 3, "share": "5%"}}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}).encode()
        comes = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def receive() -> Any:
            return next(comes, {"type": "http.disconnect"})

        async def send(_: Any) -> None:
            return

        headers = [(name.lower().encode(), value.encode()) for name, value in served.headers("ann").items()]
        scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": [*headers, (b"host", HOST)]}
        portal = served.http.portal
        assert portal is not None
        portal.call(served.http.app, {**scope, "query_string": b"", "scheme": "http"}, receive, send)
        (job,) = views.questions(served.gateway, served.people["ann"])
        assert job["state"] in ("queued", "running")
        served.leave.set()
        assert served.ann.ended(str(job["id"]))["state"] == "answered"
