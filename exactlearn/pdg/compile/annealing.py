"""Simulated annealing over forests, towards the smallest effective size of the merged graph.

A forest is described by the sets that its variables form with all below them. Three moves lead from
any forest to any other, each by a single new set, so that the size of the decision graph changes
by a difference of a few products (THESIS, 3.52):

* a variable takes the place of its parent, which goes below it (the rotation of elimination
  trees) with those of the variable's children that depend on it,
* a variable goes, with all below it, under one of its siblings,
* a variable that does not depend on its parent goes up beside it.

The number of nodes of the new set is kept or computed on its own
(`exactlearn.pdg.compile.expansion`): the search minimises exactly the size of the graph that is
built in the end. Some steps are several moves in a row, accepted or undone together, to leave local
optima of single moves.

Each arrangement of a set that a chain met, a top variable and the smaller sets below it, can be
used in any forest that holds the set; a dynamic program over all arrangements met finds the
smallest forest they make (theorem *Nodes of a set*, docs/theory/decision_graphs.md). Without,
graphs are 2.4 % larger on the average of eight networks: ALARM has 1,056 cells, not 1,026.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import combinations
from math import exp, prod
from typing import Any, NamedTuple

import numpy as np

from exactlearn._runtime.hash_tables import index_rows
from exactlearn.bayesnet.network import BayesianNetwork, normalised
from exactlearn.pdg.compile.expansion import (
    Conditioned,
    Expansion,
    SetTable,
    merge_signatures,
)
from exactlearn.pdg.compile.residuals import Residuals, equal_values, mask_of
from exactlearn.pdg.model.forest import VariableForest, components

Arrangement = tuple[int, tuple[int, ...]]
"""A top variable, and the sets directly below it."""


REPETITION = 0.5
"""Probability that a step makes another move of the same kind: without, HAILFINDER has 7,904 cells,
not 7,486."""

MAX_KEPT = 20_000_000
"""Cells of the tables kept, above which those are dropped that no forest in use needs."""

MAX_GROWTH = 4
MIN_SIGNATURES = 10_000
"""Sets with so many times the signatures of the chain's first forest, and so many at least, are not
tabulated."""

TEMPERATURES = ((0.01, 0.0005), (0.02, 0.001), (0.005, 0.0005), (0.1, 0.001))
"""First and last temperatures of the chains, in turn: with the first one alone ALARM 1,092, not
1,026."""


class Move(NamedTuple):
    """A change of a tree.

    Attributes
    ----------
    above
        Variable directly above the changed set, after the move; before, too, or directly below.
    top
        Top variable of the changed set.
    below
        What stands directly below ``top`` after the move.
    beside
        What else stands directly below ``above``.
    """

    above: int
    top: int
    below: set[int]
    beside: set[int]


@dataclass
class Tree:
    """A forest that moves change in place.

    Parameters
    ----------
    neighbours
        Neighbours of each variable in the moral graph, a bit mask.
    parents, inside, children
        As of a `VariableForest`.
    """

    neighbours: list[int]
    parents: list[int]
    inside: list[int]
    children: list[set[int]]

    def rotation(self, v: int) -> Move | None:
        """Return the move of a variable to its parent's place."""
        p = self.parents[v]
        if p < 0:
            return None
        children = self.children[v]
        neighbours = self.neighbours[p]
        with_parent = {c for c in children if self.inside[c] & neighbours}
        below = (self.children[p] | with_parent) - {v}
        return Move(above=v, top=p, below=below, beside=children - with_parent)

    def sinking(self, v: int, sibling: int) -> Move:
        """Return the move of a variable under one of its siblings."""
        p = self.parents[v]
        beside = self.children[p] - {v, sibling}
        return Move(p, sibling, below=self.children[sibling] | {v}, beside=beside)

    def rising(self, v: int) -> Move | None:
        """Return the move of a variable up beside its parent, if it does not depend on it."""
        q = self.parents[v]
        p = self.parents[q] if q >= 0 else -1
        if p < 0 or self.inside[v] & self.neighbours[q]:
            return None
        beside = self.children[p] - {q} | {v}
        return Move(above=p, top=q, below=self.children[q] - {v}, beside=beside)

    def sets(self, move: Move) -> tuple[int, int]:
        """Return the sets of ``top`` and of ``above`` after a move."""
        inside = 1 << move.top
        for v in move.below:
            inside |= self.inside[v]
        return inside, self.inside[move.above] | self.inside[move.top]

    def apply(self, move: Move) -> None:
        """Change the forest."""
        above = move.above
        top = move.top
        over = self.parents[move.top]
        self.inside[top], self.inside[above] = self.sets(move)
        if over != above:  # they change places
            self.parents[above] = over
            if over >= 0:
                self.children[over] = self.children[over] ^ {above, top}
        for child in move.below:
            self.parents[child] = top
        for child in (*move.beside, top):
            self.parents[child] = above
        self.children[top] = move.below
        self.children[above] = move.beside | {top}

    def copied(self) -> "Tree":
        """Return a tree that moves change apart from this one."""
        return Tree(
            self.neighbours,
            self.parents[:],
            self.inside[:],
            self.children[:],
        )


