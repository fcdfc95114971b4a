"""The smallest decision graph over a given forest, built without writing out any clique's table.

Let a variable and all that stand below it in a forest be the set S. The signature of a
configuration above S holds, for each family that reaches across the border of S, the number of its
residual (`exactlearn.pdg.compile.residuals`). Going down the forest, conditioning on the top
variable gives each signature a weight for each state, and the signatures of the sets below.

Going up again, each signature gets its distribution, and those with the same distribution and
successors become one node; where a state has probability zero its successor does not matter ("don't
care"). So the graph is the smallest of the distribution over the forest (theorem *Smallest graph
over a forest*, docs/theory/decision_graphs.md). Only sums and products of numbers >= 0 and one
division occur, so zeros stay exact and every parameter keeps full relative precision.

The number of nodes of the top variable depends on S alone (theorem *Nodes of a set*): a search for
a forest keeps it, with the table that maps the signatures of S to these nodes.

Before a graph is built, samples bound its cells from below: few equal pairs of sampled signatures
show that there are many signatures (theorem *Few equal samples*).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.compilation_notice import clock
from exactlearn._runtime.hash_tables import index_rows
from exactlearn._runtime.kernel import kernel
from exactlearn.errors import TooLargeError
from exactlearn.pdg.compile.residuals import Residuals, equal_values
from exactlearn.pdg.model.forest import VariableForest

SIGNATURE_NUMBERS = 10
"""How many numbers of signatures take as much memory as a cell."""

SAMPLES = 30_000
EXPECTED_PAIRS = 30.0
"""More samples bound larger graphs: by about half of their square, over the equal pairs to expect
at least where there is none: with 30 that has a probability of 1e-13."""


@dataclass(frozen=True, eq=False)
class SetTable:
    """The nodes of the top variable of a set.

    Parameters
    ----------
    inside
        The set, a bit mask.
    signatures
        All signatures that can occur, shape (signatures, families across the border of the set).
    values, labels
        Weight of each signature up to a common factor, and its node, both with one entry more for
        signatures that cannot occur: zero and -1.
    n_nodes
        How many nodes there are.
    """

    inside: int
    signatures: NDArray[np.int32]
    values: NDArray[np.float64]
    labels: NDArray[np.int32]
    n_nodes: int

    @classmethod
    def of(
        cls,
        inside: int,
        signatures: NDArray[np.int32],
        values: NDArray[np.float64],
        labels: NDArray[np.int32],
        possible: NDArray[np.bool_],
    ) -> Self:
        """Return the table of those signatures that are possible."""
        kept = np.append(possible, True)
        possible_labels = labels[:-1][possible]
        n_nodes = int(np.count_nonzero(np.bincount(possible_labels)))
        return cls(inside, signatures[possible], values[kept], labels[kept], n_nodes)

    @property
    def cells(self) -> int:
        """Cells of the table."""
        return self.signatures.size + 4 * len(self.signatures)


class Conditioned:
    """The signatures of a set, conditioned on each state of its top variable.

    Parameters
    ----------
    residuals
        The network's residuals.
    inside, variable
        The set, a bit mask, and its top variable.
    signatures
        Those of the set, as of a `SetTable`.

    Attributes
    ----------
    weights
        What the families give, shape (signatures, states).
    """

    def __init__(
        self,
        residuals: Residuals,
        inside: int,
        variable: int,
        signatures: NDArray[np.int32],
    ) -> None:
        self._residuals = residuals
        self._signatures = signatures
        touched = residuals.touching[variable]
        column = {f: i for i, f in enumerate(residuals.families_across(inside))}
        columns = [column.get(f, -1) for f in touched]
        steps = [
            residuals.step(f, residuals.families[f] & ~inside, variable)
            for f in touched
        ]
        # Where the residual of each family is: a touched one, or -1 - the old column.
        self._source = {f: -1 - i for f, i in column.items()}
        self._source |= {f: i for i, f in enumerate(touched)}
        self.weights, self._after = condition_signatures(
            signatures,
            np.array(columns, np.int64),
            np.array(steps, np.int64),
            residuals.cardinalities[variable],
            residuals.numbers,
            residuals.weights,
        )

    def below(
        self,
        inside: int,
        weights: NDArray[np.float64] | None = None,
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the signatures of a set below, and the place in the weights (not 0) of each.

        Parameters
        ----------
        inside
            The set below, a bit mask.
        weights
            Given in place of the own weights.
        """
        families = self._residuals.families_across(inside)
        sources = [self._source[f] for f in families]
        return signatures_below(
            self._signatures,
            self.weights if weights is None else weights,
            self._after,
            np.array(sources, np.int64),
        )

    def weigh(self, child: SetTable) -> NDArray[np.int32]:
        """Multiply the weights by the values of a set below.

        Returns
        -------
        The node of the set below, -1 where there is none, shape (signatures, states).
        """
        rows, places = self.below(child.inside)
        n = len(child.signatures)
        # The child's signatures come first, so that equal rows have their numbers.
        numbers, _ = index_rows(np.concatenate((child.signatures, rows)))
        # A signature that cannot occur has the last entry.
        at = np.minimum(numbers[n:], n)
        nodes = np.full(self.weights.size, -1, np.int32)
        nodes[places] = child.labels[at]
        self.weights.reshape(-1)[places] *= child.values[at]
        return nodes.reshape(self.weights.shape)


