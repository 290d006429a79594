"""`dpselect mcp`: offer questions as tools of an agent, on standard input and output."""

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
from dpselect.command.gateway import check_installed
from dpselect.command.options import add_list_option, add_option
from dpselect.errors import ParameterError

if TYPE_CHECKING:
    from dpselect.gateway.settings.values import Settings
    from dpselect.mcp.desk import AgentDesk

_DEFAULT_ROWS = 10**6
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
    """Add the arguments of the command."""
    shared.add_files(command, "a file of data, settings of a gateway (.toml), or the address of one")
    add_option(command, "--analyst", metavar="NAME", help="the analyst whose quota is charged")
    add_option(command, "--token-file", metavar="FILE", help="holds the token for an address", rare=True)
    add_option(command, "--config", action="store_true", help="print the settings for a client and exit")
    group = command.add_argument_group("of a file")
    shared.add_users_and_items(group)
    add_list_option(group, "--by", placeholder="COLUMN,...", help="columns by which an agent may ask in groups")
    add_list_option(group, "--filter", placeholder="COLUMN,...", help="columns that an agent may filter by")
    rows_help = f"the declared maximum number of rows, which decides when answers are sent (default {_DEFAULT_ROWS:,})"
    for name, placeholder, help_text in (
        ("--table", "NAME", "the table, of a database"),
        ("--budget", "FILE", "the ledger that pays (dpselect ledger --help)"),
        ("--data", "NAME", "the name of these data in the ledger (default: default)"),
        ("--max-share", "S", "the largest share of the quota that one question may cost, such as 5%"),
    ):
        add_option(group, name, metavar=placeholder, help=help_text, default="default" if name == "--data" else None)
    add_option(group, "--max-a-day", type=int, metavar="N", help="the most new questions in 24 hours")
    add_option(group, "--rows", type=int, default=_DEFAULT_ROWS, metavar="N", help=rows_help)


def run(args: argparse.Namespace) -> None:
    """Serve the tools until the client closes standard input."""
    if args.config:
        sys.stdout.write(_format_client_config() + "\n")
        return
    with _open_desk(args) as desk:
        from importlib.metadata import version

        from dpselect.mcp.protocol import serve
        from dpselect.mcp.tools import AgentTools

        replies = os.dup(1)
        os.dup2(2, 1)  # other output must not mix with the replies
        with contextlib.suppress(BrokenPipeError), os.fdopen(replies, "wb") as sink:  # the client may be gone
            serve(AgentTools(desk), sys.stdin.buffer, sink, version("dpselect"))


@contextlib.contextmanager
def _open_desk(args: argparse.Namespace) -> Iterator[AgentDesk]:
    """Yield the desk for a gateway's address, for a settings file, or for a data file with a ledger."""
    source = args.files[0]
    if source.startswith(("http://", "https://")):
        from dpselect.command.from_gateway import connect_remote
        from dpselect.mcp.desk import remote_desk

        yield remote_desk(connect_remote(source, args.token_file))
        return
    if args.analyst is None:
        raise ParameterError("--analyst", "name who asks", "nothing", "dpselect ledger grant gives an agent a quota")
    check_installed("mcp", "starlette", "pydantic")
    from dpselect.gateway.settings.reading import read

    file = Path(source).expanduser() if source.endswith(".toml") else None
    settings = _declare_settings(args) if file is None else read(file)
    from dpselect.gateway.gateway import Gateway
    from dpselect.gateway.settings.kinds import Role
    from dpselect.gateway.web.agents import open_desk

    person = settings.people.get(args.analyst)
    if person is None or person.role is not Role.ANALYST:
        raise ParameterError("--analyst", "be an analyst of the settings", args.analyst)
    gateway = Gateway(settings, file=file)
    try:
        gateway.start()
        yield open_desk(gateway, person)
    finally:
        gateway.stop()


def _declare_settings(args: argparse.Namespace) -> Settings:
    """Return gateway settings for these data and this analyst, with the promise and the quota that the ledger has."""
    from dpselect.gateway.settings.reading import read_text
    from dpselect.ledger import Ledger

    for name in ("item", "budget"):
        if getattr(args, name) is None:
            raise ParameterError(f"--{name}", "be given for a file", "nothing")
    if "://" in args.budget:
        hint = "settings of a gateway name a folder beside it"
        raise ParameterError("--budget", "be a file", "an address", hint)
    account = asking.parse_account(args)
    with Ledger(args.budget) as ledger:
        data_account = ledger.data_account(account.dataset)
        quota = {standing.account: standing.granted for standing in ledger.all_standings()}.get(account)
        if quota is None:
            hint = f"dpselect ledger grant {args.budget} --data {args.data} --analyst {args.analyst} grants one"
            raise ParameterError("--analyst", f"have a quota of {args.data}", args.analyst, hint)
    item = args.item if len(args.item) > 1 else args.item[0]
    data = {"source": args.files, "user": args.user, "items": [item], "groups": args.by, "table": args.table}
    person = {"role": "analyst", "max_share": args.max_share, "max_a_day": args.max_a_day}
    lines = [
        "[server]",
        f"ledger = {_format_toml(args.budget)}",
        "workers = 1",
        f"folder = {_format_toml(args.budget + '.mcp')}",
        f"[data.{_format_toml(args.data)}]",
        *_format_toml_table(data),
        f'promise = {{ epsilon = "{data_account.promise.epsilon}", delta = "{data_account.promise.delta}" }}',
        f'keep = "{data_account.keep}"',
        f"sizes = {{ rows = {args.rows} }}",
        f"[data.{_format_toml(args.data)}.filters]",
        *_format_toml_table(dict.fromkeys(args.filter or (), "any")),
        f"[people.{_format_toml(args.analyst)}]",
        *_format_toml_table(person),
        *([f'quota = {{ epsilon = "{quota.epsilon}", delta = "{quota.delta}" }}'] if quota.epsilon else []),
    ]
    return read_text("\n".join(lines), Path.cwd(), "what the options declare")


def _format_toml(value: object) -> str:
    """Format a text, a number or a list as a TOML value."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _format_toml_table(table: Mapping[str, object]) -> list[str]:
    """Format the entries of a TOML table that are not None."""
    return [f"{_format_toml(name)} = {_format_toml(value)}" for name, value in table.items() if value is not None]


def _format_client_config() -> str:
    """Format the settings of a client as JSON; VS Code calls the key mcpServers by another name."""
    words = [word for word in sys.argv[1:] if word != "--config"]
    words = [os.path.abspath(word) if os.path.exists(word) else word for word in words]
    entry = {"command": sys.executable, "args": ["-m", "dpselect", *words]}
    return json.dumps({"mcpServers": {"dpselect": entry}}, indent=2)
