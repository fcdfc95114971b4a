r"""Chained multinomial logistic regressions: every variable given all others, with a ridge penalty.

For the variable v with the states k, and the shares x of the states of all other variables (the
indicators of observed cells, a distribution for missing ones),

.. math:: P(v = k \mid x) = \exp(a_k + w_k x) / \sum_l \exp(a_l + w_l x)

minimises :math:`-\sum_i \log P(v_i \mid x_i) + \frac12 \sum_u \lambda_{vu} \|w_u\|^2` over the rows
that observe v; :math:`w_u` are the weights of the states of the variable u, and intercepts a are
free. With one penalty for all this is the regression of scikit-learn's ``LogisticRegression``.

*Penalties.* They descend along a path, from strong to weak, each fit starting from the one before.
Those of a strong dependence are lowered and those of a weak one raised, as the weights of the fit
before tell (iteratively reweighted ridge regression; Grandvalet 1998, "Least absolute shrinkage is
equivalent to quadratic penalization"). Where each variable's path ends is chosen by the
log-likelihood of observed cells that are left out by folds.

*Missing predictors.* In a first fit they have the shares of the observed cells of their variable.
These regressions then tell them apart, and a second fit uses what they say of each missing cell
without the variable that is to be predicted: otherwise its own value would come back to it through
its neighbours in the rows that observe it, but not in those that do not.

*Solver.* All regressions are minimised side by side, so that each step is two products of
matrices: L-BFGS (Liu and Nocedal 1989), whose first matrix is the inverse of the penalised Gram
matrix of the indicators, which bounds the curvature (Boehning 1992, "Multinomial logistic
regression algorithm"), with a step for each variable.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from threadpoolctl import threadpool_limits

from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn.data.codes import MISSING
from exactlearn.data.dataset import Dataset
from exactlearn.imputation.imputed import cell_probabilities, first_states, one_hot
from exactlearn.imputation.turns import in_turns, mean_shares, with_shares

Matrix = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class LogisticParameters:
    """Constants of the regressions.

    Parameters
    ----------
    penalties
        Path of the ridge penalties, descending.
    folds
        Parts of the observed cells that are left out by turns to choose penalties.
    choosing_rows
        Most rows that penalties are chosen by.
    adaptivity
        Power of the mean squared weight of a variable, relative to that of all, that divides its
        penalty; 0 for the same penalty everywhere.
    adapted_at_most
        Largest factor by which penalties of variables deviate from the mean one.
    pseudo_count
        Weight of a row of average shares in which all states are equally probable.
    iterations
        Most iterations for one penalty of the path.
    gradient
        Largest derivative, for one row, that ends them.
    history
        Pairs of steps and changes of the gradient that L-BFGS keeps.
    curvature
        Factor of the Gram matrix in the first matrix of L-BFGS.
    rounds
        Most rounds over all variables when the missing cells of a table are predicted.
    tolerance
        Largest change of a probability that ends them.
    """

    penalties: tuple[float, ...] = (16.0, 4.0, 1.0)
    folds: int = 2
    choosing_rows: int = 2000
    adaptivity: float = 0.5
    adapted_at_most: float = 8.0
    pseudo_count: float = 1.0
    iterations: int = 8
    gradient: float = 1e-5
    history: int = 6
    curvature: float = 0.15
    rounds: int = 2
    tolerance: float = 1e-3


PARAMETERS = LogisticParameters()


@dataclass(eq=False)
class _Regressions:
    """The regressions of some variables on the same shares, minimised side by side.

    Parameters
    ----------
    design
        Shares of all states and a last column of ones, shape (rows, states + 1).
    seen
        Weight of each row where it has a state, else zero, shape (states of these variables, rows).
    sizes
        Number of states of each of these variables.
    own
        1 for the weights of other variables' states and intercepts, 0 for those of the variable's
        own states, shape (states of these variables, states + 1).
    inverse
        Approximate inverse of the second derivative, shape (states + 1, states + 1).
    """

    design: Matrix
    seen: Matrix
    sizes: NDArray[np.int64]
    own: Matrix
    inverse: Matrix

    @classmethod
    def of(cls, dataset: Dataset, means: Matrix, how: LogisticParameters) -> Self:
        """Return the regressions of all variables, in which missing cells have the mean shares.

        The last row has the mean shares only, and equally probable states.
        """
        sizes, weights = dataset.cardinalities, dataset.row_weights
        shares = np.vstack([with_shares(dataset, means), means])
        design = np.column_stack([shares, np.ones(len(shares))])
        seen = np.nan_to_num(one_hot(dataset)) * weights[:, None]
        seen = np.vstack([seen, (how.pseudo_count / sizes).repeat(sizes)]).T
        variable = np.arange(len(sizes)).repeat(sizes)
        own = (np.append(variable, -1) != variable[:, None]).astype(np.float64)
        ridge = np.append(np.full(len(means), how.penalties[len(how.penalties) // 2]), 1e-3)
        gram = design[:-1].T @ (design[:-1] * weights[:, None])
        inverse = np.linalg.inv(how.curvature * gram + np.diag(ridge))
        return cls(design, np.ascontiguousarray(seen), sizes, own, inverse.astype(np.float64))

    def __post_init__(self) -> None:
        """Lay the states of each variable out one after the other."""
        self.starts = np.cumsum(self.sizes) - self.sizes
        self.totals = self.sums(self.seen)

    def sums(self, values: Matrix) -> Matrix:
        """Return the sum over each variable's states, shape (variables, ...)."""
        found: Matrix = np.add.reduceat(values, self.starts)
        return found

    def spread(self, values: Matrix) -> Matrix:
        """Return each variable's value for all its states, shape (states, ...)."""
        return values.repeat(self.sizes, axis=0)

    def predicted(self, scores: Matrix) -> tuple[Matrix, Matrix]:
        """Return the probabilities of the states by their scores, and the log of their sum."""
        largest = np.maximum.reduceat(scores, self.starts)
        found = scores - self.spread(largest)
        np.exp(found, out=found)
        totals = self.sums(found)
        found /= self.spread(totals)
        return found, largest + np.log(totals)

    def loss(self, scores: Matrix) -> tuple[Matrix, Matrix]:
        """Return the negative log-likelihood of each variable, and the probabilities."""
        found, logs = self.predicted(scores)
        return (self.totals * logs).sum(1) - self.sums((self.seen * scores).sum(1)), found

    def start(self) -> Matrix:
        """Return the weights that predict the shares of the states in the rows that count."""
        weights = np.zeros(self.own.shape)
        weights[:, -1] = np.log(np.maximum(self.seen.sum(1), 1e-3))
        return weights

    def minimise(
        self, weights: Matrix, penalty: Matrix, control: SearchControl, how: LogisticParameters
    ) -> Matrix:
        """Return the weights after some iterations of L-BFGS."""

        def slope(weights: Matrix, found: Matrix) -> Matrix:
            found *= self.spread(self.totals)
            found -= self.seen
            return (found @ self.design + weights * penalty) * self.own

        def cost(weights: Matrix, scores: Matrix) -> tuple[Matrix, Matrix]:
            loss, found = self.loss(scores)
            return loss + self.sums((penalty * weights * weights).sum(1)) / 2, found

        small = how.gradient * self.totals.sum(1).max()
        scores = weights @ self.design.T
        value, found = cost(weights, scores)
        gradient = slope(weights, found)
        scale = np.ones(len(self.sizes))
        history: list[tuple[Matrix, Matrix, Matrix]] = []
        for _ in range(how.iterations):
            if control.is_over or abs(gradient).max() <= small:
                break
            direction = self._direction(gradient, history, scale)
            decrease = self.sums((gradient * direction).sum(1))
            ahead = direction @ self.design.T
            step = np.ones(len(self.sizes))
            while True:
                long = self.spread(step)[:, None]
                new, new_scores = weights - long * direction, scores - long * ahead
                new_value, found = cost(new, new_scores)
                bad = new_value > value - 1e-4 * step * decrease + 1e-10 * abs(value)
                if not bad.any() or step.min() < 1e-9:
                    break
                step[bad] /= 2
            new_gradient = slope(new, found)
            moved, change = new - weights, new_gradient - gradient
            product = self.sums((moved * change).sum(1))
            good = product > 1e-12
            curved = self.sums((change * (change @ self.inverse)).sum(1))
            scale = np.where(good, product / np.where(good, curved, 1), scale)
            history.append((moved, change, np.where(good, 1 / np.where(good, product, 1), 0)))
            del history[: -how.history]
            weights, scores, value, gradient = new, new_scores, new_value, new_gradient
        return weights

    def _direction(
        self, gradient: Matrix, history: list[tuple[Matrix, Matrix, Matrix]], scale: Matrix
    ) -> Matrix:
        """Return the quasi-Newton direction, by the two-loop recursion for each variable."""
        rest, factors = gradient.copy(), []
        for moved, change, inverse in reversed(history):
            factors.append(inverse * self.sums((moved * rest).sum(1)))
            rest -= self.spread(factors[-1])[:, None] * change
        found: Matrix = (rest @ self.inverse) * self.own * self.spread(scale)[:, None]
        for moved, change, inverse in history:
            factor = factors.pop() - inverse * self.sums((change * found).sum(1))
            found += self.spread(factor)[:, None] * moved
        return found


