r"""Naive Bayes with a latent component: all variables independent given a variable never observed.

.. math:: P(x) = \sum_c P(c) \prod_i P(x_i \mid c)        (THESIS, section 3.4)

Missing cells are left out of the product. The number of components is learnt by
:mod:`~exactlearn.bayesnet.component_growth`.

The parameters are fitted by expectation maximisation (THESIS, 4.31 to 4.34). The E-step gives each
row to the components by their posterior (4.32, as corrected: the expected count of a state is a sum
over the rows that have it), the M-step takes relative expected counts, raised by ``smoothing``
each. That maximises the log-likelihood plus ``smoothing`` times the sum of all log parameters,
which never falls; this is monitored. Equal rows are merged first.

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
from scipy.special import entr

from exactlearn._runtime.argument_kinds import instance_of
from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn._runtime.display import ByValue
from exactlearn._runtime.executors import in_order, n_threads
from exactlearn._runtime.kernel import in_place_kernel
from exactlearn._runtime.number_arguments import SIZE
from exactlearn._runtime.offsets import offsets
from exactlearn.bayesnet.ascent import EMResult, EMState, fitted, is_over
from exactlearn.bayesnet.complete_data import check_smoothing
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.alignment import aligned_codes, aligned_table
from exactlearn.data.codes import NamedVariables
from exactlearn.data.counts import distinct_weighted
from exactlearn.data.dataset import Dataset, DatasetLike, require_weight
from exactlearn.data.unseen import Unseen
from exactlearn.errors import CheckError, DataError

PIECE = 1024
"""Rows that a thread takes at a time."""

LEAST = 1e-250
"""A row of less probability is taken in logarithms."""

SMOOTHING = 0.1
"""Pseudo-count of every parameter."""

Floats = NDArray[np.float64]
Codes = NDArray[np.int16]

T = TypeVar("T")


@dataclass(frozen=True, eq=False, repr=False)
class NaiveBayes(
    NamedVariables, ByValue, shown="n_variables n_components effective_size"
):
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
        """The cost of belief updating: components x free states, THESIS (3.59)."""
        return self.n_components * sum(len(s) - 1 for s in self.states)

    @property
    def component_entropies(self) -> Floats:
        """Entropy of a row given each component, in nats, shape (components,).

        By the independence of the variables given the component it is the sum of their entropies.
        THESIS, 4.4.2, splits components that are spread, of high entropy ("low" is a misprint, as
        is the missing minus of the formula there).

        Examples
        --------
        >>> model = NaiveBayes(
        ...     ("a",), (("n", "y"),), np.array([0.5, 0.5]), np.array([[0.5, 1.0], [0.5, 0.0]])
        ... )
        >>> model.component_entropies.round(3).tolist()
        [0.693, 0.0]
        """
        return np.asarray(entr(self.parameters).sum(axis=0))

    @property
    def representational_size(self) -> int:
        """Number of free parameters, THESIS (3.60)."""
        return self.n_components - 1 + self.effective_size

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Row of ``parameters`` with the first state of each variable, shape (variables,)."""
        return offsets(self.cardinalities)[:-1]

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
        k = len(self.prior)
        total = int(self.cardinalities.sum())
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
        parts = []
        for v, order in zip(places, states, strict=True):
            parts.append(self.parameters_of(v)[order])
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

    @checked_arguments(size=SIZE)
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
    def log_likelihood_rows(
        self,
        dataset: DatasetLike,
        *,
        unseen: Unseen = "refuse",
    ) -> Floats:
        """Return the natural logarithm of the probability of each row's observed cells.

        Parameters
        ----------
        dataset
            A :class:`~exactlearn.data.dataset.Dataset`, a frame or an array; its variables and
            states are matched by name. Missing cells are summed out, weights ignored.
        unseen
            What becomes of a state that the model does not know: ``"refuse"`` raises, ``"missing"``
            counts it as missing, with one warning.

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
        codes = aligned_codes(dataset, self.names, self.states, unseen)
        pieces = in_pieces(
            lambda rows: component_posteriors(self.table, self.starts, codes[rows])[1],
            codes,
        )
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
        responsibilities, logs = component_posteriors(self.table, self.starts, codes)
        posteriors = responsibilities @ self.parameters.T
        for v, first in enumerate(self.starts.tolist()):
            seen = codes[:, v] >= 0
            r = len(self.states[v])
            certain = np.eye(r)[codes[seen, v]]
            posteriors[seen, first : first + r] = certain
        return posteriors, logs


as_naive_bayes = instance_of(
    NaiveBayes, "a NaiveBayes", "learn one with learn_naive_bayes"
)


def in_pieces(work: Callable[[slice], T], codes: Codes) -> Iterator[T]:
    """Yield the results of some work for each piece of the rows, in order; on all threads."""
    return in_order(
        lambda piece, _: work(slice(piece * PIECE, (piece + 1) * PIECE)),
        -(-len(codes) // PIECE),
        lambda: None,
        n_threads(None),
    )


def component_posteriors(
    table: Floats,
    starts: NDArray[np.int64],
    codes: Codes,
) -> tuple[Floats, Floats]:
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
    responsibilities, log_likelihoods
        Shape (rows, components), zeros for an impossible row; and (rows,), ``-inf`` there.
    """
    responsibilities = np.empty((len(codes), table.shape[1]))
    multiply_rows(table, starts, codes, responsibilities)
    totals = responsibilities.sum(axis=1)
    # Rows whose products may have underflowed, in logarithms.
    small = np.flatnonzero(totals < LEAST)
    shifts = np.zeros(len(codes))
    with np.errstate(divide="ignore"):
        if len(small):
            # A missing cell has the factor one, whose row stands behind the table.
            with_ones = np.vstack((table, np.ones(table.shape[1])))
            logarithms = np.log(with_ones)
            cells = codes[small]
            places = np.where(cells < 0, len(table), 1 + starts + cells)
            joint = logarithms[0] + sum(logarithms[column] for column in places.T)
            # Divided by the largest product, so that one of them is 1.
            largest = np.maximum(joint.max(axis=1), np.finfo(float).min)
            products = np.exp(joint - largest[:, np.newaxis])
            responsibilities[small] = products
            totals[small] = products.sum(axis=1)
            shifts[small] = largest
        logs = np.log(totals) + shifts
    # Rows that no component allows stay zero.
    responsibilities /= np.where(totals > 0, totals, 1.0)[:, np.newaxis]
    return responsibilities, logs


