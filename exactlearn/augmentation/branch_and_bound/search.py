"""Exact augmentation by branching on the states of holes, without enumerating completions.

Relax the agreement between families: every family has the completion of its columns that it likes
best (:mod:`exactlearn.augmentation.branch_and_bound.family_bounds`), at prices that make families
agree (:mod:`exactlearn.augmentation.branch_and_bound.lagrangian_dual`), and ordinary parent-set
selection is solved. The score is a bound on the node. Where it exceeds the best pair known, the
search fills one hole that the chosen families disagree on with each of its states, best bound
first. Families that cannot be part of a better network, by the multipliers of the root, are left
out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from math import inf

import numpy as np
from numpy.typing import NDArray

from exactlearn.augmentation.branch_and_bound.incomplete_families import OpenFamilies
from exactlearn.augmentation.branch_and_bound.lagrangian_dual import Agreed, agree, descend
from exactlearn.augmentation.branch_and_bound.multipliers import Holes
from exactlearn.augmentation.branch_and_bound.node_relaxation import AT_ONCE, Optimism, Reading
from exactlearn.augmentation.branch_and_bound.restricted_master import Agreement
from exactlearn.augmentation.incumbent import Answers, Incumbent
from exactlearn.augmentation.local_search.coordinate_ascent import settle
from exactlearn.augmentation.local_search.hill_climber import climb, is_tabulated
from exactlearn.augmentation.task import (
    LimitReachedError,
    Task,
    between_blocks,
    pause,
    require_proof,
)
from exactlearn.solvers.enumeration.networks import enumerate_networks
from exactlearn.solvers.lp.multipliers import Multipliers, reaching
from exactlearn.solvers.lp.root import cluster_multipliers

PATIENCE = 60
"""Rounds at the root in which the program of readings must close a tenth of the gap."""

MANY_HOLES, STEPS = 100, 12
"""Holes from which on prices descend before the first linear program, and steps for each hole.

With fewer holes, linear programs find the best prices sooner.
"""

DISPUTED = 0.2
"""Share of a hole's other states from which on the linear program disputes its state."""

FIRST_EFFORT, EFFORT = 20, 8_000
"""Nodes spent on a family's bound: on all families once, then where it matters."""


@dataclass(frozen=True, eq=False)
class _Chosen:
    """The best selection of a node's relaxation.

    Parameters
    ----------
    parents
        Parents of each variable.
    readings
        What each family reads.
    bound
        The node's bound.
    """

    parents: tuple[tuple[int, ...], ...]
    readings: tuple[Reading, ...]
    bound: float


def branch(task: Task, answers: Answers) -> None:
    """Search until nothing better is left; pairs and the bound go to the answers' incumbent.

    Raises
    ------
    LimitReachedError
        When the time is up first; the bound is then that of the open nodes.
    TooLargeError
        When there are too many families.
    """
    incumbent = answers.incumbent
    root, program, multipliers, bound = _root(task, answers)
    incumbent.prove(bound)
    queue: list[tuple[float, int, Optimism, Multipliers]] = [(-bound, 0, root, multipliers)]
    made = 1
    while queue and -queue[0][0] > answers.target:
        priority, _, node, multipliers = heappop(queue)
        incumbent.prove(-priority)
        agreed = agree(program, node, multipliers, answers.target, lambda _: pause(incumbent))
        if agreed.bound <= answers.target:
            incumbent.nodes += 1
            continue
        if incumbent.nodes & (incumbent.nodes - 1) == 0:
            _climb_from(task, answers, node, agreed)
        kept = _promising(node, agreed, answers.target, program.anchor)
        if not len(node.still_open):
            _list_networks(task, answers, node, kept)
            continue
        bound, chosen = min(-priority, agreed.bound), None
        if not _is_disputed(node, agreed):
            chosen = _choose(task, answers, node, kept)
            bound = min(bound, chosen.bound)
            if bound <= answers.target:
                continue
        hole = _disputed(node, chosen, agreed)
        for state in range(int(node.holes.states[hole])):
            heappush(queue, (-bound, made, node.fixed(hole, state), agreed.multipliers))
            made += 1
    incumbent.prove(incumbent.score)


def _climb_from(task: Task, answers: Answers, node: Optimism, agreed: Agreed) -> None:
    """Climb from what the linear program takes the holes for: at ever fewer nodes."""
    if is_tabulated(task):
        filled = node.holes.filled
        values = np.where(filled >= 0, filled, agreed.shares.argmax(axis=1))
        answers.take(climb(task, answers.incumbent, values, None))


def _prove(incumbent: Incumbent, bound: float) -> None:
    incumbent.prove(bound)
    pause(incumbent)


def _list_networks(task: Task, answers: Answers, node: Optimism, kept: NDArray[np.bool_]) -> None:
    """Take the best networks of a node that has filled all holes."""
    node.refresh(np.flatnonzero(kept))
    answers.incumbent.nodes += 1
    found = enumerate_networks(
        node.families.problem(node.upper).select(kept),
        k=1 if answers.by_completion else answers.k,
        solver=task.solver,
        time_limit=answers.incumbent.remaining,
        seed=task.seed,
    )
    for network in found.networks:
        answers.take(task.pair(network.parents, node.holes.filled))
    if not found.complete:
        raise LimitReachedError("interrupted" if found.status == "interrupted" else "feasible")


