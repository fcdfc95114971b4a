"""Tables of any length: blocks of rows, and their distinct rows with weights.

What parameters are learned from is additive over rows: how much weight each configuration has, its
missing cells included. So equal rows of all blocks are merged into one row with their weight, and
memory is that of the distinct rows. Every function of this package takes such a weighted table.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

import numpy as np

from exactlearn._runtime import executors
from exactlearn._runtime.control import SearchControl
from exactlearn._runtime.display import Displayed
from exactlearn._runtime.hash_tables import WeightedRows
from exactlearn.data import ALL_VALUES
from exactlearn.data.codes import LARGEST, Column, LabelledRows, code_type
from exactlearn.data.coding import (
    CodingOptions,
    TableCoding,
    by_name,
    coded_rows,
    split_declared,
)
from exactlearn.data.dataset import (
    Dataset,
    as_dataset,
    column_without_weight,
    warn_of_columns_without_information,
)
from exactlearn.data.discretisation import drop_hint
from exactlearn.errors import DataError, OptionError, SolverError, as_written


class Sum(Protocol):
    """A sum over rows, which knows how many there were."""

    rows: int

    def add(self, rows: Any, /) -> object:
        """Add a block of rows."""

    def merge(self, part: Self, /) -> object:
        """Add the sum over the rows of another part of the table."""


S = TypeVar("S", bound=Sum)

BLOCK_BYTES = 2**24
"""Bytes of a file that are in memory at once."""


@dataclass(frozen=True, eq=False, repr=False)
class Blocks(Displayed, shown="sources variables states"):
    """A table of any length, read block by block: iterating gives each block as a `Dataset`.

    Parameters
    ----------
    read
        Yields the blocks of a source, given the arguments that name it.
    sources
        The arguments of each source, such as a file.
    states
        Declared states, by variable. The states of others are found in a first pass.
    missing
        Symbols of a missing cell.
    variables
        The columns that make up the blocks, in their order; without it, all columns.
    tidy
        Whether columns that are constant, missing or different in every row are left out.
    on_rows
        Called with the number of rows after each block.
    weights
        The column of weights, where there is one.

    Examples
    --------
    >>> import exactlearn as el
    >>> from exactlearn.instances import path
    >>> blocks = el.read_blocks(path("asia-mnar-complete.csv"))
    >>> [block.n_rows for block in blocks]
    [100]
    >>> blocks.with_states().states["smoke"]
    ('no', 'yes')
    >>> next(blocks.with_states().part(*blocks.sources[0])), blocks.merged()
    (Dataset(rows=100, variables=8), Dataset(rows=13, variables=8))
    """

    read: Callable[..., Iterator[LabelledRows]]
    sources: tuple[tuple[Any, ...], ...]
    states: Mapping[str, Sequence[str]]
    missing: Sequence[str]
    variables: tuple[str, ...] | None = None
    tidy: bool = False
    on_rows: Callable[[int], object] | None = None
    weights: str | None = None

    def __iter__(self) -> Iterator[Dataset]:
        """Yield the blocks in order, all with the same variables and states."""
        blocks = self.with_states()
        control = SearchControl.within()
        n_rows = 0
        has_weight = self.weights is None
        # A limit ends the blocks; the caller sees the rows that were read.
        for source in self.sources:
            if control.is_over:
                return
            for block in blocks.part(*map(executors.computed, source)):
                n_rows += block.n_rows
                has_weight = has_weight or bool(block.row_weights.any())
                yield block
        if n_rows and not has_weight and not control.is_over:
            raise column_without_weight(self.sources[0][0], self.weights, n_rows)

    def part(self, *source: Any) -> Iterator[Dataset]:
        """Yield the blocks of one source, until the search is over."""
        control = SearchControl.within()
        for rows in self.read(*source):
            of_variables = rows.chosen(self.variables)
            states = {x.name: self.states[x.name] for x in of_variables.columns}
            options = CodingOptions(states, self.missing)
            yield Dataset(**coded_rows(of_variables, options))
            if self.on_rows is not None:
                self.on_rows(len(rows.lines))
            if control.is_over:
                return

    def with_states(self, client: Any = None) -> "Blocks":
        """Return the blocks with all variables and states known; reads them where any is not.

        Raises
        ------
        DataError
            When columns are constant, entirely missing, or their values do not repeat.
        SolverError
            When the search that this runs in ended before.
        """
        categorical, declared = split_declared(self.states)
        if self.variables is not None and {*self.variables} <= {*declared}:
            return self
        # A first pass over all sources, which may end early.
        labels = _Labels(self)
        for part in _results(self, _labels_of, client):
            labels.merge(part)
        if SearchControl.within().is_over:
            raise SolverError(
                "the time was over before the states of all variables were found: declare them "
                f"({as_written('states')}), or give it more time"
            )
        by_name(self.states, "states", labels.names)  # refuses what is no column
        # The columns are coded like those of one table.
        names = self.variables or labels.names
        undeclared = [name for name in names if name not in declared]
        columns = [*labels.columns.values()]
        rows = LabelledRows(labels.source, columns, _NO_ROWS).chosen(undeclared)
        all_values = dict.fromkeys(categorical, ALL_VALUES)
        options = CodingOptions(all_values, self.missing, tidy=self.tidy)
        coding = TableCoding.fit(rows, options, is_part=bool(declared))
        states = {**self.states, **coding.states}
        variables = tuple(name for name in names if name in states)
        return replace(self, variables=variables, states=states)

    def merged(self, client: Any = None) -> Dataset:
        """Return the distinct rows with their weights, see :func:`merge_rows`."""
        blocks = self.with_states(client)
        names = blocks.variables or ()
        empty = partial(DistinctRows, names, [blocks.states[name] for name in names])
        table = summed(blocks, empty, client).dataset()
        warn_of_columns_without_information(table, self.states)
        return table


_NO_ROWS = np.zeros(0, np.int64)


class _Labels:
    """The labels of undeclared columns with how many cells have each, without rows.

    Attributes
    ----------
    blocks
        The table.
    rows
        How many rows were read.
    source
        The file that was read last.
    names
        The columns of the table.
    columns
        The labels of each undeclared column, by name.
    """

    def __init__(self, blocks: Blocks) -> None:
        self.blocks = blocks
        self.rows = 0
        self.source: Path | None = None
        self.names: tuple[str, ...] = ()
        self.columns: dict[str, Column] = {}

    def add(self, rows: LabelledRows) -> None:
        """Add the labels of a block, and those that it lists."""
        self.source = rows.source
        self.rows += len(rows.lines)
        self.names = self.names or tuple(column.name for column in rows.columns)
        # Columns with declared states need no first pass.
        _, declared = split_declared(self.blocks.states)
        undeclared = {*(self.blocks.variables or self.names)} - {*declared}
        for column in rows.columns:
            if column.name not in undeclared:
                continue
            read = column.read(self.blocks.missing)
            rows.require_listed(read)
            if self._add_column(read) > LARGEST:
                raise DataError(
                    f"{rows.place(column)}: more than {LARGEST} different values; "
                    f"{drop_hint(column.name)}, or declare its states, which may be bins of "
                    "numbers such as '<=2.5' and '>2.5'"
                )

    def merge(self, part: "_Labels") -> None:
        """Add those of another part of the table."""
        self.source = self.source or part.source
        self.names = self.names or part.names
        self.rows += part.rows
        for column in part.columns.values():
            self._add_column(column)

    def _add_column(self, column: Column) -> int:
        """Add the labels of a column; return how many there are now."""
        name = column.name
        before = self.columns.get(name, Column(name, (), _NO_ROWS))
        # Listed states stand first, in their order, though no cell may have them.
        counts: Counter[str] = Counter(dict.fromkeys(column.listed, 0))
        for part in (before, column):
            counts.update(dict(zip(part.labels, part.counts, strict=False)))
        labels = tuple(counts)
        self.columns[name] = Column(
            name=name,
            labels=labels,
            codes=_NO_ROWS,
            totals=(*counts.values(), before.counts[-1] + column.counts[-1]),
            listed=labels if before.listed or column.listed else (),
            arity=max(before.arity, column.arity),
        )
        return len(labels)


def _labels_of(blocks: Blocks, *source: Any) -> _Labels:
    return summed(blocks.read(*source), partial(_Labels, blocks))


def _results(
    blocks: Blocks,
    function: Callable[..., S],
    client: Any,
) -> Iterator[S]:
    """Yield the result of a function, of the blocks and a source's arguments, for each source."""
    bare = replace(
        blocks,
        sources=(),
        on_rows=None if client else blocks.on_rows,
    )
    for result in executors.results(partial(function, bare), blocks.sources, client):
        if client and blocks.on_rows is not None:  # a worker cannot call it
            blocks.on_rows(result.rows)
        yield result


