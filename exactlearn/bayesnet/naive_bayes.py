r"""Naive Bayes with a latent component: all variables independent given a variable never observed.

.. math:: P(x) = \sum_c P(c) \prod_i P(x_i \mid c)        (THESIS, section 3.4)

Missing cells are left out of the product. The parameters are fitted by
:mod:`~exactlearn.bayesnet.component_em`, the number of components is learnt by
:mod:`~exactlearn.bayesnet.component_growth`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from exactlearn._runtime.arguments import checked_arguments, instance_of
from exactlearn._runtime.display import ByValue
from exactlearn.bayesnet.components import expect_components, shares_of
from exactlearn.bayesnet.network import BayesianNetwork, draw
from exactlearn.data.dataset import Dataset, DatasetLike, aligned_codes
from exactlearn.data.labels import NamedVariables
from exactlearn.errors import CheckError

SUM_TOLERANCE = 1e-9
"""Rounding of the sum of a distribution."""

BLOCK = 1024
"""Rows whose shares of the components are in memory together."""


@dataclass(frozen=True, eq=False, repr=False)
class NaiveBayes(NamedVariables, ByValue, shown="n_variables n_components effective_size"):
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

    Examples
    --------
    >>> import exactlearn as el
    >>> prior = np.array([0.25, 0.75])
    >>> parameters = np.array([[0.5, 0.1], [0.5, 0.9]])
    >>> model = el.NaiveBayes(("a",), (("no", "yes"),), prior, parameters)
    >>> model.n_components, model.effective_size, model.representational_size
    (2, 2, 3)
    >>> model.check()
    >>> model.to_network().names, model.reordered(model) == model
    (('a', 'component'), True)
    >>> model.sample(3, np.random.default_rng(0)).n_rows
    3
    """

    names: tuple[str, ...]
    states: tuple[tuple[str, ...], ...]
    prior: NDArray[np.float64]
    parameters: NDArray[np.float64]

    @cached_property
    def table(self) -> NDArray[np.float64]:
        """The prior, and below it the parameters, shape (1 + states, components)."""
        return np.vstack((self.prior, self.parameters))

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
    def log_likelihood_rows(self, dataset: DatasetLike) -> NDArray[np.float64]:
        """Return the natural logarithm of the probability of each row's observed cells.

        Parameters
        ----------
        dataset
            A :class:`~exactlearn.data.dataset.Dataset`, a frame or an array; its variables and
            states are matched by name. Missing cells are summed out, weights ignored.

        Returns
        -------
        log_likelihoods
            Shape (rows,); minus infinity for a row of probability zero.

        Raises
        ------
        DataError
            When a variable is absent, or a row has a state that the model does not know.

        Examples
        --------
        >>> import exactlearn as el
        >>> table = el.read_dataset("asia-mnar")
        >>> el.learn_naive_bayes(table, components=1).model.log_likelihood_rows(table).shape
        (100,)
        """
        codes = aligned_codes(dataset, self.names, self.states)
        found = expect_components(
            self.table, self.starts, codes, np.ones(len(codes)), counted=False
        )
        return found.log_likelihoods

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
        posteriors = np.empty((len(codes), len(self.parameters)))
        logs = np.empty(len(codes))
        for first in range(0, len(codes), BLOCK):
            rows = slice(first, first + BLOCK)
            shares, logs[rows] = shares_of(self.table, self.starts, codes[rows])
            posteriors[rows] = shares @ self.parameters.T
        for v, first in enumerate(self.starts.tolist()):
            seen, r = codes[:, v] >= 0, len(self.states[v])
            posteriors[seen, first : first + r] = np.eye(r)[codes[seen, v]]
        return posteriors, logs

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


as_naive_bayes = instance_of(NaiveBayes, "a NaiveBayes", "learn one with learn_naive_bayes")
