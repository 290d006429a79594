"""Completion for fish: a line for each option of each command, with its help."""

from __future__ import annotations

from collections.abc import Iterator

from dpselect.command.completion_tree import Argument, Place

START = """# Completion of dpselect for fish, made by: dpselect completion fish

function __dpselect_at
    set -l at ""
    set -l words (commandline -opc)
    set -e words[1]
    for word in $words
        switch "$at $word"
            case {ways}
                set at (string trim -- "$at $word")
        end
    end
    test "$at" = "$argv"
end

complete -c dpselect -f
"""


def script(root: Place) -> str:
    """The whole script."""
    places = list(root.all())
    ways = " ".join(_quoted(f"{' '.join(one.words[:-1])} {one.words[-1]}") for one in places if one.words)
    return START.replace("{ways}", ways) + "".join(f"{line}\n" for one in places for line in _lines(one))


def _lines(place: Place) -> Iterator[str]:
    here = f"complete -c dpselect -n {_quoted(f'__dpselect_at {place.at}'.strip())}"
    for one in place.places:
        yield f"{here} -a {one.words[-1]} -d {_quoted(one.summary)}"
    for argument in place.arguments:
        names = [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in argument.names]
        told = [f"-d {_quoted(argument.help)}"] if argument.names else []
        values = _values(argument)
        if argument.names or values:
            yield " ".join([here, *names, *values, *told])


def _values(argument: Argument) -> list[str]:
    """What it takes: nothing, one of some words, a path, or what nobody can guess."""
    need = ["-x"] if argument.names else []
    if argument.values:
        return [*need, f"-a {_quoted(' '.join(argument.values))}"]
    if argument.paths == "files":
        return ["-r", "-F"] if argument.names else ["-F"]
    if argument.paths == "folders":
        return [*need, "-a '(__fish_complete_directories)'"]
    return need if argument.takes else []


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
