"""Formulas as MathML, which browsers show by themselves: no script, no picture, nothing of another host."""

from __future__ import annotations

import re
from html import escape

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.errors import SphinxError
from sphinx.writers.html5 import HTML5Translator

FUNCTION = re.compile(r"<mi>(ln|log|exp|tanh)</mi>")  # as an operator it is set apart from what is before it


def mathml(latex: str, *, block: bool = False) -> str:
    """The formula, with its LaTeX as the text for those who do not see it."""
    found: str = convert(latex, display="block" if block else "inline")
    if "\\" in found or "&<" in found:
        raise SphinxError(f"this formula has a command or an environment that is not known: {latex}")
    # Few fonts have the letter of \setminus: it would be an empty box.
    found = found.replace("<mi>&#x029F5;</mi>", '<mo lspace="0.22em" rspace="0.22em">\\</mo>')
    found = FUNCTION.sub(r'<mo lspace="0.17em" rspace="0em">\1</mo>', found)
    return found.replace("<math ", f'<math alttext="{escape(latex)}" ', 1)


def inline(writer: HTML5Translator, node: nodes.math) -> None:
    """Write a formula within a sentence."""
    writer.body.append(mathml(node.astext()))
    raise nodes.SkipNode


def display(writer: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula on lines of its own, which can be scrolled by keyboard where it is too wide."""
    writer.body.append(f'<div class="math" tabindex="0">{mathml(node.astext(), block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer, which `html_math_renderer` names."""
    app.add_html_math_renderer("mathml", (inline, None), (display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
