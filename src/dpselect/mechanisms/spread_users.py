"""Users spread evenly over the cells of their point, and one cut of a segment near a share of the users in it.

A point is cut into `cells` equal cells, and a user at it has the part 1 / cells of themselves in each. All masses are
whole numbers of such parts, all ranks whole numbers of parts of those: nothing is rounded. Proof:
docs/mechanisms/quantile.md.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from dpselect._ground.dataclass import dataclass
from dpselect._ground.reals import Exp
from dpselect.aggregates.value_counts import UsersAt
from dpselect.draws import Draws
from dpselect.draws.weights import Weights

if TYPE_CHECKING:
    import numpy.typing as npt

Integers: TypeAlias = "npt.NDArray[np.int64]"
Parts: TypeAlias = "npt.NDArray[np.int64] | npt.NDArray[np.object_]"

BEYOND = 20  # all candidates that are not near weigh at most e^-20 of the best one together
FINER = 4  # within a block the exponent changes by at most 1 / 4, but for the outermost
FITS = 2**61  # sums of a few such numbers fit into 64 bits


@dataclass(frozen=True, eq=False, repr=False)
class Spread:
    """The number of users whose value is below each cell, in parts of 1 / cells of a user."""

    indices: Integers
    before: Integers  # users below each index, and all of them at last
    cells: int

    @classmethod
    def from_users(cls, users: UsersAt, cells: int) -> Spread:
        """Spread users who are counted at the points of a grid."""
        return cls(users.indices, np.concatenate([[0], np.cumsum(users.users)]).astype(np.int64), cells)

    def below(self, cell: int) -> int:
        """Count the parts of users below a cell."""
        point, inside = divmod(cell, self.cells)
        i = int(np.searchsorted(self.indices, point))
        is_used = i < len(self.indices) and int(self.indices[i]) == point
        parts = inside * (int(self.before[i + 1]) - int(self.before[i])) if is_used else 0
        return int(self.before[i]) * self.cells + parts


@dataclass(frozen=True, eq=False, repr=False)
class CellRange:
    """The cells from start to before stop, in which the share r of the users is looked for.

    A candidate holds the cells of the segment from c grain to before (c + 1) grain: one cell, or all of a point. It
    misses by max(0, #users below it - target, target - #users below its end) and is drawn in proportion to
    exp(-rate miss). Some candidate misses by 0.
    """

    spread: Spread
    start: int
    stop: int
    r: Fraction
    rate: Fraction
    grain: int = 1

    def draw(self, draws: Draws) -> int:
        """Draw the cell that a candidate begins with; of a segment without cells, where it starts."""
        if self.start == self.stop:
            return self.start
        blocks = CandidateBlocks.cover(self)
        while True:
            candidate = blocks.propose(draws)
            if candidate is not None:
                return max(self.start, candidate * self.grain)

    @property
    def first(self) -> int:
        """The first candidate."""
        return self.start // self.grain

    @property
    def last(self) -> int:
        """The number after the last candidate."""
        return -(-self.stop // self.grain)

    @property
    def unit(self) -> int:
        """A miss is a multiple of 1 / unit users."""
        return self.r.denominator * self.spread.cells

    @property
    def target(self) -> int:
        """The users that are to lie below, those below the segment included, in units."""
        a, b = self.r.numerator, self.r.denominator
        return (b - a) * self.spread.below(self.start) + a * self.spread.below(self.stop)

    def below(self, candidate: int) -> int:
        """Count the parts of users below a candidate."""
        return self.spread.below(min(max(self.start, candidate * self.grain), self.stop))

    def miss(self, candidate: int) -> int:
        """Return by how many units one candidate misses."""
        b, target = self.r.denominator, self.target
        return max(0, b * self.below(candidate) - target, target - b * self.below(candidate + 1))


@dataclass(frozen=True, eq=False, repr=False)
class CandidateBlocks:
    """Blocks of candidates that follow one another and cover a segment, each with a miss that none in it is below.

    A candidate is proposed as if it had this miss, and accepted by the share of its weight in that.
    """

    segment: CellRange
    starts: Integers
    weights: Weights

    @classmethod
    def cover(cls, segment: CellRange) -> CandidateBlocks:
        """Cover a segment by small blocks around the rank, and one beyond them on either side."""
        whole_users, offset = divmod(segment.target, segment.unit)
        ends, parts = _ends(segment, whole_users)
        below = parts * segment.r.denominator  # in units, against the whole number of users
        least_misses = np.maximum(np.maximum(below[:-1] - offset, offset - below[1:]), 0)
        return cls(segment, ends[:-1], Weights(-least_misses, segment.rate / segment.unit, np.diff(ends)))

    def propose(self, draws: Draws) -> int | None:
        """Propose a candidate in proportion to its weight, or return None where one was refused."""
        block, member = draws.categorical(self.weights)
        candidate = int(self.starts[block]) + member
        excess = self.segment.miss(candidate) + int(self.weights.score(block))
        is_accepted = excess == 0 or draws.bernoulli(Exp(-self.weights.rate * excess))
        return candidate if is_accepted else None


def _ends(segment: CellRange, whole_users: int) -> tuple[Integers, Parts]:
    """Return where blocks begin and the last one ends, and the parts of users below, less those of `whole_users` users.

    Each point with users within reach of the rank, and each stretch without users, is a block of its own. A point with
    many users is cut into pieces where they are within reach.
    """
    spread, first, last = segment.spread, segment.first, segment.last
    cells, indices, users_before = spread.cells, spread.indices, spread.before
    candidates_per_point = cells // segment.grain  # candidates of a point
    reach = max(1, (Fraction(math.log(last - first) + BEYOND) / segment.rate).__ceil__())
    reach = min(reach, int(users_before[-1]) + 1)
    a = int(np.searchsorted(indices, first // candidates_per_point))
    b = int(np.searchsorted(indices, (last - 1) // candidates_per_point, side="right"))
    i = max(a, int(np.searchsorted(users_before, whole_users - reach, side="right")) - 1)
    j = max(i, min(b, int(np.searchsorted(users_before, whole_users + reach + 1))))
    inner_range = (
        first if i == a else int(indices[i]) * candidates_per_point,
        last if j == b else (int(indices[j - 1]) + 1) * candidates_per_point,
    )

    widest = max(abs(int(users_before[a]) - whole_users), abs(int(users_before[b]) - whole_users)) + 1
    kind = np.int64 if segment.unit * widest < FITS else object  # Python's own integers have no end
    points, below, counts = (
        indices[i:j],
        (users_before[i:j] - whole_users).astype(kind),
        np.diff(users_before[i : j + 1]),
    )
    outer = first, *inner_range, last
    end_arrays = [np.array(outer, dtype=np.int64), points * candidates_per_point, (points + 1) * candidates_per_point]
    parts = [np.array([segment.below(end) - whole_users * cells for end in outer], dtype=kind)]
    parts += [below * cells, (below + counts) * cells]
    for large_point in np.flatnonzero(counts > float(1 / (FINER * segment.rate))).tolist():
        count, base = int(counts[large_point]), int(below[large_point])
        pieces = min(candidates_per_point, 1 << (FINER * count * segment.rate).__ceil__().bit_length())
        first_piece, last_piece = (-reach - base) * pieces // count, -((base - reach - 1) * pieces // count)
        inner = np.arange(max(1, first_piece), min(pieces - 1, last_piece) + 1, dtype=np.int64)
        end_arrays.append(int(points[large_point]) * candidates_per_point + inner * (candidates_per_point // pieces))
        parts.append(base * cells + inner.astype(kind) * (cells // pieces) * count)
    ends, first_indices = np.unique(np.concatenate(end_arrays), return_index=True)
    inside = (ends >= first) & (ends <= last)
    return ends[inside], np.concatenate(parts)[first_indices][inside]
