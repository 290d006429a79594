"""Remote: a gateway by its address, for whoever has a token."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dpselect._ground.parameters import Progress, check_callable, check_keywords, not_negative, refuse_unknown_names
from dpselect.errors import GatewayError, ParameterError, came
from dpselect.queries.plan import Plan
from dpselect.questions.parts import Payment
from dpselect.questions.questions import Question
from dpselect.release.formatting import Json
from dpselect.remote.address import parse_address
from dpselect.remote.dataset import Body, RemoteDataset, plan_body, question_body
from dpselect.remote.problems import escape_json
from dpselect.remote.waiting import fetch_release, parse_id, wait_for_answer
from dpselect.remote.wire import Wire
from dpselect.verbs import check_question

if TYPE_CHECKING:
    from dpselect.release.release import Release

DEFAULT_PATIENCE = 60.0  # seconds
MAX_TOKEN_CHARACTERS = 4096  # characters of a token
TOKEN_VARIABLE = "DPSELECT_TOKEN"


@check_keywords
def connect(
    url: str, *, token: str | None = None, insecure: bool = False, patience: float = DEFAULT_PATIENCE
) -> Remote:
    """Connect to a gateway; nothing is sent before a question is asked.

    Args:
        url: The address of the gateway.
        token: Your token; DPSELECT_TOKEN if left out. It is sent only to this address, and over http:// only within
            this computer.
        insecure: Also send the token over http:// to other machines.
        patience: For this many seconds a lost connection is made again, and an overloaded gateway is waited for. This
            never asks or pays twice.
    """
    if not isinstance(insecure, bool):
        raise ParameterError("insecure", "be True or False", came(insecure))
    address = parse_address(url, insecure=insecure)
    return Remote(Wire(address, _parse_token(token), float(not_negative("patience", patience))))


def _parse_token(argument: object) -> str:
    """Return a valid token; no message shows any of it."""
    hint = f"the owner of the gateway makes one; {TOKEN_VARIABLE} is used if token= is left out"
    text = os.environ.get(TOKEN_VARIABLE) if argument is None else argument
    if text is None or text == "":
        raise ParameterError("token", "be given", "nothing", hint)
    if not isinstance(text, str) or len(text) > MAX_TOKEN_CHARACTERS:
        raise ParameterError("token", "be the text that the gateway gave", "something else", hint)
    token = text.strip()
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise ParameterError("token", "be the text that the gateway gave", "something else", hint)
    return token


@check_keywords
class Remote:
    """A gateway: its data, and the questions that were asked there. `connect` makes it.

    docs/connect.md documents the dicts that it returns. Control characters in texts of the gateway are escaped. Threads
    may share it.
    """

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def __repr__(self) -> str:
        return f"Remote({str(self._wire.address)!r})"

    def data(
        self,
        name: str | None = None,
        *,
        item: str | Sequence[str] | None = None,
        max_items_per_user: int | None = None,
    ) -> RemoteDataset:
        """Return data of the gateway, to be asked like a `Dataset`.

        Args:
            name: The name of the data; may be left out if there is only one.
            item: The column of items, or several; the first of the owner's if left out.
            max_items_per_user: The most items that a user counts for; the owner's if left out.
        """
        return RemoteDataset(self._wire, name, item=item, max_items_per_user=max_items_per_user)

    def me(self) -> dict[str, Json]:
        """Return your name, role and data, as the gateway knows them."""
        return _escaped_object(self._wire.get("/v1/me"))

    def described(self) -> list[dict[str, Json]]:
        """Return the data that you may ask about, with everything that their owner declared."""
        return _escaped_rows(self._wire.get("/v1/data"), "data")

    def plan(
        self, question: Question | Plan, *, data: RemoteDataset | str | None = None, **price: Any
    ) -> dict[str, Json]:
        """Return a forecast of the answer, its accuracy and its price. It is free, and reads no data.

        The price is given as for `ask`: `plan(dps.TopK(5), data="listening", epsilon=0.5)`.

        Args:
            question: The question, or a plan of it.
            data: The name of the data, or a RemoteDataset with its item and filter.
        """
        return _escaped_object(self._wire.post("/v1/plan", _plan_body(self._data_of(data), question, price)))

    def price(
        self, question: Question | Plan, *, data: RemoteDataset | str | None = None, **price: Any
    ) -> dict[str, Json]:
        """Return the price, as `plan` does, but without the forecast, which takes time.

        Args:
            question: The question, or a plan of it.
            data: The name of the data, or a RemoteDataset with its item and filter.
        """
        return _escaped_object(self._wire.post("/v1/price", _plan_body(self._data_of(data), question, price)))

    def budget(self) -> list[dict[str, Json]]:
        """Return the promise for each data set, what is left of it, and what is left of your quota."""
        return _escaped_rows(self._wire.get("/v1/budget"), "budgets")

    def questions(self) -> list[dict[str, Json]]:
        """Return the latest questions, newest first."""
        return _escaped_rows(self._wire.get("/v1/questions"), "questions")

    def question(self, question: str) -> dict[str, Json]:
        """Return the state of a question, by its id."""
        return _escaped_object(self._wire.get(f"/v1/questions/{parse_id('question', question)}"))

    def wait(self, question: str, *, progress: Progress | None = None) -> Release:
        """Wait for the answer to a question that was asked before, by its id."""
        check_callable("progress", progress)
        return wait_for_answer(self._wire, parse_id("question", question), progress)

    def cancel(self, question: str) -> dict[str, Json]:
        """Cancel a question, by its id. GatewayError if it has started or ended."""
        path = f"/v1/questions/{parse_id('question', question)}"
        return _escaped_object(self._wire.delete(path, patience=self._wire.patience))

    def answers(self) -> list[dict[str, Json]]:
        """Return the answers about data that you may use, including those that others paid for."""
        return _escaped_rows(self._wire.get("/v1/answers"), "answers")

    def answer(self, answer: str) -> Release:
        """Return an answer, by its id, free of charge."""
        return fetch_release(self._wire, parse_id("answer", answer))

    def close(self) -> None:
        """Close this thread's connection; the next request makes another."""
        self._wire.close()

    def _data_of(self, data: object) -> RemoteDataset:
        if isinstance(data, RemoteDataset):
            return data
        if data is None or isinstance(data, str):
            return RemoteDataset(self._wire, data)
        raise ParameterError("data", "be a name, or what Remote.data(...) makes", came(data))


def _plan_body(rows: RemoteDataset, question: object, price: dict[str, Any]) -> Body:
    if isinstance(question, Plan):
        if price:
            raise ParameterError(next(iter(price)), "be left out for a Plan, which has a price", "something")
        return plan_body(question, rows)
    check_question(question)
    refuse_unknown_names(price, [parameter.name for parameter in Payment.parameters()], "be a part of a price")
    return question_body(question, Payment(**price), rows)  # type: ignore[arg-type] # it was checked


def _escaped_object(reply: Any) -> dict[str, Json]:
    fields: dict[str, Json] = escape_json(reply)
    return fields


def _escaped_rows(reply: Any, name: str) -> list[dict[str, Json]]:
    rows = reply.get(name)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise GatewayError("the reply does not come from a gateway", "is the address right?", kind="reply")
    return [_escaped_object(row) for row in rows]