@in_place_kernel
def multiply_rows(
    table: Floats,
    starts: NDArray[np.int64],
    codes: Codes,
    products: Floats,
) -> None:
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
def count_rows(
    responsibilities: Floats,
    starts: NDArray[np.int64],
    codes: Codes,
    counts: Floats,
) -> None:
    """Add the responsibilities of components for rows to the counts of the rows' states."""
    k = responsibilities.shape[1]
    for i in range(len(codes)):
        for v in range(len(starts)):
            if codes[i, v] >= 0:
                row = 1 + starts[v] + codes[i, v]
                for c in range(k):
                    counts[row, c] += responsibilities[i, c]


class ComponentEM:
    """The EM problem: the E-step and the M-step, for any number of components.

    Parameters
    ----------
    dataset
        Rows, possibly weighted and with missing cells.
    smoothing
        Pseudo-count of every parameter.
    control
        Ends an E-step but that of a start.
    """

    def __init__(
        self,
        dataset: Dataset,
        smoothing: float,
        control: SearchControl = UNLIMITED,
    ) -> None:
        check_smoothing(smoothing)
        self.dataset = dataset
        self.states = dataset.states
        self.smoothing = smoothing
        codes = dataset.codes.astype(np.int16)
        # Equal rows have equal posteriors, and count once with their weight.
        self.codes, self.weights, self._first = distinct_weighted(
            codes, dataset.weights
        )
        self.total_weight = require_weight(dataset)
        self._sizes = dataset.cardinalities
        self.starts = offsets(self._sizes)[:-1]
        self.n_states = int(self._sizes.sum())
        self._control = control

    def model(self, parameters: Floats) -> NaiveBayes:
        """Return the model with these parameters."""
        table = self.table(parameters)
        return NaiveBayes(
            self.dataset.names,
            self.states,
            table[0],
            table[1:],
        )

    def table(self, parameters: Floats) -> Floats:
        """Return parameters with a column for each component, shape (1 + states, components)."""
        return parameters.reshape(1 + self.n_states, -1)

    def start(self, model: NaiveBayes) -> Floats:
        """Return the parameters of a model to begin with; with smoothing none is zero."""
        floor = np.finfo(np.float64).tiny if self.smoothing else 0.0
        return self.normalised(np.maximum(model.table, floor).ravel())

    def e_step(self, iteration: int, parameters: Floats) -> EMState:
        """Return the state at some parameters, after so many iterations.

        Raises
        ------
        DataError
            If a row is impossible under them.
        """
        table = self.table(parameters)

        def expect(rows: slice) -> tuple[Floats, Floats]:
            responsibilities, logs = component_posteriors(
                table,
                self.starts,
                self.codes[rows],
            )
            # Expected counts: each row counts by its weight, split between components.
            responsibilities *= self.weights[rows, np.newaxis]
            counts = np.zeros(table.shape)
            counts[0] = responsibilities.sum(axis=0)
            count_rows(responsibilities, self.starts, self.codes[rows], counts)
            return counts, logs

        counts = np.zeros(table.shape)
        logs: list[Floats] = []
        # Pieces are added up in order: sums do not depend on the number of threads.
        for piece, logs_of_piece in in_pieces(expect, self.codes):
            counts += piece
            logs.append(logs_of_piece)
            if iteration and is_over(self._control):
                return EMState(iteration, parameters, counts.ravel(), np.nan, np.nan)
        of_rows = np.concatenate(logs)
        log_likelihood = float(self.weights @ of_rows)
        # The first impossible row is named.
        if log_likelihood == -np.inf:
            first = self._first[np.isneginf(of_rows)].min()
            place = self.dataset.row_place(int(first))
            raise DataError(
                f"{place}: the row has probability zero under the model, so nothing can be inferred"
                " from it; correct the row or use a model with smoothed parameters"
            )
        objective = log_likelihood
        # Pseudo-counts are a Dirichlet prior, whose log density joins the objective.
        if self.smoothing:
            objective += self.smoothing * float(np.log(parameters).sum())
        return EMState(iteration, parameters, counts.ravel(), log_likelihood, objective)

    def m_step(self, state: EMState) -> Floats:
        """Return relative counts, raised by the pseudo-count."""
        return self.normalised(state.counts + self.smoothing)

    def normalised(self, parameters: Floats) -> Floats:
        """Return parameters in proportion to some; those of a variable without any are equal."""
        table = self.table(parameters).copy()
        table[0] /= table[0].sum()
        # Of each state, the sum over the states of its variable, and the number of these.
        sums = np.add.reduceat(table[1:], self.starts)
        sums = np.repeat(sums, self._sizes, axis=0)
        n_states = np.repeat(self._sizes, self._sizes)[:, None]
        seen = sums > 0
        table[1:] = np.where(seen, table[1:], 1.0) / np.where(seen, sums, n_states)
        return table.ravel()


