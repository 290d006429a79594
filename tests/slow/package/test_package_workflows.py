"""The workflows: pinned, with least rights, and nothing is published that the others have not passed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / ".github" / "workflows"
WORKFLOWS = sorted(FOLDER.glob("*.yml"))
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
OWN = re.compile(r"\$/\.github/workflows/(\w+)\.yml")


def audit(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [Path(sys.executable).with_name("zizmor"), "--offline", "--persona", "pedantic", "--no-progress", folder]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_an_auditor_of_workflows_finds_nothing() -> None:
    said = audit(ROOT / ".github")
    assert said.returncode == 0, said.stdout


def test_the_auditor_refuses(tmp_path: Path) -> None:
    folder = tmp_path / ".github" / "workflows"
    folder.mkdir(parents=True)
    text = (FOLDER / "check.yml").read_text("utf-8")
    for good, bad in {"permissions: {}\n": "", "persist-credentials: false": "clean: true"}.items():
        assert good in text
        (folder / "check.yml").write_text(text.replace(good, bad, 1), "utf-8")
        assert audit(tmp_path).returncode != 0, good


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_action_is_pinned_by_its_whole_hash(path: Path) -> None:
    text = path.read_text("utf-8")
    used = re.findall(r"uses: (.+)", text)
    assert used
    assert [one for one in used if not PINNED.fullmatch(one) and not OWN.fullmatch(one)] == []
    assert "\npermissions: {}\n" in text
    assert text.count("timeout-minutes:") == text.count("runs-on:")


def test_one_action_has_one_hash() -> None:
    """And a hash one version: a slip of the pen is seen."""
    used = {one for path in WORKFLOWS for one in re.findall(r"uses: (\S+@\S+ # \S+)", path.read_text("utf-8"))}
    assert len({one.partition("@")[0] for one in used}) == len({one.split()[0] for one in used}) == len(used)


def test_a_tag_is_published_after_all_others_agree() -> None:
    text = (FOLDER / "publish.yml").read_text("utf-8")
    jobs = dict(re.findall(r"^  (\w+):\n((?:    .*\n|\n)+)", text.partition("\njobs:\n")[2], re.MULTILINE))
    assert OWN.findall(text) == ["check", "matrix", "docs"]
    assert "needs: [check, matrix, docs, build, trial]" in jobs["attest"]
    assert ("needs: [build, attest]" in jobs["publish"], "needs: [build, publish]" in jobs["notes"]) == (True, True)
    assert [name for name, job in jobs.items() if "gh-action-pypi-publish" in job] == ["publish"]
    rights = {name: sorted(re.findall(r"^      ([\w-]+): write", job, re.MULTILINE)) for name, job in jobs.items()}
    assert {name: found for name, found in rights.items() if found} == {
        "attest": ["attestations", "id-token"],
        "publish": ["id-token"],
        "notes": ["contents"],
    }
    assert "cache" not in text.partition("\non:")[2]


def test_nothing_but_the_tag_and_the_pins_touches_what_is_published() -> None:
    """The files are made where no newest version of anything runs, and summed before any other job can see them."""
    text = (FOLDER / "publish.yml").read_text("utf-8")
    jobs = dict(re.findall(r"^  (\w+):\n((?:    .*\n|\n)+)", text.partition("\njobs:\n")[2], re.MULTILINE))
    assert [name for name, job in jobs.items() if "upload-artifact" in job] == ["build"]
    installed = re.findall(r"(?:pip install|--with-requirements|--build-constraints|--with) (.*)", jobs["build"])
    assert len(installed) == 3
    assert all("--require-hashes" in one or one.startswith("requirements/") for one in installed)
    assert "sums: ${{ steps.sums.outputs.sums }}" in jobs["build"]
    for name, job in jobs.items():
        if "download-artifact" in job:
            taken, checked = job.index("download-artifact"), job.index('echo "$SUMS" | sha256sum --strict --check\n')
            used = job.index({"attest": "attest-build-prov", "publish": "gh-action-pypi", "notes": "gh release"}[name])
            assert taken < checked < used


def test_files_that_are_not_what_was_built_are_refused(tmp_path: Path) -> None:
    text = (FOLDER / "publish.yml").read_text("utf-8")
    (check,) = set(re.findall(r"- run: \| # what was built, and nothing else\n((?: {10}.*\n)+)", text))
    (sums,) = re.findall(r'run: echo "sums=\$\((.*)\)" >>', text)
    dist = tmp_path / "dist"

    def run(command: str, **env: str) -> subprocess.CompletedProcess[str]:
        words = ["bash", "-e", "-c", command]
        return subprocess.run(
            words, cwd=tmp_path, env={**os.environ, **env}, capture_output=True, text=True, check=False
        )

    def build(held: str) -> str:
        dist.mkdir(exist_ok=True)
        (dist / "a.whl").write_text(held)
        run("cd dist && sha256sum a.whl > SHA256SUMS")
        return run(sums).stdout.strip()

    mine = build("mine")
    assert run(check, SUMS=mine).returncode == 0
    (dist / "more.whl").write_text("theirs")
    assert run(check, SUMS=mine).returncode != 0
    (dist / "more.whl").unlink()
    build("theirs")  # with sums of its own
    assert run(check, SUMS=mine).returncode != 0
    assert run(check, SUMS="").returncode != 0


def test_who_is_called_can_be_called() -> None:
    for path in WORKFLOWS:
        for called in OWN.findall(path.read_text("utf-8")):
            assert "\n  workflow_call:\n" in (FOLDER / f"{called}.yml").read_text("utf-8")
