"""Networks of tables against networks of tables and log-linear families, by rows not learnt from.

    python -m benchmarks.local_models [--data-dir FOLDER] [--repeat N] [--half HALF] [NAME ...]

The folder, or the environment variable EXACTLEARN_DATA, holds ``uci``, ``lucas`` and ``bif``. Of
each public set and each network of one half, complete rows are drawn to learn from (100, 300 and
1,000 where that leaves 60 to judge by, else two thirds). Printed is the log-likelihood of the other
rows in nats a row, the mean over repetitions, with the CPU seconds of all; and how often each
method is ahead of the best network of tables, or behind it, by .05. ``tables, prior`` has tables
with the prior of parent sets that log-linear families have. ``docs/additive-families.md`` shows a
run.
"""

from collections import defaultdict
from pathlib import Path
from time import process_time

import click
import numpy as np

from benchmarks.measuring import machine
from exactlearn import (
    BIC,
    BayesianNetwork,
    BDeu,
    Dataset,
    LocalModels,
    Score,
    candidate_parent_sets,
    fit_complete,
    solve,
)
from exactlearn.reproduce.sources import HALVES, public_set

SIZES = (100, 300, 1000)
LEAST, MOST = 60, 2000
"""Fewest and most rows to judge by."""
SECONDS = 30
"""Limit of each search for a network."""
MARGIN = 0.05

TABLES: dict[str, Score] = {"BDeu 1": BDeu(1), "BDeu 10": BDeu(10), "BIC": BIC()}
CHOSEN = {
    "tables, prior": ("best", -1),
    "log-linear": ("log-linear", 8),
    "best": ("best", 8),
    "best, 3 parents": ("best", 3),
}
"""Local models, and most parents of log-linear families: no family has fewer than -1."""


def learnt(name: str, train: Dataset) -> BayesianNetwork:
    """Learn a network."""
    score = TABLES.get(name, BDeu(1))
    tables = candidate_parent_sets(train, score)
    if name in TABLES:
        parents = solve(tables, time_limit=SECONDS).parents
        assert parents is not None
        return fit_complete(train, parents)
    kind, parents_at_most = CHOSEN[name]
    models = LocalModels(train, score, kind, log_linear_parents=parents_at_most)
    parents = solve(models.problem(tables), time_limit=SECONDS).parents
    assert parents is not None
    return models.fit(parents)


def divided(name: str, folder: Path | None, rows: int, seed: int) -> tuple[Dataset, Dataset] | None:
    """Return rows to learn from and others; nothing where there are too few."""
    rng = np.random.default_rng(seed)
    data = public_set(name, folder, rng, rows + MOST)
    data = data.part(data.complete_rows)
    if data.n_rows < rows + LEAST:
        if rows > SIZES[0]:
            return None
        rows = min(rows, 2 * data.n_rows // 3)
    chosen = rng.permutation(data.n_rows) < rows
    return data.part(chosen), data.part(~chosen)


@click.command()
@click.argument("names", nargs=-1)
@click.option("--data-dir", type=Path, envvar="EXACTLEARN_DATA")
@click.option("--repeat", default=3)
@click.option("--half", default="development")
def main(names: tuple[str, ...], data_dir: Path | None, repeat: int, half: str) -> None:
    """Compare the methods on sets."""
    print(machine())
    methods = [*TABLES, *CHOSEN]
    print(f"{'set':16}{'rows':>6}", *(f"{m:>15}" for m in methods))
    ahead, behind, seconds = defaultdict(int), defaultdict(int), defaultdict(float)
    cells = 0
    for name in names or [n for n in HALVES if HALVES[n] == half]:
        for rows in SIZES:
            divisions = [divided(name, data_dir, rows, seed) for seed in range(repeat)]
            if divisions[0] is None:
                continue
            means = {}
            for method in methods:
                begun = process_time()
                found = [(learnt(method, d[0]), d[1]) for d in divisions if d is not None]
                seconds[method] += process_time() - begun
                means[method] = np.mean([n.log_likelihood(t) / t.n_rows for n, t in found])
            best = max(means[m] for m in TABLES)
            for method in methods:
                ahead[method] += means[method] >= best + MARGIN
                behind[method] += means[method] < best - MARGIN
            cells += 1
            size = divisions[0][0].n_rows
            print(f"{name:16}{size:6}", *(f"{means[m]:15.3f}" for m in methods), flush=True)
    for text, figures in (("ahead", ahead), ("behind", behind), ("CPU seconds", seconds)):
        print(f"{text:16}{cells:6}", *(f"{figures[m]:15.0f}" for m in methods))


if __name__ == "__main__":
    main()
