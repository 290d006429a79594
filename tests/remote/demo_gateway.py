"""The demonstration of a gateway as a process of its own, at a port that was free: `serving(folder)`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Served:
    """Where it is, the tokens of its people by name, and its process."""

    url: str
    tokens: dict[str, str]
    process: subprocess.Popen[str]


@contextmanager
def serving(folder: Path, users: int = 2_000, change: str = "tick = 0.1") -> Iterator[Served]:
    """A demonstration while the block runs, with answers at ticks of 0.1 s, or other settings in the place of that."""
    words = [sys.executable, "-m", "tests.remote.demo_gateway", str(folder), str(users), change]
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, text=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": "."}
    )
    try:
        assert process.stdout is not None
        found = json.loads(process.stdout.readline())
        yield Served(found["url"], found["tokens"], process)
    finally:
        process.terminate()
        process.communicate()


def main(folder: Path, users: int, change: str) -> None:
    """Make it and serve it."""
    from dpselect.gateway import demo
    from dpselect.gateway.gateway import Gateway
    from dpselect.gateway.serving import listen, serve
    from dpselect.gateway.settings.reading import read
    from dpselect.gateway.web.app import application

    tokens = demo.make(folder, users)
    file = folder / demo.SETTINGS
    file.write_text(file.read_text("utf-8").replace("tick = 1\n", f"{change}\n"), "utf-8")
    settings = read(file)
    listening = listen(replace(settings.server, port=0))
    port: int = listening.getsockname()[1]
    settings = replace(settings, server=replace(settings.server, port=port))
    said: dict[str, Any] = {"url": f"http://127.0.0.1:{port}", "tokens": tokens}

    def started() -> None:
        sys.stdout.write(json.dumps(said) + "\n")
        sys.stdout.flush()

    serve(application(settings, Gateway(settings, file=file)), listening, started)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
