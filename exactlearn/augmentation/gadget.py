"""The reduction of optimistic augmentation to plain parent-set selection.

Adel and de Campos, "Optimal (exact) learning algorithm": for every missing cell and every state an
artificial variable; each has two candidates, *all* original variables and the next artificial
variable of its cell with score 0, or nothing with score ``-lambda``. The artificial variables of a
cell would form a cycle, so at least one of them takes the empty set: that state is the completion.
The others stand below all original variables, so no original variable can have them as parents.
A family's score for a local completion is listed under the parent set enlarged by the artificial
variables of its states. (The paper's cyclic index is misprinted: it runs over the states of the
*missing* variable.)

A local completion of ``(X, PA)`` is useless when some ``PA'`` inside ``PA``, with the same states
in the columns of ``X`` and ``PA'``, scores at least as well: swapping it in keeps the graph acyclic
and every cell's value (theorem *Dominance*, docs/theory/augmentation.md).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn._runtime.kernel import kernel
from exactlearn._runtime.offsets import offsets
from exactlearn.augmentation.families import Families, FamilyRules
from exactlearn.augmentation.family_store import FamilyStore, require_tabulated
from exactlearn.augmentation.task import Task
from exactlearn.data.dataset import Dataset
from exactlearn.errors import TooLargeError
from exactlearn.scoring.incremental_tables import Rows, Sets, change_cell, gains
from exactlearn.solvers.problem import Problem

# Largest number of local completions, of all families together, that are scored.
MAX_COMPLETIONS = 20_000_000

# Largest number of these that no other dominates, which a solver has to take.
#
# Before its first look at the clock it compares them: 78,000 take 1.4 s.
MAX_CANDIDATES = 60_000

# A subset within this of a set's score dominates it: sums in another order differ by less.
TIE = 1e-10


@dataclass(frozen=True, eq=False)
class Gadget:
    """The problem with artificial variables.

    Parameters
    ----------
    problem
        The problem, the original variables first.
    first
        The first artificial variable of each missing cell, shape (cells + 1,).
    penalty
        What each missing cell costs.
    """

    problem: Problem
    first: NDArray[np.int64]
    penalty: float

    def values(self, parents: Sequence[Sequence[int]]) -> NDArray[np.int64]:
        """Return the completion that a selection encodes."""
        is_free = np.array([not parent_set for parent_set in parents])
        states = [int(is_free[a:b].argmax()) for a, b in pairwise(self.first)]
        return np.array(states, np.int64)


def reduced(task: Task, control: SearchControl = UNLIMITED) -> Gadget | None:
    """Return the reduction of a task; ``None`` when the search is over before it is built.

    Raises
    ------
    TooLargeError
        When there are too many families, local completions or candidates.
    """
    dataset = task.dataset
    n = task.dataset.n_variables
    families = enumerable_families(dataset, task.rules)
    first = n + offsets(dataset.cardinalities[dataset.missing_cells[:, 1]])
    tables = _undominated(task, families, first[:-1], control)
    if tables is None:
        return None
    spread = sum(max(table.values()) - min(table.values()) for table in tables if table)
    penalty = float(np.ceil(spread + 1.0))  # other candidates cannot outweigh it
    for a, b in pairwise(first.tolist()):
        tables += [{_below(v, a, b, n): 0.0, (): -penalty} for v in range(a, b)]
    problem = Problem.from_candidates(
        (*dataset.names, *_artificial_names(dataset)),
        tables,
        required=task.rules.required,
        forbidden=task.rules.forbidden,
    )
    return Gadget(problem, first, penalty)


def enumerable_families(dataset: Dataset, rules: FamilyRules) -> Families:
    """Return all families that the rules allow, before anything is enumerated.

    Raises
    ------
    TooLargeError
        When there are too many, or more than :data:`MAX_COMPLETIONS` local completions of them.
    """
    require_tabulated(dataset, rules)
    families = Families.allowed(dataset.names, rules)
    columns = dataset.cardinalities ** (dataset.codes < 0).sum(axis=0).astype(float)
    counts = np.where(families.has, columns, 1.0).prod(axis=1)
    largest = int(counts.argmax())
    if counts.sum() > MAX_COMPLETIONS:
        names = ", ".join(
            dataset.names[v] for v in np.flatnonzero(families.has[largest])
        )
        raise TooLargeError(
            f"the families have {counts.sum():.3g} completions to enumerate "
            f"({counts[largest]:.3g} of them for {{{names}}} alone), and the limit is "
            f"{MAX_COMPLETIONS:,}; use the method 'branching' or 't-local', allow fewer parents, "
            "or hide less in one column"
        )
    return families


def _undominated(
    task: Task, families: Families, first: NDArray[np.int64], control: SearchControl
) -> list[dict[Iterable[int], float]] | None:
    """Return each variable's local completions that no other dominates, with their scores.

    ``first`` has the artificial variable of each missing cell's first state. ``None`` when the
    search is over before the end.
    """
    dataset = task.dataset
    cells = task.dataset.missing_cells
    states = dataset.cardinalities[cells[:, 1]]
    tables: list[dict[Iterable[int], float]] = [{} for _ in dataset.names]
    store = FamilyStore.of(
        dataset, np.zeros(len(cells), np.int64), task.tables, families, control
    )
    best: dict[
        tuple[int, tuple[int, ...]], tuple[NDArray[np.int64], NDArray[np.float64]]
    ] = {}
    for f, child in enumerate(families.child.tolist()):
        if not control.goes_on():
            return None
        parents = families.flat.parent_set(f)
        family_cells = np.flatnonzero(families.has[f, cells[:, 1]] & (states > 1))
        # local completions that one of a subset of the parents dominates leave
        scores = _completion_scores(store, f, cells[family_cells], states[family_cells])
        subset_best = np.full(scores.shape, -np.inf)
        for p in parents:
            subset = best.get((child, tuple(q for q in parents if q != p)))
            if subset is not None:  # parents that are required never go
                # an axis of length 1 for each cell that the subset does not have
                is_shared = np.isin(family_cells, subset[0])
                shape = np.where(is_shared, scores.shape, 1)
                subset_best = np.maximum(subset_best, subset[1].reshape(shape))
        best[child, parents] = family_cells, np.maximum(scores, subset_best)
        kept = scores > subset_best + TIE
        # the parent set is enlarged by the artificial variables of its states
        artificial = first[family_cells] + np.argwhere(kept)
        for members, score in zip(
            artificial.tolist(), scores[kept].tolist(), strict=True
        ):
            tables[child][(*parents, *members)] = score
        if sum(map(len, tables)) > MAX_CANDIDATES:
            raise TooLargeError(
                f"the reduction has more than {MAX_CANDIDATES:,} candidates; use the method "
                "'branching' or 't-local', allow fewer parents, or hide less in one column"
            )
    return tables


def _completion_scores(
    store: FamilyStore, family: int, cells: NDArray[np.int64], states: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return a family's score under each local completion, an axis for each of its cells."""
    alone = store.select(np.arange(len(store.families)) == family)
    sets = alone.pairs.family[0], alone.pairs.parents[0]
    scores = _walk_completions(alone.sets, alone.rows, cells, states, *sets)
    scores -= alone.pairs.penalty[0]
    return scores.reshape(states)


