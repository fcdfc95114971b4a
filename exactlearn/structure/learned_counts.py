r"""Expected counts of an incomplete table, under a network that structural EM learns from it.

The best network for expected counts depends on the network that these are expected under. Where it
has no path between X and Y, rows that lack one of the two, a share q of all, add the product of the
marginals to the counts of the pair, which stand for

.. math:: \tilde P(x, y) = (1 - q) \hat P(x, y) + q \hat P(x) \hat P(y)

with :math:`\hat P` that of the rows that observe both, if the marginals agree. The mutual
information of X and Y, which an arc gains for each of N rows, is then at most :math:`1 - q` times
that of :math:`\hat P`, as relative entropy is convex, and about :math:`(1 - q)^2` times if the
dependence is weak; the penalty remains that of N rows. So structural EM with a score that prefers
few arcs (BDeu with an equivalent sample size of 1, or BIC in few rows) hardly adds one, and takes
away those that do not outweigh this. The score of the observed cells prefers its networks as well.

The counts therefore come from a network that is denser than the one to be found: by structural EM
with an equivalent sample size of `ESS`, and the pseudo-counts that `fit` has by default: with more,
posteriors are too flat, which dilutes dependences as well. The best network for them, by whichever
score, is found once, with a proof. ``docs/incomplete-tables.md`` has the measurements.
"""

from collections import Counter
from collections.abc import Collection
from typing import NamedTuple

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.control import SearchControl
from exactlearn._runtime.variable_arguments import ArcsLike
from exactlearn.bayesnet.buckets import flat_tables
from exactlearn.bayesnet.complete_data import SMOOTHING
from exactlearn.bayesnet.em import NetworkEM, fit_em
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.dataset import Dataset, DatasetLike
from exactlearn.errors import OptionError
from exactlearn.graphs.dag import topological_order
from exactlearn.scoring.expected_counts import ExpectedCounts, expected_counts
from exactlearn.scoring.scores import BDeu, Score, total_weight
from exactlearn.solvers.problem import Arc, Problem
from exactlearn.structure.result import StructuralStatus, family_scores
from exactlearn.structure.structural_em import structural_em

ESS = 10.0
"""Equivalent sample size of the network that completes."""

MAX_PARENTS = 2
"""Most parents of its variables."""

SHARE = 0.5
"""Most of a time limit that structural EM takes."""

REPAIRED_ITERATIONS = 5
"""Iterations of EM for a network that constraints have changed, where the time is over."""


class LearnedCounts(NamedTuple):
    """Expected counts and where they come from.

    Parameters
    ----------
    counts
        The expected counts; not ``finished`` when a limit came first.
    network
        The network that they are expected under.
    status
        How structural EM ended; ``converged`` where the network was given.
    """

    counts: ExpectedCounts
    network: BayesianNetwork
    status: StructuralStatus

    def problem(
        self,
        dataset: Dataset,
        score: Score,
        *,
        required: Collection[Arc] = (),
        forbidden: Collection[Arc] = (),
    ) -> Problem:
        """Return the choice between the families of the network alone, for want of time.

        Parameters
        ----------
        dataset
            The table.
        score
            The score of each family's expected counts.
        required, forbidden
            Arcs (parent, child) by index. Where the network does not satisfy them, its families
            with and without these arcs take the place of its own.
        """
        network = self.network
        parents = _satisfying(network.parents, required, forbidden)
        if parents != network.parents:
            network = fit_em(
                dataset, parents, iterations=REPAIRED_ITERATIONS, starts=1
            ).model
        # The score of each family of this DAG from its expected counts.
        em = NetworkEM(dataset, parents, leaves_out_barren=False)
        counts = em.tables(em.e_step(0, flat_tables(network.tables)).counts)
        scores = family_scores(counts, score, total_weight(dataset))
        return Problem.from_candidates(
            dataset.names,
            [
                {tuple(sorted(family)): family_score}
                for family, family_score in zip(parents, scores, strict=True)
            ],
        )


def _satisfying(
    parents: tuple[tuple[int, ...], ...],
    required: Collection[Arc],
    forbidden: Collection[Arc],
) -> tuple[tuple[int, ...], ...]:
    """Return a DAG that has the required arcs and lacks the forbidden ones, near a given DAG.

    Where the required arcs close a cycle with its others, they stand alone.
    """
    arcs = {
        (parent, child) for child, family in enumerate(parents) for parent in family
    }
    if arcs.issuperset(required) and arcs.isdisjoint(forbidden):
        return parents
    repaired = _parents_of(arcs.difference(forbidden).union(required), len(parents))
    try:
        topological_order(repaired)
    except OptionError:  # of a cycle
        return _parents_of(required, len(parents))
    return repaired


def _parents_of(arcs: Collection[Arc], n_variables: int) -> tuple[tuple[int, ...], ...]:
    """Return the parents of each variable in a graph with some arcs."""
    parents: list[list[int]] = [[] for _ in range(n_variables)]
    for parent, child in sorted(arcs):
        parents[child].append(parent)
    return tuple(map(tuple, parents))


@checked_arguments()
def learned_counts(
    dataset: DatasetLike,
    *,
    max_parents: int = 3,
    network: BayesianNetwork | None = None,
    required: ArcsLike = (),
    forbidden: ArcsLike = (),
    seed: int = 0,
    time_limit: float | None = None,
) -> LearnedCounts:
    """Learn a network from incomplete rows, and return the counts that are expected under it.

    Parameters
    ----------
    dataset
        Table with missing cells.
    max_parents
        Most parents of the families to be counted.
    network
        The network that the counts are to be expected under, such as that of earlier counts, in
        place of one that is learned.
    required, forbidden
        Arcs (parent, child) that the network must, or must not, have.
    seed
        Seed of all that is random.
    time_limit
        Seconds. Structural EM takes up to half of them, and answers with its best network; counts
        that take more than the rest are not ``finished``.

    Returns
    -------
    LearnedCounts
        For ``counts`` of :func:`~exactlearn.scoring.candidates.candidate_parent_sets`.

    Raises
    ------
    OptionError, InfeasibleError, TooLargeError
        As :func:`~exactlearn.structure.structural_em.structural_em`.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[0, 0], [1, 1], [0, 0], [1, 1], [1, -1], [0, -1], [0, 0], [1, 1]])
    >>> data = Dataset(rows, ("a", "b"), (("n", "y"),) * 2)
    >>> learned_counts(data).counts.family(1, (0,)).round(1)
    array([[3.9, 0.1],
           [0.1, 3.9]])
    """
    control = SearchControl.within(time_limit)
    # Under a given network there is nothing to learn.
    if network is not None:
        counts = expected_counts(
            network, dataset, max_parents + 1, seed=seed, control=control
        )
        return LearnedCounts(counts, network, "converged")
    required = tuple(required)
    # Structural EM, with as many parents as the required arcs need.
    n_required = Counter(child for _, child in required)
    learned = structural_em(
        dataset,
        BDeu(ESS),
        max_parents=max(*n_required.values(), 0, min(MAX_PARENTS, max_parents)),
        smoothing=SMOOTHING,
        time_limit=None if time_limit is None else SHARE * time_limit,
        seed=seed,
        required=required,
        forbidden=forbidden,
    )
    assert learned.network is not None  # structural EM begins with one
    counts = expected_counts(
        learned.network, dataset, max_parents + 1, seed=seed, control=control
    )
    return LearnedCounts(counts, learned.network, learned.status)
