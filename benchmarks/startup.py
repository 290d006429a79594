"""How long `import dpselect` and `dpselect --help` take, and whether they load an engine nobody asked for.

Targets: 0.25 s and 0.5 s. Plain Python and NumPy, run beside them, say how much of that is ours.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

from measure import alternate, cache, process, seconds, table, verdict

ENGINES = ("duckdb", "pandas", "polars", "pyarrow", "matplotlib")


def main() -> None:
    """One table and one line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20)
    runs = parser.parse_args().runs
    command = shutil.which("dpselect", path=str(Path(sys.executable).parent)) or "dpselect"
    commands = {
        "python, nothing imported": ([sys.executable, "-c", "pass"], None),
        "import numpy": ([sys.executable, "-c", "import numpy"], None),
        "import dpselect": ([sys.executable, "-c", "import dpselect"], 0.25),
        "dpselect --help": ([command, "--help"], 0.5),
    }
    contenders = {name: partial(process, words) for name, (words, _) in commands.items()}
    cache()
    alternate(contenders, 1)  # once for the compiled modules
    costs = alternate(contenders, runs)
    print(f"Medians of {runs} runs\n")
    rows = []
    for name, cost in costs.items():
        target = commands[name][1]
        clock = seconds(cost.wall) if target is None else verdict(cost.wall, target)
        rows.append([name, seconds(cost.cpu), clock, f"{cost.memory:.0f} MiB"])
    table(["process", "CPU", "clock", "peak memory"], rows)

    question = f"import dpselect, sys; print(*(set({ENGINES}) & set(sys.modules)))"
    loaded = subprocess.run([sys.executable, "-c", question], check=True, capture_output=True, text=True)
    print(f"Engines loaded by the import: {loaded.stdout.strip() or 'none'}")


if __name__ == "__main__":
    main()
