"""Tables of any length: blocks of rows, and their distinct rows with weights.

What parameters are learnt from is additive over rows: how much weight each configuration has, its
missing cells included. So equal rows of all blocks are merged into one row with their weight, and
memory is that of the distinct rows. Every function of this package takes such a weighted table.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any, Protocol, Self, TypeVar

import numpy as np

from exactlearn._runtime import executors
from exactlearn._runtime.control import SearchControl
from exactlearn._runtime.display import Displayed
from exactlearn._runtime.hash_tables import WeightedRows
from exactlearn.data.codes import LARGEST, code_type
from exactlearn.data.coding import TableCoding, check_known, code_columns, read_missing
from exactlearn.data.dataset import Dataset, InBlocks, as_dataset
from exactlearn.data.labels import Column, LabelledRows, Values, drop_hint
from exactlearn.errors import DataError, OptionError, SolverError, as_written, did_you_mean


class Sum(Protocol):
    """A sum over rows, which knows how many there were."""

    rows: int

    def add(self, rows: Any, /) -> object:
        """Add a block of rows."""

    def merge(self, other: Self, /) -> object:
        """Add the sum over the rows of another part of the table."""


S = TypeVar("S", bound=Sum)

_BINS = "'<=2.5' and '>2.5'"

BLOCK_BYTES = 2**24
"""Bytes of a file that are in memory at once."""


@dataclass(frozen=True, eq=False, repr=False)
class Blocks(InBlocks, Displayed, shown="sources variables states"):
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

    def __iter__(self) -> Iterator[Dataset]:
        """Yield the blocks in order, all with the same variables and states."""
        blocks, control = self.with_states(), SearchControl.within()
        for source in self.sources:
            if control.is_over:
                return
            yield from blocks.part(*map(executors.computed, source))

    def part(self, *source: Any) -> Iterator[Dataset]:
        """Yield the blocks of one source, until the search is over."""
        control = SearchControl.within()
        for rows in self.read(*source):
            yield self._coded(rows)
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
        if self.variables is not None and {*self.variables} <= {*self.states}:
            return self
        found = _FoundStates(self.states, self.missing, self.variables)
        for part in _results(self, _found, client):
            found.merge(part)
        if SearchControl.within().is_over:
            raise SolverError(
                "the time was over before the states of all variables were found: declare them "
                f"({as_written('states')}), or give it more time"
            )
        states = {**self.states, **found.states(self.tidy)}
        kept = tuple(name for name in found.names or () if name in states)
        return replace(self, variables=kept, states=states)

    def merged(self, client: Any = None) -> Dataset:
        """Return the distinct rows with their weights, see :func:`merge_rows`."""
        blocks = self.with_states(client)
        names = blocks.variables or ()
        empty = partial(DistinctRows, names, [blocks.states[name] for name in names])
        return summed(blocks, empty, client).dataset()

    def _coded(self, rows: LabelledRows) -> Dataset:
        known = {column.name: column for column in rows.columns}
        for name in self.variables or ():
            if name not in known:
                raise DataError(
                    f"{rows.place(name, None)}: there is no such column, which the model or "
                    f"another part of the table has{did_you_mean(name, known)}"
                )
        names = self.variables or tuple(known)
        coded = code_columns(
            [known[name] for name in names],
            states={name: self.states[name] for name in names},
            missing=self.missing,
            discretise={},
            place=rows.place,
            weights=rows.weights,
        )
        return Dataset(*coded)


@dataclass
class _ColumnValues:
    """The labels of a column, how many cells have each, and where each stands first."""

    where: str
    counts: Counter[str] = field(default_factory=Counter)
    places: dict[str, str] = field(default_factory=dict)
    is_complete: bool = True
    is_listed: bool = False

    def add(self, other: "_ColumnValues", name: str) -> None:
        """Add what other rows have."""
        self.counts.update(other.counts)
        for label, place in other.places.items():
            self.places.setdefault(label, place)
        self.is_complete &= other.is_complete
        self.is_listed |= other.is_listed
        if len(self.counts) > LARGEST:
            raise DataError(
                f"{self.where}: more than {LARGEST} different values; {drop_hint(name)}, or declare"
                f" its states, which may be bins of numbers such as {_BINS}"
            )

    def values(self, name: str) -> Values:
        """Return what states are found from."""
        counts = np.array([*self.counts.values()], np.int64)

        def place(label: str | None) -> str:
            return self.where if label is None else self.places[label]

        return Values(name, tuple(self.counts), counts, self.is_complete, place)


class _FoundStates:
    """What the undeclared columns of a table hold, summed over blocks."""

    def __init__(
        self,
        declared: Mapping[str, Sequence[str]],
        missing: Sequence[str],
        variables: tuple[str, ...] | None,
    ) -> None:
        self.declared, self.missing, self.names = declared, missing, variables
        self.rows = 0
        self.columns: dict[str, _ColumnValues] = {}

    def add(self, rows: LabelledRows) -> None:
        """Add the labels of a block."""
        self.rows += len(rows.lines)
        names = [column.name for column in rows.columns]
        self.names = self.names or tuple(names)
        check_known(
            f"states are declared (by a model, or {as_written('states')}) for", self.declared, names
        )
        for column in rows.columns:
            if column.name in self.names and column.name not in self.declared:
                self._add(column.name, self._of_block(column, rows))

    def _of_block(self, column: Column, rows: LabelledRows) -> _ColumnValues:
        name, listed = column.name, rows.listed.get(column.name, ())
        column = read_missing(column, self.missing)
        values = column.values(rows.place)
        known = self.columns[name].places if name in self.columns else {}
        counts = Counter(dict.fromkeys(listed, 0))
        counts.update(dict(zip(values.labels, values.counts.tolist(), strict=True)))
        first = np.zeros(len(column.labels) + 1, np.int64)  # the last one of missing cells
        first[column.codes[::-1]] = np.arange(len(column.codes))[::-1]
        rows_of = zip(column.labels, first.tolist(), strict=False)
        places = {label: rows.place(name, row) for label, row in rows_of if label not in known}
        where = rows.place(name, None)
        return _ColumnValues(where, counts, places, values.is_complete, len(listed) > 1)

    def _add(self, name: str, values: _ColumnValues) -> None:
        self.columns.setdefault(name, _ColumnValues(values.where)).add(values, name)

    def merge(self, other: "_FoundStates") -> None:
        """Add what another part of the table has."""
        self.rows += other.rows
        self.names = self.names or other.names
        for name, values in other.columns.items():
            self._add(name, values)

    def states(self, tidy: bool) -> dict[str, tuple[str, ...]]:
        """Return the states of the undeclared columns, but those that are left out.

        Raises
        ------
        DataError
            When columns are constant, entirely missing, or their values do not repeat, and are not
            tidied; when a text may stand for a missing cell.
        """
        names = [name for name in self.names or () if name not in self.declared]
        for name in names:
            if name not in self.columns:
                raise OptionError(
                    f"no column is named {name!r}{did_you_mean(name, self.columns)}: name another"
                )
        first = next(iter(names), "")
        where = self.columns[first].where.removesuffix(f"column {first!r}") if names else ""
        listed = {n: tuple(self.columns[n].counts) for n in names if self.columns[n].is_listed}
        coding = TableCoding.fit(
            [self.columns[name].values(name) for name in names],
            states=listed,
            missing=self.missing,
            discretise={},
            where=where,
            tidy=tidy,
            may_be_empty=bool(self.declared),
        )
        return coding.states


def _found(blocks: Blocks, *source: Any) -> _FoundStates:
    found = _FoundStates(blocks.states, blocks.missing, blocks.variables)
    for rows in blocks.read(*source):
        found.add(rows)
    return found


def _results(blocks: Blocks, function: Callable[..., S], client: Any) -> Iterator[S]:
    """Yield what a function of the blocks returns for each source.

    Parameters
    ----------
    blocks
        What is read.
    function
        Takes the blocks and the arguments of a source; a cluster imports it by its name.
    client
        The client of a cluster, if any.
    """
    if client is None:
        yield from executors.results(partial(function, blocks), blocks.sources)
        return
    bare = replace(blocks, on_rows=None, sources=())
    for result in executors.results(partial(function, bare), blocks.sources, client):
        if blocks.on_rows is not None:
            blocks.on_rows(result.rows)
        yield result


def _merged(parts: Iterable[S]) -> S:
    """Return the sum over all parts, made of the first one."""
    rest = iter(parts)
    total = next(rest)
    for part in rest:
        total.merge(part)
    return total


def summed(blocks: Iterable[Dataset], empty: Callable[[], S], client: Any = None) -> S:
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
        return _merged(chain([total], _results(blocks, partial(_sum_of_part, empty), client)))
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
        self.names, self.states = tuple(names), tuple(map(tuple, states))
        most = max((len(own) for own in self.states), default=0)
        self.rows, self._table = 0, WeightedRows(len(self.names), code_type(most))

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

    def merge(self, other: "DistinctRows") -> None:
        """Add the rows of another part of the table."""
        self._table.add(other._table.codes, other._table.weights)
        self.rows += other.rows

    def dataset(self) -> Dataset:
        """Return the rows in the order in which they came first, with their weights."""
        return Dataset(self._table.codes, self.names, self.states, self._table.weights)


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
        raise OptionError("a cluster reads what read_blocks(...) names: pass that, not tables")
    tables = (as_dataset(block, "blocks") for block in blocks)
    first = next(tables, None)
    if first is None:
        raise DataError("there are no blocks to merge: expected one table or more")
    empty = partial(DistinctRows, first.names, first.states)
    return summed(chain([first], tables), empty).dataset()