@kernel
def condition_signatures(
    signatures: NDArray[np.int32],
    columns: NDArray[np.int64],
    steps: NDArray[np.int64],
    r: int,
    numbers: NDArray[np.int32],
    factors: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Condition all signatures on each state of a variable.

    Returns
    -------
    weights
        What the families give, shape (signatures, r).
    after
        The touched families' residuals then, shape (signatures, r, families); arbitrary where the
        weight is zero.
    """
    n = len(signatures)
    width = len(columns)
    weights = np.ones((n, r))
    after = np.empty((n, r, width), np.int32)
    for i in range(n):
        for t in range(width):
            # A family that has no column has one residual, number 0.
            number = signatures[i, columns[t]] if columns[t] >= 0 else 0
            start = steps[t] + number * r
            for x in range(r):
                weights[i, x] *= factors[start + x]
                after[i, x, t] = numbers[start + x]
    return weights, after


@kernel
def signatures_below(
    signatures: NDArray[np.int32],
    weights: NDArray[np.float64],
    after: NDArray[np.int32],
    source: NDArray[np.int64],
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the signatures of a set below, and the place in ``weights`` (not 0) of each."""
    n, r = weights.shape
    count = np.count_nonzero(weights)
    rows = np.empty((count, len(source)), np.int32)
    places = np.empty(count, np.int64)
    k = 0
    for i in range(n):
        for x in range(r):
            if weights[i, x] > 0:
                for j in range(len(source)):
                    # A touched family has a new residual, another one keeps that of the
                    # signature above.
                    s = source[j]
                    rows[k, j] = after[i, x, s] if s >= 0 else signatures[i, -1 - s]
                places[k] = i * r + x
                k += 1
    return rows, places


def merge_signatures(
    weights: NDArray[np.float64], nodes: NDArray[np.int32]
) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int64]]:
    """Group the keys of one variable that have equal distributions and successors.

    Parameters
    ----------
    weights
        Weight of each key and state with all that is below, shape (keys, states).
    nodes
        Groups of the successors, shape (keys, states, children); ignored where the weight is 0.

    Returns
    -------
    values, labels
        Weight of each key, the largest being 1, and its group, numbered by first appearance (-1
        where all weights are 0); both with one entry more at the end, 0 and -1, for keys that are
        not there.
    representatives
        First key of each group.
    """
    totals = weights.sum(axis=1)
    possible = totals.nonzero()[0]
    masses = weights[possible]
    # A row for each possible key: numbers of its parameters, and successors where they matter.
    numbers = equal_values(masses / totals[possible, None])
    successors = np.where(masses[:, :, None] > 0, nodes[possible], np.int32(-1))
    rows = np.concatenate((numbers, successors.reshape(len(masses), -1)), axis=1)
    # Equal rows are one group.
    groups, first = index_rows(rows)
    labels = np.full(len(weights) + 1, -1, np.int32)
    labels[possible] = groups
    return np.append(totals / totals.max(), 0.0), labels, possible[first]