class SetTables:
    """The tables of all sets met so far in one network; sets are shared by many forests.

    Attributes
    ----------
    nodes
        How many nodes each set's top variable needs.
    work
        Cells of all tables made.
    """

    def __init__(self, residuals: Residuals) -> None:
        self.residuals = residuals
        self.nodes: dict[int, int] = {}
        self.work = 0
        self._arrangements: dict[int, dict[Arrangement, None]] = {}
        self._tables: dict[int, SetTable] = {}
        self._kept = 0

    def cost(self, variable: int, children: int, inside: int) -> int:
        """Return a variable's share of the effective size above a set, THESIS (3.52)."""
        return (
            self.residuals.cardinalities[variable]
            * self.nodes[inside]
            * max(1, children)
        )

    def cost_in(self, tree: Tree, variables: Iterable[int]) -> int:
        """Return the effective size of variables of a forest."""
        return sum(
            self.cost(v, len(tree.children[v]), tree.inside[v]) for v in variables
        )

    def meet(self, tree: Tree, variables: Iterable[int]) -> None:
        """Take over the arrangements of variables of a forest."""
        for v in variables:
            below = tuple(sorted(tree.inside[c] for c in tree.children[v]))
            self._arrangements.setdefault(tree.inside[v], {})[v, below] = None

    def meet_all(
        self,
        network: BayesianNetwork,
        part: Sequence[int],
        adjacency: Sequence[frozenset[int]],
    ) -> None:
        """Take over all arrangements of all sets of a small part's variables.

        Nodes are counted in the joint distribution.

        Parameters
        ----------
        network, part, adjacency
            The network, the part's variables, and the neighbours of each in the moral graph.
        """
        axes = {v: axis for axis, v in enumerate(part)}
        tables = normalised(network).tables
        factors: list[Any] = []
        for v in part:
            factors += tables[v], [axes[u] for u in (*network.parents[v], v)]
        joint = np.einsum(*factors, list(axes.values()))
        for size in range(len(part)):
            for inside in combinations(part, size + 1):
                # The different distributions of the set given the variables outside it.
                order = sorted(part, key=inside.__contains__)
                rows = joint.transpose([axes[v] for v in order])
                n_outside = prod(rows.shape[: -len(inside)])
                rows = rows.reshape(n_outside, -1)
                rows = rows[rows.any(axis=1)]
                rows /= rows.max(axis=1, keepdims=True)
                _, first_rows = index_rows(equal_values(rows))
                self.nodes[mask_of(inside)] = len(first_rows)
                arrangements: dict[Arrangement, None] = {}
                for top in inside:
                    for below in groupings(parts_of(adjacency, {*inside} - {top})):
                        arrangements[top, below] = None
                self._arrangements[mask_of(inside)] = arrangements

    def smallest(self, whole: int) -> tuple[int, list[int]]:
        """Return the size of the smallest tree over a set made of arrangements met, and parents."""
        sizes: dict[int, int] = {}
        best: dict[int, Arrangement] = {}
        for inside in sorted(self._arrangements, key=int.bit_count):
            arrangements = list(self._arrangements[inside])
            arrangement_sizes = [
                self.cost(top, len(below), inside) + sum(map(sizes.__getitem__, below))
                for top, below in arrangements
            ]
            sizes[inside] = min(arrangement_sizes)
            # Of equal ones the one that was met first.
            best[inside] = arrangements[arrangement_sizes.index(sizes[inside])]
        parents = [-1] * len(self.residuals.cardinalities)
        stack = [whole]
        for inside in stack:  # which grows meanwhile
            top, below = best[inside]
            for subset in below:
                parents[best[subset][0]] = top
            stack.extend(below)
        return sizes[whole], parents

    def add(self, table: SetTable) -> None:
        """Take over a table."""
        self._tables[table.inside] = table
        self.nodes[table.inside] = table.n_nodes
        self._kept += table.cells
        self.work += table.cells

    def after(self, tree: Tree, move: Move, max_signatures: int) -> SetTable | None:
        """Return the table of the set that a move makes, before the move is done.

        Returns nothing, after little work, if it has more than ``max_signatures`` signatures.
        """
        inside, over = tree.sets(move)
        if inside not in self._tables:
            # The signatures of the new set, by the set above it with its other parts weighed in.
            upper = Conditioned(
                self.residuals,
                over,
                move.above,
                self._tables[over].signatures,
            )
            for sibling in sorted(move.beside):
                upper.weigh(self._tables[tree.inside[sibling]])
            rows, _ = upper.below(inside)
            signatures = rows[index_rows(rows)[1]]
            if len(signatures) > max_signatures:
                return None
            # Its nodes, by the tables of the sets below it.
            lower = Conditioned(self.residuals, inside, move.top, signatures)
            nodes = np.empty((*lower.weights.shape, len(move.below)), np.int32)
            for i, child in enumerate(sorted(move.below)):
                nodes[:, :, i] = lower.weigh(self._tables[tree.inside[child]])
            values, labels, _ = merge_signatures(lower.weights, nodes)
            self.add(
                SetTable.of(
                    inside,
                    signatures,
                    values,
                    labels,
                    values[:-1] > 0,
                )
            )
        return self._tables[inside]

    def drop_unused(self, tree: Tree) -> None:
        """Forget tables, but not their numbers of nodes, when there are too many."""
        if self._kept > MAX_KEPT:
            self._tables = {s: t for s, t in self._tables.items() if s in tree.inside}
            self._kept = sum(t.cells for t in self._tables.values())


