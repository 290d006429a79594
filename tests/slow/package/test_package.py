"""What a release is made of is judged by steps that can fail: version, changelog, page, files, inventory."""

from __future__ import annotations

import datetime
import hashlib
import json
import re
import shutil
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from release import environments, inventory, packages, records, source, versions
from release.__main__ import main
from release.packages import Built
from release.page import dead_links, index_page
from release.steps import ROOT, StopError

TODAY = datetime.date(2026, 11, 23)


# ---- the version and the changelog -----------------------------------------------------------------------


def checkout(folder: Path, version: str = "1.2.3", cited: str = "1.2.3", changelog: str | None = None) -> Path:
    (folder / "pyproject.toml").write_text(f'[project]\nname = "dpselect"\nversion = "{version}"\n', "utf-8")
    (folder / "CITATION.cff").write_text(f"title: x\nversion: {cited}\nlicense: y\n", "utf-8")
    text = "# Changelog\n\n## Unreleased\n\n### Added\n\n- One.\n" if changelog is None else changelog
    (folder / "CHANGELOG.md").write_text(text, "utf-8")
    return folder


def test_this_checkout_agrees_with_itself() -> None:
    assert versions.check_version(ROOT, None).startswith(versions.version_of(ROOT))
    assert versions.check_changelog(ROOT, None)


@pytest.mark.parametrize(
    ("said", "tag", "message"),
    [
        ({"cited": "1.2.2"}, None, "CITATION.cff must say version 1.2.3"),
        ({"version": "1.2.3.dev0"}, None, "version in pyproject.toml must be like 1.2.3"),
        ({}, "v1.2.4", "the tag must be v1.2.3, got v1.2.4"),
        ({}, "1.2.3", "the tag must be v1.2.3, got 1.2.3"),
    ],
)
def test_files_that_disagree_are_refused(said: dict[str, str], tag: str | None, message: str, tmp_path: Path) -> None:
    with pytest.raises(StopError, match=message):
        versions.check_version(checkout(tmp_path, **said), tag)


