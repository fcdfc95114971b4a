r"""Separators: fully observed variables that the missingness indicators of a family depend on.

Given a set :math:`W_o` of fully observed variables with
:math:`Y_m \perp R_{Y_m} \mid Y_o, W_o`, informed deletion needs no other variables than these
(Van den Broeck, Mohan, Choi, Darwiche and Pearl, "Efficient algorithms for Bayesian network
parameter learning from incomplete data", section 3 and appendix B). They are given, one set for all
families, or come from a missingness graph: the causes of the indicators of :math:`Y_m`, and of the
indicators that these depend on; or they are learned from the table.

Learned separators of an indicator R_v are chosen by forward selection: from the empty set, add the
variable that raises the most

.. math:: \sum_{w, s} N_{ws} \log \frac{N_{ws}}{N_w} - \frac{\log N}{2} \, q ,

the BIC of R_v, with N_ws the weight of the rows in which the separators have the configuration w
and the indicator the state s, and q the number of configurations that rows have; stop when none
does. Each indicator is judged by itself. A cause without an effect alone, as of an exclusive or, is
not found.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from exactlearn._runtime.arguments import variables_by_index
from exactlearn._runtime.kernel import kernel
from exactlearn.data.codes import MISSING
from exactlearn.data.dataset import Dataset
from exactlearn.data.missingness_graph import MissingnessGraph
from exactlearn.errors import OptionError

Separators = Sequence[str | int] | MissingnessGraph | None


def separators_of_indicators(
    dataset: Dataset, is_full: NDArray[np.bool_], separators: Separators
) -> dict[int, frozenset[int]]:
    """Return the separators of the indicator of each variable with missing cells.

    Parameters
    ----------
    dataset
        The rows.
    is_full
        Whether every row observes each variable.
    separators
        Names or indices of fully observed variables, for every indicator; or a missingness graph;
        or ``None`` to learn them.

    Raises
    ------
    OptionError
        When a separator is no variable or has missing cells, or the graph does not fit the table.
    DataError
        When a column has missing cells and the graph has no indicator for it.
    """
    partly = np.flatnonzero(~is_full).tolist()
    if separators is None:
        return {v: learned_separators(dataset, v, np.flatnonzero(is_full)) for v in partly}
    if isinstance(separators, MissingnessGraph):
        separators.check_table(dataset)
        return {v: _causes(dataset, separators, v, is_full) for v in partly}
    chosen = frozenset(variables_by_index(separators, "separators", dataset.names))
    for v in sorted(chosen):
        if not is_full[v]:
            raise OptionError(
                f"separator {dataset.names[v]!r} {_lacking(dataset, v)}, but separators must be "
                "variables that every row observes; leave it out, or let the separators be learned"
            )
    return dict.fromkeys(partly, chosen)


def _lacking(dataset: Dataset, v: int) -> str:
    missing = dataset.codes[:, v] == MISSING
    return (
        f"has {missing.sum()} missing cells, the first in "
        f"{dataset.row_place(int(np.argmax(missing)))}"
    )


def _causes(
    dataset: Dataset, graph: MissingnessGraph, v: int, is_full: NDArray[np.bool_]
) -> frozenset[int]:
    """Return the variables that an indicator depends on, also through other indicators."""
    causes = {dataset.names.index(cause) for cause in graph.all_causes([dataset.names[v]])}
    for cause in sorted(causes):
        if not is_full[cause]:
            raise OptionError(
                f"missingness graph: whether {dataset.names[v]!r} is missing depends on "
                f"{dataset.names[cause]!r}, which {_lacking(dataset, cause)}: not at random "
                "(MNAR), but informed deletion needs causes that every row observes (MAR)"
            )
    return frozenset(causes)


def learned_separators(
    dataset: Dataset, variable: int, candidates: NDArray[np.integer]
) -> frozenset[int]:
    """Select the variables that the indicator of a variable depends on by BIC.

    Parameters
    ----------
    dataset
        The rows.
    variable
        The variable whose indicator it is.
    candidates
        Fully observed variables.

    Examples
    --------
    >>> codes = np.array([[0, 0, 0], [0, 1, 0], [1, 0, -1], [1, 1, -1]]).repeat(5, axis=0)
    >>> table = Dataset(codes, ("a", "b", "c"), (("no", "yes"),) * 3)
    >>> learned_separators(table, 2, np.array([0, 1]))
    frozenset({0})
    """
    missing = dataset.codes[:, variable] == MISSING
    labels, n_labels = np.zeros(dataset.n_rows, np.int32), 1
    weights, columns = dataset.row_weights, np.array(candidates, np.int64)
    penalty = 0.5 * np.log(max(weights.sum(), 1.0))
    width = int(dataset.cardinalities[columns].max(initial=1))
    selected, score = frozenset[int](), -np.inf
    while True:
        counts = indicator_counts(dataset.codes, columns, labels, missing, weights, n_labels, width)
        totals = counts.sum(axis=-1)
        fit = xlogy(counts, counts).sum(axis=(1, 2, 3)) - xlogy(totals, totals).sum(axis=(1, 2))
        scores = fit - penalty * (totals > 0).sum(axis=(1, 2))
        if not selected:
            none = counts[:1].sum(axis=(0, 1, 2)) if len(columns) else np.zeros(2)
            score = xlogy(none, none).sum() - xlogy(none.sum(), none.sum()) - penalty
        best = int(np.argmax(scores)) if len(scores) else -1
        if best < 0 or scores[best] <= score + 1e-9 * abs(score):
            return selected
        selected, score = selected | {int(columns[best])}, scores[best]
        labels = labels * width + dataset.codes[:, columns[best]]
        seen = totals[best].ravel() > 0
        labels, n_labels = (np.cumsum(seen, dtype=np.int32) - 1)[labels], int(seen.sum())
        columns = np.delete(columns, best)


@kernel
def indicator_counts(
    codes: NDArray[np.integer],
    columns: NDArray[np.int64],
    labels: NDArray[np.int32],
    missing: NDArray[np.bool_],
    weights: NDArray[np.float64],
    n_labels: int,
    width: int,
) -> NDArray[np.float64]:
    """Count an indicator by the label of the row and the state of each of some columns.

    Returns
    -------
    Weights, shape (columns, labels, states of the column, 2).
    """
    counts = np.zeros((len(columns), n_labels, width, 2))
    for i in range(len(codes)):
        label, state, weight = labels[i], np.int64(missing[i]), weights[i]
        for j in range(len(columns)):
            counts[j, label, codes[i, columns[j]], state] += weight
    return counts
