"""A small gateway for tests of the client: real HTTP on this computer, real answers to real questions.

What it replies can be changed request by request, so that it may also fail, lie and be hostile.
"""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np

import dpselect as dps

TOKEN = "dps_" + "a" * 40
ROWS = {"user": np.arange(900), "artist": np.array(["ABBA", "Bach", "Cher"] * 300), "age": np.arange(900) % 90}
COST = {"share": 0.25, "left": 0.75, "questions_left": 3, "repeated": False, "sentence": "25 % of the budget of ann"}
KINDS = {"parameter": 422, "budget": 409, "state": 409, "sign-in": 401, "role": 403, "not-found": 404, "busy": 503}


@dataclass(frozen=True)
class Request:
    """One request as it came."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


@dataclass(frozen=True)
class Response:
    """One reply. Without a status the connection is closed in its place."""

    status: int | None
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


def good(found: object, status: int = 200) -> Response:
    return Response(status, json.dumps(found).encode(), {"Content-Type": "application/json"})


def problem(kind: str, **more: object) -> Response:
    found = {"type": f"/problems/{kind}", "title": kind, "status": KINDS[kind], **more}
    return Response(KINDS[kind], json.dumps(found).encode(), {"Content-Type": "application/problem+json"})


LOST = Response(None)
Reply = Callable[[Request], Response]


class SmallGateway:
    """Questions by their idempotency keys; `before` may take a request over, by returning a response."""

    def __init__(self) -> None:
        self.seen: list[Request] = []
        self.before: Callable[[Request], Response | None] = lambda _: None
        self.jobs: dict[str, dict[str, Any]] = {}
        self.releases: dict[str, dps.Release] = {}
        self.asked: dict[str, str] = {}  # ids by key
        self.looks = 0  # after how many looks a question is answered
        self.url = ""
        self.connections = 0
        self.lock = threading.Lock()

    def __call__(self, request: Request) -> Response:
        self.seen.append(request)
        taken = self.before(request)
        if taken is not None:
            return taken
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            return problem("sign-in", detail="the token is not known")
        path = request.path.partition("?")[0]
        match request.method, path.strip("/").split("/"):
            case "POST", ["v1", "questions"]:
                return self.ask(request)
            case "GET", ["v1", "questions", name] if name in self.jobs:
                return good(self.looked(name))
            case "DELETE", ["v1", "questions", name] if name in self.jobs:
                self.jobs[name]["state"] = "cancelled"
                return good(self.jobs[name])
            case "GET", ["v1", "answers", name] if name in self.releases:
                return Response(200, self.releases[name].to_json().encode(), {"Content-Type": "application/json"})
            case "POST", ["v1", "plan"]:
                return good({"sentences": ["ten items"], "price": {"fits": True}, "rows": []})
            case "POST", ["v1", "price"]:
                return good({"fits": True, "free": False, "share": 0.25, "sentence": "25 %", "asked": request.body})
            case "GET", ["v1", "me"]:
                return good({"name": "ann", "role": "analyst", "data": ["listening"]})
            case "GET", ["v1", "budget"]:
                return good({"budgets": [{"data": "listening", "left": 1}]})
            case "GET", ["v1", "answers"]:
                return good({"answers": [{"id": name} for name in self.releases]})
        return problem("not-found", detail="there is no such thing")

    def ask(self, request: Request) -> Response:
        key = request.headers["idempotency-key"]
        with self.lock:
            new = key not in self.asked
            name = self.asked.setdefault(key, f"q{len(self.asked) + 1}")
        if new:
            self.jobs[name] = {"id": name, "state": "queued", "answer": None, "cost": None, "problem": None}
            body = dict(request.body)
            beside = {one: body.pop(one, None) for one in ("data", "item", "where", "during", "share", "fresh")}
            body |= {"epsilon": "1"} if beside["share"] else {}
            try:
                data = dps.Dataset(
                    ROWS,
                    user="user",
                    item=beside["item"] or "artist",
                    where=beside["where"],
                    max_items_per_user=body.get("max_items_per_user"),
                )
                self.releases[f"a{name}"] = data.ask(dps.Plan.from_dict(body))
            except dps.ParameterError as error:
                return problem(
                    "parameter", parameter=error.parameter, must=error.must, came=error.came, hint=error.hint
                )
            if not self.looks:
                self.finish(name)
        return good(self.jobs[self.asked[key]], 202)

    def looked(self, name: str) -> dict[str, Any]:
        job = self.jobs[name]
        self.looks -= 1
        if job["state"] == "queued" and self.looks <= 0:
            self.finish(name)
        return job

    def finish(self, name: str) -> None:
        self.jobs[name] |= {"state": "answered", "answer": f"/v1/answers/a{name}", "cost": COST}


@contextmanager
def serving(reply: Reply, certificate: Path | None = None) -> Iterator[str]:
    """The address at which it replies, while the block runs; by TLS where a folder holds a certificate and its key."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # a body waits for no acknowledgement of its head, which takes 40 ms

        def setup(self) -> None:
            super().setup()
            if isinstance(reply, SmallGateway):
                with reply.lock:
                    reply.connections += 1

        def answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            content = self.rfile.read(length)
            headers = {name.lower(): value for name, value in self.headers.items()}
            response = reply(Request(self.command, self.path, headers, json.loads(content) if content else None))
            if response.status is None:
                self.close_connection = True
                return
            self.send_response(response.status)
            for name, value in {"Content-Length": str(len(response.body)), **response.headers}.items():
                self.send_header(name, value)
            self.close_connection |= "Content-Length" in response.headers  # a lie: the rest never comes
            self.end_headers()
            self.wfile.write(response.body)

        do_GET = do_POST = do_DELETE = answer

        def log_message(self, *_: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign] # whoever asks may hang up
    if certificate is not None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
