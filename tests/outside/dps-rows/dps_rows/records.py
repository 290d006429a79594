"""Records with columns that are named, or at an address records://NAME, under which a program has put such records."""


class Records:
    """Dicts, of which these columns are read: what is no dict, or lacks a column, is missing there. No row decides."""

    def __init__(self, columns, records=()):
        self.columns = tuple(columns)
        self.records = list(records)


NAMED: dict[str, Records] = {}


def open_rows(source, table):  # noqa: ARG001 - records have no tables
    """Return the columns of records; None for anything else."""
    if isinstance(source, str) and source.startswith("records://"):
        source = NAMED.get(source.removeprefix("records://"))
    if not isinstance(source, Records):
        return None
    dicts = [record if isinstance(record, dict) else {} for record in source.records]
    return {name: [record.get(name) for record in dicts] for name in source.columns}
