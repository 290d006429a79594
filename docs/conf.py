"""How the documentation site is made: Sphinx, with pages in MyST Markdown whose code cells are run.

`./dev docs` builds it into `site/`. Nothing of another host is loaded, and it can be read from a folder.
"""

from __future__ import annotations

import gc
import sys
import tomllib
from pathlib import Path

from jupyter_client.manager import KernelManager

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_extensions"))

gc.set_threshold(100_000)  # trees of pages grow to the end: to look for garbage in them took a quarter of the build
KernelManager.transport_encryption.default_value = "auto"  # where the kernel can; else it warns at each start
METADATA = tomllib.loads((HERE.parent / "pyproject.toml").read_text("utf-8"))["project"]

project = "dpselect"
author = METADATA["authors"][0]["name"]
release = version = METADATA["version"]
copyright = f"{author}, Apache-2.0"

extensions = ["myst_nb", "sphinx_copybutton", "made", "mathml", "repository", "everybody", "plain"]
extensions += ["notebooks"] if (HERE / "_extensions" / "notebooks.py").exists() else []
exclude_patterns = ["_extensions"]

myst_enable_extensions = ["deflist", "colon_fence", "attrs_inline", "attrs_block", "dollarmath"]
html_math_renderer = "mathml"
myst_heading_anchors = 4
myst_number_code_blocks: list[str] = []
nb_execution_mode = "inline"  # so that prose can hold values of the run
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_execution_in_temp = True
nb_eval_name_regex = r"^.+$"
nb_merge_streams = True

# Blocks of shell commands, of what they print, and of languages that no lexer knows are shown as they are.
highlight_language = "text"
suppress_warnings: list[str] = []
python_maximum_signature_line_length = 80
python_use_unqualified_type_names = True
toc_object_entries = False

html_theme = "furo"
html_title = f"dpselect {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_use_index = True
html_search_scorer = str(HERE / "_extensions" / "scorer.js")
html_show_search_summary = False  # a page in a folder may not read another: only the list is shown
html_permalinks_icon = "#"
html_theme_options = {"navigation_with_keys": True}
if (HERE / "figures" / "logo.svg").exists():
    html_logo = "figures/logo.svg"
    html_favicon = "figures/favicon.svg"

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
