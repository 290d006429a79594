"""For tests: draws whose exact distribution can be enumerated, and draws that repeat. Neither is secure."""

from dpselect.draws.certified import drawing
from dpselect.testing.exact import ExactDraws, Law, SeededBits, SeededDraws, hockey_stick, law

__all__ = ["ExactDraws", "Law", "SeededBits", "SeededDraws", "drawing", "hockey_stick", "law"]
