"""Completing rows by a network: posteriors, most probable and drawn states of missing cells.

All by exact inference among the missing variables of each row
(:mod:`exactlearn.bayesnet.bucket_elimination`); weights of rows are ignored.

Given the observed cells of a row, missing variables that no chain of families with missing
variables connects are independent of each other, and depend on no observed variable outside of
their families. Each such group with those observed states is a *part* of the row. Few parts
differ, however many rows there are, so each is treated once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.kernel import in_place_kernel, kernel
from exactlearn.bayesnet.bucket_elimination import (
    NO_COUNTS,
    NO_POSTERIOR,
    expect_families,
    fill_cells,
)
from exactlearn.bayesnet.buckets import (
    PRUNED,
    Buckets,
    buckets,
    flat_tables,
    most_cells,
    space_for,
)
from exactlearn.bayesnet.network import BayesianNetwork, NetworkLike
from exactlearn.data.dataset import Dataset, DatasetLike, aligned_codes
from exactlearn.errors import DataError, OptionError, did_you_mean


@checked_arguments()
def posterior_cells(network: NetworkLike, dataset: DatasetLike) -> NDArray[np.float64]:
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
    parts, states = task.parts, task.states
    found = np.zeros((len(parts.codes), int(task.layout.state_first[-1])))
    logs = np.empty(len(parts.codes))
    space = space_for(task.layout, parts.codes)
    expect_families(
        task.layout, task.tables, parts.codes, parts.weights, space, logs, NO_COUNTS, found
    )
    task.refuse(np.isneginf(logs)[parts.of_cell])
    posterior = np.zeros((len(states), int(dataset.cardinalities.max(initial=0))))
    cells = np.arange(len(states))
    for k in range(states.shape[1]):
        some = cells[task.layout.cardinality[task.columns] > k]
        place = task.layout.state_first[task.columns[some]] + k
        posterior[some, states[some, k]] = found[parts.of_cell[some], place]
    return np.minimum(posterior, 1.0, out=posterior)  # rounding may leave 1.0000000000000002


@checked_arguments()
def most_probable_completion(network: NetworkLike, dataset: DatasetLike) -> NDArray[np.int64]:
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
    parts = task.parts
    return task.fill(parts.codes, parts.of_cell, np.empty((0, 0)))


@checked_arguments()
def draw_completions(
    network: NetworkLike, dataset: DatasetLike, draws: int, rng: np.random.Generator
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
    if draws < 0:
        raise OptionError(f"{draws} completions to draw: give a number that is 0 or more")
    task = _IncompleteRows(network, dataset)
    values = np.empty((draws, len(task.columns)), np.int64)
    for k in range(draws):
        values[k] = task.fill(task.codes, task.source, rng.random(task.codes.shape))
    return values


ROWS_AT_ONCE, CELLS_AT_ONCE = 65_536, 2**22
"""Most rows, and cells of these rows, whose parts are in memory together."""


def _rows_at_once(n_variables: int) -> int:
    return max(1, min(ROWS_AT_ONCE, CELLS_AT_ONCE // max(1, n_variables)))


def observed_log_likelihood_rows(network: BayesianNetwork, dataset: Dataset) -> NDArray[np.float64]:
    """Return :meth:`BayesianNetwork.log_likelihood_rows` where cells are missing."""
    least = dict(zip(dataset.names, dataset.codes.min(axis=0, initial=0).tolist(), strict=True))
    missing = {v for v, name in enumerate(network.names) if least.get(name, 0) < 0}
    layout, tables = buckets(network.parents, network.cardinalities, missing), flat_tables(network)
    with np.errstate(divide="ignore"):
        logs = [np.log(table) for table in network.tables]
    total, last = np.zeros(dataset.n_rows), network.order[::-1]
    at_once = _rows_at_once(network.n_variables)
    for first in range(0, max(1, dataset.n_rows), at_once):
        part = slice(first, first + at_once)
        codes = aligned_codes(dataset.part(part), network.names, network.states, first)
        for v, (family, table) in enumerate(zip(network.parents, logs, strict=True)):
            cells = codes[:, [*family, v]]
            observed = (cells >= 0).all(axis=1)
            total[part][observed] += table[tuple(cells[observed].T)]
        incomplete = np.flatnonzero(codes.min(axis=1, initial=0) < 0)
        found = _log_likelihood_of_parts(layout, tables, codes[incomplete], last)
        total[part][incomplete] += found
    return total


def log_likelihood_cells(network: BayesianNetwork, dataset: Dataset, *, sample: int = 500) -> float:
    """Return about how many table cells `BayesianNetwork.log_likelihood_rows` computes.

    Parameters
    ----------
    network, dataset
        As for `BayesianNetwork.log_likelihood_rows`.
    sample
        Most rows, spread evenly over the table, that the cells are counted in. Parts of rows that
        are equal in others are counted again, so that the true number may be smaller.

    Raises
    ------
    DataError
        When a variable is absent, or a row has a state that the network does not know.
    """
    n = dataset.n_rows
    chosen = np.zeros(n, np.bool_)
    chosen[np.linspace(0, n - 1, min(n, sample)).astype(np.int64)] = True
    codes = network.aligned_codes(dataset.part(chosen))
    missing = np.flatnonzero((codes < 0).any(axis=0)).tolist()
    layout = buckets(network.parents, network.cardinalities, missing)
    parts = missing_parts(layout, codes, np.ones(len(codes)), network.order[::-1])
    return most_cells(layout, parts.codes)[-1] * n / max(1, int(chosen.sum()))


def _log_likelihood_of_parts(
    layout: Buckets,
    tables: NDArray[np.float64],
    codes: NDArray[np.int16],
    parents_last: Sequence[int],
) -> NDArray[np.float64]:
    """Return the log probability of each row's families with missing cells, shape (rows,)."""
    parts = missing_parts(layout, codes, np.ones(len(codes)), parents_last)
    logs = np.empty(len(parts.codes))
    space = space_for(layout, parts.codes)
    expect_families(
        layout, tables, parts.codes, parts.weights, space, logs, NO_COUNTS, NO_POSTERIOR
    )
    return np.bincount(parts.rows, logs[parts.of_row], len(codes)).astype(np.float64)


