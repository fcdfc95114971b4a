r"""Naive Bayes with a latent component: all variables independent given a variable never observed.

.. math:: P(x) = \sum_c P(c) \prod_i P(x_i \mid c)        (THESIS, section 3.4)

Missing cells are left out of the product. The parameters are fitted by
:mod:`~exactlearn.bayesnet.component_em`, the number of components is learnt by
:mod:`~exactlearn.bayesnet.component_growth`.

Rows multiply probabilities, looked up by their codes, and need a logarithm only for each row.
Factors are at most 1, so that a product that underflows does not matter where the sum of all is
much larger than the smallest float (docs/theory/naive_bayes.md); other rows are taken in
logarithms. Rows are cut into pieces of one size, so that sums do not depend on the number of
threads.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import checked_arguments, instance_of
from exactlearn._runtime.display import ByValue
from exactlearn._runtime.executors import in_order, n_threads
from exactlearn._runtime.kernel import in_place_kernel
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.codes import NamedVariables
from exactlearn.data.dataset import Dataset, DatasetLike, aligned_codes
from exactlearn.errors import CheckError, DataError

PIECE = 1024
"""Rows that a thread takes at a time."""

LEAST = 1e-250
"""A row of less probability is taken in logarithms."""

Floats = NDArray[np.float64]
Codes = NDArray[np.int16]

T = TypeVar("T")


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
    prior: Floats
    parameters: Floats

    @cached_property
    def table(self) -> Floats:
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

    def parameters_of(self, variable: int) -> Floats:
        """Return the distributions of a variable, shape (states, components)."""
        first = int(self.starts[variable])
        return self.parameters[first : first + len(self.states[variable])]

    def check(self) -> None:
        """Check that the arrays form a naive Bayes model.

        Raises
        ------
        CheckError
            If a shape is wrong, or a number is no probability; or if the prior, or a variable's
            distribution in some component, does not sum to one within 1e-6.
        """
        k, total = len(self.prior), int(self.cardinalities.sum())
        if self.prior.shape != (k,) or k == 0 or self.parameters.shape != (total, k):
            raise CheckError(
                f"expected a prior of one component or more, and parameters of shape ({total},"
                f" components), found shapes {self.prior.shape} and {self.parameters.shape}"
            )
        try:
            self.to_network()
        except DataError as error:
            raise CheckError(str(error)) from None

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
        rows = self.to_network().sample(size, rng)
        return Dataset(rows.codes[:, :-1], self.names, self.states)

    @checked_arguments()
    def log_likelihood_rows(self, dataset: DatasetLike) -> Floats:
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
        pieces = in_pieces(lambda rows: shares_of(self.table, self.starts, codes[rows])[1], codes)
        return np.concatenate([np.empty(0), *pieces])

    def row_posteriors(self, codes: Codes) -> tuple[Floats, Floats]:
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
        shares, logs = shares_of(self.table, self.starts, codes)
        posteriors = shares @ self.parameters.T
        for v, first in enumerate(self.starts.tolist()):
            seen, r = codes[:, v] >= 0, len(self.states[v])
            posteriors[seen, first : first + r] = np.eye(r)[codes[seen, v]]
        return posteriors, logs


as_naive_bayes = instance_of(NaiveBayes, "a NaiveBayes", "learn one with learn_naive_bayes")


def in_pieces(work: Callable[[slice], T], codes: Codes) -> Iterator[T]:
    """Yield what some work returns for each piece of the rows, in their order; on all threads."""
    return in_order(
        lambda piece, _: work(slice(piece * PIECE, (piece + 1) * PIECE)),
        -(-len(codes) // PIECE),
        lambda: None,
        n_threads(None),
    )


def shares_of(table: Floats, starts: NDArray[np.int64], codes: Codes) -> tuple[Floats, Floats]:
    """Return P(component | row), and the log-likelihood of the observed cells of each row.

    Parameters
    ----------
    table
        The probability of each component, and below it those of the states of all variables given
        it, shape (1 + states, components).
    starts
        Row below the first with the first state of each variable.
    codes
        Shape (rows, variables), -1 for a missing cell.

    Returns
    -------
    shares, log_likelihoods
        Shape (rows, components), zeros for an impossible row; and (rows,), ``-inf`` there.
    """
    shares = np.empty((len(codes), table.shape[1]))
    multiply_rows(table, starts, codes, shares)
    totals = shares.sum(axis=1)
    small = np.flatnonzero(totals < LEAST)
    with np.errstate(divide="ignore"):
        if len(small):
            logarithms = np.log(np.vstack((table, np.ones(table.shape[1]))))
            places = np.where(codes[small] < 0, len(table), 1 + starts + codes[small])
            joint = logarithms[0] + sum(logarithms[column] for column in places.T)
            largest = np.maximum(joint.max(axis=1, keepdims=True), np.finfo(float).min)
            shares[small] = np.exp(joint - largest)
            totals[small] = shares[small].sum(axis=1)
        logs = np.log(totals)
        if len(small):
            logs[small] += largest[:, 0]
    shares /= np.where(totals > 0, totals, 1.0)[:, np.newaxis]
    return shares, logs


@in_place_kernel
def multiply_rows(table: Floats, starts: NDArray[np.int64], codes: Codes, products: Floats) -> None:
    """Write the probability of each row and component, shape (rows, components)."""
    k = table.shape[1]
    for i in range(len(codes)):
        for c in range(k):
            products[i, c] = table[0, c]
        for v in range(len(starts)):
            if codes[i, v] >= 0:
                row = 1 + starts[v] + codes[i, v]
                for c in range(k):
                    products[i, c] *= table[row, c]


@in_place_kernel
def count_rows(shares: Floats, starts: NDArray[np.int64], codes: Codes, counts: Floats) -> None:
    """Add the share of each row in each component to the counts of the row's states."""
    k = shares.shape[1]
    for i in range(len(codes)):
        for v in range(len(starts)):
            if codes[i, v] >= 0:
                row = 1 + starts[v] + codes[i, v]
                for c in range(k):
                    counts[row, c] += shares[i, c]
