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
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn._runtime.kernel import in_place_kernel, kernel
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
    """Nodes of trees, those of all variables in the same arrays.

    Attributes
    ----------
    feature
        Variable that an inner node asks for, -1 for a leaf, shape (nodes,).
    cut
        The state s whose rows go left, or s plus the number of states, when the states up to s do.
    child
        The left child; the right one follows it.
    place
        Where the distribution of a node begins.
    shares
        Distributions of the nodes, one after the other.
    """

    feature: Integers
    cut: Integers
    child: Integers
    place: Integers
    shares: Matrix

    @classmethod
    def room(cls, nodes: int, shares: int) -> Self:
        """Return room for so many nodes, whose distributions have so many shares."""
        feature, cut, child, place = np.zeros((4, nodes), np.int64)
        return cls(feature, cut, child, place, np.empty(shares))


@dataclass(frozen=True, eq=False)
class ChainedForest:
    """A forest for each variable, which predicts it from all others.

    Parameters
    ----------
    shares
        Share of each state among the observed cells of its variable, shape (states,).
    trees
        Trees of all variables.
    roots
        Their roots, shape (variables, trees); -1 where no drawn row observes the variable.
    strata
        A number between 0 and 1 for each tree and variable, by which the state of a missing
        predictor is drawn.
    parameters
        Constants of the prediction.
    """

    shares: Matrix
    trees: Trees
    roots: Integers
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
            some = np.flatnonzero(self.roots[v] >= 0)
            if len(some):
                own[:] = 0.0
                wanted, strata = np.flatnonzero(rows), self.strata[some]
                descend(codes, shares, first, wanted, self.trees, self.roots[v, some], strata, own)
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
    rows, sizes, cells = dataset.n_rows, dataset.cardinalities, dataset.missing_cells
    means = mean_shares(dataset)
    sums = cell_probabilities(with_shares(dataset, means), dataset).cumsum(axis=1)
    table = np.ascontiguousarray(dataset.codes.T, np.int64)
    codes, space = table.copy(), Space.of(sizes, rows, how.depth)
    room = Trees.room(2 * table.size, 2 * rows * int(sizes.sum()))
    tried = max(1, round(max(len(sizes) - 1, 0) ** how.features))
    grown: list[Trees] = []
    roots: list[Integers] = []
    for _ in range(how.trees):
        if control.is_over:
            break
        drawn = (sums[:, :-1] < rng.random((len(cells), 1))).sum(axis=1)
        codes[cells[:, 1], cells[:, 0]] = np.minimum(drawn, sizes[cells[:, 1]] - 1)
        times = np.bincount(rng.integers(rows, size=rows), minlength=rows)
        own = np.full(len(sizes), -1)
        nodes, shares = grow(
            table, codes, sizes, dataset.row_weights * times, tried, how.least_rows,
            how.smoothing, how.depth, rng, space, room, own,
        )  # fmt: skip
        before = sum(len(tree.feature) for tree in grown)
        feature, cut, child, place = (part[:nodes].copy() for part in room[:4])
        place += sum(len(tree.shares) for tree in grown)
        grown.append(Trees(feature, cut, child + before, place, room.shares[:shares].copy()))
        roots.append(np.where(own < 0, own, own + before))
    strata = rng.permuted(np.tile(np.arange(how.trees) + 0.5, (len(sizes), 1)), axis=1).T
    joined = Trees(*map(np.concatenate, zip(Trees.room(0, 0), *grown, strict=True)))
    by_variable = np.array(roots, np.int64).reshape(-1, len(sizes)).T
    strata = np.ascontiguousarray(strata / how.trees)
    return ChainedForest(means, joined, np.ascontiguousarray(by_variable), strata, how)


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
    rows
        The rows that observe the target, those of a node together.
    splitting
        The variables that nodes may be split by.
    """

    counts: Matrix
    left: Matrix
    open: Integers
    rows: Integers
    splitting: Integers

    @classmethod
    def of(cls, sizes: Integers, rows: int, depth: int) -> Self:
        """Return work space for variables of some sizes, a number of rows and a depth."""
        most = int(sizes.max(initial=1))
        counts, left = np.empty((most, most + 1)), np.empty(most + 1)
        waiting, order = np.empty((depth + 2, 5), np.int64), np.empty(rows, np.int64)
        return cls(counts, left, waiting, order, np.empty(len(sizes), np.int64))


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
    table: Integers,
    codes: Integers,
    sizes: Integers,
    weights: Matrix,
    tried: int,
    least: float,
    smoothing: float,
    depth: int,
    rng: np.random.Generator,
    space: Space,
    trees: Trees,
    roots: Integers,
) -> tuple[int, int]:
    """Grow a tree for each variable; return the numbers of their nodes and of the shares of these.

    Parameters
    ----------
    table
        Codes, -1 for missing cells, shape (variables, rows).
    codes
        The same, completed.
    sizes
        Number of states of each variable.
    weights
        Of the rows.
    tried
        How many variables that divide its rows a node chooses from.
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
    trees, roots
        Receive the trees.
    """
    nodes, end = 0, 0
    for v in range(len(sizes)):
        known = 0
        for row in range(len(weights)):
            if table[v, row] >= 0 and weights[row] > 0:
                space.rows[known] = row
                known += 1
        others = 0
        for u in range(len(sizes)):
            if u != v and sizes[u] > 1:
                space.splitting[others] = u
                others += 1
        if known:
            roots[v] = nodes
            trees.place[nodes] = end
            space.open[0, 0], space.open[0, 1], space.open[0, 2] = nodes, 0, known
            space.open[0, 3], space.open[0, 4] = 0, -1
            nodes, end = grow_below(
                codes, v, sizes, weights, others, tried, least, smoothing, depth, rng, space, trees,
                nodes + 1, end + sizes[v],
            )  # fmt: skip
    return nodes, end


@kernel
def grow_below(
    codes: Integers,
    target: int,
    sizes: Integers,
    weights: Matrix,
    others: int,
    tried: int,
    least: float,
    smoothing: float,
    depth: int,
    rng: np.random.Generator,
    space: Space,
    trees: Trees,
    nodes: int,
    end: int,
) -> tuple[int, int]:
    """Grow the tree of one variable from its root, which is the open node of the work space.

    Parameters
    ----------
    target
        The variable.
    others
        Number of variables that nodes may be split by.
    nodes, end
        Numbers of nodes and shares before; those behind are returned.
    codes, sizes, weights, tried, least, smoothing, depth, rng, space, trees
        As of :func:`grow`.
    """
    states, counts, waiting = sizes[target], space.counts, space.open
    rows, splitting, top = space.rows, space.splitting, 0
    while top >= 0:
        node, begin, stop = waiting[top, 0], waiting[top, 1], waiting[top, 2]
        level, parent = waiting[top, 3], waiting[top, 4]
        top -= 1
        own = trees.shares[trees.place[node] : trees.place[node] + states]
        own[:] = 0.0
        for i in range(begin, stop):
            own[codes[target, rows[i]]] += weights[rows[i]]
        total, squares = own.sum(), (own * own).sum()
        # A pure node has no better children; of others, those with an advantage beyond rounding.
        best, feature, cut, found = squares / total + 1e-9 * total, -1, 0, 0
        for f in range(others if total >= 2 * least and level < depth else 0):
            other = f + int(rng.random() * (others - f))
            splitting[f], splitting[other] = splitting[other], splitting[f]
            u = splitting[f]
            counts[: sizes[u], : states + 1] = 0.0
            for i in range(begin, stop):
                state, weight = codes[u, rows[i]], weights[rows[i]]
                counts[state, codes[target, rows[i]]] += weight
                counts[state, states] += weight
            value, place = best_cut(space, sizes[u], own, states, least)
            if value > best:
                best, feature, cut = value, u, place
            found += place >= 0
            if found >= tried:
                break
        for c in range(states):
            prior = trees.shares[trees.place[parent] + c] if parent >= 0 else 1.0 / states
            own[c] = (own[c] + smoothing * prior) / (total + smoothing)
        trees.feature[node], trees.cut[node], trees.child[node] = feature, cut, nodes
        if feature < 0:
            continue
        low, high = begin, stop
        while low < high:
            if goes_left(codes[feature, rows[low]], cut, sizes[feature]):
                low += 1
            else:
                high -= 1
                rows[low], rows[high] = rows[high], rows[low]
        for side in range(2):
            top += 1
            waiting[top, 0], waiting[top, 3], waiting[top, 4] = nodes, level + 1, node
            waiting[top, 1], waiting[top, 2] = (low, stop) if side else (begin, low)
            trees.place[nodes] = end
            nodes += 1
            end += states
    return nodes, end


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
        The forest of a variable.
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
                found[i, c] += trees.shares[trees.place[node] + c] / len(roots)
