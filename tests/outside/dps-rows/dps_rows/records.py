"""Rows as a list of dicts, or at an address records://NAME, under which a program has put such a list."""

NAMED: dict[str, list[dict[str, object]]] = {}


def open_rows(source, table):  # noqa: ARG001 - a list has no tables
    """Return the columns of a list of records, each of which may lack some; None for anything else."""
    if isinstance(source, str):
        source = NAMED.get(source.removeprefix("records://")) if source.startswith("records://") else None
    if not isinstance(source, list) or not all(isinstance(record, dict) for record in source):
        return None
    names = dict.fromkeys(name for record in source for name in record)
    return {name: [record.get(name) for record in source] for name in names}
