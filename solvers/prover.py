"""Prove an optimum so that anybody can check it, whichever solver has found it.

Dynamic programming and the search in the order graph visit millions of states, and their proofs
have no short form that could be checked without doing the work again. So every proof is built here
from cluster inequalities (:mod:`exactlearn.solvers.proof`), with a pool of
clusters from the solver where it has one. Dual values are rounded to fractions and bounds
recomputed exactly; a node whose exact bound is too high is worked on. What cannot be proven within
the time is not claimed: the certificate then states the gap that is left.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import floor, lcm

import numpy as np

from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn._runtime.tolerance import TOLERANCE
from exactlearn.errors import CheckError, OptionError

from .certificate import (
    DENOMINATOR,
    Certificate,
    Cluster,
    Restriction,
    Writing,
    bits_of,
    sealed,
)
from .certificate_checker import Problem as ExactProblem
from .certificate_checker import read_scores as read_exact
from .certificate_checker import restrict
from .clusters import Counted
from .constraints import MaxParents, ruled_out_arcs
from .problem import Problem
from .proof import Proof

MOST_NODES = 20_000
"""Nodes that are branched on at most."""

EXACT = 0.9 * TOLERANCE
"""Gap that counts as none, a little less than for results. Most proofs are tighter."""


def certify(
    problem: Problem,
    parents: Sequence[Sequence[int]],
    *,
    scores: str | None = None,
    clusters: Counted | None = None,
    gap: float = 0.0,
    control: SearchControl = UNLIMITED,
    most_nodes: int = MOST_NODES,
) -> Certificate:
    """Prove how good a network is, exactly.

    Parameters
    ----------
    problem
        A problem; constraints must be such that single parent sets satisfy them.
    parents
        Parents of each variable in the best network known.
    scores
        Text of the ``.jkl`` file that the problem was read from, whose decimals may be more exact
        than floating point. Without it, scores are what :func:`exactlearn.formats.scores.write_jkl`
        writes.
    clusters
        Clusters that a solver has used, with their counts; they save time only.
    gap
        Difference of bound and score, in nats, at which the proof may end.
    control
        Ends the proof; the certificate then states the gap reached.
    most_nodes
        Nodes branched on after which the gap that is left is stated.

    Returns
    -------
    Certificate
        Its gap is at most ``gap`` (or what floating point leaves open, less than the 1e-6 nats of
        results) unless time or nodes ran out, or a better network exists.

    Raises
    ------
    OptionError
        When the problem has constraints on whole networks.
    CheckError
        When the network is not one of the problem's.
    """
    # the exact problem: candidates that keep the restrictions, scores as whole numbers
    restrictions = _restrictions(problem)
    tables = read_exact(scores, list(problem.names)) if scores else _decimals(problem)
    restrict(tables, restrictions)
    network = [bits_of(parent_set) for parent_set in parents]
    grid = lcm(*(s.denominator for table in tables for s in table.values()))
    family_scores = []
    exact_problem = ExactProblem()
    for v, table in enumerate(tables):
        if network[v] not in table:
            raise CheckError(
                f"the parents of {problem.names[v]!r} are none of its candidates"
            )
        family_scores.append(int(table[network[v]] * grid))
        exact_problem[v] = [(int(s * grid) * DENOMINATOR, p) for p, s in table.items()]

    # the tree that bounds it
    score = sum(family_scores)
    tolerance = floor(Fraction(EXACT) * grid)
    slack = max(tolerance, floor(Fraction(gap) * grid))
    proof = Proof(grid, network, family_scores, control, most_nodes, tolerance)
    root = proof.prove(exact_problem, slack, _as_bits(clusters))

    # the certificate; writing the tree numbers the clusters
    writing = Writing(grid)
    tree = writing.tree(root)
    certificate = Certificate(
        variables=list(problem.names),
        restrictions=restrictions,
        parents=[sorted(map(int, parent_set)) for parent_set in parents],
        score=writing.score(score),
        bound=writing.score(root.bound),
        gap=writing.score(root.bound - score),
        denominator=DENOMINATOR,
        clusters=writing.clusters(),
        tree=tree,
    )
    return sealed(certificate, tables)


def _restrictions(problem: Problem) -> list[Restriction]:
    """Return the constraints as a certificate holds them."""
    if problem.overall_constraints:
        listed = ", ".join(
            c.describe(problem.names) for c in problem.overall_constraints
        )
        raise OptionError(
            f"no certificate can be written under constraints on whole networks ({listed}): it "
            "covers required and forbidden arcs, and what follows for single parent sets"
        )
    forbidden = ruled_out_arcs(problem.forbidden, problem.constraints)
    limits = [c for c in problem.constraints if isinstance(c, MaxParents)]
    return [
        *(("required", parent, child) for parent, child in sorted(problem.required)),
        *(("forbidden", parent, child) for parent, child in sorted(forbidden)),
        *(("at most", limit.most, limit.variable) for limit in limits),
    ]


def _decimals(problem: Problem) -> list[dict[int, Fraction]]:
    """Return the scores by set of parents: the shortest decimals, which score files hold, too."""
    tables = []
    for v in range(problem.n_variables):
        candidates = problem.candidates(v)
        tables.append(
            {bits_of(parents): Fraction(repr(score)) for parents, score in candidates}
        )
    return tables


def _as_bits(clusters: Counted | None) -> list[Cluster]:
    """Return clusters by their members as bits and their counts."""
    if clusters is None:
        return []
    bits = [bits_of(np.flatnonzero(row).tolist()) for row in clusters.clusters]
    return list(zip(bits, clusters.counts.tolist(), strict=True))
