"""Simulated annealing over forests, towards the smallest effective size of the merged graph.

Every move changes one set of variables (`exactlearn.pdg.compile.forest_moves`), whose number of
nodes is kept or computed on its own (`exactlearn.pdg.compile.conditioning`): the search minimises
exactly the size of the graph that is built in the end. Some steps are several moves in a row,
accepted or undone together, to leave local optima of single moves.

Each arrangement of a set that some chain met, a top variable and the smaller sets below it, can be
used in any forest that holds the set; a dynamic program over all arrangements met finds the
smallest forest they make (theorem *Nodes of a set*, docs/theory/decision_graphs.md).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp

import numpy as np

from exactlearn.pdg.compile.conditioning import SetTable, set_table
from exactlearn.pdg.compile.expansion import Expansion
from exactlearn.pdg.compile.forest_moves import Move, State, Tree
from exactlearn.pdg.compile.residuals import Residuals
from exactlearn.pdg.compile.variable_forest import VariableForest

Arrangement = tuple[int, tuple[int, ...]]
"""A top variable, and the sets directly below it."""


@dataclass(frozen=True, kw_only=True)
class AnnealingParameters:
    """Tuning constants of annealing chains.

    Parameters
    ----------
    repetition
        Probability that a step makes another move of the same kind.
    most_kept
        Cells of the tables kept, above which those are dropped that no forest in use needs.
    most_growth, least_signatures
        Sets with so many times the signatures of the chain's first forest, and so many at least,
        are not tabulated.
    temperatures
        First and last temperatures of the chains, in turn.
    """

    repetition: float = 0.5
    most_kept: int = 20_000_000
    most_growth: int = 4
    least_signatures: int = 10_000
    temperatures: tuple[tuple[float, float], ...] = (
        (0.01, 0.0005),
        (0.02, 0.001),
        (0.005, 0.0005),
        (0.1, 0.001),
    )


class Arrangements:
    """All arrangements of sets that the chains met.

    Parameters
    ----------
    cardinalities
        Number of states of each variable.
    """

    def __init__(self, cardinalities: Sequence[int]) -> None:
        self._cardinalities = cardinalities
        self._arrangements: dict[int, dict[Arrangement, None]] = {}

    def add_tree(self, tree: Tree, variables: Sequence[int]) -> None:
        """Add the arrangements of all sets of a forest."""
        for v in variables:
            below = tuple(sorted(tree.inside[c] for c in tree.children[v]))
            self._arrangements.setdefault(tree.inside[v], {})[v, below] = None

    def add_move(self, tree: Tree, move: Move) -> None:
        """Add the two arrangements that a move makes, before it is done."""
        inside = tree.inside
        lower = tuple(sorted(inside[c] for c in move.below))
        upper = tuple(sorted((move.inside, *(inside[c] for c in move.beside))))
        over = inside[move.top if move.rotates else move.above]
        self._arrangements.setdefault(move.inside, {})[move.top, lower] = None
        self._arrangements.setdefault(over, {})[move.above, upper] = None

    def smallest(self, nodes: Mapping[int, int], whole: int, root: int) -> dict[int, int]:
        """Return the parent of each variable in the smallest forest of arrangements that were met.

        Parameters
        ----------
        nodes
            How many nodes each set's top variable needs.
        whole
            The set of all variables.
        root
            Variable that must be the root, or -1.
        """
        best: dict[int, tuple[int, Arrangement]] = {}
        for inside in sorted(self._arrangements, key=int.bit_count):
            found = [
                (self._cost(inside, arrangement, nodes, best), arrangement)
                for arrangement in self._arrangements[inside]
                if all(s in best for s in arrangement[1])
                and (inside != whole or root in (-1, arrangement[0]))
            ]
            if found:
                best[inside] = min(found, key=lambda pair: pair[0])
        parents: dict[int, int] = {}
        stack = [(whole, -1)]
        while stack:
            inside, above = stack.pop()
            top, below = best[inside][1]
            parents[top] = above
            stack += [(s, top) for s in below]
        return parents

    def _cost(
        self,
        inside: int,
        arrangement: Arrangement,
        nodes: Mapping[int, int],
        best: Mapping[int, tuple[int, Arrangement]],
    ) -> int:
        """Return the effective size of a set's subtree, THESIS (3.52)."""
        top, below = arrangement
        own = self._cardinalities[top] * nodes[inside] * max(1, len(below))
        return own + sum(best[s][0] for s in below)


