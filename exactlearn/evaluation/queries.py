"""Posterior queries on networks and decision graphs, by names of variables and states."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, inf

import numpy as np
from numpy.typing import NDArray

from exactlearn.errors import DataError, TooLargeError
from exactlearn.evaluation.elimination import eliminated, elimination_cells
from exactlearn.network import BayesianNetwork
from exactlearn.pdg.compile import compile_network, normalised
from exactlearn.pdg.decision_graph import DecisionGraph
from exactlearn.pdg.flows import posteriors_and_log_likelihoods

FEW_CELLS = 4_000_000
"""With fewer table cells, one query is answered sooner without compiling the network."""


@dataclass(frozen=True)
class Answer:
    """The answer to a query.

    Parameters
    ----------
    posterior
        For each target, the probability of each of its states given the evidence.
    probability_of_evidence, log_probability_of_evidence
        The first may underflow to zero when there is much evidence, the natural logarithm not.
    """

    posterior: dict[str, dict[str, float]]
    probability_of_evidence: float
    log_probability_of_evidence: float


def query(
    model: BayesianNetwork | DecisionGraph,
    evidence: Mapping[str, str] | None = None,
    targets: Sequence[str] | None = None,
) -> Answer:
    """Return the exact posterior marginals of the targets given the evidence.

    Parameters
    ----------
    model
        A network is asked by elimination along its clique tree, and compiled where that is large:
        compile it once yourself to ask many queries.
    evidence
        State of each observed variable.
    targets
        Variables asked for; all without evidence when left out.

    Raises
    ------
    OptionError
        If a variable or state is unknown; near names are offered.
    DataError
        If the evidence has probability zero.
    TooLargeError
        If a network is too large for both.
    """
    evidence = evidence or {}
    codes = np.full((1, model.n_variables), -1, np.int16)
    for name, state in evidence.items():
        variable = model.index(name)
        codes[0, variable] = model.state_index(variable, state)
    if targets is None:
        targets = [name for name in model.names if name not in evidence]
    wanted = [model.index(name) for name in targets]
    posterior, logs = _posteriors(model, codes)
    log_probability = float(logs[0])
    if log_probability == -inf:
        shown = ", ".join(f"{name}={state}" for name, state in evidence.items())
        raise DataError(
            f"the evidence {shown} has probability zero under the model, so it has no posterior;"
            " correct it, or use a model with smoothed parameters"
        )
    last = np.cumsum(model.cardinalities).tolist()
    marginals = posterior[0].tolist()
    answers = {
        name: dict(zip(states, marginals[last[v] - len(states) : last[v]], strict=True))
        for name, v in zip(targets, wanted, strict=True)
        for states in [model.states[v]]
    }
    return Answer(answers, exp(log_probability), log_probability)


def _posteriors(
    model: BayesianNetwork | DecisionGraph, codes: NDArray[np.int16]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the posterior marginals and log-likelihood of one row, by the cheaper way."""
    if isinstance(model, DecisionGraph):
        return posteriors_and_log_likelihoods(model, codes)
    network = normalised(model)
    if elimination_cells(network, codes) <= FEW_CELLS:
        return eliminated(network, codes)
    try:
        return posteriors_and_log_likelihoods(compile_network(network), codes)
    except TooLargeError:
        return eliminated(network, codes)
