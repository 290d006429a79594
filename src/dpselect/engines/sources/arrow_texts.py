"""Columns of text as a stream of Arrow data, straight from the bytes they stand in: no value is ever copied here.

Arrow's C interface asks a producer for four functions. They are made once for all streams and are never freed, since
another library keeps their addresses; what a stream or a batch needs is kept under a number until it is released.
"""

from __future__ import annotations

import ctypes
import errno
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from dpselect.engines.sources.text_cells import Cells

Batch = tuple[bytes, Sequence[Cells]]
"""Bytes, and for each column the places of its values in them."""


class _Schema(ctypes.Structure):
    """struct ArrowSchema."""


class _Array(ctypes.Structure):
    """struct ArrowArray."""


class _Stream(ctypes.Structure):
    """struct ArrowArrayStream."""


_SchemaAt, _ArrayAt, _StreamAt = map(ctypes.POINTER, (_Schema, _Array, _Stream))
_FreeSchema, _FreeArray, _FreeStream = (ctypes.CFUNCTYPE(None, at) for at in (_SchemaAt, _ArrayAt, _StreamAt))
_GetSchema = ctypes.CFUNCTYPE(ctypes.c_int, _StreamAt, _SchemaAt)
_GetNext = ctypes.CFUNCTYPE(ctypes.c_int, _StreamAt, _ArrayAt)
_GetError = ctypes.CFUNCTYPE(ctypes.c_void_p, _StreamAt)
_Schema._fields_ = [
    ("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_char_p), ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64), ("children", ctypes.POINTER(_SchemaAt)), ("dictionary", _SchemaAt),
    ("release", _FreeSchema), ("private_data", ctypes.c_void_p),
]  # fmt: skip
_Array._fields_ = [
    ("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64), ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(_ArrayAt)), ("dictionary", _ArrayAt), ("release", _FreeArray),
    ("private_data", ctypes.c_void_p),
]  # fmt: skip
_Stream._fields_ = [
    ("get_schema", _GetSchema), ("get_next", _GetNext), ("get_last_error", _GetError), ("release", _FreeStream),
    ("private_data", ctypes.c_void_p),
]  # fmt: skip
_NULLABLE = 2
_numbers = itertools.count(1)
_kept: dict[int, Any] = {}
"""What must live until it is released: batches, schemas, and the streams that are read."""


class TextStream:
    """An object that gives Arrow data anew each time: of every column a pair, the value and what follows it.

    The values of an Arrow column of text stand side by side, so what lies between two of them is a value as well: the
    second of each pair, which nobody reads.
    """

    def __init__(self, columns: int, batches: Callable[[], Iterator[Batch]]) -> None:
        self._columns = columns
        self._batches = batches
        self._given: list[tuple[int, _Stream]] = []

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """A new stream of all rows, of which none is read yet."""
        number = next(_numbers)
        stream = _Stream(_get_schema, _get_next, _get_error, _free_stream, number)
        self._given.append((number, stream))
        _kept[number] = (self._columns, self._batches())
        return _capsule(ctypes.addressof(stream), b"arrow_array_stream", None)

    def close(self) -> None:
        """Forget the streams that nobody read to the end."""
        for number, _ in self._given:
            _kept.pop(number, None)


_capsule = ctypes.pythonapi.PyCapsule_New
_capsule.restype, _capsule.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_TOLD = ctypes.create_string_buffer(b"the file could not be read")  # fixed: what went wrong may quote a row


def _free(at: Any) -> None:
    _kept.pop(at.contents.private_data, None)
    at.contents.release = type(at.contents.release)()


def _tell_error(_at: Any) -> int:
    return ctypes.addressof(_TOLD)


def _tell_schema(at: Any, out: Any) -> int:
    try:
        columns, _ = _kept[at.contents.private_data]
        _give(out, _schema(b"+s", b"", [_pair(f"c{place}".encode()) for place in range(columns)]))
    except BaseException:
        return errno.EIO
    return 0


def _tell_next(at: Any, out: Any) -> int:
    try:
        _, batches = _kept[at.contents.private_data]
        batch = next(batches, None)
        if batch is None:
            ctypes.memset(out, 0, ctypes.sizeof(_Array))
        else:
            _give(out, _rows(*batch))
    except BaseException:  # an exception cannot cross into the engine, and nothing of it may be told
        return errno.EIO
    return 0


_free_schema, _free_array, _free_stream = _FreeSchema(_free), _FreeArray(_free), _FreeStream(_free)
_get_error, _get_schema, _get_next = _GetError(_tell_error), _GetSchema(_tell_schema), _GetNext(_tell_next)


def _give(out: Any, made: tuple[Any, Any]) -> None:
    """Hand a structure over, and keep what it points to until it is released."""
    structure, kept = made
    number = next(_numbers)
    structure.private_data = number
    _kept[number] = kept
    ctypes.memmove(out, ctypes.byref(structure), ctypes.sizeof(structure))


def _schema(form: bytes, name: bytes, children: Sequence[tuple[_Schema, Any]]) -> tuple[_Schema, Any]:
    """A schema and all that must live as long as it does."""
    pointers: Any = [ctypes.pointer(child) for child, _ in children]
    below = (_SchemaAt * len(children))(*pointers)
    return _Schema(form, name, None, _NULLABLE, len(children), below, None, _free_schema, None), (children, below)


def _pair(name: bytes) -> tuple[_Schema, Any]:
    return _schema(b"+w:2", name, [_schema(b"u", b"l", [])])


def _array(length: int, nulls: int, buffers: Sequence[int | None], children: Sequence[Any], kept: Any) -> Any:
    """An array and all that must live as long as it does."""
    at = (ctypes.c_void_p * len(buffers))(*buffers)
    pointers: Any = [ctypes.pointer(child) for child, _ in children]
    below = (_ArrayAt * len(children))(*pointers)
    made = _Array(length, nulls, 0, len(buffers), len(children), at, below, None, _free_array, None)
    return made, (at, below, children, kept)


def _rows(block: bytes, columns: Sequence[Cells]) -> Any:
    length = len(columns[0].starts)
    return _array(length, 0, [None], [_values(block, cells) for cells in columns], None)


def _values(block: bytes, cells: Cells) -> Any:
    """Pairs of a value and of what stands between it and the next one."""
    length = len(cells.starts)
    offsets = np.zeros(2 * length + 1, np.int32)
    offsets[0:-1:2], offsets[1::2] = cells.starts, cells.ends
    offsets[-1] = offsets[-2] if length else 0
    there = np.ones(2 * length, np.bool_)
    there[0::2] = ~cells.missing
    valid = np.packbits(there, bitorder="little")
    data = ctypes.cast(ctypes.c_char_p(block), ctypes.c_void_p).value
    child = _array(2 * length, -1, [valid.ctypes.data, offsets.ctypes.data, data], [], (valid, offsets, block))
    return _array(length, 0, [None], [child], None)
