"""The auditor's pages: is the record whole, and what does it say of each data set?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from dpselect.gateway.pages import errors, numbers
from dpselect.gateway.pages.budget import over_time
from dpselect.gateway.pages.rendering import page
from dpselect.gateway.pages.tables import PageCell

Heads = tuple[tuple[str, bool], ...]
Rows = list[list[PageCell]]
TABLES = (
    ("What is used", "periods", ("period", "used", "reserved", "epsilon", "delta")),
    ("Who may ask", "analysts", ("analyst", "period", "granted_epsilon", "granted_delta", "left")),
    ("What was promised and granted", "changes", ("when", "what", "epsilon", "delta")),
    (
        "What was asked, the newest first",
        "questions",
        ("when", "analyst", "question", "periods", "state", "share", "repeats"),
    ),
)
SUMS = {"epsilon": "sum of epsilons", "delta": "sum of deltas"}
NOTES = {
    "periods": "Many questions together cost less than the sum of their epsilons, which may therefore lie above the "
    "promise: what counts is the part that is used."
}
MOST = 500  # questions on the page; all are in the JSON
PARTS = {"used": True, "reserved": True, "share": True, "left": False}  # rounded up?
NUMBERS = frozenset(("epsilon", "delta", "granted_epsilon", "granted_delta", "repeats", *PARTS))


async def show(request: Request) -> Response:
    """Verify the record, against a head that was noted earlier where one is given."""
    gateway, person = request.state.gateway, request.state.person
    head = request.query_params.get("head", "").strip()
    asked = "head" in request.query_params
    try:
        found = await run_in_threadpool(gateway.verification, person, head or None) if asked else None
        names = (await run_in_threadpool(gateway.me, person))["data"]
    except errors.TOLD as error:
        return errors.of_details(request, errors.told(request, error))
    return page(request, "auditor.html", found=found, head=head, names=names, twin="/v1/verification")


async def record(request: Request) -> Response:
    """All that the ledger says of one data set."""
    gateway, person, data = request.state.gateway, request.state.person, request.path_params["data"]
    try:
        found = await run_in_threadpool(gateway.record, person, data)
    except errors.TOLD as error:
        return errors.of_details(request, errors.told(request, error), "/record")
    return page(
        request,
        "record.html",
        record=found,
        picture=over_time(found["used"]),
        tables=list(_tables(found)),
        twin=f"/v1/record/{quote(data)}",
    )


def _tables(record: Mapping[str, Any]) -> Iterator[tuple[str, str, Heads, Rows]]:
    """Each table without columns in which nothing stands."""
    for title, name, columns in TABLES:
        rows: Sequence[Mapping[str, Any]] = record[name]
        kept = [one for one in columns if any(row[one] not in (None, "", []) for row in rows)]
        said = SUMS if name == "periods" else {}
        heads = tuple((said.get(one, one.replace("_", " ")), one in NUMBERS) for one in kept)
        rows = rows[-MOST:][::-1] if name == "questions" else rows
        found = [[_cell(one, row[one], at) for at, one in enumerate(kept)] for row in rows]
        yield title, NOTES.get(name, ""), heads, found


def _cell(name: str, value: object, place: int) -> PageCell:
    head = place == 0
    if value is None:
        return PageCell("", head=head)
    if name in PARTS:
        return PageCell(numbers.percent(value, up=PARTS[name]), number=True, head=head)
    if name == "when":
        return PageCell(numbers.moment(value), head=head)
    if isinstance(value, list):
        return PageCell(numbers.listed(list(map(str, value))), head=head)
    return PageCell(numbers.number(value), number=name in NUMBERS, head=head)
