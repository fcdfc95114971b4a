r"""Naive Bayes with a latent component: all variables independent given a variable never observed.

.. math:: P(x) = \sum_c P(c) \prod_i P(x_i \mid c)        (THESIS, section 3.4)

The number of components grows (THESIS, Algorithm 4.5, after Lowd and Domingos 2005): new ones are
centred at rows that are drawn, EM fits all, components of hardly any weight go. Missing cells are
left out of the product. With ``alpha`` EM maximises the log-likelihood plus ``alpha`` times the
sum of all log parameters, which never falls; this is monitored.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from exactlearn._runtime.arguments import checked_arguments, instance_of, number_or_none
from exactlearn._runtime.ascent import ascend
from exactlearn._runtime.control import SearchControl
from exactlearn.bayesnet.complete_data import check_alpha
from exactlearn.bayesnet.network import BayesianNetwork, draw
from exactlearn.bayesnet.smoothing_choice import (
    SmoothingChoice,
    SmoothingParameters,
    divided,
    maximised,
)
from exactlearn.data.dataset import Dataset, aligned_codes
from exactlearn.data.labels import NamedVariables
from exactlearn.data.trade_off import bic_lambda, check_lambda
from exactlearn.errors import CheckError, DataError

SMOOTHING = 0.1
"""Pseudo-count of every parameter."""

ITERATIONS, TOLERANCE = 50, 1e-4
"""Most iterations of EM for each number of components, and the gain per row that ends it."""

LEAST_WEIGHT = 0.001
"""Components of less probability are left out (THESIS, section 4.4.2)."""

MOST_COMPONENTS, STALL_LIMIT = 400, 2
"""Where growth ends, and after how many numbers of components without a better score."""

SUM_TOLERANCE = 1e-9
"""Rounding of the sum of a distribution."""

_IMPOSSIBLE = -1e200
"""In place of the logarithm of 0, which a product with 0 cannot have."""

_SHARE = 0.1 / 1.1
"""Weight of the marginal distribution in a new component (THESIS, 4.35)."""


@dataclass(frozen=True, eq=False)
class NaiveBayes(NamedVariables):
    """A naive Bayes model with a latent component.

    Parameters
    ----------
    names, states
        Of the variables.
    prior
        Probability of each component, shape (components,).
    parameters
        Probability of each state given each component, the states of all variables one after the
        other, shape (states, components).
    """

    names: tuple[str, ...]
    states: tuple[tuple[str, ...], ...]
    prior: NDArray[np.float64]
    parameters: NDArray[np.float64]

    @property
    def n_components(self) -> int:
        """Number of components."""
        return len(self.prior)

    @cached_property
    def effective_size(self) -> int:
        """What belief updating costs: components x free states, THESIS (3.59)."""
        return self.n_components * sum(len(s) - 1 for s in self.states)

    @property
    def representational_size(self) -> int:
        """Number of free parameters, THESIS (3.60)."""
        return self.n_components - 1 + self.effective_size

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Row of ``parameters`` with the first state of each variable, shape (variables,)."""
        return np.cumsum(self.cardinalities) - self.cardinalities

    def parameters_of(self, variable: int) -> NDArray[np.float64]:
        """Return the distributions of a variable, shape (states, components)."""
        first = int(self.starts[variable])
        return self.parameters[first : first + len(self.states[variable])]

    def check(self) -> None:
        """Check that the arrays form a naive Bayes model.

        Raises
        ------
        CheckError
            If a shape is wrong, or a number is no probability; or if the prior, or a variable's
            distribution in some component, does not sum to one within 1e-9.
        """
        k, total = len(self.prior), int(self.cardinalities.sum())
        if self.prior.shape != (k,) or k == 0 or self.parameters.shape != (total, k):
            raise CheckError(
                f"expected a prior of one component or more, and parameters of shape ({total},"
                f" components), found shapes {self.prior.shape} and {self.parameters.shape}"
            )
        if not (np.isfinite(self.parameters).all() and self.parameters.min() >= 0):
            raise CheckError("a parameter is not a number of 0 or more")
        if not (self.prior.min() >= 0 and abs(self.prior.sum() - 1) <= SUM_TOLERANCE):
            raise CheckError(f"the prior has the sum {self.prior.sum()}, expected 1")
        totals = np.add.reduceat(self.parameters, self.starts)
        wrong = np.argwhere(np.abs(totals - 1) > SUM_TOLERANCE)
        if len(wrong):
            v, component = wrong[0].tolist()
            raise CheckError(
                f"the parameters of {self.names[v]!r} in component {component} sum to"
                f" {totals[v, component]}, expected 1"
            )

    def reordered(self, like: NamedVariables) -> "NaiveBayes":
        """Return the model with the variables and states of another model in its order.

        Raises
        ------
        OptionError
            When the models do not have the same variables and states.
        """
        if (self.names, self.states) == (like.names, like.states):
            return self
        places, states = self.places(like)
        parts = [self.parameters_of(v)[own] for v, own in zip(places, states, strict=True)]
        return NaiveBayes(like.names, like.states, self.prior, np.vstack(parts))

    def to_network(self) -> BayesianNetwork:
        """Return the network whose last variable is the component, the parent of all others."""
        n = self.n_variables
        component = "component"
        while component in self.names:
            component += "_"
        tables = (np.ascontiguousarray(self.parameters_of(v).T) for v in range(n))
        return BayesianNetwork(
            (*self.names, component),
            (*self.states, tuple(map(str, range(self.n_components)))),
            (*[(n,)] * n, ()),
            (*tables, self.prior),
        )

    def sample(self, size: int, rng: np.random.Generator) -> Dataset:
        """Draw rows.

        Parameters
        ----------
        size
            Number of rows.
        rng
            Source of randomness.
        """
        component = rng.choice(self.n_components, size, p=self.prior / self.prior.sum())
        codes = np.empty((self.n_variables, size), np.int16)
        for v in range(self.n_variables):
            cumulative = np.ascontiguousarray(self.parameters_of(v).cumsum(axis=0).T)
            draw(cumulative, component, rng.random(size), codes[v])
        return Dataset(codes.T, self.names, self.states)

    @checked_arguments()
    def log_likelihood_rows(self, dataset: Dataset) -> NDArray[np.float64]:
        """Return the log-likelihood of the observed cells of each row, shape (rows,).

        Raises
        ------
        DataError
            If the table lacks a variable of the model, or has a state that it does not know.
        """
        cells = _one_hot(aligned_codes(dataset, self.names, self.states), self.states)
        rows: NDArray[np.float64] = logsumexp(_joint(cells, self.prior, self.parameters), axis=1)
        return np.where(rows > _IMPOSSIBLE / 2, rows, -np.inf)

    def posterior(self, weights: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        """Return posterior marginals, and the logarithm of the expected product of the weights.

        THESIS, equation (3.58).

        Parameters
        ----------
        weights
            What the evidence weighs each state of each variable with, shape (states,); 1 without.

        Returns
        -------
        posterior, log_probability
            Shape (states,), all zero where the evidence is impossible; and ``-inf`` then.
        """
        components, shares, log_probability = self.conditional(weights)
        return shares @ components, log_probability

    def row_posteriors(
        self, codes: NDArray[np.int16]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return posterior marginals and the log-likelihood of the observed cells of each row.

        Parameters
        ----------
        codes
            In the model's order, -1 for a missing cell; shape (rows, variables).

        Returns
        -------
        posteriors, log_likelihoods
            Shape (rows, states), an observed cell with 1 at its state; and shape (rows,), ``-inf``
            for an impossible row.
        """
        cells = _one_hot(codes, self.states)
        joint = _joint(cells, self.prior, self.parameters)
        logs = logsumexp(joint, axis=1)
        posteriors = np.exp(joint - logs[:, None]) @ self.parameters.T
        observed = np.repeat(np.add.reduceat(cells, self.starts, axis=1), self.cardinalities, 1) > 0
        posteriors[observed] = cells[observed]
        return posteriors, np.where(logs > _IMPOSSIBLE / 2, logs, -np.inf)

    def joint(
        self, variables: Sequence[int], weights: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], float]:
        """Return the joint posterior of some variables, and the same logarithm as `posterior`.

        THESIS, equation (3.57): a product of two matrices, of the configurations of each half of
        the variables.

        Parameters
        ----------
        variables
            Indices, each once; one axis each.
        weights
            As for `posterior`.
        """
        components, shares, log_probability = self.conditional(weights)
        halves = [np.ones((1, self.n_components)), components[None]]
        for place, v in enumerate(variables):
            half, first = 2 * place // len(variables), int(self.starts[v])
            own = shares[first : first + len(self.states[v])]
            halves[half] = (halves[half][:, None] * own).reshape(-1, self.n_components)
        return (halves[0] @ halves[1].T).reshape(self.cardinalities[variables]), log_probability

    def conditional(
        self, weights: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """Return the model given evidence: the prior, the parameters, and the logarithm.

        Parameters
        ----------
        weights
            As for `posterior`, which the logarithm is that of as well; the prior is all zero where
            the evidence is impossible.
        """
        weighted = weights[:, None] * self.parameters
        masses = np.add.reduceat(weighted, self.starts)
        with np.errstate(divide="ignore"):
            logs = np.log(self.prior) + np.log(masses).sum(axis=0)
        log_probability = float(logsumexp(logs))
        totals = np.repeat(masses, self.cardinalities, axis=0)
        shares = np.divide(weighted, totals, out=np.zeros_like(weighted), where=totals > 0)
        if log_probability == -np.inf:
            return np.zeros(self.n_components), shares, log_probability
        return np.exp(logs - log_probability), shares, log_probability


COMPONENT_SMOOTHING = SmoothingParameters(largest=10.0, grid=1, tolerance=0.1)
"""A coarse search: each pseudo-count takes EM in each fold."""


@checked_arguments(
    model=instance_of(NaiveBayes, "a NaiveBayes", "learn one with learn_naive_bayes")
)
def choose_component_smoothing(
    model: NaiveBayes,
    dataset: Dataset,
    *,
    seed: int = 0,
    parameters: SmoothingParameters = COMPONENT_SMOOTHING,
) -> SmoothingChoice:
    """Return the pseudo-count under which a number of components predicts held-out rows best.

    The component is never observed, so that EM runs in each fold for each pseudo-count, from the
    parameters of the model.

    Parameters
    ----------
    model
        Its number of components, and where EM begins.
    dataset
        Rows, possibly weighted and with missing cells; matched by names.
    seed
        Of the division into folds.
    parameters
        Folds and tuning constants.

    Raises
    ------
    DataError
        If there are fewer than two rows, or the table does not fit the model.
    OptionError
        If there are fewer than two folds.
    """
    codes = aligned_codes(dataset, model.names, model.states)
    table = Dataset(codes, model.names, model.states, dataset.weights)
    cells, total = _one_hot(codes, model.states), table.row_weights
    folds = divided(total, parameters.folds, seed)
    held_out = [
        np.bincount(folds.rows[own], folds.weights[own], len(codes)).astype(np.float64)
        for own in (folds.fold == k for k in range(folds.n))
    ]

    def validated(alpha: float) -> float:
        value = 0.0
        for weights in held_out:
            problem = _ComponentEM(cells, total - weights, table, alpha)
            fitted = problem.fitted(model.prior, model.parameters)
            value += float(weights @ logsumexp(_joint(cells, *fitted), axis=1))
        return value

    def score(alphas: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.array([validated(float(alpha)) for alpha in alphas])

    return maximised(score, folds.n, parameters)


@checked_arguments(alpha=number_or_none)
def learn_naive_bayes(
    dataset: Dataset,
    *,
    lambda_: float | None = None,
    alpha: float | None = SMOOTHING,
    seed: int = 0,
) -> NaiveBayes:
    """Return the model of the best score among growing numbers of components.

    The score is S = (1-lambda) L - lambda x free parameters (PDG-SEM, section 6.2.1); growth ends
    when it has not risen for some numbers of components.

    Parameters
    ----------
    dataset
        Rows, possibly weighted and with missing cells.
    lambda_
        Weight of the size, from 0 to 1; left out, that of BIC.
    alpha
        Pseudo-count of every parameter; ``None``: chosen by cross-validation for the number of
        components found with the default.
    seed
        Of the rows that are drawn, and of the folds.

    Raises
    ------
    DataError
        If there are no rows of positive weight.
    OptionError
        If lambda or ``alpha`` is wrong.

    Examples
    --------
    >>> rows = np.array([[0, 0, 0], [1, 1, 1]] * 50)
    >>> model = learn_naive_bayes(Dataset(rows, ("a", "b", "c"), (("n", "y"),) * 3))
    >>> model.n_components, model.representational_size
    (2, 7)
    """
    weight = bic_lambda(dataset.row_weights.sum()) if lambda_ is None else lambda_
    check_lambda(weight)
    best, best_score, stalled = None, -np.inf, 0
    first = SMOOTHING if alpha is None else alpha
    for model in naive_bayes_models(dataset, alpha=first, seed=seed):
        likelihood = dataset.total(model.log_likelihood_rows(dataset))
        score = (1 - weight) * likelihood - weight * model.representational_size
        stalled = 0 if score > best_score else stalled + 1
        if score > best_score:
            best, best_score = model, score
        if stalled == STALL_LIMIT:
            break
    assert best is not None
    if alpha is not None:
        return best
    chosen = choose_component_smoothing(best, dataset, seed=seed).alpha
    problem = _ComponentEM(
        _one_hot(dataset.codes, dataset.states), dataset.row_weights, dataset, chosen
    )
    return NaiveBayes(best.names, best.states, *problem.fitted(best.prior, best.parameters))


def naive_bayes_models(
    dataset: Dataset, *, alpha: float = SMOOTHING, seed: int = 0
) -> Iterator[NaiveBayes]:
    """Yield models with more and more components (THESIS, Algorithm 4.5).

    Raises
    ------
    DataError
        If there are no rows of positive weight.
    OptionError
        If ``alpha`` is negative or infinite.
    """
    check_alpha(alpha)
    weights = np.asarray(dataset.row_weights, np.float64)
    if not weights.sum() > 0:
        raise DataError("the table has no rows of positive weight: nothing to learn from")
    rng = np.random.default_rng(seed)
    problem = _ComponentEM(_one_hot(dataset.codes, dataset.states), weights, dataset, alpha)
    prior, parameters = np.ones(1), problem.marginal[:, None]
    wanted = 1
    while wanted <= MOST_COMPONENTS:
        fitted = problem.fitted(prior, parameters)
        yield NaiveBayes(dataset.names, dataset.states, *fitted)
        prior, parameters = fitted
        kept = prior > LEAST_WEIGHT
        prior, parameters = prior[kept], parameters[:, kept]
        # Half as many again, so that large numbers are reached in few steps.
        wanted += max(1, wanted // 2)
        new = max(1, wanted - len(prior))
        drawn = problem.centred(rng.choice(len(weights), new, p=weights / weights.sum()))
        scale = len(prior) / (len(prior) + new)
        prior = np.append(prior / prior.sum() * scale, np.full(new, (1 - scale) / new))
        parameters = np.hstack((parameters, drawn))


class _State(NamedTuple):
    iteration: int
    prior: NDArray[np.float64]
    parameters: NDArray[np.float64]
    counts: NDArray[np.float64]
    objective: float


class _ComponentEM:
    """EM for a fixed number of components (THESIS, 4.31 to 4.34; 4.32 as corrected)."""

    def __init__(
        self,
        cells: NDArray[np.float64],
        weights: NDArray[np.float64],
        dataset: Dataset,
        alpha: float,
    ) -> None:
        self._cells, self._weights, self._alpha = cells, weights, alpha
        self._starts = np.cumsum([0, *(len(s) for s in dataset.states)])[:-1]
        self._sizes = [len(s) for s in dataset.states]
        self.marginal = self._normalised((weights @ cells)[:, None] + max(alpha, 1e-9))[:, 0]

    def centred(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return components around rows (THESIS, 4.35); a missing cell has the marginal."""
        own = self._cells[rows].T
        known = np.repeat(np.add.reduceat(own, self._starts), self._sizes, axis=0) > 0
        mixed = (1 - _SHARE) * own + _SHARE * self.marginal[:, None]
        return np.where(known, mixed, self.marginal[:, None])

    def fitted(
        self, prior: NDArray[np.float64], parameters: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return prior and parameters after EM."""
        gain = TOLERANCE * self._weights.sum()
        first = self._expect(0, prior, parameters)
        control = SearchControl.within()
        last, _ = ascend(first, self._step, iterations=ITERATIONS, least_gain=gain, control=control)
        return last.prior, last.parameters

    def _step(self, state: _State) -> _State:
        k = len(state.prior)
        raised = state.counts + self._alpha
        prior = raised[0] / raised[0].sum()
        parameters = self._normalised(raised[1:])
        return self._expect(state.iteration + 1, prior, parameters.reshape(-1, k))

    def _expect(
        self, iteration: int, prior: NDArray[np.float64], parameters: NDArray[np.float64]
    ) -> _State:
        joint = _joint(self._cells, prior, parameters)
        rows = logsumexp(joint, axis=1)
        shares = np.exp(joint - rows[:, None]) * self._weights[:, None]
        counts = np.vstack((shares.sum(axis=0), self._cells.T @ shares))
        penalty = 0.0
        if self._alpha:
            penalty = self._alpha * float(np.log(prior).sum() + np.log(parameters).sum())
        objective = float(self._weights @ rows) + penalty
        return _State(iteration, prior, parameters, counts, objective)

    def _normalised(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Divide by the sum over the states of each variable; where it is 0 all are equal."""
        totals = np.repeat(np.add.reduceat(counts, self._starts), self._sizes, axis=0)
        uniform = np.repeat(1 / np.array(self._sizes), self._sizes)[:, None]
        shares: NDArray[np.float64] = np.where(
            totals > 0, counts / np.where(totals > 0, totals, 1.0), uniform
        )
        return shares


def _joint(
    cells: NDArray[np.float64], prior: NDArray[np.float64], parameters: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return log-probabilities of the observed cells and each component, (rows, components)."""
    with np.errstate(divide="ignore"):
        logs = np.maximum(np.log(parameters), _IMPOSSIBLE), np.log(prior)
    joint: NDArray[np.float64] = cells @ logs[0] + logs[1]
    return joint


def _one_hot(
    codes: NDArray[np.integer], states: tuple[tuple[str, ...], ...]
) -> NDArray[np.float64]:
    """Return a 1 for each observed cell's state, shape (rows, states of all variables)."""
    parts = [codes[:, [v]] == np.arange(len(s)) for v, s in enumerate(states)]
    return np.hstack(parts).astype(np.float64)
