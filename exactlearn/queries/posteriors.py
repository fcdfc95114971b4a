"""Posterior queries on models of any language, by names of variables and states."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import exp, inf, prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.display import Displayed
from exactlearn.bayesnet.buckets import LARGEST_ROW
from exactlearn.bayesnet.naive_bayes import NaiveBayes
from exactlearn.bayesnet.network import BayesianNetwork, subnetwork
from exactlearn.bayesnet.row_completion import eliminated, elimination_cells, prepared
from exactlearn.errors import OptionError, TooLargeError
from exactlearn.graphs.d_separation import ancestors
from exactlearn.pdg.inference.condition import condition
from exactlearn.pdg.inference.flows import (
    log_likelihood_rows,
    posteriors,
    posteriors_and_log_likelihoods,
)
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.queries.evidence import (
    CodedEvidence,
    Evidence,
    Model,
    ModelLike,
    coded_evidence,
    compiled_once,
    conditional,
    graph_if_faster,
    refuse_evidence,
    with_observations,
)

if TYPE_CHECKING:
    import pandas as pd

FEW_CELLS = LARGEST_ROW
"""With more table cells a network is compiled, where that is possible."""

MAX_JOINT = 1_000_000
"""Most configurations of a joint posterior."""

SHOWN_TARGETS = 3
"""Most targets whose posteriors stand in the ``repr`` of an answer."""


@dataclass(frozen=True, repr=False)
class Answer(Displayed):
    """The answer to a query.

    Parameters
    ----------
    posterior
        For each target, the probability of each of its states given the evidence.
    probability_of_evidence, log_probability_of_evidence
        The first may underflow to zero when there is much evidence, the natural logarithm not.
        With soft evidence: the expected product of its weights.
    evidence
        What was given: the weight of each state that has one, 1 for an observed state.
    model
        The model that was asked.

    Examples
    --------
    >>> import exactlearn as el
    >>> answer = el.query(el.read_network("asia"), {"smoke": "yes"}, ["lung", "bronc"])
    >>> answer
    Answer(lung: yes 0.1, no 0.9; bronc: yes 0.6, no 0.4; P(evidence) 0.5)
    >>> round(answer.posterior["lung"]["yes"], 4), round(answer.probability_of_evidence, 4)
    (0.1, 0.5)
    >>> answer.evidence
    {'smoke': {'yes': 1.0}}
    """

    posterior: dict[str, dict[str, float]]
    probability_of_evidence: float
    log_probability_of_evidence: float
    evidence: dict[str, dict[str, float]] = field(default_factory=dict)
    model: Model | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        """Return the posteriors of the first targets, and the probability of the evidence."""
        shown = [
            f"{name}: {', '.join(f'{state} {p:.4g}' for state, p in states.items())}"
            for name, states in list(self.posterior.items())[:SHOWN_TARGETS]
        ]
        left = len(self.posterior) - len(shown)
        shown += [f"{left} more"] * (left > 0)
        return f"Answer({'; '.join(shown)}; P(evidence) {self.probability_of_evidence:.4g})"

    def to_frame(self) -> "pd.DataFrame":
        """Return the posteriors as a frame: variable, state, probability.

        Examples
        --------
        >>> import exactlearn as el
        >>> el.query(el.read_network("asia"), {"smoke": "yes"}, "lung").to_frame()
          variable state  probability
        0     lung   yes          0.1
        1     lung    no          0.9
        """
        import pandas as pd

        rows = [(x, s, p) for x, states in self.posterior.items() for s, p in states.items()]
        return pd.DataFrame(rows, columns=["variable", "state", "probability"])


@checked_arguments()
def query(
    model: ModelLike,
    evidence: Evidence | Any = None,
    targets: str | Sequence[str] | None = None,
) -> Answer:
    """Return the exact posterior marginals of the targets given the evidence.

    Parameters
    ----------
    model
        A network is queried by elimination along its clique tree. Where that is large, only the
        ancestors of the targets and of the evidence are used, and compiled, once, if their clique
        tree is large too; so is a network after many queries. Compile it yourself to make all
        queries faster. A naive Bayes model answers for its observed variables.
    evidence
        For each observed variable its state, or, as soft evidence, a weight for each state. A
        number stands for the state of that name, or for the bin that holds it.
    targets
        Target variables, or one; all without evidence when left out.

    Raises
    ------
    OptionError
        If a variable or state is unknown; near names are offered.
    DataError
        If the evidence has probability zero.
    TooLargeError
        If a network is too large for both.

    Examples
    --------
    >>> import exactlearn as el
    >>> network = el.read_network("asia")
    >>> el.query(network, {"smoke": "yes", "dysp": "yes"}, "bronc")
    Answer(bronc: yes 0.8802, no 0.1198; P(evidence) 0.2764)
    >>> el.query(network, {"xray": {"yes": 0.9, "no": 0.3}}, "lung")  # weights of the states
    Answer(lung: yes 0.1334, no 0.8666; P(evidence) 0.3662)
    """
    found = coded_evidence(model, evidence)
    if targets is None:
        targets = [name for name in model.names if name not in (evidence or {})]
    wanted = [model.index(name) for name in targets]
    posterior, log_probability = _posterior(model, found, wanted)
    if log_probability == -inf:
        refuse_evidence(evidence or {})
    marginals = np.split(posterior, np.cumsum(model.cardinalities)[:-1])
    answers = {
        model.names[v]: dict(zip(model.states[v], marginals[v].tolist(), strict=True))
        for v in wanted
    }
    return Answer(answers, exp(log_probability), log_probability, found.named(model), model)


@checked_arguments()
def joint_posterior(
    model: ModelLike, evidence: Evidence | None, targets: str | Sequence[str]
) -> NDArray[np.float64]:
    """Return the exact joint distribution of some variables given the evidence.

    Parameters
    ----------
    model, evidence
        As for :func:`query`; a network is compiled, once.
    targets
        Any variables, each once.

    Returns
    -------
    Probabilities, one axis per variable in the order given, its states in the model's order.

    Raises
    ------
    OptionError
        If a variable or state is unknown, or a variable is named twice.
    DataError
        If the evidence has probability zero.
    TooLargeError
        If the variables have more than a million configurations, or a network's decision graph
        would be too large.

    Examples
    --------
    >>> import exactlearn as el
    >>> network = el.read_network("asia")
    >>> el.queries.joint_posterior(network, {"dysp": "yes"}, ["lung", "bronc"]).round(4).tolist()
    [[0.065, 0.0377], [0.7689, 0.1283]]
    """
    wanted = [model.index(name) for name in targets]
    if len(set(wanted)) < len(wanted):
        raise OptionError(f"joint of {', '.join(targets)}: name each variable once")
    shape = tuple(int(model.cardinalities[v]) for v in wanted)
    if prod(shape) > MAX_JOINT:
        raise TooLargeError(
            f"the joint of {len(wanted)} variables has {prod(shape):,} configurations, the limit is"
            f" {MAX_JOINT:,}: ask for fewer variables, for the most probable configurations, or"
            " draw samples"
        )
    if isinstance(model, NaiveBayes):
        table, log_probability = model.joint(wanted, coded_evidence(model, evidence).weights(model))
        if log_probability == -inf:
            refuse_evidence(evidence or {})
        return table
    graph, _ = conditional(model, evidence)
    rows = np.full((prod(shape), graph.n_variables), -1, np.int16)
    rows[:, wanted] = np.indices(shape).reshape(len(shape), prod(shape)).T
    return np.minimum(np.exp(log_likelihood_rows(graph, rows)), 1.0).reshape(shape)


def _posterior(
    model: Model, found: CodedEvidence, wanted: Sequence[int]
) -> tuple[NDArray[np.float64], float]:
    """Return posterior marginals and the log-probability of evidence, by the cheapest way.

    The marginals of variables that are not wanted may be missing.
    """
    if isinstance(model, NaiveBayes):
        return model.posterior(found.weights(model))
    graph = model if isinstance(model, DecisionGraph) else graph_if_faster(model)
    if graph is not None:
        return _of_graph(graph, found)
    assert isinstance(model, BayesianNetwork)
    network, hard = with_observations(prepared(model), found)
    if elimination_cells(network, hard.codes[None]) > FEW_CELLS:
        observed = np.flatnonzero(found.codes >= 0).tolist()
        part = sorted(ancestors(model.parents, [*wanted, *observed, *found.soft]))
        if len(part) < model.n_variables:
            return _of_part(model, found, part)
        with suppress(TooLargeError):
            return _of_graph(compiled_once(model), found)
    posterior, logs = eliminated(network, hard.codes[None])
    scale = sum(float(np.log(max(w.max(), np.finfo(float).tiny))) for w in found.soft.values())
    return posterior[0, : int(model.cardinalities.sum())], float(logs[0]) + scale


def _of_part(
    model: BayesianNetwork, found: CodedEvidence, part: Sequence[int]
) -> tuple[NDArray[np.float64], float]:
    """Return the posterior of an ancestral subset of the variables, and 0 for the others."""
    soft = {k: found.soft[v] for k, v in enumerate(part) if v in found.soft}
    inner = CodedEvidence(found.codes[list(part)], soft)
    marginals, log_probability = _posterior(subnetwork(model, part), inner, range(len(part)))
    variable = np.repeat(np.arange(model.n_variables), model.cardinalities)
    posterior = np.zeros(len(variable))
    posterior[np.isin(variable, part)] = marginals
    return posterior, log_probability


def _of_graph(graph: DecisionGraph, found: CodedEvidence) -> tuple[NDArray[np.float64], float]:
    if not found.soft:
        posterior, logs = posteriors_and_log_likelihoods(graph, found.codes[None])
        return posterior[0], float(logs[0])
    given, log_probability = condition(graph, found.weights(graph))
    nothing = np.full((1, graph.n_variables), -1, np.int16)
    return posteriors(given, nothing)[0], log_probability
