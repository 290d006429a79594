"""The certified filter itself: float bounds against ball arithmetic, envelopes that are exact, bits that decide."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from dpselect._ground.reals import Exp, Logistic, enclose, lower, upper
from dpselect.draws import CertifiedDraws, SecureDraws, Weights, fresh_key
from dpselect.draws.binomial import _BinomialShare, _mode, _short
from dpselect.draws.float_exp import MAX_EXPONENT, RELATIVE_ERROR, decay
from dpselect.draws.near import nearest
from dpselect.draws.peeling import MIN_FAR_BITS, MIN_FAR_EXPONENT, Peel, Reach
from dpselect.errors import ParameterError
from dpselect.testing import SeededDraws, law
from tests.exact.laws import same


class Script:
    """Bits that were written down before."""

    def __init__(self, *words: int) -> None:
        self.left = list(words)

    def word(self) -> int:
        return self.left.pop(0)

    def words(self, n: int) -> np.ndarray:
        return np.array([self.word() for _ in range(n)], dtype=np.uint64)


def scripted(*words: int, slack_bits: int = 36) -> CertifiedDraws:
    return CertifiedDraws(Script(*words), secure=False, slack_bits=slack_bits)


def relative_error(x: float) -> float:
    with ctx.workprec(200):
        exact = (-enclose(Fraction(x))).exp()
        return float(abs(enclose(Fraction(float(decay(np.array([x]))[0]))) / exact - 1).upper())


@given(st.floats(0, MAX_EXPONENT))
def test_decay_keeps_its_error_bound(x):
    assert relative_error(x) <= RELATIVE_ERROR / 2  # the other half of the bound is for the rounding of x itself


def test_decay_at_the_seams_and_beyond():
    step = np.log(2) / 64
    seams = [0.0, MAX_EXPONENT, *(k * step for k in range(1, 400)), *((k + 0.5) * step for k in range(400))]
    assert max(relative_error(min(x, MAX_EXPONENT)) for x in seams) <= 2.0**-48
    assert decay(np.array([np.inf, 1e300]))[0] == decay(np.array([MAX_EXPONENT]))[0]
    many = np.linspace(0, 50, 20_001)
    assert (decay(many) == np.array([decay(many[i : i + 1])[0] for i in range(len(many))])).all()


SHAPES = {
    "ties": Weights(np.array([5, 5, 3, 5, 0]), Fraction(1, 3)),
    "far": Weights(np.array([10**6, 10**6 - 1, 5, 0]), Fraction(1, 2)),
    "groups": Weights(np.array([7, 4, 1]), Fraction(1, 2), np.array([1, 20, 10**12])),
    "huge groups": Weights(np.array([7, 0]), Fraction(1, 2), np.array([1, 10**30], dtype=object)),
    "a domain of 10^30": Weights(np.array([80, 0]), Fraction(1), np.array([1, 10**30 - 1], dtype=object)),
    "the largest domain": Weights(
        np.array([90, 40, 2, 0]), Fraction(1), np.array([1, 5, 10**20, 2**128], dtype=object)
    ),
    "10^30 far away": Weights(np.array([200, 199, 0]), Fraction(1), np.array([1, 1, 10**30], dtype=object)),
    "floats": Weights(np.array([0.1, 0.7, -3.25, 1e300, 1e-300]), Fraction(1, 10)),
    "fractions": Weights(np.array([Fraction(1, 3), Fraction(2, 7), Fraction(10**30)], dtype=object), Fraction(5)),
    "factors": Weights(
        np.array([9, 6, 7, 0]),
        Fraction(1, 4),
        np.array([1, 1, 1, 96]),
        [Fraction(1)] * 2 + [Fraction(10**8, 7), Fraction(1)],
    ),
    "extreme floats": Weights(np.array([1.7e308, -1.7e308, 0.0]), Fraction(1, 2**800)),
    "ints no float holds": Weights(np.array([10**400, 1, 0], dtype=object), Fraction(1, 10)),
    "extreme ints": Weights(np.array([2**63 - 1, -(2**63), 0]), Fraction(1, 2**62)),
}


@pytest.mark.parametrize("slack_bits", [36, 3])
@pytest.mark.parametrize("weights", SHAPES.values(), ids=SHAPES.keys())
def test_envelope_times_acceptance_is_the_exact_mass(weights, slack_bits):
    """What makes peeling exact: for every position E x share = copies x weight x 2^scale, with share at most 1."""
    peel = Peel(SeededDraws(1, slack_bits=slack_bits), weights, 1)
    peel._build(weights.candidate_count)
    checked = 0
    for position in range(peel.window_end):
        copies, mass = int(peel.copies_left[position]), int(peel.table[position])
        share = peel._acceptance(position, copies, mass)
        exact = peel.near_weights.ratio(position, peel.best_score).ball(256)
        with ctx.workprec(256):
            unit = enclose(Fraction(peel.shift)).exp() * arb(2) ** peel.scale
            assert (share.ball(256) * mass - exact * copies * unit).overlaps(arb(0))
            assert share.ball(256) <= 1 + arb(2) ** -200
            if mass >= 1 << slack_bits:  # decided without refinement: acceptance is at least 1 - 4 slack
                assert share.ball(256) >= 1 - 4 * arb(2) ** -slack_bits
        checked += copies
    peel.far_groups = peel.near_groups.beyond(len(peel.near_weights))
    for position in range(peel.window_end, len(peel.near_weights) + len(peel.far_groups)):
        share = peel._acceptance(position, peel.far_candidates, peel.total_mass - peel.table_mass)
        assert share.ball(256) <= 1
        near = position < len(peel.near_weights)
        of, place = (peel.near_weights, position) if near else (weights, peel._far_group(position))
        assert of.ratio(place, peel.best_score).exponent <= -peel.reach.exponent
        checked += of.size(place)
    assert checked == weights.candidate_count


def accepted(peel: Peel, weights: Weights) -> arb:
    """The probability that a proposal of a new table is accepted: the exact mass of all over the sum of integers."""
    with ctx.workprec(1024):
        unit = enclose(Fraction(peel.shift)).exp() * arb(2) ** peel.scale
        masses = (weights.ratio(g, peel.best_score).ball(1024) * weights.size(g) for g in range(len(weights)))
        return sum(masses, arb(0)) * unit / peel.total_mass


@pytest.mark.parametrize("weights", SHAPES.values(), ids=SHAPES.keys())
def test_nearly_every_proposal_is_accepted(weights):
    """What makes peeling fast, whatever the counts and however many candidates there are."""
    peel = Peel(SeededDraws(1), weights, 1)
    peel._build(weights.candidate_count)
    assert accepted(peel, weights) > 1 - 2.0**-27


def test_one_bound_for_all_that_is_far_would_hardly_ever_be_accepted(monkeypatch):
    """The twin: a window that does not reach further for more candidates proposes 10^30 of them, and refuses them."""
    weights = SHAPES["a domain of 10^30"]
    monkeypatch.setattr(Reach, "for_candidates", lambda _: Reach(MIN_FAR_EXPONENT, MIN_FAR_BITS))
    peel = Peel(SeededDraws(1), weights, 1)
    peel._build(weights.candidate_count)
    assert accepted(peel, weights) < 2.0**-30


def test_a_bound_that_is_lowered_without_reaching_further_would_be_refused(monkeypatch):
    """The other twin asks for acceptance above 1, which is another distribution."""
    weights = Weights(np.array([60, 0]), Fraction(1), np.array([1, 10**30], dtype=object))
    monkeypatch.setattr(Reach, "for_candidates", lambda n: Reach(MIN_FAR_EXPONENT, MIN_FAR_BITS + n.bit_length() - 40))
    peel = Peel(SeededDraws(1), weights, 1)
    peel._build(weights.candidate_count)
    assert lower(peel._acceptance(1, peel.far_candidates, peel.total_mass - peel.table_mass).ball(128)) > 1


@given(st.integers(1, 2**600))
def test_all_beyond_the_window_is_light_together(candidates):
    reach = Reach.for_candidates(candidates)
    with ctx.workprec(200):
        one = (-arb(reach.exponent)).exp()
        assert one < arb(2) ** -reach.bits
        assert candidates * arb(2) ** -reach.bits <= arb(2) ** (40 - MIN_FAR_BITS)
    assert reach == Reach(MIN_FAR_EXPONENT, MIN_FAR_BITS) or candidates >= 2**40


def test_what_is_left_when_a_giant_is_gone():
    """Bottom outweighs all others by more than floats hold; once drawn, the table is made for those that are left."""
    weights = Weights(np.array([3, 2, 0]), Fraction(1), factors=[Fraction(1), Fraction(1), Fraction(2**899)])
    picks = SeededDraws(5).peel(weights, 3)
    assert picks[0] == (2, 0)
    assert sorted(picks[1:]) == [(0, 0), (1, 0)]


def test_peeling_until_a_group_is_the_head_of_peeling():
    """Whatever comes after bottom is not drawn, and changes nothing before it."""
    weights = Weights(np.array([3, 2, 1, 3, 0]), Fraction(1), sizes=np.array([1, 2, 1, 1, 4]))

    def head(picks):
        end = next((place for place, (group, _) in enumerate(picks) if group >= 3), len(picks))
        return picks[: end + 1]

    for seed in range(50):
        whole, until = SeededDraws(seed).peel(weights, 4), SeededDraws(seed).peel(weights, 4, until=3)
        assert until == head(whole)
    assert len({len(SeededDraws(seed).peel(weights, 4, until=3)) for seed in range(50)}) == 4
    followed = (law(lambda d: tuple(d.peel(weights, 3, until=3))), law(lambda d: tuple(head(d.peel(weights, 3)))))
    assert same(*followed)


def test_a_table_without_its_slack_would_be_refused():
    """The twin: integers rounded down, not up, ask for acceptance above 1."""
    weights = SHAPES["ties"]
    peel = Peel(SeededDraws(1), weights, 1)
    peel._build(weights.candidate_count)
    low = [int(m * (1 - 2.0**-30)) for m in peel.table]
    assert any(upper(peel._acceptance(p, 1, low[p]).ball(128)) > 1 for p in range(peel.window_end))


@given(st.integers(1, 2**70))
def test_below_is_the_lowest_bits_that_are_small_enough(n):
    size = (n - 1).bit_length()
    words = [2**64 - 1] * 2 + [5, 0]
    value = (2**64 - 1 | (2**64 - 1) << 64) & ((1 << size) - 1)
    first = value if value < n else None
    found = scripted(*words, *[0] * 8).below(n)
    assert 0 <= found < n
    assert first is None or size == 0 or found == (value if size > 64 else (2**64 - 1) & ((1 << size) - 1))


def test_below_maps_every_accepted_pattern_to_one_answer():
    assert [scripted(w, 0).below(5) for w in range(5)] == [0, 1, 2, 3, 4]
    assert [scripted(w, 3).below(5) for w in range(5, 8)] == [3, 3, 3]
    assert scripted().below(1) == 0


def thirds(words: int) -> list[int]:
    """The first words of the binary expansion of 1/3."""
    return [int("01" * 32, 2)] * words


@pytest.mark.parametrize("words", [0, 1, 3])
def test_a_draw_is_decided_by_the_first_bits_that_differ(words):
    third = Exp(Fraction(0), Fraction(1, 3))
    assert scripted(*thirds(words), int("01" * 32, 2) - 1).bernoulli(third) is True
    assert scripted(*thirds(words), int("01" * 32, 2) + 1).bernoulli(third) is False


def test_certain_draws_need_no_luck():
    assert scripted(2**64 - 1).bernoulli(Exp(Fraction(0))) is True
    assert scripted(0).bernoulli(Exp(Fraction(0), Fraction(0))) is False


@given(st.fractions(0, 3), st.integers(0, 2**64 - 1))
def test_a_draw_compares_with_the_exact_probability(exponent, word):
    for probability in (Exp(-exponent), Logistic(exponent)):
        ball = probability.ball(256)
        answer = scripted(word, 2**63).bernoulli(probability)
        low, high = Fraction(word, 2**64), Fraction(word + 1, 2**64)
        if lower(ball) >= high:
            assert answer is True
        elif upper(ball) <= low:
            assert answer is False


@pytest.mark.parametrize("n", [17, 40, 1000])
@pytest.mark.parametrize(
    "p", [Exp(Fraction(-1, 3)), Exp(Fraction(-9)), Exp(Fraction(0), Fraction(1, 2)), Exp(Fraction(0))]
)
def test_devroyes_envelope_lies_above_the_binomial_distribution(n, p):
    """Acceptance is at most 1 at every proposal, so that proposal x acceptance is the exact law."""
    mode = _mode(n, p)
    peak = _BinomialShare(n, mode, p).ball(128)
    w = _short(lower(peak))
    half = (1 / w).__ceil__()
    for x in range(n + 1):
        beyond = abs(x - mode) - half - 1
        share = _BinomialShare(
            n, x, p, upper(peak) * (1 if beyond < 0 else half + 1), w, None if beyond < 0 else beyond
        )
        assert lower(share.ball(128)) <= 1
    assert 1 / (1 - enclose(-w).exp()) <= half + 1  # the mass of a tail covers its geometric sum


def ratio(n: int, w: Fraction, beyond: int) -> Fraction:
    """What acceptance would at least be at a place so far beyond the mode of n fair trials."""
    p = Exp(Fraction(0), Fraction(1, 2))
    mode, half = _mode(n, p), (1 / w).__ceil__()
    peak = _BinomialShare(n, mode, p).ball(128)
    outer = beyond - half - 1
    mass = upper(peak) * (1 if outer < 0 else half + 1)
    return lower(_BinomialShare(n, mode + beyond, p, mass, w, None if outer < 0 else outer).ball(128))


@pytest.mark.parametrize("bits", [81, 82, 100, 128])
def test_the_envelope_lies_above_the_distribution_of_very_many_trials(bits):
    n = 3 << bits - 2
    w = _short(lower(_BinomialShare(n, n // 2, Exp(Fraction(0), Fraction(1, 2))).ball(64)))
    deviation = int((n / 4) ** 0.5)
    for step in range(60):
        assert ratio(n, w, deviation * step // 10) <= 1


@pytest.mark.parametrize(("n", "beyond"), [(3 << 79, True), (3 << 100, False)])
def test_a_rate_that_is_rounded_to_twelve_digits_is_none(n, beyond):
    """The twin: the fraction of twelve digits next to so low a peak is above it, which the proof forbids, or zero."""
    peak = lower(_BinomialShare(n, n // 2, Exp(Fraction(0), Fraction(1, 2))).ball(64))
    rounded = peak.limit_denominator(1 << 40) * Fraction(99, 100)
    assert (rounded > peak, rounded == 0) == (beyond, not beyond)


@given(st.fractions(min_value=Fraction(1, 2**300), max_value=1))
def test_the_first_bits_of_a_number_are_at_most_the_number(number):
    assert 0 < _short(number) <= number < _short(number) * (1 + Fraction(1, 2**38))


@pytest.mark.parametrize(
    ("n", "p"), [(2**110, Exp(Fraction(-20))), (2**128, Exp(Fraction(-40))), (2**128, Exp(Fraction(0), Fraction(1, 2)))]
)
def test_a_binomial_of_very_many_trials(n, p):
    """Within 10 standard deviations of the mean, which fails once in 10^22 times."""
    mean = float(n * p.ball(256))
    assert abs(SeededDraws(7).binomial(n, p) - mean) < 10 * mean**0.5


def test_only_the_operating_system_is_called_secure():
    assert SecureDraws().secure
    assert not SeededDraws(1).secure
    assert fresh_key() != fresh_key()
    assert len(fresh_key()) == 16


def test_rates_that_floats_cannot_hold_are_refused():
    with pytest.raises(ParameterError, match="epsilon"):
        Weights(np.array([1, 2]), Fraction(1, 2**1000))
    for factor in (Fraction(2**1000), Fraction(2**900), Fraction(1, 2**900)):
        with pytest.raises(ParameterError, match=r"factors must be between 2\^-900 and 2\^900, got a value outside"):
            Weights(np.array([1, 2]), Fraction(1), factors=[Fraction(1), factor])


def test_the_order_of_an_array_takes_no_other_path():
    """Its time would tell whether one user broke the order; groups with sizes stand in the order of their counting."""
    falling = np.arange(5000, dtype=np.int64)[::-1] * 10**6
    broken = falling.copy()
    broken[[7, 8]] = broken[[8, 7]]
    for scores in (falling, broken):
        near = nearest(Weights(scores, Fraction(1)), 3, MIN_FAR_EXPONENT)
        assert near.counts is not None
        assert near.weights.scores.tolist() == falling[:3].tolist()
    sizes = np.ones(5000, dtype=np.int64)
    assert nearest(Weights(falling, Fraction(1), sizes), 3, MIN_FAR_EXPONENT).groups is None


def test_no_pick_of_many_alike():
    """Permute-and-flip asks for none of those far away, nearly always."""
    assert SeededDraws(1).peel(Weights(np.zeros(20000, dtype=np.int64), Fraction(1)), 0) == []
