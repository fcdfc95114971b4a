r"""Deletion by a missingness graph: each family by the formula that recovers it.

:mod:`exactlearn.bayesnet.recoverability` chooses an estimand for each family; here it is computed
from the rows. Formulas with weights, by strata or by inverse probability, weight the rows that
observe all they need. A family without a formula is estimated in its available cases, and says so.
Pseudo-counts are added to the effective numbers of rows: uneven weights make few rows of many.

Strata that no row observes take the distribution without the separators, as in informed deletion
(:mod:`exactlearn.bayesnet.deletion`); what is still unsupported is left to the prior.
"""

from dataclasses import replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import ParentsLike, checked_arguments
from exactlearn._runtime.hash_tables import index_rows
from exactlearn.bayesnet.complete_data import SMOOTHING, checked_families, smoothed, table_shape
from exactlearn.bayesnet.deletion import DeletionFit, FamilyEstimate, counting_rows
from exactlearn.bayesnet.deletion_variances import counted_variances, smoothed_variances
from exactlearn.bayesnet.estimands import Names, Propensity, Stratified, Weighted
from exactlearn.bayesnet.factorisation_lattice import reciprocal
from exactlearn.bayesnet.network import BayesianNetwork, check_parents
from exactlearn.bayesnet.recoverability import Recovery, recoverability
from exactlearn.data.codes import MISSING
from exactlearn.data.counts import configurations, weight_by
from exactlearn.data.dataset import Dataset, DatasetLike
from exactlearn.data.missingness_graph import MissingnessGraph, as_missingness_graph

Floats = NDArray[np.float64]
Rows = NDArray[np.bool_]


@checked_arguments(missingness=as_missingness_graph)
def fit_by_missingness_graph(
    dataset: DatasetLike,
    parents: ParentsLike,
    missingness: MissingnessGraph,
    *,
    smoothing: float = SMOOTHING,
    variances: bool = False,
) -> DeletionFit:
    """Estimate the tables of a network from incomplete rows by a missingness graph.

    Each family is estimated by the formula that the missingness graph gives for it, which is
    consistent when the graph and the network's DAG are right, also not at random. A family without
    a formula is estimated from its available cases: its ``recovery`` in the result says why.

    Parameters
    ----------
    dataset
        Table with or without missing cells; rows count by their weights.
    parents
        Parents of each variable of the table; a mapping from variables to their parents; arcs; or a
        graph, of networkx or by :func:`exactlearn.read_graph`. Their order is that of the table's
        axes.
    missingness
        What the missing cells of each variable depend on; its text will do.
    smoothing
        Smoothing added to every count, finite, at least zero.
    variances
        Whether each family's result has the variances of its parameters: with weights by
        linearisation, as if the weights were known, which is seldom too little.

    Returns
    -------
    fit
        The network, and for each family its formula and the rows used.

    Raises
    ------
    DataError
        When a column has missing cells and the graph no indicator for it, or a variable stands
        among its own parents or a parent twice.
    OptionError
        When the graph has a variable that the table lacks, ``smoothing`` is negative or not finite,
        there is not one parent set of column indices for each variable, or the parents hold a
        directed cycle.
    TooLargeError
        When a table would have more than :data:`~exactlearn.bayesnet.network.LARGEST_TABLE`
        entries.

    Examples
    --------
    >>> codes = np.array([[0, 0], [0, 1], [1, 1], [1, -1]])
    >>> data = Dataset(codes, ("age", "income"), (("young", "old"), ("low", "high")))
    >>> fit = fit_by_missingness_graph(data, [(1,), ()], "income <- age", smoothing=0.0)
    >>> fit.model.tables[1]
    array([0.25, 0.75])
    >>> fit.families[1].recovery.formula()
    'P(income) = sum over age of P(income | age, R_income = ob) P(age)'
    """
    families = checked_families(dataset, parents, smoothing)
    for child, family in enumerate(families):
        check_parents(dataset.names, child, family)
    missingness.check_table(dataset)
    rows = _Rows(counting_rows(dataset))
    tables, estimates = [], []
    for recovery in recoverability(families, dataset.names, missingness):
        counts, estimate = rows.estimate(recovery)
        table, found = smoothed(counts, smoothing), estimate.variances
        if found is not None:
            found = smoothed_variances(found, counts, table, smoothing) if variances else None
        tables.append(table)
        estimates.append(replace(estimate, variances=found))
    model = BayesianNetwork(dataset.names, dataset.states, families, tuple(tables))
    return DeletionFit(model, "graph", tuple(estimates))


