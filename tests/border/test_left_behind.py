"""What holds rows does not outlive its process: temporary folders and drafts, signals, dead and living ones."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from dpselect._ground.temporary import PREFIX, Folder, sweep_drafts, sweep_folders

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs signals and locks of POSIX")
CLEAN = (signal.SIGHUP, signal.SIGTERM, signal.SIGINT) if sys.platform != "win32" else ()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary folders."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


# ---- signals --------------------------------------------------------------------------------------------------


LOADING = """
import os, signal, sys
from dpselect.command.main import process

number = int(sys.argv.pop())
if number != signal.SIGINT:
    signal.signal(number, signal.SIG_DFL)  # whoever started the tests may have it ignored


def profile(frame, event, _):
    if "duckdb" in sys.modules and frame.f_code.co_filename.endswith("enum.py"):
        sys.setprofile(None)
        os.kill(os.getpid(), number)


sys.setprofile(profile)
process()
"""


@pytest.mark.parametrize("number", CLEAN, ids=lambda one: one.name)
def test_a_signal_while_the_engine_is_loaded_leaves_nothing(number: int, tmp_path: Path) -> None:
    """DuckDB makes its enums while it is loaded, and aborted the process when that was stopped: a draft stayed."""
    events, place = tmp_path / "events.csv", tmp_path / "out"
    events.write_text("user,animal\nu,cat\n")
    place.mkdir()
    words = f"top {events} --user user --item animal --epsilon 1 -o {place / 'top.csv'} {int(number)}".split()
    done = subprocess.run([sys.executable, "-c", LOADING, *words], capture_output=True, text=True, check=False)
    assert (done.returncode, list(place.iterdir())) == (128 + number, []), done.stderr


# ---- who is dead ----------------------------------------------------------------------------------------------


def dead_folder(place: Path) -> Path:
    """What a process leaves that is killed."""
    code = "import os, signal; from dpselect._ground.temporary import Folder;"
    code += "f = Folder(); open(f.path + '/rows', 'w').write('x');"
    code += "print(f.path, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    environment = {**os.environ, "TMPDIR": str(place)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    return Path(done.stdout.strip())


def test_a_dead_folder_is_swept_and_a_living_one_is_not(place: Path) -> None:
    dead = dead_folder(place)
    assert (dead / "rows").exists()
    code = "import sys; from dpselect._ground.temporary import Folder; f = Folder();"
    code += " print(f.path, flush=True); sys.stdin.read()"
    environment = {**os.environ, "TMPDIR": str(place)}
    with subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as living:
        there = Path(living.stdout.readline().strip())
        assert not dead.exists()
        sweep_folders(str(place))
        assert there.is_dir()
        living.stdin.close()
    assert not there.exists()


def test_what_is_not_surely_ours_is_not_swept(place: Path) -> None:
    open_to_all = place / f"{PREFIX}open"
    open_to_all.mkdir(mode=0o755)
    open_to_all.chmod(0o755)
    other_name = place / "dpselect-abcdefgh"
    other_name.mkdir(mode=0o700)
    target = place / "target"
    target.mkdir(mode=0o700)
    (place / f"{PREFIX}link").symlink_to(target)
    (place / f"{PREFIX}file").write_text("x")
    sweep_folders(str(place))
    assert len(list(place.iterdir())) == 5
    ours = place / f"{PREFIX}ours"
    ours.mkdir(mode=0o700)
    sweep_folders(str(place))
    assert not ours.exists()


def test_a_draft_in_the_writing_is_not_swept(tmp_path: Path) -> None:
    from dpselect.release.files import NewFile

    real = tmp_path / "top.csv"
    (tmp_path / ".top.csv.1.part").write_text("of a process that was killed")
    (tmp_path / ".other.csv.1.part").write_text("of another output")
    first = NewFile(real, real)
    second = NewFile(real, real)
    sweep_drafts(str(tmp_path), ".top.csv.", ".part")
    assert len(list(tmp_path.iterdir())) == 3
    first.write(b"first")
    second.write(b"second")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".other.csv.1.part", "top.csv"]
    assert real.read_bytes() == b"second"


def test_a_child_does_not_remove_the_folder_of_its_parent(tmp_path: Path) -> None:
    code = """
import os, sys
from dpselect._ground.temporary import Folder
folder = Folder()
child = os.fork()
if child == 0:
    sys.exit(0)  # as a process ends, with all that is done then
os.waitpid(child, 0)
print(os.path.isdir(folder.path))
"""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True"]


# ---- races ----------------------------------------------------------------------------------------------------


def lost_in_a_crowd(place: Path, sweep: Callable[[str], None]) -> int:
    """How many folders vanished while somebody had them, among makers and sweepers that never rest."""
    lost, stop = [], threading.Event()

    def make() -> None:
        for _ in range(100):
            try:
                with Folder() as folder:
                    Path(folder.path, "rows").write_text("x")
                    for _ in range(3):
                        if not Path(folder.path, "rows").exists():
                            raise FileNotFoundError
            except OSError:
                lost.append(1)

    def sweeping() -> None:
        while not stop.is_set():
            sweep(str(place))

    sweepers = [threading.Thread(target=sweeping) for _ in range(2)]
    makers = [threading.Thread(target=make) for _ in range(3)]
    for thread in (*sweepers, *makers):
        thread.start()
    for thread in makers:
        thread.join()
    stop.set()
    for thread in sweepers:
        thread.join()
    return len(lost)


def without_asking(place: str) -> None:
    """A twin that takes every folder of the name for dead."""
    for path in Path(place).glob(f"{PREFIX}*"):
        shutil.rmtree(path, ignore_errors=True)


def test_no_living_folder_is_swept_in_a_crowd(place: Path) -> None:
    assert lost_in_a_crowd(place, sweep_folders) == 0
    assert list(place.iterdir()) == []


@pytest.mark.parametrize(("sweep", "stays"), [(sweep_folders, True), (without_asking, False)])
def test_a_sweeper_that_does_not_ask_is_found_out(sweep: Callable[[str], None], stays: bool, place: Path) -> None:
    with Folder() as folder:
        sweep(str(place))
        assert Path(folder.path).exists() == stays
