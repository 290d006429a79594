"""Run by a fresh environment: the installed package, not the checkout, imports, answers and has a command."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import tomllib
from importlib.metadata import version
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
PACKAGES = ("numpy", "duckdb", "python-flint")
OF_EXTRAS = (
    "pandas",
    "polars",
    "pyarrow",
    "matplotlib",
    "psycopg",
    "starlette",
    "uvicorn",
    "jinja2",
    "pydantic",
    "joserfc",
    "shtab",
)


def main(extras: str = "") -> None:
    """Fail loudly, or print the versions that were used."""
    import dpselect as dps

    wanted = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    if CHECKOUT / "src" in Path(dps.__file__).parents:
        sys.exit(f"dpselect was imported from {dps.__file__}, not from the environment")
    if dps.__version__ != wanted:
        sys.exit(f"the installed version is {dps.__version__}, not {wanted}")
    with tempfile.TemporaryDirectory() as folder:
        from dpselect.demo import write_listening_events

        path = Path(folder) / "events.parquet"
        write_listening_events(path, users=5_000)
        asked = dps.Dataset(str(path), user="user", item="artist")
        release = asked.top_k(3, epsilon=2, counts=True)
        if not release.labels or dps.Release.from_json(release.to_json()) != release:
            sys.exit("a top 3 of 5,000 users came back empty, or did not come back from JSON")
        command = Path(sys.executable).with_name("dpselect.exe" if sys.platform == "win32" else "dpselect")
        asks = ["top", str(path), "--user", "user", "--item", "artist", "-k", "3", "--epsilon", "2"]
        for arguments, said in ((["--version"], f"dpselect {wanted}"), (asks, "spent: ")):
            done = subprocess.run([command, *arguments], capture_output=True, text=True, check=False)
            if done.returncode or said not in done.stdout:
                sys.exit(f"dpselect {arguments[0]} ended with {done.returncode}: {done.stderr}")
        if extras:
            use_extras(Path(folder))
    used = PACKAGES + (OF_EXTRAS if extras else ())
    sys.stdout.write(", ".join(f"{name} {version(name)}" for name in used) + "\n")


def use_extras(folder: Path) -> None:
    """Frames as sources and as forms of a release, a picture, a union by compiled loops, the gateway's application."""
    import pandas
    import polars
    import pyarrow
    from matplotlib.figure import Figure

    import dpselect as dps

    rows = {"user": [f"u{n // 2}" for n in range(2000)], "item": ["a" if n % 2 else "bcd"[n % 3] for n in range(2000)]}
    for make in (pandas.DataFrame, polars.DataFrame, polars.LazyFrame, pyarrow.table):
        asked = dps.Dataset(make(rows), user="user", item="item", max_items_per_user=2)
        release = asked.top_k(1, epsilon=4, counts=True)
        if release.labels != ["a"]:
            sys.exit(f"a frame of {make.__module__} was not counted as its rows are")
    if len(release.to_pandas()) + len(release.to_polars()) + len(release.to_arrow()) != 3:
        sys.exit("a frame of a release does not have its rows")
    release.plot().save(folder / "top.svg")
    figure = Figure()
    release.plot(ax=figure.add_subplot())
    figure.savefig(folder / "top.png")
    words = [sys.executable, "-m", "dpselect", "completion", "bash"]
    if "--epsilon" not in subprocess.run(words, capture_output=True, text=True, check=True).stdout:
        sys.exit("the shell's script does not have the options")
    served(folder)


def served(folder: Path) -> None:
    """The demonstration's gateway, a process of its own, is asked over HTTP."""
    import joserfc.jwk
    import joserfc.jwt  # noqa: F401 - what signing in by an identity provider imports

    import dpselect as dps

    words = ["serve", "--demo", "--quiet", "--users", "2000", "--port", "0", "--folder", str(folder / "demo")]
    command = [sys.executable, "-m", "dpselect", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            told = json.loads(server.stdout.readline() if server.stdout else "")
            remote = dps.connect(told["url"], token=told["tokens"]["analyst"])
            if not remote.data("listening").top_k(1, epsilon=1).labels:
                sys.exit("the gateway released nothing")
        finally:
            server.terminate()


if __name__ == "__main__":
    main(*sys.argv[1:])
