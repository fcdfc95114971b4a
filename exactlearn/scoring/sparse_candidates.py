r"""Candidate parent sets of tables of any length, each variable's parents among a few others.

Friedman, Nachman and Pe'er (1999), "Learning Bayesian network structure from massive datasets: the
sparse candidate algorithm": the parents of a variable are looked for among the ``k`` others that
have the highest mutual information with it. The counts of all pairs say which these are. The scores
of a variable's parent sets then depend on the distinct rows of ``k + 1`` columns only, which are
far fewer than those of the table. Both are sums over blocks of rows: no process holds the table.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.control import SearchControl
from exactlearn._runtime.executors import Workers, running
from exactlearn._runtime.offsets import offsets
from exactlearn._runtime.variable_arguments import Index, arcs_by_index
from exactlearn.data.blocks import Blocks, DistinctRows, summed
from exactlearn.data.dataset import Dataset, as_dataset, require_complete
from exactlearn.errors import InfeasibleError, SolverError
from exactlearn.scoring.candidate_enumeration import required_parents
from exactlearn.scoring.candidates import candidate_parent_sets
from exactlearn.scoring.scores import Score, as_score
from exactlearn.solvers.problem import Arc, Problem

BATCH_BYTES = 2**31
"""Bytes of the distinct rows of variables that are counted at once, about; each worker has them."""

CHUNK = 2**13
"""Rows whose pairs are counted by one product of matrices."""

Family = tuple[int, ...]
"""A variable, and after it those that may be its parents."""

Scores = Mapping[Iterable[int], float]
"""The scores of parent sets of a variable."""


@checked_arguments(
    **dict.fromkeys(("required", "forbidden"), lambda value, name: value)
)
def sparse_candidates(
    table: Dataset | Blocks,
    score: Score | str,
    *,
    candidate_parents: int = 10,
    max_parents: int = 3,
    required: Iterable[Arc] = (),
    forbidden: Iterable[Arc] = (),
    time_limit: float | None = None,
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
    time_limit
        Seconds after which counting and scoring stop, as Ctrl-C stops them; the problem then says
        in ``stopped`` how far it came. Each variable has at least its smallest parent set.
    cluster
        A Dask cluster whose workers count and score, as for
        :func:`~exactlearn.candidate_parent_sets`.

    Returns
    -------
    Problem
        As of :func:`~exactlearn.candidate_parent_sets` with the arcs from all other variables
        forbidden; ``complete`` where there are no others, and all were scored.

    Raises
    ------
    DataError
        When a cell is missing.
    OptionError
        When `candidate_parents` is less than 1.
    InfeasibleError
        When a variable is required to have more parents.
    SolverError
        When the time was over before all pairs were counted, so that there is nothing to keep.

    Examples
    --------
    >>> from exactlearn.scoring.scores import BDeu
    >>> rows = np.array([[0, 0, 0], [1, 1, 0], [0, 0, 1], [1, 1, 1]], np.int8)
    >>> data = Dataset(rows, ("a", "b", "c"), (("n", "y"),) * 3)
    >>> problem = sparse_candidates(data, BDeu(), candidate_parents=1)
    >>> [parents for parents, _ in problem.candidates(0)]
    [(1,), ()]
    """
    search = SearchControl.within(time_limit)
    with search.running() as control, running(cluster) as client:
        blocks, names, states = _blocks(table, client)
        required = frozenset(arcs_by_index(required, "required", names))
        forbidden = frozenset(arcs_by_index(forbidden, "forbidden", names))
        given = as_score(score), max_parents, required
        # The counts of all pairs of variables, and of the variables with required parents.
        children = range(len(names))
        smallest = [(child, *required_parents(child, required)) for child in children]
        with_parents = [family for family in smallest if len(family) > 1]
        empty_counts = partial(_PairCounts, with_parents, names, states)
        pairs = summed(blocks, empty_counts, client)
        if control.is_over:
            raise SolverError(
                "the time was over before all pairs of variables were counted: no parent sets are "
                "known; give it more time"
            )
        # Each variable's allowed parents, by their mutual information with it.
        sizes = [*map(len, states)]
        information = pairwise_information(pairs.counts, sizes)
        families = []
        for family in smallest:
            gains = information[family[0]]
            families.append(_family(family, gains, candidate_parents, forbidden, names))
        # The scores of each variable's parent sets, by the distinct rows of its family.
        scored: list[tuple[Scores, bool]] = []
        for batch in _batches(families, sizes, pairs.rows):
            empty_rows = partial(_Projections, batch, names, states)
            projected = summed(blocks, empty_rows, client)
            if control.is_over:
                break
            pieces = Workers(client, control).pieces
            scored += pieces(scored_projection, (*given, projected), len(batch))
        n_scored = sum(is_finished for _, is_finished in scored)
        # Variables that the time did not suffice for have their smallest parent sets.
        left = smallest[len(scored) :]
        scored += [_scored(*given, pairs.family(family), family) for family in left]
    is_stopped = n_scored < len(names)
    how_far = f"the parent sets of {n_scored} of {len(names)} variables were scored"
    problem = Problem.from_candidates(names, [scores for scores, _ in scored])
    return replace(
        problem,
        required=required,
        forbidden=forbidden,
        complete=candidate_parents >= len(names) - 1 and not is_stopped,
        stopped=how_far if is_stopped else "",
    )


