"""A release as a draft record for the public register of deployments of differential privacy.

The register is the repository opendp/deployments-registry-data; `tests/house/registry.py` has the form that it had.
`registry.yaml` is the draft, into which goes what a release knows of itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path
from string import Template
from typing import Any

from dpselect.errors import ParameterError


def record(release: Mapping[str, Any]) -> str:
    """Return as YAML all that a release knows of itself, which `Release.to_dict` returns.

    Raises: ParameterError for a release that was made for tests.
    """
    if not release["secure"]:
        raise ParameterError("release", "be made with draws of the system", "one that was made with draws for tests")
    statement = release["privacy"]
    texts = {name: str(statement[name]) for name in ("unit", "neighbors", "mechanism", "bound")} | {
        "question": json.dumps(release.get("question")),
        "parameters": json.dumps(statement["parameters"]),
        "variant": "Approximate" if statement["delta"] else "Pure",
        "statement": " ".join(statement["statement"]),
        "accuracy": " ".join(release["accuracy"]["statement"]),
        "version": version("dpselect"),
    }
    filled = {name: json.dumps(text, ensure_ascii=not text.isprintable())[1:-1] for name, text in texts.items()}
    price = [f"{name}: {Decimal(repr(statement[name])):f}" for name in ("epsilon", "delta") if statement[name]]
    draft = Template(Path(__file__).with_name("registry.yaml").read_text("utf-8"))
    return draft.substitute(filled, price=", ".join(price))
