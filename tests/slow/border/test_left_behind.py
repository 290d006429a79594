"""What holds rows does not outlive its process: a signal at many more lines than tests/border tries."""

import signal
import sys
from pathlib import Path

import pytest

from tests.border.test_left_behind import lives


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals of POSIX")
def test_a_signal_at_many_lines_leaves_nothing(tmp_path: Path) -> None:
    assert [life for life in lives(tmp_path, signal.SIGHUP, 11) if life["left"]] == []