def _root(task: Task, answers: Answers) -> tuple[Optimism, Agreement, Multipliers, float]:
    """Return bounds and prices of the families that may be part of a better network."""
    incumbent = answers.incumbent
    families = OpenFamilies.of(task, between_blocks(incumbent))
    optimism = Optimism.of(families, Holes.of(task.dataset), FIRST_EFFORT, incumbent.prove_families)
    optimism.most_nodes = EFFORT
    optimism.fresh[:] = False
    problem = families.problem(optimism.upper)
    multipliers = cluster_multipliers(problem, lambda: pause(incumbent))
    incumbent.prove(multipliers.bound(problem))
    program = _program(families, optimism, incumbent)
    program.add_clusters(multipliers.counted)

    def note(bound: float) -> None:
        _prove(incumbent, bound)

    if steps := _steps(optimism):
        multipliers = descend(program, optimism, multipliers, answers.target, note, steps)
    agreed = agree(
        program,
        optimism,
        multipliers,
        answers.target,
        note,
        patience=PATIENCE,
    )
    kept = _promising(optimism, agreed, answers.target, program.anchor)
    optimism = optimism.take(kept)
    return optimism, program.take(kept, optimism.families), agreed.multipliers, agreed.bound


def _steps(optimism: Optimism) -> int:
    """Return how many steps prices descend before the first linear program."""
    holes = len(optimism.still_open)
    return STEPS * holes if holes >= MANY_HOLES else 0


def _program(families: OpenFamilies, optimism: Optimism, incumbent: Incumbent) -> Agreement:
    """Return a linear program to which the incumbent is a solution."""
    assert incumbent.parents is not None
    anchor = [families.number(i, parents) for i, parents in enumerate(incumbent.parents)]
    return Agreement(families, optimism.holes, anchor, incumbent.working_values)


def _promising(
    optimism: Optimism, agreed: Agreed, target: float, anchor: Sequence[int]
) -> NDArray[np.bool_]:
    """Tell which families may be part of a network that beats the target, and the anchor."""
    adjusted = optimism.adjusted(agreed.multipliers)
    child = optimism.families.child
    kept = reaching(adjusted.scores, child, adjusted.best, adjusted.total, target)
    kept[list(anchor)] = True  # every variable keeps one, without a cycle
    return kept


def _choose(task: Task, answers: Answers, node: Optimism, kept: NDArray[np.bool_]) -> _Chosen:
    """Solve a node's relaxation, and offer what its families' majority makes of the holes.

    Families that are not kept are in no selection above the target.
    """
    incumbent, families = answers.incumbent, node.families
    nodes, at_once = incumbent.nodes + 1, AT_ONCE
    while True:
        pause(incumbent)
        result = task.solve(families.problem(node.upper).select(kept), incumbent)
        incumbent.nodes = nodes  # of this search, not of the searches inside
        assert result.parents is not None
        require_proof(result)
        numbers = [families.number(i, parents) for i, parents in enumerate(result.parents)]
        stale = [child for child, number in enumerate(numbers) if not node.fresh[number]]
        if not stale:
            break
        node.refresh(np.array([numbers[child] for child in stale]))
        node.freshen(node.upper, stale, at_once)
        at_once *= 2  # selections that take turns cost more than bounds
    readings = tuple(node.read(number) for number in numbers)
    bound = max(result.score + node.paid_back, answers.target)
    chosen = _Chosen(result.parents, readings, bound)
    _offer(task, answers, node, chosen)
    return chosen


def _votes(node: Optimism, chosen: _Chosen) -> NDArray[np.int64]:
    """Count, for each hole and state, the chosen families that read it, shape (holes, states)."""
    votes = np.zeros(node.holes.prices.read.shape[1:], np.int64)
    for reading in chosen.readings:
        votes[reading.holes, reading.states] += 1
    return votes


def _offer(task: Task, answers: Answers, node: Optimism, chosen: _Chosen) -> None:
    filled = node.holes.filled
    values = np.where(filled >= 0, filled, _votes(node, chosen).argmax(axis=1))
    settled = settle(task.dataset, values, chosen.parents, task.score)
    answers.take(task.pair(chosen.parents, settled))


def _is_disputed(node: Optimism, agreed: Agreed) -> bool:
    """Tell whether a hole is to be filled without asking which selection is best.

    Of many holes some are disputed anyway, and the selection may take longer than the node.
    """
    unsure = 1.0 - agreed.shares[node.still_open].max(axis=1)
    return len(unsure) >= MANY_HOLES and bool(unsure.max() >= DISPUTED)


def _disputed(node: Optimism, chosen: _Chosen | None, agreed: Agreed) -> int:
    """Return the open hole that the linear program, or else the families, are least sure of."""
    dissent = len(agreed.shares) * (1.0 - agreed.shares.max(axis=1))
    if chosen is not None:
        votes = _votes(node, chosen)
        dissent += (votes.sum(axis=1) - votes.max(axis=1)) / len(chosen.parents)
    return int(np.where(node.holes.filled < 0, dissent, -inf).argmax())