def _blocks(
    table: Dataset | Blocks, client: Any
) -> tuple[Iterable[Dataset], tuple[str, ...], list[tuple[str, ...]]]:
    """Return the blocks of a table, the names of its variables, and their states."""
    if isinstance(table, Blocks):
        table = table.with_states(client)
        names = tuple(table.variables or ())
        return table, names, [tuple(table.states[name]) for name in names]
    table = as_dataset(table, "table")
    return [table], table.names, list(table.states)


def pairwise_information(
    counts: NDArray[np.float64], sizes: Sequence[int]
) -> NDArray[np.float64]:
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
    first = offsets(sizes)[:-1]
    total = counts[: sizes[0], : sizes[0]].sum()
    probabilities = counts / total
    terms = probabilities * np.log(np.where(probabilities > 0, probabilities, 1.0))
    by_variable = np.add.reduceat(terms, first, axis=0)
    joint = -np.add.reduceat(by_variable, first, axis=1)
    entropy = np.diag(joint)
    # I(X; Y) = H(X) + H(Y) - H(X, Y)
    independent: NDArray[np.float64] = np.add.outer(entropy, entropy)
    return independent - joint


class _Projections:
    """The distinct rows of families, in each of which the variable stands before its parents."""

    def __init__(
        self,
        families: Sequence[Family],
        names: Sequence[str],
        states: Sequence[Sequence[str]],
    ) -> None:
        self.families = families
        self.rows = 0
        self.tables = []
        for family in families:
            columns = DistinctRows(
                [names[v] for v in family], [states[v] for v in family]
            )
            self.tables.append(columns)

    def add(self, block: Dataset) -> None:
        """Add the rows of a block."""
        for table, family in zip(self.tables, self.families, strict=True):
            codes: Any = block.codes[:, family]
            table.add(Dataset(codes, table.names, table.states, block.weights))
        self.rows += block.n_rows

    def merge(self, part: "_Projections") -> None:
        """Add the rows of another part of the table."""
        for table, rows in zip(self.tables, part.tables, strict=True):
            table.merge(rows)
        self.rows += part.rows


