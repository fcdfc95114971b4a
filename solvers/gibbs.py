"""A Markov chain over the DAGs of a problem with many variables: blocked Gibbs sampling.

A step takes a block of some eight variables, and draws the parents of all of them at once from
their distribution given the parents of all others (Goudie and Mukherjee 2016, "A Gibbs sampler for
learning DAGs", for blocks of up to three variables). Here the sums over the DAGs of the block are
exact (:mod:`exactlearn.solvers.sums`): no move is ever rejected, and each step yields the exact
probability of each parent set of the block given the others. Their means are the estimates. The
stationary distribution is the posterior with the uniform prior over DAGs
(docs/theory/posterior.md).

Two chains run side by side, one from the best network, the other one from the smallest. Standard
errors are those of the means of batches of sweeps; where the chains disagree (R-hat), half of their
difference counts.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from math import log, nan
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn._runtime.display import ByValue
from exactlearn._runtime.executors import in_order, n_threads
from exactlearn._runtime.offsets import owners
from exactlearn.errors import OptionError
from exactlearn.graphs.dag import ancestor_matrix

from .dag_samples import draw_dag
from .gibbs_kernels import Families, act_in_block
from .parent_set_sums import POWERS, add_probabilities
from .posterior import require_sums
from .problem import Problem
from .sum_kernels import scratch_space
from .sums import split_weights, sum_over_dags, sums_of_stretches

BLOCK_SIZE = 8
"""Variables of a block."""

NEGLIGIBLE = 40 * log(2.0)
"""Loss beside the smallest parent set, in nats, at which a parent set is left out."""

TEMPERATURE = 2.0
"""Loss in nats by which an arc is e times less likely to bring its ends into one block."""

UNRELATED = 0.1
"""Weight of variables without a likely arc among those for a block."""

BURN_IN = 20
"""Sweeps of each chain that do not count."""

MAX_BATCHES = 32
"""Batches of a chain: where there are as many, each two become one."""

MIN_BATCHES = 8
"""Batches of a chain below which there is no estimate."""

TINY = 1e-18
"""Smallest variance of a probability that counts."""

MAX_R_HAT = 1.2
"""R-hat of batches above which the chains disagree: by some three standard errors."""

TARGET = 0.01
"""Largest standard error of an arc's probability at which sampling ends."""

SAMPLING_TIME = 60.0
"""Seconds of Markov chains for which no time limit is given."""

Floats = NDArray[np.float64]


class Draw(NamedTuple):
    """The DAG after a sweep, or several of them.

    Parameters
    ----------
    selection
        The candidate of each variable, shape (..., n).
    in_block
        Which variables the last block held, shape (..., n).
    log_sum
        Logarithm of the sum over its DAGs, relative to the best candidates, shape (...).
    """

    selection: NDArray[np.int64]
    in_block: NDArray[np.bool_]
    log_sum: Floats


