"""The source of a release: a clean tree, its moment, and fresh copies of it."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path

from release.steps import StopError, run

GIT = "a release is made from a git checkout with at least one commit"


def changes(root: Path) -> list[str]:
    """What differs from the last commit, also files that git does not know."""
    return run(["git", "status", "--porcelain"], cwd=root, hint=GIT).splitlines()


def check_clean(root: Path, *, allow_dirty: bool) -> str:
    """Refuse a tree that is not the commit: nobody could build the same again."""
    found = changes(root)
    if found and not allow_dirty:
        shown = "\n".join(f"  {line}" for line in found[:10])
        raise StopError(f"the tree differs from its last commit:\n{shown}\nhint: commit, or try with --allow-dirty")
    commit = run(["git", "rev-parse", "--short=12", "HEAD"], cwd=root, hint=GIT).strip()
    return (
        f"{commit}, with {len(found)} changes that are not committed (only for trying)" if found else f"{commit}, clean"
    )


def moment(root: Path) -> int:
    """When the last commit was made: the one time that built files bear."""
    return int(run(["git", "log", "-1", "--format=%ct"], cwd=root, hint=GIT))


def copy(root: Path, folder: Path, *, allow_dirty: bool) -> None:
    """The files of the last commit in a new folder; with `allow_dirty` those of the working tree."""
    folder.mkdir(parents=True)
    if allow_dirty:
        listed = run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=root, hint=GIT)
        for name in filter(None, listed.split("\0")):
            if (root / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(root / name, folder / name)
        return
    archive = folder.with_suffix(".tar")
    run(["git", "archive", "--format=tar", f"--output={archive}", "HEAD"], cwd=root, hint=GIT)
    unpack(archive, folder)
    archive.unlink()


def unpack(archive: Path, folder: Path) -> None:
    """Unpack a tar file: by the safe rules, which the first releases of Python 3.11 do not have."""
    with tarfile.open(archive) as opened:
        if hasattr(tarfile, "data_filter"):
            opened.extractall(folder, filter="data")
        else:
            opened.extractall(folder)