CUT = "# Changelog\n\n## Unreleased\n\n## 1.2.3 (2026-11-23)\n\n### Added\n\n- One.\n"
REFUSED = {
    "nothing to say": ("# Changelog\n\n## Unreleased\n", None, "no entry under '## Unreleased'"),
    "no heading": ("# Changelog\n\n## 1.2.3 (2026-11-23)\n\n- One.\n", None, "must begin with '## Unreleased'"),
    "a tag before the cut": (None, "v1.2.3", r"has no '## 1.2.3 \(date\)'"),
    "entries after the cut": (CUT.replace("Unreleased\n", "Unreleased\n\n- Two.\n"), "v1.2.3", "was cut already"),
    "an older version": (CUT.replace("1.2.3 (", "1.2.4 (") + CUT[25:], None, "was cut already"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_changelog_that_is_not_ready_is_refused(name: str, tmp_path: Path) -> None:
    text, tag, message = REFUSED[name]
    with pytest.raises(StopError, match=message):
        versions.check_changelog(checkout(tmp_path, changelog=text), tag)


def test_cutting_gives_the_entries_a_version_and_a_date_once(tmp_path: Path) -> None:
    root = checkout(tmp_path)
    assert "which --cut makes those of 1.2.3" in versions.check_changelog(root, None)
    versions.cut(root, TODAY)
    changelog = (root / "CHANGELOG.md").read_text("utf-8")
    assert versions.headings(changelog) == ["## Unreleased", "## 1.2.3 (2026-11-23)"]
    assert versions.entries(changelog, "## 1.2.3 (2026-11-23)") == ["- One."]
    assert versions.entries(changelog, "## Unreleased") == []
    assert "version: 1.2.3\ndate-released: 2026-11-23\n" in (root / "CITATION.cff").read_text("utf-8")
    assert versions.check_changelog(root, "v1.2.3") == "1.2.3 (2026-11-23), 1 entries"
    with pytest.raises(StopError, match="was cut already"):
        versions.cut(root, TODAY)


def test_without_a_dry_run_it_says_how_and_does_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert f"git push origin v{versions.version_of(ROOT)}\n" in capsys.readouterr().out


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="an sdist is no checkout")
def test_it_stops_at_the_first_step_that_fails(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    dist = tmp_path / "dist"
    assert main(["--dry-run", "--allow-dirty", "--tag", "v0.0.0", "--dist", str(dist)]) == 1
    said = capsys.readouterr()
    assert [line.split(": ")[1] for line in said.out.splitlines()] == ["tree"]
    assert said.err.startswith("release: stopped: the tag must be v")
    assert "\nhint: " in said.err
    assert not dist.exists()


def test_the_pythons_that_are_promised_are_those_that_are_tried() -> None:
    said = packages.project_of(ROOT)
    named = [one.rpartition(" ")[2] for one in said["classifiers"] if re.search(r":: 3\.\d+$", one)]
    assert tuple(named) == environments.SUPPORTED
    assert said["requires-python"] == f">={named[0]}"
    matrix = (ROOT / ".github" / "workflows" / "matrix.yml").read_text("utf-8")
    assert f"python: {json.dumps(named)}" in matrix
    page = (ROOT / "docs" / "reference" / "compatibility.md").read_text("utf-8")
    assert f"\nPython {named[0]} to {named[-1]}.\n" in page


# ---- the page on an index --------------------------------------------------------------------------------

README = """\
# Name

See [the guide](docs/guide.md#part) and [proofs](docs/proofs/), or [elsewhere](https://example.org/x).

![A picture](docs/figures/one.png)

<picture>
  <source media="(prefers-color-scheme: dark)" srcset="docs/figures/two-dark.svg">
  <img alt="Two" src="docs/figures/two.svg">
</picture>

```
[kept](as/it/is)
```
"""


def test_without_an_address_links_become_text_and_pictures_go() -> None:
    assert index_page(README, {}, "1.2.3") == (
        "# Name\n\nSee the guide and proofs, or [elsewhere](https://example.org/x).\n\n```\n[kept](as/it/is)\n```\n"
    )


def test_with_an_address_links_lead_to_the_tag() -> None:
    page = index_page(README, {"Source": "https://example.org/us/"}, "1.2.3")
    for part in (
        "[the guide](https://example.org/us/blob/v1.2.3/docs/guide.md#part)",
        "[proofs](https://example.org/us/tree/v1.2.3/docs/proofs/)",
        "![A picture](https://example.org/us/raw/v1.2.3/docs/figures/one.png)",
        'srcset="https://example.org/us/raw/v1.2.3/docs/figures/two-dark.svg"',
        '<img alt="Two" src="https://example.org/us/raw/v1.2.3/docs/figures/two.svg">',
        "[kept](as/it/is)",
    ):
        assert part in page


def test_dead_links_are_found() -> None:
    html = '<a href="docs/x.md">x</a> <img src="y.png"> <a href="https://example.org">z</a> <a href="#part">w</a>'
    assert dead_links(f'{html} <source srcset="z.svg">') == ["docs/x.md", "y.png", "#part", "z.svg"]


# ---- files -----------------------------------------------------------------------------------------------


def zipped(path: Path, files: Mapping[str, str | bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name), text)
    return path


def test_files_that_differ_are_named(tmp_path: Path) -> None:
    one = zipped(tmp_path / "one.whl", {"a.py": "1", "b.py": "2"})
    packages.refuse_difference(one, zipped(tmp_path / "same.whl", {"a.py": "1", "b.py": "2"}))
    with pytest.raises(StopError, match=r"differ in b\.py, c\.py\n"):
        packages.refuse_difference(one, zipped(tmp_path / "other.whl", {"a.py": "1", "b.py": "3", "c.py": ""}))
    with pytest.raises(StopError, match="differ in times, modes or the order"):
        packages.refuse_difference(one, zipped(tmp_path / "order.whl", {"b.py": "2", "a.py": "1"}))


def test_a_tree_that_is_not_the_commit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "changes", lambda _: [" M README.md"])
    monkeypatch.setattr(source, "run", lambda *_, **__: "0123456789ab\n")
    with pytest.raises(StopError, match=r"differs from its last commit:\n   M README.md\nhint: commit"):
        source.check_clean(tmp_path, allow_dirty=False)
    assert "1 changes that are not committed" in source.check_clean(tmp_path, allow_dirty=True)


# ---- the real thing --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """This checkout as it is, built once."""
    if not (ROOT / ".git").exists():
        pytest.skip("an sdist is no checkout")
    folder = tmp_path_factory.mktemp("package")
    source.copy(ROOT, folder / "copy", allow_dirty=True)
    packages.write_page(folder / "copy")
    return packages.put(packages.build(folder / "copy", folder / "built", 1), folder / "dist")


def test_this_checkout_makes_whole_and_valid_files(built: Built) -> None:
    assert "the sdist is the whole tree" in packages.check_contents(built)
    assert "no dead link" in packages.check_metadata(built)


def test_another_place_and_time_make_the_same_files(built: Built, tmp_path: Path) -> None:
    shutil.copytree(built.tree, tmp_path / "elsewhere")
    umask, more = packages.TWO_WAYS[1]
    again = packages.build(tmp_path / "elsewhere", tmp_path / "built", 1, umask, more)
    packages.refuse_difference(built.wheel, again.wheel)
    packages.refuse_difference(built.sdist, again.sdist)


def test_what_is_left_out_or_changed_is_named(built: Built, tmp_path: Path) -> None:
    tree = Path(shutil.copytree(built.tree, tmp_path / "tree"))
    (tree / "src" / "dpselect" / "new.py").write_text("", "utf-8")
    with pytest.raises(StopError, match=r"the sdist lacks src/dpselect/new\.py"):
        packages.check_contents(Built(tree, built.sdist, built.wheel))
    (tree / "src" / "dpselect" / "new.py").unlink()
    (tree / "README.md").write_text("changed", "utf-8")
    with pytest.raises(StopError, match=r"the sdist changed README\.md"):
        packages.check_contents(Built(tree, built.sdist, built.wheel))


BROKEN: dict[str, tuple[str, str, bytes | None]] = {
    "no command": ("files", "entry_points.txt", None),
    "another command": ("digests", "entry_points.txt", b"[console_scripts]\ndpselect=os:abort\n"),
    "no licence": ("files", "licenses/LICENSE", None),
    "more than records": ("files", "more.pth", b"import os"),
    "no digests": ("digests", "RECORD", b""),
}


@pytest.mark.parametrize("sort", BROKEN)
def test_a_wheel_with_broken_records_is_refused(built: Built, tmp_path: Path, sort: str) -> None:
    what, name, content = BROKEN[sort]
    held = packages.members(built.wheel)
    name = next(one for one in held if one.endswith("/RECORD")).removesuffix("RECORD") + name
    held.pop(name, None)
    broken = held | ({} if content is None else {name: content})
    with pytest.raises(StopError, match=f"the {what} in the wheel's records are not"):
        packages.check_metadata(Built(built.tree, built.sdist, zipped(tmp_path / built.wheel.name, broken)))


def test_records_that_agree_with_themselves_and_not_with_the_tree_are_refused(built: Built) -> None:
    held, project = packages.members(built.wheel), packages.project_of(built.tree)
    records.check_records(held, project)
    for name, value in {
        "dependencies": [*project["dependencies"], "more"],
        "optional-dependencies": {**project["optional-dependencies"], "empty": []},
        "scripts": {"dpselect": "elsewhere:process"},
    }.items():
        with pytest.raises(StopError, match=r"in the wheel's records|the wheel's commands"):
            records.check_records(held, {**project, name: value})


def test_the_inventory_names_the_wheel_and_all_that_it_needs(built: Built) -> None:
    assert "3 dependencies" in inventory.write(built, 1)
    dist = built.wheel.parent
    (path,) = dist.glob("*.cdx.json")
    told = json.loads(path.read_text("utf-8"))
    assert told["metadata"]["component"]["hashes"][0]["content"] == hashlib.sha256(built.wheel.read_bytes()).hexdigest()
    assert [one["name"] for one in told["components"]] == ["duckdb", "numpy", "python-flint"]
    assert all(one["externalReferences"][0]["hashes"] for one in told["components"])
    assert "serialNumber" not in told
    assert told["metadata"]["timestamp"].startswith("1970-01-01T00:00:01")
    inventory.check_sums(dist)
    path.write_text(path.read_text("utf-8") + " ", "utf-8")
    with pytest.raises(StopError, match="SHA256SUMS does not say"):
        inventory.check_sums(dist)


def test_the_wheel_answers_in_an_environment_of_its_own(built: Built, tmp_path: Path) -> None:
    uv = next((ROOT / ".venv").glob("uv-*/bin/uv"), None)
    if uv is None:
        pytest.skip("./dev has no uv on this machine")
    assert "duckdb" in environments.offline(built, uv, tmp_path / "whole")
    held = {name: one for name, one in packages.members(built.wheel).items() if name != "dpselect/dataset.py"}
    broken = Built(built.tree, built.sdist, zipped(tmp_path / built.wheel.name, held))
    with pytest.raises(StopError):
        environments.offline(broken, uv, tmp_path / "broken")