@dataclass(frozen=True, eq=False)
class MissingParts:
    """The distinct parts of the rows of a table.

    Parameters
    ----------
    codes
        Codes of each part, -1 for its missing cells, shape (parts, variables); variables that do
        not matter have code 0.
    weights
        Total weight of the rows that have the part, shape (parts,).
    of_cell
        The part that each missing cell of the table is in, in row-major order, shape (cells,); -1
        for one of a barren variable that is left out.
    rows, of_row
        A row of the table and a part of it, in the order of the rows; shape (parts of rows,) each.
    """

    codes: NDArray[np.int16]
    weights: NDArray[np.float64]
    of_cell: NDArray[np.int64]
    rows: NDArray[np.int64]
    of_row: NDArray[np.int64]


def missing_parts(
    layout: Buckets,
    codes: NDArray[np.int16],
    weights: NDArray[np.float64],
    parents_last: Sequence[int] = (),
) -> MissingParts:
    """Return the distinct parts of the rows of a table.

    Parameters
    ----------
    layout
        The network's structure.
    codes, weights
        The table, -1 for a missing cell, shape (rows, variables), and the weight of each row.
    parents_last
        The variables, children before their parents: then the barren variables of each row, missing
        without an observed descendant, are left out. They do not change the probability of the
        observed cells. Without it, all missing variables are in some part.
    """
    order = np.array(parents_last, np.int64)
    parts, of_cell, rows, of_row = _split(layout, codes, order, int((codes < 0).sum()))
    totals = np.bincount(of_row, weights[rows], len(parts)).astype(np.float64)
    return MissingParts(parts, totals, of_cell, rows, of_row)