def summed(
    blocks: Iterable[Any],
    empty: Callable[[], S],
    client: Any = None,
) -> S:
    """Return a sum over all rows, or over those read when the search is over.

    Parameters
    ----------
    blocks
        The rows.
    empty
        Returns a sum over no row; a cluster imports it by its name.
    client
        The client of a cluster, which sums over parts of what :func:`exactlearn.read_blocks` names.

    Examples
    --------
    >>> table = Dataset(np.array([[0], [0]]), ("smoke",), (("no", "yes"),))
    >>> summed([table, table], lambda: DistinctRows(table.names, table.states)).rows
    4
    """
    total = empty()
    if client is not None and isinstance(blocks, Blocks):
        for part in _results(blocks, partial(_sum_of_part, empty), client):
            total.merge(part)
        return total
    for block in blocks:
        total.add(block)
    return total


def _sum_of_part(empty: Callable[[], S], blocks: Blocks, *source: Any) -> S:
    return summed(blocks.part(*source), empty)


class DistinctRows:
    """Different rows with their weights, to which blocks of rows are added.

    Parameters
    ----------
    names, states
        Variables and states, as of a :class:`~exactlearn.data.dataset.Dataset`.

    Examples
    --------
    >>> table = Dataset(np.array([[0], [-1], [0]]), ("smoke",), (("no", "yes"),))
    >>> rows = DistinctRows(table.names, table.states)
    >>> rows.add(table)
    >>> rows.add(table)
    >>> rows.dataset().codes.ravel().tolist(), rows.dataset().weights.tolist()
    ([0, -1], [4.0, 2.0])
    """

    def __init__(self, names: Sequence[str], states: Sequence[Sequence[str]]) -> None:
        self.names = tuple(names)
        self.states = tuple(map(tuple, states))
        self.rows = 0
        largest = max(map(len, self.states), default=0)
        self._table = WeightedRows(len(self.names), code_type(largest))

    def add(self, block: Dataset) -> None:
        """Add the rows of a table.

        Raises
        ------
        DataError
            When it has other variables or states.
        """
        if (block.names, block.states) != (self.names, self.states):
            raise DataError(
                "blocks of one table need the same variables with the same states, in the same "
                "order: code them with declared states, as read_dataset(path, states=...) does"
            )
        self._table.add(block.codes, block.row_weights)
        self.rows += block.n_rows

    def merge(self, part: "DistinctRows") -> None:
        """Add the rows of another part of the table."""
        self._table.add(part._table.codes, part._table.weights)
        self.rows += part.rows

    def dataset(self) -> Dataset:
        """Return the rows in the order in which they came first, with their weights."""
        return Dataset(
            self._table.codes,
            self.names,
            self.states,
            self._table.weights,
        )


