r"""Parameters of a Bayesian network with a given DAG from incomplete data, by EM.

The E-step computes the expected counts of every family, exactly: with :math:`N_{u,x}` the sum over
the rows of :math:`P(u, x \mid \text{observed cells})`, the M-step is that of complete data, with
:math:`\alpha` added to every count (Lauritzen 1995, "The EM algorithm for graphical association
models with missing data"; lecture "Learning Bayesian networks from incomplete data", Freiburg
2004, lemma 2). Each iteration raises, or leaves, the *objective*

.. math:: \log P(\text{observed cells}) + \alpha \sum_{i,u,x} \log P_i(x \mid u) ;

without :math:`\alpha` that is the log-likelihood of the observed cells itself, which may fall a
little when :math:`\alpha > 0`.

Families without a missing cell in a row are counted once for all iterations, and inference visits
each distinct part of the incomplete rows once (:mod:`exactlearn.bayesnet.missing_parts`).

With the indicators of a missingness graph as sinks of the network, EM fits the parameters of both
to the observed cells and to which cells are missing. Its likelihood is that of the whole model, so
that the estimate is consistent whenever the graph is right and the whole model is identified, also
where cells are missing not at random.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from exactlearn._runtime.arguments import Check, checked_arguments, named
from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn._runtime.variable_arguments import Names, ParentsLike, parents_by_index
from exactlearn.bayesnet.ascent import STARTS, EMResult, EMState, fitted, is_over
from exactlearn.bayesnet.bucket_elimination import NO_POSTERIOR, expect_families
from exactlearn.bayesnet.buckets import (
    blocks,
    buckets,
    flat_tables,
    row_sizes,
    space_for,
    tables_of,
)
from exactlearn.bayesnet.complete_data import (
    SMOOTHING,
    checked_families,
    full_counts,
    smoothed,
    table_shape,
)
from exactlearn.bayesnet.missing_parts import missing_parts
from exactlearn.bayesnet.network import (
    BayesianNetwork,
    NetworkLike,
    as_network,
    subnetwork,
)
from exactlearn.data.codes import MISSING
from exactlearn.data.dataset import Dataset, DatasetLike, as_dataset, require_weight
from exactlearn.data.missingness_graph import MissingnessGraph, as_missingness_graph
from exactlearn.errors import DataError, OptionError

Floats = NDArray[np.float64]

EQUAL = 1e-9
"""Difference of two probabilities that is rounding."""


class NetworkEM:
    """The EM problem: the E-step and the M-step of a network's parameters.

    Parameters
    ----------
    dataset
        Rows with missing cells, possibly weighted.
    parents
        Parents of each variable of the table, by index.
    smoothing
        Pseudo-count of every parameter.
    leaves_out_barren
        Whether the expected counts leave out, row by row, barren variables: missing ones without an
        observed descendant. They do not change the likelihood, and without them inference is
        smaller and EM converges faster.
    control
        Looked at between blocks of work.

    Raises
    ------
    TooLargeError
        When the tables of exact inference are too large.
    """

    def __init__(
        self,
        dataset: Dataset,
        parents: Sequence[Sequence[int]],
        smoothing: float = SMOOTHING,
        *,
        leaves_out_barren: bool = True,
        control: SearchControl = UNLIMITED,
    ) -> None:
        self.control = control
        self.families = checked_families(dataset, parents, smoothing)
        self.dataset = dataset
        self.smoothing = smoothing
        weights = dataset.row_weights
        self.total_weight = require_weight(dataset)
        # Families that a row observes in full are counted once and for all.
        counts = [
            full_counts(dataset, child, ps) for child, ps in enumerate(self.families)
        ]
        self._shapes = [table.shape for table in counts]
        self.available = flat_tables(counts)
        # Checks for directed cycles and repeated parents before the first inference.
        order = self.model(self.maximise(np.ones_like(self.available))).order
        # Inference is for rows with missing cells, in their connected parts.
        is_incomplete = dataset.codes.min(axis=1, initial=0) < 0
        self._rows = np.flatnonzero(is_incomplete & (weights > 0))
        codes = dataset.codes[self._rows].astype(np.int16)
        self._layout = buckets(self.families, dataset.cardinalities, codes)
        parts = missing_parts(
            self._layout,
            codes,
            weights[self._rows],
            order[::-1] if leaves_out_barren else (),
        )
        self._codes = parts.codes
        self._weights = parts.weights
        # Blocks of about equal work, between which the control is looked at.
        work = row_sizes(self._layout, self._codes)[:, 0] + SMALL_WORK
        self._blocks = list(blocks(work, BLOCK_WORK))
        self._space = space_for(self._layout, self._codes)

    def model(self, parameters: Floats) -> BayesianNetwork:
        """Return the network with these flat parameters."""
        return network_of(self.dataset, self.families, parameters)

    def maximise(self, counts: Floats, smoothing: float | None = None) -> Floats:
        """Return the parameters that maximise the objective given flat expected counts."""
        smoothing = self.smoothing if smoothing is None else smoothing
        return flat_tables(smoothed(table, smoothing) for table in self.tables(counts))

    def e_step(self, iteration: int, parameters: Floats) -> EMState:
        """Return the state at some parameters, after so many iterations.

        Where the control ends the E-step before it has seen all parts of rows, log-likelihood
        and objective are not known (nan).

        Raises
        ------
        DataError
            If a row is impossible under them.
        """
        # Families without missing cells were counted before; inference counts the others.
        counts = self.available.copy()
        logs = np.zeros(len(self._codes))
        for k, block in enumerate(self._blocks):
            if k > 0 and is_over(self.control):
                return EMState(iteration, parameters, counts, np.nan, np.nan)
            expect_families(
                self._layout,
                parameters,
                self._codes[block],
                self._weights[block],
                self._space,
                logs[block],
                counts,
                NO_POSTERIOR,
            )
        of_parts = float(self._weights @ logs)
        # Families observed in full add the logarithms of their parameters.
        log_likelihood = float(xlogy(self.available, parameters).sum()) + of_parts
        if log_likelihood == -np.inf:
            self._refuse(parameters)
        objective = log_likelihood
        # Pseudo-counts are a Dirichlet prior, whose log density joins the objective.
        if self.smoothing:
            with np.errstate(divide="ignore"):
                objective += self.smoothing * float(np.log(parameters).sum())
        return EMState(iteration, parameters, counts, log_likelihood, objective)

    def m_step(self, state: EMState) -> Floats:
        """Return the parameters that maximise the objective given the counts of a state.

        A distribution without counts stays as it is, without pseudo-counts.
        """
        if self.smoothing:
            return self.maximise(state.counts)
        counts = state.counts.copy()
        parameters = self.tables(state.parameters)
        for table, before in zip(self.tables(counts), parameters, strict=True):
            is_empty = table.sum(axis=-1) <= 0
            table[is_empty] = before[is_empty]
        return self.maximise(counts)

    def normalised(self, parameters: Floats) -> Floats:
        """Return parameters in proportion to some, each distribution with the sum one."""
        return self.maximise(parameters, 0.0)

    def tables(self, flat: Floats) -> list[Floats]:
        """Return a view of each variable's table among flat numbers."""
        return tables_of(flat, self._shapes)

    def symmetric(self, parameters: Floats) -> tuple[str, ...]:
        """Return the variables in whose states parameters are symmetric, and remain so under EM.

        They have missing cells and children, and no child depends on them, neither now nor after
        a step: nothing distinguishes their states, as those of a variable that no row observes.

        Raises
        ------
        DataError
            If a row is impossible under the parameters.
        """
        symmetric = self._without_dependents(parameters)
        if symmetric:
            following = self.m_step(self.e_step(0, parameters))
            symmetric &= self._without_dependents(following)
        return tuple(self.dataset.names[v] for v in sorted(symmetric))

    def _without_dependents(self, parameters: Floats) -> set[int]:
        """Return the variables with missing cells and children, none of which depends on them."""
        dependents: set[int] = set()
        parents: set[int] = set()
        for table, family in zip(self.tables(parameters), self.families, strict=True):
            parents.update(family)
            # Tables that are equal along an axis do not depend on its variable.
            for axis, v in enumerate(family):
                if np.ptp(table, axis=axis).max() > EQUAL:
                    dependents.add(v)
        is_missing = (self.dataset.codes[self._rows] < 0).any(axis=0)
        missing = {*np.flatnonzero(is_missing).tolist()}
        return missing & parents - dependents

    def _refuse(self, parameters: Floats) -> None:
        """Raise an error that names an impossible row."""
        logs = self.model(parameters).log_likelihood_rows(self.dataset)
        is_impossible = np.isneginf(logs) & (self.dataset.row_weights > 0)
        row = int(is_impossible.argmax())
        raise DataError(
            f"{self.dataset.row_place(row)}: the observed cells have probability zero under the "
            "parameters to start from; use a network with smoothed parameters, or leave the start "
            "out"
        )


