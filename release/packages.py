"""The sdist and the wheel: built twice from two fresh copies, the same byte for byte, whole and well described."""

from __future__ import annotations

import os
import shutil
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from release import page, records, source
from release.steps import StopError, run
from release.versions import version_of

BUILD = """
import os, sys
from flit_core import buildapi
os.umask(int(sys.argv[2], 8))
buildapi.build_sdist(sys.argv[1])
buildapi.build_wheel(sys.argv[1])
"""
# What must not tell in the files: where and when they are built, in whose language, and by whom they may be read.
TWO_WAYS: tuple[tuple[str, Mapping[str, str]], ...] = (
    ("022", {"TZ": "UTC", "LC_ALL": "C", "PYTHONHASHSEED": "1"}),
    ("077", {"TZ": "Asia/Tokyo", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "2"}),
)


@dataclass(frozen=True)
class Built:
    """What one build made, and the copy of the source that it was made from."""

    tree: Path
    sdist: Path
    wheel: Path


def project_of(tree: Path) -> dict[str, Any]:
    """The `[project]` of a tree."""
    return dict(tomllib.loads((tree / "pyproject.toml").read_text("utf-8"))["project"])


def build(tree: Path, out: Path, epoch: int, umask: str = "022", more: Mapping[str, str] | None = None) -> Built:
    """Build both files of a tree with the pinned backend, at the moment of the commit."""
    out.mkdir(parents=True)
    env = {**os.environ, **(more or {}), "SOURCE_DATE_EPOCH": str(epoch)}
    run([sys.executable, "-c", BUILD, out, umask], cwd=tree, env=env, hint="mend pyproject.toml")
    (sdist,), (wheel,) = out.glob("*.tar.gz"), out.glob("*.whl")
    return Built(tree, sdist, wheel)


def write_page(tree: Path) -> None:
    """Give a copy the README that an index shows."""
    readme = tree / "README.md"
    project = project_of(tree)
    shown = page.index_page(readme.read_text("utf-8"), project.get("urls", {}), project["version"])
    readme.write_text(shown, "utf-8", newline="\n")


def build_twice(root: Path, folder: Path, *, allow_dirty: bool) -> tuple[Built, str]:
    """Two builds in different places and circumstances, and a third of the wheel from the sdist: all the same."""
    epoch = source.moment(root)
    builds = []
    for number, (umask, more) in enumerate(TWO_WAYS):
        tree = folder / f"copy{number}-{'x' * 10 * number}"
        source.copy(root, tree, allow_dirty=allow_dirty)
        write_page(tree)
        builds.append(build(tree, folder / f"built{number}", epoch, umask, more))
    first, second = builds
    again = folder / "unpacked"
    source.unpack(first.sdist, again)
    (tree,) = again.iterdir()
    from_sdist = build(tree, folder / "built-from-sdist", epoch)
    for one, other in ((first, second), (first, from_sdist)):
        refuse_difference(one.sdist, other.sdist)
        refuse_difference(one.wheel, other.wheel)
    return first, f"{first.sdist.name} and {first.wheel.name}, three times the same, byte for byte"


def refuse_difference(one: Path, other: Path) -> None:
    """Two files that must be the same are, or the release stops and names what differs."""
    if one.read_bytes() == other.read_bytes():
        return
    mine, theirs = members(one), members(other)
    differ = sorted(name for name in mine.keys() | theirs.keys() if mine.get(name) != theirs.get(name))
    what = ", ".join(differ[:5]) or "times, modes or the order of its members"
    raise StopError(
        f"two builds of {one.name} differ in {what}\n"
        "hint: find what depends on place or time; the files must depend on the commit alone"
    )


def members(path: Path) -> dict[str, bytes]:
    """The files in a wheel or an sdist and what they hold; names of an sdist without its top folder."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            return {name: wheel.read(name) for name in wheel.namelist()}
    found = {}
    with tarfile.open(path) as sdist:
        for one in sdist.getmembers():
            held = sdist.extractfile(one)
            if held is not None:
                found[str(PurePosixPath(*PurePosixPath(one.name).parts[1:]))] = held.read()
    return found


def check_contents(built: Built) -> str:
    """The sdist is the tree, file by file, and the wheel holds every file of the package and nothing else."""
    tree = {
        path.relative_to(built.tree).as_posix(): path.read_bytes() for path in built.tree.rglob("*") if path.is_file()
    }
    sdist, wheel = members(built.sdist), members(built.wheel)
    _same("sdist", tree, {name: held for name, held in sdist.items() if name != "PKG-INFO"})
    package = {name.removeprefix("src/"): held for name, held in tree.items() if name.startswith("src/")}
    _same("wheel", package, {name: held for name, held in wheel.items() if ".dist-info/" not in name})
    return f"the sdist is the whole tree ({len(tree)} files), the wheel the whole package ({len(package)} files)"


def _same(what: str, wanted: Mapping[str, bytes], held: Mapping[str, bytes]) -> None:
    for said, names in {
        "lacks": wanted.keys() - held.keys(),
        "holds what is not in the tree:": held.keys() - wanted.keys(),
        "changed": {name for name in wanted.keys() & held.keys() if wanted[name] != held[name]},
    }.items():
        if names:
            raise StopError(
                f"the {what} {said} {', '.join(sorted(names)[:5])}\n"
                "hint: [tool.flit.sdist] in pyproject.toml says what goes in; only README.md may be rewritten"
            )


def check_metadata(built: Built) -> str:
    """The wheel's metadata are valid, agree with pyproject.toml, and the page on an index has no dead link."""
    from markdown_it import MarkdownIt
    from packaging.metadata import Metadata

    held = members(built.wheel)
    (name,) = (one for one in held if one.endswith(".dist-info/METADATA"))
    try:
        found = Metadata.from_email(held[name], validate=True)
    except Exception as error:
        raise StopError(f"the wheel's metadata are not valid: {error}\nhint: mend [project]") from None
    project = project_of(built.tree)
    said = (found.name, str(found.version), str(found.requires_python), str(found.license_expression))
    if said != (project["name"], project["version"], project["requires-python"], project["license"]):
        raise StopError(f"the wheel's metadata say {said}\nhint: compare with [project]")
    if found.description is None or found.description_content_type is None:
        raise StopError("the wheel's metadata have no description\nhint: [project] must name README.md")
    records.check_records(held, project)
    dead = page.dead_links(MarkdownIt("commonmark").enable("table").render(found.description))
    if dead:
        raise StopError(f"the page on an index has dead links: {', '.join(dead[:5])}\nhint: release/page.py makes it")
    return f"valid; the README as a page on an index has {len(found.description.splitlines())} lines and no dead link"


def put(built: Built, dist: Path) -> Built:
    """The two files in `dist/`, which holds nothing else then."""
    shutil.rmtree(dist, ignore_errors=True)
    dist.mkdir()
    return Built(built.tree, *(Path(shutil.copy(one, dist)) for one in (built.sdist, built.wheel)))


def version_in(built: Built) -> str:
    """The version that was built."""
    return version_of(built.tree)
