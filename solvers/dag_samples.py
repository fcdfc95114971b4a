"""Exact and independent samples of DAGs, from the sums over them.

A DAG is drawn layer by layer: its roots, then the roots of what is left, and so on (Talvitie,
Vuoksenmaa and Koivisto 2019, "Exact sampling of directed acyclic graphs from modular
distributions"). Let ``S`` be placed, ``S'`` what was placed before the last layer, and ``T`` range
over sets beyond ``S``. The next layer is ``R`` with a weight of ::

    sum over T that hold R of (-1)^|T - R| prod_{i in R} (A_i(S) - A_i(S'))
                              prod_{i in T - R} A_i(S) outer(S + T)

where ``outer`` and ``A`` are those of :mod:`exactlearn.solvers.sums`: each member of the layer has
a parent in the layer before, and nobody else may stand in this one. Its members are decided on one
after the other, each by the weight of all layers that hold it, given the decisions before.
"""

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn._runtime.kernel import in_place_kernel

from .double_double import subtract_multiple
from .parent_set_sums import POWERS, ParentSums, power_of_two, squeezed
from .posterior import SelectionPosterior
from .sum_kernels import (
    Scratch,
    SetSums,
    copy_terms,
    gather_terms,
    list_supersets,
    look_beyond,
    scratch_space,
)


def sample_selections(
    posterior: SelectionPosterior,
    n_samples: int,
    rng: np.random.Generator,
    control: SearchControl = UNLIMITED,
) -> NDArray[np.int64]:
    """Draw acyclic selections by their posterior probability.

    Parameters
    ----------
    posterior
        The sums over all DAGs.
    n_samples
        How many to draw.
    rng
        What draws.
    control
        The clock: fewer are drawn when it ends.

    Returns
    -------
    ndarray of shape (n_samples, n_variables)
        The candidate of each variable.
    """
    drawn = np.zeros((n_samples, posterior.problem.n_variables), np.int64)
    spaces = [scratch_space(part.n_variables) for part in posterior.parts]
    for sample in range(n_samples):
        if not control.goes_on():
            return drawn[:sample]
        for part, scratch in zip(posterior.parts, spaces, strict=True):
            n = part.n_variables
            candidates = np.zeros(n, np.int64)
            draw_dag(
                part.first[:-1],
                part.first[1:],
                part.parents,
                part.mantissa,
                part.exponent,
                part.sums.parent_sums,
                part.sums.outer,
                POWERS,
                rng.random((n + 1, n)),  # for each layer, and for the parent sets
                scratch,
                candidates,
            )
            drawn[sample, part.variables] = part.candidate[candidates]
    return drawn


@in_place_kernel
def draw_dag(
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    parents: NDArray[np.int64],
    mantissa: NDArray[np.float64],
    exponent: NDArray[np.int64],
    sums: ParentSums,
    outer: SetSums,
    powers: NDArray[np.float64],
    uniform: NDArray[np.float64],
    scratch: Scratch,
    selection: NDArray[np.int64],
) -> None:
    """Draw one DAG: the candidate of each variable, between where its candidates begin and end."""
    n = len(selection)
    before = -1
    placed = 0
    n_layers = 0
    while placed != (1 << n) - 1:
        layer = _draw_layer(
            before, placed, sums, outer, powers, uniform[n_layers], scratch
        )
        n_layers += 1
        for i in range(n):
            if (layer >> i) & 1:
                selection[i] = _draw_parent_set(
                    begin[i],
                    end[i],
                    before,
                    placed,
                    parents,
                    mantissa,
                    exponent,
                    powers,
                    uniform[n, i],
                )
        before = placed
        placed |= layer