BLOCK_WORK = 2.0**25
"""Table cells between two looks at the control: some tenths of a second."""

SMALL_WORK = 500.0
"""Work for a part besides its cells, in cells."""

TOLERANCE = 1e-6
"""Gain of the objective for each row (unit of weight) below which EM ends."""

MAX_ITERATIONS = 1000
"""Most iterations from each start."""


def _with_hidden_variables(
    value: Any,
    name: str,
    states: Mapping[str, Sequence[str]] | None,
) -> Dataset:
    """Return a table with a column for each hidden variable, all its cells missing."""
    dataset = as_dataset(value, name)
    if not states:
        return dataset
    for variable in states:
        if variable in dataset.names:
            raise OptionError(
                f"states: expected hidden variables, found the column {variable!r}; leave it out, "
                "and declare its states where the table is read"
            )
    shape = (dataset.n_rows, len(states))
    unobserved = np.full(shape, MISSING, dataset.codes.dtype)
    return replace(
        dataset,
        codes=np.hstack([dataset.codes, unobserved]),
        names=(*dataset.names, *states),
        states=(*dataset.states, *map(tuple, states.values())),
    )


def _parents_with_hidden(
    value: Any,
    name: str,
    names: Names,
) -> tuple[tuple[int, ...], ...]:
    """Return the parents of each variable by index; an error says how to declare hidden ones."""
    try:
        return parents_by_index(value, name, names)
    except OptionError as error:
        raise OptionError(
            f"{error}; a hidden variable needs declared states, as in states={{'L': ['0', '1']}}"
        ) from None


