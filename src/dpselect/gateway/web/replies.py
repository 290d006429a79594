"""The JSON of what comes back, as JSON Schema. Objects are open: a later version may say more."""

from __future__ import annotations

from typing import Any

from dpselect._ground.privacy import Neighbors
from dpselect.gateway.jobs import JobState
from dpselect.gateway.problems import KINDS
from dpselect.gateway.settings.values import Role
from dpselect.ledger.report import STATES
from dpselect.release.statement import Ended, Kind

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
TEXTS: Schema = {"type": "array", "items": TEXT}
FLAG: Schema = {"type": "boolean"}
COUNT: Schema = {"type": "integer", "minimum": 0}
NUMBER: Schema = {"type": "number"}
PART: Schema = {"type": "number", "minimum": 0, "maximum": 1}
WHEN: Schema = {"type": "string", "format": "date-time"}
OPEN: Schema = {"type": "object"}
VALUE: Schema = {"type": ["null", "boolean", "number", "string", "array"]}


def ref(name: str) -> Schema:
    """A schema by its name."""
    return {"$ref": f"#/components/schemas/{name}"}


def listed(of: Schema) -> Schema:
    """A list."""
    return {"type": "array", "items": of}


def mapped(to: Schema) -> Schema:
    """Names with values of one sort."""
    return {"type": "object", "additionalProperties": to}


def null_or(schema: Schema) -> Schema:
    """Also null."""
    if isinstance(schema.get("type"), str):
        return {**schema, "type": [schema["type"], "null"]}
    return {"anyOf": [schema, {"type": "null"}]}


def of(properties: dict[str, Schema], *optional: str) -> Schema:
    """An object whose properties are all there, but for some."""
    needed = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": needed}


PROMISE = of({"epsilon": NUMBER, "delta": NUMBER})
MEASURE = of({"value": NUMBER, "low": NUMBER, "high": NUMBER})

