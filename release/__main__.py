"""The command: `./dev release`, `./dev release --dry-run`, `./dev release --cut`."""

from __future__ import annotations

import argparse
import datetime
import sys
import tempfile
import time
from pathlib import Path

from release import environments, inventory, packages, source, versions
from release.steps import ROOT, StopError, tell

HOW = """\
Nothing is uploaded from a laptop. A signed tag is pushed, and the workflow `publish` builds, checks and publishes it:

  ./dev release --cut              give the entries under 'Unreleased' the version and today's date; commit that
  ./dev release --dry-run          everything but publishing, on this machine
  git tag --sign v{version}        after the commit is on the main branch and its checks have passed
  git push origin v{version}

docs/releasing.md has the whole way, and what a reader can verify.
"""
DIST = ROOT / "dist"


def options(arguments: list[str]) -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(prog="./dev release", description="Make and check what a release consists of.")
    parser.add_argument("--dry-run", action="store_true", help="everything but publishing")
    parser.add_argument("--cut", action="store_true", help="give the entries that wait the version and today's date")
    parser.add_argument("--quick", action="store_true", help="no package index, one Python, few tests: about 20 s")
    parser.add_argument("--install-only", metavar="PYTHON", help="build once, try the wheel on this Python, as 3.13")
    parser.add_argument("--allow-dirty", action="store_true", help="of the working tree, for trying")
    parser.add_argument("--tag", help="the tag that is to be published: v and the version")
    parser.add_argument("--dist", type=Path, default=DIST, help="where the files go, anew (default: dist)")
    parser.add_argument("--uv", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def dry_run(asked: argparse.Namespace, folder: Path) -> None:
    """Every step, in order; the first that fails ends it."""
    tell("tree", source.check_clean(ROOT, allow_dirty=asked.allow_dirty))
    tell("version", versions.check_version(ROOT, asked.tag))
    tell("changelog", versions.check_changelog(ROOT, asked.tag))
    made, said = packages.build_twice(ROOT, folder, allow_dirty=asked.allow_dirty)
    tell("build", said)
    tell("contents", packages.check_contents(made))
    tell("metadata", packages.check_metadata(made))
    built = packages.put(made, asked.dist)
    uv = installer(asked)
    if asked.quick:
        tell("install", f"this Python, {environments.offline(built, uv, folder / 'env')}; answers")
        tell("tests", environments.some_from_sdist(built, folder))
    else:
        environments.everywhere(built, uv, folder)
        tell("tests", environments.from_sdist(built, folder))
    tell("inventory", inventory.write(built, source.moment(ROOT)))
    inventory.check_sums(built.wheel.parent)


def install_only(asked: argparse.Namespace, folder: Path) -> None:
    """The wheel on one Python and no other step: what a matrix of machines does."""
    if asked.install_only not in environments.pythons([asked.install_only]):
        raise StopError(f"Python {asked.install_only} is not on this machine\nhint: put it on the path")
    source.copy(ROOT, folder / "copy", allow_dirty=asked.allow_dirty)
    built = packages.build(folder / "copy", folder / "built", source.moment(ROOT))
    environments.everywhere(built, installer(asked), folder, [asked.install_only])


def installer(asked: argparse.Namespace) -> Path:
    """uv, which makes the environments."""
    if asked.uv is None:
        raise StopError("uv could not be installed, and it makes the environments\nhint: see above why")
    return Path(asked.uv)


def main(arguments: list[str]) -> int:
    """Do what was asked; 0 when every step passed."""
    asked = options(arguments)
    start = time.monotonic()
    try:
        if asked.cut:
            tell("cut", versions.cut(ROOT, datetime.datetime.now(datetime.UTC).date()))
        elif asked.dry_run:
            with tempfile.TemporaryDirectory(prefix="dpselect-release-") as folder:
                (install_only if asked.install_only else dry_run)(asked, Path(folder).resolve())
            where = "" if asked.install_only else f"; the files are in {asked.dist.name}/"
            tell("done", f"everything passed in {time.monotonic() - start:.0f} s{where}")
        else:
            sys.stdout.write(HOW.format(version=versions.version_of(ROOT)))
    except StopError as stopped:
        sys.stderr.write(f"release: stopped: {stopped}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
