"""Exact augmentation by branching on the states of missing cells, without enumerating completions.

The node relaxation lets every family have its best local completion
(:mod:`exactlearn.augmentation.family_bounds`), less Lagrange multipliers that make
families agree (:mod:`exactlearn.augmentation.lagrangian_dual`); ordinary
parent-set selection is solved, and its score is the node's bound. Where it exceeds the best
solution known, the search fixes one fractional missing cell at each of its states, best bound
first. Families that cannot be part of a better network, by the multipliers of the root, are left
out (theorem *Leaving families out*, docs/theory/augmentation.md).
"""

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from math import inf

import numpy as np
from numpy.typing import NDArray

from exactlearn.augmentation.coordinate_ascent import coordinate_ascent
from exactlearn.augmentation.hill_climber import climb, is_tabulated
from exactlearn.augmentation.lagrangian_dual import (
    ROOT_STALL_LIMIT,
    STEPS,
    DualBound,
    solve_dual,
    subgradient_method,
)
from exactlearn.augmentation.node_relaxation import AT_ONCE, NodeRelaxation
from exactlearn.augmentation.restricted_master import RestrictedMaster
from exactlearn.augmentation.solutions import SolutionPool
from exactlearn.augmentation.task import Task
from exactlearn.solvers.enumeration import enumerate_networks
from exactlearn.solvers.multipliers import Multipliers
from exactlearn.solvers.root import cluster_multipliers

# Missing cells from which on the subgradient method comes first; with fewer, linear programs find
# the best multipliers sooner. (SPECT with 184: the gap after a minute is 46 nats, or else 127.)
MANY_CELLS = 100

_Open = tuple[float, int, NodeRelaxation, Multipliers]
"""An open node: its bound with the sign changed, its number, the node and its multipliers."""


def branch(task: Task, pool: SolutionPool) -> bool:
    """Search until nothing better is left; solutions and the bound go to the pool's incumbent.

    Returns
    -------
    bool
        Whether all branches were closed. When the search is over first, the bound is that of the
        open nodes.

    Raises
    ------
    TooLargeError
        When there are too many families.
    """
    incumbent = pool.incumbent
    rooted = _root(task, pool)
    if rooted is None:
        return False
    root, master, multipliers, bound = rooted
    incumbent.prove(bound)
    queue: list[_Open] = [(-bound, 0, root, multipliers)]
    made = 1
    while queue and -queue[0][0] > pool.target:
        priority, _, node, multipliers = heappop(queue)
        incumbent.open_nodes = len(queue)
        incumbent.prove(-priority)
        dual = solve_dual(master, node, multipliers, pool.target)
        if dual is None:
            return False
        incumbent.nodes += 1
        # the node is closed, or climbed from at the 1st, 2nd, 4th, 8th ... node
        if dual.bound <= pool.target:
            continue
        if incumbent.nodes & (incumbent.nodes - 1) == 0:
            _climb_from(task, pool, node, dual)
        kept = _promising(node, dual, pool.target, master.network)
        if not len(node.open_cells):
            if not _list_networks(task, pool, node, kept):
                return False
            continue
        solved = _solve_relaxation(task, pool, node, kept)
        if solved is None:
            return False
        node_bound, votes = solved
        bound = min(-priority, dual.bound, node_bound)
        if bound <= pool.target:
            continue
        # one fractional cell at each of its states
        for below, child in _children(node, votes, dual, pool.target):
            heappush(queue, (-min(bound, below), made, child, dual.multipliers))
            made += 1
    incumbent.prove(incumbent.score)
    return True


def _children(
    node: NodeRelaxation, votes: NDArray[np.int64], dual: DualBound, target: float
) -> Iterator[tuple[float, NodeRelaxation]]:
    """Yield the child nodes of a branching on one missing cell, each with its upper bound.

    Missing cells with one state left are fixed, and another one at each of its states.
    """
    # the highest branching score, from proportions and votes
    disagreement = (votes.sum(axis=1) - votes.max(axis=1)) / len(node.families.names)
    branching_score = len(votes) * (1.0 - dual.proportions.max(axis=1)) + disagreement
    cell = int(np.where(node.cells.filled < 0, branching_score, -inf).argmax())
    bounds = node.state_bounds(dual.bound)
    fixed = _fixed(node, dual, target, but=cell)
    for state in np.flatnonzero(bounds[cell] > target).tolist():
        yield bounds[cell, state], fixed.fixed(cell, state)


def _fixed(
    node: NodeRelaxation, dual: DualBound, target: float, but: int = -1
) -> NodeRelaxation:
    """Return a node with the missing cells fixed of which the multipliers leave one state only."""
    left = node.state_bounds(dual.bound) > target
    is_settled = (left.sum(axis=1) == 1) & (node.cells.filled < 0)
    for cell in np.flatnonzero(is_settled).tolist():
        if cell != but:
            node = node.fixed(cell, int(left[cell].argmax()))
    return node


