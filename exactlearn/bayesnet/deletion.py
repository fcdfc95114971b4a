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

Factored deletion: each order of the variables :math:`Y_1, \dots, Y_k` factorises :math:`P(Y)` into
conditional probabilities, and each factor can be estimated in the rows that observe its own
variables. The :math:`k!` factorisations share the :math:`2^k` nodes of a lattice: node S has an
estimate of :math:`P(Y_S)` from each of its variables i,

.. math:: P(Y_{S \setminus i}) \, \frac{N_S(y_S)}{\sum_{y_i} N_S(y_S)} ,

with :math:`N_S` the weight of the rows that observe S, and aggregates them (Figure 2). The paper
leaves open the variances of its inverse-variance weights. Here that of an edge is the mean relative
variance of its estimates, :math:`\sum_y \operatorname{Var}(y) / P(y)`: by the delta method
:math:`(K_S - K_{S \setminus i}) / N_S + v(S \setminus i)`, with K the number of configurations and
:math:`N_S` the weight of all rows that observe S; and v of a node is the weighted mean of those of
its edges, an upper bound whatever their correlation. These weights do not depend on the estimates,
so that they bias none, and edges that sum to one remain so.

Pseudo-counts are added to :math:`n P(Y)`, with n the weight of the rows that observe the family,
of all rows for ``f-mar`` and ``if-mar``: without missing cells that is eq. 4.15 of Nielsen's
thesis. ``f-mcar``, also where it replaces these two, estimates each factor of a family with missing
cells as a distribution of its own,

.. math:: \frac{N_S(y_S) + \alpha}{\sum_{y_i} N_S(y_S) + \alpha r_i} ,

and :math:`N_S + \alpha K_S` stands for :math:`N_S` in the variances: a configuration that no row
has then gets what the factors over fewer variables say of it. The default of 1/4 is near the best
for unseen rows over many networks and numbers of rows; 1 is up to twice as far from networks with
near-deterministic tables.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.argument_kinds import one_of
from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.display import Displayed
from exactlearn._runtime.hash_tables import index_rows, weight_by
from exactlearn._runtime.variable_arguments import ParentsLike
from exactlearn.bayesnet.buckets import blocks
from exactlearn.bayesnet.complete_data import (
    SMOOTHING,
    checked_families,
    full_counts,
    smoothed,
    table_shape,
)
from exactlearn.bayesnet.network import LARGEST_TABLE, BayesianNetwork
from exactlearn.bayesnet.recoverability import Recovery
from exactlearn.bayesnet.separators import Separators, separators_of_indicators
from exactlearn.data.counts import configurations
from exactlearn.data.dataset import Dataset, DatasetLike
from exactlearn.errors import OptionError, TooLargeError

Floats = NDArray[np.float64]

Aggregation = Literal["mean", "inverse-variance"]

DeletionMethod = Literal[
    "cca", "aca", "d-mcar", "f-mcar", "d-mar", "f-mar", "id-mar", "if-mar"
]
DELETION_METHODS: tuple[DeletionMethod, ...] = get_args(DeletionMethod)

_MIN_VARIANCE = 1e-30
"""Variance of a certain estimate: its weight stays finite."""

_BLOCK = 2.0**21
"""Counts of groups of rows that are factorised together."""


@dataclass(frozen=True)
class FamilyEstimate:
    """The rows and estimators behind the estimated distribution of a family.

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
    separators
        Of informed deletion: what the indicators of the family's variables with missing cells
        depend on.
    recovery
        Of the estimates by a missingness graph: the family's formula, or why there is none.
    """

    rows: float
    observed: float
    weights: Mapping[str, float]
    separators: tuple[str, ...] | None = None
    recovery: Recovery | None = None


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
        named = zip(self.model.names, self.families, strict=True)
        return tuple(
            name for name, family in named if {*family.weights} != {self.method}
        )


