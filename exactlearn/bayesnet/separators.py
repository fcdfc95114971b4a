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

from exactlearn._runtime.hash_tables import index_rows, weight_by
from exactlearn._runtime.tolerance import TOLERANCE, rounding
from exactlearn._runtime.variable_arguments import variables_by_index
from exactlearn.data.codes import MISSING
from exactlearn.data.dataset import Dataset
from exactlearn.data.missingness_graph import MissingnessGraph
from exactlearn.errors import OptionError

Separators = Sequence[str | int] | MissingnessGraph | None


def separators_of_indicators(
    dataset: Dataset,
    is_full: NDArray[np.bool_],
    separators: Separators,
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
    separators_of: dict[int, frozenset[int]] = {}
    # Learned, as told by the graph, or the same for all indicators.
    if separators is None:
        full = np.flatnonzero(is_full)
        return {v: learned_separators(dataset, v, full) for v in partly}
    if isinstance(separators, MissingnessGraph):
        separators.check_table(dataset)
        for v in partly:
            causes = separators.all_causes([dataset.names[v]])
            separators_of[v] = frozenset(map(dataset.index, causes))
    else:
        given = variables_by_index(separators, "separators", dataset.names)
        separators_of = dict.fromkeys(partly, frozenset(given))
    # Rows are grouped by the separators, which every row must observe.
    for v, variables in separators_of.items():
        for separator in sorted(variables - {*np.flatnonzero(is_full).tolist()}):
            missing = dataset.codes[:, separator] == MISSING
            raise OptionError(
                f"separator {dataset.names[separator]!r} has {missing.sum()} missing cells, the "
                f"first in {dataset.row_place(int(np.argmax(missing)))}, but informed deletion "
                f"needs to know what {dataset.names[v]!r} depends on in every row (MAR); leave it "
                "out, or let the separators be learned"
            )
    return separators_of


def learned_separators(
    dataset: Dataset,
    variable: int,
    candidates: NDArray[np.integer],
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
    weights = dataset.row_weights
    penalty = 0.5 * np.log(max(weights.sum(), 1.0))

    def bic(labels: NDArray[np.integer]) -> float:
        """Return the score of the indicator given the label of each row."""
        n_labels = int(labels.max(initial=0)) + 1
        counts = weight_by(2 * labels + missing, weights, 2 * n_labels)
        counts = counts.reshape(n_labels, 2)
        totals = counts.sum(axis=1)
        fit = xlogy(counts, counts).sum() - xlogy(totals, totals).sum()
        return float(fit - penalty * np.count_nonzero(totals))

    def refined(labels: NDArray[np.integer], v: int) -> NDArray[np.integer]:
        return labels * int(dataset.cardinalities[v]) + dataset.codes[:, v]

    # Forward selection: the variable that raises the score most, as long as one does.
    labels: NDArray[np.integer] = np.zeros(dataset.n_rows, np.int64)
    selected = frozenset[int]()
    score = bic(labels)
    while unselected := [v for v in candidates.tolist() if v not in selected]:
        scores = [bic(refined(labels, v)) for v in unselected]
        best = int(np.argmax(scores))
        if scores[best] <= score + TOLERANCE + rounding(score):
            break
        selected |= {unselected[best]}
        score = scores[best]
        cells = refined(labels, unselected[best])
        labels = index_rows(cells[:, np.newaxis])[0].astype(np.int64)
    return selected
