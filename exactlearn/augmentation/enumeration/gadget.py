"""The reduction of optimistic augmentation to plain parent-set selection.

Adel and de Campos, "Optimal (exact) learning algorithm": for every missing cell and every state an
artificial variable; each has two candidates, *all* original variables and the next artificial
variable of its cell with score 0, or nothing with score ``-lambda``. The artificial variables of a
cell would form a cycle, so at least one of them takes the empty set: that state is the completion.
The others stand below all original variables, so no original variable can have them as parents.
A family's score for a completion is listed under the parent set enlarged by the artificial
variables of the states it reads. (The paper's cyclic index is misprinted: it runs over the states
of the *missing* variable.)
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from exactlearn.augmentation.enumeration.linked_program import Columns
from exactlearn.data.dataset import Dataset
from exactlearn.solvers.problem import Problem, offsets


def by_cell_choices(problem: Problem, columns: Columns, dataset: Dataset) -> Problem:
    """Replace the choice of each column's completion by one choice for each of its cells."""
    assert problem.literal_first is not None
    cells = dataset.missing_cells
    options = dataset.cardinalities[cells[:, 1]]
    first_of_cell = np.concatenate([[0], np.cumsum(options)])
    options_of_cells: list[NDArray[np.int64]] = []
    for variable in range(dataset.n_variables):
        mine = np.flatnonzero(cells[:, 1] == variable)
        for option in range(columns.first[variable], columns.first[variable + 1]):
            options_of_cells.append(
                first_of_cell[mine] + columns.column(variable, option)[cells[mine, 0]]
            )
    sizes = np.array([len(r) for r in options_of_cells], np.int64)
    flat, begin = np.concatenate(options_of_cells), np.concatenate([[0], np.cumsum(sizes)])
    lengths = sizes[problem.literals]
    owner = np.repeat(_owners(problem.literal_first), lengths)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    literals = flat[np.repeat(begin[problem.literals], lengths) + within]
    order = np.lexsort((literals, owner))
    return replace(
        problem,
        options=options,
        literal_first=offsets(np.bincount(owner, minlength=problem.n_candidates)),
        literals=literals[order].astype(np.int32),
    )


def penalty(problem: Problem) -> float:
    """Return a ``lambda`` that no choice of other candidates can outweigh."""
    low = np.minimum.reduceat(problem.scores, problem.first[:-1])
    high = np.maximum.reduceat(problem.scores, problem.first[:-1])
    return float(np.ceil((high - low).sum() + 1.0))


def without_choices(problem: Problem, names: Sequence[str]) -> Problem:
    """Turn the choices of a problem into gadgets of artificial variables.

    Parameters
    ----------
    problem
        A problem with choices. A choice of one value has one artificial variable, which cannot
        follow itself: it stands below all original variables, or takes the empty set.
    names
        Names of the artificial variables, one for each value of each choice.

    Returns
    -------
    Problem
        A problem without choices, whose optimum is that of the given one minus
        ``penalty(problem)`` for each choice.
    """
    assert problem.literal_first is not None
    n, m, k = problem.n_variables, problem.n_candidates, len(names)
    successor = np.arange(k) + 1
    successor[problem.option_first[1:] - 1] = problem.option_first[:-1]
    owner = np.concatenate(
        [
            _owners(problem.member_first),
            _owners(problem.literal_first),
            np.repeat(m + 2 * np.arange(k), n + 1),
        ]
    )
    below = np.column_stack([np.tile(np.arange(n), (k, 1)), n + successor]).reshape(-1)
    members = np.concatenate([problem.members, n + problem.literals, below])
    owner, members = _without_loops(owner, members, n, m)
    return Problem(
        names=(*problem.names, *names),
        first=np.concatenate([problem.first, m + 2 * np.arange(1, k + 1)]),
        scores=np.concatenate([problem.scores, np.tile([0.0, -penalty(problem)], k)]),
        member_first=offsets(np.bincount(owner, minlength=m + 2 * k)),
        members=members[np.lexsort((members, owner))].astype(np.int32),
        required=problem.required,
        forbidden=problem.forbidden,
    )


def _without_loops(
    owner: NDArray[np.int64], members: NDArray[np.integer], n: int, m: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Leave out artificial variables that follow themselves, those of choices of one value."""
    kept = (owner < m) | (members != n + (owner - m) // 2)
    return owner[kept], members[kept].astype(np.int64)


def artificial_names(dataset: Dataset, taken: Sequence[str]) -> list[str]:
    """Name each missing cell's artificial variables, such as ``smoke[17]=yes`` in the 17th row.

    Characters that score files cannot hold are replaced, and clashes are numbered.
    """
    seen, names = set(taken), []
    for row, variable in dataset.missing_cells:
        for state in dataset.states[variable]:
            name = "_".join(f"{dataset.names[variable]}[{row + 1}]={state}".split()) or "_"
            unique, number = name, 2
            while unique in seen:
                unique, number = f"{name}.{number}", number + 1
            seen.add(unique)
            names.append(unique)
    return names


def chosen_values(problem: Problem, parents: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    """Read the value of each choice off a solution of its gadgets.

    Parameters
    ----------
    problem
        The problem with choices.
    parents
        Parent sets of the original and then of the artificial variables.
    """
    free = np.array([len(ps) == 0 for ps in parents[problem.n_variables :]])
    first = problem.option_first
    return np.array(
        [int(np.argmax(free[first[c] : first[c + 1]])) for c in range(len(problem.options))],
        np.int64,
    )


def gadget_selection(
    problem: Problem, dag: Sequence[Sequence[int]], values: NDArray[np.int64]
) -> tuple[tuple[int, ...], ...]:
    """Return the selection of the gadgets' problem that encodes a DAG and the choices' values.

    Where a family's own candidate was dominated, the set returned holds it and more: solvers take
    the best candidate inside a start's parent set.
    """
    n = problem.n_variables
    chosen = problem.option_first[:-1] + values
    real = [(*ps, *(n + chosen).tolist()) for ps in dag]
    artificial: list[tuple[int, ...]] = []
    for c, r in enumerate(problem.options):
        first = problem.option_first[c]
        for v in range(r):
            following = n + first + (v + 1) % r
            artificial.append(() if v == values[c] else (*range(n), int(following)))
    return tuple(tuple(sorted(ps)) for ps in [*real, *artificial])


def _owners(first: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.repeat(np.arange(len(first) - 1), np.diff(first))
