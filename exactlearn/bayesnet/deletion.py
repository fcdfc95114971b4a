r"""Deletion estimators: parameters of a network from incomplete rows, in closed form.

For each family Y (a variable and its parents) they estimate :math:`P(Y)` from rows chosen by what
they observe, without inference and without iterations. With :math:`Y_m` the members of the family
that some row lacks, :math:`Y_o` its other members, :math:`X_o` all variables that every row
observes, and :math:`R = ob` for "observed":

========== ===================================================================== ===============
Method     Estimate of P(Y)                                                      Consistent under
========== ===================================================================== ===============
``cca``    frequencies in the complete rows                                      MCAR
``aca``    frequencies in the rows that observe the family (available cases)     MCAR
``d-mcar`` the same, under the paper's name: direct deletion                     MCAR
``f-mcar`` all factorisations of P(Y), each factor in the rows that observe it   MCAR
``d-mar``  :math:`\sum P(Y_m \mid X_o, R_{Y_m} = ob)\, P(X_o)` over the others   MAR
``f-mar``  the same, with all factorisations of :math:`P(Y_m \mid X_o)`          MAR
``id-mar`` as ``d-mar``, with :math:`Y_o` and separators in place of :math:`X_o` MAR
``if-mar`` as ``f-mar``, with :math:`Y_o` and separators in place of :math:`X_o` MAR
========== ===================================================================== ===============

MCAR: which cells are missing depends on no variable. MAR: it depends on variables without missing
cells only. Source: Van den Broeck, Mohan, Choi, Darwiche and Pearl, "Efficient algorithms for
Bayesian network parameter learning from incomplete data", section 3 and appendix A
(whose sums run over :math:`X_o \setminus Y_o`, printed :math:`X_m \setminus Y_m`).

The paper has no rule for what no row supports. Here a configuration of :math:`X_o`, or of the
separators, without a row that observes :math:`Y_m` has the distribution of :math:`Y_m` given
:math:`Y_o`, by the same estimator without the other variables (``d-mcar``, ``f-mcar``); without any
complete row ``cca`` takes the available cases. What is still unsupported is left to the prior. The
weight of the rows that each of these stands for is part of the result.

Pseudo-counts are added to :math:`n P(Y)`, with n the weight of the rows that observe the family,
of all rows for ``f-mar`` and ``if-mar``: without missing cells that is eq. 4.15 of Nielsen's
thesis. ``f-mcar``, also where it replaces these two, adds them to the counts of each factor of a
family with missing cells (:mod:`~exactlearn.bayesnet.row_mixtures`), so that what the
whole family has no rows for is estimated from its parts. The default of 1/4 is near the best for
unseen rows over many networks and numbers of rows; 1 is up to twice as far from networks with
near-deterministic tables.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from math import prod
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import ParentsLike, checked_arguments
from exactlearn._runtime.display import Displayed
from exactlearn._runtime.hash_tables import index_rows
from exactlearn.bayesnet.complete_data import (
    SMOOTHING,
    checked_families,
    full_counts,
    smoothed,
    table_shape,
)
from exactlearn.bayesnet.network import BayesianNetwork, check_parents
from exactlearn.bayesnet.recoverability import Recovery
from exactlearn.bayesnet.row_mixtures import (
    Aggregation,
    Groups,
    counted_variances,
    direct_variances,
    mixture,
    second_moments,
    smoothed_variances,
)
from exactlearn.bayesnet.separators import Separators, separators_of_indicators
from exactlearn.data.counts import configurations, weight_by
from exactlearn.data.dataset import Dataset, DatasetLike
from exactlearn.errors import OptionError, did_you_mean

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

DeletionMethod = Literal["cca", "aca", "d-mcar", "f-mcar", "d-mar", "f-mar", "id-mar", "if-mar"]
DELETION_METHODS: tuple[DeletionMethod, ...] = get_args(DeletionMethod)

_WEAKER = {
    "d-mar": ("d-mcar",),
    "f-mar": ("f-mcar",),
    "id-mar": ("d-mcar",),
    "if-mar": ("f-mcar",),
}
"""The estimator that follows where no row supports one."""


@dataclass(frozen=True)
class FamilyEstimate:
    """How the distribution of a family was estimated.

    Parameters
    ----------
    rows
        Weight of the rows used: ``cca`` those without missing cells, ``aca`` and ``d-mcar`` those
        that observe the family, ``f-mcar`` those that observe a member of it, those for MAR all of
        them.
    observed
        Weight of the rows that observe the whole family.
    weights
        For each estimator used, the weight of the rows that it stands for; ``"prior"`` where no
        row supports any.
    defect
        Weighted mean of how far factored distributions summed from one before they were
        normalised.
    separators
        Of informed deletion: what the indicators of the family's variables with missing cells
        depend on.
    recovery
        Of the estimates by a missingness graph: the family's formula, or why there is none.
    variances
        Variance of each parameter of the family's table, of the same shape, where asked for.
    """

    rows: float
    observed: float
    weights: Mapping[str, float]
    defect: float = 0.0
    separators: tuple[str, ...] | None = None
    recovery: Recovery | None = None
    variances: Floats | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, repr=False)
class DeletionFit(Displayed, shown="method model unsupported"):
    """A network estimated by deletion.

    Parameters
    ----------
    model
        The network.
    method
        The estimator; ``graph`` for the formulas of a missingness graph.
    families
        How each family was estimated, in the order of the variables.

    Examples
    --------
    >>> import exactlearn as el
    >>> table, network = el.read_dataset("asia-mnar"), el.read_network("asia")
    >>> fit = el.fit_deletion(table, network.parents, method="d-mcar")
    >>> fit.unsupported, fit.families[3].rows
    ((), 96.0)
    """

    model: BayesianNetwork
    method: DeletionMethod | Literal["graph"]
    families: tuple[FamilyEstimate, ...]

    @property
    def unsupported(self) -> tuple[str, ...]:
        """The variables whose families needed another estimator, or the prior, at least in part."""
        return tuple(
            name
            for name, family in zip(self.model.names, self.families, strict=True)
            if set(family.weights) != {self.method}
        )

    def standard_errors(self, name: str) -> "pd.DataFrame":
        """Return the standard errors of a variable's table, in the form of ``model.table(name)``.

        Raises
        ------
        OptionError
            When there is no such variable, or the network was fitted without ``variances=True``.

        Examples
        --------
        >>> import exactlearn as el
        >>> table, network = el.read_dataset("asia-mnar"), el.read_network("asia")
        >>> fit = el.fit_deletion(table, network.parents, method="d-mcar", variances=True)
        >>> fit.standard_errors("bronc").round(3)
        bronc     no    yes
        smoke
        no     0.078  0.078
        yes    0.061  0.061
        """
        frame = self.model.table(name)
        variances = self.families[self.model.index(name)].variances
        if variances is None:
            raise OptionError("no standard errors were estimated: fit with variances=True")
        frame[:] = np.sqrt(variances).reshape(frame.shape)
        return frame


@checked_arguments()
def fit_deletion(
    dataset: DatasetLike,
    parents: ParentsLike,
    *,
    method: DeletionMethod = "d-mar",
    smoothing: float = SMOOTHING,
    aggregation: Aggregation = "inverse-variance",
    separators: Separators = None,
    variances: bool = False,
) -> DeletionFit:
    """Estimate the tables of a network with given parents from incomplete rows by deletion.

    Parameters
    ----------
    dataset
        Table with or without missing cells; rows count by their weights.
    parents
        Parents of each variable of the table; a mapping from variables to their parents; arcs; or a
        graph, of networkx or by :func:`exactlearn.read_graph`. Their order is that of the table's
        axes.
    method
        The estimator. ``cca``, ``aca``, ``d-mcar`` and ``f-mcar`` are consistent where cells are
        missing completely at random, the others also where which cells are missing depends on the
        variables without missing cells; ``id-mar`` and ``if-mar``, on the separators.
    smoothing
        Smoothing added to every count, for ``f-mcar`` to those of every factor; finite, at least
        zero.
    aggregation
        How ``f-mcar``, ``f-mar`` and ``if-mar`` combine the factorisations.
    separators
        Of ``id-mar`` and ``if-mar``: names or indices of variables that every row observes, for all
        families; or a missingness graph, of which each family takes the causes of its indicators;
        or ``None`` to learn them for each indicator by BIC.
    variances
        Whether to estimate the variance of each parameter, see
        :mod:`~exactlearn.bayesnet.row_mixtures`; for the factored estimators an upper bound.

    Returns
    -------
    fit
        The network, and for each family the rows used and what they did not support.

    Raises
    ------
    DataError
        When a variable stands among its own parents or a parent twice.
    OptionError
        When the method or the aggregation is unknown, ``smoothing`` is negative or not finite,
        there is not one parent set of column indices for each variable, or the parents hold a
        directed cycle; when a separator is no variable or has missing cells, or the method takes
        none.
    TooLargeError
        When a table would have more than :data:`~exactlearn.bayesnet.network.LARGEST_TABLE`
        entries, or the lattice of a family would.

    Examples
    --------
    >>> codes = np.array([[0, 0], [0, 0], [1, 1], [1, -1]])
    >>> data = Dataset(codes, ("a", "b"), (("no", "yes"),) * 2)
    >>> fit_deletion(data, [(), ()], method="d-mcar", smoothing=0.0).model.tables[1].round(3)
    array([0.667, 0.333])
    >>> fit = fit_deletion(data, [(), ()], method="d-mar", smoothing=0.0)  # half of a = 1 lacks
    >>> fit.model.tables[1]
    array([0.5, 0.5])
    >>> fit.families[1].weights
    {'d-mar': 4.0}
    """
    check_choice("method", method, DELETION_METHODS)
    check_choice("aggregation", aggregation, get_args(Aggregation))
    families = checked_families(dataset, parents, smoothing)
    if separators is not None and not method.startswith("i"):
        raise OptionError(f"separators: method {method!r} takes none; use 'id-mar' or 'if-mar'")
    estimator = FamilyEstimator(
        dataset, method, aggregation, separators, smoothing, variances=variances
    )
    return fit_families(dataset, families, method, smoothing, estimator.estimate, estimator.smooths)


def fit_families(
    dataset: Dataset,
    families: tuple[tuple[int, ...], ...],
    method: DeletionMethod | Literal["graph"],
    smoothing: float,
    estimate: Callable[[int, Sequence[int]], tuple[Floats, FamilyEstimate]],
    smooths: Callable[[int, Sequence[int]], bool] = lambda child, parents: False,
) -> DeletionFit:
    """Return the network of estimated families.

    Parameters
    ----------
    dataset, families, method, smoothing
        Of the result.
    estimate
        Returns the counts of a family, and how they were estimated.
    smooths
        Returns whether these counts have pseudo-counts already.
    """
    tables, estimates = [], []
    for child, family in enumerate(families):
        check_parents(dataset.names, child, family)
        counts, found = estimate(child, family)
        added = 0.0 if smooths(child, family) else smoothing
        tables.append(smoothed(counts, added))
        if found.variances is not None:
            variances = smoothed_variances(found.variances, counts, tables[-1], added)
            found = replace(found, variances=variances)
        estimates.append(found)
    model = BayesianNetwork(dataset.names, dataset.states, families, tuple(tables))
    return DeletionFit(model, method, tuple(estimates))


def check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    """Raise an `OptionError` if a value is not one of the choices."""
    if value not in choices:
        raise OptionError(
            f"{name} {value!r}: give one of {', '.join(choices)}{did_you_mean(str(value), choices)}"
        )


class FamilyEstimator:
    """Estimates the families of a network from the rows of positive weight.

    Parameters
    ----------
    dataset, method, aggregation, separators, smoothing, variances
        As for :func:`fit_deletion`.

    Examples
    --------
    >>> codes = np.array([[0, 0], [0, 0], [1, 1], [1, -1]])
    >>> data = Dataset(codes, ("a", "b"), (("no", "yes"),) * 2)
    >>> FamilyEstimator(data, "d-mar").estimate(1, [0])[0]
    array([[1.5, 0. ],
           [0. , 1.5]])
    """

    def __init__(
        self,
        dataset: Dataset,
        method: DeletionMethod,
        aggregation: Aggregation = "inverse-variance",
        separators: Separators = None,
        smoothing: float = 0.0,
        *,
        variances: bool = False,
    ) -> None:
        counting = dataset.row_weights > 0
        self.dataset = dataset if counting.all() else dataset.part(counting)
        self.method = method
        self.smoothing, self.variances = smoothing, variances
        self.aggregation = aggregation if "f-" in method else None
        self.weights = self.dataset.row_weights
        self.separators = (
            separators_of_indicators(self.dataset, self.is_full, separators)
            if method.startswith("i")
            else None
        )
        self.contexts = lru_cache(maxsize=1)(self._contexts)

    @cached_property
    def is_full(self) -> NDArray[np.bool_]:
        """Whether every row observes each variable."""
        return np.asarray(self.dataset.codes.min(axis=0, initial=0) >= 0)

    @cached_property
    def complete(self) -> Dataset:
        """The rows without missing cells."""
        return self.dataset.part(self.dataset.complete_rows)

    def _contexts(self, variables: tuple[int, ...]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the number of each row's configuration of some fully observed variables.

        With the first row of each configuration.
        """
        return index_rows(np.ascontiguousarray(self.dataset.codes[:, variables]))[:2]

    def estimate(self, child: int, parents: Sequence[int]) -> tuple[Floats, FamilyEstimate]:
        """Return the counts of a family, axes as in its table, and how they were estimated.

        The counts sum to the weight of the rows that observe the family, or for factored
        estimators of those used.
        """
        if self.method == "cca" and self.complete.n_rows:
            return self.counted(self.complete, child, parents, "cca")
        if self.method == "cca":
            return self.counted(self.dataset, child, parents, "aca")
        if self.method in ("aca", "d-mcar") or self.is_full[[*parents, child]].all():
            return self.counted(self.dataset, child, parents, self.method)
        informed, separators = self.separators, None
        if informed is not None:
            separators = sorted(
                frozenset().union(*(informed.get(v, ()) for v in (*parents, child)))
            )
        return self.mixed(child, parents, separators)

    def smooths(self, child: int, parents: Sequence[int]) -> bool:
        """Return whether the counts of a family have pseudo-counts already."""
        return (
            self.method == "f-mcar"
            and self.smoothing > 0
            and not self.is_full[[*parents, child]].all()
        )

    def counted(
        self, dataset: Dataset, child: int, parents: Sequence[int], name: str
    ) -> tuple[Floats, FamilyEstimate]:
        """Count a family in the rows of a table that observe it."""
        counts = full_counts(dataset, child, parents)
        used = observed = float(counts.sum())
        if dataset is not self.dataset:
            observed = self.observing([*parents, child])
        weights = {name: used} if used else {"prior": float(self.weights.sum())}
        variances = counted_variances(counts) if self.variances else None
        return counts, FamilyEstimate(used, observed, weights, variances=variances)

    def mixed(
        self, child: int, parents: Sequence[int], separators: Sequence[int] | None
    ) -> tuple[Floats, FamilyEstimate]:
        """Mix the distributions of a family's partially observed members over groups of rows."""
        shape, family = table_shape(self.dataset, child, parents), [*parents, child]
        rest = [] if self.method == "f-mcar" else [v for v in family if self.is_full[v]]
        members = [v for v in family if v not in rest]
        groups = self._groups(family, rest, separators)
        used, observed = float(groups.weights.sum()), self.observing(family)
        table = np.zeros((groups.n_rest, prod(shape) // groups.n_rest))
        defect, weights, sums = 0.0, {}, np.zeros((3, *table.shape))
        for name in (self.method, *_WEAKER.get(self.method, ())):
            if not groups.weights.any():
                break
            of_factors = self.smoothing if name == "f-mcar" else 0.0
            found = mixture(self.dataset, members, groups, self.aggregation, of_factors)
            table, defect = table + found.table, defect + found.defect
            weights[name] = float(groups.weights[found.supported].sum())
            if self.variances and self.method != "f-mcar":
                sums += second_moments(self.dataset, members, groups, child)
            groups = groups.by_rest(~found.supported, self._configurations(rest))
        weights["prior"] = float(groups.weights.sum())
        if not observed:
            weights = {"prior": used}  # of the factors that no row supports, in f-mcar
        n = used if self.aggregation else observed or used
        counts = table * (n / max(float(table.sum()), 1e-300))
        order = [*rest, *members]
        sizes, places = self.dataset.cardinalities[order], [order.index(v) for v in family]

        def in_order(numbers: Floats) -> Floats:
            return numbers.reshape(sizes).transpose(places).reshape(shape)

        variances = None
        if self.variances and self.method == "f-mcar":
            rows = full_counts(self.dataset, child, parents).sum(axis=-1, keepdims=True)
            variances = np.where(rows > 0, counted_variances(in_order(table), rows), 1.0)
        elif self.variances:
            variances = direct_variances(np.stack([*map(in_order, sums)]), in_order(table))
        weights = {name: weight for name, weight in weights.items() if weight}
        names = None
        if separators is not None:
            names = tuple(self.dataset.names[v] for v in separators)
        defect /= max(used, 1e-300)
        return in_order(counts), FamilyEstimate(
            used, observed, weights, defect, names, variances=variances
        )

    def observing(self, variables: Sequence[int]) -> float:
        """Return the weight of the rows that observe some variables."""
        return float(self.weights @ self._observes(variables).all(axis=0))

    def _observes(self, variables: Sequence[int]) -> NDArray[np.bool_]:
        """Return whether each row observes each of some variables, shape (variables, rows)."""
        return self.dataset.codes.T[list(variables)] >= 0

    def _groups(
        self, family: Sequence[int], rest: Sequence[int], separators: Sequence[int] | None
    ) -> Groups:
        """Group rows by their context, the fully observed variables or separators of a family.

        For F-MCAR the rows that it uses are one group.
        """
        n_rest = prod(self.dataset.cardinalities[rest].tolist())
        if self.method == "f-mcar":
            useful = np.array([self.weights @ self._observes(family).any(axis=0)])
            return Groups(self._configurations(rest), np.zeros(1, np.int64), useful, 1)
        context = (
            np.flatnonzero(self.is_full).tolist() if separators is None else {*separators, *rest}
        )
        labels, first = self.contexts(tuple(sorted(context)))
        weights = weight_by(labels, self.weights, len(first))
        return Groups(labels, self._configurations(rest, first), weights, n_rest)

    def _configurations(
        self, variables: Sequence[int], rows: NDArray[np.int64] | None = None
    ) -> NDArray[np.int64]:
        """Return the number of the configuration of some fully observed variables in rows."""
        columns = self.dataset.codes.T[list(variables)]
        columns = columns if rows is None else columns[:, rows]
        return configurations(columns.T, self.dataset.cardinalities[list(variables)])
