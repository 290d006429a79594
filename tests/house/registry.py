"""The form of a record in the public register of deployments.

Source: schemas/deployments-schema.yaml of github.com/opendp/deployments-registry-data, at commit
057e5d81cf60150dd3307e0cf4504b957802fb3b, the newest of which a copy was found in November 2026. No licence of it was
found. So no text of it is here: only names, types, enumerations and what is required, written anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Form = dict[str, Any]
TEXT: Form = {"type": "string"}
OPEN: Form = {}  # of any type


def one_of(*names: str) -> Form:
    return {"type": "string", "enum": list(names)}


def fields(properties: Mapping[str, Form], *required: str, others: bool = False) -> Form:
    made: Form = {"type": "object", "properties": dict(properties)}
    made |= {} if others else {"additionalProperties": False}
    return made | ({"required": list(required)} if required else {})


CURATOR = fields(
    {"data_curator_name": TEXT, "data_curator_type": one_of("Government", "Industry", "Nonprofit")},
    "data_curator_name",
    "data_curator_type",
    others=True,
)
BASIC = fields(
    {
        "name": TEXT,
        "data_curators": {"type": "array", "items": CURATOR, "minItems": 1},
        "description": TEXT,
        "intended_use": TEXT,
        "data_product_type": one_of(
            "Summary statistics",
            "Machine learning model",
            "Dataset",
            "Synthetic data",
            "Interactive API",
            "SQL queries",
        ),
        "data_product_region": TEXT,
        "data_product_sector": one_of("Technology", "Healthcare", "Education", "Government", "Energy", "Finance"),
        "publication_date": {"type": "string", "format": "date"},
    },
    *("name", "data_curators", "description", "intended_use", "data_product_type", "data_product_region"),
    "publication_date",
)
VARIANT = fields(
    {
        "variant_name": one_of("Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom"),
        "data_domain": TEXT,
        "unprotected_quantities": TEXT,
    }
)
LOSS = fields(
    {
        "privacy_unit": TEXT,
        "privacy_unit_details": TEXT,
        "number_of_privacy_units": {"type": "integer"},
        "privacy_parameters": fields(
            {"epsilon": {"type": "number"}, "delta": {"type": ["number", "string"]}, "rho": {"type": "number"}}
        ),
        "privacy_parameters_details": OPEN,
    }
)
MODEL = fields(
    {
        "model_name": one_of("Local", "Central", "Shuffle", "Federated", "Varies"),
        "model_name_details": TEXT,
        "trust_assumptions": TEXT,
        "actors": OPEN,
        "release_type": one_of("One release", "Many releases"),
        "release_type_details": TEXT,
        "data_source_type": one_of("Static", "Dynamic"),
        "data_source_type_details": TEXT,
        "access_type": one_of("Interactive", "Non-interactive"),
        "access_type_details": TEXT,
    }
)
IMPLEMENTATION = fields(
    {
        "preprocessing_and_hyperparameter_tuning": TEXT,
        "mechanisms": TEXT,
        "composition": TEXT,
        "post_processing": TEXT,
        "justification": TEXT,
        "utility": OPEN,
        "additional_information": OPEN,
    }
)
STATUS = ("Converted", "Draft", "Pending", "Changes Required", "Approved", "Approved (Update Requested)")
ADMINISTRATIVE = fields(
    {
        "status": one_of(*STATUS, "Approved (Pending)"),
        "registry_authors": {"type": "array", "items": TEXT, "minItems": 1},
        "tier": {"type": "integer", "enum": [1, 2, 3]},
    },
    *("status", "registry_authors", "tier"),
)
DEPLOYMENT = fields(
    {
        "basic": BASIC,
        "dp_variant": VARIANT,
        "privacy_loss": LOSS,
        "deployment_model": MODEL,
        "implementation": IMPLEMENTATION,
        "administrative": ADMINISTRATIVE,
    },
    *("basic", "administrative"),
)
SCHEMA = fields({"url_slug": TEXT, "deployment": DEPLOYMENT}, "url_slug", "deployment")
