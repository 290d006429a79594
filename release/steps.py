"""What the steps share: how one is told, how it stops the release, how a program is run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
Command = list[str | Path]


class StopError(Exception):
    """A step failed. The message says what is wrong, and after `hint:` on a line of its own what to do."""


def tell(step: str, line: str) -> None:
    """One line for a step that is done, at once: the next may take minutes."""
    sys.stdout.write(f"release: {step}: {line}\n")
    sys.stdout.flush()


def run(command: Command, *, hint: str, cwd: Path = ROOT, env: Mapping[str, str] | None = None) -> str:
    """What a program prints. One that fails stops the release with its last lines."""
    done = subprocess.run(
        command, cwd=cwd, env=env, check=False, stdin=subprocess.DEVNULL, capture_output=True,
        text=True, encoding="utf-8", errors="replace",
    )  # fmt: skip
    if done.returncode:
        said = (done.stdout + done.stderr).strip().splitlines()[-30:]
        name = " ".join(Path(part).name if isinstance(part, Path) else part for part in command[:4])
        raise StopError("\n".join([f"{name} ended with {done.returncode}:", *said, f"hint: {hint}"]))
    return done.stdout


def python_of(venv: Path) -> Path:
    """The interpreter of a virtual environment."""
    return venv / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
