"""Write docs/pairs.md: `python -m tests.pairs`."""

from tests.pairs.table import PAGE, page

PAGE.write_text(page(), "utf-8")
