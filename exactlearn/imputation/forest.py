r"""A chained forest of conditional probability trees: every variable given all others.

Each tree is grown on a bootstrap sample of the rows that observe its variable (random forests;
Breiman 2001). Inner nodes ask whether another variable has some state, or at most some state, and
are chosen for the largest decrease of the Gini impurity among a random part of the variables.
Every node has a distribution: its counts and a few more, which are divided as its parent's
distribution (Provost and Domingos 2003, "Tree induction for probability-based ranking").

Missing predictors have a drawn state: for growing, one draw for each cell and tree from the shares
of the states; for predicting, one draw for each variable and tree from what the forests of the
other variables say so far. The draws of a variable are stratified over the trees, so that each
state is drawn as often as its share says.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn._runtime.kernel import in_place_kernel, kernel
from exactlearn.data.codes import MISSING
from exactlearn.data.dataset import Dataset
from exactlearn.imputation.imputed import cell_probabilities, first_states
from exactlearn.imputation.turns import in_turns, mean_shares, with_shares

Matrix = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class ForestParameters:
    """Constants of the forest.

    Parameters
    ----------
    trees
        Trees for each variable.
    features
        Power of the number of other variables that gives the number a node chooses from.
    least_rows
        Least weight of the rows of a node.
    smoothing
        Weight of the parent's distribution in that of a node.
    depth
        Most inner nodes above a leaf.
    rounds
        Most rounds over all variables when the missing cells of a table are predicted.
    tolerance
        Largest change of a probability that ends them.
    """

    trees: int = 50
    features: float = 0.85
    least_rows: float = 5.0
    smoothing: float = 2.0
    depth: int = 30
    rounds: int = 2
    tolerance: float = 1e-3


PARAMETERS = ForestParameters()


class Trees(NamedTuple):
    """Nodes of the trees of one variable, all trees in the same arrays.

    Attributes
    ----------
    feature
        Variable that an inner node asks for, -1 for a leaf, shape (nodes,).
    cut
        The state s whose rows go left, or s plus the number of states, when the states up to s do.
    child
        The left child; the right one follows it.
    shares
        Distribution of each node, shape (nodes, states).
    """

    feature: Integers
    cut: Integers
    child: Integers
    shares: Matrix

    def first(self, nodes: int) -> "Trees":
        """Return the first nodes alone."""
        feature, cut, child = self.feature[:nodes], self.cut[:nodes], self.child[:nodes]
        return Trees(feature.copy(), cut.copy(), child.copy(), self.shares[:nodes].copy())


@dataclass(frozen=True, eq=False)
class ChainedForest:
    """A forest for each variable, which predicts it from all others.

    Parameters
    ----------
    shares
        Share of each state among the observed cells of its variable, shape (states,).
    trees
        The trees of each variable.
    roots
        Root of each tree of each variable.
    strata
        A number between 0 and 1 for each tree and variable, by which the state of a missing
        predictor is drawn.
    parameters
        Constants of the prediction.
    """

    shares: Matrix
    trees: tuple[Trees, ...]
    roots: tuple[Integers, ...]
    strata: Matrix
    parameters: ForestParameters = PARAMETERS

    def posterior(self, table: Dataset) -> Matrix:
        """Return the distribution of each missing cell, by the forests in turns.

        Parameters
        ----------
        table
            As for :class:`~exactlearn.imputation.imputed.CellModel`, as is what is returned.
        """
        first, codes = first_states(table.cardinalities), table.codes.astype(np.int64)

        def renew(shares: Matrix, v: int, rows: NDArray[np.bool_]) -> Matrix:
            own = shares[rows, first[v] : first[v + 1]]
            if len(self.roots[v]):
                own[:] = 0.0
                forest, wanted = (self.trees[v], self.roots[v], self.strata), np.flatnonzero(rows)
                descend(codes, shares, first, wanted, *forest, own)
            return own

        shares, how = with_shares(table, self.shares), self.parameters
        in_turns(table, shares, renew, rounds=how.rounds, tolerance=how.tolerance)
        return cell_probabilities(shares, table)


def fit_forest(
    dataset: Dataset,
    *,
    seed: int = 0,
    control: SearchControl = UNLIMITED,
    parameters: ForestParameters = PARAMETERS,
) -> ChainedForest:
    """Grow a forest for each variable.

    Parameters
    ----------
    dataset
        Table with or without missing cells; weights of rows count.
    seed
        Draws rows, states of missing cells and variables to choose from.
    control
        Looked at before the trees of all variables are grown once more.
    parameters
        Constants.

    Examples
    --------
    >>> codes = np.array([[0, 0], [1, 1]] * 20 + [[1, -1]])
    >>> table = Dataset(codes, ("a", "b"), (("no", "yes"),) * 2)
    >>> fit_forest(table).posterior(table).round(1).tolist()
    [[0.0, 1.0]]
    """
    how, rng = parameters, np.random.default_rng(seed)
    n, sizes = dataset.n_variables, dataset.cardinalities
    means, missing, cells = mean_shares(dataset), dataset.codes == MISSING, dataset.missing_cells
    sums = cell_probabilities(with_shares(dataset, means), dataset).cumsum(axis=1)
    most = int(sizes.max(initial=1))
    space = Space(np.empty((most, most + 1)), np.empty(most + 1), np.empty((how.depth + 2, 5), int))
    asked = [np.setdiff1d(np.flatnonzero(sizes > 1), v) for v in range(n)]
    tried = max(1, round(max(n - 1, 0) ** how.features))
    grown: list[list[Trees]] = [[] for _ in range(n)]
    for _ in range(how.trees):
        if control.is_over:
            break
        codes = dataset.codes.astype(np.int64)
        drawn = (sums[:, :-1] < rng.random((len(cells), 1))).sum(axis=1)
        codes[cells[:, 0], cells[:, 1]] = np.minimum(drawn, sizes[cells[:, 1]] - 1)
        times = np.bincount(rng.integers(dataset.n_rows, size=dataset.n_rows))
        weights = dataset.row_weights * np.append(times, np.zeros(dataset.n_rows - len(times)))
        for v in range(n):
            rows = np.flatnonzero(~missing[:, v] & (weights > 0))
            if len(rows):
                tree = empty_trees(2 * len(rows), int(sizes[v]))
                number = grow(
                    codes, v, sizes, weights, rows, asked[v], tried, how.least_rows,
                    how.smoothing, how.depth, rng, space, tree,
                )  # fmt: skip
                grown[v].append(tree.first(number))
    forests = [_joined(own, int(r)) for own, r in zip(grown, sizes, strict=True)]
    trees, roots = tuple(trees for trees, _ in forests), tuple(roots for _, roots in forests)
    strata = rng.permuted(np.tile(np.arange(how.trees) + 0.5, (n, 1)), axis=1).T / how.trees
    return ChainedForest(means, trees, roots, np.ascontiguousarray(strata), how)


def empty_trees(nodes: int, states: int) -> Trees:
    """Return room for so many nodes of a variable with so many states."""
    feature, cut, child = np.zeros((3, nodes), np.int64)
    return Trees(feature, cut, child, np.empty((nodes, states)))


def _joined(grown: list[Trees], states: int) -> tuple[Trees, Integers]:
    """Return several trees in the same arrays, and their roots."""
    ends = np.cumsum([len(tree.feature) for tree in grown])
    roots = ends - [len(tree.feature) for tree in grown]
    moved = [t._replace(child=t.child + root) for t, root in zip(grown, roots, strict=True)]
    parts = (
        np.concatenate(part) for part in zip(*(moved or [empty_trees(0, states)]), strict=True)
    )
    return Trees(*parts), roots.astype(np.int64)


class Space(NamedTuple):
    """Work space of :func:`grow`.

    Attributes
    ----------
    counts
        Weight of the rows with each state of a variable and of the target, with their sum last.
    left
        Weight of the rows that go left with each state of the target, with their sum last.
    open
        Nodes to divide: number, first row, row behind the last one, depth, parent.
    """

    counts: Matrix
    left: Matrix
    open: Integers


@in_place_kernel
def goes_left(state: int, cut: int, size: int) -> bool:
    """Return whether a row with a state of the node's variable goes left."""
    return state == cut if cut < size else state <= cut - size


