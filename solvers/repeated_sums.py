"""Sums over all DAGs of many problems with the same few variables, one after the other.

The formulas and kernels are those of :mod:`exactlearn.solvers.sums`, here in one call for all
problems, without a look at the clock, and with all variables as one part.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import kernel

from .posterior import parents_as_bits
from .problem import Problem
from .sum_kernels import (
    POWERS,
    ParentSums,
    Scratch,
    SetSums,
    add_probabilities,
    extend,
    find_heaviest,
    no_sums,
    note_non_descendants,
    power_of_two,
    scratch_space,
    spread,
    sum_inside,
)
from .sums import split_weights


class RepeatedSums(NamedTuple):
    """Sums over all DAGs of some problems.

    Attributes
    ----------
    log_sums
        Logarithm of the sum of each problem, shape (problems,).
    candidates
        Probability of each candidate, shape (problems, m).
    non_descendants
        Probability that a set are all variables that do not descend from a variable, shape
        (problems, n, 2 ** (n - 1)).
    """

    log_sums: NDArray[np.float64]
    candidates: NDArray[np.float64]
    non_descendants: NDArray[np.float64]


def sum_problems(problem: Problem, scores: NDArray[np.float64]) -> RepeatedSums:
    """Sum over all DAGs of problems that differ in their scores.

    Parameters
    ----------
    problem
        The candidates, all of which are allowed.
    scores
        Their scores in each problem, shape (problems, m).

    Examples
    --------
    >>> problem = Problem.from_candidates(["a", "b"], [{(): 0.0, (1,): 0.0}, {(): 0.0, (0,): 0.0}])
    >>> sums = sum_problems(problem, np.log([[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 2.0]]))
    >>> np.exp(sums.log_sums).round(3).tolist(), sums.candidates[1].tolist()
    ([3.0, 4.0], [0.75, 0.25, 0.5, 0.5])
    """
    n = problem.n_variables
    n_problems, n_candidates = scores.shape
    shape = (n, 1 << (n - 1))
    exponent = np.zeros(1 << n, np.int64)
    result = RepeatedSums(
        log_sums=np.zeros(n_problems),
        candidates=np.zeros((n_problems, n_candidates)),
        non_descendants=np.zeros((n_problems, *shape)),
    )
    _sum_problems(
        problem.first,
        parents_as_bits(problem, np.arange(n)),
        *split_weights(scores),
        ParentSums(np.zeros(shape), np.zeros(shape), np.zeros(shape, np.int64)),
        no_sums(exponent),
        no_sums(exponent.copy()),
        scratch_space(n),
        POWERS,
        result,
    )
    return result


@kernel
def _sum_problems(
    first: NDArray[np.int64],
    parents: NDArray[np.int64],
    mantissa: NDArray[np.float64],
    exponent: NDArray[np.int64],
    sums: ParentSums,
    inner: SetSums,
    outer: SetSums,
    scratch: Scratch,
    powers: NDArray[np.float64],
    result: RepeatedSums,
) -> None:
    """Fill in the result, for the weights of candidates, shape (problems, m)."""
    n = len(sums.high)
    sets = np.arange(len(inner.high))
    last = len(sets) - 1
    descending = np.arange(last - 1, -1, -1)
    only_root = np.zeros((last, n))
    begin = first[:-1]
    end = first[1:]
    outer.high[last] = 1.0
    for k in range(len(mantissa)):
        sum_inside(begin, end, parents, mantissa[k], exponent[k], sums, powers)
        find_heaviest(sums.exponent, inner.exponent, outer.exponent)
        # the DAGs on each set: it is complete before its supersets, which are larger numbers
        inner.high[:] = 0.0
        inner.low[:] = 0.0
        inner.error[:] = 0.0
        inner.high[0] = 1.0
        spread(sets, sums, inner, inner, powers, scratch)
        total = inner.high[last]
        log_scale = inner.exponent[last] * np.log(2.0)
        result.log_sums[k] = np.log(total) + log_scale
        # its extensions, and both as a proportion of all DAGs
        extend(descending, sums, outer, powers, scratch, only_root)
        for s in range(last):
            shift = inner.exponent[s] + outer.exponent[s] - inner.exponent[last]
            inner.high[s] *= power_of_two(shift, powers) / total
        slopes = result.non_descendants[k]
        note_non_descendants(descending, only_root, inner.high, slopes)
        add_probabilities(
            begin,
            end,
            parents,
            mantissa[k],
            exponent[k],
            sums.exponent,
            slopes.copy(),
            powers,
            result.candidates[k],
        )
        slopes *= sums.high
