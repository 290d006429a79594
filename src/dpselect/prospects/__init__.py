"""What an answer would be like at each budget, shown before anything is spent: no data is read here."""

from dpselect.prospects.answers import Prospect, Prospects
from dpselect.prospects.guide import plan

__all__ = ["Prospect", "Prospects", "plan"]