@kernel
def _walk_completions(
    sets: Sets,
    rows: Rows,
    cells: NDArray[np.int64],
    states: NDArray[np.int64],
    family: int,
    parents: int,
) -> NDArray[np.float64]:
    """Return the difference of two sets' sums under all completions of some cells, (completions,).

    The last cell's state runs fastest. Completions are walked in reflected mixed-radix Gray order
    (Knuth, "The art of computer programming" 4A, Algorithm 7.2.1.1H), which changes one cell a
    step. All cells have state 0 at first.
    """
    total = 1
    for r in states:
        total *= r
    differences = np.empty(total)
    differences[0] = sets.values[family] - sets.values[parents]
    change = np.zeros(len(sets.values))
    digits = np.zeros(len(cells), np.int64)
    steps = np.ones(len(cells), np.int64)
    at = 0
    for _ in range(1, total):
        # the last cell whose state can step on; those after it turn around
        c = len(cells) - 1
        place = 1
        while not 0 <= digits[c] + steps[c] < states[c]:
            steps[c] = -steps[c]
            place *= states[c]
            c -= 1
        digits[c] += steps[c]
        at += steps[c] * place
        u = cells[c, 0]
        v = cells[c, 1]
        gains(sets, rows, u, v, digits[c], change)
        change_cell(sets, rows, u, v, digits[c], change)
        differences[at] = sets.values[family] - sets.values[parents]
    return differences


def _below(v: int, first: int, end: int, n: int) -> tuple[int, ...]:
    """Return all original variables and the next artificial variable of a cell, if it has more."""
    following = v + 1 if v + 1 < end else first
    return (*range(n), *([following] if following != v else []))


def _artificial_names(dataset: Dataset) -> list[str]:
    """Name each missing cell's artificial variables, such as ``smoke[17]=yes`` in the 17th row.

    Characters that score files cannot hold are replaced, and equal names get primes.
    """
    names = dict.fromkeys(dataset.names)
    for row, variable in dataset.missing_cells:
        for state in dataset.states[variable]:
            name = (
                "_".join(f"{dataset.names[variable]}[{row + 1}]={state}".split()) or "_"
            )
            while name in names:
                name += "'"
            names[name] = None
    return [*names][dataset.n_variables :]
