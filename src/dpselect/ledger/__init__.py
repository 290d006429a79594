"""The durable privacy budget: who was granted what, what was spent, and what was released. Import from here."""

from dpselect.ledger.account import Account, Balance
from dpselect.ledger.charge import ZERO, Charge
from dpselect.ledger.entry import Entry, Kind, Pending, Reservation
from dpselect.ledger.ledger import Ledger

__all__ = ["ZERO", "Account", "Balance", "Charge", "Entry", "Kind", "Ledger", "Pending", "Reservation"]