@dataclass(frozen=True, eq=False)
class ChainedLogistic:
    """A multinomial logistic regression of each variable on all others.

    Parameters
    ----------
    shares
        Share of each state among the observed cells of its variable, shape (states,).
    weights
        Of each state by each state of the other variables, with the intercept last, shape (states,
        states + 1).
    parameters
        Constants of the prediction.
    """

    shares: Matrix
    weights: Matrix
    parameters: LogisticParameters = PARAMETERS

    def posterior(self, table: Dataset) -> Matrix:
        """Return the distribution of each missing cell, by the regressions in turns.

        Parameters
        ----------
        table
            As for :class:`~exactlearn.imputation.imputed.CellModel`, as is what is returned.
        """
        first = first_states(table.cardinalities)

        def renew(shares: Matrix, v: int, rows: NDArray[np.bool_]) -> Matrix:
            own = self.weights[first[v] : first[v + 1]]
            found: Matrix = softmax(shares[rows] @ own[:, :-1].T + own[:, -1], axis=1)
            return found

        shares, how = with_shares(table, self.shares), self.parameters
        with threadpool_limits(1):
            in_turns(table, shares, renew, rounds=how.rounds, tolerance=how.tolerance)
        return cell_probabilities(shares, table)


def fit_logistic(
    dataset: Dataset,
    *,
    seed: int = 0,
    control: SearchControl = UNLIMITED,
    parameters: LogisticParameters = PARAMETERS,
) -> ChainedLogistic:
    """Fit a multinomial logistic regression of each variable on all others.

    Parameters
    ----------
    dataset
        Table with or without missing cells; weights of rows count.
    seed
        Divides the cells that penalties are chosen by.
    control
        Looked at between two iterations; the answer is then the last one.
    parameters
        Constants.

    Examples
    --------
    >>> codes = np.array([[0, 0], [1, 1]] * 20 + [[1, -1]])
    >>> table = Dataset(codes, ("a", "b"), (("no", "yes"),) * 2)
    >>> fit_logistic(table).posterior(table).round(1).tolist()
    [[0.1, 0.9]]
    """
    # The matrices are small: on two threads their products take several times as long.
    with threadpool_limits(1):
        means = mean_shares(dataset)
        every = _Regressions.of(dataset, means, parameters)
        least = _chosen_penalties(every, seed, control, parameters)
        *_, (weights, penalty) = _path(every, least, control, parameters)
        if not dataset.is_complete:
            weights = _second_fit(dataset, every, weights, penalty, control, parameters)
    return ChainedLogistic(means, weights, parameters)


