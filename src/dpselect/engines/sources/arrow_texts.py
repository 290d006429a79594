"""Columns of texts as a stream of Arrow data, straight from the bytes in which they stand: no line is copied here.

Arrow's C interface asks a producer for four functions. They are made once for all streams and are never freed, since
another library keeps their addresses; what a stream or a batch needs is kept under a number until it is released.
"""

from __future__ import annotations

import ctypes
import errno
import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dpselect._ground.dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

Integers: TypeAlias = "npt.NDArray[np.int64]"
BEFORE_TEXT, AFTER_TEXT = b"   \n", bytes(12)
"""What stands before and after texts of which views are made."""
CONTIGUOUS, VIEWS = b"u", b"vu"
"""Arrow's names of two forms of a column of texts: one after the other, or each where its view says."""


@dataclass(frozen=True)
class Texts:
    """A column of texts in Arrow's form: the buffers that hold it, and which texts are missing, if any are."""

    format: bytes
    length: int
    buffers: Sequence[bytes | npt.NDArray[Any]]
    missing: npt.NDArray[np.bool_] | None = None


def lines_of(block: bytes) -> Texts:
    """Return the lines of a block, each with its line feed."""
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == _LINE_FEED)
    offsets = np.zeros(len(ends) + 1, np.int32)
    offsets[1:] = ends + 1
    return Texts(CONTIGUOUS, len(ends), [offsets, block])


def repeated(value: str | None, length: int) -> Texts:
    """Return a column of one value."""
    encoded = (value or "").encode()
    starts, lengths = np.full(length, len(BEFORE_TEXT)), np.full(length, len(encoded))
    return texts_at(BEFORE_TEXT + encoded + AFTER_TEXT, starts, lengths, np.full(length, value is None))


def texts_at(text: bytes, starts: Integers, lengths: Integers, missing: npt.NDArray[np.bool_]) -> Texts:
    """Return texts by where they start and how long they are; `text` has the bytes before and after that views need.

    A view has 16 bytes: the length in 4, then a text of at most 12 bytes, or the first 4 bytes of a longer one, the
    index of its buffer and where it starts there.
    """
    words = np.ndarray(len(text) - 15, "V16", text, 0, (1,))[starts - 4]
    words.view(np.uint64).reshape(-1, 2)[:] &= _KEPT_BYTES.take(lengths, axis=0, mode="clip")
    views = words.view(np.int32).reshape(-1, 4)
    views[:, 0] = lengths
    is_long = np.flatnonzero(lengths > _LONGEST_INLINE)
    views[is_long, 3] = starts[is_long]
    sizes = np.array([len(text)])
    return Texts(VIEWS, len(starts), [views, text, sizes], missing if missing.any() else None)


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
_LINE_FEED = np.uint8(ord("\n"))
_LONGEST_INLINE = 12  # bytes of a text that stands in its view
_KEPT_BYTES = np.zeros((_LONGEST_INLINE + 2, 16), np.uint8)  # of a view's texts, by the length of the text
for _length in range(_LONGEST_INLINE + 1):
    _KEPT_BYTES[_length, 4 : 4 + _length] = 255
_KEPT_BYTES[-1, 4:8] = 255
_KEPT_BYTES = _KEPT_BYTES.view(np.uint64)
_numbers = itertools.count(1)
_alive: dict[int, Any] = {}
"""What must live until it is released: batches, schemas, and the blocks of streams that are read."""


@contextmanager
def streamed(batches: Iterator[Sequence[Texts]], formats: Sequence[bytes]) -> Iterator[object]:
    """Yield a stream that can be read once: the columns c0, c1, ... of each batch, in these forms."""
    number = next(_numbers)
    _alive[number] = batches, tuple(formats)
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


def _tell_schema(pointer: Any, target: Any) -> int:
    try:
        _, formats = _alive[pointer.contents.private_data]
        columns = [_schema(form, b"c%d" % index, []) for index, form in enumerate(formats)]
        _give(target, _schema(b"+s", b"", columns))
    except BaseException:
        return errno.EIO
    return 0


def _tell_next(pointer: Any, target: Any) -> int:
    try:
        batches, _ = _alive[pointer.contents.private_data]
        columns = next((batch for batch in batches if batch[0].length), None)  # one without rows ends a scan
        if columns is None:
            ctypes.memset(target, 0, ctypes.sizeof(_Array))
        else:
            _give(target, _array(columns[0].length, 0, [None], [_column(texts) for texts in columns], None))
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


def _array(
    length: int, null_count: int, buffers: Sequence[int | None], children: Sequence[Any], dependents: Any
) -> tuple[_Array, Any]:
    """Return an array and all that must live as long as it does."""
    buffer_addresses = (ctypes.c_void_p * len(buffers))(*buffers)
    pointers: Any = [ctypes.pointer(child) for child, _ in children]
    below = (_ArrayAt * len(children))(*pointers)
    array = _Array(length, null_count, 0, len(buffers), len(children), buffer_addresses, below, None, _free_array, None)
    return array, (buffer_addresses, below, children, dependents)


def _column(texts: Texts) -> tuple[_Array, Any]:
    missing = texts.missing
    validity = None if missing is None else np.packbits(~missing, bitorder="little")
    buffers = [validity, *texts.buffers]
    null_count = 0 if missing is None else int(np.count_nonzero(missing))
    return _array(texts.length, null_count, [_address(buffer) for buffer in buffers], [], buffers)


def _address(buffer: bytes | npt.NDArray[Any] | None) -> int | None:
    if buffer is None:
        return None
    if isinstance(buffer, bytes):
        return ctypes.cast(ctypes.c_char_p(buffer), ctypes.c_void_p).value
    return buffer.ctypes.data
