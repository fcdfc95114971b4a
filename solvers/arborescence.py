"""Exact selection of at most one parent each: a maximum arborescence (Edmonds 1967).

A root beside the variables is the parent of each one that takes the empty set; an acyclic selection
is then a spanning arborescence of that root. Every vertex takes its best entering arc. Arcs that
close a circuit are kept but for one: the circuit is contracted to a vertex, and an arc that enters
it at some vertex counts less what it replaces there (Edmonds 1967, "Optimum branchings"). Dense
tables make that O(n^2 log n), or somewhat more where circuits are many (Tarjan 1977, "Finding
optimum branchings").
"""

import numpy as np
from numpy.typing import NDArray

from .component_solver import ComponentControl, Outcome, Selection
from .components import Component

LIMIT = 4_000
"""Most variables of one component: their tables take a quarter of a gigabyte."""

ROOT = 0
"""The vertex that stands for having no parent; variable ``v`` is the vertex ``v + 1``."""


def is_suitable(component: Component) -> bool:
    """Return whether no candidate of a component has two parents in it."""
    return component.max_parents <= 1 and component.n_variables <= LIMIT


def solve_component(
    component: Component, incumbent: Selection | None, control: ComponentControl
) -> Outcome:
    """Solve a component; no incumbent and no option matters."""
    selection = best_selection(component)
    if selection is None:
        return control.infeasible()
    control.improve(selection)
    return control.outcome(
        proven=True, bound=control.score, nodes=component.n_variables
    )


def best_selection(component: Component) -> Selection | None:
    """Return the best candidate of each variable, shape (n,); ``None`` without a selection."""
    n = component.n_variables
    size = np.diff(component.member_first)
    tail = np.full(component.n_candidates, ROOT)
    tail[size == 1] = component.members + 1
    # The candidate of each variable with each parent; one that another one dominates has left.
    candidate = np.full((n, n + 1), -1)
    candidate[component.child, tail] = np.arange(component.n_candidates)
    score = np.where(candidate >= 0, component.scores[candidate], -np.inf)
    # an acyclic selection is an arborescence of the root
    parent = maximum_arborescence(score)
    if parent is None:
        return None
    return candidate[np.arange(n), parent]


def maximum_arborescence(score: NDArray[np.float64]) -> NDArray[np.int64] | None:
    """Return the tail of each variable's arc in the best arborescence.

    Parameters
    ----------
    score
        Of the arc into each variable from the root, then from each variable, ``-inf`` where there
        is none, shape (n, n + 1).

    Returns
    -------
    0 for the root, ``v + 1`` for variable ``v``, shape (n,); ``None`` without an arborescence.

    Examples
    --------
    >>> score = np.array([[-5.0, -np.inf, -1.0], [-4.0, -1.0, -np.inf]])
    >>> maximum_arborescence(score).tolist()
    [2, 0]
    """
    # the best arc into each vertex from each tail, less what it replaces inside a circuit
    value = np.vstack([np.full(score.shape[1], -np.inf), score])
    np.fill_diagonal(value, -np.inf)
    value[ROOT, ROOT] = 0.0
    tail = value.argmax(axis=1)
    # a circuit is contracted to its first vertex
    place = np.arange(len(value))
    contracted = []
    while len(circuit := _circuit(place[tail])):
        replaced = value[circuit] - value[circuit, tail[circuit], None]
        heads = circuit[replaced.argmax(axis=0)]
        contracted.append((circuit, tail[circuit], heads))
        whole = circuit[0]
        inside = np.isin(place, circuit)
        place[inside] = whole
        value[whole] = np.where(inside, -np.inf, replaced.max(axis=0))
        tail[whole] = value[whole].argmax()
    if value[place, tail[place]].min() == -np.inf:
        return None
    # back outwards in: a circuit keeps all its arcs but the one that is replaced
    for circuit, tails, heads in reversed(contracted):
        entering = tail[circuit[0]]
        tail[circuit] = tails
        tail[heads[entering]] = entering
    parent: NDArray[np.int64] = tail[1:]
    return parent


def _circuit(follower: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the vertices of a circuit, the root's own left out; none where there is no other."""
    ahead = follower
    # after so many steps, all vertices have come to a circuit
    for _ in range(len(follower).bit_length()):
        ahead = ahead[ahead]
    start = int(ahead.max())
    circuit = [start]
    while follower[circuit[-1]] != start:
        circuit.append(int(follower[circuit[-1]]))
    return np.array(circuit if start != ROOT else [], np.int64)
