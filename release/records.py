"""A wheel's records of itself: all are there, no others are, and they say what the tree does."""

from __future__ import annotations

import base64
import configparser
import csv
import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from packaging.metadata import Metadata
from packaging.requirements import Requirement

from release.steps import StopError

HINT = "hint: the pinned backend writes them from [project]; build again"
RECORDS = {"METADATA", "WHEEL", "RECORD", "entry_points.txt"}


def check_records(held: Mapping[str, bytes], project: Mapping[str, Any]) -> None:
    """Refuse a wheel whose records lack something, hold more, or disagree with `[project]`."""
    inside = f"{project['name']}-{project['version']}.dist-info/"
    wanted = {inside + name for name in (*RECORDS, *(f"licenses/{one}" for one in project["license-files"]))}
    there = {name for name in held if ".dist-info/" in name}
    _same("files", wanted, there)
    _same("digests", set(_digests(held, inside)), {tuple(row) for row in csv.reader(_lines(held, inside, "RECORD"))})
    found = Metadata.from_email(held[f"{inside}METADATA"], validate=True)
    _same("requirements", set(_needed(project)), {str(one) for one in found.requires_dist or ()})
    _same("extras", {*project["optional-dependencies"]}, {*(found.provides_extra or ())})
    commands = configparser.ConfigParser(delimiters=("=",))
    commands.read_string("\n".join(_lines(held, inside, "entry_points.txt")))
    said = {name: dict(commands[name]) for name in commands.sections()}
    if said != {"console_scripts": project["scripts"]}:
        raise StopError(f"the wheel's commands are {said}\n{HINT}")


def _lines(held: Mapping[str, bytes], inside: str, name: str) -> list[str]:
    return held[inside + name].decode("utf-8").splitlines()


def _digests(held: Mapping[str, bytes], inside: str) -> Iterator[tuple[str, str, str]]:
    """The rows of RECORD, as installers check them."""
    for name, content in held.items():
        if name == f"{inside}RECORD":
            yield name, "", ""
        else:
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
            yield name, f"sha256={digest}", str(len(content))


def _needed(project: Mapping[str, Any]) -> Iterator[str]:
    """What `[project]` asks for, in the one form of each requirement."""
    yield from (str(Requirement(one)) for one in project["dependencies"])
    for extra, needed in project["optional-dependencies"].items():
        yield from (str(Requirement(f'{one} ; extra == "{extra}"')) for one in needed)


def _same(what: str, wanted: set[Any], found: set[Any]) -> None:
    if wanted != found:
        differ = ", ".join(sorted(str(one) for one in wanted ^ found)[:5])
        raise StopError(f"the {what} in the wheel's records are not those of the tree: {differ}\n{HINT}")
