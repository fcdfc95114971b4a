"""The functions of counts that make up a score, tabulated for kernels: none knows which score.

A cell with ``n`` rows of a table over a set of ``m`` configurations adds ``f(n)`` to the score of a
family with ``r`` states and ``q = m / r`` parent configurations; as a parent configuration, with
``q = m``, it takes away ``g(n)``. So what a set of variables has a say in are sums over its table,
one for each *form* of function: that of a cell or of a configuration, for each number of states of
the child. Forms that agree at a sample of counts and sizes are one: BDeu and the likelihood scores
have one form, K2 one for cells and one for the configurations of each number of states. The score
of child ``x`` with parents ``P`` is then ``F(P + x) - G(P) - penalty``, and one table over
``k + 1`` variables serves its ``k + 1`` families.

Values are tabulated at whole counts up to a length, and beyond it, or between whole counts, by
Chebyshev polynomials on intervals ``[2^i, 2^(i+1)]``, to about 15 digits (Trefethen 2019,
"Approximation theory and approximation practice", theorem 8.2: the functions are analytic but for
``n <= 0``, which is farther away than the interval is long). An empty cell has value 0.
"""

import math
from collections.abc import Sequence
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import in_place_kernel
from exactlearn.errors import OptionError
from exactlearn.scoring.properties import Domain, properties
from exactlearn.scoring.scores import (
    Counts,
    Score,
    cell_terms,
    configuration_terms,
    size_penalty,
)

DEGREE = 20
"""Degree of the polynomial on each interval."""
SMALLEST = -50
"""Below two to this power functions are taken to be linear; only rounding leaves such counts."""
LEAST_LENGTH = 2**10
MOST_VALUES = 2**20
"""Least values at whole counts of each function, and most of all together, 8 bytes each."""
ROUGH = 1e-7
"""Share of a function's values in the highest polynomials from which on it is not smooth."""

NOISE = 1e-11
"""Absolute difference that may be rounding."""


class Functions(NamedTuple):
    """Functions of counts.

    Attributes
    ----------
    table
        Values at 0, 1, ..., ``length - 1``, then the Chebyshev coefficients on each interval
        ``[2^(lowest + i), 2^(lowest + i + 1)]``, shape (functions, length + intervals * (degree +
        1)). One array, because kernels count references to each that they hand on.
    length, lowest
        Number of values, and exponent of the first interval.
    """

    table: NDArray[np.float64]
    length: int
    lowest: int


