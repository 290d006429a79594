"""`dpselect inspect`: a look at a source by its owner, who may see everything in it."""

from __future__ import annotations

import argparse
import sys


def run(args: argparse.Namespace) -> None:
    """Look, and print what was found after the warning that it is not private."""
    from dpselect.asking import source_of
    from dpselect.inspection import inspect

    found = inspect(
        source_of(args),
        user=args.user,
        item=args.item,
        where=args.where,
        table=args.table,
        newlines_in_values=args.newlines_in_values,
    )
    sys.stdout.write(f"{found}\n")
