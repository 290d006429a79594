"""The compiled loops beside the interpreter's: the same bits, on every shape, in parts, from any kind of array."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dpselect.errors import ParameterError
from dpselect.mechanisms.set_union.kernels import compiled, loops, plain

numba = pytest.importorskip("numba", reason="needs the optional package numba, which is not installed")

UNIT = 1 << 30
TERMS = {"greedy": (int(13.3 * UNIT), UNIT), "l1_descent": (int(4.7 * UNIT), UNIT), "l2_descent": (6.1,)}


def user_sets(seed, users, items, most):
    """Users with random items, few of them popular, in no order."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, most + 1, users)
    sets = [rng.permutation(np.unique((items * rng.random(n) ** 3).astype(np.int64))) for n in sizes]
    offsets = np.concatenate([[0], np.cumsum([len(s) for s in sets])]).astype(np.int64)
    return offsets, np.concatenate([*sets, np.zeros(0)]).astype(np.int64), items


SHAPES = {
    "many users": user_sets(1, 3000, 20_000, 12),
    "one item each": user_sets(2, 500, 20, 1),
    "large sets": user_sets(3, 30, 30_000, 2000),
    "one user": (np.array([0, 5]), np.array([4, 2, 0, 1, 3]), 5),
    "users without items": (np.zeros(9, dtype=np.int64), np.zeros(0, dtype=np.int64), 3),
    "no users": (np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int64), 0),
}


@pytest.fixture(autouse=True)
def _always_compiled(monkeypatch):
    monkeypatch.setattr(compiled, "WORTH", dict.fromkeys(compiled.WORTH, 0))


def bits(weights):
    return weights.dtype, weights.tobytes()


@pytest.mark.parametrize("users", [1, 7, 1 << 16])
@pytest.mark.parametrize("name", list(TERMS))
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_compiled_and_plain_give_the_same_bits(monkeypatch, shape, name, users):
    monkeypatch.setattr(compiled, "USERS", users)
    assert compiled.compiled(name) is not None
    assert bits(compiled.run(name, *shape, *TERMS[name])) == bits(plain.run(name, *shape, *TERMS[name]))


def test_an_order_of_operations_of_another_kind_would_be_refused():
    """The twin: squares added from the last item to the first differ in the last bit."""
    offsets, codes, size = SHAPES["many users"]
    weights = np.zeros(size)
    for v in range(len(offsets) - 1):
        items = codes[offsets[v] : offsets[v + 1]][::-1].copy()
        loops.l2_descent([0, len(items)], items.tolist(), weights, *TERMS["l2_descent"])
    assert np.allclose(weights, plain.run("l2_descent", *SHAPES["many users"], *TERMS["l2_descent"]))
    assert bits(weights) != bits(compiled.run("l2_descent", *SHAPES["many users"], *TERMS["l2_descent"]))


def test_multiplication_and_addition_stay_apart():
    """No fused operation in the machine code, which would round once where the proof counts two."""
    signature = compiled._signature(numba, "l2_descent")
    exact = numba.njit(signature)(loops.l2_descent)
    assert "fma" not in " ".join(exact.inspect_llvm().values())
    assert "vfm" not in " ".join(exact.inspect_asm().values())
    fused = numba.njit(signature, fastmath=True)(loops.l2_descent)
    assert " fast " in " ".join(fused.inspect_llvm().values())
    assert " fast " not in " ".join(exact.inspect_llvm().values())


def test_arrays_that_nobody_may_write_or_that_have_gaps():
    offsets, codes, size = SHAPES["many users"]
    locked, spread = codes.copy(), np.repeat(codes, 2)[::2]
    locked.setflags(write=False)
    expected = bits(plain.run("l1_descent", offsets, codes, size, *TERMS["l1_descent"]))
    for given in (locked, spread, codes.astype(np.int32)):
        assert bits(compiled.run("l1_descent", offsets, given, size, *TERMS["l1_descent"])) == expected


def test_progress_rises_from_nothing(monkeypatch):
    monkeypatch.setattr(compiled, "USERS", 1000)
    seen = []
    compiled.run("greedy", *SHAPES["many users"], *TERMS["greedy"], progress=seen.append)
    assert seen == [None, *(part / 20 for part in range(20))]  # whatever their number: it is private


@pytest.mark.parametrize("offsets", [[0, 3, 2], [-1, 2], [0, 4]])
def test_offsets_outside_of_the_codes_are_refused(offsets):
    with pytest.raises(ParameterError, match="offsets"):
        compiled.run("greedy", np.array(offsets), np.array([0, 1, 2]), 3, 5, 1)


@pytest.mark.parametrize("code", [-1, 3, 2**60])
def test_codes_outside_of_the_weights_are_refused(code):
    with pytest.raises(ParameterError, match="codes"):
        compiled.run("greedy", np.array([0, 2]), np.array([0, code]), 3, 5, 1)


def test_numbers_that_do_not_fit_are_refused():
    with pytest.raises(OverflowError):
        compiled.run("greedy", np.array([0, 1]), np.array([0]), 1, 2**63, 1)


def test_without_numba_the_interpreter_runs(monkeypatch):
    compiled.compiled.cache_clear()
    monkeypatch.setitem(sys.modules, "numba", None)
    assert compiled.compiled("greedy") is None
    assert bits(compiled.run("greedy", *SHAPES["one user"], 9, 5)) == bits(
        plain.run("greedy", *SHAPES["one user"], 9, 5)
    )
    monkeypatch.undo()
    compiled.compiled.cache_clear()


def test_small_data_never_import_numba():
    code = (
        "import sys, numpy as np; from dpselect.mechanisms.set_union.kernels import compiled;"
        "compiled.run('l1_descent', np.array([0, 2]), np.array([0, 1]), 2, 5, 1); sys.exit('numba' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_where_no_folder_can_be_written_it_compiles_each_time():
    class Nowhere:
        def njit(self, signature, *, nogil, cache=False):
            if cache:
                raise RuntimeError("cannot cache function: no locator available")
            return lambda loop: (loop, signature, nogil)

    assert compiled.jit(Nowhere(), loops.greedy, "types") == (loops.greedy, "types", True)


def test_machine_code_is_made_once(tmp_path: Path):
    """A second process finds what the first one compiled."""
    code = (
        "from dpselect.mechanisms.set_union.kernels import compiled;"
        "print(sum(compiled.compiled('greedy').stats.cache_hits.values()))"
    )
    found = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        for _ in range(2)
    ]
    assert found == ["0", "1"]
