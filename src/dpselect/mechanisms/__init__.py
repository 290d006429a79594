"""Every mechanism by its name. Each is a frozen value: parameters in, `.privacy` known at once, called with counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpselect._ground.first_use import lazy_attributes

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpselect.mechanisms.certified_quantiles import CertifiedQuantiles
    from dpselect.mechanisms.choose.by_group import ChoiceByGroup
    from dpselect.mechanisms.choose.exponential import ExponentialMechanism
    from dpselect.mechanisms.choose.permute_and_flip import PermuteAndFlip
    from dpselect.mechanisms.histogram import (
        HistogramGaussian,
        HistogramLaplace,
        HistogramSharedGaussian,
        HistogramSharedLaplace,
    )
    from dpselect.mechanisms.joint.canonical_set import CanonicalSet
    from dpselect.mechanisms.port import Mechanism
    from dpselect.mechanisms.quantile import Quantile
    from dpselect.mechanisms.quantile_by_group import QuantileByGroup
    from dpselect.mechanisms.recursive_quantiles import RecursiveQuantiles
    from dpselect.mechanisms.set_union.count import TruncatedGeometric
    from dpselect.mechanisms.set_union.count_gaussian import CountGaussian
    from dpselect.mechanisms.set_union.count_laplace import CountLaplace
    from dpselect.mechanisms.set_union.greedy import GreedyGeometric
    from dpselect.mechanisms.set_union.port import SetUnion
    from dpselect.mechanisms.set_union.renyi_shaped import RenyiShaped
    from dpselect.mechanisms.set_union.weighted import WeightedGaussian
    from dpselect.mechanisms.top_k.by_group import LimitedDomainByGroup
    from dpselect.mechanisms.top_k.discover import DiscoverThenPeel
    from dpselect.mechanisms.top_k.limited_domain import LimitedDomain
    from dpselect.mechanisms.top_k.noisy_counts import NoisyCounts
    from dpselect.mechanisms.top_k.peeling import Peeling
    from dpselect.mechanisms.top_k.sparse_limited_domain import LimitedDomainSparse

_HOMES = {
    "CanonicalSet": "joint.canonical_set",
    "CertifiedQuantiles": "certified_quantiles",
    "ChoiceByGroup": "choose.by_group",
    "CountGaussian": "set_union.count_gaussian",
    "CountLaplace": "set_union.count_laplace",
    "DiscoverThenPeel": "top_k.discover",
    "ExponentialMechanism": "choose.exponential",
    "GreedyGeometric": "set_union.greedy",
    "HistogramGaussian": "histogram",
    "HistogramLaplace": "histogram",
    "HistogramSharedGaussian": "histogram",
    "HistogramSharedLaplace": "histogram",
    "LimitedDomain": "top_k.limited_domain",
    "LimitedDomainByGroup": "top_k.by_group",
    "LimitedDomainSparse": "top_k.sparse_limited_domain",
    "Mechanism": "port",
    "NoisyCounts": "top_k.noisy_counts",
    "Peeling": "top_k.peeling",
    "PermuteAndFlip": "choose.permute_and_flip",
    "Quantile": "quantile",
    "QuantileByGroup": "quantile_by_group",
    "RecursiveQuantiles": "recursive_quantiles",
    "RenyiShaped": "set_union.renyi_shaped",
    "SetUnion": "set_union.port",
    "TruncatedGeometric": "set_union.count",
    "WeightedGaussian": "set_union.weighted",
}

__all__ = [
    "CanonicalSet",
    "CertifiedQuantiles",
    "ChoiceByGroup",
    "CountGaussian",
    "CountLaplace",
    "DiscoverThenPeel",
    "ExponentialMechanism",
    "GreedyGeometric",
    "HistogramGaussian",
    "HistogramLaplace",
    "HistogramSharedGaussian",
    "HistogramSharedLaplace",
    "LimitedDomain",
    "LimitedDomainByGroup",
    "LimitedDomainSparse",
    "Mechanism",
    "NoisyCounts",
    "Peeling",
    "PermuteAndFlip",
    "Quantile",
    "QuantileByGroup",
    "RecursiveQuantiles",
    "RenyiShaped",
    "SetUnion",
    "TruncatedGeometric",
    "WeightedGaussian",
]

__getattr__: Callable[[str], object] = lazy_attributes(__name__, _HOMES)
