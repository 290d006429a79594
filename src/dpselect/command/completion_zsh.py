"""Completion for zsh: a function for each command, which hands its options, with their help, to `_arguments`."""

from __future__ import annotations

import re

from dpselect.command.completion_tree import Argument, Place

# In fpath the file is the body of the function; sourced, it has to tell the shell.
END = """
if [[ ${funcstack[1]} == _dpselect ]]; then
  _dpselect "$@"
else
  compdef _dpselect dpselect
fi
"""


def script(root: Place) -> str:
    """The whole script."""
    functions = "\n".join(_function(one) for one in root.all())
    return f"#compdef dpselect\n# Completion of dpselect for zsh, made by: dpselect completion zsh\n\n{functions}{END}"


def _function(place: Place) -> str:
    specs = [_option(one) for one in place.options]
    if not place.places:
        specs += [_position(number, one) for number, one in enumerate(place.positions, 1)]
        lines = " \\\n    ".join(specs)
        return f"{_name(place)}() {{\n  _arguments -s -S \\\n    {lines}\n}}\n"
    specs += ["'1: :->command'", "'*:: :->rest'"]
    lines = " \\\n    ".join(specs)
    commands = "\n".join(f"        {_quoted(f'{one.words[-1]}:{one.summary}')}" for one in place.places)
    ways = "\n".join(f"        {one.words[-1]}) {_name(one)} && ret=0 ;;" for one in place.places)
    return f"""{_name(place)}() {{
  local context state state_descr ret=1
  local -a line commands
  local -A opt_args
  _arguments -C \\
    {lines} && ret=0
  case $state in
    command)
      commands=(
{commands}
      )
      _describe -t commands command commands && ret=0 ;;
    rest)
      case $line[1] in
{ways}
      esac ;;
  esac
  return ret
}}
"""


def _name(place: Place) -> str:
    return "_".join(("_dpselect", *place.words))


def _option(option: Argument) -> str:
    names = [name + ("" if not option.takes else "=" if name.startswith("--") else "+") for name in option.names]
    about = f"[{_escaped(option.help)}]" + "".join(f":{_escaped(one)}:{_action(option)}" for one in option.shown)
    if option.repeated:
        every = f"{{{','.join(names)}}}" if len(names) > 1 else names[0]
        return f"'*'{every}{_quoted(about)}"
    others = f"({' '.join(option.names)})"
    if len(names) == 1:
        return _quoted(f"{others}{names[0]}{about}")
    return f"'{others}'{{{','.join(names)}}}{_quoted(about)}"


def _position(number: int, argument: Argument) -> str:
    place = "*" if argument.repeated else str(number)
    colon = "::" if argument.optional else ":"
    return _quoted(f"{place}{colon}{_escaped(argument.shown[0])}:{_action(argument)}")


def _action(argument: Argument) -> str:
    if argument.values:
        return f"({' '.join(argument.values)})"
    return {"files": "_files", "folders": "_files -/"}.get(argument.paths, " ")


def _escaped(text: str) -> str:
    """As `_arguments` reads a description."""
    return re.sub(r"([\\\[\]:])", r"\\\1", text)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
