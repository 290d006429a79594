"""A machine that cannot carry the engine is told of before anything is read or paid."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import resource, sys
from dpselect.command.main import main
resource.setrlimit(resource.RLIMIT_AS, (600_000 * 1024, 600_000 * 1024))
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit of the address space")
def test_a_small_address_space_is_a_message_and_no_crash(tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("user,item\n" + "".join(f"{i},a\n" for i in range(50)))
    words = ["top", str(rows), "--user", "user", "--item", "item", "--epsilon", "1", "--delta", "1e-6"]
    ended = subprocess.run([sys.executable, "-c", CODE, *words], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (3, "")
    assert ended.stderr.splitlines() == [
        "dpselect: this process may use 585 MiB of address space (ulimit -v), and the engine needs 1536",
        "hint: ulimit -v unlimited; DPSELECT_MEMORY sets how much may be used",
    ]
