"""Interventions: networks in which some variables are set, whatever their parents say.

With the variables of ``do`` set to states, the others are distributed by the truncated
factorisation: the product of P(x | parents of x) over all variables that are not set, where the
states of those that are agree (Pearl 2009, "Causality", equation 3.10). It is the distribution of
the network without the arcs into these variables, given their states: all queries of networks
answer it. Arcs must mean causes for that, and hidden common causes are assumed away.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from exactlearn._runtime.arguments import checked_arguments
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.labels import label_of
from exactlearn.errors import OptionError
from exactlearn.queries.model_graphs import as_answering


@checked_arguments(model=as_answering)
def mutilated_network(model: Any, do: Mapping[str, str | float]) -> BayesianNetwork:
    """Return the network in which some variables are set to states by intervention.

    Each of these variables loses its parents and has its state with certainty. Arcs are taken as
    causes, without hidden common causes of the variables.

    Parameters
    ----------
    model
        A network, or a result that has one.
    do
        For each variable that is set its state; a number is one as in evidence.

    Raises
    ------
    OptionError
        If a variable or state is unknown, or the model is no network.

    Examples
    --------
    >>> import exactlearn as el
    >>> asia = el.read_network("asia")
    >>> never = el.queries.mutilated_network(asia, {"lung": "no"})
    >>> len(asia.arcs), len(never.arcs), never.tables[never.index("lung")].tolist()
    (8, 7, [0.0, 1.0])
    """
    if not isinstance(model, BayesianNetwork):
        raise OptionError(
            "do: an intervention takes away the arcs into a variable: expected a network, found"
            f" a {type(model).__name__}; query the network that a decision graph was compiled"
            " from, or that a naive Bayes model is converted to; a posterior over networks has"
            " effect(cause, outcome)"
        )
    parents = list(model.parents)
    tables = list(model.tables)
    for name, state in do.items():
        variable = model.index(name)
        code = model.state_index(variable, label_of(state))
        parents[variable] = ()
        tables[variable] = np.eye(model.cardinalities[variable])[code]
    return replace(model, parents=tuple(parents), tables=tuple(tables))
