"""How well a model describes rows, and how far it is from a reference model."""

from dataclasses import dataclass
from math import inf, sqrt
from typing import Literal

import numpy as np

from exactlearn._runtime.arguments import checked_arguments
from exactlearn.bayesnet.cliques import clique_tree
from exactlearn.bayesnet.network import BayesianNetwork, normalised
from exactlearn.data.dataset import Dataset
from exactlearn.errors import OptionError, TooLargeError
from exactlearn.pdg.inference.complete_rows import sample_rows
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.queries.evidence import Model, ModelLike
from exactlearn.queries.information import kl_divergence

SAMPLES = 10_000
"""Rows that a divergence is estimated from."""

QUANTILE = 1.959963984540054
"""Standard errors on each side of a 95 % interval."""


@checked_arguments()
def effective_size(model: ModelLike) -> int:
    """Return what belief updating costs: of a network, the size of its clique tree (3.20).

    Parameters
    ----------
    model
        A network, a decision graph or a naive Bayes model.

    Examples
    --------
    >>> import exactlearn as el
    >>> network = el.read_network("asia")
    >>> el.effective_size(network), el.effective_size(el.compile_network(network))
    (40, 40)
    """
    if isinstance(model, BayesianNetwork):
        return clique_tree(model).size(model.cardinalities)
    return model.effective_size


def drawn_rows(model: Model, rows: int, rng: np.random.Generator) -> Dataset:
    """Draw complete rows from a model.

    Parameters
    ----------
    model
        Of any language.
    rows
        How many.
    rng
        Source of randomness; same generator state, same rows.
    """
    if isinstance(model, DecisionGraph):
        return Dataset(sample_rows(model, rows, rng), model.names, model.states)
    return model.sample(rows, rng)


@dataclass(frozen=True)
class Divergence:
    """The Kullback-Leibler divergence of a model from a reference.

    Parameters
    ----------
    value
        In nats, at least 0; infinite where a row is possible under the reference only.
    method
        ``exact``, or ``sampled``: the mean over rows drawn from the reference.
    interval
        A 95 % confidence interval by the normal approximation, cut off at 0; the value twice
        where that is exact or infinite.
    """

    value: float
    method: Literal["exact", "sampled"]
    interval: tuple[float, float]


def divergence(
    reference: Model, model: Model, *, samples: int = SAMPLES, seed: int = 0
) -> Divergence:
    """Return KL(reference, model): exact where that is feasible, else estimated.

    Parameters
    ----------
    reference, model
        Networks or decision graphs; variables and states are matched by name.
    samples, seed
        Rows to draw from the reference where an estimate is needed, at least 2, and the seed.

    Raises
    ------
    OptionError
        When the models do not have the same variables and states, or there are too few samples.
    """
    if samples < 2:
        raise OptionError(f"{samples} samples: an interval needs at least 2")
    try:
        value = kl_divergence(reference, model)
    except TooLargeError:
        return _estimated(reference, model, samples, np.random.default_rng(seed))
    return Divergence(value, "exact", (value, value))


def _estimated(
    reference: Model, model: Model, samples: int, rng: np.random.Generator
) -> Divergence:
    """Return the mean logarithm of the ratio of the probabilities of rows of the reference."""
    p, q = (normalised(m) if isinstance(m, BayesianNetwork) else m for m in (reference, model))
    rows = drawn_rows(p, samples, rng)
    theirs = q.log_likelihood_rows(rows)
    if np.isneginf(theirs).any():  # a proof, not an estimate: the reference has drawn such a row
        return Divergence(inf, "sampled", (inf, inf))
    ratios = p.log_likelihood_rows(rows) - theirs
    mean, error = float(ratios.mean()), float(ratios.std(ddof=1)) / sqrt(samples)
    low, value, high = (max(0.0, mean + k * error) for k in (-QUANTILE, 0.0, QUANTILE))
    return Divergence(value, "sampled", (low, high))
