"""`dpselect serve`: run the gateway of a settings file, or a demonstration that makes everything by itself."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dpselect.command import asking, shared
from dpselect.command.gateway import check_installed
from dpselect.errors import ParameterError

if TYPE_CHECKING:
    from dpselect.gateway.settings.values import Settings

_PORT = 8080
EXAMPLES = """
examples:
  dpselect serve --demo
      Make invented data, a budget and three people in a folder, serve them, and print links to sign in.
  dpselect serve --demo --folder trial --port 8090
      The same in a folder of your choice; called again it goes on with what is there.
  dpselect serve gateway.toml
      Serve what the file declares; `dpselect gateway example` prints one to start from.

exit status: 0 stopped, 2 the settings are wrong, 3 the data cannot be read, 4 the address is taken, 6 the ledger cannot
be used.
"""


def options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    command.add_argument("file", nargs="?", metavar="FILE", help="the settings, gateway.toml for example")
    command.add_argument("--demo", action="store_true", help="make everything, and serve it")
    command.add_argument("--folder", metavar="DIR", help="where the demo is made (default dpselect-demo)")
    command.add_argument("--host", metavar="NAME", help="the address to listen at, in place of that of the settings")
    command.add_argument("--port", type=int, metavar="N", help=f"the port, in place of that of the settings ({_PORT})")
    command.add_argument("--users", type=int, metavar="N", help="how many users the demo invents")
    shared.add_quiet(command)


def run(args: argparse.Namespace) -> None:
    """Read the settings and serve until interrupted."""
    if args.demo == (args.file is not None):
        raise ParameterError("FILE", "be given, or --demo in its place", "both" if args.demo else "nothing")
    for name in ("folder", "users"):
        if getattr(args, name) is not None and not args.demo:
            raise ParameterError(f"--{name}", "be given with --demo only", getattr(args, name))
    _check_port(args.port)
    check_installed("serve", "starlette", "uvicorn", "jinja2", "pydantic")
    tokens: dict[str, str] = {}
    path = Path(args.file or "")
    if args.demo:
        from dpselect.gateway import demo

        folder = Path(args.folder or "dpselect-demo")
        asking.print_note(args, f"dpselect: making a demonstration in {folder}")
        tokens = demo.make(folder, demo.DEMO_USERS if args.users is None else args.users)
        path = folder / demo.SETTINGS_FILE
    from dpselect.gateway.settings.reading import read

    _serve(args, _with_address(read(path), args), tokens, path)


def _check_port(port: int | None) -> None:
    if port is not None and not 0 <= port < 65536:
        raise ParameterError("--port", "be from 1 to 65535, or 0 for any that is free", port)


def _with_address(settings: Settings, args: argparse.Namespace) -> Settings:
    """Return the settings with the host and port that the command names."""
    server = settings.server
    port = server.port if args.port is None else args.port
    server = server.model_copy(update={"host": args.host or server.host, "port": port})
    return settings.model_copy(update={"server": server})


def _serve(args: argparse.Namespace, settings: Settings, tokens: dict[str, str], path: Path) -> None:
    from dpselect.gateway.gateway import Gateway
    from dpselect.gateway.serving import listen, serve
    from dpselect.gateway.web.app import application

    socket = listen(settings.server)
    port = socket.getsockname()[1]  # chosen by the system if it was 0
    server = settings.server.model_copy(update={"port": port})
    settings = settings.model_copy(update={"server": server})
    gateway = Gateway(settings, file=path)
    host = f"[{server.host}]" if ":" in server.host else server.host
    url = server.url or f"http://{host}:{server.port}"

    def announce() -> None:
        if args.quiet:
            print(json.dumps({"url": url, "tokens": tokens}), flush=True)
            return
        print(f"dpselect serves {url}; Ctrl-C stops it", file=sys.stderr, flush=True)
        people = gateway.people
        for name in tokens:
            person = people.find(name)
            if person is not None:
                print(f"  sign in as {name}: {url}/sign-in?code={people.code(person)}", file=sys.stderr, flush=True)
        if tokens:
            note = f"  tokens for programs are in {Path(settings.server.folder).parent / 'tokens.json'}"
            print(note, file=sys.stderr, flush=True)

    serve(application(settings, gateway), socket, announce)