@dataclass(kw_only=True)
class ChainState:
    """The state of a chain, and the sums over its sweeps.

    Parameters
    ----------
    selection
        The candidate of each variable, shape (n,).
    rng
        What draws.
    parents
        Space for the sets that candidates act as in a block, shape (M,).
    visits
        In how many blocks each variable was, shape (n,).
    probabilities
        Sum of the probabilities of each candidate in these, shape (M,).
    ancestors
        In how many sweeps ``[ancestor, descendant]`` were such, shape (n, n).
    draws
        The DAG after each sweep.
    """

    selection: NDArray[np.int64]
    rng: np.random.Generator
    parents: NDArray[np.int64]
    visits: Floats
    probabilities: Floats
    ancestors: Floats
    draws: list[Draw] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class BlockedGibbs:
    """The blocked Gibbs sampler of a problem.

    Parameters
    ----------
    problem
        The problem, of the candidates that matter.
    families, mantissa, exponent
        These and their weights, as the kernels take them.
    affinity
        Weights by which other variables come into a block around each one, shape (n, n). They must
        not depend on the state of the chain.
    block_size
        Variables of a block.
    """

    problem: Problem
    families: Families
    mantissa: Floats
    exponent: NDArray[np.int64]
    affinity: Floats
    block_size: int

    def init(
        self, selection: NDArray[np.int64], rng: np.random.Generator
    ) -> ChainState:
        """Return the state of a chain that starts at a DAG."""
        n = self.problem.n_variables
        return ChainState(
            selection=selection.copy(),
            rng=rng,
            parents=np.zeros(self.problem.n_candidates, np.int64),
            visits=np.zeros(n),
            probabilities=np.zeros(self.problem.n_candidates),
            ancestors=np.zeros((n, n)),
        )

    def step(self, state: ChainState, variable: int) -> Draw:
        """Draw the parents of a block around a variable, and return the DAG."""
        # a weighted order: each next variable by its weight among those left
        waiting = state.rng.exponential(size=len(self.affinity))
        return self.resample(state, np.argsort(waiting / self.affinity[variable]))

    def resample(self, state: ChainState, order: NDArray[np.int64]) -> Draw:
        """Draw the parents of the first variables of an order, and return the DAG."""
        block = order[: self.block_size]
        above = np.zeros_like(order)
        parents = state.parents
        act_in_block(self.families, state.selection, order, len(block), above, parents)
        # the sums over the DAGs of the block
        candidates = (
            self.families.first[block],
            self.families.first[block + 1],
            parents,
            self.mantissa,
            self.exponent,
        )
        sums = sums_of_stretches(*candidates)
        part = sum_over_dags(sums, np.diff(self.families.first)[block], threads=1)
        assert part is not None  # no clock ends it
        add_probabilities(
            *candidates,
            sums.exponent,
            part.non_descendants,
            POWERS,
            state.probabilities,
        )
        drawn = np.zeros_like(block)
        uniform = state.rng.random((len(block) + 1, len(block)))
        scratch = scratch_space(len(block))
        draw_dag(*candidates, sums, part.outer, POWERS, uniform, scratch, drawn)
        state.selection[block] = drawn
        in_block = np.isin(np.arange(len(order)), block)
        state.visits += in_block
        return Draw(state.selection.copy(), in_block, np.array(part.log_sum))

    def sweep(self, state: ChainState, control: SearchControl) -> bool:
        """Take a step around each variable; return whether the control let it end."""
        for variable in state.rng.permutation(self.problem.n_variables).tolist():
            if not control.goes_on():
                return False
            draw = self.step(state, variable)
        state.draws.append(draw)
        state.ancestors += ancestor_matrix(self.problem.parent_sets(draw.selection))
        return True

    def advance(
        self,
        chains: Sequence[ChainState],
        n_sweeps: int,
        *,
        control: SearchControl,
        threads: int,
    ) -> bool:
        """Let each chain make sweeps, side by side; return whether the control let them end."""

        def sweep(number: int, space: None) -> bool:
            return all(self.sweep(chains[number], control) for _ in range(n_sweeps))

        return all([*in_order(sweep, len(chains), lambda: None, threads)])

    def sums(self, state: ChainState) -> Floats:
        """Return the sums for arcs and ancestors, and of how many they are, shape (2, 2, n, n)."""
        arcs = self.problem.sum_by_arc(state.probabilities)
        n_sweeps = np.full_like(arcs, len(state.draws))
        n_visits = np.broadcast_to(state.visits, arcs.shape)
        return np.array([[arcs, state.ancestors], [n_visits, n_sweeps]])


def smallest_selection(problem: Problem) -> NDArray[np.int64]:
    """Return the candidate of each variable that all its others contain, shape (n,).

    Raises
    ------
    OptionError
        When a variable has none: a chain may not reach every network then.

    Examples
    --------
    >>> problem = Problem.from_candidates(["a", "b"], [{(1,): 0.0, (): 0.0}, {(): 0.0}])
    >>> problem.parent_sets(smallest_selection(problem))
    ((), ())
    """
    is_common = problem.sum_by_arc(np.ones(problem.n_candidates)) == np.diff(
        problem.first
    )
    selection = problem.selection([np.flatnonzero(c).tolist() for c in is_common.T])
    if selection.min(initial=0) < 0:
        name = problem.names[int(selection.argmin())]
        raise OptionError(
            f"variable {name!r}: none of its parent sets is a part of all others, so that a Markov"
            " chain may not reach every network; add the parents that all have in common as one"
        )
    return selection


def blocked_gibbs(problem: Problem, block_size: int = BLOCK_SIZE) -> BlockedGibbs:
    """Return the sampler of a problem.

    Raises
    ------
    OptionError
        When no parent set of a variable is part of all its others.
    """
    problem = problem.select(problem.allowed)
    # wherever a candidate is possible, the smallest one is
    smallest = problem.scores[smallest_selection(problem)]
    problem = problem.select(problem.scores > smallest[problem.child] - NEGLIGIBLE)
    families = Families(problem.first, problem.member_first, problem.members)
    # the loss of the best parent set with an arc between two variables
    row = owners(problem.member_first)
    gain = np.full((problem.n_variables, problem.n_variables), -np.inf)
    arcs = (problem.members, problem.child[row])
    np.maximum.at(gain, arcs, problem.relative.scores[row])
    affinity = np.exp(np.maximum(gain, gain.T) / TEMPERATURE)
    affinity += UNRELATED / problem.n_variables
    np.fill_diagonal(affinity, np.inf)  # the variable itself comes first
    return BlockedGibbs(
        problem,
        families,
        *split_weights(problem.relative.scores),
        affinity,
        min(block_size, problem.n_variables),
    )