class Annealing:
    """A simulated annealing chain over the forests of one connected part of a network.

    Parameters
    ----------
    tables
        Tables of the network's sets, shared by all chains.
    adjacency
        Neighbours of each variable in the moral graph.
    forest
        Where to start.

    Attributes
    ----------
    tree, size
        The forest now, and the effective size of its graph.
    """

    def __init__(
        self,
        tables: SetTables,
        adjacency: Sequence[frozenset[int]],
        forest: VariableForest,
    ) -> None:
        self.tables = tables
        self.tree = Tree(
            neighbours=[mask_of(sorted(neighbours)) for neighbours in adjacency],
            parents=list(forest.parents),
            inside=list(forest.inside),
            children=list(map(set, forest.children)),
        )
        # The tables of the first forest's sets; those of other sets are made when a
        # move needs them.
        signatures = 0
        for table in Expansion(tables.residuals, forest).tables():
            tables.add(table)
            signatures += len(table.signatures)
        self._variables = sorted(forest.order)
        tables.meet(self.tree, self._variables)
        self._max_signatures = max(MIN_SIGNATURES, MAX_GROWTH * signatures)
        self.size = tables.cost_in(self.tree, self._variables)

    def run(
        self,
        rng: np.random.Generator,
        steps: int,
        temperatures: tuple[float, float],
        stopped: Callable[[int], bool],
    ) -> None:
        """Run the chain, cooling down.

        Parameters
        ----------
        steps
            How many moves to make.
        temperatures
            Growth of the size, as a share of it, that is accepted with probability 1/e, at the
            beginning and at the end.
        stopped
            Takes the number of moves of the last step, before each step; returns whether to stop.
        """
        made = last = 0
        while made < steps and not stopped(last):
            self.tables.drop_unused(self.tree)
            last = self._step(
                rng,
                temperatures[0] * (temperatures[1] / temperatures[0]) ** (made / steps),
            )
            made += last

    def _step(self, rng: np.random.Generator, temperature: float) -> int:
        before = self.tree
        made = 0
        grown = 0
        self.tree = tree = before.copied()
        for move in self._moves(rng):
            if move is None or grown > self.size:
                break
            if self.tables.after(tree, move, self._max_signatures) is None:
                self.tree = before
                return max(1, made)
            # Only the sets of these two variables change, and so their costs.
            changed = (move.above, move.top)
            grown -= self.tables.cost_in(tree, changed)
            tree.apply(move)
            grown += self.tables.cost_in(tree, changed)
            self.tables.meet(tree, changed)
            made += 1
        # Metropolis: accept the moves together, or undo them.
        if grown <= 0 or rng.random() < exp(-grown / (temperature * self.size)):
            self.size += grown
        else:
            self.tree = before
        return max(1, made)

    def _moves(self, rng: np.random.Generator) -> Iterator[Move | None]:
        """Draw a step; each of its moves is drawn when the one before is done."""
        place = int(rng.integers(len(self._variables)))
        variable = self._variables[place]
        kind = rng.random()
        while True:
            tree = self.tree
            # Most moves rotate a variable over its parent; the others rise, rotate a
            # child, or sink below a sibling.
            if kind < 0.6:
                yield tree.rotation(variable)
            elif kind < 0.8:
                yield tree.rising(variable)
            elif kind < 0.9:
                child = _any(tree.children[variable], rng)
                yield None if child is None else tree.rotation(child)
            else:
                parent = tree.parents[variable]
                siblings = tree.children[parent] - {variable} if parent >= 0 else set()
                sibling = _any(siblings, rng)
                yield None if sibling is None else tree.sinking(variable, sibling)
            # A step of several moves crosses a forest that is larger than both its
            # ends.
            if rng.random() > REPETITION:
                return


def groupings(parts: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield all groupings of disjoint sets, each group being their union."""
    if not parts:
        yield ()
    for groups in groupings(parts[1:]) if parts else ():
        yield parts[0], *groups
        for i, group in enumerate(groups):
            yield *groups[:i], parts[0] | group, *groups[i + 1 :]


def parts_of(adjacency: Sequence[frozenset[int]], inside: Set[int]) -> list[int]:
    """Return the connected components of a set of variables."""
    subgraph = [frozenset[int]()] * len(adjacency)
    for v in inside:
        subgraph[v] = adjacency[v] & inside
    return [mask_of(part) for part in components(subgraph) if part[0] in inside]


def _any(variables: set[int], rng: np.random.Generator) -> int | None:
    """Return one of some variables, drawn; nothing if there is none."""
    return sorted(variables)[int(rng.integers(len(variables)))] if variables else None
