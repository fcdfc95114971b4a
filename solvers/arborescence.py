"""Exact selection of at most one parent each: a maximum arborescence (Edmonds 1967).

A root beside the variables is the parent of each one that takes the empty set; an acyclic selection
is then a spanning arborescence of that root. Every vertex takes its best entering arc. Arcs that
close a circuit are kept but for one: the circuit is contracted to a vertex, and an arc that enters
it at some vertex counts less what it replaces there (Edmonds 1967, "Optimum branchings"). Dense
tables make that O(n^2) (Tarjan 1977, "Finding optimum branchings").
"""

from dataclasses import dataclass, field

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


@dataclass
class _Vertex:
    """A variable, or a contracted circuit.

    Attributes
    ----------
    value
        For each tail, the best arc into the vertex from there, less what it replaces inside;
        shape (n + 1,).
    head
        The vertex of the graph that this arc enters, shape (n + 1,).
    parts
        The vertices of the circuit; none of a variable.
    tail
        The tail of the arc that is taken, -1 before one is.
    outer
        The contracted circuit that the vertex is in, -1 where it is in none.
    """

    value: NDArray[np.float64]
    head: NDArray[np.int64]
    parts: list[int] = field(default_factory=list)
    tail: int = -1
    outer: int = -1


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
    n = len(score)
    # Where each vertex of the graph is: in which vertex after all contractions.
    place = np.arange(n + 1)
    vertices = [_Vertex(np.full(n + 1, -np.inf), np.zeros(n + 1, np.int64))]
    for v in range(n):
        value = score[v].copy()
        value[v + 1] = -np.inf
        vertices.append(_Vertex(value, np.full(n + 1, v + 1)))

    # Walk backwards along best entering arcs, to the root or to what an earlier walk has reached.
    is_done = {ROOT}
    for start in range(1, n + 1):
        current = int(place[start])
        path: list[int] = []
        while current not in is_done:
            if current in path:
                circuit = path[path.index(current) :]
                del path[-len(circuit) :]
                current = _contract(vertices, circuit, place)
            vertex = vertices[current]
            vertex.tail = int(vertex.value.argmax())
            if vertex.value[vertex.tail] == -np.inf:
                return None
            path.append(current)
            current = int(place[vertex.tail])
        is_done.update(path)
    return _expanded(vertices, n)


def _contract(
    vertices: list[_Vertex], circuit: list[int], place: NDArray[np.int64]
) -> int:
    """Contract a circuit of vertices to a new one, and return its number."""
    number = len(vertices)
    inside = np.isin(place, circuit)
    # An arc into the circuit replaces the arc that is taken into the vertex that it enters.
    values = np.stack(
        [vertices[v].value - vertices[v].value[vertices[v].tail] for v in circuit]
    )
    heads = np.stack([vertices[v].head for v in circuit])
    # the best entering arc from each tail
    best = values.argmax(axis=0)
    tails = np.arange(len(place))
    value = values[best, tails]
    value[inside] = -np.inf
    vertices.append(_Vertex(value, heads[best, tails], circuit))
    for v in circuit:
        vertices[v].outer = number
    place[inside] = number
    return number


def _expanded(vertices: list[_Vertex], n: int) -> NDArray[np.int64]:
    """Return the tail of each variable's arc: a circuit keeps all arcs but the one replaced."""
    parent = np.zeros(n, np.int64)
    waiting = [v for v in range(1, len(vertices)) if vertices[v].outer < 0]
    while waiting:
        whole = waiting.pop()
        tail = vertices[whole].tail
        head = int(vertices[whole].head[tail])
        parent[head - 1] = tail
        # From the variable that the arc enters outwards: the other parts keep their arcs.
        inner = head
        while inner != whole:
            outer = vertices[inner].outer
            waiting += [v for v in vertices[outer].parts if v != inner]
            inner = outer
    return parent