def part_blocks(
    layout: Buckets, dataset: Dataset, parents_last: Sequence[int] = ()
) -> Iterator[tuple[MissingParts, NDArray[np.int64], NDArray[np.int64]]]:
    """Yield the parts of the rows of positive weight, some rows at a time.

    Yields
    ------
    parts
        Distinct among these rows.
    rows, variables
        Where each missing cell of these rows is in the table, shape (cells,).
    """
    at_once = _rows_at_once(dataset.n_variables)
    for first in range(0, dataset.n_rows, at_once):
        some = dataset.part(slice(first, first + at_once))
        weights = some.row_weights
        rows = np.flatnonzero((some.codes.min(axis=1) < 0) & (weights > 0))
        codes = some.codes[rows].astype(np.int16)
        own, variables = np.nonzero(codes < 0)
        parts = missing_parts(layout, codes, weights[rows], parents_last)
        yield parts, first + rows[own], variables


@kernel
def _split(
    layout: Buckets, codes: NDArray[np.int16], parents_last: NDArray[np.int64], n_cells: int
) -> tuple[NDArray[np.int16], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct parts of all rows; that of each missing cell; rows and their parts."""
    n_rows, width = codes.shape
    parts, n = np.zeros((64, width), np.int16), 0
    hashes, slots = np.empty(64, np.uint64), np.full(256, -1, np.int64)
    masses = np.empty(64, np.int64)
    of_cell, cell = np.empty(n_cells, np.int64), 0
    rows, of_row, found = np.empty(n_cells, np.int64), np.empty(n_cells, np.int64), 0
    barren = np.zeros(width, np.bool_)
    label, stack = np.empty(width, np.int64), np.empty(width, np.int64)
    part, touched = np.zeros(width, np.int16), np.empty(width, np.int64)
    is_touched = np.zeros(width, np.bool_)
    for i in range(n_rows):
        label[:] = -1
        for v in parents_last:
            barren[v] = codes[i, v] < 0
            for t in range(layout.holder_first[v], layout.holder_first[v + 1]):
                barren[v] &= layout.holder[t] == v or barren[layout.holder[t]]
        for v in range(width):
            if codes[i, v] >= 0:
                continue
            if label[v] < 0 and not barren[v]:
                m = _gather(
                    layout, codes[i], barren, v, found, label, stack, part, touched, is_touched
                )
                # Look the part up among those before. An equal one has equal codes where this one
                # was written, and the same sum of all codes, so that its other codes are zero.
                mixed, mass = np.uint64(1469598103934665603), 0
                for t in range(m):
                    mass += abs(int(part[touched[t]]))
                    key = np.uint64(touched[t]) * np.uint64(65536) + np.uint64(part[touched[t]] + 2)
                    mixed = (mixed ^ key) * np.uint64(1099511628211)
                    mixed ^= mixed >> np.uint64(29)
                slot = np.int64(mixed & np.uint64(len(slots) - 1))
                while slots[slot] >= 0 and not (
                    hashes[slots[slot]] == mixed
                    and masses[slots[slot]] == mass
                    and _agree(parts[slots[slot]], part, touched, m)
                ):
                    slot = (slot + 1) & (len(slots) - 1)
                if slots[slot] < 0:
                    slots[slot] = n
                    hashes[n], masses[n] = mixed, mass
                    for t in range(width):
                        parts[n, t] = part[t]
                    n += 1
                rows[found], of_row[found] = i, slots[slot]
                found += 1
                for t in range(m):
                    part[touched[t]] = 0
                    is_touched[touched[t]] = False
                # Make room for as many again.
                if n == len(parts):
                    before, hashes_before, masses_before = parts, hashes, masses
                    parts = np.zeros((2 * n, width), np.int16)
                    hashes, masses = np.empty(2 * n, np.uint64), np.empty(2 * n, np.int64)
                    slots = np.full(8 * n, -1, np.int64)
                    for k in range(n):
                        hashes[k], masses[k] = hashes_before[k], masses_before[k]
                        for t in range(width):
                            parts[k, t] = before[k, t]
                        slot = np.int64(hashes[k] & np.uint64(len(slots) - 1))
                        while slots[slot] >= 0:
                            slot = (slot + 1) & (len(slots) - 1)
                        slots[slot] = k
            of_cell[cell] = of_row[label[v]] if label[v] >= 0 else -1
            cell += 1
    return parts[:n].copy(), of_cell, rows[:found].copy(), of_row[:found].copy()


@in_place_kernel
def _agree(
    one: NDArray[np.int16], other: NDArray[np.int16], columns: NDArray[np.int64], n: int
) -> bool:
    """Return whether two rows have the same codes in the first so many of some columns."""
    t = 0
    while t < n and one[columns[t]] == other[columns[t]]:
        t += 1
    return t == n


@in_place_kernel
def _gather(
    layout: Buckets,
    row: NDArray[np.int16],
    barren: NDArray[np.bool_],
    variable: int,
    number: int,
    label: NDArray[np.int64],
    stack: NDArray[np.int64],
    part: NDArray[np.int16],
    touched: NDArray[np.int64],
    is_touched: NDArray[np.bool_],
) -> int:
    """Label the missing variables connected with one, and copy what their families hold.

    The variables of these families are listed in ``touched``; returns how many they are.
    """
    label[variable] = number
    stack[0] = variable
    height, n = 1, 0
    while height > 0:
        height -= 1
        v = stack[height]
        for t in range(layout.holder_first[v], layout.holder_first[v + 1]):
            family = layout.holder[t]
            if barren[family]:
                if not is_touched[family]:
                    is_touched[family] = True
                    touched[n] = family
                    n += 1
                part[family] = PRUNED
                continue
            for k in range(layout.family_first[family], layout.family_first[family + 1]):
                u = layout.family[k]
                if not is_touched[u]:
                    is_touched[u] = True
                    touched[n] = u
                    n += 1
                part[u] = row[u]
                if row[u] < 0 and label[u] < 0:
                    label[u] = number
                    stack[height] = u
                    height += 1
    return n


class _IncompleteRows:
    """A network, the incomplete rows of a table, and the way between their codes."""

    def __init__(self, network: BayesianNetwork, dataset: Dataset) -> None:
        codes = network.aligned_codes(dataset)
        self.dataset = dataset
        self.rows, variables = dataset.missing_cells[:, 0], dataset.missing_cells[:, 1]
        self.columns = _columns(network, dataset)[variables]
        self.states = _states(network, dataset, self.columns)
        self.layout = buckets(network.parents, network.cardinalities, set(self.columns.tolist()))
        self.tables = flat_tables(network)
        self.incomplete, self.source = np.unique(self.rows, return_inverse=True)
        self.codes = codes[self.incomplete]

    @property
    def parts(self) -> MissingParts:
        """The distinct parts of the incomplete rows, their cells in the order of the table."""
        found = missing_parts(self.layout, self.codes, np.ones(len(self.codes)))
        number = np.empty(self.codes.shape, np.int64)
        number[self.codes < 0] = np.arange(len(found.of_cell))
        return replace(found, of_cell=found.of_cell[number[self.source, self.columns]])

    def fill(
        self, codes: NDArray[np.int16], of_cell: NDArray[np.int64], uniform: NDArray[np.float64]
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
        return self.states[np.arange(len(self.columns)), filled[of_cell, self.columns]]

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


def _columns(network: BayesianNetwork, dataset: Dataset) -> NDArray[np.int64]:
    """Return the network's variable of each column of the table; -1 where none is missing."""
    columns = np.full(dataset.n_variables, -1)
    for j in np.unique(dataset.missing_cells[:, 1]).tolist():
        if dataset.names[j] not in network.names:
            raise DataError(
                f"column {dataset.names[j]!r} has missing cells, but the network has no such "
                f"variable{did_you_mean(dataset.names[j], network.names)}: leave the column "
                "out, or use a network that has it"
            )
        columns[j] = network.names.index(dataset.names[j])
    return columns


def _states(
    network: BayesianNetwork, dataset: Dataset, columns: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the table's code of each state that the network knows, for each missing cell."""
    known = np.zeros((network.n_variables, int(network.cardinalities.max(initial=1))), np.int64)
    pairs = np.unique(np.column_stack((dataset.missing_cells[:, 1], columns)), axis=0)
    for j, v in pairs.tolist():
        for k, state in enumerate(network.states[v]):
            if state not in dataset.states[j]:
                raise DataError(
                    f"column {dataset.names[j]!r} has missing cells that may have the network's "
                    f"state {state!r}, which the table does not declare: add it to the states"
                )
            known[v, k] = dataset.states[j].index(state)
    return known[columns]