class _PairCounts:
    """Counts of the pairs of states, by products of indicator matrices, and of some families."""

    def __init__(
        self,
        families: Sequence[Family],
        names: Sequence[str],
        states: Sequence[Sequence[str]],
    ) -> None:
        self.first = offsets([*map(len, states)])
        n_states = self.first[-1]
        self.counts = np.zeros((n_states, n_states))
        self.families = _Projections(families, names, states)
        self.rows = 0

    def add(self, block: Dataset) -> None:
        """Add the rows of a block."""
        require_complete(block)
        weights = block.weights
        for start in range(0, block.n_rows, CHUNK):
            chunk = slice(start, start + CHUNK)
            states = block.codes[chunk] + self.first[:-1]
            rows = np.arange(len(states))[:, None]
            # Single precision holds the counts of a chunk; a product with itself costs half.
            indicators = np.zeros((len(states), len(self.counts)), np.float32)
            indicators[rows, states] = 1.0
            if weights is None:
                self.counts += indicators.T @ indicators
            else:
                weighted = indicators * weights[chunk, None]
                self.counts += weighted.T @ indicators.astype(np.float64)
        self.families.add(block)
        self.rows += block.n_rows

    def merge(self, part: "_PairCounts") -> None:
        """Add the counts of another part of the table."""
        self.counts += part.counts
        self.families.merge(part.families)
        self.rows += part.rows

    def family(self, family: Family) -> Dataset:
        """Return the distinct rows of one of the families, or of a variable without parents."""
        with_parents = self.families
        if family in with_parents.families:
            place = with_parents.families.index(family)
            return with_parents.tables[place].dataset()
        # A variable alone: a row for each state, counted on the diagonal.
        (v,) = family
        weights = np.diag(self.counts)[self.first[v] : self.first[v + 1]]
        states = range(len(weights))
        labels = tuple(map(str, states))
        return Dataset(
            np.array([states]).T,
            (str(v),),
            (labels,),
            weights,
        )


def _scored(
    score: Score,
    max_parents: int,
    required: frozenset[Arc],
    table: Dataset,
    family: Family,
) -> tuple[Scores, bool]:
    """Score the parent sets of the first variable of a family; return whether these are all."""
    places = [Index(place) for place in range(len(family))]
    child = places[0]
    required_here = [
        (place, child) for place in places if (family[place], family[0]) in required
    ]
    # Arcs into other variables are forbidden: only the child is scored.
    forbidden = [(a, b) for a in places for b in places[1:] if a != b]
    problem = candidate_parent_sets(
        table,
        score,
        max_parents=max_parents,
        required=required_here,
        forbidden=forbidden,
        threads=1,
        control=SearchControl.within(),
    )
    scores: dict[Iterable[int], float] = {}
    for parents, value in problem.candidates(0):
        scores[tuple(sorted(family[p] for p in parents))] = value
    return scores, not problem.stopped


def scored_projection(
    score: Score,
    max_parents: int,
    required: frozenset[Arc],
    projections: _Projections,
    number: int,
) -> tuple[Scores, bool]:
    """Score the parent sets of one variable, by the distinct rows of its columns."""
    table = projections.tables[number].dataset()
    return _scored(score, max_parents, required, table, projections.families[number])


def _family(
    smallest: Family,
    information: NDArray[np.float64],
    candidate_parents: int,
    forbidden: frozenset[Arc],
    names: Sequence[str],
) -> Family:
    """Return a variable, and after it those that may be its parents, in increasing order."""
    child, *required = smallest
    if len(required) > candidate_parents:
        raise InfeasibleError(
            f"variable {names[child]!r} is required to have {len(required)} parents, more than "
            f"candidate_parents = {candidate_parents}; raise that, or require fewer arcs"
        )
    barred = {p for p, c in forbidden if c == child} | {*smallest}
    by_gain = np.argsort(-information, kind="stable").tolist()
    allowed = [v for v in by_gain if v not in barred]
    informative = allowed[: candidate_parents - len(required)]
    return (child, *sorted([*required, *informative]))


def _batches(
    families: Sequence[Family],
    sizes: Sequence[int],
    rows: int,
) -> Iterator[list[Family]]:
    """Yield as many families, in order, as are counted at once."""
    batch: list[Family] = []
    held = 0.0
    for family in families:
        configurations = math.prod(float(sizes[v]) for v in family)
        # Distinct configurations, each with its members and about 16 bytes.
        need = min(float(rows), configurations) * (len(family) + 16)
        if batch and held + need > BATCH_BYTES:
            yield batch
            batch = []
            held = 0.0
        batch.append(family)
        held += need
    if batch:
        yield batch
