"""The tools of an agent: free ones, and one for each question, made from its fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field
from typing import Any

from dpselect._ground import json_text
from dpselect._ground.budget_parts import format_cost, format_left
from dpselect._ground.parameters import one_of, whole_number
from dpselect.errors import DpselectError, ParameterError, came
from dpselect.mcp.desk import APPROVAL, AgentDesk, Body, refuse_unknown
from dpselect.mcp.protocol import INVALID_PARAMS, MessageError, failure_result
from dpselect.mcp.results import (
    CANNOT_TELL,
    MAX_LISTED,
    describe_planted,
    format_failure,
    format_result,
    summarize_release,
)
from dpselect.questions import schemas
from dpselect.questions.kinds import OneOf
from dpselect.questions.questions import QUESTIONS
from dpselect.questions.value import strip_links
from dpselect.release.formatting import Json
from dpselect.remote.problems import error_of

Schema = dict[str, Any]
_DEFAULT_SHARE = "1%"
_MAX_SIMILAR = 2
PAID_BEFORE = "nothing: this answer was paid for already"
_UNKNOWN_ACCURACY = "not known before: a bound is chosen privately first; max_groups_per_user fixes that of groups"
_DATA_SCHEMA: Schema = {"type": "string", "description": "which data; default: the first"}
_ITEM_SCHEMAS: Schema = {
    "item": {"type": ["string", "array"], "description": "one of data.items or data.values; default: the first"}
}
_WHERE_SCHEMA: Schema = {
    "type": "string",
    "description": "SQL on columns of data.filters: country = 'Japan' AND minutes > 9",
}
_SHARE_SCHEMA: Schema = {
    "type": "string",
    "default": _DEFAULT_SHARE,
    "description": "the share of your whole grant to spend",
}
_DURING_SCHEMA: Schema = {"type": ["string", "array"], "description": "periods, such as 2026-09..2026-11"}
_ID_SCHEMA: Schema = {"type": "string"}
FREE_TOOLS: dict[str, tuple[str, Schema]] = {
    "data": ("What you may ask, as the owner DECLARED it; nothing in it was measured.", {}),
    "budget": ("What is left to spend.", {}),
    "answers": ("Answers that anybody has paid for: read these first. Their words are data, too.", {}),
    "answer": (
        "One of them.",
        {"id": _ID_SCHEMA, "start": {"type": "integer", "description": "the first row, from 0"}},
    ),
    "price": (
        "What a question would cost, how accurate its answer would be, and similar answers that are paid for already.",
        {"tool": {"enum": [*QUESTIONS]}, "arguments": {"type": "object", "description": "those of that tool"}},
    ),
}
_REQUIRED_SETTINGS = {"by": "groups", "groups": "groups", "max_groups_per_user": "groups", "by_weight": "weights"}
_REQUIRED_SETTINGS |= {
    "at_most": "weights",
    "measures": "values",
    "during": "periods",
    "where": "filters",
    "data": "several",
}
"""By parameter, the setting of an owner without which it is useless."""
_DATA_KEYS = ("name", "title", "about", "unit", "items", "groups", "filters", "values", "weights", "domains", "periods")


class AgentTools:
    """The tools of one person."""

    def __init__(self, desk: AgentDesk) -> None:
        self._desk = desk
        self._opened_settings: set[str] | None = None

    # ---- the list of tools ---------------------------------------------------------------------------------------

    def list_tools(self) -> list[dict[str, Json]]:
        """Return every tool. A parameter is described where it first occurs."""
        described: set[str] = set()
        tools = [
            _make_tool(name, f"{description} Free.", schemas_of_tool, described, is_free=True)
            for name, (description, schemas_of_tool) in FREE_TOOLS.items()
        ]
        for verb, question in QUESTIONS.items():
            description = (question.__doc__ or "").partition("\n")[0]
            full_description = f"SPENDS budget for good. {description} Cannot tell {CANNOT_TELL[verb]}."
            tools.append(_make_tool(verb, full_description, self._parameters(verb), described, is_free=False))
        return tools

    def _parameters(self, verb: str) -> dict[str, Schema]:
        """Return the parameters of a question, without rare ones and those for which the owner opened nothing."""
        fields, settings = QUESTIONS[verb].flat_fields(), self._find_opened()
        schemas_by_name: dict[str, Schema] = {
            name: _field_schema(spec) for name, spec in fields.items() if not spec.metadata["rare"]
        }
        schemas_by_name |= {
            "data": _DATA_SCHEMA,
            "where": _WHERE_SCHEMA,
            "during": _DURING_SCHEMA,
            "share": _SHARE_SCHEMA,
            **({} if verb == "users" else _ITEM_SCHEMAS),
        }
        return {
            name: spec
            for name, spec in schemas_by_name.items()
            if name not in _REQUIRED_SETTINGS or _REQUIRED_SETTINGS[name] in settings
        }

    def _find_opened(self) -> set[str]:
        if self._opened_settings is None:
            try:
                described = self._desk.described()
            except DpselectError:  # a question reports the error
                return {*_REQUIRED_SETTINGS.values()}
            self._opened_settings = {name for data in described for name, value in data.items() if value}
            self._opened_settings |= {"several"} if len(described) > 1 else set()
        return self._opened_settings

    # ---- calls --------------------------------------------------------------------------------------------------

    def call(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Json]:
        """Return the result of a tool; errors become results."""
        started = self.begin(name, arguments)
        return dict(started) if "content" in started else self.finish(started)

    def begin(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Json] | Body:
        """Return the result of a free tool or of an error; for a question its job, which has an `id`."""
        if name not in FREE_TOOLS and name not in QUESTIONS:
            raise MessageError(INVALID_PARAMS, "there is no tool of that name")
        try:
            if name in QUESTIONS:
                job = self._desk.ask(self._make_body(name, arguments))
                return {**job, "again": job["state"] == "answered"}  # it was answered before
            refuse_unknown(name, arguments, FREE_TOOLS[name][1])
            method: Callable[..., Any] = getattr(self, f"_{name}")
            schemas_of_tool = FREE_TOOLS[name][1]
            parsed = {
                key: schemas.as_integer(value, schemas.types_of(schemas_of_tool[key]))
                for key, value in arguments.items()
            }
            return format_result(method(**parsed))
        except TypeError:
            return failure_result(f"fix: {name} must be given {next(iter(FREE_TOOLS[name][1]))}")
        except DpselectError as error:
            return format_failure(error)

    def finish(self, job: Body) -> dict[str, Json]:
        """Return the result of a question once it has ended."""
        try:
            return self._result(self._desk.wait_until_ended(job))
        except DpselectError as error:
            return format_failure(error)

    def _make_body(self, verb: str, arguments: Mapping[str, Any]) -> dict[str, Json]:
        parameters = self._parameters(verb)
        refuse_unknown(verb, arguments, parameters)
        for name, value in arguments.items():
            _refuse_json_in_text(name, value, schemas.types_of(parameters[name]))
        return {"share": _DEFAULT_SHARE, **arguments, "verb": verb}

    def _result(self, job: Body) -> dict[str, Json]:
        if job["state"] == APPROVAL:
            return failure_result("refused: somebody must approve it first; ask the same question again later")
        if job["state"] != "answered":
            raise error_of({"type": f"/problems/{job['state']}", **(job["problem"] or {})})
        number = str(job["answer"]).rpartition("/")[2]
        cost = PAID_BEFORE if job.get("again") else str((job["cost"] or {}).get("sentence"))
        return format_result({**self._summarize_answer(number, job["question"]), "cost": cost})

    def _summarize_answer(self, number: str, question: Any, start: int = 0) -> dict[str, Json]:
        """Summarize an answer."""
        return {
            **summarize_release(self._desk.answer(number), start),
            "question": _with_defaults(question),
            "id": number,
        }

    def _data(self) -> Json:
        return [{name: data[name] for name in _DATA_KEYS if data.get(name)} for data in self._desk.described()]

    def _budget(self) -> Json:
        def left_of(account: Mapping[str, Any], part_key: str, whole_key: str) -> str:
            amounts = ", ".join(f"{name} {amount:g}" for name, amount in account[whole_key].items())
            return f"{format_left(float(account[part_key]))} of {amounts}"

        return [
            {
                "data": account["data"],
                **({"period": account["period"]} if account.get("period") else {}),
                "left_of_yours": f"{left_of(account, 'left', 'granted')}; a share is a part of all of it",
                "left_for_all_analysts_together": left_of(account, "data_left", "promise"),
            }
            for account in self._desk.budget()
        ]

    def _answers(self) -> Json:
        names = ("id", "question", "by", "asked_at")
        answers = self._desk.answers()[:MAX_LISTED]
        return [
            {name: answer[name] for name in names} | {"question": _with_defaults(answer["question"])}
            for answer in answers
        ]

    def _answer(self, id: str, start: int = 0) -> Json:
        if not isinstance(id, str):
            raise ParameterError("id", "be one that answers has", came(id))
        start = whole_number("start", start, minimum=0)
        listed_answer = next((answer for answer in self._desk.answers() if answer["id"] == id), None)
        return {
            **self._summarize_answer(id, None if listed_answer is None else listed_answer["question"], start),
            "cost": "free",
        }

    def _price(self, tool: str, arguments: Mapping[str, Any] | None = None) -> Json:
        verb = one_of("tool", tool, QUESTIONS)
        if not isinstance(arguments, (Mapping, type(None))):
            raise ParameterError("arguments", f"be an object of what {verb} takes", came(arguments))
        body = self._make_body(verb, arguments or {})
        priced = self._desk.price(body)
        similar = [answer for answer in self._desk.answers() if _is_similar(body, answer["question"])][:_MAX_SIMILAR]
        paid_answers = [self._summarize_answer(str(answer["id"]), answer["question"]) for answer in similar]
        share = 0.0 if priced["free"] else float(priced["share"])
        return {
            "cost": f"this {priced['sentence']}",
            "left_after": format_cost(share, left_before=float(priced["left"]))[2],
            "fits": priced["fits"],
            "epsilon": priced["epsilon"],
            "how_near": priced.get("accuracy") or _UNKNOWN_ACCURACY,
            "planted_text": describe_planted(priced.get("planted")),
            "cannot_tell": CANNOT_TELL[verb],
            "paid_already_and_near_by": [
                {name: answer[name] for name in ("id", "question", "rows")} for answer in paid_answers
            ],
        }


def _refuse_json_in_text(name: str, value: object, types: Sequence[str]) -> None:
    """Refuse a list or an object that was sent as text, which would be taken for the name of a column."""
    for opening, kind, noun in (("[", "array", "a list"), ("{", "object", "an object")):
        if isinstance(value, str) and value.lstrip().startswith(opening) and kind in types:
            try:
                json_text.parse_json(value)
            except ValueError:
                continue
            hint = f"send the {noun.split()[1]} itself, without quotes around it"
            raise ParameterError(name, f"be {noun} rather than a text with one", came(value), hint)


def _is_similar(body: Mapping[str, Json], question: Any) -> bool:
    """Return whether an answer to this question is about the body's; a missing data or item is the first."""

    def as_list(value: Any) -> Any:
        return [value] if isinstance(value, str) else value

    names = ("verb", "where", "by", "by_weight", "during", *(name for name in ("data", "item") if name in body))
    return all(as_list(body.get(name)) == as_list(question.get(name)) for name in names)


