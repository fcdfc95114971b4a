"""Expected counts of families of incomplete rows under a network: the E-step over structures.

A row with missing cells adds to the counts of a set of variables the joint posterior of those that
it lacks, for every set of up to a size exactly: the product over the parts of the row of their
joint posteriors (:mod:`exactlearn.bayesnet.missing_parts`). These counts are those of one
complete weighted table, that of all completions by their posterior probabilities (Friedman 1997,
"Learning belief networks in the presence of missing values and hidden variables"), which is never
written out: a row with m missing binary cells would have :math:`2^m` of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn._runtime.display import Displayed
from exactlearn.bayesnet.bucket_elimination import fill_cells
from exactlearn.bayesnet.buckets import Buckets, buckets, flat_tables, space_for
from exactlearn.bayesnet.missing_parts import (
    MissingParts,
    missing_parts,
    subset_posteriors,
    subset_sizes,
)
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.counts import distinct_weighted
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError
from exactlearn.scoring.scores import Score, family_score, total_weight
from exactlearn.scoring.set_tables import (
    MissingCells,
    Rows,
    count_set,
    counting_space,
    index_rows,
)

MOST_CELLS = 2**26
"""Most posterior probabilities that are kept, half a GiB."""

DRAWS = 128
"""Draws that stand for a row whose parts need more."""


@dataclass(frozen=True, eq=False, repr=False)
class ExpectedCounts(Displayed, shown="variables=order total most drawn_rows finished"):
    """The expected counts of all families up to a size, tabulated where they are asked for.

    Parameters
    ----------
    order, rows
        The variables in an order that suits counting; the rows, by variables in that order.
    total
        Weight of all rows.
    most
        Largest number of variables of a family.
    drawn_rows
        Number of distinct rows for which draws stand; without any, all counts are exact.
    finished
        Whether no control cut the posteriors short; the counts are of no use otherwise.
    """

    order: NDArray[np.int32]
    rows: Rows
    total: float
    most: int
    drawn_rows: int
    finished: bool

    def family(self, child: int, parents: Sequence[int]) -> NDArray[np.float64]:
        """Return the expected counts of a family, an axis for each parent and one for the child."""
        members = [*parents, child]
        size = len(members)
        place = np.argsort(self.order)[members]
        subset = np.sort(place)
        stack, entries = counting_space(self.rows, size, every=True)
        count_set(
            subset.astype(np.int32),
            self.rows,
            stack,
            entries,
        )
        # The prefix holds the set from its last element to its first.
        shape = self.rows.cardinalities[subset[::-1]]
        cells = stack.totals[size, : shape.prod()]
        axes = size - 1 - np.searchsorted(subset, place)
        return cells.reshape(shape).transpose(axes)

    def score(self, child: int, parents: Sequence[int], score: Score) -> float:
        """Return the score of a family from its expected counts."""
        table = self.family(child, parents)
        table = table.reshape(-1, table.shape[-1])
        return family_score(
            table,
            float(len(table)),
            score,
            self.total,
        )


def expected_counts(
    network: BayesianNetwork,
    dataset: Dataset,
    most: int,
    *,
    seed: int = 0,
    control: SearchControl = UNLIMITED,
    most_cells: int = MOST_CELLS,
) -> ExpectedCounts:
    """Return the expected counts of the families of incomplete rows under a network.

    Parameters
    ----------
    network
        Network over the table's variables and states, in any order.
    dataset
        Table with missing cells.
    most
        Largest number of variables of a family, at least 1.
    seed
        Seed of the draws.
    control
        Looked at between blocks of parts of rows.
    most_cells
        Most posterior probabilities that are kept. Where there are more, up to `DRAWS` draws from
        the posterior stand for each row with the parts that need most.

    Raises
    ------
    OptionError
        When the network has other variables or states.
    DataError
        When a row's observed cells have probability zero.
    TooLargeError
        When the missing cells of a row depend on each other too much for exact inference.

    Examples
    --------
    >>> network = BayesianNetwork(("a",), (("no", "yes"),), ((),), (np.array([0.25, 0.75]),))
    >>> table = Dataset(np.array([[-1], [1]]), network.names, network.states)
    >>> expected_counts(network, table, 1).family(0, ())
    array([0.25, 1.75])
    """
    network = network.reordered(dataset)
    all_codes = dataset.codes.astype(np.int16)
    codes, masses, _ = distinct_weighted(all_codes, dataset.weights)
    cardinalities = network.cardinalities
    tables = flat_tables(network.tables)
    layout = buckets(network.parents, cardinalities, codes)
    parts = missing_parts(layout, codes, masses)
    # Draws stand for the rows with the parts that need most posterior probabilities.
    is_large = _are_large(parts, cardinalities, most, most_cells)
    is_drawn = np.zeros(len(codes), np.bool_)
    is_drawn[parts.pair_row[is_large[parts.pair_part]]] = True
    drawn, drawn_masses = _drawn(
        layout,
        tables,
        codes[is_drawn],
        masses[is_drawn],
        seed,
    )
    # The other parts get the joint posteriors of their sets of variables.
    states = np.where(codes < 0, cardinalities, 1)
    missing_states = (states - 1) * masses[:, None]
    order = np.argsort(-missing_states.sum(axis=0), kind="stable")
    posteriors, impossible = subset_posteriors(
        layout,
        tables,
        parts.codes[~is_large],
        order,
        most,
        control,
    )
    _refuse_impossible(impossible)
    number = np.cumsum(~is_large) - 1
    part = np.full(codes.shape, -1, np.int32)
    part[codes < 0] = number[parts.of_cell]
    part = part[:, order]
    place = _places_in_parts(part)
    # Both kinds of rows, by variables in the order that suits counting.
    is_exact = ~is_drawn
    blank = np.full(drawn.shape, -1)
    missing = MissingCells(
        part=_columns(part[is_exact], blank),
        place=_columns(place[is_exact], blank),
        entries=_most_entries(states[is_exact], most) + len(drawn),
        posteriors=posteriors,
    )
    weights = np.concatenate([masses[is_exact], drawn_masses])
    columns = _columns(codes[is_exact][:, order], drawn[:, order])
    return ExpectedCounts(
        order=order.astype(np.int32),
        rows=index_rows(columns, weights, cardinalities[order], missing),
        total=total_weight(dataset),
        most=most,
        drawn_rows=int(is_drawn.sum()),
        finished=not control.is_over,
    )


def _are_large(
    parts: MissingParts,
    cardinalities: NDArray[np.int64],
    most: int,
    most_cells: int,
) -> NDArray[np.bool_]:
    """Return a mask of the parts that are left when the smallest take ``most_cells``, (parts,)."""
    _, cells = subset_sizes(parts.codes, cardinalities, most)
    ranked = np.argsort(cells, kind="stable")
    is_beyond = np.cumsum(cells[ranked]) > most_cells
    is_large = np.empty(len(cells), np.bool_)
    is_large[ranked] = is_beyond
    return is_large


def _places_in_parts(part: NDArray[np.int32]) -> NDArray[np.int16]:
    """Return the place of each cell among those before it in its part, shape (rows, variables)."""
    place = np.zeros(part.shape, np.int16)
    for v in range(1, part.shape[1]):
        is_same = part[:, :v] == part[:, v, None]
        place[:, v] = is_same.sum(axis=1)
    return place


def _most_entries(states: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Return the largest number of entries that rows have for prefixes of each size.

    ``states`` are those of each cell, one where it is observed, shape (rows, variables).
    """
    falling = np.sort(states, axis=1)[:, ::-1]
    largest = falling[:, :most]
    ones = np.ones((len(states), 1), np.int64)
    products = np.concatenate([ones, largest], axis=1).cumprod(axis=1)
    return np.asarray(products.sum(axis=0), np.int64)


