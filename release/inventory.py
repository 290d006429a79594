"""What a reader verifies: a CycloneDX inventory of the wheel and what it needs, and the digests of all files."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from release.packages import Built, project_of, version_in
from release.steps import StopError

PINNED = re.compile(r"^([A-Za-z0-9][\w.-]*)==\S+(?: .*)?\\?\n(?:    --hash=.*\n)*", re.MULTILINE)
BUILDER = "flit-core"  # makes the wheel, and is not needed to run it


def pins(text: str) -> str:
    """The pins of what runs, with their hashes: those of a requirements file without the build backend's."""
    return "".join(pin[0] for pin in PINNED.finditer(text) if pin[1] != BUILDER)


def inventory(built: Built, epoch: int) -> str:
    """The inventory as JSON. It depends on the commit alone: no time but that of the commit, no random number."""
    made = _made(pins((built.tree / "requirements" / "runtime.txt").read_text("utf-8")), built, epoch)
    root = made["metadata"]["component"]
    digest = hashlib.sha256(built.wheel.read_bytes()).hexdigest()
    root["hashes"] = [{"alg": "SHA-256", "content": digest}]
    root["purl"] = f"pkg:pypi/{root['name']}@{version_in(built)}"
    for one in made["components"]:
        one.pop("description", None)  # the line of the file of pins, which its hashes repeat
        one["bom-ref"] = one["purl"]
    _check_complete(built, {one["name"] for one in made["components"]})
    # Each of these depends on none of the others: the tests of a release would show a package that is missing.
    refs = sorted(one["bom-ref"] for one in made["components"])
    made["dependencies"] = [{"ref": root["bom-ref"], "dependsOn": refs}, *({"ref": ref} for ref in refs)]
    return json.dumps(made, indent=2, sort_keys=True) + "\n"


def check_valid(text: str) -> None:
    """Refuse an inventory that other tools cannot read."""
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    wrong = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    if wrong is not None:
        raise StopError(f"the inventory is no valid CycloneDX 1.6: {wrong}\nhint: release/inventory.py makes it")


def _made(pinned: str, built: Built, epoch: int) -> dict[str, Any]:
    """What cyclonedx-bom makes of the pins."""
    tool = Path(sys.executable).with_name("cyclonedx-py.exe" if sys.platform == "win32" else "cyclonedx-py")
    options = ["requirements", "-", "--pyproject", str(built.tree / "pyproject.toml"), "--mc-type", "library"]
    done = subprocess.run(
        [tool, *options, "--spec-version", "1.6", "--output-reproducible", "--no-validate"],
        env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch)}, input=pinned, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise StopError(f"cyclonedx-py ended with {done.returncode}: {done.stderr[-500:]}\nhint: ./dev lock")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _check_complete(built: Built, listed: set[str]) -> None:
    """Every direct dependency is pinned, so it is in the inventory."""
    named = {re.split(r"[^\w.-]", one, maxsplit=1)[0].lower() for one in project_of(built.tree)["dependencies"]}
    if named - listed:
        raise StopError(f"the inventory lacks {', '.join(sorted(named - listed))}\nhint: run ./dev lock")


def write(built: Built, epoch: int) -> str:
    """Write the inventory and SHA256SUMS beside the two files, the inventory made twice and compared."""
    first, second = inventory(built, epoch), inventory(built, epoch)
    if first != second:
        raise StopError("two inventories of the same wheel differ\nhint: release/inventory.py makes them")
    check_valid(first)
    dist = built.wheel.parent
    named = dist / f"{built.wheel.stem.partition('-py3')[0]}.cdx.json"
    named.write_text(first, "utf-8", newline="\n")
    files = sorted(path for path in dist.iterdir() if path.name != "SHA256SUMS")
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (dist / "SHA256SUMS").write_text("".join(lines), "utf-8", newline="\n")
    parts = len(json.loads(first)["components"])
    return f"{named.name} of the wheel and {parts} dependencies, and SHA256SUMS of {len(files)} files"


def check_sums(dist: Path) -> None:
    """Every file of the folder is listed with its digest, and nothing else is."""
    lines = (dist / "SHA256SUMS").read_text("utf-8").splitlines()
    said = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    held = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in dist.iterdir() if path.name != "SHA256SUMS"
    }
    if said != held:
        raise StopError("SHA256SUMS does not say what the folder holds\nhint: run ./dev release --dry-run again")
