"""Systems of the founding papers that no verb needs, whole and exact, for comparison. Nothing else imports them.

| name | what it is | paper |
|---|---|---|
| `ReportNoisyMax` | the largest of noisy scores | Dwork and Roth 2014; Ding et al. 2021 |
| `NoisyHistogram` | the largest count of a whole noisy histogram | Dwork, McSherry, Nissim and Smith 2006 |
| `ChosenKBar` | limited domain with a privately chosen k_bar | Durfee and Rogers 2019 |
| `LimitedDomainLaplace` | limited domain with Laplace noise | Durfee and Rogers 2019 |
| `optimal_pure` | the optimum of composition for pure steps | Kairouz, Oh and Viswanath 2015 |
| `nonadaptive_epsilon`, `nonadaptive_delta` | the optimum for non-adaptive steps | Dong, Durfee and Rogers 2020 |
| `WeightedLaplace` | a set union of weights 1/t with Laplace noise | Gopi et al. 2020 |
| `PolicyLaplace`, `PolicyGaussian` | set unions by l1- and l2-descent | Gopi et al. 2020 |
| `JointSet` | a set of k in one draw | Gillenwater et al. 2021 |
| `OneShotLaplace` | the k largest noisy counts | Gillenwater et al. 2021; Qiao, Su and Zhang 2021 |
| `ApproxOneShotLaplace` | the same with a delta | Qiao, Su and Zhang 2021 |
| `GammaMechanism` | joint noise of the l-infinity norm | Hardt and Talwar 2010; Gillenwater et al. 2021 |
| `JointSequence` | a ranking of k in one draw | Gillenwater et al. 2022 |

Each mechanism is called as those of `dpselect.mechanisms`, and makes every random decision through `dpselect.draws`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpselect._ground.first_use import lazy_attributes

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpselect.papers.chosen_k_bar import ChosenKBar
    from dpselect.papers.composition import nonadaptive_delta, nonadaptive_epsilon, optimal_pure
    from dpselect.papers.gamma import GammaMechanism
    from dpselect.papers.joint_sequence import JointSequence
    from dpselect.papers.joint_set import JointSet
    from dpselect.papers.noisy_histogram import NoisyHistogram
    from dpselect.papers.noisy_limited_domain import LimitedDomainLaplace
    from dpselect.papers.noisy_max import Noise
    from dpselect.papers.one_shot_laplace import ApproxOneShotLaplace, OneShotLaplace
    from dpselect.papers.policy import PolicyGaussian, PolicyLaplace
    from dpselect.papers.report_noisy_max import ReportNoisyMax
    from dpselect.papers.weighted_laplace import WeightedLaplace

_HOMES = {
    "ApproxOneShotLaplace": "one_shot_laplace",
    "ChosenKBar": "chosen_k_bar",
    "GammaMechanism": "gamma",
    "JointSequence": "joint_sequence",
    "JointSet": "joint_set",
    "LimitedDomainLaplace": "noisy_limited_domain",
    "Noise": "noisy_max",
    "NoisyHistogram": "noisy_histogram",
    "OneShotLaplace": "one_shot_laplace",
    "PolicyGaussian": "policy",
    "PolicyLaplace": "policy",
    "ReportNoisyMax": "report_noisy_max",
    "WeightedLaplace": "weighted_laplace",
    "nonadaptive_delta": "composition",
    "nonadaptive_epsilon": "composition",
    "optimal_pure": "composition",
}

__all__ = [
    "ApproxOneShotLaplace",
    "ChosenKBar",
    "GammaMechanism",
    "JointSequence",
    "JointSet",
    "LimitedDomainLaplace",
    "Noise",
    "NoisyHistogram",
    "OneShotLaplace",
    "PolicyGaussian",
    "PolicyLaplace",
    "ReportNoisyMax",
    "WeightedLaplace",
    "nonadaptive_delta",
    "nonadaptive_epsilon",
    "optimal_pure",
]

__getattr__: Callable[[str], object] = lazy_attributes(__name__, _HOMES)