@checked_arguments(
    dataset=Check(_with_hidden_variables, lambda given: (given["states"],), stage=1),
    parents=named(_parents_with_hidden),
    start=as_network,
)
def fit_em(
    dataset: DatasetLike,
    parents: ParentsLike,
    *,
    smoothing: float = SMOOTHING,
    starts: int | None = None,
    tolerance: float = TOLERANCE,
    iterations: int = MAX_ITERATIONS,
    seed: int = 0,
    on_iteration: Callable[[EMState], None] | None = None,
    start: NetworkLike | None = None,
    time_limit: float | None = None,
    states: Mapping[str, Sequence[str]] | None = None,
) -> EMResult[BayesianNetwork]:
    """Estimate the tables of a network with given parents from data with missing cells.

    Parameters
    ----------
    dataset
        Table with or without missing cells; rows count by their weights.
    parents
        Parents of each variable of the table, and behind these of each hidden one; a mapping from
        variables to their parents; arcs; or a graph, of networkx or by
        :func:`exactlearn.read_graph`. Their order is that of the table's axes.
    smoothing
        Smoothing added to every expected count, finite, at least zero.
    starts
        Number of starts, of which that with the best objective is returned. The first is ``start``
        or, without it, each family's relative frequencies among the rows that observe it, raised
        by ``smoothing`` but at least by one; the others are random. Left out, one, or five when the
        first is symmetric in the states of a variable, as in those of one that no row observes.
    tolerance
        EM ends when an iteration gains no more than this per row (unit of weight).
    iterations
        Most iterations from each start.
    seed
        Seed of the random starts; same seed, same network.
    on_iteration
        Called with the first state of each start and after each iteration.
    start
        What EM starts from: a network with the same variables, states and parents, or a result that
        has one, such as that of :func:`~exactlearn.bayesnet.deletion.fit_deletion`. Parameters that
        are zero stay so unless ``smoothing`` > 0.
    time_limit
        Seconds after which no other iteration and no other start begins, and an E-step ends before
        it has seen all rows. If that is the first one, the parameters are those to start from, and
        the log-likelihood is nan.
    states
        States of hidden variables, which are no columns of the table and stand behind these in
        the network. How their states are called is arbitrary: any order of them is as likely.

    Returns
    -------
    EMResult
        The best start's network and its ascent.

    Raises
    ------
    OptionError
        When an option is out of range, there is not one parent set of column indices for each
        variable, the parents hold a directed cycle, or ``start`` is another network.
    DataError
        When no row has weight, a variable stands among its own parents or a parent twice, or a
        row is impossible under ``start``.
    TooLargeError
        When a table is too large, or the missing cells of a row depend on each other too much.
    CheckError
        If the objective falls by more than rounding.

    Examples
    --------
    >>> data = Dataset(np.array([[0], [0], [1], [-1]]), ("a",), (("no", "yes"),))
    >>> fit_em(data, [()], smoothing=0.0).model.tables[0].round(3)
    array([0.667, 0.333])
    >>> smoke_and_cough = Dataset([[0, 0], [0, 0], [1, 1]], ("s", "c"), (("no", "yes"),) * 2)
    >>> arcs = [("habit", "s"), ("habit", "c")]
    >>> fit_em(smoke_and_cough, arcs, states={"habit": ["0", "1"]}).model.names
    ('s', 'c', 'habit')
    """
    control = SearchControl(time_limit)
    problem = NetworkEM(dataset, parents, smoothing, control=control)
    first = _first(problem, start)
    symmetric = problem.symmetric(first)
    # Symmetric states are told apart by random starts only.
    starts = starts or (STARTS if symmetric else 1)
    rng = np.random.default_rng(seed)
    random = [rng.exponential(size=len(first)) for _ in range(starts - 1)]
    return fitted(
        problem,
        [first, *(problem.normalised(counts) for counts in random)],
        symmetric,
        iterations=iterations,
        tolerance=tolerance,
        on_iteration=on_iteration,
        control=control,
    )