class Estimate(NamedTuple):
    """Probabilities that chains estimate, all of one shape.

    Parameters
    ----------
    probability
        The means over all batches.
    error
        Their standard errors.
    r_hat
        R-hat of the means of batches: far above 1 where chains disagree.
    effective_size
        Number of independent networks that would give the same standard error.
    """

    probability: Floats
    error: Floats
    r_hat: Floats
    effective_size: Floats

    @property
    def figures(self) -> dict[str, Floats]:
        """Figures of arcs and ancestors by name, of estimates of shape (2, n, n)."""
        return {
            "error": self.error[0],
            "r_hat": self.r_hat[0],
            "effective_size": self.effective_size[0],
            "ancestor_error": self.error[1],
        }


def estimated(means: Floats) -> Estimate:
    """Return the estimates from the means of batches, shape (chains, batches, ...).

    Examples
    --------
    >>> agreeing = estimated(np.array([[0.4, 0.6] * 4, [0.6, 0.4] * 4]))
    >>> float(agreeing.probability), round(float(agreeing.error), 3)
    (0.5, 0.027)
    >>> apart = estimated(np.array([[0.1, 0.2] * 4, [0.8, 0.9] * 4]))
    >>> round(float(apart.error), 2), bool(apart.r_hat > 1.1)
    (0.35, True)
    """
    n_chains, n_batches = means.shape[:2]
    probability = np.minimum(means.mean(axis=(0, 1)), 1.0)
    within = np.maximum(means.var(axis=1, ddof=1).mean(axis=0) / n_batches, TINY)
    between = means.mean(axis=1).var(axis=0, ddof=1)
    r_hat = np.sqrt(1.0 - 1.0 / n_batches + between / within / n_batches)
    disagreement = np.where(r_hat > MAX_R_HAT, between, 0.0)
    variance = np.maximum(within, disagreement) / n_chains
    spread = np.maximum(probability * (1.0 - probability), n_batches * TINY)
    effective_size = spread / variance
    return Estimate(probability, np.sqrt(variance), r_hat, effective_size)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SampledNetworks(ByValue, shown="status problem error"):
    """The posterior over the networks of a problem, estimated by Markov chains.

    Parameters
    ----------
    problem
        The problem, of the candidates that matter.
    candidates
        Posterior probability of each candidate, shape (M,).
    estimate
        Estimates for ``[0, parent, child]`` and ``[1, ancestor, descendant]``, shape (2, n, n).
    draws
        The DAGs after all sweeps of both chains.
    status
        ``sampled``, or ``interrupted`` when the chains were stopped before their time.
    """

    problem: Problem
    candidates: Floats
    estimate: Estimate
    draws: Draw
    status: str
    log_evidence: float = nan
    """Chains do not yield the sum over all networks."""

    @cached_property
    def arcs(self) -> Floats:
        """Probability of each arc ``[parent, child]``, shape (n, n)."""
        return self.problem.sum_by_arc(self.candidates)

    @property
    def arc_errors(self) -> Floats:
        """Standard error of the probability of each arc, shape (n, n)."""
        return np.asarray(self.estimate.error[0])

    @property
    def ancestors(self) -> Floats:
        """Probability that ``[ancestor, descendant]`` are such, shape (n, n)."""
        return np.asarray(self.estimate.probability[1])

    @property
    def error(self) -> float:
        """Largest standard error of the probability of an arc."""
        return float(self.arc_errors.max(initial=0.0))

    @property
    def diagnostics(self) -> dict[str, Floats]:
        """Standard errors, R-hat and effective sizes by name, shape (n, n) each."""
        return self.estimate.figures

    def parent_sets(self, variable: int) -> dict[tuple[int, ...], float]:
        """Return the probability of each parent set of a variable, by index."""
        return self.problem.by_parent_set(variable, self.candidates)

    def probability(self, parents: Sequence[Sequence[int]]) -> float:
        """Return the probability of one network.

        It is the mean over the drawn networks of its probability given the parents of all variables
        but those of the last block; 0 where no drawn network has these.
        """
        families = [(v, tuple(sorted(family))) for v, family in enumerate(parents)]
        if not all(family in self._rows for family in families):
            return 0.0
        selection = [self._rows[family] for family in families]
        selections, in_block, log_sum = self.draws
        agrees = (in_block | (selections == selection)).all(axis=1)
        log_weight = in_block @ self.problem.relative.scores[selection]
        log_probability = np.where(agrees, log_weight - log_sum, -np.inf)
        return float(np.mean(np.exp(log_probability)))

    def mass(self, networks: Sequence[Sequence[Sequence[int]]]) -> float:
        """Return the probability that some different networks have together."""
        return sum(map(self.probability, networks))

    @cached_property
    def _rows(self) -> dict[tuple[int, tuple[int, ...]], int]:
        """The number of each candidate by its variable and parents."""
        sets = map(self.problem.parent_set, range(self.problem.n_candidates))
        families = zip(self.problem.child.tolist(), sets, strict=True)
        return {family: row for row, family in enumerate(families)}

    def draw(
        self, n: int, rng: np.random.Generator
    ) -> list[tuple[tuple[int, ...], ...]]:
        """Return the parents of each variable in ``n`` of the drawn networks."""
        selections = rng.choice(self.draws.selection, n)
        return list(map(self.problem.parent_sets, selections))


