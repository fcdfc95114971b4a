"""Local search over orders: score against processor time, next to an earlier version and to ASOBS.

    python -m benchmarks.ordering FOLDER [INSTANCE ...] --seconds 2 --baseline REVISION

FOLDER holds the files of local scores; ``synthetic`` stands for 3,000 variables whose scores are
drawn here with a fixed seed. Shown is the score of the largest component after a quarter, a half
and all of the processor seconds, one thread, after compilation and listing, as the mean and the
best of three seeds and as the mean's loss against the best of the whole row. ``plain`` is the
idea of ASOBS (Scanagatta et al. 2015) on the same kernels: random orders, climbed by exchanges of
neighbours. The baseline is this package's search at another revision of its repository, up to
1,000 variables: sweeps from neighbour to neighbour cost the square of their number.
"""

import importlib.util
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import click
import numpy as np
from numpy.typing import NDArray

from benchmarks.measuring import machine
from exactlearn._runtime.kernel import kernel
from exactlearn.formats.scores import read_jkl
from exactlearn.solvers import Problem
from exactlearn.solvers.components import Component, split
from exactlearn.solvers.ordering.decoding import (
    Lists,
    choose_along,
    list_candidates,
    positions_along,
    score_of,
    total_of,
)
from exactlearn.solvers.ordering.moves import State, choose_again, move
from exactlearn.solvers.ordering.solver import OrderSearch

INSTANCES = ("link", "pigs", "diabetes", "munin1", "pathfinder", "synthetic")

SEEDS = 3

MOST_OF_BASELINE = 1000
"""Variables up to which the baseline runs."""

NO_VALUES = np.zeros(0, np.int64)

Search = Callable[[Component, int, float], float]
"""Searches a component with a seed for some processor seconds and returns the score."""


def synthetic(n: int = 3000, seed: int = 0) -> Problem:
    """Draw local scores as of a sparse network: likelihood gains less a penalty for parents."""
    rng = np.random.default_rng(seed)
    place = rng.random((n, 2))
    tables: list[dict[tuple[int, ...], float]] = []
    for child in range(n):
        distance = ((place - place[child]) ** 2).sum(axis=1)
        near = np.argsort(distance)[1:11]
        gain = rng.gamma(1.0, 40.0, len(near))
        table: dict[tuple[int, ...], float] = {(): -500.0}
        for _ in range(60):
            picked = rng.choice(len(near), 1 + int(rng.integers(4)), replace=False)
            score = -500.0 + gain[picked].sum() * rng.normal(1.0, 0.15) - 12.0 * len(picked) ** 1.5
            table[tuple(sorted(map(int, near[picked])))] = float(score)
        tables.append({p: s for p, s in table.items() if not p or s > -500.0})
    return Problem.from_candidates([f"X{i}" for i in range(n)], tables)


@kernel
def exchange_neighbours(lists: Lists, state: State, work: NDArray[np.int64]) -> None:
    """Exchange neighbours in the order while that helps, in place."""
    n, improved = len(state.order), True
    while improved:
        improved = False
        for at in range(n - 1):
            u, v = state.order[at], state.order[at + 1]
            was_u, was_v = state.chosen[u], state.chosen[v]
            move(state, u, at + 1)
            choose_again(lists, state, u, work)
            choose_again(lists, state, v, work)
            gain = (
                score_of(lists.scores, state.chosen[u])
                - score_of(lists.scores, was_u)
                + score_of(lists.scores, state.chosen[v])
                - score_of(lists.scores, was_v)
            )
            if gain > 1e-9:
                improved = True
            else:
                move(state, v, at + 1)
                state.chosen[u], state.chosen[v] = was_u, was_v


def plain(component: Component, seed: int, seconds: float) -> float:
    """Climb from random orders by exchanges of neighbours."""
    rng, lists = np.random.default_rng(seed), list_candidates(component)
    work, best, begun = np.zeros(1, np.int64), -np.inf, time.process_time()
    while time.process_time() - begun < seconds:
        order = rng.permutation(component.n_variables)
        position = positions_along(lists, order, NO_VALUES)
        state = State(order, position, NO_VALUES.copy(), np.empty_like(order))
        choose_along(lists, position, state.chosen, work)
        exchange_neighbours(lists, state, work)
        best = max(best, float(total_of(lists.scores, state.chosen)))
    return best


