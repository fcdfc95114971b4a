"""Multipliers of cluster inequalities: an upper bound that needs no search.

For clusters C with multipliers ``l_C >= 0`` (Jaakkola et al. 2010, "Learning Bayesian network
structure using LP relaxations", by weak duality)::

    max over DAGs of sum_i s_i(PA_i)
        <= sum_i max_PA [ s_i(PA) + sum of l_C : i in C, PA disjoint from C ] - sum_C l_C

because in every DAG each cluster has a member without parents in it. The inner maximum holds for
*any* local scores, so multipliers found for one problem bound its relatives as well.
"""

from dataclasses import dataclass
from math import fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array, vstack

from exactlearn.kernel import kernel
from exactlearn.solvers.cluster_search import violated_clusters
from exactlearn.solvers.clusters import Support, take_support
from exactlearn.solvers.families import Candidates, Families, families_of
from exactlearn.solvers.problem import Problem

MOST_CUTS = 200
"""Clusters added in one round."""

MOST_STEPS = 150
"""Subgradient steps after which lowering a bound is given up."""

AIM = 0.1
"""How far below the bound that is wanted a subgradient step aims."""

MOST_ROUNDS = 200
"""Rounds after which the multipliers so far are taken: they are valid at any time."""


@dataclass(frozen=True, eq=False)
class Multipliers:
    """Clusters of variables with their multipliers.

    Parameters
    ----------
    clusters
        Members of each cluster, shape (clusters, n).
    values
        Multiplier of each cluster, none negative, shape (clusters,).
    """

    clusters: NDArray[np.bool_]
    values: NDArray[np.float64]

    @property
    def total(self) -> float:
        """Sum of the multipliers, which the bound subtracts."""
        return float(self.values.sum())

    def positive(self) -> "Multipliers":
        """Return the clusters whose multiplier is positive."""
        positive = self.values > 0.0
        return Multipliers(self.clusters[positive], self.values[positive])

    def adjusted(self, problem: Candidates) -> NDArray[np.float64]:
        """Return each candidate's score plus the multipliers of the clusters it satisfies.

        The problem may be a component; what candidates read is left out of account.
        """
        return self.adjusted_families(families_of(problem))

    def adjusted_families(self, families: Families) -> NDArray[np.float64]:
        """Return the same from bare arrays."""
        return families.scores + rewards(
            families.child, families.member_first, families.members, self.clusters, self.values
        )

    def bound(self, problem: Candidates, allowed: NDArray[np.bool_] | None = None) -> float:
        """Return the upper bound on every acyclic selection's score; rounding is allowed for.

        Parameters
        ----------
        problem
            A component, or a problem, of which the constraints are respected.
        allowed
            Which candidates may be selected, shape (m,).
        """
        adjusted = self.adjusted(problem)
        if isinstance(problem, Problem):
            adjusted = np.where(problem.allowed, adjusted, -np.inf)
        if allowed is not None:
            adjusted = np.where(allowed, adjusted, -np.inf)
        return self.total_of(np.maximum.reduceat(adjusted, problem.first[:-1]))

    def total_of(self, best: NDArray[np.float64]) -> float:
        """Return a bound no smaller than the exact one, from each variable's best adjusted score.

        An adjusted score is a sum of up to k + 1 numbers for k multipliers, each addition of which
        is off by at most one unit in the last place of the sum of their sizes.
        """
        k = np.count_nonzero(self.values)
        sizes = np.abs(best).sum() + 2.0 * float(self.clusters.sum(axis=1) @ self.values)
        slack = (k + 2) * np.finfo(np.float64).eps * sizes
        return fsum([*best.tolist(), *(-self.values).tolist(), slack])

    def lowered(self, problem: Problem, enough: float) -> "Multipliers":
        """Change the multipliers until the bound of a related problem is low enough, if that works.

        Steps of Polyak along subgradients: what is wanted is any point of a convex set, and the
        step length that leads to it follows from how far the bound is above ``enough``.

        Parameters
        ----------
        problem
            A problem whose candidates are all allowed, each variable having one at least.
        enough
            The bound to reach.
        """
        if not len(self.values):
            return self
        best = _polyak(
            problem.scores, problem.first, satisfied(problem, self.clusters), self.values, enough,
            MOST_STEPS,
        )  # fmt: skip
        return Multipliers(self.clusters, best)


def root_multipliers(
    problem: Problem, *, clusters: NDArray[np.bool_] | None = None, enough: float = -np.inf
) -> Multipliers:
    """Solve the linear relaxation by cutting planes and return its clusters' dual values.

    Parameters
    ----------
    problem
        A problem without choices.
    clusters
        Clusters to begin with, such as those of a related problem, shape (clusters, n).
    enough
        Stop as soon as the bound is at most this.
    """
    problem = problem.select(problem.allowed)
    n = problem.n_variables
    clusters = np.zeros((0, n), np.bool_) if clusters is None else clusters
    rows = _rows(problem, clusters)
    duals = np.zeros(len(clusters))
    for _ in range(MOST_ROUNDS):
        solved = _relaxation(problem, rows)
        if solved is None:
            break
        x, bound, duals = solved
        if bound <= enough:
            break
        support = take_support(
            x,
            problem.child.astype(np.int64),
            problem.member_first,
            problem.members.astype(np.int64),
        )
        found = violated_clusters(Support(*support), n, MOST_CUTS)
        if not len(found):
            break
        tight = duals > 1e-9
        clusters = np.concatenate([clusters[tight], found])
        duals = np.concatenate([duals[tight], np.zeros(len(found))])
        rows = vstack([rows[tight], _rows(problem, found)], format="csr")
    return Multipliers(clusters, np.maximum(duals, 0.0))