def _climb_from(
    task: Task, pool: SolutionPool, node: NodeRelaxation, dual: DualBound
) -> None:
    """Climb from the linear program's states with the largest proportions, at ever fewer nodes."""
    if is_tabulated(task):
        filled = node.cells.filled
        values = np.where(filled >= 0, filled, dual.proportions.argmax(axis=1))
        solution = climb(task, pool.incumbent, values, None)
        if solution is not None:
            pool.take(solution)


def _list_networks(
    task: Task, pool: SolutionPool, node: NodeRelaxation, kept: NDArray[np.bool_]
) -> bool:
    """Take the best networks of a node that has fixed all missing cells; return whether all."""
    node.refresh(np.flatnonzero(kept))
    enumeration = enumerate_networks(
        node.families.problem(node.upper).select(kept),
        k=1 if pool.by_completion else pool.k,
        solver=task.solver,
        time_limit=pool.incumbent.remaining,
        seed=task.seed,
    )
    for network in enumeration.networks:
        pool.take(task.solution(network.parents, node.cells.filled))
    return enumeration.complete


def _root(
    task: Task, pool: SolutionPool
) -> tuple[NodeRelaxation, RestrictedMaster, Multipliers, float] | None:
    """Return the root relaxation, its restricted master, multipliers and bound, if time allows."""
    incumbent = pool.incumbent
    relaxation = NodeRelaxation.of(task, incumbent, incumbent.prove_families)
    families = relaxation.families
    cells = relaxation.cells
    if incumbent.is_over:
        return None
    # clusters of the families' relaxation, whose multipliers give a first bound
    problem = families.problem(relaxation.upper)
    multipliers = cluster_multipliers(problem.relative, incumbent)
    incumbent.prove(multipliers.bound(problem))
    assert incumbent.parents is not None
    network = families.flat.selection(incumbent.parents).tolist()
    master = RestrictedMaster(families, cells, network, incumbent.working_values)
    master.add_clusters(multipliers.counted)
    if len(cells.rows) >= MANY_CELLS:
        steps = STEPS * len(cells.rows)
        target = pool.target
        multipliers = subgradient_method(
            master, relaxation, multipliers, target, incumbent.prove, steps
        )
    # the best multipliers, by which families and states are left out
    limit = ROOT_STALL_LIMIT
    target = pool.target
    dual = solve_dual(
        master, relaxation, multipliers, target, incumbent.prove, stall_limit=limit
    )
    if dual is None:
        return None
    kept = _promising(relaxation, dual, pool.target, master.network)
    relaxation = _fixed(relaxation.take(kept), dual, pool.target)
    return (
        relaxation,
        master.take(kept, relaxation.families),
        dual.multipliers,
        dual.bound,
    )


def _promising(
    relaxation: NodeRelaxation, dual: DualBound, target: float, network: Sequence[int]
) -> NDArray[np.bool_]:
    """Return whether each family may be in a better network, or is in the network, shape (m,)."""
    adjusted = relaxation.adjusted(dual.multipliers)
    child = relaxation.families.child
    # with a family in place of its child's best, the bound falls by how much less it is worth
    kept = adjusted.total - (adjusted.best[child] - adjusted.scores) > target
    kept[network] = True  # every variable keeps one, without a cycle
    return kept


def _solve_relaxation(
    task: Task, pool: SolutionPool, node: NodeRelaxation, kept: NDArray[np.bool_]
) -> tuple[float, NDArray[np.int64]] | None:
    """Solve a node's relaxation, and offer the majority of its local completions as a solution.

    Return the node's bound, and how many families' local completions have each state of each cell,
    shape (cells, states); ``None`` when that cannot be done in time. Families that are not kept are
    in no selection above the target.
    """
    incumbent = pool.incumbent
    families = node.families
    nodes = incumbent.nodes
    at_once = AT_ONCE
    while True:
        result = task.solve(families.problem(node.upper).select(kept), incumbent)
        incumbent.nodes = nodes  # of this search, not of the searches inside
        if (
            result.parents is None
            or result.status != "optimal"
            or not incumbent.goes_on()
        ):
            return None
        numbers = families.flat.selection(result.parents)
        stale = np.flatnonzero(~node.fresh[numbers])
        if not len(stale):
            break
        node.refresh(numbers[stale])
        node.freshen(node.upper, stale.tolist(), at_once)
        at_once *= 2  # selections that alternate cost more than bounds
    # the majority of the local completions, improved cell by cell, is a solution
    votes = np.zeros(node.cells.multipliers.shape[1:], np.int64)
    for completion in map(node.best_completion, numbers.tolist()):
        votes[completion.cells, completion.states] += 1
    filled = node.cells.filled
    values = np.where(filled >= 0, filled, votes.argmax(axis=1))
    values = coordinate_ascent(task.dataset, values, result.parents, task.tables)
    pool.take(task.solution(result.parents, values))
    return max(result.score + node.lagrangian_constant, pool.target), votes
