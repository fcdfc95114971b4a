"""Optimistic augmentation by brute force: all completions times all DAGs."""

from functools import cache
from itertools import combinations, product

import numpy as np

from exactlearn.augmentation import FamilyRules
from exactlearn.data.dataset import Dataset
from exactlearn.scoring.scores import Score, score_family


@cache
def all_dags(n: int) -> tuple[tuple[tuple[int, ...], ...], ...]:
    """Return every DAG over n variables as a tuple of parent sets."""
    sets = [
        [c for k in range(n) for c in combinations([v for v in range(n) if v != child], k)]
        for child in range(n)
    ]
    return tuple(dag for dag in product(*sets) if _acyclic(dag))


def _acyclic(dag: tuple[tuple[int, ...], ...]) -> bool:
    placed: set[int] = set()
    while len(placed) < len(dag):
        ready = {i for i, ps in enumerate(dag) if i not in placed and placed.issuperset(ps)}
        if not ready:
            return False
        placed |= ready
    return True


def allowed_dags(n: int, rules: FamilyRules) -> list[tuple[tuple[int, ...], ...]]:
    """Return the DAGs that satisfy the rules."""
    return [
        dag
        for dag in all_dags(n)
        if max(map(len, dag)) <= rules.max_parents
        and all(p in dag[c] for p, c in rules.required)
        and not any(p in dag[c] for p, c in rules.forbidden)
    ]


def best_per_completion(
    dataset: Dataset, score: Score, rules: FamilyRules
) -> dict[tuple[int, ...], float]:
    """Return the score of the best DAG for every completion of the missing cells."""
    n = dataset.n_variables
    cells = dataset.missing_cells
    known: dict[tuple[object, ...], float] = {}

    def family(
        complete: Dataset, values: tuple[int, ...], child: int, ps: tuple[int, ...]
    ) -> float:
        seen = tuple(v for v, cell in zip(values, cells, strict=True) if cell[1] in (child, *ps))
        key = (child, ps, seen)
        if key not in known:
            known[key] = score_family(complete, child, ps, score)
        return known[key]

    dags = allowed_dags(n, rules)
    families = sorted({(child, ps) for dag in dags for child, ps in enumerate(dag)})
    index = {f: i for i, f in enumerate(families)}
    chosen = np.array([[index[child, ps] for child, ps in enumerate(dag)] for dag in dags])
    best = {}
    for values in product(*(range(dataset.cardinalities[v]) for _, v in cells)):
        complete = dataset.complete(np.array(values, np.int64))
        scores = np.array([family(complete, values, *f) for f in families])
        best[values] = float(scores[chosen].sum(axis=1).max())
    return best


def random_table(
    rng: np.random.Generator, n: int, rows: int, cells: int, states: int = 3
) -> Dataset:
    """Draw a dependent table with duplicate rows and hide some of its cells."""
    r = rng.integers(2, states + 1, n)
    codes = np.zeros((rows, n), np.int8)
    for v in range(n):
        noise = rng.integers(0, r[v], rows)
        copied = codes[:, rng.integers(0, v)] % r[v] if v else noise
        codes[:, v] = np.where(rng.random(rows) < 0.6, copied, noise)
    hidden = rng.choice(rows * n, cells, replace=False)
    codes.reshape(-1)[hidden] = -1
    if cells and rng.random() < 0.5:  # rows that differ in nothing, to be merged
        codes[rng.integers(rows)] = codes[hidden[0] // n]
        if (codes == -1).sum() > 6:
            codes[codes == -1] = np.where(np.arange((codes == -1).sum()) < 6, -1, 0)
    names = tuple("abcdefgh"[:n])
    return Dataset(codes, names, tuple(tuple(map(str, range(k))) for k in r))