class Expansion:
    """The nodes of the variables of one tree.

    Parameters
    ----------
    residuals
        The network's residuals.
    forest
        A tree, covering one connected part, in which each family lies on one path from the root.
    max_cells
        Most cells to write out before merging.
    until
        Time of the clock when what is not built is given up.

    Attributes
    ----------
    parameters, successors
        For each variable of the tree, as `exactlearn.pdg.model.decision_graph.assemble` takes them.
    cells
        Cells written out before merging.

    Raises
    ------
    TooLargeError
        When there would be more than ``max_cells``, or signatures that take as much memory, which
        is raised before they do; or when the time is up.
    """

    def __init__(
        self,
        residuals: Residuals,
        forest: VariableForest,
        max_cells: float = np.inf,
        *,
        until: float = np.inf,
    ) -> None:
        self.forest = forest
        self.cells = 0
        self._residuals = residuals
        self._max_cells = max_cells
        self._until = until
        roots = [v for v in forest.order if forest.parents[v] < 0]
        # By variable: its signatures; their weights for each state, and for each child the place
        # among its signatures of what follows.
        self._signatures = {v: np.empty((1, 0), np.int32) for v in roots}
        self._weights: dict[int, NDArray[np.float64]] = {}
        self._below: dict[int, list[NDArray[np.int32]]] = {}
        # By variable: weight and node of each signature.
        self._values: dict[int, NDArray[np.float64]] = {}
        self._labels: dict[int, NDArray[np.int32]] = {}
        self.parameters: dict[int, NDArray[np.float64]] = {}
        self.successors: dict[int, NDArray[np.int32]] = {}
        self._go_down()
        self._go_up()
        self._leave_out()

    @property
    def effective_size(self) -> int:
        """Effective size of what was built, THESIS (3.52)."""
        children = self.forest.children
        return sum(
            p.size * max(1, len(children[v])) for v, p in self.parameters.items()
        )

    def _go_down(self) -> None:
        """Find the signatures of each set, and what they give for each state of its variable."""
        residuals = self._residuals
        inside = self.forest.inside
        for v in self.forest.order:
            children = self.forest.children[v]
            signatures = self._signatures[v]
            r = residuals.cardinalities[v]
            # Refuse by the number of nodes, before their arrays are made.
            self.cells += len(signatures) * r * max(1, len(children))
            self._refuse(self.cells)
            conditioned = Conditioned(residuals, inside[v], v, signatures)
            weights = conditioned.weights
            self._weights[v] = weights
            self._below[v] = []
            for child in children:
                # A child's set sees only families that reach across its border: equal
                # residuals of those are one signature.
                width = len(residuals.families_across(inside[child]))
                n_live = int(np.count_nonzero(weights))
                self._refuse(n_live * width // SIGNATURE_NUMBERS)
                rows, places = conditioned.below(inside[child])
                labels, first = index_rows(rows)
                self._signatures[child] = rows[first]
                # Which signature of the child each (signature, state) leads to; -1
                # where its weight is zero.
                below = np.full(weights.size, -1, np.int32)
                below[places] = labels
                self._below[v].append(below.reshape(weights.shape))

    def _refuse(self, cells: int = 0) -> None:
        """Raise if so many cells are too many, or the time is up."""
        if cells > self._max_cells:
            raise TooLargeError(
                f"more than {self._max_cells:,} cells before merging, over the forest of this order"
            )
        if clock() > self._until:
            raise TooLargeError("the time is up before the graph is built")

    def _go_up(self) -> None:
        """Merge the signatures with equal distributions and successors, leaves first."""
        for v in reversed(self.forest.order):
            self._refuse()
            weights = self._weights[v]
            children = self.forest.children[v]
            # The mass below a state is the product of its weight and its children's
            # values.
            nodes = np.empty((*weights.shape, len(children)), np.int32)
            for place, child in enumerate(children):
                at = self._below[v][place]
                weights *= self._values[child][at]
                nodes[:, :, place] = self._labels[child][at]
            self._values[v], self._labels[v], first = merge_signatures(weights, nodes)
            # Of each group of equal nodes one stands for all, with its masses
            # normalised.
            masses = weights[first]
            self.parameters[v] = masses / masses.sum(axis=1, keepdims=True)
            self.successors[v] = nodes[first]

    def _leave_out(self) -> None:
        """Leave out nodes that no row reaches; a state of probability zero leads to the first."""
        for v in self.forest.order:
            successors = self.successors[v]
            is_live = self.parameters[v] > 0
            # Merging may leave nodes that only states of probability zero lead to.
            for place, child in enumerate(self.forest.children[v]):
                heads = successors[:, :, place]
                is_reached = np.zeros(len(self.parameters[child]), np.bool_)
                is_reached[heads[is_live]] = True
                numbers = np.cumsum(is_reached) - 1
                successors[:, :, place] = np.where(is_live, numbers[heads], 0)
                self.parameters[child] = self.parameters[child][is_reached]
                self.successors[child] = self.successors[child][is_reached]

    def tables(self) -> Iterator[SetTable]:
        """Yield the tables of all variables' subtrees, with the signatures that can occur."""
        forest = self.forest
        # A signature can occur if a live state of a possible signature leads to it;
        # those of roots do.
        is_possible = {
            v: np.full(len(rows), forest.parents[v] < 0)
            for v, rows in self._signatures.items()
        }
        for v in forest.order:
            is_live = (self._weights[v] > 0) & is_possible[v][:, None]
            for child, at in zip(forest.children[v], self._below[v], strict=True):
                is_possible[child][at[is_live]] = True
            yield SetTable.of(
                forest.inside[v],
                self._signatures[v],
                self._values[v],
                self._labels[v],
                is_possible[v],
            )


def least_cells(
    residuals: Residuals,
    forest: VariableForest,
    rng: np.random.Generator,
    samples: int = SAMPLES,
) -> Iterator[float]:
    """Yield a lower bound of the cells of the variables so far, almost sure.

    Parameters
    ----------
    residuals, forest
        As for an `Expansion`.
    rng
        Draws the states.
    samples
        How many.

    Yields
    ------
    A rising bound after each variable, in the forest's order.
    """
    cells = 0.0
    signatures = dict.fromkeys(forest.order, np.empty((samples, 0), np.int32))
    for v in forest.order:
        children = forest.children[v]
        rows = signatures[v]
        width = residuals.cardinalities[v] * max(1, len(children))
        cells += least_signatures(rows) * width
        yield cells
        # Draw one of the states that are possible for each sample.
        conditioned = Conditioned(residuals, forest.inside[v], v, rows)
        weights = rng.random(conditioned.weights.shape) * (conditioned.weights > 0)
        weights *= weights == weights.max(axis=1, keepdims=True)
        for child in children:
            signatures[child] = conditioned.below(forest.inside[child], weights)[0]


def least_signatures(rows: NDArray[np.int32]) -> float:
    """Return a lower bound of the number of different signatures, almost sure, by samples."""
    labels, first = index_rows(rows)
    visits = np.bincount(labels).astype(np.float64)
    n = len(rows)
    equal_pairs = (visits @ visits - n) / 2
    bound = n * (n - 1) / (2 * (2 * equal_pairs + EXPECTED_PAIRS))
    return max(float(len(first)), float(bound))
