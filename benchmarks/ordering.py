"""Local search over orders: score against processor time, next to ASOBS.

    python -m benchmarks.ordering FOLDER [INSTANCE ...] --seconds 2

FOLDER holds the files of local scores; ``synthetic`` stands for 3,000 variables whose scores are
drawn here with a fixed seed. Shown is the score of the largest component after a quarter, a half
and all of the processor seconds, one thread, after compilation and listing, as the mean and the
best of three seeds and as the mean's loss against the best of the whole row. ``plain`` is the
idea of ASOBS (Scanagatta et al. 2015) on the same kernels: random orders, climbed by exchanges of
neighbours.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray

from benchmarks.measuring import machine
from exactlearn._runtime.kernel import kernel
from exactlearn.formats.scores import read_jkl
from exactlearn.solvers import Problem
from exactlearn.solvers.components import Component, split
from exactlearn.solvers.decoding import (
    Lists,
    choose_along,
    first_before,
    list_candidates,
    score_of,
    total_of,
)
from exactlearn.solvers.iterated_local_search import OrderSearch
from exactlearn.solvers.moves import State, move

INSTANCES = ("link", "pigs", "diabetes", "munin1", "pathfinder", "synthetic")

SEEDS = 3

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
            score = (
                -500.0
                + gain[picked].sum() * rng.normal(1.0, 0.15)
                - 12.0 * len(picked) ** 1.5
            )
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
            was_u, was_v = state.selection[u], state.selection[v]
            move(state, u, at + 1)
            for w in (u, v):
                state.selection[w] = first_before(
                    lists,
                    state.position,
                    lists.first[w],
                    lists.first[w + 1],
                    state.position[w],
                    work,
                )
            gain = (
                score_of(lists.scores, state.selection[u])
                - score_of(lists.scores, was_u)
                + score_of(lists.scores, state.selection[v])
                - score_of(lists.scores, was_v)
            )
            if gain > 1e-9:
                improved = True
            else:
                move(state, v, at + 1)
                state.selection[u], state.selection[v] = was_u, was_v


def plain(component: Component, seed: int, seconds: float) -> float:
    """Climb from random orders by exchanges of neighbours."""
    rng, lists = np.random.default_rng(seed), list_candidates(component)
    work, best, begun = np.zeros(1, np.int64), -np.inf, time.process_time()
    while time.process_time() - begun < seconds:
        order = rng.permutation(component.n_variables)
        state = State(order, np.argsort(order), np.empty_like(order))
        choose_along(lists, state.position, state.selection, work)
        exchange_neighbours(lists, state, work)
        best = max(best, float(total_of(lists.scores, state.selection)))
    return best


def ours(component: Component, seed: int, seconds: float) -> float:
    """Search with growing budget until the time is over."""
    searcher = OrderSearch(component, np.random.default_rng(seed))
    begun, budget, best = time.process_time(), 2 * 10**5, -np.inf
    order = searcher.greedy_order(np.zeros(component.n_candidates))
    while time.process_time() - begun < seconds:
        before = time.process_time()
        state = searcher.search(order, budget, 10**9)
        order, best = (
            state.order,
            max(best, float(component.scores[state.selection].sum())),
        )
        left = seconds - (time.process_time() - begun)
        spent = max(1e-4, time.process_time() - before)
        budget = max(10**4, int(min(2 * budget, budget * left / spent)))
    return best


def rows(
    component: Component, searches: dict[str, Search], seconds: float
) -> Iterator[str]:
    """Run every search and yield its line of the table."""
    shares = [seconds / 4, seconds / 2, seconds]
    scores = {
        name: [
            [search(component, seed, share) for seed in range(SEEDS)]
            for share in shares
        ]
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
@click.option(
    "--seconds", default=2.0, help="processor seconds for each search and seed"
)
def main(folder: Path, instances: tuple[str, ...], seconds: float) -> None:
    """Print a table for each instance."""
    searches: dict[str, Search] = {"ours": ours, "plain": plain}
    click.echo(machine())
    small = split(synthetic(60))[0]
    for search in searches.values():
        search(small, 0, 0.1)
    for name in instances or INSTANCES:
        problem = (
            synthetic()
            if name == "synthetic"
            else read_jkl(folder / f"{name}-5000.jkl.gz")
        )
        component = max(split(problem), key=lambda c: c.n_variables)
        click.echo(f"{name}: n = {component.n_variables}, m = {component.n_candidates}")
        for row in rows(component, searches, seconds):
            click.echo(f"  {row}")


if __name__ == "__main__":
    main()
