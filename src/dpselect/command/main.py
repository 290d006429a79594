"""The command `dpselect`: the result on standard output, everything else on standard error, and an exit status.

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

from dpselect.command.parser import build_parser
from dpselect.command.part_of_flint import load_flint_in_parts
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

_STATUS: dict[type[DpselectError], int] = {
    ParameterError: 2,
    DataError: 3,
    OutputError: 4,
    BudgetError: 5,
    LedgerError: 6,
    GatewayError: 9,
    DpselectError: 2,  # SettingsError, which is imported only where settings are read
}
_GC_THRESHOLD = 100_000  # new objects between two looks for cycles: starting makes fewer, and none of them is garbage


def process() -> NoReturn:
    """Run `main` as a process of its own, and end the process at once.

    Imported modules live until then: looking for garbage among them, and freeing them one by one, takes a sixth of the
    time of a small question. Exit handlers run, and all output is flushed.
    """
    gc.set_threshold(_GC_THRESHOLD)
    load_flint_in_parts()
    status = main()
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        sys.exit(status)  # the usual end says what is wrong with it
    os._exit(status)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command, and return its exit status."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # no matrices here: NumPy starts 0.1 s faster, and smaller
    try:
        with _stop_once(), _show_own_warnings():
            return _run_command(argv)
    except SystemExit as end:  # argparse has said what there was to say
        return end.code if isinstance(end.code, int) else 0
    except BrokenPipeError:
        _drop_standard_output()
        return _STATUS[OutputError]  # the reader has gone, so nobody needs a message
    except KeyboardInterrupt as interruption:
        outcome = f": {interruption}" if str(interruption) else ""  # the state of a question that a gateway works on
        return _fail(130, f"interrupted{outcome}")
    except DpselectError as error:
        if isinstance(error, OutputError):
            _drop_standard_output()
        return _fail(status_of(type(error)), str(error))
    except Exception as error:
        return _unexpected(error)


def status_of(kind: type[DpselectError]) -> int:
    """Return the exit status for a class of errors."""
    return next(status for handled, status in _STATUS.items() if issubclass(kind, handled))


@contextlib.contextmanager
def _stop_once() -> Iterator[None]:
    """Let the first Ctrl-C, SIGTERM or SIGHUP stop the work, and ignore later ones during the clean-up.

    Files that the engine spilled to disk hold rows, and must be removed.
    """

    def stop(number: int, _frame: object) -> None:
        for received in replaced:
            signal.signal(received, signal.SIG_IGN)
        raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)

    # A signal that is handled or ignored already, as by nohup or in background jobs, stays so.
    default_handlers = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    if hasattr(signal, "SIGHUP"):
        default_handlers[signal.SIGHUP] = signal.SIG_DFL
    is_main_thread = threading.current_thread() is threading.main_thread()
    replaced = {
        handled: handler
        for handled, handler in default_handlers.items()
        if is_main_thread and signal.getsignal(handled) is handler
    }
    for handled in replaced:
        signal.signal(handled, stop)
    try:
        yield
    finally:
        for handled, handler in replaced.items():
            signal.signal(handled, handler)


@contextlib.contextmanager
def _show_own_warnings() -> Iterator[None]:
    """Show dpselect's own warnings as one line on standard error; others stay as they are."""
    show_other = warnings.showwarning

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
            show_other(message, category, filename, lineno, file, line)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def _run_command(argv: Sequence[str] | None) -> int:
    parser = build_parser()
    args = parser.parse_args(argv)
    if args.version:
        from importlib.metadata import version

        print(f"dpselect {version('dpselect')}")
    elif args.command is None:
        parser.print_help(sys.stderr)
        return 2
    else:
        args.run(args)
    return 0


# ---- failures --------------------------------------------------------------------------------------------


def _fail(status: int, message: str) -> int:
    print(f"dpselect: {message}", file=sys.stderr)
    return status


def _unexpected(error: Exception) -> int:
    """Report an unexpected error by its class only, since its text may hold data."""
    if os.environ.get("DPSELECT_TRACEBACK") == "1":
        import traceback  # slower to import than the rest of this module

        traceback.print_exc()
    name = type(error).__name__
    return _fail(1, f"unexpected {name}\nhint: DPSELECT_TRACEBACK=1 shows the traceback (it may show data)")


def _drop_standard_output() -> None:
    """Discard what is still buffered for standard output, so that Python does not complain when it ends."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError, AttributeError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.close(null)
