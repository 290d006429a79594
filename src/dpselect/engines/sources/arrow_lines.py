"""Lines of text as a stream of Arrow data, straight from the bytes in which they stand: no line is ever copied here.

Arrow's C interface asks a producer for four functions. They are made once for all streams and are never freed, since
another library keeps their addresses; what a stream or a batch needs is kept under a number until it is released.
"""

from __future__ import annotations

import ctypes
import errno
import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np


class _Schema(ctypes.Structure):
    """The struct ArrowSchema of Arrow's C data interface."""


class _Array(ctypes.Structure):
    """The struct ArrowArray of Arrow's C data interface."""


class _Stream(ctypes.Structure):
    """The struct ArrowArrayStream of Arrow's C stream interface."""


_SchemaAt, _ArrayAt, _StreamAt = map(ctypes.POINTER, (_Schema, _Array, _Stream))
_FreeSchema, _FreeArray, _FreeStream = (ctypes.CFUNCTYPE(None, pointer) for pointer in (_SchemaAt, _ArrayAt, _StreamAt))
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
_LINE_FEED, _QUOTE = np.frombuffer(b'\n"', np.uint8)
_numbers = itertools.count(1)
_alive: dict[int, Any] = {}
"""What must live until it is released: batches, schemas, and the blocks of streams that are read."""


@contextmanager
def streamed(blocks: Iterator[tuple[int, bytes]], delimiter: str | None = None) -> Iterator[object]:
    """Yield a stream that can be read once: each line of the blocks without its line feed, and a number.

    The number is the one that came with the block. A line feed stands for each delimiter, if one is given, that
    has an odd number of quotes before it.
    """
    number = next(_numbers)
    _alive[number] = blocks, delimiter
    stream = _Stream(_get_schema, _get_next, _get_error, _free_stream, number)
    try:
        yield _capsule(ctypes.addressof(stream), b"arrow_array_stream", None)
    finally:
        _alive.pop(number, None)  # where nobody read it to the end


_capsule = ctypes.pythonapi.PyCapsule_New
_capsule.restype, _capsule.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_ERROR_TEXT = ctypes.create_string_buffer(b"the file could not be read")  # fixed: what went wrong may quote a row


def _free(pointer: Any) -> None:
    _alive.pop(pointer.contents.private_data, None)
    pointer.contents.release = type(pointer.contents.release)()


def _tell_error(_stream: Any) -> int:
    return ctypes.addressof(_ERROR_TEXT)


def _tell_schema(_stream: Any, target: Any) -> int:
    try:
        _give(target, _schema(b"+s", b"", [_schema(b"u", b"line", []), _schema(b"i", b"file_index", [])]))
    except BaseException:
        return errno.EIO
    return 0


def _tell_next(pointer: Any, target: Any) -> int:
    try:
        blocks, delimiter = _alive[pointer.contents.private_data]
        number, block = next(blocks, (0, None))
        if block is None:
            ctypes.memset(target, 0, ctypes.sizeof(_Array))
        else:
            _give(target, _lines(number, block, delimiter))
    except BaseException:  # an exception cannot cross into the engine, and nothing of it may be told
        return errno.EIO
    return 0


_free_schema, _free_array, _free_stream = _FreeSchema(_free), _FreeArray(_free), _FreeStream(_free)
_get_error, _get_schema, _get_next = _GetError(_tell_error), _GetSchema(_tell_schema), _GetNext(_tell_next)


def _give(target: Any, exported: tuple[Any, Any]) -> None:
    """Hand a structure over, and keep what it points to until it is released."""
    structure, dependents = exported
    number = next(_numbers)
    structure.private_data = number
    _alive[number] = dependents
    ctypes.memmove(target, ctypes.byref(structure), ctypes.sizeof(structure))


def _schema(form: bytes, name: bytes, children: Sequence[tuple[_Schema, Any]]) -> tuple[_Schema, Any]:
    """Return a schema and all that must live as long as it does."""
    pointers: Any = [ctypes.pointer(child) for child, _ in children]
    below = (_SchemaAt * len(children))(*pointers)
    return _Schema(form, name, None, 0, len(children), below, None, _free_schema, None), (children, below)


def _array(length: int, buffers: Sequence[int | None], children: Sequence[Any], dependents: Any) -> tuple[_Array, Any]:
    """Return an array without nulls and all that must live as long as it does."""
    buffer_addresses = (ctypes.c_void_p * len(buffers))(*buffers)
    pointers: Any = [ctypes.pointer(child) for child, _ in children]
    below = (_ArrayAt * len(children))(*pointers)
    array = _Array(length, 0, 0, len(buffers), len(children), buffer_addresses, below, None, _free_array, None)
    return array, (buffer_addresses, below, children, dependents)


def _lines(number: int, block: bytes, delimiter: str | None) -> tuple[_Array, Any]:
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == _LINE_FEED)
    offsets = np.zeros(len(ends) + 1, np.int32)
    offsets[1:] = ends - np.arange(len(ends))
    text = block.replace(b"\n", b"")
    if delimiter is not None and b'"' in text:
        data = np.frombuffer(text, np.uint8)
        odd = np.zeros(len(text) + 1, np.uint8)  # quotes before each byte; that their number runs over is no matter
        odd[1:] = (data == _QUOTE).cumsum(dtype=np.uint8) & 1
        inside = odd[:-1] != np.repeat(odd[offsets[:-1]], np.diff(offsets))
        text = np.where((data == ord(delimiter)) & inside, _LINE_FEED, data).tobytes()
    text_address = ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p).value
    lines = _array(len(ends), [None, offsets.ctypes.data, text_address], [], (offsets, text))
    numbers = np.full(len(ends), number, np.int32)
    return _array(len(ends), [None], [lines, _array(len(ends), [None, numbers.ctypes.data], [], numbers)], None)
