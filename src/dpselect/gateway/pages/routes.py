"""The pages: made by the server, readable without script, each for those roles that may see it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Literal

from starlette.requests import Request
from starlette.responses import Response

from dpselect.gateway.pages import answers, ask, auditor, budget, files, owner, questions, signing
from dpselect.gateway.settings.values import Role

Handler = Callable[[Request], Awaitable[Response]]
Roles = Iterable[Role] | Literal["anyone"]
ALL = frozenset(Role)
ASKING, OWNING, READING = frozenset((Role.ANALYST,)), frozenset((Role.OWNER,)), frozenset((Role.OWNER, Role.AUDITOR))


def routes() -> list[tuple[str, list[str], Handler, Roles]]:
    """Path, methods, handler, and who may."""
    return [
        ("/", ["GET"], signing.start, "anyone"),
        ("/sign-in", ["GET"], signing.show, "anyone"),
        ("/sign-in", ["POST"], signing.sign_in, "anyone"),
        ("/sign-out", ["POST"], signing.sign_out, "anyone"),
        ("/static/{name}", ["GET"], files.static, "anyone"),
        ("/favicon.ico", ["GET"], files.icon, "anyone"),
        ("/problems/{kind}", ["GET"], files.problem, "anyone"),
        ("/ask", ["GET"], ask.show, ASKING),
        ("/ask", ["POST"], ask.ask, ASKING),
        ("/questions/{id}", ["GET"], questions.show, ASKING | OWNING),
        ("/questions/{id}/cancel", ["POST"], questions.cancel, ASKING),
        ("/answers/{id}", ["GET"], answers.show, ALL),
        ("/history", ["GET"], answers.history, ALL),
        ("/budget", ["GET"], budget.show, ALL),
        ("/owner", ["GET"], owner.show, OWNING),
        ("/owner/grants", ["POST"], owner.grant, OWNING),
        ("/owner/questions/{id}", ["POST"], owner.decide, OWNING),
        ("/record", ["GET"], auditor.show, READING),
        ("/record/{data}", ["GET"], auditor.record, READING),
    ]