def sample_networks(
    problem: Problem,
    parents: Sequence[Sequence[int]],
    *,
    seed: int = 0,
    control: SearchControl = UNLIMITED,
    threads: int | None = None,
    block_size: int = BLOCK_SIZE,
    target: float = TARGET,
    on_progress: Callable[[float], None] = lambda done: None,
) -> SampledNetworks | None:
    """Estimate the posterior over DAGs by two Markov chains; ``None`` if there is no time for it.

    Parameters
    ----------
    problem
        The problem; its candidates are all parent sets that a DAG may have.
    parents
        Parents of each variable in the DAG that the first chain starts from.
    seed
        Seed of the chains.
    control
        The clock: when it ends, the estimates so far are returned.
    threads
        How many threads to use; ``None`` for as many as there are cores.
    block_size
        Variables of a block.
    target
        Largest standard error of the probability of an arc at which the chains end.
    on_progress
        Called with the proportion of the sweeps that it seems to take.

    Raises
    ------
    OptionError
        When a constraint concerns the whole network, or no parent set of a variable is part of all
        its others.
    InfeasibleError
        When the constraints exclude every network.

    Examples
    --------
    >>> problem = Problem.from_candidates(["a", "b"], [{(): 0.0, (1,): 0.0}, {(): 0.0, (0,): 0.0}])
    >>> sample_networks(problem, [(), ()]).arcs.round(3).tolist()
    [[0.0, 0.333], [0.333, 0.0]]
    """
    require_sums(problem)
    sampler = blocked_gibbs(problem, block_size)
    starts = (sampler.problem.selection(parents), smallest_selection(sampler.problem))
    generators = np.random.default_rng(seed).spawn(len(starts))
    chains = list(map(sampler.init, starts, generators))
    advance = partial(sampler.advance, control=control, threads=n_threads(threads))
    # only what follows the first sweeps counts
    advance(chains, BURN_IN)
    chains = [sampler.init(chain.selection, chain.rng) for chain in chains]
    # the sums after each batch of sweeps
    sums = [list(map(sampler.sums, chains))]
    length = 1
    estimate = None
    while advance(chains, length):
        sums.append(list(map(sampler.sums, chains)))
        if len(sums) > MIN_BATCHES:
            estimate = _estimate(sums)
            error = float(estimate.error[0].max(initial=0.0))
            on_progress(min(1.0, (target / error) ** 2))
            if error <= target and len(sums) > MAX_BATCHES // 2:
                break
        if len(sums) > MAX_BATCHES:
            sums = sums[::2]
            length *= 2
    if estimate is None:
        return None
    status = "interrupted" if control.is_stopped else "sampled"
    return _sampled(sampler.problem, chains, estimate, status)


def _estimate(sums: Sequence[Sequence[Floats]]) -> Estimate:
    """Return the estimates for arcs and ancestors from the sums after each batch of sweeps."""
    added = np.diff(sums, axis=0)
    means = added[:, :, 0] / added[:, :, 1]
    return estimated(means.swapaxes(0, 1))


def _sampled(
    problem: Problem, chains: Sequence[ChainState], estimate: Estimate, status: str
) -> SampledNetworks:
    """Return the posterior that chains have estimated."""
    visits = np.sum([chain.visits for chain in chains], axis=0)
    probabilities = np.sum([chain.probabilities for chain in chains], axis=0)
    draws = [draw for chain in chains for draw in chain.draws]
    return SampledNetworks(
        problem=problem,
        candidates=probabilities / visits[problem.child],
        estimate=estimate,
        draws=Draw(*map(np.array, zip(*draws, strict=True))),
        status=status,
    )