ROW = of(
    {
        "item": VALUE,
        "rank": null_or(COUNT),
        "exact": {"description": "the item as [kind, text], where JSON has no type for it"},
        "count": {"type": "integer"},
        "sum": NUMBER,
        "gain": {"type": "integer"},
        "low": NUMBER,
        "high": NUMBER,
        "q": NUMBER,
        "measures": mapped(MEASURE),
        "group": OPEN,
        "exact_group": {"type": "array"},
    },
    *("exact", "count", "sum", "gain", "low", "high", "q", "measures", "group", "exact_group"),
)
GROUP = of(
    {
        "group": OPEN,
        "complete": FLAG,
        "ended": {"enum": [*map(str, Ended)]},
        "users": {"type": "integer"},
        "low": {"type": "integer"},
        "high": {"type": "integer"},
        "exact_group": {"type": "array"},
    },
    *("users", "low", "high", "exact_group"),
)
STATEMENT = of(
    {
        "epsilon": NUMBER,
        "delta": NUMBER,
        "neighbors": {"enum": [*map(str, Neighbors)]},
        "unit": TEXT,
        "mechanism": TEXT,
        "parameters": OPEN,
        "bound": TEXT,
        "statement": TEXTS,
    }
)
RELEASE = of(
    {
        "items": listed(ROW),
        "kind": {"enum": [*map(str, Kind)]},
        "counted": FLAG,
        "count_of": {**of({"what": TEXT}), "additionalProperties": True},
        "complete": FLAG,
        "ended": {"enum": [*map(str, Ended)]},
        "accuracy": {**of({"times_of_100": NUMBER, "statement": TEXTS}), "additionalProperties": True},
        "privacy": STATEMENT,
        "secure": FLAG,
        "question": OPEN,
        "by": TEXTS,
        "groups": listed(GROUP),
        "users": FLAG,
        "charged": OPEN,
        "exact": OPEN,
    },
    *("count_of", "question", "by", "groups", "users", "charged"),
)
PROBLEM = of(
    {
        "type": {"enum": [f"/problems/{kind}" for kind in KINDS]},
        "title": TEXT,
        "status": {"type": "integer"},
        "detail": TEXT,
        "hint": TEXT,
        "parameter": TEXT,
        "must": TEXT,
        "came": TEXT,
        "others": {**listed(OPEN), "description": "what else is wrong in the same body, each as a problem"},
    },
    *("hint", "parameter", "must", "came", "others"),
)
COST = of(
    {"share": NUMBER, "left": null_or(NUMBER), "questions_left": null_or(COUNT), "repeated": FLAG, "sentence": TEXT}
)
JOB = of(
    {
        "id": TEXT,
        "state": {"enum": [*map(str, JobState)]},
        "data": TEXT,
        "question": ref("Question"),
        "asked_at": WHEN,
        "by": TEXT,
        "ready_at": null_or(WHEN),
        "tick": NUMBER,
        "slips": COUNT,
        "answer": null_or(TEXT),
        "cost": null_or(ref("Cost")),
        "problem": null_or(ref("Problem")),
    }
)
PRICE = of(
    {
        "epsilon": NUMBER,
        "delta": NUMBER,
        "share": NUMBER,
        "left": NUMBER,
        "left_after": NUMBER,
        "more": null_or(COUNT),
        "fits": FLAG,
        "free": FLAG,
        "sentence": TEXT,
    }
)
FORECAST_ROW = of(
    {
        "method": TEXT,
        "epsilon": NUMBER,
        "items": NUMBER,
        "items_spread": NUMBER,
        "smallest_count": null_or(COUNT),
        "error": NUMBER,
        "error_spread": NUMBER,
        "threshold": null_or(NUMBER),
        "within": null_or(COUNT),
        "max_groups_per_user": null_or(COUNT),
        "groups": null_or(NUMBER),
        "width": null_or(COUNT),
    }
)
FORECAST = of(
    {
        "question": TEXT,
        "data_read": {"const": False},
        "spent": PROMISE,
        "assumed": OPEN,
        "rows": listed(FORECAST_ROW),
        "notes": TEXTS,
    }
)
EXPECTED = of(
    {
        "epsilon": NUMBER,
        "share": NUMBER,
        "items": null_or(NUMBER),
        "lost": null_or(NUMBER),
        "within": null_or(NUMBER),
        "width": null_or(NUMBER),
        "asked": FLAG,
    },
    "asked",
)
PLAN = of(
    {
        "forecast": null_or(ref("Forecast")),
        "sentences": TEXTS,
        "price": ref("Price"),
        "rows": listed(EXPECTED),
    }
)
DATA = of(
    {
        "name": TEXT,
        "title": TEXT,
        "about": TEXT,
        "unit": TEXT,
        "items": listed({"type": ["string", "array"], "items": TEXT}),
        "groups": TEXTS,
        "filters": mapped({"anyOf": [{"const": "any"}, listed(VALUE)]}),
        "weights": mapped(of({"at_most": NUMBER, "unit": null_or(NUMBER)})),
        "values": mapped(of({"low": NUMBER, "high": NUMBER, "step": null_or(NUMBER)})),
        "domains": mapped(listed(VALUE)),
        "sizes": of(
            {
                "users": NUMBER,
                "items": NUMBER,
                "items_per_user": NUMBER,
                "skew": NUMBER,
                "groups": COUNT,
                "rows": COUNT,
                "bytes": COUNT,
            }
        ),
        "time": null_or(TEXT),
        "period": null_or(TEXT),
        "timezone": null_or(TEXT),
        "periods": TEXTS,
        "max_k": COUNT,
        "max_items_per_user": null_or(COUNT),
        "tick": NUMBER,
        "slips": COUNT,
        "longest": NUMBER,
        "approve": FLAG,
        "promise": PROMISE,
    }
)
ME = of({"name": TEXT, "role": {"enum": [*map(str, Role)]}, "data": TEXTS})
ANSWER = of({"id": TEXT, "data": TEXT, "question": ref("Question"), "asked_at": WHEN, "by": TEXT})
BUDGET = of(
    {
        "data": TEXT,
        "analyst": TEXT,
        "period": null_or(TEXT),
        "granted": PROMISE,
        "left": PART,
        "promise": PROMISE,
        "data_left": PART,
    }
)
GRANTED = of({"data": TEXT, "analyst": TEXT, "granted": PROMISE})
PERSON = of(
    {
        "name": TEXT,
        "role": {"enum": [*map(str, Role)]},
        "data": TEXTS,
        "until": null_or({"type": "string", "format": "date"}),
    }
)
VERIFICATION = of({"problems": TEXTS, "entries": COUNT, "head": null_or(TEXT)})
RECORD = of(
    {
        "dataset": TEXT,
        "unit": TEXT,
        "period": null_or(TEXT),
        "timezone": null_or(TEXT),
        "epsilon": NUMBER,
        "delta": NUMBER,
        "order": null_or(NUMBER),
        "apart": NUMBER,
        "kept": NUMBER,
        "changes": listed(of({"when": TEXT, "what": TEXT, "epsilon": NUMBER, "delta": NUMBER})),
        "periods": listed(
            of(
                {
                    "period": null_or(TEXT),
                    **dict.fromkeys(("used", "reserved", "epsilon", "renyi", "delta"), NUMBER),
                }
            )
        ),
        "analysts": listed(
            of(
                {
                    "analyst": TEXT,
                    "period": null_or(TEXT),
                    **dict.fromkeys(("granted_epsilon", "granted_delta", "left"), NUMBER),
                }
            )
        ),
        "questions": listed(
            of(
                {
                    "number": COUNT,
                    "when": TEXT,
                    "analyst": TEXT,
                    "question": null_or(TEXT),
                    "periods": TEXTS,
                    "state": {"enum": sorted({*STATES.values()})},
                    "epsilon": NUMBER,
                    "delta": NUMBER,
                    "share": null_or(NUMBER),
                    "repeats": COUNT,
                }
            )
        ),
        "used": listed(of({"when": TEXT, "number": COUNT, "period": null_or(TEXT), "used": NUMBER})),
        "verification": ref("Verification"),
    }
)
EVENT: Schema = {
    **of({"event": {"const": "state"}, "data": {**TEXT, "contentMediaType": "application/json"}}),
    "description": "one event; its data is a question, as JSON",
}

REPLIES: dict[str, Schema] = {
    "Job": JOB,
    "Cost": COST,
    "Problem": PROBLEM,
    "Release": RELEASE,
    "Plan": PLAN,
    "Forecast": FORECAST,
    "Price": PRICE,
    "Data": DATA,
    "Me": ME,
    "Answer": ANSWER,
    "Budget": BUDGET,
    "Granted": GRANTED,
    "Person": PERSON,
    "Record": RECORD,
    "Verification": VERIFICATION,
}
