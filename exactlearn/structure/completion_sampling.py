"""The posterior over networks and completions by Gibbs sampling, where completions are too many.

A sweep draws a network from its exact distribution given the completed table, and then, in random
order, each missing cell given the network and all other cells (data augmentation, Tanner and Wong
1987, "The calculation of posterior distributions by data augmentation"). The parameters are
integrated out: the probability of a value is in proportion to ``exp(score)`` of the table that has
it. The estimates are means of the exact probabilities of arcs and families given the completion,
and of those of the values of a cell given all else (Rao-Blackwell estimates). Theorem *Gibbs
sampling of completions*, docs/theory/posterior.md.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain, islice, takewhile
from math import log, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from exactlearn._runtime.control import SearchControl
from exactlearn.augmentation.task import mode_completion, random_completions
from exactlearn.errors import TooLargeError
from exactlearn.graphs.dag import ancestor_matrix
from exactlearn.solvers.dag_samples import sample_selections
from exactlearn.solvers.gibbs import (
    BURN_IN,
    SAMPLING_TIME,
    TARGET,
    Estimate,
    Floats,
    estimated,
)
from exactlearn.solvers.posterior import SelectionPosterior, largest_part
from exactlearn.structure.completion_posterior import (
    CompletedFamilies,
    CompletionAverage,
)
from exactlearn.structure.network_distribution import unfinished
from exactlearn.structure.selection import Scoring

MAX_VARIABLES = 12
"""Most variables in cycles with each other: .1 s for the sums under one completion, about."""

N_SWEEPS = (80, 80, 160, 320, 640, 1280, 2560, 5120)
"""Sweeps between two looks at the standard errors; all are kept, so that they come to an end."""

N_BATCHES = 16
"""Batches of sweeps that standard errors are from."""

SAMPLING_FRACTION = 0.8
"""Proportion of the time in which completions are drawn; then the best network is searched."""


def sweeps(
    families: CompletedFamilies, values: NDArray[np.int64], rng: np.random.Generator
) -> Iterator[tuple[Any, ...]]:
    """Yield the sweeps of a chain that starts from a completion, shape (cells,).

    Yields
    ------
    values, log_sum, candidates, scores, pairs, cells
        The completion; of the networks under it the logarithm of their sum, probabilities and
        scores of families, probabilities of arcs and drawn ancestors, shape (2, n, n); and
        probabilities of the states of cells given a drawn network, shape (cells, most states).
    """
    while True:
        # a network given the completed table
        sums = families.networks(values[np.newaxis]).selections
        selection = sample_selections(sums, 1, rng)[0]
        ancestors = ancestor_matrix(sums.problem.parent_sets(selection))
        # each cell given the network
        drawn, cells = draw_cells(families, values, selection, rng)
        scores = sums.problem.scores
        pairs = np.array([sums.arcs, ancestors])
        yield values, sums.log_sum, sums.candidates, scores, pairs, cells
        values = drawn


def draw_cells(
    families: CompletedFamilies,
    values: NDArray[np.int64],
    selection: NDArray[np.int64],
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], Floats]:
    """Draw each cell given a network and all other cells, in random order.

    Returns
    -------
    values, probabilities
        The completion, shape (cells,), and the probability of each state when the cell was drawn,
        shape (cells, most states).
    """
    store = families.store(values, selection)
    cardinalities = families.dataset.cardinalities
    probabilities = np.zeros((len(values), cardinalities.max()))
    for cell in rng.permutation(len(values)):
        n_states = cardinalities[families.dataset.missing_cells[cell, 1]]
        completions = np.tile(values, (n_states, 1))
        completions[:, cell] = np.arange(n_states)
        distribution = softmax(store.scores_under(completions).sum(axis=1))
        probabilities[cell, :n_states] = distribution
        values = rng.choice(completions, p=distribution)
    return values, probabilities


def sampled_average(
    scoring: Scoring,
    control: SearchControl,
    on_progress: Callable[[float], None],
    seed: int,
) -> CompletionAverage:
    """Return the average over completions, estimated by two chains.

    The first starts from the mode completion, the second from random values. They end at a largest
    standard error of an arc of .01, when the time is over, or after some 10,000 sweeps.

    Parameters
    ----------
    scoring, control, on_progress
        As for :func:`exactlearn.structure.completion_posterior.average_over_completions`.
    seed
        Seed of the chains.

    Raises
    ------
    OptionError, InfeasibleError, DataError
        As :meth:`CompletedFamilies.of`.
    TooLargeError
        When too many variables may form cycles with each other, or there is no time for chains.
    """
    families = CompletedFamilies.of(scoring)
    largest = largest_part(families.problem)
    if largest > MAX_VARIABLES:
        raise TooLargeError(
            f"missing='average': {largest} variables may form cycles with each other, and sums over"
            f" their networks under each drawn completion are affordable up to {MAX_VARIABLES};"
            " use missing='expected', give tiers, or leave variables out"
        )
    dataset = families.dataset
    starts = (mode_completion(dataset), next(random_completions(dataset, seed)))
    generators = np.random.default_rng(seed).spawn(2)
    limit = SAMPLING_TIME
    if control.remaining is not None:
        limit = SAMPLING_FRACTION * control.left
    drawn: list[tuple[Any, ...]] = []
    with SearchControl(limit).running() as sampling:
        pairs = takewhile(
            lambda pair: sampling.goes_on(),
            zip(*map(partial(sweeps, families), starts, generators), strict=True),
        )
        for n_sweeps in N_SWEEPS:
            drawn += chain.from_iterable(islice(pairs, n_sweeps))
            if len(drawn) < 2 * (BURN_IN + N_BATCHES):
                raise unfinished("the Markov chains over completions", sampling)
            average = _averaged(families, drawn[2 * BURN_IN :])
            on_progress(min(1.0, (TARGET / average.error) ** 2))
            if average.error <= TARGET or sampling.is_over:
                break
    return replace(average, status="interrupted") if sampling.is_stopped else average


def _averaged(
    families: CompletedFamilies, drawn: list[tuple[Any, ...]]
) -> CompletionAverage:
    """Return the average over the sweeps of two chains in turn."""
    values, log_sums, candidates, scores, pairs, cells = map(
        np.array, zip(*drawn, strict=True)
    )
    candidates = candidates.mean(axis=0)
    of_pairs = _estimate(pairs)
    of_cells = _estimate(cells)
    log_weights = -log_sums - log(len(drawn))
    return CompletionAverage(
        selections=SelectionPosterior(
            problem=replace(families.problem, scores=scores.mean(axis=0)),
            parts=(),
            log_sum=nan,
            candidates=candidates,
            arcs=families.problem.sum_by_arc(candidates),
            ancestors=of_pairs.probability[1],
            error=float(of_pairs.error[0].max()),
        ),
        families=families,
        listed=lambda numbers: (values[numbers], log_weights[numbers]),
        proportions=np.full(len(drawn), 1 / len(drawn)),
        cell_figures={"probability": of_cells.probability, "error": of_cells.error},
        status="sampled over completions",
        pair_figures=of_pairs.figures,
    )


def _estimate(figures: Floats) -> Estimate:
    """Return the estimates from the sweeps of two chains in turn, shape (sweeps, ...)."""
    by_chain = figures.reshape(-1, 2, *figures.shape[1:])
    batches = np.array_split(by_chain, N_BATCHES)
    return estimated(np.stack([batch.mean(axis=0) for batch in batches], axis=1))
