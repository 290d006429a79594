"""Real shells that are asked for completions, each with the script that the command prints for it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

# The command itself only shows its words, so that Enter tells what completing made of the line.
SHOWS = """dpselect() { printf '<%s>' "$@"; printf 'end\\n'; }"""
ALL = "\x14"  # Ctrl-T inserts all completions of a word
START = {"bash": ["bash", "--noprofile", "--norc", "-i"], "zsh": ["zsh", "-f", "-i"]}
_ZSH = [
    "unset zle_bracketed_paste; autoload -Uz compinit; compinit -u -D",
    "zle -C every complete-word _generic; bindkey '^T' every",
    "zstyle ':completion:every::::' completer _all_matches _complete; zstyle ':completion:every:*' insert yes",
]
# The script is called _dpselect: zsh reads one of that name in a folder of functions when it is first asked for it.
PREPARE = {
    "bash": ["bind 'set enable-bracketed-paste off'", "bind '\"\\C-t\": insert-completions'", "source {script}"],
    "zsh": [*_ZSH, 'eval "$(cat {script})"'],
    "zsh, a folder of functions": ["fpath=({script.parent} $fpath)", *_ZSH],
}


class Terminal:
    """A bash or a zsh in a terminal, in a folder, with the script read in one of the ways above."""

    def __init__(self, way: str, script: Path, folder: Path) -> None:
        import pexpect  # which has no terminals on Windows

        first, *rest = START[way.partition(",")[0]]
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "TERM": "dumb", "HOME": str(folder), "PS1": "READY>"}
        self._seen = pexpect.spawn(
            first, rest, cwd=str(folder), env=env, encoding="utf-8", dimensions=(50, 10_000), timeout=20
        )
        self._seen.expect_exact("READY>")
        for line in [SHOWS, *PREPARE[way]]:
            self._seen.sendline(line.format(script=script) if "{script" in line else line)
            self._seen.expect_exact("\n")
            self._seen.expect_exact("READY>")

    def completed(self, line: str) -> list[str]:
        """The words of the command when the last one of the line is completed by all that it may become."""
        self._seen.send(line + ALL + "\r")
        self._seen.expect(r"\r\n((?:<[^>]*>)*)end")
        found = re.findall("<([^>]*)>", self._seen.match[1])
        self._seen.expect_exact("READY>")
        return found

    def close(self) -> None:
        """End it."""
        self._seen.close(force=True)


class Fish:
    """fish, which answers without a terminal."""

    def __init__(self, script: Path, folder: Path) -> None:
        self._script, self._folder = script, folder

    def completed(self, line: str) -> list[str]:
        """The same words: those that stand there, and all that the last one may become."""
        code = f"source {self._script}; complete -C $argv[1]"
        done = subprocess.run(
            ["fish", "-N", "-c", code, line],
            cwd=self._folder, env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(self._folder)},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert done.stderr == ""
        *before, _ = line.split(" ")[1:]
        return [*before, *(one.partition("\t")[0] for one in done.stdout.splitlines())]

    def close(self) -> None:
        """Nothing runs."""
