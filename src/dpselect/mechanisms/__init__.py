"""Every mechanism by its name. Each is a frozen value: parameters in, `.privacy` known at once, called with counts."""

from dpselect.mechanisms.canonical_set import CanonicalSet
from dpselect.mechanisms.chosen_k_bar import ChosenKBar
from dpselect.mechanisms.discover import DiscoverThenPeel
from dpselect.mechanisms.exponential import ExponentialMechanism
from dpselect.mechanisms.gamma import GammaMechanism
from dpselect.mechanisms.joint_permute_and_flip import JointPermuteAndFlip
from dpselect.mechanisms.joint_sequence import JointSequence
from dpselect.mechanisms.joint_set import JointSet
from dpselect.mechanisms.limited_domain import LimitedDomain
from dpselect.mechanisms.noisy_counts import NoisyCounts
from dpselect.mechanisms.noisy_histogram import NoisyHistogram
from dpselect.mechanisms.noisy_limited_domain import LimitedDomainGaussian, LimitedDomainLaplace
from dpselect.mechanisms.noisy_max import ReportNoisyMax
from dpselect.mechanisms.one_shot_laplace import ApproxOneShotLaplace, OneShotLaplace
from dpselect.mechanisms.peeling import Peeling
from dpselect.mechanisms.permute_and_flip import PermuteAndFlip
from dpselect.mechanisms.port import Mechanism
from dpselect.mechanisms.quantile import Quantile
from dpselect.mechanisms.set_union.count import CountGaussian, CountLaplace
from dpselect.mechanisms.set_union.policy import PolicyGaussian, PolicyLaplace
from dpselect.mechanisms.set_union.port import SetUnion
from dpselect.mechanisms.set_union.pouring import GreedyPouring, ShapedPouring
from dpselect.mechanisms.set_union.renyi_shaped import RenyiShaped
from dpselect.mechanisms.set_union.shaped import ShapedPolicy, ShapedWeighted
from dpselect.mechanisms.set_union.sips import SIPS
from dpselect.mechanisms.set_union.truncated_geometric import TruncatedGeometric
from dpselect.mechanisms.set_union.weighted import WeightedGaussian, WeightedLaplace

__all__ = [
    "SIPS",
    "ApproxOneShotLaplace",
    "CanonicalSet",
    "ChosenKBar",
    "CountGaussian",
    "CountLaplace",
    "DiscoverThenPeel",
    "ExponentialMechanism",
    "GammaMechanism",
    "GreedyPouring",
    "JointPermuteAndFlip",
    "JointSequence",
    "JointSet",
    "LimitedDomain",
    "LimitedDomainGaussian",
    "LimitedDomainLaplace",
    "Mechanism",
    "NoisyCounts",
    "NoisyHistogram",
    "OneShotLaplace",
    "Peeling",
    "PermuteAndFlip",
    "PolicyGaussian",
    "PolicyLaplace",
    "Quantile",
    "RenyiShaped",
    "ReportNoisyMax",
    "SetUnion",
    "ShapedPolicy",
    "ShapedPouring",
    "ShapedWeighted",
    "TruncatedGeometric",
    "WeightedGaussian",
    "WeightedLaplace",
]