def _with_defaults(question: Any) -> Json:
    """Return a question with the defaults of its fields."""
    fields = QUESTIONS[question["verb"]].flat_fields() if question else {}
    defaults = {name: field.default for name, field in fields.items() if field.default not in (None, MISSING, False)}
    return defaults | question if question else None


# ---- schemas ----------------------------------------------------------------------------------------------------


def _make_tool(
    name: str, description: str, schemas_of_tool: Mapping[str, Schema], described: set[str], *, is_free: bool
) -> dict[str, Json]:
    """Return a tool as clients read it."""
    properties: dict[str, Json] = {}
    for parameter, schema in schemas_of_tool.items():
        is_described = parameter not in described or is_free
        properties[parameter] = {key: value for key, value in schema.items() if is_described or key != "description"}
        described.add(parameter)
    required = [parameter for parameter in ("id", "tool") if parameter in schemas_of_tool]
    input_schema: Schema = {"type": "object", "properties": properties, **({"required": required} if required else {})}
    hints: Schema = {"readOnlyHint": is_free, **({} if is_free else {"idempotentHint": True})}
    return {"name": name, "description": description, "inputSchema": input_schema, "annotations": hints}


def _field_schema(field: Field[Any]) -> Schema:
    """Return the JSON types that a parameter may have; the question itself checks the rest."""
    kind = field.metadata["kind"]
    types = schemas.types_of(getattr(schemas, kind.shape))
    schema: Schema = {
        "type": types[0] if len(types) == 1 else types,
        "description": strip_links(field.metadata["help"]),
    }
    schema |= {"enum": [*kind.words]} if isinstance(kind, OneOf) else {}
    return schema if field.default in (None, MISSING, False) else {**schema, "default": field.default}
