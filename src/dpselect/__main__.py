"""`python -m dpselect` is the command."""

from __future__ import annotations

from dpselect.command.main import process

if __name__ == "__main__":
    process()
