"""The command `dpselect`: the result on standard output, all else on standard error, and a status that says why.

Exit status: 0 done, 1 unexpected, 2 a parameter is wrong, 3 the data cannot be read, 4 the output cannot be
written, 5 the budget is too small, 6 the ledger cannot be used, 9 a gateway gives no answer, 130 interrupted.
`check` has two more: 7 a promise does not follow, 8 the release does not say what was asked.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from typing import NoReturn, TextIO

from dpselect.command.parser import parser
from dpselect.errors import (
    BudgetError,
    DataError,
    DpselectError,
    GatewayError,
    LedgerError,
    LedgerWarning,
    OutputError,
    ParameterError,
    WeakPromiseWarning,
)

STATUS: dict[type[DpselectError], int] = {
    ParameterError: 2,
    DataError: 3,
    OutputError: 4,
    BudgetError: 5,
    LedgerError: 6,
    GatewayError: 9,
    DpselectError: 2,  # of settings, whose room is imported only where they are read
}
GARBAGE = 100_000  # new objects between two looks for cycles: starting makes fewer, and none of them is garbage


def process() -> NoReturn:
    """`main` as a process of its own, which ends at once.

    What it imported lives until then: to look for garbage among it, and to take it apart object by object, is a sixth
    of the time of a small question. What others asked to be done at the end is done, and all output goes out.
    """
    gc.set_threshold(GARBAGE)
    status = main()
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        sys.exit(status)  # the usual end says what is wrong with it
    os._exit(status)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; its exit status."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # no matrices here: NumPy starts 0.1 s faster, and smaller
    try:
        with _stopped_once(), _warned():
            return _command(argv)
    except SystemExit as end:  # argparse has said what there was to say
        return end.code if isinstance(end.code, int) else 0
    except BrokenPipeError:
        _drop_standard_output()
        return STATUS[OutputError]  # the reader has gone, so nobody needs a message
    except KeyboardInterrupt as stopped:
        told = f": {stopped}" if str(stopped) else ""  # what became of a question that a gateway works on
        return _fail(130, f"interrupted{told}")
    except DpselectError as error:
        if isinstance(error, OutputError):
            _drop_standard_output()
        return _fail(status_of(type(error)), str(error))
    except Exception as error:
        return _unexpected(error)


def status_of(kind: type[DpselectError]) -> int:
    """The exit status for an error of this kind."""
    return next(status for known, status in STATUS.items() if issubclass(kind, known))


@contextlib.contextmanager
def _stopped_once() -> Iterator[None]:
    """The first Ctrl-C, SIGTERM or SIGHUP stops the work; more of them do not stop the tidying up after it.

    What the engine spilled to disk are rows, and must not be left behind.
    """

    def stop(number: int, _frame: object) -> None:
        for one in before:
            signal.signal(one, signal.SIG_IGN)
        raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)

    # Whoever handles or ignores a signal already, as nohup and background jobs do, goes on doing so.
    plain = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    if hasattr(signal, "SIGHUP"):
        plain[signal.SIGHUP] = signal.SIG_DFL
    ours = threading.current_thread() is threading.main_thread()
    before = {one: now for one, now in plain.items() if ours and signal.getsignal(one) is now}
    for one in before:
        signal.signal(one, stop)
    try:
        yield
    finally:
        for one, now in before.items():
            signal.signal(one, now)


@contextlib.contextmanager
def _warned() -> Iterator[None]:
    """Our own warnings are one line on standard error, without the line of code; others stay as they are."""
    usual = warnings.showwarning

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if issubclass(category, (WeakPromiseWarning, LedgerWarning)):
            print(f"dpselect: mind: {message}", file=sys.stderr)
        else:
            usual(message, category, filename, lineno, file, line)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def _command(argv: Sequence[str] | None) -> int:
    line = parser()
    args = line.parse_args(argv)
    if args.version:
        from importlib.metadata import version

        print(f"dpselect {version('dpselect')}")
    elif args.command is None:
        line.print_help(sys.stderr)
        return 2
    else:
        args.run(args)
    return 0


# ---- failures --------------------------------------------------------------------------------------------


def _fail(status: int, message: str) -> int:
    print(f"dpselect: {message}", file=sys.stderr)
    return status


def _unexpected(error: Exception) -> int:
    """A mistake of ours. Its text may hold data (a value that did not convert), so only its class is shown."""
    if os.environ.get("DPSELECT_TRACEBACK") == "1":
        import traceback  # which takes longer to import than the rest of this file

        traceback.print_exc()
    name = type(error).__name__
    return _fail(1, f"unexpected {name}\nhint: DPSELECT_TRACEBACK=1 shows the traceback (it may show data)")


def _drop_standard_output() -> None:
    """Nothing more goes out, so that Python does not complain about what is still buffered when it ends."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError, AttributeError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.close(null)
