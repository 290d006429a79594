"""`python -m dpselect` is the command."""

from __future__ import annotations

import sys

from dpselect.command.main import process

if __name__ == "__main__":
    sys.exit(process())