def _columns(exact: NDArray[Any], drawn: NDArray[np.integer]) -> NDArray[Any]:
    """Return the rows of two tables by columns, as the first table's kind of numbers."""
    together = np.concatenate([exact, drawn.astype(exact.dtype)])
    return np.ascontiguousarray(together.T)


def _drawn(
    layout: Buckets,
    tables: NDArray[np.float64],
    codes: NDArray[np.int16],
    masses: NDArray[np.float64],
    seed: int,
) -> tuple[NDArray[np.int16], NDArray[np.float64]]:
    """Return draws from the joint posterior of some rows, and the weight of each draw."""
    if not len(codes):
        return codes, masses
    source = np.repeat(np.arange(len(codes)), DRAWS)
    completed = np.empty((len(source), codes.shape[1]), np.int16)
    uniform = np.random.default_rng(seed).random(completed.shape)
    impossible = fill_cells(
        layout,
        tables,
        codes,
        source,
        uniform,
        space_for(layout, codes),
        completed,
    )
    _refuse_impossible(impossible)
    return completed, masses[source] / DRAWS


def _refuse_impossible(row: int) -> None:
    """Refuse rows whose observed cells have probability zero, of which one is given, or -1."""
    if row >= 0:
        raise DataError(
            "the observed cells of a row have probability zero under the network, so its missing "
            "cells have no posterior: use a network with smoothed parameters (smoothing > 0)"
        )
