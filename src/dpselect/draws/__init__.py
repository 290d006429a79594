"""The one door for randomness. Import from here."""

from dpselect.draws.bits import fresh_key
from dpselect.draws.certified import CertifiedDraws, SecureDraws
from dpselect.draws.port import Draws, Noise
from dpselect.draws.staircase import Masses
from dpselect.draws.weights import Weights

__all__ = ["CertifiedDraws", "Draws", "Masses", "Noise", "SecureDraws", "Weights", "fresh_key"]