class _Rows:
    """Rows of positive weight, from which families are estimated."""

    def __init__(self, dataset: Dataset) -> None:
        self.dataset, self.weights = dataset, dataset.row_weights
        self.place = {name: v for v, name in enumerate(dataset.names)}
        self.codes: NDArray[np.integer] = np.asfortranarray(dataset.codes)
        self.observed = self.codes != MISSING
        self.all = np.ones(len(self.codes), np.bool_)

    def estimate(self, recovery: Recovery) -> tuple[Floats, FamilyEstimate]:
        """Return the counts of a family, axes as in its table, and how they were estimated."""
        child, parents, estimand = recovery.child, recovery.parents, recovery.estimand
        table_shape(self.dataset, self.place[child], self.columns(parents))
        family, total, defect = (*parents, child), float(self.weights.sum()), 0.0
        observed = self.observing(family)
        n = float(self.weights[observed].sum())
        if isinstance(estimand, Stratified):
            (counts, variances), how = self._stratified(family, estimand)
            used = self.all
        elif isinstance(estimand, Weighted):
            (counts, variances), defect, used = self._weighted(family, estimand)
            how = {"graph": total * bool(counts.any())}
        else:
            counts = self.counts(family, observed, self.weights[observed])
            used, variances = observed, counted_variances(counts)
            how = {"aca" if estimand is None else "graph": n}
        if isinstance(estimand, Stratified | Weighted):
            how["prior"] = total - sum(how.values())
        how = {name: weight for name, weight in how.items() if weight > 1e-9 * total}
        how = how or {"prior": total}
        used_weight = float(self.weights[used].sum())
        return counts, FamilyEstimate(
            used_weight, n, how, defect, recovery=recovery, variances=variances
        )

    def observing(self, names: Names) -> Rows:
        """Return which rows observe some variables."""
        return np.asarray(self.observed[:, self.columns(names)].all(axis=1))

    def columns(self, names: Names) -> list[int]:
        """Return the columns of some variables."""
        return [self.place[name] for name in names]

    def labels(self, names: Names, rows: Rows) -> NDArray[np.int32]:
        """Return a number for the configuration of each of some rows, which observe it."""
        return index_rows(np.ascontiguousarray(self.codes[:, self.columns(names)][rows]))[0]

    def counts(self, names: Names, rows: Rows, weights: Floats) -> Floats:
        """Return the weight of rows of each configuration."""
        columns = self.columns(names)
        sizes = self.dataset.cardinalities[columns].tolist()
        labels = configurations(self.codes[:, columns][rows], sizes)
        return weight_by(labels, weights, prod(sizes)).reshape(sizes)

    def effective_counts(self, family: Names, rows: Rows, factors: Floats) -> tuple[Floats, Floats]:
        """Return the counts of a family in rows weighted by factors, as of effective rows.

        Given the parents they sum to Kish's effective number of rows, ``(sum f)^2 / sum f^2``.
        Second are the variances of the parameters by linearisation.
        """
        weighted = self.counts(family, rows, self.weights[rows] * factors)
        squares = self.counts(family, rows, self.weights[rows] * factors**2)
        total, of_squares = (table.sum(-1, keepdims=True) for table in (weighted, squares))
        theta = weighted * reciprocal(total)
        variances = ((1 - 2 * theta) * squares + theta**2 * of_squares) * reciprocal(total**2)
        return weighted * total * reciprocal(of_squares), variances

    def _stratified(
        self, family: Names, estimand: Stratified
    ) -> tuple[tuple[Floats, Floats], dict[str, float]]:
        """Weight the rows of each stratum that observe the family for all its rows."""
        weights, ob = self.weights, self.observing(estimand.incomplete)
        strata = self.labels((*estimand.complete, *estimand.separators), self.all)
        coarse = self.labels(estimand.complete, self.all)
        total, seen = np.bincount(strata, weights), _bincount(strata[ob], weights[ob], strata)
        lost = (seen == 0)[strata]
        unseen = _bincount(coarse[lost], weights[lost], coarse)
        seen_coarse = _bincount(coarse[ob], weights[ob], coarse)
        ratio = (total * reciprocal(seen))[strata] + (unseen * reciprocal(seen_coarse))[coarse]
        counts = self.effective_counts(family, ob, ratio[ob])
        instead = float(unseen[seen_coarse > 0].sum())
        how = {"graph": float(total[seen > 0].sum()), "d-mcar": instead}
        return counts, how

    def _weighted(
        self, family: Names, estimand: Weighted
    ) -> tuple[tuple[Floats, Floats], float, Rows]:
        """Weight the rows that observe all that the formula needs by inverse probability."""
        rows = used = self.observing(estimand.observed)
        factors = np.ones(np.count_nonzero(rows))
        for propensity in estimand.propensities:
            counted = self.observing(propensity.observed)
            factors *= self._inverse_propensity(propensity, counted)[rows[counted]]
            used = used | counted
        sum_of_weights, total = float(self.weights[rows] @ factors), float(self.weights.sum())
        defect = abs(sum_of_weights / total - 1) if estimand.is_joint and total else 0.0
        return self.effective_counts(family, rows, factors), defect, used

    def _inverse_propensity(self, propensity: Propensity, counted: Rows) -> Floats:
        """Return the inverse probability that a cell is observed in each row counted."""
        labels, weights = self.labels(propensity.causes, counted), self.weights[counted]
        ob = self.observed[counted, self.place[propensity.variable]]
        seen = _bincount(labels[ob], weights[ob], labels)
        inverse: Floats = (np.bincount(labels, weights) * reciprocal(seen))[labels]
        return inverse


def _bincount(labels: NDArray[np.int32], weights: Floats, all_labels: NDArray[np.int32]) -> Floats:
    """Return the weight of each label, as long as all labels."""
    return weight_by(labels, weights, int(all_labels.max(initial=-1)) + 1)
