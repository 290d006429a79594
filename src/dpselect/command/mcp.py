"""`dpselect mcp`: questions as tools of an agent, on standard input and output."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from dpselect.command import asking, shared
from dpselect.command.gateway import check_parts
from dpselect.command.options import option, several
from dpselect.errors import ParameterError

if TYPE_CHECKING:
    from dpselect.gateway.settings.values import Settings
    from dpselect.mcp.desk import Desk

ROWS = 10**6
EXAMPLES = """
examples:
  dpselect mcp plays.parquet --user user --item artist --budget budget.sqlite --data plays --analyst agent
      Questions about a file, charged to the quota that this ledger grants to agent.
  dpselect mcp gateway.toml --analyst agent
      All that the settings allow this person, in one process; if `dpselect serve` is running, name its address.
  dpselect mcp https://stats.example.org
      The same through a gateway; DPSELECT_TOKEN holds the agent's token.
  dpselect mcp plays.parquet --user user --item artist --budget budget.sqlite --data plays --analyst agent --config
      What to put into the settings of a client.

Grant an agent a quota of its own (docs/guides/agents.md). Answers are sent on a schedule that
does not depend on the data.
exit status: 0 the client left, 2 a parameter is wrong, 3 the data cannot be read, 6 the ledger cannot be used,
130 interrupted, 1 anything else.
"""


def options(command: argparse.ArgumentParser) -> None:
    """What it understands."""
    shared.files(command, "a file of data, settings of a gateway (.toml), or the address of one")
    option(command, "--analyst", metavar="NAME", help="the analyst whose quota is charged")
    option(command, "--token-file", metavar="FILE", help="holds the token for an address", rare=True)
    option(command, "--config", action="store_true", help="print the settings for a client and exit")
    group = command.add_argument_group("of a file")
    shared.users_and_items(group)
    several(group, "--by", shown="COLUMN,...", help="columns by which an agent may ask in groups")
    several(group, "--filter", shown="COLUMN,...", help="columns that an agent may filter by")
    said = f"the declared maximum number of rows, which decides when answers are sent (default {ROWS:,})"
    for name, shown, text in (
        ("--table", "NAME", "the table, of a database"),
        ("--budget", "FILE", "the ledger that pays (dpselect ledger --help)"),
        ("--data", "NAME", "the name of these data in the ledger (default: default)"),
        ("--max-share", "S", "the largest share of the quota that one question may cost, such as 5%"),
    ):
        option(group, name, metavar=shown, help=text, default="default" if name == "--data" else None)
    option(group, "--max-a-day", type=int, metavar="N", help="the most new questions in 24 hours")
    option(group, "--rows", type=int, default=ROWS, metavar="N", help=said)


def run(args: argparse.Namespace) -> None:
    """Serve until the client leaves."""
    if args.config:
        sys.stdout.write(_config() + "\n")
        return
    with _desk(args) as desk:
        from importlib.metadata import version

        from dpselect.mcp.protocol import serve
        from dpselect.mcp.tools import AgentTools

        replies = os.dup(1)
        os.dup2(2, 1)  # what anything else prints is no reply
        with contextlib.suppress(BrokenPipeError), os.fdopen(replies, "wb") as sink:  # the client may be gone
            serve(AgentTools(desk), sys.stdin.buffer, sink, version("dpselect"))


@contextlib.contextmanager
def _desk(args: argparse.Namespace) -> Iterator[Desk]:
    """Where questions go."""
    source = args.files[0]
    if source.startswith(("http://", "https://")):
        from dpselect.command.from_gateway import remote_of
        from dpselect.mcp.desk import afar

        yield afar(remote_of(source, args.token_file))
        return
    if args.analyst is None:
        raise ParameterError("--analyst", "name who asks", "nothing", "dpselect ledger grant gives an agent a quota")
    check_parts("mcp", "starlette", "pydantic")
    from dpselect.gateway.settings.reading import read

    file = Path(source).expanduser() if source.endswith(".toml") else None
    settings = _declared(args) if file is None else read(file)
    from dpselect.gateway.agents import here
    from dpselect.gateway.gateway import Gateway
    from dpselect.gateway.settings.values import Role

    person = settings.people.get(args.analyst)
    if person is None or person.role is not Role.ANALYST:
        raise ParameterError("--analyst", "be an analyst of the settings", args.analyst)
    gateway = Gateway(settings, file=file)
    try:
        gateway.start()
        yield here(gateway, person)
    finally:
        gateway.stop()


def _declared(args: argparse.Namespace) -> Settings:
    """Settings of a gateway with these data and this person, whose promise and quota the ledger has."""
    from dpselect.gateway.settings.reading import read_text
    from dpselect.ledger import Ledger

    for name in ("item", "budget"):
        if getattr(args, name) is None:
            raise ParameterError(f"--{name}", "be given for a file", "nothing")
    if "://" in args.budget:
        hint = "settings of a gateway name a folder beside it"
        raise ParameterError("--budget", "be a file", "an address", hint)
    account = asking.account_of(args)
    with Ledger(args.budget) as ledger:
        promised = ledger.data_account(account.dataset)
        granted = {balance.account: balance.granted for balance in ledger.balances()}.get(account)
        if granted is None:
            hint = f"dpselect ledger grant {args.budget} --data {args.data} --analyst {args.analyst} grants one"
            raise ParameterError("--analyst", f"have a quota of {args.data}", args.analyst, hint)
    item = args.item if len(args.item) > 1 else args.item[0]
    data = {"source": args.files, "user": args.user, "items": [item], "groups": args.by, "table": args.table}
    person = {"role": "analyst", "max_share": args.max_share, "max_a_day": args.max_a_day}
    lines = [
        "[server]",
        f"ledger = {_toml(args.budget)}",
        "workers = 1",
        f"folder = {_toml(args.budget + '.mcp')}",
        f"[data.{_toml(args.data)}]",
        *_toml_of(data),
        f'promise = {{ epsilon = "{promised.promise.epsilon}", delta = "{promised.promise.delta}" }}',
        f'keep = "{promised.keep}"',
        f"sizes = {{ rows = {args.rows} }}",
        f"[data.{_toml(args.data)}.filters]",
        *_toml_of(dict.fromkeys(args.filter or (), "any")),
        f"[people.{_toml(args.analyst)}]",
        *_toml_of(person),
        *([f'quota = {{ epsilon = "{granted.epsilon}", delta = "{granted.delta}" }}'] if granted.epsilon else []),
    ]
    return read_text("\n".join(lines), Path.cwd(), "what the options declare")


def _toml(value: object) -> str:
    """A text, a number or a list as TOML has them."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _toml_of(table: Mapping[str, object]) -> list[str]:
    """What is given of a table."""
    return [f"{_toml(name)} = {_toml(value)}" for name, value in table.items() if value is not None]


def _config() -> str:
    """The entry of a client; VS Code calls mcpServers `servers`."""
    words = [one for one in sys.argv[1:] if one != "--config"]
    words = [os.path.abspath(one) if os.path.exists(one) else one for one in words]
    entry = {"command": sys.executable, "args": ["-m", "dpselect", *words]}
    return json.dumps({"mcpServers": {"dpselect": entry}}, indent=2)
