"""Tables of any length: blocks of rows, and their distinct rows with weights.

What parameters are learnt from is additive over rows: how much weight each configuration has, its
missing cells included. So equal rows of all blocks are merged into one row with their weight, and
memory is that of the distinct rows. Every function of this package takes such a weighted table.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any, Protocol, Self, TypeVar

import numpy as np

from exactlearn._runtime import executors
from exactlearn._runtime.control import SearchControl
from exactlearn._runtime.display import Displayed
from exactlearn._runtime.hash_tables import WeightedRows
from exactlearn.data.codes import LARGEST, LabelledRows, Values, code_type
from exactlearn.data.coding import CodingOptions, TableCoding, check_known, coded_rows
from exactlearn.data.dataset import Dataset, as_dataset
from exactlearn.data.discretisation import drop_hint
from exactlearn.errors import DataError, OptionError, SolverError, as_written, did_you_mean


class Sum(Protocol):
    """A sum over rows, which knows how many there were."""

    rows: int

    def add(self, rows: Any, /) -> object:
        """Add a block of rows."""

    def merge(self, other: Self, /) -> object:
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
        found = _FoundStates(self)
        for part in _results(self, _found, client):
            found.merge(part)
        if SearchControl.within().is_over:
            raise SolverError(
                "the time was over before the states of all variables were found: declare them "
                f"({as_written('states')}), or give it more time"
            )
        states = {**self.states, **found.coding(self.tidy).states}
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
        names = self.variables or tuple(known)
        for name in names:
            if name not in known:
                raise DataError(
                    f"{rows.place(name, None)}: there is no such column, which the model or "
                    f"another part of the table has{did_you_mean(name, known)}"
                )
        rows = replace(rows, columns=[known[name] for name in names])
        states = {name: self.states[name] for name in names}
        return Dataset(**coded_rows(rows, CodingOptions(states, self.missing)))


class _FoundStates:
    """What the undeclared columns of a table hold, summed over blocks.

    Of each column these are how many cells have each label, and ``None`` where one is missing; and
    where each label, and for ``None`` the column, stands first.
    """

    def __init__(self, blocks: Blocks) -> None:
        self.declared, self.missing = blocks.states, tuple(blocks.missing)
        self.names, self.rows = blocks.variables, 0
        self.counts: dict[str, Counter[str | None]] = {}
        self.places: dict[str, dict[str | None, str]] = {}
        self.listed: set[str] = set()

    def add(self, rows: LabelledRows) -> None:
        """Add the labels of a block."""
        names = [column.name for column in rows.columns]
        self.rows, self.names = self.rows + len(rows.lines), self.names or tuple(names)
        what = f"states are declared (by a model, or {as_written('states')}) for"
        check_known(what, self.declared, names)
        listed = rows.declared(self.missing)
        for column in rows.read(self.missing).columns:
            if column.name in self.names and column.name not in self.declared:
                values = column.values(rows.place)
                counts = Counter[str | None](dict.fromkeys(listed.get(column.name, ()), 0))
                counts.update(dict(zip(values.labels, values.counts.tolist(), strict=True)))
                counts[None] = len(rows.lines) - int(values.counts.sum())
                known = self.places.get(column.name, {})
                places = {k: values.place(k) for k in (None, *values.labels) if k not in known}
                self._add(column.name, counts, places)
        self.listed |= {*listed}

    def _add(self, name: str, counts: Counter[str | None], places: dict[str | None, str]) -> None:
        """Add what other rows of a column have."""
        own = self.counts.setdefault(name, Counter())
        own.update(counts)
        self.places[name] = {**places, **self.places.get(name, {})}
        if len(own) > LARGEST + 1:
            raise DataError(
                f"{self.places[name][None]}: more than {LARGEST} different values; "
                f"{drop_hint(name)}, or declare its states, which may be bins of numbers such as "
                "'<=2.5' and '>2.5'"
            )

    def merge(self, other: "_FoundStates") -> None:
        """Add what another part of the table has."""
        self.rows, self.names = self.rows + other.rows, self.names or other.names
        self.listed |= other.listed
        for name, counts in other.counts.items():
            self._add(name, counts, other.places[name])

    def coding(self, tidy: bool) -> TableCoding:
        """Return the states of the undeclared columns, but those that are left out.

        Raises
        ------
        DataError
            When columns are constant, entirely missing, or their values do not repeat, and are not
            tidied; when a text may stand for a missing cell.
        """
        columns = [self._values(name) for name in self.names or () if name not in self.declared]
        where = columns[0].place(None) if columns else ""
        states = {x.name: x.labels for x in columns if x.name in self.listed}
        return TableCoding.fit(
            columns,
            CodingOptions(states, self.missing, tidy=tidy),
            where.removesuffix(f"column {columns[0].name!r}") if columns else "",
            is_part=bool(self.declared),
        )

    def _values(self, name: str) -> Values:
        if name not in self.counts:
            raise OptionError(
                f"no column is named {name!r}{did_you_mean(name, self.counts)}: name another"
            )
        counts = {label: n for label, n in self.counts[name].items() if label is not None}
        is_complete, place = not self.counts[name][None], self.places[name].__getitem__
        return Values(name, tuple(counts), np.array([*counts.values()], int), is_complete, place)


def _found(blocks: Blocks, *source: Any) -> _FoundStates:
    found = _FoundStates(blocks)
    for rows in blocks.read(*source):
        found.add(rows)
    return found


def _results(blocks: Blocks, function: Callable[..., S], client: Any) -> Iterator[S]:
    """Yield what a function of the blocks and of a source's arguments returns for each source."""
    on_rows = blocks.on_rows if client else None  # a worker cannot call it
    bare = replace(blocks, sources=(), on_rows=None if client else blocks.on_rows)
    for result in executors.results(partial(function, bare), blocks.sources, client):
        if on_rows is not None:
            on_rows(result.rows)
        yield result


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
