"""Print what becomes of every pair of features: `python -m tests.pairs`."""

import sys

from tests.pairs.table import page

sys.stdout.write(page())
