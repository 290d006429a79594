"""Completion for bash: one function, which finds the place of the cursor and looks up what can stand there."""

from __future__ import annotations

from collections.abc import Mapping

from dpselect.command.completion_tree import Argument, Place

# File names are left to readline, which knows about quotes, ~ and spaces. bash 3.2 has no compopt.
START = """# Completion of dpselect for bash, made by: dpselect completion bash

_dpselect_words() {
    local one
    for one in $1; do
        [[ $one == "$2"* ]] && COMPREPLY+=("$one")
    done
    return 0
}

_dpselect_files() { compopt -o default 2>/dev/null || COMPREPLY=($(compgen -f -- "$1")); }

_dpselect_folders() { compopt -o dirnames 2>/dev/null || COMPREPLY=($(compgen -d -- "$1")); }

_dpselect() {
    local now=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} at="" i
    COMPREPLY=()
    # bash takes "=" for a word of its own
    if [[ $now == "=" ]]; then
        now=""
    elif [[ $before == "=" ]]; then
        before=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "$at ${COMP_WORDS[i]}" in
"""
END = """    esac
}

complete -F _dpselect dpselect
"""


def script(root: Place) -> str:
    """The whole script."""
    places = list(root.all())
    ways = [f'"{" ".join(one.words[:-1])} {one.words[-1]}"' for one in places if one.words]
    values: dict[str, str] = {}
    free: list[str] = []
    for place in places:
        for argument in place.options:
            for name in argument.names if argument.takes else ():
                offered = _offer(argument)
                if offered:
                    values[f'"{place.at}:{name}"'] = offered
                else:
                    free.append(f'"{place.at}:{name}"')
    options = {f'"{one.at}:-"*': _words([name for option in one.options for name in option.names]) for one in places}
    plain = {f'"{one.at}:"*': _plain(one) for one in places if _plain(one)}
    return "".join(
        (
            START,
            f'            {" | ".join(ways)}) at="${{at:+$at }}${{COMP_WORDS[i]}}" ;;\n',
            '        esac\n    done\n    case "$at:$before" in\n',
            _cases(values, "; return"),
            f"        {' | '.join(free)}) return ;;\n",
            '    esac\n    case "$at:$now" in\n',
            _cases({**options, **plain}, ""),
            END,
        )
    )


def _offer(argument: Argument) -> str:
    """The call that offers its values; empty where nothing is known of them."""
    if argument.values:
        return _words(list(argument.values))
    return f'_dpselect_{argument.paths} "$now"' if argument.paths else ""


def _plain(place: Place) -> str:
    """What may stand at a place without a dash before it."""
    if place.places:
        return _words([one.words[-1] for one in place.places])
    return next((_offer(one) for one in place.positions if _offer(one)), "")


def _words(words: list[str]) -> str:
    return f"""_dpselect_words '{" ".join(words)}' "$now\""""


def _cases(answers: Mapping[str, str], after: str) -> str:
    """One line for each answer, with all patterns that have it, in their order."""
    patterns: dict[str, list[str]] = {}
    for pattern, answer in answers.items():
        patterns.setdefault(answer, []).append(pattern)
    return "".join(f"        {' | '.join(those)}) {answer}{after} ;;\n" for answer, those in patterns.items())
