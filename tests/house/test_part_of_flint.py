"""The command loads a part of python-flint; all of it comes when somebody asks, with the same classes."""

from __future__ import annotations

import subprocess
import sys

import pytest

PARTS = "from dpselect.command.part_of_flint import load_flint_in_parts\nload_flint_in_parts()"
FEW = "len([name for name in sys.modules if name.startswith('flint.')])"
BALLS = "from flint import arb, ctx, fmpq\n"


def run(code: str) -> str:
    """What a new process prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    return done.stdout


def test_balls_load_a_third_of_the_libraries() -> None:
    few = int(run(f"{PARTS}\n{BALLS}import sys; print({FEW})"))
    many = int(run(f"{BALLS}import sys; print({FEW})"))
    assert 0 < 3 * few < many


@pytest.mark.parametrize(
    "use",
    [
        "import flint; assert flint.fmpz_poly([1, 2]).degree() == 1",
        "from flint import fmpz_mat; import flint; assert fmpz_mat(2, 2).nrows() == 2",
        "import flint.types.fmpz_poly, flint; assert flint.types.fmpz_poly.fmpz_poly is flint.fmpz_poly",
        "import flint; assert flint.__version__",
    ],
)
@pytest.mark.parametrize("order", [f"{BALLS}%s", f"%s\n{BALLS}"], ids=["balls first", "balls last"])
def test_the_package_is_whole_once_it_is_asked(use: str, order: str) -> None:
    same = "import flint; assert (flint.arb, flint.ctx, flint.fmpq) == (arb, ctx, fmpq)"
    run(f"{PARTS}\n{order % use}\n{same}\nassert type(flint) is type(__import__('ast'))")


def test_what_was_imported_stays() -> None:
    run(f"import flint\n{PARTS}\nimport sys; assert sys.modules['flint'] is flint\n{BALLS}assert flint.arb is arb")


def test_a_version_with_other_modules_is_loaded_whole() -> None:
    other = (
        "from dpselect.command import part_of_flint\npart_of_flint._PARTS['arb'] = lambda: __import__('flint.other')"
    )
    run(f"{other}\n{PARTS}\n{BALLS}import flint\nassert flint.arb is arb and type(flint) is type(__import__('ast'))")


def test_a_name_that_it_lacks_is_an_attribute_error() -> None:
    lacks = "import flint\ntry:\n flint.no_such_name\nexcept AttributeError as error:\n print(error)"
    assert run(f"{PARTS}\n{lacks}") == run(lacks) != ""


def test_threads_that_ask_while_another_one_loads_it_get_all_names() -> None:
    """Twice as many threads as a gateway has; those that ask for a ball need not wait, the others do."""
    print_failures = """
import sys, threading
failures, start = [], threading.Barrier(16)
def ask(name):
    start.wait()
    try:
        exec(f"from flint import {name}")
    except Exception as error:
        failures.append(repr(error))
sys.setswitchinterval(1e-6)
threads = [threading.Thread(target=ask, args=(name,)) for name in ["arb", "fmpz_mat", "ctx", "acb"] * 4]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(failures)
"""
    assert run(f"{PARTS}\n{print_failures}") == "[]\n"


def test_code_of_the_package_that_asks_for_what_it_has_not_defined_yet_fails_as_elsewhere() -> None:
    early = """
import sys, types
from importlib.machinery import ModuleSpec
class Loader:
    count = 0
    def create_module(self, spec): return None
    def exec_module(self, module):
        Loader.count += 1
        if Loader.count == 1: module.later
        module.later = 1
from dpselect.command import part_of_flint
part_of_flint.find_spec = lambda name: ModuleSpec(name, Loader())
part_of_flint.load_flint_in_parts()
import flint
try:
    flint.later
except AttributeError as error:
    print(error)
print(flint.later, Loader.count, type(flint).__name__)
"""
    assert run(early) == "module 'flint' has no attribute 'later' yet\n1 2 module\n"