@checked_arguments(
    method=one_of(DELETION_METHODS), aggregation=one_of(get_args(Aggregation))
)
def fit_deletion(
    dataset: DatasetLike,
    parents: ParentsLike,
    *,
    method: DeletionMethod = "d-mar",
    smoothing: float = SMOOTHING,
    aggregation: Aggregation = "inverse-variance",
    separators: Separators = None,
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
    families = checked_families(dataset, parents, smoothing)
    if separators is not None and not method.startswith("i"):
        raise OptionError(
            f"separators: method {method!r} takes none; use 'id-mar' or 'if-mar'"
        )
    estimator = FamilyEstimator(dataset, method, aggregation, separators, smoothing)
    estimates = []
    smoothings = []
    for child, family in enumerate(families):
        estimates.append(estimator.estimate(child, family))
        # F-MCAR has smoothed the factors of families with missing cells.
        has_factors = method == "f-mcar" and not estimator.observes_all(child, family)
        smoothings.append(0.0 if has_factors else smoothing)
    return network_of_counts(dataset, families, method, estimates, smoothings)


def network_of_counts(
    dataset: Dataset,
    families: tuple[tuple[int, ...], ...],
    method: DeletionMethod | Literal["graph"],
    estimated: Iterable[tuple[Floats, FamilyEstimate]],
    smoothings: Iterable[float],
) -> DeletionFit:
    """Return the network of families' counts with pseudo-counts, and their estimates."""
    counts, estimates = zip(*estimated, strict=True)
    tables = tuple(map(smoothed, counts, smoothings))
    return DeletionFit(
        BayesianNetwork(dataset.names, dataset.states, families, tables),
        method,
        estimates,
    )


class _Groups(NamedTuple):
    """Groups of rows whose distributions are mixed.

    Attributes
    ----------
    labels
        The group of each row.
    configuration
        The configuration of the fully observed members of a family in each group.
    weights
        The weight of each group in the mixture.
    """

    labels: NDArray[np.integer]
    configuration: NDArray[np.int64]
    weights: Floats


class FamilyEstimator:
    """Estimates the families of a network from the rows of positive weight.

    Parameters
    ----------
    dataset, method, aggregation, separators, smoothing
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
    ) -> None:
        counting = dataset.row_weights > 0
        self.dataset = dataset if counting.all() else dataset.part(counting)
        self.method = method
        self.smoothing = smoothing
        self.aggregation = aggregation
        self.weights = self.dataset.row_weights
        # Where rows support nothing, F-MAR leaves it to F-MCAR, and D-MAR to D-MCAR.
        weaker = method.removeprefix("i").replace("-mar", "-mcar")
        self.methods = tuple(dict.fromkeys((method, weaker)))
        self.is_factored = "f-" in method
        self.informed: dict[int, frozenset[int]] | None = None
        if method.startswith("i"):
            self.informed = separators_of_indicators(
                self.dataset,
                self.is_full,
                separators,
            )

    @cached_property
    def is_full(self) -> NDArray[np.bool_]:
        """Whether every row observes each variable."""
        return np.asarray(self.dataset.codes.min(axis=0, initial=0) >= 0)

    @cached_property
    def complete(self) -> Dataset:
        """The rows without missing cells."""
        return self.dataset.part(self.dataset.complete_rows)

    def observes_all(self, child: int, parents: Sequence[int]) -> bool:
        """Return whether every row observes a family."""
        return bool(self.is_full[[*parents, child]].all())

    def estimate(
        self,
        child: int,
        parents: Sequence[int],
    ) -> tuple[Floats, FamilyEstimate]:
        """Return the counts of a family, axes as in its table, and their estimate.

        The counts sum to the weight of the rows that observe the family, or for factored
        estimators of those used.
        """
        if self.method == "cca" and self.complete.n_rows:
            return self.counted(self.complete, child, parents, "cca")
        if self.method == "cca":
            return self.counted(self.dataset, child, parents, "aca")
        if self.method in ("aca", "d-mcar") or self.observes_all(child, parents):
            return self.counted(self.dataset, child, parents, self.method)
        if self.informed is None:
            return self.mixed(child, parents, None)
        separators = [self.informed.get(v, frozenset()) for v in (*parents, child)]
        return self.mixed(child, parents, sorted(frozenset().union(*separators)))

    def counted(
        self,
        dataset: Dataset,
        child: int,
        parents: Sequence[int],
        name: str,
    ) -> tuple[Floats, FamilyEstimate]:
        """Count a family in the rows of a table that observe it."""
        counts = full_counts(dataset, child, parents)
        used = float(counts.sum())
        weights = {name: used} if used else {"prior": float(self.weights.sum())}
        observed = self.observing([*parents, child])
        return counts, FamilyEstimate(used, observed, weights)

    def mixed(
        self,
        child: int,
        parents: Sequence[int],
        separators: Sequence[int] | None,
    ) -> tuple[Floats, FamilyEstimate]:
        """Mix the distributions of a family's partially observed members over groups of rows.

        Parameters
        ----------
        child, parents
            The family, of which some row lacks a member.
        separators
            Fully observed variables that the groups of rows agree on, beside those of the family;
            all of them where there is ``None``.

        Returns
        -------
        As :meth:`estimate` does.
        """
        shape = table_shape(self.dataset, child, parents)
        family = [*parents, child]
        # F-MCAR factorises all members, the others those that some row lacks.
        is_fixed = self.is_full & (self.method != "f-mcar")
        fixed = [v for v in family if is_fixed[v]]
        members = [v for v in family if not is_fixed[v]]
        labels = self._configurations(fixed)
        n_labels = int(self.dataset.cardinalities[fixed].prod())
        groups = self._groups(family, fixed, labels, separators)
        used = float(groups.weights.sum())
        # Groups without support are left to the weaker estimator, and at last to the prior.
        mixture = self._factored if self.is_factored else self._direct
        table = np.zeros(prod(shape))
        weights: dict[str, float] = {}
        for method in self.methods:
            smoothing = self.smoothing * (method == "f-mcar")
            part, supported = mixture(members, groups, len(table), smoothing)
            table += part
            weights[method] = float(groups.weights[supported].sum())
            configuration = groups.configuration[~supported]
            left = weight_by(configuration, groups.weights[~supported], n_labels)
            groups = _Groups(labels, np.arange(n_labels), left)
        weights["prior"] = float(groups.weights.sum())
        observed = self.observing(family)
        if not observed:  # of the factors that no row supports, in f-mcar
            weights = {"prior": used}
        # The counts, in proportion to the mixture, with the axes of the family.
        n = used if self.is_factored else observed or used
        order = [*fixed, *members]
        counts = table * (n / max(float(table.sum()), 1e-300))
        counts = counts.reshape(self.dataset.cardinalities[order])
        names = self.dataset.names
        estimate = FamilyEstimate(
            rows=used,
            observed=observed,
            weights={method: weight for method, weight in weights.items() if weight},
            separators=None
            if separators is None
            else (*(names[v] for v in separators),),
        )
        return counts.transpose([order.index(v) for v in family]), estimate

    def _groups(
        self,
        family: Sequence[int],
        fixed: Sequence[int],
        labels: NDArray[np.int64],
        separators: Sequence[int] | None,
    ) -> _Groups:
        """Return the groups of rows whose distributions are mixed.

        For F-MCAR they are one group of the rows that it uses, those that observe a member; else
        the contexts: the configurations of separators, or of all fully observed variables.
        ``labels`` has the configuration of the family's ``fixed`` members in each row.
        """
        if self.method == "f-mcar":
            observes_some = (self.dataset.codes.T[family] >= 0).any(axis=0)
            return _Groups(
                labels,
                configuration=np.zeros(1, np.int64),
                weights=np.array([self.weights @ observes_some]),
            )
        if separators is None:
            context = np.flatnonzero(self.is_full).tolist()
        else:
            context = sorted({*separators, *fixed})
        codes: NDArray[np.integer] = self.dataset.codes[:, context]
        contexts, first = index_rows(np.ascontiguousarray(codes))
        weights = weight_by(contexts, self.weights, len(first))
        return _Groups(contexts, labels[first], weights)

    def _direct(
        self,
        members: Sequence[int],
        groups: _Groups,
        size: int,
        smoothing: float,
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Sum the weighted distributions of some variables in groups of rows.

        Returns
        -------
        Weights, shape (configurations of the other variables and of these,); and which groups have
        a weight and a row that observes the variables: the others add nothing.
        """
        columns = self.dataset.codes[:, members]
        sizes = self.dataset.cardinalities[members]
        observing = (columns >= 0).all(axis=1)
        labels = groups.labels[observing]
        weights = self.weights[observing]
        totals = weight_by(labels, weights, len(groups.weights))
        weights = weights * (groups.weights * reciprocal(totals))[labels]
        cells = configurations(columns[observing], sizes, groups.configuration[labels])
        return weight_by(cells, weights, size), totals > 0

    def _factored(
        self,
        members: Sequence[int],
        groups: _Groups,
        size: int,
        smoothing: float,
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Sum the weighted aggregates of all factorisations, as `_direct` does."""
        columns = self.dataset.codes[:, members]
        sizes = self.dataset.cardinalities[members]
        lattice = prod((sizes + 1).tolist())
        if lattice > LARGEST_TABLE:
            names = ", ".join(self.dataset.names[v] for v in members)
            raise TooLargeError(
                f"the factorisations of {names} would take {lattice} counts, more than "
                f"{LARGEST_TABLE}: use fewer parents, or a method of direct deletion"
            )
        # Without pseudo-counts a group needs a row that observes all members.
        supported = groups.weights > 0
        if not smoothing:
            observing = (columns >= 0).all(axis=1)
            labels = groups.labels[observing]
            supported &= weight_by(labels, self.weights[observing], len(supported)) > 0
        numbers = np.flatnonzero(supported)
        is_used = supported[groups.labels]
        labels = np.searchsorted(numbers, groups.labels[is_used])
        cells = configurations(columns[is_used], sizes + 1, labels)
        weights = self.weights[is_used]
        # The lattices of a block of groups at a time.
        table = np.zeros(size)
        for block in blocks(np.full(len(numbers), float(lattice)), _BLOCK):
            n = block.stop - block.start
            inside = (labels >= block.start) & (labels < block.stop)
            places = cells[inside] - block.start * lattice
            counts = weight_by(places, weights[inside], n * lattice)
            distributions = factored_distributions(
                counts.reshape(n, *(sizes + 1)),
                self.aggregation,
                smoothing,
            )
            group = numbers[block]
            width = distributions.shape[1]
            first = groups.configuration[group, np.newaxis] * width
            distributions *= groups.weights[group, np.newaxis]
            places = first + np.arange(width)
            table += weight_by(places.ravel(), distributions.ravel(), size)
        return table, supported

    def observing(self, variables: Sequence[int]) -> float:
        """Return the weight of the rows that observe some variables."""
        is_observed = (self.dataset.codes.T[list(variables)] >= 0).all(axis=0)
        return float(self.weights @ is_observed)

    def _configurations(self, variables: Sequence[int]) -> NDArray[np.int64]:
        """Return the number of the configuration of some fully observed variables in each row."""
        return configurations(
            self.dataset.codes[:, variables], self.dataset.cardinalities[variables]
        )


def factored_distributions(
    counts: Floats,
    aggregation: Aggregation,
    smoothing: float,
) -> Floats:
    """Estimate the joint distribution of some variables in each of several groups of rows.

    Parameters
    ----------
    counts
        Weight of the rows of each group with each state of each variable, of those that lack it
        last; shape (groups, states + 1 of each variable).
    aggregation
        How the estimates of a node are combined.
    smoothing
        Pseudo-count of each cell of a factor.

    Returns
    -------
    distributions
        The probability of each configuration, shape (groups, configurations).

    Examples
    --------
    >>> counts = np.array([[[2.0, 0.0, 4.0], [0.0, 2.0, 0.0], [0.0, 0.0, 0.0]]])
    >>> factored_distributions(counts, "inverse-variance", 0.0).round(3)
    array([[0.636, 0.   , 0.   , 0.364]])
    """
    k = counts.ndim - 1
    sizes = [n - 1 for n in counts.shape[1:]]
    axes = tuple(range(1, k + 1))
    no_variable = (len(counts), *[1] * k)
    estimates = [np.ones(no_variable)]
    variances = [np.zeros(len(counts))]
    for node in range(1, 2**k):
        # N_S, the weight of the rows that observe the variables of the node, S.
        inside = [i for i in range(k) if node >> i & 1]
        observed = counts
        for i in range(k):
            if i in inside:
                observed = observed.take(range(sizes[i]), i + 1)
            else:
                observed = observed.sum(axis=i + 1, keepdims=True)
        observed = observed + smoothing
        size = prod(sizes[i] for i in inside)
        inverse = reciprocal(observed.sum(axis=axes))
        # An estimate from the node without each of the variables, and its variance.
        edges = []
        spreads = []
        for i in inside:
            below = node ^ 1 << i
            factor = observed * reciprocal(observed.sum(i + 1, keepdims=True))
            edges.append(estimates[below] * factor)
            added = size - size // sizes[i]
            spreads.append(added * inverse + variances[below])
        # Their weighted mean.
        spread = np.stack(spreads)
        edge_weights = np.ones_like(spread)
        if aggregation == "inverse-variance":
            edge_weights /= np.maximum(spread, _MIN_VARIANCE)
        edge_weights /= edge_weights.sum(axis=0)
        estimates.append(np.einsum("eg,eg...->g...", edge_weights, np.stack(edges)))
        variances.append((edge_weights * spread).sum(axis=0))
    joint = estimates[-1].reshape(len(counts), -1)
    return joint * reciprocal(joint.sum(axis=1, keepdims=True))


def reciprocal(counts: Floats) -> Floats:
    """Return one divided by counts, zero for zero."""
    return np.divide(1.0, counts, out=np.zeros_like(counts), where=counts > 0)
