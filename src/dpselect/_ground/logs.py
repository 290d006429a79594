"""What the package says to Python's `logging`: which question was asked and which engine reads for it. No row is in it.

Every line is written before a row is read, so neither its words nor its time depend on rows. All are of level DEBUG:
packages that set up logging for themselves let INFO of everybody through, also into a notebook. Whoever imports this
has looked whether anybody uses `logging`: a program that does not never imports it for us.
"""

from __future__ import annotations

import logging

LOG = logging.getLogger("dpselect")
LOG.addHandler(logging.NullHandler())
