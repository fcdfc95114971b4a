"""Incomplete rows as weighted complete ones: the expected counts of all families at once.

A row with missing cells stands for its completions, each weighted by its posterior probability
under a network. Counting the weighted rows gives the expected counts of *every* family, not only
the network's own (Friedman 1997, "Learning belief networks in the presence of missing values and
hidden variables").
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.row_table import group_rows
from exactlearn.bayesnet.bucket_elimination import fill_cells, list_completions
from exactlearn.bayesnet.buckets import Buckets, Space, buckets, flat_tables, space_for
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError, OptionError

LARGEST_EXPANSION = 2**18
"""Most completions that all rows together stand for."""

DRAWS = 128
"""Most draws that stand for a row with too many completions."""


@dataclass(frozen=True, eq=False)
class Expansion:
    """A complete weighted table that stands for an incomplete one.

    Parameters
    ----------
    table
        Completions as rows, weighted by posterior probability times the weight of their row.
    drawn_rows
        Number of distinct rows with too many completions to list, for which draws from the
        posterior stand. Without any, all expected counts are exact.
    """

    table: Dataset
    drawn_rows: int


def expand(
    network: BayesianNetwork, dataset: Dataset, *, completions: int = 512, seed: int = 0
) -> Expansion:
    """Weight the completions of each row by their posterior probabilities.

    Parameters
    ----------
    network
        Network over the table's variables and states, in its order.
    dataset
        Table with missing cells.
    completions
        Most completions of a row that are all listed; for a row with more stand up to `DRAWS`
        draws from its joint posterior, of equal weight. The number is halved while all rows
        together would have more than `LARGEST_EXPANSION`.
    seed
        Seed of the draws.

    Raises
    ------
    OptionError
        When ``completions`` is below 1, or the network has other variables or states.
    DataError
        When a row's observed cells have probability zero.
    TooLargeError
        When the missing cells of a row depend on each other too much for exact inference.

    Examples
    --------
    >>> network = BayesianNetwork(("a",), (("no", "yes"),), ((),), (np.array([0.25, 0.75]),))
    >>> table = Dataset(np.array([[-1], [1]]), network.names, network.states)
    >>> found = expand(network, table).table
    >>> found.codes.ravel().tolist(), found.weights.tolist()
    ([1, 0, 1], [1.0, 0.25, 0.75])
    """
    if completions < 1:
        raise OptionError(f"{completions} completions of a row: list at least 1")
    if (network.names, network.states) != (dataset.names, dataset.states):
        raise OptionError("the network must have the table's variables and states, in its order")
    weights = dataset.row_weights
    codes = dataset.codes.astype(np.int16)
    incomplete = (codes < 0).any(axis=1)
    labels, first = group_rows(codes[incomplete].astype(np.int32))
    task = _IncompleteRows(network, codes[incomplete][first])
    masses = np.bincount(labels, weights[incomplete], len(first)).astype(np.float64)
    most = _fitting(task.n_completions, completions)
    many = task.n_completions > most
    parts = [
        (codes[~incomplete], weights[~incomplete]),
        task.listed(np.flatnonzero(~many), masses),
        task.drawn(np.flatnonzero(many), masses, min(most, DRAWS), np.random.default_rng(seed)),
    ]
    table = replace(
        dataset,
        codes=np.concatenate([rows for rows, _ in parts]),
        weights=np.concatenate([mass for _, mass in parts]),
    )
    return Expansion(table, int(many.sum()))


def _fitting(n_completions: NDArray[np.float64], most: int) -> int:
    """Return how many completions a row may have when all together must not be too many."""
    while most > 1:
        many = n_completions > most
        if n_completions[~many].sum() + many.sum() * min(most, DRAWS) <= LARGEST_EXPANSION:
            break
        most //= 2
    return most


class _IncompleteRows:
    """The distinct incomplete rows of a table, and what inference in a network needs."""

    def __init__(self, network: BayesianNetwork, codes: NDArray[np.int16]) -> None:
        self.codes = codes
        missing = codes < 0
        self.n_completions = np.where(missing, network.cardinalities, 1.0).prod(axis=1)
        self.layout: Buckets = buckets(
            network.parents,
            network.cardinalities,
            set(np.flatnonzero(missing.any(axis=0)).tolist()),
        )
        self.tables = flat_tables(network)
        self.space: Space = space_for(self.layout, codes)

    def listed(
        self, rows: NDArray[np.int64], masses: NDArray[np.float64]
    ) -> tuple[NDArray[np.int16], NDArray[np.float64]]:
        """Return all completions of some rows, and their weights."""
        most = int(self.n_completions[rows].sum())
        source, probability = np.empty(most, np.int64), np.empty(most)
        completed = np.empty((most, self.codes.shape[1]), np.int16)
        n = list_completions(
            self.layout,
            self.tables,
            self.codes[rows],
            self.space,
            source,
            completed,
            probability,
        )
        _refuse_impossible(n < 0)
        return completed[:n], masses[rows][source[:n]] * probability[:n]

    def drawn(
        self,
        rows: NDArray[np.int64],
        masses: NDArray[np.float64],
        draws: int,
        rng: np.random.Generator,
    ) -> tuple[NDArray[np.int16], NDArray[np.float64]]:
        """Return draws from the posterior of some rows, and their weights."""
        source = np.repeat(np.arange(len(rows)), draws)
        completed = np.empty((len(source), self.codes.shape[1]), np.int16)
        impossible = fill_cells(
            self.layout,
            self.tables,
            self.codes[rows],
            source,
            rng.random(completed.shape),
            self.space,
            completed,
        )
        _refuse_impossible(impossible >= 0)
        return completed, masses[rows][source] / draws


def _refuse_impossible(impossible: bool) -> None:
    if impossible:
        raise DataError(
            "the observed cells of a row have probability zero under the network, so its "
            "completions have none: use a network with smoothed parameters (alpha > 0)"
        )
