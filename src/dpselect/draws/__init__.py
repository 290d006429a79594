"""The one door for randomness. Import from here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpselect._ground.first_use import lazy_attributes

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpselect.draws.certified import CertifiedDraws, SecureDraws, drawing, secure
    from dpselect.draws.entropy import fresh_key
    from dpselect.draws.permutations import distinct
    from dpselect.draws.port import Draws, Masses, MonotoneProbability
    from dpselect.draws.weights import Weights

_HOMES = {
    "CertifiedDraws": "certified",
    "Draws": "port",
    "Masses": "port",
    "MonotoneProbability": "port",
    "SecureDraws": "certified",
    "Weights": "weights",
    "distinct": "permutations",
    "drawing": "certified",
    "fresh_key": "entropy",
    "secure": "certified",
}

__all__ = [
    "CertifiedDraws",
    "Draws",
    "Masses",
    "MonotoneProbability",
    "SecureDraws",
    "Weights",
    "distinct",
    "drawing",
    "fresh_key",
    "secure",
]

__getattr__: Callable[[str], object] = lazy_attributes(__name__, _HOMES)
