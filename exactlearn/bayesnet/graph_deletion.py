r"""Deletion by a missingness graph: each family by the formula that recovers it.

:mod:`exactlearn.bayesnet.recoverability` chooses an estimand for each family; here it is computed
from the rows. Formulas with weights, by strata or by inverse probability, weight the rows that
observe all they need; ordered factorisations multiply tables of available cases and sum over them.
A family without a formula is estimated in its available cases, and says so. Pseudo-counts are added
to the effective numbers of rows: uneven weights make few rows of many.

Strata that no row observes take the distribution without the separators, as in informed deletion
(:mod:`exactlearn.bayesnet.deletion`); what is still unsupported is left to the prior.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, reduce
from math import prod
from string import ascii_letters
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import ParentsLike, checked_arguments
from exactlearn._runtime.hash_tables import index_rows
from exactlearn.bayesnet.complete_data import SMOOTHING, checked_families, smoothed, table_shape
from exactlearn.bayesnet.deletion import DeletionFit, FamilyEstimate, counting_rows
from exactlearn.bayesnet.deletion_variances import counted_variances, smoothed_variances
from exactlearn.bayesnet.estimands import (
    Available,
    Chained,
    Conditioned,
    Names,
    PatternOdds,
    Propensity,
    Stratified,
    Summed,
    Tree,
    Weighted,
)
from exactlearn.bayesnet.factorisation_lattice import reciprocal
from exactlearn.bayesnet.network import BayesianNetwork, check_parents
from exactlearn.bayesnet.recoverability import Recovery, recoverability
from exactlearn.data.codes import MISSING
from exactlearn.data.counts import configurations, weight_by
from exactlearn.data.dataset import Dataset, DatasetLike
from exactlearn.data.missingness_graph import MissingnessGraph, as_missingness_graph

Floats = NDArray[np.float64]
Rows = NDArray[np.bool_]

_DENSE = 2**20
"""Most configurations that are numbered without looking at the rows."""


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
        linearisation, as if the weights were known, which is seldom too little; else those of
        frequencies in the rows that observe the family, which is a rough figure for ordered
        factorisations.

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
    sizes = dataset.cardinalities.tolist()
    for recovery in recoverability(families, dataset.names, missingness, cardinalities=sizes):
        counts, estimate = rows.estimate(recovery)
        table, found = smoothed(counts, smoothing), estimate.variances
        if found is not None:
            found = smoothed_variances(found, counts, table, smoothing) if variances else None
        tables.append(table)
        estimates.append(replace(estimate, variances=found))
    model = BayesianNetwork(dataset.names, dataset.states, families, tuple(tables))
    return DeletionFit(model, "graph", tuple(estimates))


@dataclass(frozen=True)
class _Table:
    """Numbers for the configurations of some variables, one axis each."""

    names: Names
    values: Floats

    def __mul__(self, other: "_Table") -> "_Table":
        names = tuple(dict.fromkeys((*self.names, *other.names)))
        return _Table(names, _product(names, self, other))

    def over(self, names: Sequence[str]) -> "_Table":
        """Return the sums over some variables."""
        kept = tuple(name for name in self.names if name not in names)
        return _Table(kept, _product(kept, self))

    def given(self, names: Sequence[str]) -> "_Table":
        """Return the distributions given some variables; zero where these have no weight."""
        behind = self.over([name for name in self.names if name not in names])
        return self * _Table(behind.names, reciprocal(behind.values))


class _Rows:
    """Rows of positive weight, from which families are estimated."""

    def __init__(self, dataset: Dataset) -> None:
        self.dataset, self.weights = dataset, dataset.row_weights
        self.place = {name: v for v, name in enumerate(dataset.names)}
        self.codes = np.asfortranarray(dataset.codes)
        self.all = np.ones(len(self.codes), np.bool_)
        self.inverse_of_pattern = cache(self._inverse_of_pattern)

    @cached_property
    def observed(self) -> NDArray[np.bool_]:
        """Whether each cell is observed."""
        return np.asfortranarray(self.codes != MISSING)

    def estimate(self, recovery: Recovery) -> tuple[Floats, FamilyEstimate]:
        """Return the counts of a family, axes as in its table, and how they were estimated."""
        child, parents, estimand = recovery.child, recovery.parents, recovery.estimand
        table_shape(self.dataset, self.place[child], [self.place[p] for p in parents])
        family, total, defect = (*parents, child), float(self.weights.sum()), 0.0
        observed = self.observing(family)
        n = float(self.weights[observed].sum())
        variances: Floats | None = None
        match estimand:
            case None | Available():
                counts, used = self.counts(family), observed
                how = {"aca" if estimand is None else "graph": n}
            case Stratified():
                (counts, variances), how = self._stratified(family, estimand)
                used = self.all
            case Weighted():
                (counts, variances), defect, used = self._weighted(family, estimand)
                how = {"graph": total * bool(counts.any())}
            case _:
                counts, used = self._factorised(family, estimand)
                how = {"graph": float(counts.sum())}
                size = n or float(self.weights[used].sum())
                counts = counts * (size / max(how["graph"], 1e-300))
        if not isinstance(estimand, Available | None):
            how["prior"] = total - sum(how.values())
        how = {name: weight for name, weight in how.items() if weight > 1e-9 * total}
        how = how or {"prior": total}
        used_weight = float(self.weights[used].sum())
        variances = counted_variances(counts) if variances is None else variances
        return counts, FamilyEstimate(
            used_weight, n, how, defect, recovery=recovery, variances=variances
        )

    def observing(self, names: Sequence[str]) -> Rows:
        """Return which rows observe some variables."""
        columns = (self.observed[:, self.place[name]] for name in names)
        return reduce(np.logical_and, columns, self.all)

    def counts(
        self, names: Names, rows: Rows | None = None, weights: Floats | None = None
    ) -> Floats:
        """Return the weight of rows of each configuration; those observing it, left out."""
        rows = self.observing(names) if rows is None else rows
        sizes = [len(self.dataset.states[self.place[name]]) for name in names]
        where = np.flatnonzero(rows)
        labels = configurations(self._codes(names, where), sizes)
        weights = self.weights[where] if weights is None else weights
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

    def _codes(self, names: Sequence[str], where: NDArray[np.int64]) -> NDArray[np.integer]:
        columns = [self.codes[:, self.place[name]][where] for name in names]
        return np.stack(columns, axis=1) if columns else np.empty((len(where), 0), np.int8)

    def labels(self, names: Sequence[str], where: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return a number for the configuration of each of some rows, which observe it."""
        sizes = [len(self.dataset.states[self.place[name]]) for name in names]
        codes = self._codes(names, where)
        if prod(sizes) <= _DENSE:
            return configurations(codes, sizes)
        return index_rows(np.ascontiguousarray(codes))[0].astype(np.int64)

    def _stratified(
        self, family: Names, estimand: Stratified
    ) -> tuple[tuple[Floats, Floats], dict[str, float]]:
        """Weight the rows of each stratum that observe the family for all its rows."""
        every, weights = np.flatnonzero(self.all), self.weights
        ob = self.observing(estimand.incomplete)
        strata = self.labels((*estimand.complete, *estimand.separators), every)
        coarse = self.labels(estimand.complete, every)
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
        for pattern in estimand.patterns:
            counted, inverse = self.inverse_of_pattern(pattern)
            factors *= inverse[rows[counted]]
            used = used | self.observing(pattern.others)
        sum_of_weights, total = float(self.weights[rows] @ factors), float(self.weights.sum())
        defect = abs(sum_of_weights / total - 1) if estimand.is_joint and total else 0.0
        return self.effective_counts(family, rows, factors), defect, used

    def _inverse_propensity(self, propensity: Propensity, counted: Rows) -> Floats:
        """Return the inverse probability that a cell is observed in each row counted."""
        where = np.flatnonzero(counted)
        labels, weights = self.labels(propensity.causes, where), self.weights[where]
        ob = self.observed[:, self.place[propensity.variable]][where]
        seen = _bincount(labels[ob], weights[ob], labels)
        inverse: Floats = (np.bincount(labels, weights) * reciprocal(seen))[labels]
        return inverse

    def _inverse_of_pattern(self, odds: PatternOdds) -> tuple[Rows, Floats]:
        """Return the complete rows, and one plus the odds of all patterns in each of them."""
        counted = self.observing((*odds.variables, *odds.others))
        every = np.flatnonzero(counted)
        scopes = dict.fromkeys(v for _, scope in odds.factors for v in scope)
        _, first, group = np.unique(
            self.labels([*scopes], every), return_index=True, return_inverse=True
        )
        where, factors = every[first], list[Floats]()
        complete = weight_by(group, self.weights[every], len(where))
        for k, (members, scope) in enumerate(odds.factors):
            rest = [v for v in (*odds.variables, *odds.others) if v not in members]
            lacking = self.observing(rest)
            for v in members:
                lacking = lacking & ~self.observed[:, self.place[v]]
            both = np.concatenate([where, np.flatnonzero(lacking)])
            labels = self.labels(scope, both)
            inner, outer = labels[: len(where)], labels[len(where) :]
            below = _times(complete, [factors[j] for j in odds.smaller(k)])
            above = _bincount(outer, self.weights[lacking], labels)
            factors.append((above * reciprocal(_bincount(inner, below, labels)))[inner])
        inverse = np.ones(len(where))
        for _, some in odds.patterns:
            inverse += _times(np.ones(len(where)), [factors[k] for k in some])
        return counted, inverse[group]

    def _factorised(self, family: Names, tree: Tree) -> tuple[Floats, Rows]:
        """Return the counts of a family by an ordered factorisation, as of all rows."""
        parents = family[:-1]
        behind = self.counts(parents)
        behind = behind * (self.weights.sum() / max(float(behind.sum()), 1e-300))
        return _product(family, _Table(parents, behind), self._table(tree)), self._used(tree)

    def _table(self, tree: Tree) -> _Table:
        """Return the distribution that a tree of formulas describes."""
        match tree:
            case Available(variables, given, _):
                names = (*given, *variables)
                return _Table(names, self.counts(names)).given(given)
            case Summed(over, inner, outer):
                return (self._table(inner) * self._table(outer)).over(over)
            case Chained(first, second):
                return self._table(first) * self._table(second)
            case Conditioned(variables, joint):
                table = self._table(joint)
                return table.given([name for name in table.names if name not in variables])
            case _:
                assert_never(tree)

    def _used(self, tree: Tree) -> Rows:
        match tree:
            case Available(variables, given, _):
                return self.observing((*variables, *given))
            case Summed(_, first, second) | Chained(first, second):
                return self._used(first) | self._used(second)
            case Conditioned(_, joint):
                return self._used(joint)
            case _:
                assert_never(tree)


def _product(names: Sequence[str], *tables: _Table) -> Floats:
    """Return the product of tables, summed over all but some variables, as the axes."""
    every = dict.fromkeys(name for table in tables for name in table.names)
    letter = dict(zip(every, ascii_letters, strict=False))
    axes = ",".join("".join(letter[name] for name in table.names) for table in tables)
    kept = "".join(letter[name] for name in names)
    return np.asarray(np.einsum(f"{axes}->{kept}", *(table.values for table in tables)))


def _times(numbers: Floats, factors: Sequence[Floats]) -> Floats:
    for factor in factors:
        numbers = numbers * factor
    return numbers


def _bincount(labels: NDArray[np.int64], weights: Floats, all_labels: NDArray[np.int64]) -> Floats:
    """Return the weight of each label, as long as all labels."""
    return weight_by(labels, weights, int(all_labels.max(initial=-1)) + 1)