def _chosen_penalties(
    every: _Regressions, seed: int, control: SearchControl, how: LogisticParameters
) -> Matrix:
    """Return the penalty of the path that predicts left-out cells best, for each variable."""
    rng = np.random.default_rng(seed)
    rows = len(every.design) - 1
    if rows > how.choosing_rows:
        some = np.append(rng.choice(rows, how.choosing_rows, replace=False), rows)
        every = replace(every, design=every.design[some], seen=every.seen[:, some])
    fold = rng.integers(how.folds, size=every.totals.shape)
    fold[:, -1] = -1
    lost = np.zeros((len(every.sizes), 1 + len(how.penalties)))
    for k in range(how.folds if len(how.penalties) > 1 else 0):
        out = every.spread((fold == k).astype(np.float64))
        kept, left_out = (
            replace(every, seen=every.seen * (1 - out)),
            replace(every, seen=every.seen * out),
        )
        for i, (weights, _) in enumerate(_path(kept, 0.0, control, how)):
            lost[:, i] += left_out.loss(weights @ every.design.T)[0]
    best: Matrix = np.array(how.penalties)[lost[:, 1:].argmin(axis=1)]
    return best


def _path(
    fitted: _Regressions, least: Matrix | float, control: SearchControl, how: LogisticParameters
) -> Iterator[tuple[Matrix, Matrix]]:
    """Yield weights and penalties: intercepts alone, then along the path.

    It stays at a variable's least penalty.
    """
    weights, matrix = fitted.start(), np.zeros(fitted.own.shape)
    yield weights, matrix
    sizes = np.maximum(fitted.sizes - 1, 1)
    shape = np.ones((len(sizes), len(sizes)))
    for penalty in how.penalties:
        if control.is_over:
            return
        by_variable = np.maximum(penalty, least)[..., None] * shape
        matrix = np.zeros(fitted.own.shape)
        matrix[:, :-1] = fitted.spread(by_variable).repeat(fitted.sizes, axis=1)
        weights = fitted.minimise(weights, matrix, control, how)
        yield weights, matrix
        squares = np.add.reduceat(fitted.sums(weights[:, :-1] ** 2), fitted.starts, axis=1)
        squares = squares / np.outer(sizes, sizes) + 1e-9
        mean = squares.sum(axis=1, keepdims=True) / max(len(sizes) - 1, 1)
        most = how.adapted_at_most
        shape = ((mean / squares) ** how.adaptivity).clip(1 / most, most)


def _second_fit(
    dataset: Dataset,
    every: _Regressions,
    weights: Matrix,
    penalty: Matrix,
    control: SearchControl,
    how: LogisticParameters,
) -> Matrix:
    """Return the weights fitted to what the others say of missing cells without the variable."""
    missing = (dataset.codes == MISSING).repeat(every.sizes, axis=1)
    refitted = weights.copy()
    for v, (begin, size) in enumerate(zip(every.starts, every.sizes, strict=True)):
        if control.is_over:
            break
        own = slice(begin, begin + size)
        one = replace(
            every,
            design=_design_without(every, weights, missing, own),
            seen=every.seen[own],
            sizes=every.sizes[v : v + 1],
            own=every.own[own],
        )
        refitted[own] = one.minimise(weights[own], penalty[own], control, how)
    return refitted


def _design_without(
    every: _Regressions, weights: Matrix, missing: NDArray[np.bool_], own: slice
) -> Matrix:
    """Return the design with predictions of missing cells that do not use a variable's states."""
    design = every.design.copy()
    design[:, own] = design[-1, own]
    found = every.predicted(weights @ design[:-1].T)[0].T
    design[:-1, :-1][missing] = found[missing]
    return design