class Terms(NamedTuple):
    """A score, tabulated for sets of some sizes.

    Attributes
    ----------
    functions
        The functions of counts.
    sizes
        Numbers of configurations of sets, increasing, shape (sizes,).
    function
        The function of each size and form, shape (sizes, forms).
    cell, configuration
        The form of a cell and of a parent configuration, by the child's number of states.
    penalty, least_penalty
        Penalty of a family over a set of each size, and at least that of its supersets, by size
        and the child's number of states.
    rate
        What each distinct cell adds at most to a family and its supersets, by the child's number
        of states; infinite where nothing is known.
    has_entropy, has_penalty
        Whether the score is a multiple of the log-likelihood less a multiple of the size, and
        whether there is a penalty at all.
    """

    functions: Functions
    sizes: NDArray[np.float64]
    function: NDArray[np.int64]
    cell: NDArray[np.int64]
    configuration: NDArray[np.int64]
    penalty: NDArray[np.float64]
    least_penalty: NDArray[np.float64]
    rate: NDArray[np.float64]
    has_entropy: bool
    has_penalty: bool

    def places(self, sizes: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the places of sizes that are tabulated, products that may be rounded."""
        places: NDArray[np.int64] = np.searchsorted(self.sizes, sizes * (1 - 1e-14))
        return np.minimum(places, len(self.sizes) - 1)


@in_place_kernel
def value(functions: Functions, i: int, n: float) -> float:
    """Return the value of function ``i`` at a count."""
    whole = int(n)
    if whole == n and 0 <= whole < functions.length:
        return float(functions.table[i, whole])
    return interpolated(functions, i, n)


@in_place_kernel
def rise(
    functions: Functions,
    i: int,
    n: float,
    w: float,
) -> float:
    """Return by how much function ``i`` rises from a count of ``n`` to ``n + w``."""
    return value(functions, i, n + w) - value(functions, i, n)


@in_place_kernel
def interpolated(functions: Functions, i: int, n: float) -> float:
    """Return the value of function ``i`` at a positive count by its polynomials; 0 at others."""
    # Linear from 0 to the first interval.
    smallest = math.ldexp(1.0, functions.lowest)
    fraction = min(1.0, max(0.0, n / smallest))
    n = max(n, smallest)
    intervals = (functions.table.shape[1] - functions.length) // (DEGREE + 1)
    # The count's interval, and its place there from -1 to 1.
    exponent = math.frexp(n)[1] - 1
    interval = min(exponent - functions.lowest, intervals - 1)
    in_units_of_start = math.ldexp(n, -(functions.lowest + interval))
    x = 2.0 * in_units_of_start - 3.0
    # The recurrence of Clenshaw, from the highest coefficient down.
    first = functions.length + interval * (DEGREE + 1)
    high = 0.0
    low = 0.0
    for k in range(DEGREE, 0, -1):
        coefficient = functions.table[i, first + k]
        sum_from_k = coefficient + 2.0 * x * high - low
        low = high
        high = sum_from_k
    polynomial = functions.table[i, first] + x * high - low
    return float(fraction * polynomial)


class Form(NamedTuple):
    """A function of counts for tables of any size: of cells, or of parent configurations.

    Parameters
    ----------
    of_cells
        Which of the two.
    states
        Number of states of the child.
    """

    of_cells: bool
    states: int

    def fits(self, size: float) -> bool:
        """Return whether a child with that number of states can be in a set of this size."""
        return not self.of_cells or size % self.states == 0 or size > 2.0**53

    def __call__(self, score: Score, counts: Counts, size: float) -> Counts:
        """Return the values at counts in a table of that size."""
        if self.of_cells:
            return cell_terms(score, counts, self.states, size / self.states)
        return configuration_terms(score, counts, self.states, size)


_LOCK = Lock()
"""Held by the thread that tabulates."""


def same(a: Counts, b: Counts) -> bool:
    """Return whether values of functions agree but for rounding."""
    return bool(np.allclose(a, b, rtol=1e-12, atol=1e-12))


class TermTables:
    """The functions of a score for one table of data, tabulated as sizes of sets turn up.

    Parameters
    ----------
    score
        The score.
    cardinalities
        Numbers of states of the variables.
    weights
        Weights of the rows.
    n_sizes
        How many sizes to expect, about.
    is_expected
        Whether counts are expected ones, and not whole where weights are.
    """

    def __init__(
        self,
        score: Score,
        cardinalities: NDArray[np.int64],
        weights: NDArray[np.float64],
        *,
        n_sizes: int = 1,
        is_expected: bool = False,
    ) -> None:
        self.score = score
        self.domain = Domain.of(cardinalities, weights)
        if is_expected:
            self.domain = self.domain._replace(is_whole=False)
        states, total, is_whole = self.domain
        # Forms that agree at a sample of counts are one.
        probe = [1.0, 2.0, 3.0, 5.0, 17.0, total]
        if not is_whole:
            probe.append(0.4)
        self._probe = np.unique(np.minimum(probe, max(1.0, total)))
        self.forms: list[list[Form]] = []
        for of_cells in (True, False):
            for r in states:
                self._sort_in(Form(of_cells, r))
        self._varies = [self._depends_on_size(form[0]) for form in self.forms]
        # The more functions there are, the fewer of their values are tabulated.
        expected = sum(n_sizes if varies else 1 for varies in self._varies)
        self._points = _Points.of(self.domain, expected)
        self._constant: dict[int, int] = {}
        self._terms = self._empty()
        self._terms = self._extended(np.ones(1))

    def covering(self, sizes: Sequence[float] | NDArray[np.float64]) -> Terms:
        """Return the tabulated score, for these sizes of sets and those asked for before."""
        requested = np.ravel(np.asarray(sizes, np.float64))
        # Sizes that no set had so far; tables once made stay as they are.
        terms = self._terms
        nearest = terms.sizes[terms.places(requested)]
        new = requested[nearest != requested]
        if len(new):
            with _LOCK:
                new = np.setdiff1d(new, self._terms.sizes)
                self._terms = self._extended(new)
        return self._terms

    def _sort_in(self, form: Form) -> None:
        """Put a form to those that agree with it."""
        for forms in self.forms:
            if self._agree(form, forms[0]):
                forms.append(form)
                return
        self.forms.append([form])

    def _agree(self, form: Form, second: Form) -> bool:
        """Return whether two forms agree in tables of some sizes that both fit."""
        # Sizes that both numbers of states divide.
        common = float(math.lcm(form.states, second.states))
        return all(
            same(self._values(form, size), self._values(second, size))
            for size in (common, 2 * common, 6 * common)
        )

    def _values(self, form: Form, size: float) -> Counts:
        """Return the values of a form at the sample of counts in a table of that size."""
        return form(self.score, self._probe, size)

    def _depends_on_size(self, form: Form) -> bool:
        smallest = self._values(form, float(form.states))
        sizes = form.states * np.array([2.0, 6.0, 64.0])
        return not all(
            same(smallest, self._values(form, size)) for size in sizes.tolist()
        )

    def _empty(self) -> Terms:
        """Return the score before any size is tabulated."""
        checked = properties(self.score, self.domain)
        states = self.domain.states
        points = self._points
        width = states[-1] + 1
        cell = np.zeros(width, np.int64)
        configuration = np.zeros(width, np.int64)
        # A form is found by what it is of, and by the number of states of the child.
        for number, forms in enumerate(self.forms):
            for form in forms:
                numbers = cell if form.of_cells else configuration
                numbers[form.states] = number
        # Bounds for each number of states of a child, from the checked properties.
        rate = np.zeros(width)
        rate[list(states)] = [checked.rates[r] for r in states]
        table = np.zeros((0, points.length + len(points.nodes)))
        return Terms(
            functions=Functions(table, points.length, points.lowest),
            sizes=np.zeros(0),
            function=np.zeros((0, len(self.forms)), np.int64),
            cell=cell,
            configuration=configuration,
            penalty=np.zeros((0, width)),
            least_penalty=np.zeros((0, width)),
            rate=rate,
            has_entropy=checked.has_entropy,
            has_penalty=checked.has_penalty,
        )

    def _extended(self, new: NDArray[np.float64]) -> Terms:
        """Return the tabulated score for new sizes as well."""
        old = self._terms
        rows = [old.functions.table]
        count = len(old.functions.table)
        function = np.zeros((len(new), len(self.forms)), np.int64)
        # A form that does not depend on the size has one function for all.
        for i, size in enumerate(new.tolist()):
            for j, forms in enumerate(self.forms):
                fitting = [form for form in forms if form.fits(size)]
                if not self._varies[j] and j in self._constant:
                    function[i, j] = self._constant[j]
                elif fitting:
                    rows.append(self._tabulated(fitting[0], size)[None, :])
                    function[i, j] = self._constant[j] = count
                    count += 1
        # Sizes are kept in increasing order, for the binary search.
        sizes = np.concatenate([old.sizes, new])
        order = np.argsort(sizes)
        penalty, least_penalty = self._penalties(new)
        return old._replace(
            functions=old.functions._replace(table=np.concatenate(rows)),
            sizes=sizes[order],
            function=np.concatenate([old.function, function])[order],
            penalty=np.concatenate([old.penalty, penalty])[order],
            least_penalty=np.concatenate([old.least_penalty, least_penalty])[order],
        )

    def _tabulated(self, form: Form, size: float) -> NDArray[np.float64]:
        """Return a function's values and then its coefficients.

        Raises
        ------
        OptionError
            When the function is not smooth on some interval: its highest coefficients are large.
        """
        points = self._points
        # Values at whole counts, then Chebyshev coefficients for those between.
        at_whole = form(self.score, np.arange(points.length, dtype=np.float64), size)
        at_nodes = form(self.score, points.nodes, size).reshape(-1, DEGREE + 1)
        polynomials = at_nodes @ _TRANSFORM
        # Coefficients of a smooth function fade: the last three must be noise.
        highest = np.abs(polynomials[:, -3:]).max(axis=1)
        largest_value = np.abs(at_nodes).max(axis=1)
        rough = highest > ROUGH * largest_value + NOISE
        if rough.any():
            nodes = points.nodes.reshape(at_nodes.shape)
            count = float(nodes[rough.argmax()].mean())
            name = "cell" if form.of_cells else "configuration"
            raise OptionError(
                f"score {self.score.name!r}: {name}(counts, r={form.states}, q) is not smooth at "
                f"counts about {count:g}, where it is interpolated; it must accept any real counts"
            )
        return np.concatenate([at_whole, polynomials.ravel()])

    def _penalties(
        self, sizes: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the penalties of families over sets of some sizes, and of their supersets."""
        states, total, _ = self.domain
        shape = len(sizes), states[-1] + 1
        penalty = np.full(shape, np.nan)
        least_penalty = np.full(shape, np.nan)
        for i, size in enumerate(sizes.tolist()):
            for r in states:
                if Form(True, r).fits(size):
                    q = size / r
                    penalty[i, r] = size_penalty(self.score, r, q, total)
                    # A superset has one more parent, of at least the fewest states.
                    least_penalty[i, r] = size_penalty(
                        self.score,
                        r,
                        q * states[0],
                        total,
                    )
        return penalty, least_penalty


class _Points(NamedTuple):
    """Where functions are evaluated: at whole counts below a length, and at nodes of intervals."""

    length: int
    nodes: NDArray[np.float64]
    lowest: int

    @classmethod
    def of(cls, domain: Domain, n_functions: int) -> "_Points":
        """Choose where so many functions are tabulated and where they are interpolated."""
        total = domain.total
        length = 1
        lowest = SMALLEST
        if domain.is_whole:
            most_values = max(LEAST_LENGTH, MOST_VALUES // n_functions)
            length = int(min(total + 1, most_values))
            lowest = math.frexp(length)[1] - 1
        # Intervals double; they begin after the values and end with all rows.
        end = lowest
        if total >= length or lowest < 0:
            end = max(math.frexp(total)[1], lowest + 1)
        starts = np.ldexp(1.0, np.arange(lowest, end))
        # Chebyshev nodes of [-1, 1], moved to [start, 2 start].
        nodes = starts[:, None] * (_NODES + 3) / 2
        return cls(length, nodes.ravel(), lowest)


_NUMBERS = np.arange(DEGREE + 1)
_ANGLES = (_NUMBERS + 0.5) * (np.pi / (DEGREE + 1))
_NODES = np.cos(_ANGLES)
_COEFFICIENT_WEIGHTS = np.where(_NUMBERS > 0, 2.0, 1.0) / (DEGREE + 1)
_TRANSFORM = np.cos(np.outer(_ANGLES, _NUMBERS)) * _COEFFICIENT_WEIGHTS
"""From values at the nodes to Chebyshev coefficients, shape (degree + 1, degree + 1)."""