@checked_arguments(model=as_naive_bayes)
def fit_naive_bayes(
    model: NaiveBayes,
    dataset: DatasetLike,
    *,
    iterations: int = 100,
    tolerance: float = 1e-6,
    smoothing: float = SMOOTHING,
    on_iteration: Callable[[EMState], None] | None = None,
    time_limit: float | None = None,
) -> EMResult[NaiveBayes]:
    """Fit the parameters of a naive Bayes model by EM, from those it has.

    Parameters
    ----------
    model
        Number of components, and first parameters.
    dataset
        Rows, possibly weighted and with missing cells; matched by names.
    iterations
        Most iterations.
    tolerance
        EM ends when an iteration gains less than this per row (unit of weight).
    smoothing
        Pseudo-count of every parameter.
    on_iteration
        Called with the first state and after each iteration.
    time_limit
        Seconds after which EM ends.

    Raises
    ------
    OptionError
        If ``smoothing`` is wrong.
    DataError
        If the table does not fit the model, or a row is impossible under it.

    Examples
    --------
    >>> from exactlearn import learn_naive_bayes
    >>> rows = Dataset(np.array([[0, 0], [1, 1], [0, -1]] * 9), ("a", "b"), (("n", "y"),) * 2)
    >>> model = learn_naive_bayes(rows).model
    >>> fit_naive_bayes(model, rows, smoothing=0.0).log_likelihood <= 0
    True
    """
    control = SearchControl(time_limit)
    problem = ComponentEM(aligned_table(dataset, model), smoothing, control)
    return fitted(
        problem,
        [problem.start(model)],
        iterations=iterations,
        tolerance=tolerance,
        on_iteration=on_iteration,
        control=control,
    )
