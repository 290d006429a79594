"""A release as a draft record of the public register: valid whatever was asked, and true of the release."""

from __future__ import annotations

from dataclasses import replace

import jsonschema_rs
import pytest
import yaml

import dpselect as dps
from dpselect.testing import SeededDraws, drawing
from tests.house.registry import SCHEMA

VALID = jsonschema_rs.Draft7Validator(SCHEMA, validate_formats=True)
ROWS = {
    "user": [u for u in range(600) for _ in range(2)],
    "day": [d for _ in range(600) for d in (1, 2)],
    "item": [i for u in range(600) for i in ("tea", f"b{u % 3}")],
    "w": [1.5] * 1200,
    'a "b" \\ $unit \x7f {x} \U0001f600 # `c`': ["x", "y"] * 600,
}
AWKWARD = list(ROWS)[-1]
QUOTED = '"' + AWKWARD.replace('"', '""') + '"'
PLAIN = dps.Dataset(ROWS, user="user", item="item")
ASKED = {
    "top": lambda: PLAIN.top_k(2, epsilon=3, counts=True),
    "pure": lambda: PLAIN.top_k(2, epsilon=3, domain=["tea", "b1"]),
    "tiny": lambda: PLAIN.top_k(1, epsilon="1e-5", delta="1e-12"),
    "union": lambda: PLAIN.union(epsilon=3),
    "quantile": lambda: dps.Dataset(ROWS, user="user", item="w").quantile([0.5], bounds=(0, 10), epsilon=1),
    "choose": lambda: PLAIN.choose(["tea", "b1"], epsilon=1),
    "a mapping": lambda: dps.choose({"a": 1, "b": 7}, epsilon=1, sensitivity=1),
    "by group": lambda: dps.Dataset(ROWS, user="user", item="item").top_k(1, epsilon=9, by=AWKWARD),
    "pairs": lambda: dps.Dataset(ROWS, user=("user", AWKWARD), item="item").top_k(1, epsilon=9),
    "where": lambda: PLAIN.where(f"{QUOTED} = 'it''s \U0001f600 \\ $price'").top_k(1, epsilon=9),
}


@pytest.mark.parametrize("name", ASKED)
def test_a_record_is_valid_and_says_what_the_release_says(name):
    release = ASKED[name]()
    record = yaml.safe_load(release.to_registry())
    assert [f"{list(one.instance_path)} {one.message}" for one in VALID.iter_errors(record)] == []
    parts, privacy = record["deployment"], release.privacy
    said = parts["privacy_loss"]
    shown = privacy.to_dict()
    price = said["privacy_parameters"]
    assert (price["epsilon"], price.get("delta", 0)) == (shown["epsilon"], shown["delta"])
    assert isinstance(price["epsilon"], float)
    assert parts["dp_variant"]["variant_name"] == ("Approximate DP" if privacy.delta else "Pure DP")
    assert privacy.unit in said["privacy_unit_details"]
    assert said["privacy_parameters_details"] == " ".join(privacy.sentences)
    assert parts["implementation"]["utility"] == " ".join(release.accuracy.sentences)
    assert privacy.mechanism in parts["implementation"]["mechanisms"]
    assert "no floating-point number decides" in parts["implementation"]["mechanisms"]
    assert parts["administrative"]["status"] == "Draft"


def test_a_record_has_no_item():
    """The answer is published beside it."""
    release = PLAIN.top_k(2, epsilon=50)
    assert "tea" in release
    assert "tea" not in release.to_registry()


def test_draws_for_tests_make_no_record():
    with drawing(SeededDraws(1)):
        release = PLAIN.top_k(2, epsilon=3)
    with pytest.raises(dps.ParameterError, match="release must be made with draws of the system"):
        release.to_registry()
    assert replace(release, secure=True).to_registry()


def changed(change):
    record = yaml.safe_load(PLAIN.top_k(2, epsilon=3).to_registry())
    change(record)
    return record


@pytest.mark.parametrize(
    "change",
    [
        lambda r: r.pop("url_slug"),
        lambda r: r.update(status="Draft"),
        lambda r: r["deployment"].pop("administrative"),
        lambda r: r["deployment"]["basic"].pop("name"),
        lambda r: r["deployment"]["basic"].update(publication_date="1/1/2026"),
        lambda r: r["deployment"]["basic"].update(data_product_type="Selection"),
        lambda r: r["deployment"]["basic"].update(data_curators=["somebody"]),
        lambda r: r["deployment"]["privacy_loss"]["privacy_parameters"].update(epsilon="1e-05"),
        lambda r: r["deployment"]["administrative"].update(tier=4),
    ],
)
def test_the_schema_refuses_what_is_no_record(change):
    assert not VALID.is_valid(changed(change))
