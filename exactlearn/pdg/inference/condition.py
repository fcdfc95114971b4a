"""A decision graph given evidence: the conditional distribution as a graph of the same structure.

With weights w on states, the out-flow of a node (PDG-SEM, equation 17) is the expected product of
the weights below it. A state's parameter times its weight times the out-flows of its successors,
divided by the node's own out-flow, is the conditional parameter, so that any query given evidence
is the same query without evidence on the conditional graph. Everything is done with logarithms.
"""

import numpy as np
from numpy.typing import NDArray

from exactlearn.errors import OptionError
from exactlearn.pdg.model.decision_graph import DecisionGraph


def condition(graph: DecisionGraph, weights: NDArray[np.float64]) -> tuple[DecisionGraph, float]:
    """Return the distribution proportional to the graph's times a weight of each state.

    Parameters
    ----------
    graph
        The distribution before the evidence.
    weights
        Weight of each state, 0 or more, variable after variable, shape (sum of cardinalities,):
        the probability of what was observed if the variable is in that state. Hard evidence has
        1 at the observed state and 0 at the others.

    Returns
    -------
    conditional
        Graph of the same structure; nodes that the evidence excludes keep their parameters.
    log_probability
        Logarithm of the expected product of the weights, ``-inf`` for impossible evidence; the
        graph then is the one given.

    Raises
    ------
    OptionError
        If the weights do not fit the graph, or one is negative or not finite.
    """
    if weights.shape != (int(graph.cardinalities.sum()),) or not (
        np.isfinite(weights).all() and (weights >= 0).all()
    ):
        raise OptionError(
            f"evidence needs a finite weight of 0 or more for each of the"
            f" {int(graph.cardinalities.sum())} states; got an array of shape {weights.shape}"
        )
    with np.errstate(divide="ignore"):
        state_logs = np.split(np.log(weights), np.cumsum(graph.cardinalities)[:-1])
    out_flow = np.empty(graph.n_nodes)
    parameters = graph.parameters.copy()
    log_probability = 0.0
    for v in graph.order[::-1].tolist():
        with np.errstate(divide="ignore"):
            logs = np.log(graph.parameters_of(v)) + state_logs[v]
        possible = np.isfinite(logs)
        successors = graph.successors_of(v)
        for place in range(successors.shape[2]):
            # Successors of an impossible state are arbitrary: what they hold must not count.
            logs += np.where(possible, out_flow[successors[:, :, place]], 0.0)
        most = logs.max(axis=1)
        reached = np.isfinite(most)
        scaled = np.exp(logs - np.where(reached, most, 0.0)[:, None])
        total = scaled.sum(axis=1)
        first = graph.first_nodes[v]
        flows = out_flow[first : first + len(most)]
        flows[:] = -np.inf
        flows[reached] = most[reached] + np.log(total[reached])
        start = graph.first_parameters[v]
        own = parameters[start : start + logs.size].reshape(logs.shape)
        own[reached] = scaled[reached] / total[reached, None]
        if graph.forest[v] < 0:
            log_probability += float(flows[0])
    if log_probability == -np.inf:
        return graph, log_probability
    return graph.with_parameters(parameters), log_probability