def network_of(
    dataset: Dataset,
    parents: Sequence[Sequence[int]],
    parameters: Floats,
) -> BayesianNetwork:
    """Return a network from its parameters, the table of one variable after the other."""
    families = tuple(map(tuple, parents))
    shapes = [table_shape(dataset, v, family) for v, family in enumerate(families)]
    tables = tuple(tables_of(parameters, shapes))
    return BayesianNetwork(dataset.names, dataset.states, families, tables)


def _first(problem: NetworkEM, start: BayesianNetwork | None) -> Floats:
    """Return the parameters of the first start."""
    # Without pseudo-counts, parameters that are zero stay so.
    frequencies = problem.maximise(problem.available, max(1.0, problem.smoothing))
    if start is None:
        return frequencies
    like = problem.model(frequencies)
    # Tables of the start, axes in the order of the parents given.
    start = start.reordered(like)
    start_families = [{*family} for family in start.parents]
    if start_families != [{*family} for family in like.parents]:
        raise OptionError(
            "the network to start from must have the same parents: leave the start out, or change "
            "it"
        )
    tables = []
    for v, family in enumerate(like.parents):
        axes = [start.parents[v].index(parent) for parent in family]
        tables.append(start.tables[v].transpose([*axes, -1]))
    return flat_tables(tables)


@checked_arguments(missingness=as_missingness_graph)
def fit_with_indicators(
    dataset: DatasetLike,
    parents: ParentsLike,
    missingness: MissingnessGraph,
    **options: Any,
) -> EMResult[BayesianNetwork]:
    """Fit a network with the indicators of a missingness graph as its last variables by EM.

    Parameters
    ----------
    dataset
        Table with missing cells.
    parents
        Parents of each of its variables.
    missingness
        What the missing cells depend on; its text will do.
    options
        Those of :func:`~exactlearn.bayesnet.em.fit_em`.

    Returns
    -------
    EMResult
        With the network of both; :func:`without_indicators` drops the indicators.

    Examples
    --------
    >>> import numpy as np
    >>> from exactlearn.data.dataset import Dataset
    >>> data = Dataset(np.array([[0], [0], [1], [-1]]), ("a",), (("no", "yes"),))
    >>> whole = fit_with_indicators(data, [()], "a <-", smoothing=0.0).model
    >>> [table.round(3) for table in whole.tables]
    [array([0.667, 0.333]), array([0.75, 0.25])]
    >>> without_indicators(whole, MissingnessGraph({"a": ()})).names
    ('a',)
    """
    families = [*parents, *missingness.parents(dataset.names)]
    return fit_em(missingness.extended(dataset), families, **options)


def without_indicators(
    network: BayesianNetwork, missingness: MissingnessGraph
) -> BayesianNetwork:
    """Return a network without the indicators of a missingness graph, its last variables."""
    return subnetwork(network, range(network.n_variables - len(missingness.causes)))
