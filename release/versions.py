"""The version, which three files say, and the changelog, whose newest entries become those of the release."""

from __future__ import annotations

import datetime
import re
import tomllib
from pathlib import Path

from release.steps import StopError

UNRELEASED = "## Unreleased"
CITED = re.compile(r"^version: (.+)$", re.MULTILINE)
DATED = re.compile(r"^date-released: .*\n", re.MULTILINE)
PLAIN = re.compile(r"\d+\.\d+\.\d+")
CUT = "run ./dev release --cut, look at the changelog, and commit"


def version_of(root: Path) -> str:
    """The version that pyproject.toml says."""
    return str(tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["version"])


def headings(changelog: str) -> list[str]:
    """The headings of versions, newest first."""
    return [line for line in changelog.splitlines() if line.startswith("## ")]


def entries(changelog: str, heading: str) -> list[str]:
    """The entries under a heading."""
    _, _, after = changelog.partition(f"{heading}\n")
    return [line for line in after.partition("\n## ")[0].splitlines() if line.startswith("- ")]


def heading_of(changelog: str, version: str) -> str | None:
    """The heading of a version that was cut, with its date; None where there is none."""
    found = re.compile(rf"## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)")
    return next((line for line in headings(changelog) if found.fullmatch(line)), None)


def check_version(root: Path, tag: str | None) -> str:
    """Refuse files that disagree; with a tag also one of another version."""
    version = version_of(root)
    if not PLAIN.fullmatch(version):
        raise StopError(f"version in pyproject.toml must be like 1.2.3, got {version}\nhint: write three numbers")
    cited = CITED.search((root / "CITATION.cff").read_text("utf-8"))
    if cited is None or cited[1].strip("\"'") != version:
        raise StopError(
            f"CITATION.cff must say version {version}, as pyproject.toml does, got {cited[1] if cited else 'none'}\n"
            "hint: write the same version into both"
        )
    if tag is not None and tag != f"v{version}":
        raise StopError(f"the tag must be v{version}, got {tag}\nhint: tag the commit that says this version")
    return f"{version} in pyproject.toml and CITATION.cff" + (f", and the tag {tag}" if tag else "")


def check_changelog(root: Path, tag: str | None) -> str:
    """Refuse a changelog that says nothing of this version; with a tag also one that was not cut."""
    version, changelog = version_of(root), (root / "CHANGELOG.md").read_text("utf-8")
    found = headings(changelog)
    if found[:1] != [UNRELEASED]:
        raise StopError(f"CHANGELOG.md must begin with {UNRELEASED!r}\nhint: add this heading above the others")
    waiting, made = entries(changelog, UNRELEASED), heading_of(changelog, version)
    if made is None and tag is not None:
        raise StopError(f"CHANGELOG.md has no '## {version} (date)'\nhint: {CUT}, before the tag is made")
    if made is not None and (found[1] != made or waiting):
        raise StopError(
            f"CHANGELOG.md has entries or headings above {made!r}, which was cut already\n"
            "hint: raise the version in pyproject.toml and CITATION.cff, or move the entries down"
        )
    if made is not None:
        return f"{made.removeprefix('## ')}, {len(entries(changelog, made))} entries"
    if not waiting:
        raise StopError(f"CHANGELOG.md has no entry under {UNRELEASED!r}\nhint: say what changed for its users")
    return f"{len(waiting)} entries under 'Unreleased', which --cut makes those of {version}"


def cut(root: Path, today: datetime.date) -> str:
    """Give the entries that wait the version and today's date, in the changelog and in CITATION.cff."""
    version, path = version_of(root), root / "CHANGELOG.md"
    check_version(root, None)
    check_changelog(root, None)
    changelog = path.read_text("utf-8")
    if heading_of(changelog, version) is not None:
        raise StopError(
            f"version {version} was cut already\nhint: raise the version in pyproject.toml and CITATION.cff"
        )
    path.write_text(changelog.replace(UNRELEASED, f"{UNRELEASED}\n\n## {version} ({today})", 1), "utf-8")
    cited = root / "CITATION.cff"
    dated = CITED.sub(rf"version: {version}\ndate-released: {today}", DATED.sub("", cited.read_text("utf-8")))
    cited.write_text(dated, "utf-8")
    return f"{version} ({today}) in CHANGELOG.md and CITATION.cff"
