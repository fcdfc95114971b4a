"""The joint posterior of a few variables by variable elimination, without a clique tree.

The families that the evidence leaves open are *factors*. Eliminating a variable multiplies the
factors that hold it and sums the product over the variable; what is left, with the targets
eliminated last, is their joint probability with the evidence (Zhang and Poole 1994, "A simple
approach to Bayesian network computations"). Only the messages that wait for their receiver are
kept, so memory is that of a few tables where a clique tree has them all: on a grid, those along the
frontier that moves towards the targets.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from math import log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.bayesnet.triangulation import (
    RULES,
    breadth_first_order,
    elimination_clusters,
    elimination_order,
)
from exactlearn.graphs.dag import ancestors

Floats = NDArray[np.float64]
Codes = NDArray[np.int16]


class Factor(NamedTuple):
    """A table over some variables.

    Attributes
    ----------
    scope
        Its variables, those eliminated first first.
    values
        One axis for each variable of the scope.
    """

    scope: tuple[int, ...]
    values: Floats


class Elimination(NamedTuple):
    """A plan: in which order to eliminate the variables that matter to a query.

    Attributes
    ----------
    families
        The variables whose families matter: targets, observed variables and their ancestors.
    order
        The unobserved ones among them in the order of their elimination, the targets last.
    cells
        Cells of all tables that are computed.
    largest
        Cells of the largest table.
    """

    families: tuple[int, ...]
    order: tuple[int, ...]
    cells: float
    largest: float


def plan_elimination(
    network: BayesianNetwork,
    row: Codes,
    targets: Sequence[int],
) -> Elimination:
    """Return the cheapest of a few ways to eliminate all variables but the targets.

    Parameters
    ----------
    network
        The network.
    row
        State of each observed variable, -1 elsewhere, shape (variables,).
    targets
        Unobserved variables.
    """
    observed = np.flatnonzero(row >= 0).tolist()
    families = sorted(ancestors(network.parents, [*targets, *observed]))
    # Barren variables sum to one; observed ones are constants.
    unobserved = [v for v in families if row[v] < 0]
    number = {v: k for k, v in enumerate(unobserved)}
    adjacency: list[set[int]] = [set() for _ in unobserved]
    for v in families:
        family = (*network.parents[v], v)
        scope = {number[u] for u in family if u in number}
        for u in scope:
            adjacency[u] |= scope - {u}
    last = [number[v] for v in targets]
    sizes = network.cardinalities[unobserved]
    plans = [
        _plan(families, unobserved, order, adjacency, sizes)
        for order in _orders(adjacency, sizes, last)
    ]
    return min(plans, key=lambda plan: plan.cells)


def _orders(
    adjacency: Sequence[Collection[int]],
    sizes: NDArray[np.int64],
    last: Sequence[int],
) -> Iterator[list[int]]:
    """Yield elimination orders, the last variables given, by each greedy rule and by distance."""
    for rule in RULES:
        order = elimination_order(adjacency, sizes, rule=rule)
        yield [*(v for v in order if v not in last), *last]
    farthest_first = breadth_first_order(adjacency, last)[::-1]
    yield [*(v for v in farthest_first if v not in last), *last]


def _plan(
    families: Sequence[int],
    unobserved: Sequence[int],
    order: Sequence[int],
    adjacency: Sequence[Collection[int]],
    sizes: NDArray[np.int64],
) -> Elimination:
    clusters = elimination_clusters(adjacency, order)
    cells = [
        float(np.prod(sizes[list(cluster)], dtype=np.float64)) for cluster in clusters
    ]
    depth_first = _depth_first(order, clusters)
    return Elimination(
        families=tuple(families),
        order=tuple(unobserved[v] for v in depth_first),
        cells=sum(cells),
        largest=max(cells, default=0.0),
    )


def _depth_first(order: Sequence[int], clusters: Sequence[set[int]]) -> list[int]:
    """Return an equivalent order that finishes one branch of messages before the next.

    The message of a variable goes to the one of its cluster that is eliminated next. Any order in
    which receivers come after their senders has the same clusters; depth first, the fewest messages
    wait.
    """
    position = {v: k for k, v in enumerate(order)}
    # A cluster sends to the first of its other variables that is eliminated.
    senders: dict[int, list[int]] = {v: [] for v in order}
    roots = []
    for v, cluster in zip(order, clusters, strict=True):
        later = cluster - {v}
        if later:
            senders[min(later, key=position.__getitem__)].append(v)
        else:
            roots.append(v)
    # From the receivers down; reversed, senders come before receivers.
    receivers_first: list[int] = []
    stack = roots
    while stack:
        v = stack.pop()
        receivers_first.append(v)
        stack.extend(senders[v])
    return receivers_first[::-1]


def eliminate_to_joint(
    network: BayesianNetwork,
    row: Codes,
    targets: Sequence[int],
    plan: Elimination | None = None,
) -> tuple[Floats, float]:
    """Return the joint posterior of the targets, and the log-probability of the evidence.

    Parameters
    ----------
    network, row, targets
        As in :func:`plan_elimination`; the rows of the network's tables sum to one.
    plan
        The plan of that function; made here when left out.

    Returns
    -------
    joint
        One axis for each target, in their order; of no meaning where the evidence is impossible.
    log_probability
        Natural logarithm; ``-inf`` where the evidence is impossible.
    """
    plan = plan or plan_elimination(network, row, targets)
    position = {v: k for k, v in enumerate(plan.order)}
    scope = tuple(sorted(targets, key=position.__getitem__))
    waiting: list[list[Factor]] = [[] for _ in plan.order]
    of_targets = []
    log_probability = 0.0

    # Each factor waits for the first of its variables that is eliminated.
    for v in plan.families:
        factor = _reduced(network, row, v, position)
        if factor.scope:
            waiting[position[factor.scope[0]]].append(factor)
        else:
            log_probability += _log(float(factor.values))

    for k, v in enumerate(plan.order):
        arrived = waiting[k]
        waiting[k] = []
        if v in scope:
            of_targets += arrived
            continue
        # Long products would underflow: each message is divided by its largest entry.
        message = _summed_out(v, arrived, position, network.cardinalities)
        scale = float(message.values.max())
        log_probability += _log(scale)
        if scale == 0.0:
            return np.zeros(network.cardinalities[list(targets)]), -np.inf
        if message.scope:
            receiver = position[message.scope[0]]
            scaled = Factor(message.scope, message.values / scale)
            waiting[receiver].append(scaled)

    joint = _product(of_targets, scope, network.cardinalities)
    total = float(joint.sum())
    log_probability += _log(total)
    if total > 0.0:
        joint = joint / total
    return joint.transpose([scope.index(v) for v in targets]), log_probability


def _reduced(
    network: BayesianNetwork,
    row: Codes,
    variable: int,
    position: Mapping[int, int],
) -> Factor:
    """Return the family of a variable given the evidence, its axes in order of elimination."""
    family = (*network.parents[variable], variable)
    unobserved = [v for v in family if row[v] < 0]
    scope = sorted(unobserved, key=position.__getitem__)
    axes = [unobserved.index(v) for v in scope]
    # The part of the table at the observed states.
    places: list[Any] = []
    for v in family:
        places.append(slice(None) if v in scope else int(row[v]))
    values = network.tables[variable][tuple(places)]
    return Factor(tuple(scope), values.transpose(axes))


def _summed_out(
    variable: int,
    factors: Sequence[Factor],
    position: Mapping[int, int],
    cardinalities: NDArray[np.int64],
) -> Factor:
    """Return the message of a variable: the product of its factors, summed over its states."""
    variables = set().union(*(factor.scope for factor in factors))
    scope = sorted(variables, key=position.__getitem__)
    product = _product(factors, scope, cardinalities)
    # The variable is the first of the scope to be eliminated.
    return Factor(tuple(scope[1:]), product.sum(axis=0))


def _product(
    factors: Iterable[Factor],
    scope: Sequence[int],
    cardinalities: NDArray[np.int64],
) -> Floats:
    """Return the product of factors as a table over a scope in order of elimination."""
    product = np.ones([1] * len(scope))
    for factor in sorted(factors, key=lambda factor: factor.values.size):
        sizes = dict(zip(factor.scope, factor.values.shape, strict=True))
        shape = [sizes.get(v, 1) for v in scope]
        product = product * factor.values.reshape(shape)
    return np.broadcast_to(product, [int(cardinalities[v]) for v in scope])


def _log(probability: float) -> float:
    """Return the natural logarithm; minus infinity of zero."""
    return log(probability) if probability > 0.0 else -np.inf