def searched(search_class: type[OrderSearch]) -> Search:
    """Return the search of a class, continued with growing budget until the time is over."""

    def search(component: Component, seed: int, seconds: float) -> float:
        searcher = search_class(component, np.random.default_rng(seed))
        begun, budget, best = time.process_time(), 2 * 10**5, -np.inf
        order = searcher.greedy_order(NO_VALUES, np.zeros(component.n_candidates))
        while time.process_time() - begun < seconds:
            before = time.process_time()
            found = searcher.improve(order, NO_VALUES, budget, 10**9)
            assert found is not None, "every variable may have no parents here"
            if component.total(found[0]) > best:
                best = component.total(found[0])
                order = order_along(component, found[0])
            left = seconds - (time.process_time() - begun)
            spent = max(1e-4, time.process_time() - before)
            budget = max(10**4, int(min(2 * budget, budget * left / spent)))
        return best

    return search


def order_along(component: Component, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return an order that a selection fits: each variable as soon as its parents stand."""
    parents = [
        set(component.members[component.member_first[c] : component.member_first[c + 1]].tolist())
        for c in chosen
    ]
    order: list[int] = []
    waiting = dict(enumerate(parents))
    while waiting:
        ready = [v for v, needs in waiting.items() if not needs]
        for v in ready:
            del waiting[v]
        for needs in waiting.values():
            needs.difference_update(ready)
        order += ready
    return np.array(order, np.int64)


def search_at(revision: str) -> type[OrderSearch]:
    """Load the search of another revision of this repository, whose modules stay apart."""
    folder = Path(tempfile.mkdtemp())
    for name in ("placing", "ordering"):
        path = f"solvers/{name}.py"
        text = subprocess.run(
            ["git", "show", f"{revision}:{path}"], capture_output=True, text=True, check=True
        ).stdout
        text = text.replace("exactlearn.solvers.ordering.decoding", "baseline_placing")
        (folder / f"baseline_{name}.py").write_text(text)
    loaded = [load(folder / f"baseline_{name}.py") for name in ("placing", "ordering")]
    found: type[OrderSearch] = loaded[-1].OrderSearch
    return found


def load(path: Path) -> ModuleType:
    """Import a file as a module of its own."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows(component: Component, searches: dict[str, Search], seconds: float) -> Iterator[str]:
    """Run every search and yield its line of the table."""
    shares = [seconds / 4, seconds / 2, seconds]
    scores = {
        name: [[search(component, seed, share) for seed in range(SEEDS)] for share in shares]
        for name, search in searches.items()
    }
    best = max(max(max(each) for each in rounds) for rounds in scores.values())
    for name, rounds in scores.items():
        cells = [f"{np.mean(each):.1f} (best {max(each):.1f})" for each in rounds]
        loss = (best - np.mean(rounds[-1])) / abs(best)
        yield f"{name} | " + " | ".join(cells) + f" | {100 * loss:.4f} %"


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("instances", nargs=-1)
@click.option("--seconds", default=2.0, help="processor seconds for each search and seed")
@click.option("--baseline", help="revision whose search runs beside")
def main(folder: Path, instances: tuple[str, ...], seconds: float, baseline: str | None) -> None:
    """Print a table for each instance."""
    searches: dict[str, Search] = {"ours": searched(OrderSearch), "plain": plain}
    if baseline:
        searches["baseline"] = searched(search_at(baseline))
    click.echo(machine())
    small = split(synthetic(60))[0]
    for search in searches.values():
        search(small, 0, 0.1)
    for name in instances or INSTANCES:
        problem = synthetic() if name == "synthetic" else read_jkl(folder / f"{name}-5000.jkl.gz")
        component = max(split(problem), key=lambda c: c.n_variables)
        click.echo(f"{name}: n = {component.n_variables}, m = {component.n_candidates}")
        can = {
            name: search
            for name, search in searches.items()
            if name != "baseline" or component.n_variables <= MOST_OF_BASELINE
        }
        for row in rows(component, can, seconds):
            click.echo(f"  {row}")


if __name__ == "__main__":
    main()
