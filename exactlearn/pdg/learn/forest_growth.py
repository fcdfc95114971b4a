"""Forests of variables from tests of independence (THESIS, Algorithms 4.11 and 4.12).

Independent variables go to different trees. A tree grows level by level: the variables still to
come below a leaf are tested pair by pair within the parts of the rows that the leaf's nodes and
states make in the graph learnt so far; each connected component of dependent variables gets a
branch, whose top is drawn at random. After each level the graph over the variables so far is
improved.

Pearson's statistic is summed over the parts (THESIS, 4.51), with the count that independence
within a part leads to expect, N_h N_l / N (4.52, as corrected). Degrees of freedom are parts x
(states - 1) x (states - 1), less one for each cell that no row has, but one at least: a logical
relation leaves many cells empty. Where there are fewer than five rows per parameter no test is
made, and the variables count as independent.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn._runtime.kernel import kernel
from exactlearn.pdg.learn.populated_graph import (
    CompleteRows,
    PopulatedGraph,
    populate,
    structure_of,
)
from exactlearn.pdg.learn.redirecting import SubtreeRows
from exactlearn.pdg.learn.structure_search import (
    DEFAULTS,
    StructureSearchParameters,
    improve,
)
from exactlearn.pdg.model.structure_score import StructureScore


def grow_forest(
    rows: CompleteRows,
    significance: float,
    score: StructureScore,
    rng: np.random.Generator,
    parameters: StructureSearchParameters = DEFAULTS,
    control: SearchControl = UNLIMITED,
) -> NDArray[np.int32]:
    """Return a forest of variables, as the parent of each.

    Parameters
    ----------
    rows
        Complete rows.
    significance
        Of the tests: more makes fewer and deeper trees; with 1 each tree is one chain while
        there are rows enough to test.
    score
        What the graphs over the variables so far are improved by.
    rng
        Draws the top of each branch.
    parameters
        Tuning constants.
    control
        Once it is over no other variable gets a parent.
    """
    return _Growth(rows, significance, score, rng, parameters, control).forest


class _Growth:
    def __init__(
        self,
        rows: CompleteRows,
        significance: float,
        score: StructureScore,
        rng: np.random.Generator,
        parameters: StructureSearchParameters,
        control: SearchControl,
    ) -> None:
        self._rows, self._significance, self._score, self._rng = rows, significance, score, rng
        self._parameters, self._control = parameters, control
        self.forest = np.full(len(rows.names), -1, np.int32)
        everything = list(range(len(rows.names)))
        for component in self._components(everything, np.zeros(len(rows.weights), np.int64)):
            self._grow_tree(component)

    def _grow_tree(self, component: list[int]) -> None:
        top, rest = self._drawn(component)
        below = {top: rest}
        inside = [top]
        populated = self._populated(inside, None)
        while any(below.values()) and not self._control.is_over:
            for leaf in sorted(v for v in below if below[v]):
                place = inside.index(leaf)
                parts = populated.reached[place] * len(self._rows.states[leaf])
                waiting = below.pop(leaf)
                for part in self._components(waiting, parts + self._rows.columns[leaf]):
                    child, rest = self._drawn(part)
                    self.forest[child] = leaf
                    below[child] = rest
            inside = [*inside, *sorted(v for v in below if v not in inside)]
            if any(below.values()):
                populated = self._populated(inside, populated)

    def _components(self, variables: Sequence[int], parts: NDArray[np.int64]) -> list[list[int]]:
        """Return the connected components of dependent variables, in variable order."""
        chosen = list(variables)
        dependent = dependence_graph(
            np.ascontiguousarray(self._rows.columns[chosen]),
            self._rows.weights,
            [len(self._rows.states[v]) for v in chosen],
            parts,
            self._significance,
            self._parameters.rows_per_parameter,
        )
        _, labels = connected_components(dependent, directed=False)
        found: dict[int, list[int]] = {}
        for variable, label in zip(chosen, labels.tolist(), strict=True):
            found.setdefault(label, []).append(variable)
        return list(found.values())

    def _drawn(self, variables: list[int]) -> tuple[int, list[int]]:
        top = variables[int(self._rng.integers(len(variables)))]
        return top, [v for v in variables if v != top]

    def _populated(self, inside: list[int], before: PopulatedGraph | None) -> PopulatedGraph:
        """Return the graph over some variables, the last ones new, improved from what it was."""
        place = {v: i for i, v in enumerate(inside)}
        parents = [place.get(int(self.forest[v]), -1) for v in inside]
        forest = np.array(parents, np.int32)
        rows = self._rows.over(tuple(inside))
        old = {} if before is None else structure_of(before.graph)
        children = [parents.count(i) for i in range(len(inside))]
        structure = {}
        for i in range(len(inside)):
            nodes = len(old[i]) if i in old else 1
            structure[i] = np.zeros((nodes, len(rows.states[i]), children[i]), np.int32)
            if i in old and old[i].shape[2] == children[i]:
                structure[i] = old[i]
        populated = populate(rows, forest, structure)
        subtrees = SubtreeRows(rows, forest)
        sweeps = self._parameters.growing_sweeps
        return improve(populated, rows, self._score, subtrees, sweeps, self._control)


def dependence_graph(
    columns: NDArray[np.int64],
    weights: NDArray[np.float64],
    cardinalities: Sequence[int],
    parts: NDArray[np.int64],
    significance: float,
    rows_per_parameter: float = DEFAULTS.rows_per_parameter,
) -> NDArray[np.bool_]:
    """Return which pairs of variables test as dependent, shape (variables, variables).

    Parameters
    ----------
    columns
        State numbers of the variables, shape (variables, rows).
    weights
        Of the rows, shape (rows,).
    cardinalities
        Number of states of each variable.
    parts
        The part of each row, shape (rows,).
    significance
        Pairs are dependent when independence leads to such a statistic with at most this
        probability.
    rows_per_parameter
        Rows per degree of freedom without which a pair counts as independent.
    """
    from scipy.stats import chi2  # takes long to import

    r = np.asarray(cardinalities, np.int64)
    used = np.unique(parts, return_inverse=True)
    n_parts = len(used[0])
    statistics, empty = pair_statistics(columns, weights, r, used[1].astype(np.int64), n_parts)
    freedom = n_parts * np.multiply.outer(r - 1, r - 1)
    enough = (weights.sum() >= rows_per_parameter * freedom) & (freedom > 0)
    probability = np.where(enough, chi2.sf(statistics, np.maximum(freedom - empty, 1)), np.inf)
    np.fill_diagonal(probability, np.inf)
    dependent: NDArray[np.bool_] = probability <= significance
    return dependent


@kernel
def pair_statistics(
    columns: NDArray[np.int64],
    weights: NDArray[np.float64],
    cardinalities: NDArray[np.int64],
    parts: NDArray[np.int64],
    n_parts: int,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return Pearson's statistic of each pair of variables, and how many cells are empty.

    Both of shape (variables, variables), symmetric.
    """
    n = len(columns)
    statistics = np.zeros((n, n))
    empty = np.zeros((n, n), np.int64)
    widest = cardinalities.max()
    table = np.empty((n_parts, widest, widest))
    row_sums, column_sums = np.empty(widest), np.empty(widest)
    for i in range(n):
        for j in range(i):
            ri, rj = cardinalities[i], cardinalities[j]
            # Count the pair's states in each part.
            table[:] = 0.0
            for d in range(len(weights)):
                table[parts[d], columns[i, d], columns[j, d]] += weights[d]
            # Compare each part's counts with those that independence leads to expect.
            for b in range(n_parts):
                row_sums[:] = 0.0
                column_sums[:] = 0.0
                total = 0.0
                for h in range(ri):
                    for k in range(rj):
                        row_sums[h] += table[b, h, k]
                        column_sums[k] += table[b, h, k]
                        total += table[b, h, k]
                        if table[b, h, k] == 0.0:
                            empty[i, j] += 1
                for h in range(ri):
                    for k in range(rj):
                        expected = row_sums[h] * column_sums[k] / total
                        if expected > 0.0:
                            statistics[i, j] += (table[b, h, k] - expected) ** 2 / expected
            statistics[j, i] = statistics[i, j]
            empty[j, i] = empty[i, j]
    return statistics, empty