class SetTables:
    """The tables of all sets met so far in one network; sets are shared by many forests.

    Attributes
    ----------
    nodes
        How many nodes each set's top variable needs.
    arrangements
        All arrangements of these sets that were met.
    work
        Cells of all tables made.
    """

    def __init__(self, residuals: Residuals, parameters: AnnealingParameters) -> None:
        self.residuals, self.parameters = residuals, parameters
        self.nodes: dict[int, int] = {}
        self.arrangements = Arrangements(residuals.cardinalities)
        self.work = 0
        self._tables: dict[int, SetTable] = {}
        self._kept = 0

    def __getitem__(self, inside: int) -> SetTable:
        """Return the table of a set."""
        return self._tables[inside]

    def add(self, table: SetTable) -> None:
        """Take over a table."""
        self._tables[table.inside] = table
        self.nodes[table.inside] = table.n_nodes
        self._kept += table.cells
        self.work += table.cells

    def after(self, tree: Tree, move: Move, most_signatures: int) -> SetTable | None:
        """Return the table of the set that a move makes, before the move is done.

        Returns nothing, after little work, if it has more than ``most_signatures`` signatures.
        """
        if move.inside not in self._tables:
            above = tree.inside[move.top if move.rotates else move.above]
            made = set_table(
                self.residuals,
                self._tables[above],
                move.above,
                [self._tables[tree.inside[v]] for v in move.beside],
                move.inside,
                move.top,
                [self._tables[tree.inside[v]] for v in move.below],
                most_signatures,
            )
            if made is None:
                return None
            self.add(made)
        return self._tables[move.inside]

    def drop_unused(self, trees: Sequence[Tree]) -> None:
        """Forget tables, but not their numbers of nodes, when there are too many."""
        if self._kept > self.parameters.most_kept:
            used = {inside for tree in trees for inside in tree.inside}
            self._tables = {s: t for s, t in self._tables.items() if s in used}
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
    root
        Variable that must stay the root, or -1.

    Attributes
    ----------
    size, smallest
        Effective size of the forest's graph, now and at best.
    best
        Parents of the best forest.
    """

    def __init__(
        self,
        tables: SetTables,
        adjacency: Sequence[frozenset[int]],
        forest: VariableForest,
        root: int = -1,
    ) -> None:
        self.tables = tables
        self.tree = Tree(adjacency, forest.order, forest.parents)
        for table in Expansion(tables.residuals, forest, keep=True).tables.values():
            tables.add(table)
        self._root = root
        self._variables = sorted(forest.order)
        self._cardinalities = tables.residuals.cardinalities
        tables.arrangements.add_tree(self.tree, self._variables)
        signatures = sum(len(tables[self.tree.inside[v]].signatures) for v in self._variables)
        parameters = tables.parameters
        self._most_signatures = max(
            parameters.least_signatures, parameters.most_growth * signatures
        )
        self.size = sum(
            self._cost(v, len(self.tree.children[v]), tables.nodes[self.tree.inside[v]])
            for v in self._variables
        )
        self.smallest, self.best = self.size, tuple(self.tree.parents)

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
            last = self._step(
                rng, temperatures[0] * (temperatures[1] / temperatures[0]) ** (made / steps)
            )
            made += last

    def _step(self, rng: np.random.Generator, temperature: float) -> int:
        undo: list[list[State]] = []
        grown, hopeless = 0, False
        for move in self._moves(rng):
            if move is None or grown > self.size:
                break
            table = self.tables.after(self.tree, move, self._most_signatures)
            if table is None:
                hopeless = True
                break
            self.tables.arrangements.add_move(self.tree, move)
            grown += self._growth(move, table.n_nodes)
            undo.append(self.tree.apply(move))
        if not hopeless and (grown <= 0 or rng.random() < exp(-grown / (temperature * self.size))):
            self.size += grown
            if self.size < self.smallest:
                self.smallest, self.best = self.size, tuple(self.tree.parents)
        else:
            for states in reversed(undo):
                self.tree.restore(states)
        return max(1, len(undo))

    def _moves(self, rng: np.random.Generator) -> Iterator[Move | None]:
        """Draw a step; each of its moves is drawn when the one before is done."""
        variable = self._variables[int(rng.integers(len(self._variables)))]
        kind = rng.random()
        while True:
            if kind < 0.6:
                yield self._rotation(variable)
            elif kind < 0.8:
                yield self.tree.rising(variable)
            elif kind < 0.9:
                yield self._rotation(_any(self.tree.children[variable], rng))
            else:
                yield self._sinking(variable, rng)
            if rng.random() > self.tables.parameters.repetition:
                return

    def _rotation(self, variable: int) -> Move | None:
        move = self.tree.rotation(variable) if variable >= 0 else None
        return None if move is None or move.top == self._root else move

    def _sinking(self, variable: int, rng: np.random.Generator) -> Move | None:
        above = self.tree.parents[variable]
        sibling = _any(self.tree.children[above] - {variable}, rng) if above >= 0 else -1
        return self.tree.sinking(variable, sibling) if sibling >= 0 else None

    def _cost(self, variable: int, children: int, nodes: int) -> int:
        """Return a variable's share of the effective size, THESIS (3.52)."""
        return self._cardinalities[variable] * nodes * max(1, children)

    def _growth(self, move: Move, nodes: int) -> int:
        """Return by how much a move increases the effective size."""
        tree, known = self.tree, self.tables.nodes
        above, top = (known[tree.inside[v]] for v in (move.above, move.top))
        return (
            self._cost(move.above, len(move.beside) + 1, top if move.rotates else above)
            + self._cost(move.top, len(move.below), nodes)
            - self._cost(move.above, len(tree.children[move.above]), above)
            - self._cost(move.top, len(tree.children[move.top]), top)
        )


def _any(variables: set[int], rng: np.random.Generator) -> int:
    """Return one of some variables, -1 if there is none."""
    return sorted(variables)[int(rng.integers(len(variables)))] if variables else -1
