"""The fast paths of the real draws, where enumeration cannot go: vectorised, grouped, far away, refined."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest

from dpselect._ground.reals import Exp
from dpselect.draws import CertifiedDraws, SecureDraws, Weights
from dpselect.draws.entropy import SystemBits
from dpselect.draws.near import nearest
from dpselect.mechanisms import ExponentialMechanism, LimitedDomain, Peeling, PermuteAndFlip
from dpselect.papers import Noise, ReportNoisyMax
from dpselect.papers.noisy_draws import noisy
from dpselect.testing import law
from tests.papers.exact import ExactNoisyDraws
from tests.statistical.judge import accepts, judge, size

REAL = {
    "as shipped": SecureDraws,
    "refining often": lambda: CertifiedDraws(SystemBits(), secure=True, slack_bits=3),
}


@pytest.fixture(params=REAL)
def draws(request):
    return REAL[request.param]()


def floats(exact):
    return {answer: float(p.mid()) for answer, p in exact.items()}


def answers(question):
    """The exact distribution of a question to the draws."""
    return floats(law(question, ExactNoisyDraws))


def judged(question, draws, right, *wrong):
    """Of a question by its rate: the draws against the exact distribution, which is not that of any wrong rate."""
    asked = question(right)
    judge(lambda: asked(draws), answers(asked), [answers(question(rate)) for rate in wrong])


HALF = Fraction(1, 2)
COUNTS = (5, 3, 4, 0, 5)


@pytest.mark.parametrize("make", [ExponentialMechanism, PermuteAndFlip, ReportNoisyMax])
def test_choosing_one(make, draws):
    def question(epsilon):
        chooser = make(epsilon=epsilon)
        return lambda d: int(chooser(COUNTS, draws=d)[0])

    judged(question, draws, 1, 2, Fraction(11, 10) * 2, "0.5")


def test_peeling_in_order(draws):
    def question(pick):
        peeling = Peeling(k=2, epsilon_per_pick=pick)
        return lambda d: tuple(peeling((4, 2, 0), draws=d).tolist())

    judged(question, draws, "0.5", 1, "0.25")


def test_grouped_peeling_with_a_long_way_down(draws):
    """Groups, a candidate far beyond the window and one that dominates: the table is rebuilt after every pick."""

    def question(rate):
        weights = Weights(np.array([1000, 4, 3, 1]), rate, np.array([1, 2, 3, 2]))
        return lambda d: d.peel(weights, 2)[1]

    judged(question, draws, HALF, Fraction(1), Fraction(1, 10))


def test_limited_domain(draws):
    def question(terms):
        pick, delta = terms
        mechanism = LimitedDomain(k=2, k_bar=3, epsilon_per_pick=pick, delta=delta, delta_threshold=delta)
        return lambda d: tuple(mechanism((9, 7, 7, 1, 0), draws=d).tolist())

    judged(question, draws, ("0.5", "0.1"), (1, "0.1"), ("0.5", "0.2"))


@pytest.mark.parametrize("noise", list(Noise))
def test_noisy_max_of_groups(noise, draws):
    def question(rate):
        weights = Weights(np.array([3, 1, 0]), rate, np.array([1, 4, 9]))
        return lambda d: noisy(d).noisy_max(weights, noise)[0]

    judged(question, draws, HALF, Fraction(1), Fraction(1, 4))


def test_binomial(draws):
    n, p = 40, Exp(Fraction(0), Fraction(1, 3))

    def law_at(probability):
        exact = answers(lambda d: d.binomial(n, probability))
        return {x: q for x, q in exact.items() if q > 1e-12}

    wrong = [law_at(Exp(p.exponent, p.factor * Fraction(7, 10))), {x + 1: q for x, q in law_at(p).items()}]
    judge(lambda: draws.binomial(n, p), law_at(p), wrong)


def test_geometric(draws):
    rate = Fraction(1, 7)

    def law_at(r):
        exact = answers(lambda d: min(d.geometric(r), 40))
        return {x: q for x, q in exact.items() if q > 1e-12}

    judge(lambda: min(draws.geometric(rate), 40), law_at(rate), [law_at(2 * rate), law_at(rate * Fraction(5, 4))])


def test_successes_beyond_the_window_keep_their_probability(monkeypatch, draws):
    """With the window narrowed to exponent 1, most successes come from beyond it by thinning: the same distribution."""
    monkeypatch.setattr("dpselect.draws.peeling.MIN_FAR_EXPONENT", 1)

    def question(rate):
        weights = Weights(np.array([6, 3, 1, 0]), rate, np.array([1, 1, 3, 1]))
        return lambda d: tuple(sorted(d.group_bernoullis(weights)))

    judged(question, draws, HALF, Fraction(1), Fraction(1, 4))


def test_picks_beyond_the_window_keep_their_probability(monkeypatch, draws):
    """The same for peeling: a window that ends at exponent 1 with the bound 2^-1 > e^-1."""
    monkeypatch.setattr("dpselect.draws.peeling.MIN_FAR_EXPONENT", 1)
    monkeypatch.setattr("dpselect.draws.peeling.MIN_FAR_BITS", 1)

    def question(rate):
        weights = Weights(np.array([6, 0, 1, 2, 1]), rate)
        return lambda d: d.categorical(weights)[0]

    judged(question, draws, HALF, Fraction(1), Fraction(1, 4))


def test_a_window_that_reaches_further_for_more_keeps_the_distribution(monkeypatch, draws):
    """Narrowed as above, and growing from two candidates on: three groups inside, two beyond."""
    for name, value in (("MIN_FAR_EXPONENT", 1), ("MIN_FAR_BITS", 1), ("MAX_FAR_CANDIDATE_BITS", 2)):
        monkeypatch.setattr(f"dpselect.draws.peeling.{name}", value)

    def question(rate):
        weights = Weights(np.array([6, 0, 1, 2, 4]), rate, np.array([1, 9, 3, 3, 2]))
        return lambda d: d.categorical(weights)[0]

    judged(question, draws, HALF, Fraction(1), Fraction(1, 4))


def test_one_candidate_against_very_many(draws):
    """e^69 against 10^30: about as likely as not; a window of old would have refused 2^30 proposals for each."""

    def law_at(gap):
        others = math.exp(30 * math.log(10) - gap)
        return {0: 1 / (1 + others), 1: others / (1 + others)}

    weights = Weights(np.array([69, 0]), Fraction(1), np.array([1, 10**30], dtype=object))
    judge(lambda: draws.categorical(weights)[0], law_at(69), [law_at(68), law_at(70)])


def test_successes_among_very_many(draws):
    """10^30 trials of probability e^-69 each: about Poisson with mean 1.08, beside one that always succeeds."""

    def law_at(gap):
        mean = math.exp(30 * math.log(10) - gap)
        return {x: math.exp(-mean) * mean**x / math.factorial(x) for x in range(30)}

    weights = Weights(np.array([69, 0]), Fraction(1), np.array([1, 10**30], dtype=object))
    judge(lambda: dict(draws.group_bernoullis(weights)).get(1, 0), law_at(69), [law_at(69.5), law_at(68.5)])


ALIKE = np.array([6, 0, 4, 1, 6, 2, 1, 1, 2])  # the window below ends between 4 and 2


@pytest.fixture
def _narrow(monkeypatch):
    """A window that ends at exponent 1: equal scores stand inside as one group, and beyond it by themselves."""
    monkeypatch.setattr("dpselect.draws.peeling.MIN_FAR_EXPONENT", 1)
    monkeypatch.setattr("dpselect.draws.peeling.MIN_FAR_BITS", 1)


@pytest.mark.usefixtures("_narrow")
def test_picks_among_equal_scores(draws):
    """Of several, so that a group loses members, and the window moves down to what had no place in it."""

    def question(rate):
        weights = Weights(ALIKE[:6], rate)
        assert nearest(weights, 3, 1).counts is not None
        return lambda d: tuple(g for g, _ in d.peel(weights, 3))

    judged(question, draws, HALF, Fraction(1), Fraction(1, 4))


@pytest.mark.usefixtures("_narrow")
def test_permute_and_flip_among_equal_scores(draws):
    def question(epsilon):
        chooser = PermuteAndFlip(epsilon=epsilon)
        return lambda d: int(chooser(ALIKE, draws=d)[0])

    judged(question, draws, 1, 2, "0.5")


@pytest.mark.usefixtures("_narrow")
@pytest.mark.parametrize(
    ("noise", "sizes"),
    [(Noise.EXPONENTIAL, None), (Noise.LAPLACE, np.array([9, 1, 3, 3, 2, 1]))],
    ids=["single", "groups"],
)
def test_noisy_max_with_most_candidates_beyond_the_window(noise, sizes, draws):
    scores = ALIKE[[1, 0, 3, 5, 6, 2]]

    def question(rate):
        weights = Weights(scores, rate, sizes)
        return lambda d: noisy(d).noisy_max(weights, noise)[0]

    near = nearest(Weights(scores, HALF, sizes), 1, 1)
    assert len(near.beyond(len(near))) == 3
    judged(question, draws, HALF, Fraction(1), Fraction(1, 4))


@pytest.mark.usefixtures("_narrow")
def test_too_many_zeros_asked_of_those_beyond_the_window_are_refused(draws, monkeypatch):
    """The twin: far more zeros than the bound proves, so that those far away win too rarely."""
    weights = Weights(ALIKE[[1, 0, 3, 5, 6, 2]], Fraction(1, 2), np.array([9, 1, 3, 3, 2, 1]))
    right = answers(lambda d: noisy(d).noisy_max(weights, Noise.LAPLACE)[0])
    assert accepts(lambda: noisy(draws).noisy_max(weights, Noise.LAPLACE)[0], right, 1000)
    monkeypatch.setattr("dpselect.papers.noisy_max.BITS_PER_UNIT", Fraction(30))
    assert not accepts(lambda: noisy(draws).noisy_max(weights, Noise.LAPLACE)[0], right, 1000)


def test_many_equal_integers_are_grouped_and_found_again():
    """The path for arrays: counting by value, one pick of a group, and one pass to find its member."""
    counts = np.array([0] * 50 + [6] * 30 + [3] * 20)[np.random.default_rng(0).permutation(100)]

    def law_at(rate):
        masses = np.exp(float(rate) * (counts - 6.0))
        return dict(enumerate((masses / masses.sum()).tolist()))

    chooser = ExponentialMechanism(epsilon=1, monotonic=True)
    judge(lambda: int(chooser(counts)[0]), law_at(1), [law_at(3), law_at("0.3")])


def test_the_judge_refuses_wrong_samplers():
    """Controls of the judge itself: what it must refuse, it refuses; what is right, it accepts."""
    right, wrong = {0: 0.5, 1: 0.5}, {0: 0.55, 1: 0.45}
    n = size(right, [wrong, {0: 0.4, 1: 0.6}])
    fair = random.Random(3)
    assert accepts(lambda: int(fair.random() < 0.5), right, n)
    assert not accepts(lambda: int(fair.random() < 0.45), right, n)
    assert not accepts(lambda: 7, right, n)
