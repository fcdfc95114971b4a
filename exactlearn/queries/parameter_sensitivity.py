"""How a posterior probability depends on the parameters of a decision graph.

When one parameter of a node becomes t and the others keep their proportions, a posterior
probability is a quotient of two linear functions of t (theorem *Sensitivity*,
docs/theory/decision_graphs.md;
van der Gaag and Kjaerulff 2000 show it for networks); their values at t = 0 and t = 1 determine
them. The slopes for all parameters at once come from expected counts with and without the target
(PDG-SEM, equation 21).
"""

from dataclasses import dataclass
from math import exp

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import checked_arguments
from exactlearn.errors import OptionError
from exactlearn.pdg.inference.condition import condition
from exactlearn.pdg.inference.flows import node_probabilities
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.queries.evidence import Evidence, coded_evidence, refuse_evidence


@dataclass(frozen=True)
class Sensitivity:
    """A posterior probability as a function of one parameter: (a t + b) / (c t + d).

    Parameters
    ----------
    parameter
        Its value in the graph.
    a, b, c, d
        The numerator is the probability of target and evidence together, the denominator that of
        the evidence.
    """

    parameter: float
    a: float
    b: float
    c: float
    d: float

    def posterior(self, t: float) -> float:
        """Return the posterior when the parameter is ``t``; NaN if the evidence is impossible."""
        below = self.c * t + self.d
        return (self.a * t + self.b) / below if below > 0 else float("nan")

    def slope(self, t: float) -> float:
        """Return the derivative of the posterior where the parameter is ``t``."""
        below = self.c * t + self.d
        return (self.a * self.d - self.b * self.c) / below**2 if below > 0 else float("nan")


@checked_arguments()
def sensitivity(
    graph: DecisionGraph,
    node: int,
    state: str,
    evidence: Evidence | None,
    target: tuple[str, str],
) -> Sensitivity:
    """Return how a posterior depends on one parameter, the others of its node in proportion.

    Parameters
    ----------
    node, state
        The parameter: a node's number, and a state of its variable. Where it is 1 the other states
        share evenly what is left.
    evidence
        As for :func:`~exactlearn.queries.posteriors.query`.
    target
        Variable and state of the posterior probability.

    Raises
    ------
    OptionError
        If there is no such node, variable or state.

    Examples
    --------
    >>> import exactlearn as el
    >>> graph = el.compile_network(el.read_network("asia"))
    >>> node = int(graph.first_nodes[graph.index("smoke")])
    >>> found = el.queries.sensitivity(graph, node, "yes", None, ("bronc", "yes"))
    >>> round(found.parameter, 4), round(found.posterior(0.9), 4), round(found.slope(0.5), 4)
    (0.9091, 0.4499, 0.0165)
    """
    if not 0 <= node < graph.n_nodes:
        raise OptionError(f"no node {node}: give a number from 0 to {graph.n_nodes - 1}")
    place = graph.state_index(int(graph.variable[node]), state)
    known = coded_evidence(graph, evidence).weights(graph)
    together = _with_target(graph, known, target)
    first = int(graph.parameter_offsets[node])
    theta = graph.parameters[first : int(graph.parameter_offsets[node + 1])]
    rest = np.where(np.arange(len(theta)) == place, 0.0, theta)
    if rest.sum() == 0:
        rest = (np.arange(len(theta)) != place).astype(float)
    values = []
    for t in (0.0, 1.0):
        parameters = graph.parameters.copy()
        parameters[first : first + len(theta)] = (1 - t) * rest / max(rest.sum(), 1.0e-300)
        parameters[first + place] = t
        changed = graph.with_parameters(parameters)
        values.append([exp(condition(changed, w)[1]) for w in (together, known)])
    (b, d), (top, below) = values
    return Sensitivity(float(theta[place]), top - b, b, below - d, d)


def slopes(
    graph: DecisionGraph, evidence: Evidence | None, target: tuple[str, str]
) -> NDArray[np.float64]:
    """Return the derivative of a posterior probability by each parameter, the others in proportion.

    Parameters
    ----------
    graph, evidence, target
        As for :func:`sensitivity`.

    Returns
    -------
    Laid out as `DecisionGraph.parameters`; NaN for a parameter of 0 or 1; use
    :func:`sensitivity` for those.

    Raises
    ------
    OptionError
        If a variable or state is unknown.
    DataError
        If the evidence has probability zero.
    """
    known = coded_evidence(graph, evidence).weights(graph)
    together = _with_target(graph, known, target)
    given, log_evidence = condition(graph, known)
    if log_evidence == -np.inf:
        refuse_evidence(evidence or {})
    both, log_both = condition(graph, together)
    if log_both == -np.inf:
        found = np.zeros(len(graph.parameters))
    else:
        found = exp(log_both - log_evidence) * (
            _log_slopes(graph, both) - _log_slopes(graph, given)
        )
    theta = graph.parameters
    return np.where((theta > 0) & (theta < 1), found, np.nan)


def _log_slopes(graph: DecisionGraph, given: DecisionGraph) -> NDArray[np.float64]:
    """Return the derivative of the log-probability of evidence by each parameter."""
    counts = node_probabilities(given)
    offsets = graph.parameter_offsets
    totals = np.repeat(np.add.reduceat(counts, offsets[:-1]), np.diff(offsets))
    theta = graph.parameters
    inside = (theta > 0) & (theta < 1)
    found = np.zeros(len(theta))
    np.divide(counts, theta, out=found, where=inside)
    rest = np.zeros(len(theta))
    np.divide(totals - counts, 1 - theta, out=rest, where=inside)
    return found - rest


def _with_target(
    graph: DecisionGraph, weights: NDArray[np.float64], target: tuple[str, str]
) -> NDArray[np.float64]:
    variable = graph.index(target[0])
    state = graph.state_index(variable, target[1])
    start = int(graph.cardinalities[:variable].sum())
    together = weights.copy()
    own = np.arange(int(graph.cardinalities[variable])) == state
    together[start : start + len(own)] *= own
    return together
