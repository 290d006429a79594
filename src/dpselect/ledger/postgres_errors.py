"""What PostgreSQL says when something fails, as a sentence for a person. The server's own text is never shown."""

from __future__ import annotations

from dpselect.errors import LedgerError
from dpselect.ledger.port import PATIENCE

_LOST = ("lost its connection: the last step may or may not be recorded", "open the ledger again and look at its log")
_ABSENT = (
    "is no ledger: its tables are not there, or not for this user",
    "make one with `dpselect ledger init`, or ask its owner for rights to the schema dpselect",
)
_RIGHTS = ("may not be used like this by this user", "ask its owner for rights to the schema dpselect and its tables")
_THERE = ("is already there", "a ledger is never overwritten: name another database")
_DAMAGED = ("is damaged", "run `dpselect ledger verify`, then take it from a backup")

# By the SQLSTATE, or by its first two characters: https://www.postgresql.org/docs/current/errcodes-appendix.html
_SAYS: dict[str, tuple[str, str | None]] = {
    "08": _LOST,
    "57P01": _LOST,
    "57P02": _LOST,
    "57P03": _LOST,
    "25P03": _LOST,
    "3F000": _ABSENT,
    "42P01": _ABSENT,
    "42703": _ABSENT,
    "42501": _RIGHTS,
    "42P06": _THERE,
    "42P07": _THERE,
    "25006": ("may not be written: the server or this user is read-only", "write to the primary server"),
    "53100": ("could not be written: the server's disk is full", "make room, then ask again"),
    "53": ("could not be used: the server ran out of something it needs", "ask who keeps the server"),
    "55P03": (f"was in use by others for {PATIENCE} seconds", "ask again, or find out who holds it"),
    "57014": ("did not answer: the statement was cancelled", "ask again"),
    "58": ("could not be read or written: the server's disk or file system failed", "ask who keeps the server"),
    "XX001": _DAMAGED,
    "XX002": _DAMAGED,
    "23": ("refused a change that no ledger makes", "run `dpselect ledger verify`"),
    "P0001": ("refused a change that no ledger makes", "run `dpselect ledger verify`"),
}


def said_plainly(place: str, sqlstate: str | None) -> LedgerError:
    """The ledger error for a SQLSTATE; a failure without one is a connection that broke."""
    state = sqlstate or "08000"
    unknown = (f"failed (SQLSTATE {state})", "ask who keeps the server")
    says, hint = _SAYS.get(state) or _SAYS.get(state[:2]) or unknown
    return LedgerError(f"the ledger at {place} {says}", hint)
