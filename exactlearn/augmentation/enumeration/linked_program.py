"""Optimistic augmentation as parent-set selection with choices.

Eq. (1) of Adel and de Campos, "Learning Bayesian networks with incomplete data by augmentation":
maximise the score over DAGs *and* completions. A family's score depends on a completion only
through the columns of its variables, so families must agree on the completion of each *column*: a
choice whose values are the column's completions, its options. The candidates of a family are
indexed by the options of its columns.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exactlearn.augmentation.enumeration.family_scores import (
    ChildFamilies,
    Options,
    combinations_at,
    score_completions,
    sums_of_completions,
)
from exactlearn.augmentation.families import FamilyRules, parent_sets
from exactlearn.augmentation.local_search.set_families import all_families, with_forms
from exactlearn.data.codes import MISSING
from exactlearn.data.dataset import Dataset
from exactlearn.errors import TooLargeError
from exactlearn.scoring.incremental_tables import Rows, set_sizes
from exactlearn.scoring.scores import Score
from exactlearn.scoring.terms import TermTables
from exactlearn.solvers.problem import Problem, offsets


@dataclass(frozen=True, eq=False)
class Columns:
    """The completions of every column, its options, relative to a base completion.

    A column without missing cells has one option.

    Parameters
    ----------
    base
        The table filled with the base completion, shape (variables, rows), int16.
    first
        Where each variable's options begin, shape (variables + 1,).
    deviation_first, deviation_row, deviation_value
        The cells where each option differs from the base, shape (options + 1,)
        for the first and (total,) for the others.
    """

    base: NDArray[np.int16]
    first: NDArray[np.int64]
    deviation_first: NDArray[np.int64]
    deviation_row: NDArray[np.int64]
    deviation_value: NDArray[np.int16]

    @property
    def n_options(self) -> NDArray[np.int64]:
        """Number of options of each variable, shape (variables,)."""
        return np.diff(self.first).astype(np.int64)

    @property
    def options(self) -> Options:
        """What the kernels see of the options."""
        return Options(
            self.first,
            self.n_options,
            self.deviation_first,
            self.deviation_row,
            self.deviation_value,
        )

    def column(self, variable: int, option: int) -> NDArray[np.int64]:
        """Return a variable's column under one of its options."""
        column: NDArray[np.int64] = self.base[variable].astype(np.int64)
        change = slice(self.deviation_first[option], self.deviation_first[option + 1])
        column[self.deviation_row[change]] = self.deviation_value[change]
        return column

    def fill(self, options: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the table in which each variable's column has its option, (rows, variables)."""
        return np.column_stack(
            [self.column(v, int(self.first[v] + option)) for v, option in enumerate(options)]
        )


def at_missing(table: NDArray[np.int64], dataset: Dataset) -> NDArray[np.int64]:
    """Read the values of a dataset's missing cells off a filled table, (rows, variables)."""
    cells = dataset.missing_cells
    values: NDArray[np.int64] = table[cells[:, 0], cells[:, 1]]
    return values


def all_completions(dataset: Dataset) -> Columns:
    """Return every completion of every column; the base has state 0 in all missing cells."""
    base = dataset.codes.astype(np.int16)
    base[base == MISSING] = 0
    counts, rows, values = [], [], []
    for variable, r in enumerate(dataset.cardinalities):
        cells = np.flatnonzero(dataset.codes[:, variable] == MISSING)
        options = np.arange(int(r) ** len(cells))[:, None] // place_values(len(cells), int(r)) % r
        option, cell = np.nonzero(options)
        counts.append((options != 0).sum(axis=1))
        rows.append(cells[cell])
        values.append(options[option, cell])
    return Columns(
        base=np.ascontiguousarray(base.T),
        first=np.concatenate([[0], np.cumsum([len(own) for own in counts])]).astype(np.int64),
        deviation_first=np.concatenate([[0], np.cumsum(np.concatenate(counts))]).astype(np.int64),
        deviation_row=np.concatenate(rows).astype(np.int64),
        deviation_value=np.concatenate(values).astype(np.int16),
    )


def place_values(cells: int, states: int) -> NDArray[np.int64]:
    """Return what each cell adds to the number of an option of :func:`all_completions`."""
    values: NDArray[np.int64] = states ** np.arange(cells - 1, -1, -1, dtype=np.int64)
    return values


MAX_COMPLETIONS = 20_000_000
"""Largest number of (family, completion) pairs that is enumerated."""

MAX_TABLE = 50_000_000
"""Largest contingency table of one family."""


@dataclass(frozen=True, eq=False)
class _ChildCandidates:
    """The candidates of one child: parent sets, their options and scores."""

    members: NDArray[np.int32]
    options: NDArray[np.int64]
    scores: NDArray[np.float64]


def completion_problem(
    dataset: Dataset, columns: Columns, score: Score, rules: FamilyRules
) -> Problem:
    """Build the selection problem over families and the completions of their columns.

    Parameters
    ----------
    dataset
        The incomplete table, weighted if its rows were merged.
    columns
        The options of its columns.
    score
        The score to maximise.
    rules
        The parent sets to consider.

    Returns
    -------
    Problem
        One choice for each variable; its values are the column's options (one value where the
        column is complete, which no candidate reads).

    Raises
    ------
    TooLargeError
        When a family's table of counts is too large.
    """
    parts = list(_children(dataset, columns, score, rules))
    return _assemble(dataset, columns, parts, rules)


def require_enumerable(dataset: Dataset, max_parents: int) -> None:
    """Refuse what cannot be enumerated, before any of it is built.

    Parameters
    ----------
    dataset
        The incomplete table.
    max_parents
        Largest size of a parent set.

    Raises
    ------
    TooLargeError
        When the families have more than ``MAX_COMPLETIONS`` completions together.
    """
    n = dataset.n_variables
    cells = (dataset.codes == MISSING).sum(axis=0)
    n_options = dataset.cardinalities.astype(np.float64) ** cells
    total, largest = 0.0, (0.0, 0, 0)
    for child in range(n):
        members = parent_sets(n, child, max_parents).members
        counts = _n_combinations(members, child, n_options)
        total += float(counts.sum())
        f = int(counts.argmax())
        largest = max(largest, (float(counts[f]), child, f))
    if total <= MAX_COMPLETIONS:
        return
    count, child, f = largest
    family = [child, *(int(v) for v in parent_sets(n, child, max_parents).members[f] if v >= 0)]
    family_names = ", ".join(dataset.names[v] for v in family)
    raise TooLargeError(
        f"the families have {total:.3g} completions to enumerate ({count:.3g} of them for "
        f"{{{family_names}}} alone), and the limit is {MAX_COMPLETIONS:,}; use the method "
        "'branching' or 't-local', allow fewer parents, or hide less in one column"
    )


def _n_combinations(
    members: NDArray[np.int32], child: int, n_options: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Count the completions of each family, which may be astronomically many."""
    counts: NDArray[np.float64] = n_options[child] * np.where(
        members >= 0, n_options[members], 1.0
    ).prod(axis=1)
    return counts


def _children(
    dataset: Dataset, columns: Columns, score: Score, rules: FamilyRules
) -> Iterator[_ChildCandidates]:
    n, cardinalities, options = dataset.n_variables, dataset.cardinalities, columns.options
    rows = Rows(np.ascontiguousarray(columns.base.T), dataset.row_weights, cardinalities)
    members, families = all_families(n, FamilyRules(rules.max_parents))
    _require_small_tables(dataset, members)
    tables = TermTables(score, cardinalities, rows.weights)
    members, forms, terms, families = with_forms(members, families, cardinalities, tables)
    completed = sums_of_completions(rows, members, forms, terms, options)
    for child in range(n):
        sets, own = parent_sets(n, child, rules.max_parents), families.of_child(child)
        counts = _n_combinations(sets.members, child, columns.n_options.astype(np.float64))
        first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        listed = ChildFamilies(
            child,
            sets,
            families.family[own],
            families.parents[own],
            families.penalty[own],
            rules.allowed(child, sets.members),
        )
        scores, keep = score_completions(listed, completed, options, first)
        kept = np.flatnonzero(keep)
        numbers, chosen = combinations_at(kept, child, sets.members, first, options)
        yield _ChildCandidates(sets.members[numbers], chosen, scores[kept])


def _require_small_tables(dataset: Dataset, members: NDArray[np.int32]) -> None:
    sizes = set_sizes(dataset.cardinalities, members)
    largest = int(sizes.argmax())
    if sizes[largest] > MAX_TABLE:
        raise TooLargeError(
            f"a family of {dataset.names[members[largest, 0]]!r} has a table of "
            f"{sizes[largest]:.3g} cells, and the limit is {MAX_TABLE:,}; allow fewer parents or "
            "merge states"
        )


def _assemble(
    dataset: Dataset, columns: Columns, parts: list[_ChildCandidates], rules: FamilyRules
) -> Problem:
    members = np.concatenate([p.members for p in parts])
    options = np.concatenate([p.options for p in parts])
    # a column with one option needs no agreement
    owner = np.searchsorted(columns.first, options, side="right") - 1
    reads = (options >= 0) & (columns.n_options[owner] > 1)
    literals = np.where(reads, options, np.iinfo(np.int64).max)
    literals = np.sort(literals, axis=1)
    return Problem(
        names=dataset.names,
        first=offsets([len(p.scores) for p in parts]),
        scores=np.concatenate([p.scores for p in parts]),
        member_first=offsets((members >= 0).sum(axis=1)),
        members=members[members >= 0].astype(np.int32),
        required=rules.required,
        forbidden=rules.forbidden,
        options=columns.n_options,
        literal_first=offsets(reads.sum(axis=1)),
        literals=literals[literals < np.iinfo(np.int64).max].astype(np.int32),
    )
