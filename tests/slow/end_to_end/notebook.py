"""Runs cells, given as a JSON list on standard input, in a real kernel; prints what each shows, as JSON lists.

A process of its own: warnings of the notebook's packages are not ours, and a kernel starts processes and threads.
"""

from __future__ import annotations

import json
import sys

from jupyter_client.manager import start_new_kernel

SHOWS = ("stream", "error", "display_data", "execute_result")


def shown(client, cell: str) -> list[dict[str, object]]:
    """What one cell shows: each output's kind and content."""
    outputs: list[dict[str, object]] = []

    def keep(message) -> None:
        if message["msg_type"] in SHOWS:
            content = message["content"]
            outputs.append({"kind": message["msg_type"], **{k: v for k, v in content.items() if k != "metadata"}})

    client.execute_interactive(cell, timeout=600, output_hook=keep)
    return outputs


if __name__ == "__main__":
    manager, client = start_new_kernel(kernel_name="python3", cwd=sys.argv[1])
    try:
        json.dump([shown(client, cell) for cell in json.load(sys.stdin)], sys.stdout)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
