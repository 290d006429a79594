"""The JSON Schema of a question takes what the question takes, and refuses what has another shape."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest

import dpselect as dps
from dpselect.queries.parameters import schemas
from dpselect.queries.planning import PLANS
from tests.reference.test_queries import QUERIES


def validator(verb: str) -> Any:
    """Of the whole question."""
    properties = {"verb": {"const": verb}, **schemas(verb)}
    schema = {"type": "object", "properties": properties, "required": ["verb"], "additionalProperties": False}
    return jsonschema_rs.Draft202012Validator(schema)


VALID = {verb: validator(verb) for verb in PLANS}


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: json.dumps(query.to_dict()))
def test_a_question_fits_its_schema(query: dps.Plan) -> None:
    VALID[query.verb].validate(query.to_dict())


@pytest.mark.parametrize("verb", PLANS)
def test_a_default_fits_and_is_the_default(verb: str) -> None:
    whole = {
        "top_k": {"epsilon": 1, "domain": ["a", "b"], "k": 1},
        "union": {"epsilon": 1, "max_items_per_user": 3},
        "choose": {"epsilon": 1, "domain": ["a", "b"]},
        "histogram": {"epsilon": 1, "domain": ["a", "b"]},
        "quantile": {"epsilon": 1, "bounds": [0, 9]},
        "users": {"epsilon": 1},
    }[verb]
    asked = dps.Plan.from_dict({"verb": verb, **whole})
    for name, schema in schemas(verb).items():
        if "default" in schema and name not in whole and name not in ("tokenizer", "lower"):
            said = {"verb": verb, **whole, name: schema["default"]}
            VALID[verb].validate(said)
            assert dps.Plan.from_dict(said).to_dict() == asked.to_dict(), name


# A question, and a parameter that turns it into one that no schema and no question takes.
TOP = {"verb": "top_k", "k": 2, "epsilon": 1}
QUANTILE = {"verb": "quantile", "epsilon": 1, "bounds": [0, 9]}
UNION = {"verb": "union", "epsilon": 1, "max_items_per_user": 2}
CHOOSE = {"verb": "choose", "epsilon": 1, "domain": ["a", "b"]}
WRONG = [
    (TOP, {"k": 0}),
    (TOP, {"k": "3"}),
    (TOP, {"k": 2.5}),
    (TOP, {"k": True}),
    (TOP, {"epsilon": True}),
    (TOP, {"epsilon": 0}),
    (TOP, {"epsilon": "one"}),
    (TOP, {"epsilon": "1/0"}),
    (TOP, {"epsilon": [1]}),
    (TOP, {"delta": 1}),
    (TOP, {"counts": "yes"}),
    (TOP, {"method": "gumbel"}),
    (TOP, {"domain": "a"}),
    (TOP, {"domain": []}),
    (TOP, {"domain": {"start": 0, "stop": 9, "step": 1}}),
    (TOP, {"domain": {"column": "x", "source": "/etc/passwd"}}),
    (TOP, {"domain": [["file", "x"]]}),
    (TOP, {"domain": [["tuple", ["a"]]]}),
    (TOP, {"exclude": 5}),
    (TOP, {"measures": []}),
    (TOP, {"by": []}),
    (TOP, {"plan": 1}),
    (TOP, {"epsilon_per_pick": 1}),
    (UNION, {"max_items_per_user": "many"}),
    (UNION, {"ngrams": [1, 2, 3]}),
    (UNION, {"tokenizer": "letters"}),
    (UNION, {"words": 1}),
    (CHOOSE, {"neighbors": "replace-one"}),
    (CHOOSE, {"users": True}),
    (UNION, {"k_bar": 9}),
    (CHOOSE, {"sensitivity": 2}),
    (CHOOSE, {"of_scores": True}),
    ({"verb": "users", "epsilon": 1}, {"domain": ["a"]}),
    ({"verb": "users", "epsilon": 1}, {"max_items_per_user": 1}),
    (QUANTILE, {"bounds": [0]}),
    (QUANTILE, {"bounds": []}),
    (QUANTILE, {"q": []}),
    (QUANTILE, {"per_user": "median"}),
]


@pytest.mark.parametrize(("asked", "wrong"), WRONG, ids=json.dumps)
def test_a_schema_refuses_what_the_question_refuses(asked: dict[str, Any], wrong: dict[str, Any]) -> None:
    VALID[asked["verb"]].validate(asked)
    dps.Plan.from_dict(asked)
    with pytest.raises(dps.ParameterError):
        dps.Dataset({"user": [1], "item": ["a"]}, user="user", item="item").ask(dps.Plan.from_dict({**asked, **wrong}))
    assert not VALID[asked["verb"]].is_valid({**asked, **wrong})
