"""The one door for randomness. Import from here."""

from dpselect.draws.bits import fresh_key
from dpselect.draws.certified import CertifiedDraws, SecureDraws
from dpselect.draws.flip import Coins
from dpselect.draws.levels import Levels
from dpselect.draws.port import Draws, Noise, Rising
from dpselect.draws.staircase import Masses
from dpselect.draws.weights import Weights

__all__ = [
    "CertifiedDraws",
    "Coins",
    "Draws",
    "Levels",
    "Masses",
    "Noise",
    "Rising",
    "SecureDraws",
    "Weights",
    "fresh_key",
]
