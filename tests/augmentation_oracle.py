"""Optimistic augmentation by brute force: all completions times all DAGs."""

from functools import cache
from itertools import combinations, product

import numpy as np

from exactlearn.augmentation import FamilyRules
from exactlearn.data.dataset import Dataset
from exactlearn.scoring.scores import Score


@cache
def all_dags(n: int) -> tuple[tuple[tuple[int, ...], ...], ...]:
    """Return every DAG over n variables as a tuple of parent sets."""
    sets = [
        [
            c
            for k in range(n)
            for c in combinations([v for v in range(n) if v != child], k)
        ]
        for child in range(n)
    ]
    return tuple(dag for dag in product(*sets) if _acyclic(dag))


def _acyclic(dag: tuple[tuple[int, ...], ...]) -> bool:
    placed: set[int] = set()
    while len(placed) < len(dag):
        ready = {
            i for i, ps in enumerate(dag) if i not in placed and placed.issuperset(ps)
        }
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
    scores = solution_scores(dataset, score, rules).max(axis=1).tolist()
    return dict(zip(completions(dataset), scores, strict=True))


def completions(dataset: Dataset) -> list[tuple[int, ...]]:
    """Return every completion of the missing cells."""
    return [
        *product(
            *(range(dataset.cardinalities[v]) for v in dataset.missing_cells[:, 1])
        )
    ]


def solution_scores(dataset: Dataset, score: Score, rules: FamilyRules) -> np.ndarray:
    """Return the score of every completion with every DAG, shape (completions, DAGs)."""
    dags = allowed_dags(dataset.n_variables, rules)
    families = sorted({(child, ps) for dag in dags for child, ps in enumerate(dag)})
    index = {f: i for i, f in enumerate(families)}
    chosen = np.array(
        [[index[child, ps] for child, ps in enumerate(dag)] for dag in dags]
    )
    scores = np.stack([family_scores(dataset, score, *f) for f in families], axis=1)
    return np.stack([own[chosen].sum(axis=1) for own in scores])


def family_scores(
    dataset: Dataset, score: Score, child: int, parents: tuple[int, ...]
) -> np.ndarray:
    """Return the score of a family for each completion, by the definition over all its cells."""
    family, cells = [*parents, child], dataset.missing_cells
    own = np.flatnonzero(np.isin(cells[:, 1], family))
    chosen = [tuple(values[h] for h in own) for values in completions(dataset)]
    distinct = {values: k for k, values in enumerate(dict.fromkeys(chosen))}
    codes = np.repeat(
        dataset.codes[None, :, family].astype(np.int64), len(distinct), axis=0
    )
    codes[:, cells[own, 0], [family.index(v) for v in cells[own, 1]]] = [*distinct]
    sizes, tables = dataset.cardinalities[family], np.arange(len(distinct))[:, None]
    counts = np.zeros((len(distinct), sizes.prod()))
    configurations = np.ravel_multi_index(tuple(np.moveaxis(codes, 2, 0)), sizes)
    np.add.at(counts, (tables, configurations), dataset.row_weights)
    r, q = int(sizes[-1]), int(sizes[:-1].prod())
    sums = counts.reshape(-1, r).sum(axis=1)
    gains = score.cell(counts.ravel(), r, q).reshape(counts.shape).sum(axis=1)
    losses = score.configuration(sums, r, q).reshape(-1, q).sum(axis=1)
    found = gains - losses - score.penalty(r, q, float(dataset.row_weights.sum()))
    return found[[distinct[values] for values in chosen]]


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
