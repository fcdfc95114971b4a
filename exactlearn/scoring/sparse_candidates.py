r"""Candidate parent sets of tables of any length, each variable's parents among a few others.

Friedman, Nachman and Pe'er (1999), "Learning Bayesian network structure from massive datasets: the
sparse candidate algorithm": the parents of a variable are looked for among the ``k`` others that
have the highest mutual information with it. The counts of all pairs say which these are. The scores
of a variable's parent sets then depend on the distinct rows of ``k + 1`` columns only, which are
far fewer than those of the table. Both are sums over blocks of rows: no process holds the table.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import arcs_by_index
from exactlearn._runtime.cluster import workers_of
from exactlearn._runtime.control import SearchControl
from exactlearn.data.blocks import Blocks, DistinctRows
from exactlearn.data.counts import require_complete
from exactlearn.data.dataset import Dataset, as_dataset
from exactlearn.errors import InfeasibleError, OptionError, SolverError
from exactlearn.scoring.candidates import candidate_parent_sets
from exactlearn.scoring.scores import Score, as_score
from exactlearn.solvers.problem import Arc, Problem

BATCH_BYTES = 2**31
"""Bytes of the distinct rows of variables that are counted at once, about; each worker has them."""

CHUNK = 2**13
"""Rows whose pairs are counted by one product of matrices."""


class _Sum(Protocol):
    rows: int


S = TypeVar("S", bound=_Sum)


def sparse_candidates(
    table: Dataset | Blocks,
    score: Score | str,
    *,
    candidate_parents: int = 10,
    max_parents: int = 3,
    required: Iterable[Arc] = (),
    forbidden: Iterable[Arc] = (),
    cluster: Any = None,
) -> Problem:
    """Score parent sets among the variables with the highest mutual information.

    Parameters
    ----------
    table
        Complete data: a table, or what :func:`exactlearn.read_blocks` names, which is read twice,
        and once more for each `BATCH_BYTES` of distinct rows.
    score
        The score.
    candidate_parents
        Number of variables that may be parents of each variable, required ones among them; ties go
        to the first.
    max_parents
        Largest size of a parent set.
    required, forbidden
        Arcs ``(parent, child)`` that every, or no, network must have.
    cluster
        A Dask cluster whose workers count and score, as for
        :func:`~exactlearn.candidate_parent_sets`.

    Returns
    -------
    Problem
        As of :func:`~exactlearn.candidate_parent_sets` with the arcs from all other variables
        forbidden; ``complete`` where there are no others.

    Raises
    ------
    DataError
        When a cell is missing.
    OptionError
        When `candidate_parents` is less than 1.
    InfeasibleError
        When a variable is required to have more parents.
    SolverError
        When the search that this runs in ended before all rows were counted.

    Examples
    --------
    >>> from exactlearn.scoring.scores import BDeu
    >>> rows = np.array([[0, 0, 0], [1, 1, 0], [0, 0, 1], [1, 1, 1]], np.int8)
    >>> data = Dataset(rows, ("a", "b", "c"), (("n", "y"),) * 3)
    >>> problem = sparse_candidates(data, BDeu(), candidate_parents=1)
    >>> [parents for parents, _ in problem.candidates(0)]
    [(1,), ()]
    """
    if candidate_parents < 1:
        raise OptionError(f"candidate_parents must be at least 1, found {candidate_parents}")
    control = SearchControl.within()
    with workers_of(cluster, control) as workers:
        client = None if workers is None else workers.client
        if isinstance(table, Blocks):
            table = table.with_states(client)
            _require_going_on(control)
            names = table.variables or ()
            states = [tuple(table.states[name]) for name in names]
        else:
            table = as_dataset(table, "table")
            names, states = table.names, list(table.states)
        required = frozenset(arcs_by_index(required, "required", names))
        forbidden = frozenset(arcs_by_index(forbidden, "forbidden", names))
        sizes = [len(own) for own in states]
        pairs = _summed(table, _PairCounter(tuple(sizes)), client)
        _require_going_on(control)
        information = pairwise_information(pairs.counts, sizes)
        columns = [
            _columns(child, information[child], candidate_parents, required, forbidden, names)
            for child in range(len(names))
        ]
        scoring = _Scoring(as_score(score), max_parents, required)
        found: list[Mapping[Iterable[int], float]] = []
        for batch in _batches(columns, sizes, pairs.rows):
            projected = _summed(table, _Projector(batch, names, tuple(states)), client)
            _require_going_on(control)
            if workers is None:
                found += [scoring(projected, number) for number in range(len(batch))]
            else:
                found += workers.pieces(_Scoring.__call__, (scoring, projected), len(batch))
            _require_going_on(control)
    return replace(
        Problem.from_candidates(names, found),
        required=required,
        forbidden=forbidden,
        complete=candidate_parents >= len(names) - 1,
    )


def _require_going_on(control: SearchControl) -> None:
    if control.is_over:
        raise SolverError("the search ended before all rows were counted and scored; give it time")


def pairwise_information(counts: NDArray[np.float64], sizes: Sequence[int]) -> NDArray[np.float64]:
    """Return the mutual information of all pairs of variables, in nats.

    Parameters
    ----------
    counts
        Weights of all pairs of states of all variables, shape (states, states).
    sizes
        Number of states of each variable.

    Returns
    -------
    NDArray[np.float64]
        Shape (variables, variables), symmetric; the diagonal has the entropies.
    """
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    total = counts[: sizes[0], : sizes[0]].sum()
    share = counts / total
    terms = share * np.log(np.where(share > 0, share, 1.0))
    joint = -np.add.reduceat(np.add.reduceat(terms, first, axis=0), first, axis=1)
    entropy = np.diag(joint)
    found: NDArray[np.float64] = entropy[:, None] + entropy[None, :] - joint
    return found


@dataclass
class _PairCounts:
    counts: NDArray[np.float64]
    rows: int = 0


@dataclass(frozen=True)
class _PairCounter:
    """Counts the pairs of states in blocks of rows, by products of indicator matrices."""

    sizes: tuple[int, ...]

    def __call__(self, blocks: Iterable[Dataset]) -> _PairCounts:
        first = np.concatenate([[0], np.cumsum(self.sizes)])
        found = _PairCounts(np.zeros((first[-1], first[-1])))
        for block in blocks:
            require_complete(block)
            weights = block.weights
            for start in range(0, block.n_rows, CHUNK):
                states = block.codes[start : start + CHUNK] + first[:-1]
                # Single precision holds the counts of a chunk; a product with itself costs half.
                indicators = np.zeros((len(states), first[-1]), np.float32)
                indicators[np.arange(len(states))[:, None], states] = 1.0
                if weights is None:
                    found.counts += indicators.T @ indicators
                else:
                    own = weights[start : start + CHUNK, None]
                    found.counts += (indicators * own).T @ indicators.astype(np.float64)
            found.rows += block.n_rows
        return found

    @staticmethod
    def add(parts: Sequence[_PairCounts]) -> _PairCounts:
        """Return the sum of the counts of several parts."""
        total, *rest = parts
        for part in rest:
            total.counts += part.counts
            total.rows += part.rows
        return total


@dataclass
class _Projected:
    tables: list[DistinctRows]
    columns: Sequence[Sequence[int]]
    rows: int = 0


@dataclass(frozen=True)
class _Projector:
    """Finds the distinct rows of some columns each, in blocks of rows."""

    columns: Sequence[Sequence[int]]
    names: Sequence[str]
    states: Sequence[Sequence[str]]

    def __call__(self, blocks: Iterable[Dataset]) -> _Projected:
        tables = [
            DistinctRows([self.names[v] for v in own], [self.states[v] for v in own])
            for own in self.columns
        ]
        found = _Projected(tables, self.columns)
        for block in blocks:
            for table, own in zip(tables, self.columns, strict=True):
                codes: Any = block.codes[:, own]
                table.add(Dataset(codes, table.names, table.states, block.weights))
            found.rows += block.n_rows
        return found

    @staticmethod
    def add(parts: Sequence[_Projected]) -> _Projected:
        """Return the distinct rows of several parts, made of the first one."""
        total, *rest = parts
        for part in rest:
            for table, other in zip(total.tables, part.tables, strict=True):
                table.merge(other)
            total.rows += part.rows
        return total


@dataclass(frozen=True)
class _Scoring:
    """Scores the parent sets of one variable, by the distinct rows of its columns."""

    score: Score
    max_parents: int
    required: frozenset[Arc]

    def __call__(self, projected: _Projected, number: int) -> Mapping[Iterable[int], float]:
        child, *_ = own = projected.columns[number]
        places = range(len(own))
        problem = candidate_parent_sets(
            projected.tables[number].dataset(),
            self.score,
            max_parents=self.max_parents,
            required=[(place, 0) for place in places if (own[place], child) in self.required],
            forbidden=[(a, b) for a in places for b in places[1:] if a != b],
            threads=1,
        )
        return {
            tuple(sorted(own[p] for p in parents)): value
            for parents, value in problem.candidates(0)
        }


class _Counter(Protocol[S]):
    def __call__(self, blocks: Iterable[Dataset], /) -> S: ...

    @staticmethod
    def add(parts: Sequence[S], /) -> S: ...


def _summed(table: Dataset | Blocks, counter: _Counter[S], client: Any) -> S:
    """Return what a counter finds in a table."""
    if isinstance(table, Dataset):
        return counter([table])
    parts: Iterator[S] = table.fold(counter, counter.add, client)
    total = counter([])
    for part in parts:
        total = counter.add([total, part])
    return total


def _columns(
    child: int,
    information: NDArray[np.float64],
    most: int,
    required: frozenset[Arc],
    forbidden: frozenset[Arc],
    names: Sequence[str],
) -> tuple[int, ...]:
    """Return the variable, and after it those that may be its parents, in increasing order."""
    wanted = {p for p, c in required if c == child}
    if len(wanted) > most:
        raise InfeasibleError(
            f"variable {names[child]!r} is required to have {len(wanted)} parents, more than "
            f"candidate_parents = {most}; raise that, or require fewer arcs"
        )
    barred = {p for p, c in forbidden if c == child} | wanted | {child}
    by_gain = np.argsort(-information, kind="stable").tolist()
    others = [v for v in by_gain if v not in barred][: most - len(wanted)]
    return (child, *sorted({*wanted, *others}))


def _batches(
    columns: Sequence[tuple[int, ...]], sizes: Sequence[int], rows: int
) -> Iterator[list[tuple[int, ...]]]:
    """Yield the columns of as many variables, in order, as are counted at once."""
    batch: list[tuple[int, ...]] = []
    held = 0.0
    for own in columns:
        need = min(float(rows), math.prod(float(sizes[v]) for v in own)) * (len(own) + 16)
        if batch and held + need > BATCH_BYTES:
            yield batch
            batch, held = [], 0.0
        batch.append(own)
        held += need
    if batch:
        yield batch
