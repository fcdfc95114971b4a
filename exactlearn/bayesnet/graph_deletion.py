r"""Deletion by a missingness graph: each family by the formula that recovers it.

:mod:`exactlearn.bayesnet.recoverability` chooses an estimand for each family; here it is computed
from the rows. Strata are those of informed deletion (:mod:`exactlearn.bayesnet.deletion`), with the
separators of the formula. Inverse probability weights the rows that observe all that the formula
needs; pseudo-counts are then added to the effective numbers of rows, as uneven weights make few
rows of many. A family without a formula is estimated in its available cases, and says so.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.hash_tables import index_rows, weight_by
from exactlearn._runtime.variable_arguments import ParentsLike
from exactlearn.bayesnet.complete_data import SMOOTHING, checked_families, full_counts
from exactlearn.bayesnet.deletion import (
    DeletionFit,
    FamilyEstimate,
    FamilyEstimator,
    network_of_counts,
    reciprocal,
)
from exactlearn.bayesnet.recoverability import Estimand, Names, Recovery, recoverability
from exactlearn.data.dataset import DatasetLike
from exactlearn.data.missingness_graph import MissingnessGraph, as_missingness_graph

Floats = NDArray[np.float64]


@checked_arguments(missingness=as_missingness_graph)
def fit_by_missingness_graph(
    dataset: DatasetLike,
    parents: ParentsLike,
    missingness: MissingnessGraph,
    *,
    smoothing: float = SMOOTHING,
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
    >>> import exactlearn as el
    >>> codes = np.array([[0, 0], [0, 1], [1, 1], [1, -1]])
    >>> data = el.Dataset(codes, ("age", "income"), (("young", "old"), ("low", "high")))
    >>> fit = fit_by_missingness_graph(data, [(1,), ()], "income <- age", smoothing=0.0)
    >>> fit.model.tables[1]
    array([0.25, 0.75])
    >>> fit.families[1].recovery.formula()
    'P(income) = sum over age of P(income | age, R_income = ob) P(age)'
    """
    families = checked_families(dataset, parents, smoothing)
    missingness.check_table(dataset)
    recoveries = recoverability(families, dataset.names, missingness)
    estimator = FamilyEstimator(dataset, "id-mar", separators=())
    estimates = [
        _estimate(estimator, child, family, recovery)
        for child, (family, recovery) in enumerate(
            zip(families, recoveries, strict=True)
        )
    ]
    smoothings = [smoothing] * len(families)
    return network_of_counts(dataset, families, "graph", estimates, smoothings)


def _estimate(
    estimator: FamilyEstimator,
    child: int,
    parents: Sequence[int],
    recovery: Recovery,
) -> tuple[Floats, FamilyEstimate]:
    """Return the counts of a family, axes as in its table, and their estimate."""
    rows = estimator.dataset
    estimand = recovery.estimand
    if estimand is not None and recovery.kind == "inverse probability":
        counts, estimate = _weighted(estimator, child, parents, estimand)
    elif estimand is not None and estimand.separators is not None:
        separators = tuple(rows.names.index(name) for name in estimand.separators)
        counts, estimate = estimator.mixed(child, parents, separators)
        # These separators come from the graph, and are reported so.
        weights = dict(estimate.weights)
        if "id-mar" in weights:
            weights = {"graph": weights.pop("id-mar"), **weights}
        estimate = replace(estimate, weights=weights, separators=None)
    else:
        name = "aca" if estimand is None else "graph"
        counts, estimate = estimator.counted(rows, child, parents, name)
    return counts, replace(estimate, recovery=recovery)


def _weighted(
    estimator: FamilyEstimator,
    child: int,
    parents: Sequence[int],
    estimand: Estimand,
) -> tuple[Floats, FamilyEstimate]:
    """Weight the rows that observe all that the formula needs by inverse probability.

    Given the parents the counts sum to Kish's effective number of rows,
    ``(sum f)^2 / sum f^2`` with f the weights.
    """
    dataset = estimator.dataset
    weights = estimator.weights

    def columns(names: Names) -> NDArray[np.integer]:
        return dataset.codes[:, [dataset.names.index(name) for name in names]]

    def observing(names: Names) -> NDArray[np.bool_]:
        return np.asarray((columns(names) >= 0).all(axis=1))

    used = observing(estimand.observed)
    factors = used.astype(np.float64)
    # Factor of each row: one over its probability of being observed given the causes.
    for propensity in estimand.propensities:
        counted = observing(propensity.observed)
        labels, first = index_rows(np.ascontiguousarray(columns(propensity.causes)))
        seen = np.where(counted & observing((propensity.variable,)), weights, 0.0)
        totals = weight_by(labels, np.where(counted, weights, 0.0), len(first))
        observed = weight_by(labels, seen, len(first))
        inverse = totals * reciprocal(observed)
        factors *= inverse[labels]
        used |= counted
    # The weighted counts, in proportion to the effective numbers of rows.
    weighted = full_counts(replace(dataset, weights=weights * factors), child, parents)
    squares = full_counts(
        replace(dataset, weights=weights * factors**2),
        child,
        parents,
    )
    # Kish's effective number of rows replaces the sum of the weights.
    effective = weighted.sum(axis=-1, keepdims=True) * reciprocal(
        squares.sum(axis=-1, keepdims=True)
    )
    return weighted * effective, FamilyEstimate(
        float(weights @ used),
        estimator.observing([*parents, child]),
        {"graph" if weighted.any() else "prior": float(weights.sum())},
    )
