"""Every mechanism by its name. Each is a frozen value: parameters in, `.privacy` known at once, called with counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpselect._ground.first_use import fetched

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpselect.mechanisms.choose.by_group import ChoiceByGroup
    from dpselect.mechanisms.choose.exponential import ExponentialMechanism
    from dpselect.mechanisms.choose.permute_and_flip import PermuteAndFlip
    from dpselect.mechanisms.histogram import HistogramGaussian, HistogramLaplace
    from dpselect.mechanisms.joint.canonical_set import CanonicalSet
    from dpselect.mechanisms.port import Mechanism
    from dpselect.mechanisms.published.count_laplace import CountLaplace
    from dpselect.mechanisms.published.gamma import GammaMechanism
    from dpselect.mechanisms.published.joint_sequence import JointSequence
    from dpselect.mechanisms.published.joint_set import JointSet
    from dpselect.mechanisms.published.noisy_histogram import NoisyHistogram
    from dpselect.mechanisms.published.noisy_limited_domain import LimitedDomainLaplace
    from dpselect.mechanisms.published.one_shot_laplace import ApproxOneShotLaplace, OneShotLaplace
    from dpselect.mechanisms.published.policy import PolicyGaussian, PolicyLaplace
    from dpselect.mechanisms.published.report_noisy_max import ReportNoisyMax
    from dpselect.mechanisms.published.weighted_laplace import WeightedLaplace
    from dpselect.mechanisms.quantile import Quantile
    from dpselect.mechanisms.quantile_by_group import QuantileByGroup
    from dpselect.mechanisms.recursive_quantiles import RecursiveQuantiles
    from dpselect.mechanisms.set_union.count import TruncatedGeometric
    from dpselect.mechanisms.set_union.count_gaussian import CountGaussian
    from dpselect.mechanisms.set_union.greedy import GreedyGeometric
    from dpselect.mechanisms.set_union.port import SetUnion
    from dpselect.mechanisms.set_union.renyi_shaped import RenyiShaped
    from dpselect.mechanisms.set_union.weighted import WeightedGaussian
    from dpselect.mechanisms.top_k.by_group import LimitedDomainByGroup
    from dpselect.mechanisms.top_k.discover import DiscoverThenPeel
    from dpselect.mechanisms.top_k.limited_domain import ChosenKBar, LimitedDomain
    from dpselect.mechanisms.top_k.noisy_counts import NoisyCounts
    from dpselect.mechanisms.top_k.peeling import Peeling
    from dpselect.mechanisms.top_k.sparse_limited_domain import LimitedDomainSparse

_HOMES = {
    "ApproxOneShotLaplace": "published.one_shot_laplace",
    "CanonicalSet": "joint.canonical_set",
    "ChoiceByGroup": "choose.by_group",
    "ChosenKBar": "top_k.limited_domain",
    "CountGaussian": "set_union.count_gaussian",
    "CountLaplace": "published.count_laplace",
    "DiscoverThenPeel": "top_k.discover",
    "ExponentialMechanism": "choose.exponential",
    "GammaMechanism": "published.gamma",
    "GreedyGeometric": "set_union.greedy",
    "HistogramGaussian": "histogram",
    "HistogramLaplace": "histogram",
    "JointSequence": "published.joint_sequence",
    "JointSet": "published.joint_set",
    "LimitedDomain": "top_k.limited_domain",
    "LimitedDomainByGroup": "top_k.by_group",
    "LimitedDomainLaplace": "published.noisy_limited_domain",
    "LimitedDomainSparse": "top_k.sparse_limited_domain",
    "Mechanism": "port",
    "NoisyCounts": "top_k.noisy_counts",
    "NoisyHistogram": "published.noisy_histogram",
    "OneShotLaplace": "published.one_shot_laplace",
    "Peeling": "top_k.peeling",
    "PermuteAndFlip": "choose.permute_and_flip",
    "PolicyGaussian": "published.policy",
    "PolicyLaplace": "published.policy",
    "Quantile": "quantile",
    "QuantileByGroup": "quantile_by_group",
    "RecursiveQuantiles": "recursive_quantiles",
    "RenyiShaped": "set_union.renyi_shaped",
    "ReportNoisyMax": "published.report_noisy_max",
    "SetUnion": "set_union.port",
    "TruncatedGeometric": "set_union.count",
    "WeightedGaussian": "set_union.weighted",
    "WeightedLaplace": "published.weighted_laplace",
}

__all__ = [
    "ApproxOneShotLaplace",
    "CanonicalSet",
    "ChoiceByGroup",
    "ChosenKBar",
    "CountGaussian",
    "CountLaplace",
    "DiscoverThenPeel",
    "ExponentialMechanism",
    "GammaMechanism",
    "GreedyGeometric",
    "HistogramGaussian",
    "HistogramLaplace",
    "JointSequence",
    "JointSet",
    "LimitedDomain",
    "LimitedDomainByGroup",
    "LimitedDomainLaplace",
    "LimitedDomainSparse",
    "Mechanism",
    "NoisyCounts",
    "NoisyHistogram",
    "OneShotLaplace",
    "Peeling",
    "PermuteAndFlip",
    "PolicyGaussian",
    "PolicyLaplace",
    "Quantile",
    "QuantileByGroup",
    "RecursiveQuantiles",
    "RenyiShaped",
    "ReportNoisyMax",
    "SetUnion",
    "TruncatedGeometric",
    "WeightedGaussian",
    "WeightedLaplace",
]

__getattr__: Callable[[str], object] = fetched(__name__, _HOMES)
