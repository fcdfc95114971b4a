"""Rows under a network, by bucket elimination: posteriors, most probable and drawn states.

All by exact inference among the missing variables of each row
(:mod:`exactlearn.bayesnet.bucket_elimination`); weights of rows are ignored.
Queries take it in place of compilation where the clique tree is small, or the decision graph large.
"""

from functools import lru_cache
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.number_arguments import SIZE
from exactlearn.bayesnet.bucket_elimination import fill_cells, marginals
from exactlearn.bayesnet.buckets import (
    Buckets,
    buckets,
    flat_tables,
    row_sizes,
    space_for,
)
from exactlearn.bayesnet.missing_parts import missing_parts
from exactlearn.bayesnet.network import (
    BayesianNetwork,
    NetworkLike,
    log_probability_of_families,
    normalised,
    without_irrelevant_parents,
)
from exactlearn.data.dataset import Dataset, DatasetLike
from exactlearn.errors import DataError, did_you_mean

Floats = NDArray[np.float64]

MAX_LAYOUTS = 8
"""Number of layouts that are kept, for queries with the same variables observed."""

_NORMALISED: WeakKeyDictionary[BayesianNetwork, BayesianNetwork] = WeakKeyDictionary()


def prepared(network: BayesianNetwork) -> BayesianNetwork:
    """Return the network with normalised tables and without parents that do not matter.

    It is made once, as long as the network is in use.
    """
    if network not in _NORMALISED:
        _NORMALISED[network] = without_irrelevant_parents(normalised(network))
    return _NORMALISED[network]


def elimination_cells(network: BayesianNetwork, codes: NDArray[np.int16]) -> float:
    """Return the cells of all tables that inference on some rows computes, row by row."""
    sizes = row_sizes(_layout(network, codes), codes)
    return float(sizes[:, 0].sum())


def eliminated(
    network: BayesianNetwork, codes: NDArray[np.int16]
) -> tuple[Floats, Floats]:
    """Return posterior marginals and log-likelihoods of rows.

    Parameters
    ----------
    codes
        State numbers, shape (rows, variables); -1 for a missing cell.

    Returns
    -------
    posteriors
        Shape (rows, states of all variables one after the other); an observed state has 1, and an
        impossible row nothing.
    log_likelihoods
        Shape (rows,); ``-inf`` for an impossible row.

    Raises
    ------
    TooLargeError
        When the tables of some row would have too many cells.
    """
    layout = _layout(network, codes)
    posterior, logs = marginals(layout, flat_tables(network.tables), codes)
    logs += log_probability_of_families(network, codes)
    for variable in np.flatnonzero((codes >= 0).any(axis=0)).tolist():
        seen = np.flatnonzero(codes[:, variable] >= 0)
        state = layout.state_first[variable] + codes[seen, variable]
        posterior[seen, state] = 1.0
    posterior[np.isneginf(logs)] = 0.0
    # Rounding may leave 1.0000000000000002.
    return np.minimum(posterior, 1.0, out=posterior), np.minimum(logs, 0.0, out=logs)


def _layout(network: BayesianNetwork, codes: NDArray[np.int16]) -> Buckets:
    """Return the buckets of some rows; the last ones made are kept, for rows like these."""
    missing = (codes < 0).any(axis=0).tobytes()
    return _cached_layout(
        network.parents,
        tuple(network.cardinalities.tolist()),
        missing,
    )


@lru_cache(MAX_LAYOUTS)
def _cached_layout(
    parents: tuple[tuple[int, ...], ...],
    cardinalities: tuple[int, ...],
    missing: bytes,
) -> Buckets:
    codes = -np.frombuffer(missing, np.int8)[np.newaxis]
    return buckets(parents, np.array(cardinalities, np.int64), codes)


@checked_arguments()
def posterior_cells(network: NetworkLike, dataset: DatasetLike) -> Floats:
    """Return the posterior distribution of each missing cell given the observed ones of its row.

    Parameters
    ----------
    network
        Network over the table's variables; variables and states are matched by name.
    dataset
        Table with missing cells.

    Returns
    -------
    posterior
        Probabilities, shape (missing cells, states of the largest variable): in the order of
        ``dataset.missing_cells``, the states in the order of the table; zero beyond a variable's
        states.

    Raises
    ------
    DataError
        When a variable of either is not in the other, a row has a state that the network does not
        know, or the observed cells around a missing one have probability zero.
    TooLargeError
        When the missing cells of a row depend on each other too much for exact inference.

    Examples
    --------
    >>> network = BayesianNetwork(
    ...     ("rain", "wet"),
    ...     (("no", "yes"),) * 2,
    ...     ((), (0,)),
    ...     (np.array([0.8, 0.2]), np.array([[0.75, 0.25], [0.0, 1.0]])),
    ... )
    >>> table = Dataset(np.array([[-1, 1]]), network.names, network.states)
    >>> posterior_cells(network, table)
    array([[0.5, 0.5]])
    """
    task = _IncompleteRows(network, dataset)
    codes, of_cell = task.parts()
    marginal, logs = marginals(task.layout, task.tables, codes)
    task.refuse(np.isneginf(logs)[of_cell])
    largest = dataset.cardinalities.max(initial=0)
    posterior = np.zeros((len(of_cell), largest))
    # Every state of every missing cell, in the network's order and in the table's.
    n_states = task.layout.cardinality[task.columns]
    is_state = np.arange(task.states.shape[1]) < n_states[:, np.newaxis]
    cells, k = np.nonzero(is_state)
    places = task.layout.state_first[task.columns[cells]] + k
    posterior[cells, task.states[cells, k]] = marginal[of_cell[cells], places]
    # Rounding may leave 1.0000000000000002.
    return np.minimum(posterior, 1.0, out=posterior)


