"""Rows drawn from a decision graph, from the root downwards."""

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import checked_arguments
from exactlearn.bayesnet.network import draw
from exactlearn.errors import OptionError
from exactlearn.pdg.model.decision_graph import DecisionGraph


@checked_arguments()
def sample_rows(graph: DecisionGraph, rows: int, rng: np.random.Generator) -> NDArray[np.int16]:
    """Draw independent complete rows.

    Parameters
    ----------
    rows
        How many, 0 or more.
    rng
        Source of randomness; same generator state, same rows.

    Returns
    -------
    State numbers, shape (rows, variables).

    Raises
    ------
    OptionError
        When ``rows`` is negative.
    """
    if rows < 0:
        raise OptionError(f"{rows} rows to draw: give a number that is 0 or more")
    codes = np.empty((rows, graph.n_variables), np.int16)
    reached = np.zeros((graph.n_variables, rows), np.int64)
    for v in graph.order.tolist():
        states = np.empty(rows, np.int16)
        draw(graph.parameters_of(v).cumsum(axis=1), reached[v], rng.random(rows), states)
        codes[:, v] = states
        successors = graph.successors_of(v)[reached[v], states]
        for place, child in enumerate(graph.children[v]):
            reached[child] = successors[:, place] - graph.first_nodes[child]
    return codes