def merge_rows(blocks: Iterable[Dataset], *, cluster: Any = None) -> Dataset:
    """Merge the equal rows of blocks into one weighted table of distinct rows.

    Parameters
    ----------
    blocks
        What :func:`exactlearn.read_blocks` returns, or any tables (or pandas frames) with the same
        variables and states.
    cluster
        Where what :func:`exactlearn.read_blocks` names is read: in this process, or by a Dask
        cluster: ``"local"`` (a process for each core), ``"local:2"``, the address of a scheduler,
        or a ``distributed.Client``.

    Returns
    -------
    table
        The distinct rows in the order in which they stand first, whatever the blocks; the weight
        of each is the sum of those of its rows.

    Raises
    ------
    DataError, FormatError, OptionError, MissingExtraError
        As :func:`exactlearn.read_blocks`; a `DataError` when tables have other variables or states.

    Examples
    --------
    >>> table = Dataset(np.array([[0, 1], [0, -1], [0, 1]]), ("a", "b"), (("no", "yes"),) * 2)
    >>> merged = merge_rows([table, table])
    >>> merged.codes.tolist(), merged.weights.tolist()
    ([[0, 1], [0, -1]], [4.0, 2.0])
    """
    if isinstance(blocks, Blocks):
        with executors.running(cluster) as client:
            return blocks.merged(client)
    if cluster is not None:
        raise OptionError(
            "a cluster reads what read_blocks(...) names: pass that, not tables"
        )
    # Tables are merged one at a time: only distinct rows stay in memory.
    tables = (as_dataset(block, "blocks") for block in blocks)
    first = next(tables, None)
    if first is None:
        raise DataError("there are no blocks to merge: expected one table or more")
    empty = partial(DistinctRows, first.names, first.states)
    return summed(chain([first], tables), empty).dataset()
