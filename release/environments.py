"""The built wheel in fresh environments: every supported Python that is here, lowest and newest dependencies."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from pathlib import Path

from release import source
from release.packages import Built, project_of, version_in
from release.steps import ROOT, Command, StopError, python_of, run, tell

SUPPORTED = ("3.11", "3.12", "3.13", "3.14")
RESOLUTIONS = ("lowest-direct", "highest")
SMOKE = Path(__file__).with_name("smoke.py")
# They need the package, its dependencies and a test runner, and no extra.
PLAIN_TESTS = (
    *(f"tests/exact/test_{name}.py" for name in ("certified", "limited_domain", "peeling", "set_union_calls")),
    *(f"tests/ledger/test_{name}.py" for name in ("log", "promises")),
    *("tests/golden", "tests/reference/test_queries.py"),
)
SOME_TESTS = ("tests/house/test_words.py", "tests/slow/package/test_sdist.py", "tests/exact/test_peeling.py")
RUNNER = ("pytest", "hypothesis", "mpmath")
HINT = "a lower bound in pyproject.toml may be too low, or the package needs what it does not name"


def answers(python: Path | str) -> str | None:
    """The version that an interpreter says it is, `3.12`; None for one that does not start."""
    code = "import sys, venv; print('%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def candidates(version: str) -> Iterator[Path]:
    """Where an interpreter of a version may be: this one, the path, and pyenv's folders."""
    yield Path(sys.executable)
    found = shutil.which(f"python{version}")
    if found:
        yield Path(found)
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    yield from sorted(pyenv.glob(f"{version}.*/bin/python{version}"), reverse=True)


def pythons(versions: Sequence[str] = SUPPORTED) -> dict[str, Path]:
    """Those of some Pythons that are here."""
    found = {}
    for version in versions:
        one = next((path for path in candidates(version) if answers(path) == version), None)
        if one is not None:
            found[version] = one
    return found


def offline(built: Built, uv: Path, folder: Path) -> str:
    """The wheel alone in a fresh environment; what it depends on is that of the checkout. No index is asked."""
    python = fresh(uv, folder, Path(sys.executable))
    run([uv, "pip", "install", "--quiet", "--python", str(python), "--offline", "--no-deps", built.wheel], hint=HINT)
    where = run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], hint=HINT).strip()
    (Path(where) / "those-of-the-checkout.pth").write_text(sysconfig.get_path("purelib"), "utf-8")
    return smoke(python, version_in(built))


def smoke(python: Path, version: str, *more: str) -> str:
    """Run the smoke test in an environment; the versions that it used."""
    command: Command = [python, "-I", SMOKE, version, str(ROOT), *more]
    return run(command, cwd=python.parent, env=everyday(), hint=HINT).strip()


def everywhere(built: Built, uv: Path, folder: Path, versions: Sequence[str] = SUPPORTED) -> None:
    """Install, ask and test the wheel on every one of these Pythons that is here."""
    tests, found = source_out_of_the_way(built, folder), pythons(versions)
    for version in versions:
        if version not in found:
            tell("install", f"Python {version} is not on this machine: the workflow `matrix` tries it")
            continue
        for resolution in RESOLUTIONS:
            python = fresh(uv, folder / f"{version}-{resolution}", found[version])
            options = ["--quiet", "--python", str(python), "--only-binary", ":all:"]
            wanted = [built.wheel, *project_of(built.tree)["dependencies"]]  # named, so that they are direct
            run([uv, "pip", "install", *options, "--resolution", resolution, *wanted], hint=HINT)
            used = smoke(python, version_in(built))
            run([uv, "pip", "install", *options, *RUNNER], hint="the test runner must be on your package index")
            passed = plain_tests(python, tests)
            tell("install", f"Python {version}, {resolution}: {used}; answers; {passed}")
    if found:
        with_extras(built, uv, folder / "extras", *next(iter(found.items())))


def with_extras(built: Built, uv: Path, folder: Path, version: str, interpreter: Path) -> None:
    """The wheel with the lowest versions of what its extras need, but for Spark, which needs Java."""
    project = project_of(built.tree)
    named = {name: one for name, one in project["optional-dependencies"].items() if name not in ("all", "spark")}
    wanted = [built.wheel, *project["dependencies"], *(one for needed in named.values() for one in needed)]
    python = fresh(uv, folder, interpreter)
    options = ["--quiet", "--python", str(python), "--only-binary", ":all:", "--resolution", RESOLUTIONS[0]]
    run([uv, "pip", "install", *options, *wanted], hint=HINT)
    used = smoke(python, version_in(built), "extras")
    tell("install", f"Python {version}, {RESOLUTIONS[0]}, extras: {used}; answers")


def fresh(uv: Path, folder: Path, python: Path) -> Path:
    """An empty environment of a Python; its interpreter."""
    run([uv, "venv", "--quiet", "--python", python, folder], hint="uv makes the environments")
    return python_of(folder)


def source_out_of_the_way(built: Built, folder: Path) -> Path:
    """The unpacked sdist without the package: what its tests import is what was installed."""
    source.unpack(built.sdist, folder / "tests-of-the-sdist")
    (tree,) = (folder / "tests-of-the-sdist").iterdir()
    (tree / "src").rename(folder / "source-out-of-the-way")
    return tree


def plain_tests(python: Path, tree: Path) -> str:
    """Run the tests that need no extra."""
    command: Command = [python, "-m", "pytest", "-q", "-rfE", "-p", "no:cacheprovider", *PLAIN_TESTS]
    return last_line(run(command, cwd=tree, env=everyday(), hint=HINT))


def everyday(**more: str) -> dict[str, str]:
    """The environment of a process that knows nothing of this one: in CI, too, the tests are those of every day."""
    ours = ("CI", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    kept = {name: value for name, value in os.environ.items() if name not in ours}
    return {**kept, "PYTHONDONTWRITEBYTECODE": "1", **more}


def from_sdist(built: Built, folder: Path) -> str:
    """Run the everyday tests as somebody does who has nothing but the sdist: unpack it, `./dev test`."""
    top = unpacked(built, folder)
    command: Command = [sys.executable, top / "dev", "test", "-q", "-rfE", "-n", "auto"]
    said = run(command, cwd=top, env=everyday(), hint="mend what failed")
    return f"in an environment of the sdist's own: {last_line(said)}"


def some_from_sdist(built: Built, folder: Path) -> str:
    """Run a few tests from the unpacked sdist, in the environment of this checkout."""
    top = unpacked(built, folder)
    command: Command = [sys.executable, "-m", "pytest", "-q", "-rfE", "-n", "0", "-p", "no:cacheprovider", *SOME_TESTS]
    said = run(command, cwd=top, env=everyday(PYTHONPATH=str(top / "src")), hint="mend what failed")
    return f"some, in the environment of this checkout: {last_line(said)}"


def unpacked(built: Built, folder: Path) -> Path:
    """The sdist, unpacked anew."""
    source.unpack(built.sdist, folder / "alone")
    (top,) = (folder / "alone").iterdir()
    return top


def last_line(said: str) -> str:
    """What pytest says in the end."""
    lines = said.strip().splitlines()
    if not lines:
        raise StopError("pytest said nothing\nhint: run it by hand")
    return lines[-1].strip("= ")
