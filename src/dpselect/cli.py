"""The command `dpselect`: the result on standard output, all else on standard error, and a status that says why.

Exit status: 0 done, 1 unexpected, 2 a parameter is wrong, 3 the data cannot be read, 4 the output cannot be
written, 5 the budget does not suffice, 6 the ledger cannot be used, 130 interrupted.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from dpselect import asking, inspect_command, ledger_command, plan_command, union_command
from dpselect.arguments import parser
from dpselect.claims import Folder
from dpselect.errors import (
    BudgetError,
    DataError,
    LedgerError,
    LedgerWarning,
    OutputError,
    ParameterError,
    WeakPromiseWarning,
)

if TYPE_CHECKING:
    from dpselect.release import Release


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; its exit status."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # no matrices here: NumPy starts 0.1 s faster, and smaller
    try:
        with _stopped_once(), _warned():
            return _command(parser().parse_args(argv))
    except SystemExit as end:  # argparse has said what there was to say
        return end.code if isinstance(end.code, int) else 0
    except ParameterError as error:
        return _fail(2, str(error))
    except DataError as error:
        return _fail(3, str(error))
    except BudgetError as error:
        return _fail(5, str(error))
    except LedgerError as error:
        return _fail(6, str(error))
    except BrokenPipeError:
        _drop_standard_output()
        return 4  # the reader has gone, so nobody needs a message
    except OutputError as error:
        _drop_standard_output()
        return _fail(4, str(error))
    except KeyboardInterrupt:
        return _fail(130, "interrupted")
    except Exception as error:
        return _unexpected(error)


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


def _command(args: argparse.Namespace) -> int:
    if args.version:
        from dpselect import __version__

        print(f"dpselect {__version__}")
    elif args.command is None:
        parser().print_help(sys.stderr)
        return 2
    else:
        commands = {"top": top, "choose": choose, "quantile": quantile, "demo": demo, "ledger": ledger_command.run}
        commands |= {"union": union_command.union, "vocab": union_command.vocab}
        commands |= {"plan": plan_command.run, "inspect": inspect_command.run}
        commands[args.command](args)
    return 0


def top(args: argparse.Namespace) -> None:
    """The k items that most users share."""

    def ask(progress: Callable[[float | None], None]) -> Release:
        return asking.dataset_of(args).top_k(
            args.k,
            epsilon=args.epsilon,
            delta=args.delta,
            domain=asking.domain_of(args),
            counts=args.counts,
            k_bar=args.k_bar,
            method=args.method,
            ranked=not args.unordered,
            fresh=args.fresh,
            progress=progress,
        )

    asking.answer(args, ask)


def choose(args: argparse.Namespace) -> None:
    """The best of some candidates, by their scores or by their users."""
    by_score = _by_score(args)

    def ask(progress: Callable[[float | None], None]) -> Release:
        if by_score:
            return _choose_by_score(args)
        return asking.dataset_of(args).choose(
            domain=asking.domain_of(args),
            epsilon=args.epsilon,
            method=args.method,
            neighbors=args.neighbors,
            fresh=args.fresh,
            progress=progress,
        )

    asking.answer(args, ask)


def _choose_by_score(args: argparse.Namespace) -> Release:
    from dpselect.engines.duckdb_candidates import read_candidates
    from dpselect.verbs import choose as choose_best

    return choose_best(
        read_candidates(asking.source_of(args), args.label, args.score, table=args.table),
        epsilon=args.epsilon,
        sensitivity="1" if args.sensitivity is None else args.sensitivity,
        monotonic=args.monotonic,
        neighbors=args.neighbors,
        method=args.method,
        ledger=args.ledger,
        analyst=args.analyst,
        name=args.dataset,
        snapshot=args.snapshot,
        fresh=args.fresh,
    )


def _by_score(args: argparse.Namespace) -> bool:
    """Which of its two questions `choose` was asked; half of each is a mistake."""
    scores = {"--label": args.label, "--score": args.score, "--sensitivity": args.sensitivity}
    scores["--monotonic"] = args.monotonic or None
    events = {"--user": args.user, "--item": args.item, "--where": args.where}
    events["--split"] = args.split
    events["--max-items-per-user"] = args.max_items_per_user
    for name in ("domain", "domain_from", "domain_range", "domain_size"):
        events["--" + name.replace("_", "-")] = getattr(args, name)
    given = [[name for name, value in group.items() if value is not None] for group in (scores, events)]
    either = "be given for candidates with scores, --user, --item and a domain for events of users"
    if all(given) or not any(given):
        came = f"{given[0][0]} with {given[1][0]}" if all(given) else "neither"
        raise ParameterError("--label and --score", either, came)
    needed = ("--label", "--score") if given[0] else ("--user", "--item")
    for name in needed:
        if name not in given[0] + given[1]:
            raise ParameterError(name, "be given too", "nothing")
    if given[1] and not any(name.startswith("--domain") for name in given[1]):
        raise ParameterError("--domain", "be given, or --domain-from, --domain-range or --domain-size", "nothing")
    return bool(given[0])


def quantile(args: argparse.Namespace) -> None:
    """Quantiles of one value per user."""

    def ask(progress: Callable[[float | None], None]) -> Release:
        try:
            return answer(progress)
        except ParameterError as error:
            if error.parameter != "item":
                raise
            raise ParameterError("--column", error.must, error.came, error.hint) from None

    def answer(progress: Callable[[float | None], None]) -> Release:
        return asking.dataset_of(args).quantile(
            args.q.split(","),
            bounds=tuple(args.bounds),
            epsilon=args.epsilon,
            delta=args.delta,
            step=args.step,
            per_user=args.per_user,
            fresh=args.fresh,
            progress=progress,
        )

    asking.answer(args, ask)


def demo(args: argparse.Namespace) -> None:
    """Invented data, and a private top ten of it."""
    if args.keep is None:
        with Folder() as folder:
            _demo(args, Path(folder.path, "plays.parquet"))
    else:
        path = Path(args.keep)
        if path.exists():
            raise ParameterError("--keep", "name a file that is not there yet", args.keep)
        if not path.parent.is_dir():
            raise OutputError(f"the folder of --keep does not exist: {path.parent}")
        _demo(args, path)


def _demo(args: argparse.Namespace, path: Path) -> None:
    from dpselect.demo import write_listening_events

    asking.tell(args, f"making listening events of {args.users:,} invented users")
    rows = write_listening_events(path, args.users)
    asking.tell(args, f"asking {rows:,} rows for the ten artists that most users played")
    command = ["top", str(path), *"--user user --item artist -k 10 --epsilon 1 --delta 1e-6".split()]
    quiet = ["--quiet"] if args.quiet else []
    name = os.environ.get("DPSELECT_COMMAND", "dpselect")
    top(parser().parse_args([*command, *quiet]))
    if args.keep is None:
        asking.tell(args, f"\nkeep the data and ask again:\n  {name} demo --keep plays.parquet")
        command[1] = "plays.parquet"
    else:
        asking.tell(args, "\nask again, or change something:")
    asking.tell(args, f"  {name} {shlex.join(command)}")


# ---- failures --------------------------------------------------------------------------------------------


def _fail(status: int, message: str) -> int:
    print(f"dpselect: {message}", file=sys.stderr)
    return status


def _unexpected(error: Exception) -> int:
    """A mistake of ours. Its text may hold data (a value that did not convert), so only its class is shown."""
    if os.environ.get("DPSELECT_TRACEBACK") == "1":
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