@in_place_kernel
def _draw_layer(
    before: int,
    placed: int,
    sums: ParentSums,
    outer: SetSums,
    powers: NDArray[np.float64],
    uniform: NDArray[np.float64],
    scratch: Scratch,
) -> int:
    """Return the next layer as bits; ``before`` is negative for the first one."""
    n_beyond = look_beyond(placed, sums, scratch)
    # outer(S + T), relative to the weights of T, in one block
    list_supersets(placed, -outer.exponent[placed], n_beyond, n_beyond, scratch)
    gather_terms(0, 1 << n_beyond, 0, 0.0, outer, powers, scratch)
    _look_back(before, n_beyond, sums, powers, scratch)
    high = scratch.high
    low = scratch.low
    layer = 0
    for j in range(n_beyond - 1, -1, -1):
        half = 1 << j
        factor = scratch.factor[j]
        factor_low = scratch.factor_low[j]
        # all layers with the variable: terms that hold it
        copy_terms(high, low, half, half, scratch)
        new_parents = factor - scratch.earlier[j]
        new_parents += factor_low - scratch.earlier_low[j]
        weight_inside = _sum_of_layers(j, scratch) * new_parents
        # all layers without it: it stands in T only
        subtract_multiple(high, low, half, factor, factor_low)
        copy_terms(high, low, 0, half, scratch)
        weight_outside = _sum_of_layers(j, scratch)
        threshold = uniform[j] * (max(weight_inside, 0.0) + max(weight_outside, 0.0))
        if threshold < weight_inside:
            layer |= 1 << scratch.variable[j]
            for t in range(half):
                high[t] = high[half + t]
                low[t] = low[half + t]
    return layer


@in_place_kernel
def _look_back(
    before: int,
    n_beyond: int,
    sums: ParentSums,
    powers: NDArray[np.float64],
    scratch: Scratch,
) -> None:
    """Note ``A_i(S')``, relative to the scale of ``A_i(S)``, of the variables beyond S."""
    for j in range(n_beyond):
        scratch.earlier[j] = 0.0
        scratch.earlier_low[j] = 0.0
        if before >= 0:
            i = scratch.variable[j]
            at = squeezed(before, i)
            scale = power_of_two(sums.exponent[i, at] - scratch.exponent[j], powers)
            scratch.earlier[j] = sums.high[i, at] * scale
            scratch.earlier_low[j] = sums.low[i, at] * scale


@in_place_kernel
def _sum_of_layers(n_undecided: int, scratch: Scratch) -> float:
    """Return the weight of all layers that agree with the decisions so far.

    An undecided variable is in the layer or not; together, it has no parent set inside S' only.
    """
    for k in range(n_undecided - 1, -1, -1):
        subtract_multiple(
            scratch.part_high,
            scratch.part_low,
            1 << k,
            scratch.earlier[k],
            scratch.earlier_low[k],
        )
    return float(scratch.part_high[0])


@in_place_kernel
def _draw_parent_set(
    begin: int,
    end: int,
    before: int,
    placed: int,
    parents: NDArray[np.int64],
    mantissa: NDArray[np.float64],
    exponent: NDArray[np.int64],
    powers: NDArray[np.float64],
    uniform: float,
) -> int:
    """Return one of the candidates with all parents placed, and a parent in the last layer."""
    # the largest exponent of those candidates, which weights are relative to
    largest = np.int64(-1 << 62)
    for c in range(begin, end):
        if is_next(parents[c], before, placed):
            largest = max(largest, exponent[c])
    total = 0.0
    for c in range(begin, end):
        if is_next(parents[c], before, placed):
            total += mantissa[c] * power_of_two(exponent[c] - largest, powers)
    threshold = uniform * total
    total = 0.0
    drawn = -1
    for c in range(begin, end):
        if is_next(parents[c], before, placed) and (drawn < 0 or total <= threshold):
            total += mantissa[c] * power_of_two(exponent[c] - largest, powers)
            drawn = c
    return drawn


@in_place_kernel
def is_next(parents: int, before: int, placed: int) -> bool:
    """Return whether a parent set is placed, but was not before the last layer."""
    is_placed = parents & ~placed == 0
    return is_placed and (before < 0 or parents & ~before != 0)