def _relaxation(
    problem: Problem, rows: csr_array
) -> tuple[NDArray[np.float64], float, NDArray[np.float64]] | None:
    """Return the candidates' values, the objective and the duals of the cluster rows."""
    n, m = problem.n_variables, problem.n_candidates
    assign = csr_array((np.ones(m), (problem.child, np.arange(m))), shape=(n, m))
    solve_sparse: Any = linprog  # its stubs know dense matrices only
    solved = solve_sparse(
        -problem.scores,
        A_ub=-rows,
        b_ub=-np.ones(rows.shape[0]),
        A_eq=assign,
        b_eq=np.ones(n),
        method="highs",
    )
    if not solved.success:
        return None
    return solved.x, -float(solved.fun), -np.asarray(solved.ineqlin.marginals)


def _rows(problem: Problem, clusters: NDArray[np.bool_]) -> csr_array:
    return csr_array(satisfied(problem, clusters).astype(np.float64))


def satisfied(problem: Problem, clusters: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which candidates satisfy each cluster, shape (clusters, m)."""
    meets = np.zeros((len(clusters), problem.n_candidates), np.bool_)
    owner = np.repeat(np.arange(problem.n_candidates), np.diff(problem.member_first))
    for k, cluster in enumerate(clusters):
        blocked = np.bincount(owner[cluster[problem.members]], minlength=problem.n_candidates) > 0
        meets[k] = cluster[problem.child] & ~blocked
    return meets


@kernel
def _polyak(
    scores: NDArray[np.float64],
    first: NDArray[np.int64],
    satisfied: NDArray[np.bool_],
    values: NDArray[np.float64],
    enough: float,
    steps: int,
) -> NDArray[np.float64]:
    """Return the multipliers of the lowest bound met, shape (clusters,)."""
    n_clusters, n = len(values), len(first) - 1
    values = values.copy()
    best, lowest = values.copy(), np.inf
    adjusted = np.empty(len(scores))
    excess = np.empty(n_clusters)
    for _ in range(steps):
        adjusted[:] = scores
        bound = 0.0
        for k in range(n_clusters):
            bound -= values[k]
            excess[k] = -1.0
            if values[k] > 0.0:
                for c in range(len(scores)):
                    if satisfied[k, c]:
                        adjusted[c] += values[k]
        for i in range(n):
            pick = first[i]
            for c in range(first[i], first[i + 1]):
                if adjusted[c] > adjusted[pick]:
                    pick = c
            bound += adjusted[pick]
            for k in range(n_clusters):
                excess[k] += satisfied[k, pick]
        if bound < lowest:
            lowest = bound
            best[:] = values
        norm = 0.0
        for k in range(n_clusters):
            if excess[k] < 0.0 or values[k] > 0.0:
                norm += excess[k] ** 2
        if lowest <= enough or norm == 0.0:
            break
        length = (bound - enough + AIM) / norm
        for k in range(n_clusters):
            values[k] = max(0.0, values[k] - length * excess[k])
    return best


@kernel
def _same_family(
    c: int, child: NDArray[np.int64], member_first: NDArray[np.int64], members: NDArray[np.int64]
) -> bool:
    """Tell whether a candidate has the child and the parents of the one before it."""
    size = member_first[c + 1] - member_first[c]
    if child[c] != child[c - 1] or size != member_first[c] - member_first[c - 1]:
        return False
    for p in range(size):
        if members[member_first[c] + p] != members[member_first[c - 1] + p]:
            return False
    return True


@kernel
def rewards(
    child: NDArray[np.int64],
    member_first: NDArray[np.int64],
    members: NDArray[np.int64],
    clusters: NDArray[np.bool_],
    values: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the multipliers of the clusters that each candidate satisfies, summed, shape (m,)."""
    n = clusters.shape[1]
    positive = np.flatnonzero(values > 0.0)
    own = np.empty((n, len(positive)), np.int64)
    n_own = np.zeros(n, np.int64)
    for k in positive:
        for v in range(n):
            if clusters[k, v]:
                own[v, n_own[v]] = k
                n_own[v] += 1
    total = np.zeros(len(child))
    for c in range(len(child)):
        if c > 0 and _same_family(c, child, member_first, members):
            total[c] = total[c - 1]  # completions of one family stand together
            continue
        v, begin, end = child[c], member_first[c], member_first[c + 1]
        for j in range(n_own[v]):
            k = own[v, j]
            disjoint = True
            for at in range(begin, end):
                if clusters[k, members[at]]:
                    disjoint = False
                    break
            if disjoint:
                total[c] += values[k]
    return total
