"""What a change selects: too much is allowed, too little is refused."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.house import selection
from tests.house.selection import PACKAGE, REGISTRIES, ROOT, Graph, Source, changes, select

# The files of a small checkout: a package with two mechanisms, one engine, and a session that uses one of them.
FILES = {
    "src/dpselect/__init__.py": "if TYPE_CHECKING:\n    from dpselect.session import Session\ndef __getattr__(n): ...",
    "src/dpselect/errors.py": "",
    "src/dpselect/draws.py": "from .errors import Error",
    "src/dpselect/mechanisms/__init__.py": "from dpselect.mechanisms.joint import Joint\n"
    "from dpselect.mechanisms.peeling import Peeling as Peeling",
    "src/dpselect/mechanisms/peeling.py": "from ..draws import Draws",
    "src/dpselect/mechanisms/joint.py": "from dpselect import draws",
    "src/dpselect/engine.py": "def f():\n    import dpselect.sql.spark",
    "src/dpselect/sql/__init__.py": "",
    "src/dpselect/sql/spark.py": "",
    "src/dpselect/session.py": "from dpselect import mechanisms\nfrom dpselect.engine import f\nmechanisms.Peeling",
    "tests/__init__.py": "",
    "tests/conftest.py": "from tests.server import run",
    "tests/server.py": "",
    "tests/exact/test_peeling.py": "from dpselect.mechanisms import Peeling",
    "tests/exact/test_joint.py": "import dpselect.mechanisms as m\nfrom tests.exact.laws import law\nm.Joint()",
    "tests/exact/test_all.py": "from dpselect import mechanisms\nprint(mechanisms)",
    "tests/exact/laws.py": "def law():\n    from dpselect.draws import Draws",
    "tests/exact/test_session.py": "import dpselect as dps\ndps.Session",
    "tests/exact/test_patched.py": "def test(monkeypatch): monkeypatch.setattr('dpselect.errors.Error', 1)",
    "tests/exact/test_star.py": "from dpselect.sql import *",
    "tests/cli/conftest.py": "from dpselect.errors import Error",
    "tests/cli/test_here.py": "",
    "tests/cli/test_process.py": "import subprocess, sys\nsubprocess.run([sys.executable, '-c', '1'])",
    "tests/cli/child.py": "",
    "tests/docs/test_page.py": "from pathlib import Path\nPAGE = Path('docs') / 'page.md'",
    "tests/docs/test_modules.py": "import importlib\nfor n in 'ab': importlib.import_module(n)",
    "tests/house/test_tree.py": "",
    "benchmarks/bad.py": "",
}
SELECTED = {
    "src/dpselect/errors.py": "peeling joint all session patched here process modules",
    "src/dpselect/draws.py": "peeling joint all session process modules",
    "src/dpselect/mechanisms/peeling.py": "peeling all session process modules",
    "src/dpselect/mechanisms/joint.py": "joint all process modules",
    "src/dpselect/mechanisms/__init__.py": "peeling joint all session process modules",
    "src/dpselect/sql/spark.py": "session process modules",
    "src/dpselect/sql/__init__.py": "session star process modules",
    "src/dpselect/session.py": "session process modules",
    "tests/exact/laws.py": "joint",
    "tests/exact/test_all.py": "all",
    "tests/cli/conftest.py": "here process",
    "tests/cli/child.py": "process",
    "tests/cli/golden/x.sql": "here process",
    "docs/page.md": "page modules",
    "docs/other.md": "page modules",  # some may read the whole folder
    "CHANGELOG.md": "",
    "benchmarks/bad.py": "",
}


@pytest.fixture
def small(tmp_path: Path) -> Path:
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def names(files: list[str]) -> set[str]:
    return {Path(file).stem.removeprefix("test_") for file in files}


@pytest.mark.parametrize("changed", SELECTED)
def test_what_needs_a_file_is_selected_and_no_more(small: Path, changed: str) -> None:
    found = select([changed], Graph(small))
    assert names(found.files) == {*SELECTED[changed].split(), "tree"}
    assert changed in found.reason


@pytest.mark.parametrize(
    "changed",
    ["pyproject.toml", "requirements/dev.txt", "dev", ".ci/run", "tests/conftest.py", "tests/server.py",
     "src/dpselect/gone.py", "tests/exact/test_gone.py", "elsewhere.py"],
)  # fmt: skip
def test_where_nobody_can_say_everything_runs(small: Path, changed: str) -> None:
    found = select(["docs/page.md", changed], Graph(small))
    assert found.files == sorted(path for path in FILES if "/test_" in path)


def test_without_a_change_everything_runs(small: Path) -> None:
    assert len(select([], Graph(small)).files) == sum("/test_" in path for path in FILES)


def test_several_changes_select_what_each_does(small: Path) -> None:
    found = select(["tests/exact/laws.py", "docs/page.md"], Graph(small))
    assert names(found.files) == {"joint", "page", "modules", "tree"}


# ---- what git says ----------------------------------------------------------------------------------------


@pytest.fixture
def git(small: Path) -> Callable[..., None]:
    def run(*arguments: str) -> None:
        who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *who, *arguments], cwd=small, check=True, capture_output=True)

    run("init", "--initial-branch=main")
    run("add", "-A")
    run("commit", "-m", "one")
    return run


def test_a_change_is_what_differs_from_where_the_branch_left_main(small: Path, git: Callable[..., None]) -> None:
    git("checkout", "-b", "mine")
    git("mv", "tests/server.py", "tests/moved.py")
    git("commit", "-m", "two")
    git("checkout", "main")
    (small / "src/dpselect/errors.py").write_text("# somebody else's\n")
    git("commit", "-a", "-m", "three")
    git("checkout", "mine")
    (small / "src/dpselect/draws.py").write_text("# mine\n")
    (small / "tests/new.py").write_text("")
    (small / "src/dpselect/engine.py").unlink()
    moved = ["tests/moved.py", "tests/new.py", "tests/server.py"]
    assert changes(small) == ["src/dpselect/draws.py", "src/dpselect/engine.py", *moved]


def test_on_main_the_last_commit_counts_with_what_is_not_committed(small: Path, git: Callable[..., None]) -> None:
    assert changes(small) == []
    (small / "src/dpselect/errors.py").write_text("# one\n")
    assert changes(small) == ["src/dpselect/errors.py"]
    git("commit", "-a", "-m", "two")
    assert changes(small) == []
    (small / "src/dpselect/draws.py").write_text("# two\n")
    assert changes(small) == ["src/dpselect/draws.py", "src/dpselect/errors.py"]
    git("checkout", "--detach")
    assert changes(small) == ["src/dpselect/draws.py", "src/dpselect/errors.py"]


def test_on_a_new_branch_the_commits_of_main_are_no_change(small: Path, git: Callable[..., None]) -> None:
    (small / "src/dpselect/errors.py").write_text("# one\n")
    git("commit", "-a", "-m", "two")
    git("checkout", "-b", "mine")
    assert changes(small) == []
    (small / "src/dpselect/draws.py").write_text("# mine\n")
    assert changes(small) == ["src/dpselect/draws.py"]


def test_without_git_or_without_main_nothing_is_known(small: Path, git: Callable[..., None]) -> None:
    git("branch", "-m", "trunk")
    (small / "src/dpselect/errors.py").write_text("# one\n")
    assert changes(small) == []
    (small / ".git").rename(small / "no-git")
    assert changes(small) == []


# ---- this checkout ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def graph() -> Graph:
    return Graph()


@pytest.mark.parametrize(
    ("changed", "in_", "out"),
    [
        ("src/dpselect/engines/spark/database.py", "tests/engines/test_spark.py", "tests/exact/test_choose.py"),
        ("src/dpselect/mechanisms/top_k/peeling.py", "tests/exact/test_peeling.py", "tests/exact/test_choose.py"),
        ("src/dpselect/ledger/ledger.py", "tests/ledger/test_budget.py", "tests/exact/test_peeling.py"),
        ("src/dpselect/command/main.py", "tests/end_to_end/test_cli_top.py", "tests/engines/test_filter.py"),
        ("docs/command.md", "tests/docs/test_docs.py", "tests/exact/test_choose.py"),
        ("benchmarks/bad_inputs.py", "tests/end_to_end/test_bad_inputs.py", "tests/exact/test_choose.py"),
    ],
)
def test_a_change_here_selects_its_tests_and_not_all(graph: Graph, changed: str, in_: str, out: str) -> None:
    assert (ROOT / changed).exists()
    found = select([changed], graph).files
    assert in_ in found
    assert out not in found


def test_who_starts_a_process_is_known_to(graph: Graph) -> None:
    """Another Python may import anything. The others here start git, a server, `ps`, shells and threads."""
    starting = {path for path, source in graph.sources.items() if path.startswith("tests/") and starts(source)}
    unknown = {path for path in starting if not graph.sources[path].starts_python}
    servers = {"tests/postgres.py", "tests/engines/killed_executors.py", "tests/gateway/test_begin_together.py"}
    servers.add("tests/gateway/test_shut_doors.py")
    git = {"tests/house/selection.py", "tests/house/test_words.py"}
    shells = {"tests/end_to_end/shells.py"}
    assert unknown == {"tests/border/test_errors.py", *git, *servers, *shells}


def starts(source: Source) -> bool:
    return any(module in ("subprocess", "multiprocessing", "concurrent.futures") for module, _, _ in source.imported)


def test_modules_of_computed_names_are_never_our_own(graph: Graph) -> None:
    """But for public names, which their types say too, packages that not everybody has, and registries."""
    computing = {path for path in graph.package if graph.sources[path].starts_python}
    known = {
        "__init__.py",
        "_ground/first_use.py",
        "release/formatting.py",
        *REGISTRIES,
    }  # rooms name for types what they fetch
    assert computing == {PACKAGE + path for path in known}
    for registry, room in REGISTRIES.items():
        named = {path for path in graph.package if path.startswith(PACKAGE + room)}
        assert named
        assert named <= graph.needs(PACKAGE + registry)


# ---- what test files really use ---------------------------------------------------------------------------

OBSERVED = [
    "tests/border/test_errors.py", "tests/exact/test_choose.py", "tests/house/test_archive.py",
    "tests/reference/test_inputs.py",
]  # fmt: skip


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """For some test files, the files of the package of which a function ran in them."""
    output = tmp_path_factory.mktemp("observed") / "used.json"
    command = [sys.executable, "-m", "tests.house.observed", str(output), *OBSERVED]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    return {test: set(files) for test, files in json.loads(output.read_text()).items()}


def missed(graph: Graph, used: dict[str, set[str]]) -> set[str]:
    return {file for test, files in used.items() for file in files if not selection.needs(graph, test, file)}


@pytest.mark.slow
def test_no_test_file_uses_what_does_not_select_it(graph: Graph, used: dict[str, set[str]]) -> None:
    assert sorted(used) == OBSERVED
    assert all(len(files) > 10 for files in used.values())
    assert missed(graph, used) == set()


def without_functions(self: Source) -> list[tuple[str, str, str]]:
    """Twin: imports in functions are forgotten."""
    for node in ast.walk(self.tree):
        if isinstance(node, ast.FunctionDef):
            node.body = [ast.Pass()]
    return IMPORTED(self)


IMPORTED: Callable[[Source], list[tuple[str, str, str]]] = Source.imported.func


def one_step(self: Graph, path: str) -> frozenset[str]:
    """Twin: what the imported files import is forgotten."""
    return frozenset({path} | self.direct(path))


def no_packages(self: Graph, module: str, name: str = "") -> list[Source]:  # noqa: ARG001
    """Twin: what a package re-exports is taken for its own."""
    return [self.modules[module]] if module in self.modules else []


TWINS = [
    (Source, "imported", property(without_functions)),
    (Graph, "_needs", one_step),
    (Graph, "resolve", no_packages),
]


@pytest.mark.slow
@pytest.mark.parametrize(("owner", "name", "twin"), TWINS, ids=["without functions", "one step", "no packages"])
def test_a_selection_that_skips_too_much_is_refused(
    used: dict[str, set[str]], owner: type, name: str, twin: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, name, twin)
    assert missed(selection.Graph(), used)
