"""Forests of variables grown by tests of independence (THESIS, Algorithms 4.11 and 4.12).

Dependent variables are connected; each connected component becomes a tree, whose root is drawn. A
tree grows by levels: the variables that wait below a leaf X are tested again, given the node of X
that a row reaches and its state of X, in a decision graph learned over the variables placed so far;
and each component becomes a branch below X. The statistic of a pair is Pearson's, summed over the
parts B of the rows (4.51), with the counts expected under independence (4.52, as corrected)

    E[N_hl] = N_h+ N_+l / N.

Independence of logical relations such as parity, or of neighbours as in Logic3, shows in no pair:
there every variable becomes a tree of its own.
"""

from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from scipy.special import chdtrc

from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn.data.dataset import Dataset
from exactlearn.pdg.learn.edge_counts import StructureScore
from exactlearn.pdg.learn.structure_search import best_improved, first_structures
from exactlearn.pdg.model.decision_graph import DecisionGraph

MIN_ROWS_PER_PARAMETER = 5
"""Rows per degree of freedom below which a pair counts as independent, untested (THESIS, 4.5.1)."""


def grown_forest(
    rows: Dataset,
    significance: float,
    score: StructureScore,
    rng: np.random.Generator,
    control: SearchControl = UNLIMITED,
) -> NDArray[np.int32]:
    """Return a forest grown by tests of independence, as the parent of each variable.

    Parameters
    ----------
    rows
        Complete rows, possibly weighted.
    significance
        Level of the tests: a higher one gives fewer and deeper trees.
    score
        S(lambda) of the graphs over the variables placed so far.
    rng
        Draws the root of each component.
    control
        Once it is over, the variables that wait become roots.
    """
    forest = np.full(rows.n_variables, -1, np.int32)
    waiting: dict[int, NDArray[np.int64]] = {}  # below each variable placed so far

    def branch(
        parent: int,
        variables: NDArray[np.int64],
        parts: NDArray[np.int64],
    ) -> None:
        """Place the root of each component below a variable, or as the root of a tree."""
        for component in dependent_components(
            rows,
            variables,
            parts,
            significance,
            control,
        ):
            root = int(rng.choice(component))
            forest[root] = parent
            waiting[root] = component[component != root]

    branch(-1, np.arange(rows.n_variables), np.zeros(rows.n_rows, np.int64))
    while any(map(len, waiting.values())) and not control.is_over:
        # Variables that wait are independent of all others in the graph so far.
        structures = first_structures(rows, forest)
        graph = best_improved(rows, forest, score, structures, control).graph
        reached = reached_nodes(graph, rows.codes)
        for leaf in list(waiting):
            first_cells = reached[leaf] * len(rows.states[leaf])
            parts = first_cells + rows.codes[:, leaf]
            branch(leaf, waiting[leaf], parts)
            waiting[leaf] = np.empty(0, np.int64)
    return forest


def reached_nodes(
    graph: DecisionGraph, codes: NDArray[np.integer]
) -> dict[int, NDArray[np.int64]]:
    """Return the node of each variable that each complete row reaches, by its place there."""
    reached: dict[int, NDArray[np.int64]] = {}
    for v in graph.order.tolist():
        parent = int(graph.forest[v])
        if parent < 0:
            reached[v] = np.zeros(len(codes), np.int64)
        else:
            heads = graph.edges_into(v).astype(np.int64)
            reached[v] = heads[reached[parent], codes[:, parent]]
    return reached


def dependent_components(
    rows: Dataset,
    variables: NDArray[np.int64],
    parts: NDArray[np.int64],
    significance: float,
    control: SearchControl = UNLIMITED,
) -> list[NDArray[np.int64]]:
    """Return the connected components of some variables, joined where a pair tests as dependent.

    Parameters
    ----------
    parts
        The part of each row, given which pairs are tested, shape (rows,).
    """
    part_of_row = np.unique(parts, return_inverse=True)[1]
    dependent = np.zeros((len(variables), len(variables)), np.bool_)
    for i, j in combinations(range(len(variables)), 2):
        if control.is_over:
            break
        pair = variables[[i, j]]
        shape = (part_of_row.max() + 1, *rows.cardinalities[pair])
        cells = np.ravel_multi_index((part_of_row, *rows.codes[:, pair].T), shape)
        counts = np.bincount(cells, rows.row_weights, np.prod(shape)).reshape(shape)
        dependent[i, j] = are_dependent(counts, significance)
    n_components, labels = connected_components(dependent, directed=False)
    return [variables[labels == component] for component in range(n_components)]


def are_dependent(counts: NDArray[np.float64], significance: float) -> bool:
    """Return whether two variables test as dependent within the parts of the rows.

    Parameters
    ----------
    counts
        Weight of the rows of each part with each pair of states, shape (parts, states, states).
    significance
        Largest probability of such a statistic under independence at which they are dependent.
    """
    n_parts, r, s = counts.shape
    freedom = n_parts * (r - 1) * (s - 1)
    n_rows = counts.sum()
    if n_rows < MIN_ROWS_PER_PARAMETER * freedom:
        return False
    # (4.51) is the sum of N_hl^2 / E[N_hl], less the weight of all rows.
    squares = counts**2 * counts.sum(axis=(1, 2), keepdims=True)
    products = counts.sum(axis=2, keepdims=True) * counts.sum(axis=1, keepdims=True)
    ratios = np.divide(
        squares,
        products,
        out=np.zeros_like(products),
        where=products > 0,
    )
    # one degree of freedom less for each cell without rows
    freedom = max(freedom - np.count_nonzero(counts == 0), 1)
    statistic = max(ratios.sum() - n_rows, 0.0)
    p_value = chdtrc(freedom, statistic)
    return bool(p_value <= significance)