@checked_arguments()
def most_probable_completion(
    network: NetworkLike, dataset: DatasetLike
) -> NDArray[np.int64]:
    """Return the jointly most probable states of each row's missing cells (MPE).

    Parameters
    ----------
    network, dataset
        As for :func:`posterior_cells`.

    Returns
    -------
    values
        State of each missing cell, in the order of ``dataset.missing_cells``; of equally probable
        completions always the same one.

    Raises
    ------
    DataError, TooLargeError
        As :func:`posterior_cells` does.

    Examples
    --------
    >>> network = BayesianNetwork(("a",), (("no", "yes"),), ((),), (np.array([0.3, 0.7]),))
    >>> most_probable_completion(network, Dataset(np.array([[-1]]), ("a",), network.states))
    array([1])
    """
    task = _IncompleteRows(network, dataset)
    return task.fill(*task.parts(), np.empty((0, 0)))


@checked_arguments(draws=SIZE)
def draw_completions(
    network: NetworkLike,
    dataset: DatasetLike,
    draws: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Draw completions from the joint posterior of each row's missing cells.

    Parameters
    ----------
    network, dataset
        As for :func:`posterior_cells`.
    draws
        Number of completions of the whole table, at least 0.
    rng
        Source of randomness; same generator state, same completions.

    Returns
    -------
    values
        States in the order of ``dataset.missing_cells``, shape (draws, missing cells). Rows are
        drawn independently of each other.

    Raises
    ------
    OptionError
        When ``draws`` is negative.
    DataError, TooLargeError
        As :func:`posterior_cells` does.

    Examples
    --------
    >>> import exactlearn as el
    >>> table, network = el.read_dataset("asia-mnar"), el.read_network("asia")
    >>> values = draw_completions(network, table, 3, np.random.default_rng(1))
    >>> values.shape, table.complete(values[0]).is_complete
    ((3, 16), True)
    """
    task = _IncompleteRows(network, dataset)
    values = np.empty((draws, len(task.columns)), np.int64)
    for k in range(draws):
        uniform = rng.random(task.codes.shape)
        values[k] = task.fill(task.codes, task.source, uniform)
    return values


class _IncompleteRows:
    """A network, the incomplete rows of a table, and the way between their codes."""

    def __init__(self, network: BayesianNetwork, dataset: Dataset) -> None:
        codes = network.aligned_codes(dataset)
        self.dataset = dataset
        rows, variables = dataset.missing_cells.T
        columns, states = _variables_and_states(network, dataset)
        self.columns: NDArray[np.int64] = columns[variables]
        self.states: NDArray[np.int64] = states[self.columns]
        # Complete rows have nothing to infer.
        incomplete, self.source = np.unique(rows, return_inverse=True)
        self.codes = codes[incomplete]
        self.layout = buckets(network.parents, network.cardinalities, self.codes)
        self.tables = flat_tables(network.tables)

    def parts(self) -> tuple[NDArray[np.int16], NDArray[np.int64]]:
        """Return the distinct parts of the incomplete rows, and that of each cell of the table."""
        parts = missing_parts(self.layout, self.codes, np.ones(len(self.codes)))
        # From cells of the network to cells of the table, whose order differs.
        of_cell = np.empty(self.codes.shape, np.int64)
        of_cell[self.codes < 0] = parts.of_cell
        return parts.codes, of_cell[self.source, self.columns]

    def fill(
        self,
        codes: NDArray[np.int16],
        of_cell: NDArray[np.int64],
        uniform: Floats,
    ) -> NDArray[np.int64]:
        """Complete some rows as `fill_cells` does; return the table's state of each cell."""
        filled = np.empty_like(codes)
        impossible = fill_cells(
            self.layout,
            self.tables,
            codes,
            np.arange(len(codes)),
            uniform,
            space_for(self.layout, codes),
            filled,
        )
        if impossible >= 0:
            self.refuse(of_cell == impossible)
        # From the network's states to the table's.
        cells = np.arange(len(self.columns))
        return self.states[cells, filled[of_cell, self.columns]]

    def refuse(self, impossible: NDArray[np.bool_]) -> None:
        """Raise a `DataError` when any of the missing cells has an impossible neighbourhood."""
        cells = np.flatnonzero(impossible)
        if len(cells):
            row, variable = self.dataset.missing_cells[cells[0]].tolist()
            raise DataError(
                f"{self.dataset.row_place(row)}, missing cell of {self.dataset.names[variable]!r}: "
                "the row's observed cells have probability zero under the network, so the cell has "
                "no posterior; correct the row, or use smoothed parameters (smoothing > 0)"
            )


def _variables_and_states(
    network: BayesianNetwork, dataset: Dataset
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the network's variable of each column of the table, and the codes of its states.

    Of columns without missing cells, -1 and nothing.
    """
    columns = np.full(dataset.n_variables, -1)
    codes = np.zeros(
        (network.n_variables, int(network.cardinalities.max(initial=1))), np.int64
    )
    for j in np.unique(dataset.missing_cells[:, 1]).tolist():
        name = dataset.names[j]
        states = dataset.states[j]
        if name not in network.names:
            raise DataError(
                f"column {name!r} has missing cells, but the network has no such "
                f"variable{did_you_mean(name, network.names)}: leave the column "
                "out, or use a network that has it"
            )
        columns[j] = v = network.names.index(name)
        # Every state that the network may choose must have a code in the table.
        for k, state in enumerate(network.states[v]):
            if state not in states:
                raise DataError(
                    f"column {name!r} has missing cells that may have the network's state "
                    f"{state!r}, which the table does not declare: add it to the states"
                )
            codes[v, k] = states.index(state)
    return columns, codes
