"""Forests of variables from tests of independence (THESIS, Algorithms 4.11 and 4.12).

Independent variables go to different trees. A tree grows level by level: the variables still to
come below a leaf are tested pair by pair within the parts of the rows that the leaf's nodes and
states make in the graph learnt so far; those that hang together get a branch, whose top is drawn
at random. After each level the graph over the variables so far is improved.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from exactlearn.pdg.learn.learning import improve
from exactlearn.pdg.learn.population import CompleteRows, Population, populate, structure_of
from exactlearn.pdg.learn.redirecting import SubtreeRows
from exactlearn.pdg.learn.structure_score import StructureScore
from exactlearn.pdg.learn.variable_dependence import dependence_graph

SWEEPS = 2
"""Rounds of splits, merges and redirections after each level."""


def grow_forest(
    rows: CompleteRows, significance: float, score: StructureScore, rng: np.random.Generator
) -> NDArray[np.int32]:
    """Return a forest of variables, as the parent of each.

    Parameters
    ----------
    rows
        Complete rows.
    significance
        Of the tests: more makes fewer and deeper trees; with 1 each tree is one chain while
        there are rows enough to test.
    score
        What the graphs over the variables so far are improved by.
    rng
        Draws the top of each branch.
    """
    return _Growth(rows, significance, score, rng).forest


class _Growth:
    def __init__(
        self,
        rows: CompleteRows,
        significance: float,
        score: StructureScore,
        rng: np.random.Generator,
    ) -> None:
        self._rows, self._significance, self._score, self._rng = rows, significance, score, rng
        self.forest = np.full(len(rows.names), -1, np.int32)
        everything = list(range(len(rows.names)))
        for component in self._components(everything, np.zeros(len(rows.weights), np.int64)):
            self._grow_tree(component)

    def _grow_tree(self, component: list[int]) -> None:
        top, rest = self._drawn(component)
        below = {top: rest}
        inside = [top]
        population = self._populated(inside, None)
        while any(below.values()):
            for leaf in sorted(v for v in below if below[v]):
                place = inside.index(leaf)
                parts = population.reached[place] * len(self._rows.states[leaf])
                waiting = below.pop(leaf)
                for part in self._components(waiting, parts + self._rows.columns[leaf]):
                    child, rest = self._drawn(part)
                    self.forest[child] = leaf
                    below[child] = rest
            inside = [*inside, *sorted(v for v in below if v not in inside)]
            if any(below.values()):
                population = self._populated(inside, population)

    def _components(self, variables: Sequence[int], parts: NDArray[np.int64]) -> list[list[int]]:
        """Return the variables that hang together, in variable order."""
        chosen = list(variables)
        dependent = dependence_graph(
            np.ascontiguousarray(self._rows.columns[chosen]),
            self._rows.weights,
            [len(self._rows.states[v]) for v in chosen],
            parts,
            self._significance,
        )
        _, labels = connected_components(dependent, directed=False)
        found: dict[int, list[int]] = {}
        for variable, label in zip(chosen, labels.tolist(), strict=True):
            found.setdefault(label, []).append(variable)
        return list(found.values())

    def _drawn(self, variables: list[int]) -> tuple[int, list[int]]:
        top = variables[int(self._rng.integers(len(variables)))]
        return top, [v for v in variables if v != top]

    def _populated(self, inside: list[int], before: Population | None) -> Population:
        """Return the graph over some variables, the last ones new, improved from what it was."""
        place = {v: i for i, v in enumerate(inside)}
        parents = [place.get(int(self.forest[v]), -1) for v in inside]
        forest = np.array(parents, np.int32)
        rows = self._rows.over(tuple(inside))
        old = {} if before is None else structure_of(before.graph)
        children = [parents.count(i) for i in range(len(inside))]
        structure = {}
        for i in range(len(inside)):
            nodes = len(old[i]) if i in old else 1
            structure[i] = np.zeros((nodes, len(rows.states[i]), children[i]), np.int32)
            if i in old and old[i].shape[2] == children[i]:
                structure[i] = old[i]
        population = populate(rows, forest, structure)
        return improve(population, rows, self._score, SubtreeRows(rows, forest), sweeps=SWEEPS)