@in_place_kernel
def best_cut(space: Space, size: int, own: Matrix, states: int, least: float) -> tuple[float, int]:
    """Return the least impurity of a node's two children, negative, and the cut; -1 for none."""
    counts, left = space.counts, space.left
    total = 0.0
    for c in range(states):
        total += own[c]
    best, cut = -np.inf, -1
    for ways in range(1 if size == 2 else 2):
        for c in range(states + 1):
            left[c] = 0.0
        for s in range(size - 1 if ways or size == 2 else size):
            for c in range(states + 1):
                left[c] = counts[s, c] + (left[c] if ways else 0.0)
            weight = left[states]
            if weight < least or total - weight < least:
                continue
            a, b = 0.0, 0.0
            for c in range(states):
                a += left[c] * left[c]
                b += (own[c] - left[c]) ** 2
            value = a / weight + b / (total - weight)
            if value > best:
                best, cut = value, s + ways * size
    return best, cut


@kernel
def grow(
    codes: Integers,
    target: int,
    sizes: Integers,
    weights: Matrix,
    rows: Integers,
    asked: Integers,
    tried: int,
    least: float,
    smoothing: float,
    depth: int,
    rng: np.random.Generator,
    space: Space,
    tree: Trees,
) -> int:
    """Grow a tree; return the number of its nodes.

    Parameters
    ----------
    codes
        Complete rows.
    target
        The variable to predict.
    sizes
        Number of states of each variable.
    weights
        Of the rows.
    rows
        Rows to grow it on, whose order changes.
    asked
        Variables that nodes may ask for, whose order changes.
    tried
        How many of them that divide its rows a node chooses from.
    least
        Least weight of the rows of a node.
    smoothing
        Weight of the parent's distribution.
    depth
        Most inner nodes above a leaf.
    rng
        Draws the variables.
    space
        Work space.
    tree
        Receives the nodes.
    """
    states, counts, waiting = sizes[target], space.counts, space.open
    nodes, top = 1, 0
    waiting[0, 0], waiting[0, 1], waiting[0, 2], waiting[0, 3], waiting[0, 4] = (
        0,
        0,
        len(rows),
        0,
        -1,
    )
    while top >= 0:
        node, begin, end = waiting[top, 0], waiting[top, 1], waiting[top, 2]
        level, parent = waiting[top, 3], waiting[top, 4]
        top -= 1
        own = tree.shares[node]
        own[:] = 0.0
        for i in range(begin, end):
            own[codes[rows[i], target]] += weights[rows[i]]
        total, squares = own.sum(), (own * own).sum()
        best, feature, cut = squares / total + 1e-9 * total, -1, 0
        found = 0
        for f in range(len(asked) if total >= 2 * least and level < depth else 0):
            other = f + int(rng.random() * (len(asked) - f))
            asked[f], asked[other] = asked[other], asked[f]
            u = asked[f]
            counts[: sizes[u]] = 0.0
            for i in range(begin, end):
                state, weight = codes[rows[i], u], weights[rows[i]]
                counts[state, codes[rows[i], target]] += weight
                counts[state, states] += weight
            value, place = best_cut(space, sizes[u], own, states, least)
            if value > best:
                best, feature, cut = value, u, place
            found += place >= 0
            if found >= tried:
                break
        for c in range(states):
            prior = tree.shares[parent, c] if parent >= 0 else 1.0 / states
            own[c] = (own[c] + smoothing * prior) / (total + smoothing)
        tree.feature[node], tree.cut[node], tree.child[node] = feature, cut, nodes
        if feature < 0:
            continue
        low, high = begin, end
        while low < high:
            if goes_left(codes[rows[low], feature], cut, sizes[feature]):
                low += 1
            else:
                high -= 1
                rows[low], rows[high] = rows[high], rows[low]
        for side in range(2):
            top += 1
            waiting[top, 0], waiting[top, 3], waiting[top, 4] = nodes + side, level + 1, node
            waiting[top, 1], waiting[top, 2] = (low, end) if side else (begin, low)
        nodes += 2
    return nodes


@in_place_kernel
def descend(
    codes: Integers,
    shares: Matrix,
    first: Integers,
    wanted: Integers,
    trees: Trees,
    roots: Integers,
    strata: Matrix,
    found: Matrix,
) -> None:
    """Add the mean distribution of the leaves that rows fall into.

    Parameters
    ----------
    codes
        The table, -1 for missing cells.
    shares
        Distributions of its cells.
    first
        First state of each variable in ``shares``.
    wanted
        The rows.
    trees, roots
        The forest.
    strata
        Which state each tree takes for a missing cell.
    found
        Receives the distributions, shape (wanted rows, states).
    """
    for i in range(len(wanted)):
        row = wanted[i]
        for t in range(len(roots)):
            node = roots[t]
            while trees.feature[node] >= 0:
                u = trees.feature[node]
                size = first[u + 1] - first[u]
                state = codes[row, u]
                if state < 0:
                    state, reached = 0, shares[row, first[u]]
                    while reached < strata[t, u] and state < size - 1:
                        state += 1
                        reached += shares[row, first[u] + state]
                side = 0 if goes_left(state, trees.cut[node], size) else 1
                node = trees.child[node] + side
            for c in range(found.shape[1]):
                found[i, c] += trees.shares[node, c] / len(roots)
