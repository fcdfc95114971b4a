r"""The number of components of a naive Bayes model, learnt (THESIS, Algorithm 4.5).

EM fits a number of components; those of hardly any weight go; others are split or centred at rows
that are drawn, so that the number grows; EM fits again (after Lowd and Domingos 2005, "Naive Bayes
models for probability estimation"). Of the sequence the model of the best score is returned,
S = (1-lambda) L - lambda x free parameters (THESIS, 4.40).

A component is split for its spread, the entropy of its expected rows,

.. math:: P(c) \, H(X \mid c) = - P(c) \sum_i \sum_x P(x_i \mid c) \log P(x_i \mid c),

exact since its variables are independent. (THESIS, section 4.4.2, prints the entropy without its
minus, takes the component of low entropy, and then splits by P(c) alone.) One half stays as it is;
the other moves towards a row that is drawn among those of the component.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import monotonic

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from exactlearn._runtime.arguments import checked_arguments, number_or_none
from exactlearn._runtime.control import SearchControl
from exactlearn.bayesnet.component_em import (
    SMOOTHING,
    ComponentEM,
    by_em,
    choose_component_smoothing,
)
from exactlearn.bayesnet.components import shares_of
from exactlearn.bayesnet.naive_bayes import NaiveBayes
from exactlearn.data.dataset import Dataset
from exactlearn.data.trade_off import bic_lambda, check_lambda
from exactlearn.errors import OptionError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class GrowthParameters:
    """Constants of the growth of naive Bayes models.

    Parameters
    ----------
    growth
        New components as a share of those that there were, at least one.
    least_weight
        Components of less probability are left out (THESIS, section 4.4.2: 0.001).
    most_components
        Where growth ends.
    stall_limit
        After how many numbers of components without a better score the search ends.
    split_share
        Share of the new components that are halves of others; the rest is centred at rows.
    centre
        Weight of the row in the half of a component that moves towards it.
    marginal
        Weight of the marginal distribution in a component centred at a row (THESIS, 4.35).
    sample
        Rows that centres are drawn from.
    """

    growth: float = 0.5
    least_weight: float = 0.001
    most_components: int = 1000
    stall_limit: int = 2
    split_share: float = 0.0
    centre: float = 0.5
    marginal: float = 0.1 / 1.1
    sample: int = 2000


GROWTH = GrowthParameters()


@dataclass(frozen=True, eq=False)
class ComponentRow:
    """A model of the sequence, in numbers.

    Parameters
    ----------
    components, effective_size, representational_size
        Of the model.
    log_likelihood, validation_log_likelihood
        Of the rows learnt from, and of others, if given: totals, natural logarithms.
    score
        What the model was chosen by.
    seconds
        Wall time since the start.
    """

    components: int
    effective_size: int
    representational_size: int
    log_likelihood: float
    validation_log_likelihood: float | None
    score: float
    seconds: float


@dataclass(frozen=True, eq=False)
class GrownNaiveBayes:
    """The best model of a sequence of numbers of components.

    Parameters
    ----------
    model
        The model.
    rows
        The models of the sequence in numbers, in their order.
    best
        The place of the chosen one among them; its numbers are those before its smoothing was
        chosen.
    alpha
        Pseudo-count of every parameter.
    lambda_
        Weight of the size in the score.
    is_complete
        Whether no limit and no interrupt ended the search.
    """

    model: NaiveBayes
    rows: tuple[ComponentRow, ...]
    best: int
    alpha: float
    lambda_: float
    is_complete: bool


@checked_arguments(alpha=number_or_none)
def learn_naive_bayes(
    dataset: Dataset,
    *,
    components: int | None = None,
    lambda_: float | None = None,
    validation: Dataset | None = None,
    alpha: float | None = SMOOTHING,
    seed: int = 0,
    time_limit: float | None = None,
    parameters: GrowthParameters = GROWTH,
) -> NaiveBayes:
    """Return the model of the best score among growing numbers of components.

    The score is S = (1-lambda) L - lambda x free parameters (PDG-SEM, section 6.2.1); growth ends
    when it has not risen for some numbers of components.

    Parameters
    ----------
    dataset
        Rows, possibly weighted and with missing cells.
    components
        Number of components; chosen by the score when left out.
    lambda_
        Weight of the size, from 0 to 1; left out, that of BIC.
    validation
        Other rows: the number of components is that under which they are most probable.
    alpha
        Pseudo-count of every parameter; ``None``: chosen by cross-validation for the number of
        components found with the default.
    seed
        Of the rows that are drawn, and of the folds.
    time_limit
        Seconds after which the best model so far is returned.
    parameters
        Tuning constants.

    Raises
    ------
    DataError
        If there are no rows of positive weight.
    OptionError
        If lambda, ``alpha`` or a number of components is wrong.

    Examples
    --------
    >>> rows = np.array([[0, 0, 0], [1, 1, 1]] * 50)
    >>> model = learn_naive_bayes(Dataset(rows, ("a", "b", "c"), (("n", "y"),) * 3))
    >>> model.n_components, model.representational_size
    (2, 7)
    """
    return grow_naive_bayes(
        dataset,
        components=components,
        lambda_=lambda_,
        validation=validation,
        alpha=alpha,
        seed=seed,
        time_limit=time_limit,
        parameters=parameters,
    ).model


def grow_naive_bayes(
    dataset: Dataset,
    *,
    components: int | None = None,
    lambda_: float | None = None,
    validation: Dataset | None = None,
    alpha: float | None = SMOOTHING,
    seed: int = 0,
    time_limit: float | None = None,
    parameters: GrowthParameters = GROWTH,
    on_model: Callable[[NaiveBayes, ComponentRow, bool], None] | None = None,
) -> GrownNaiveBayes:
    """Return the best model as :func:`learn_naive_bayes`, and the sequence.

    Parameters
    ----------
    on_model
        Called with each model of the sequence, its numbers, and whether it is the best so far.
    """
    weight = bic_lambda(float(dataset.row_weights.sum())) if lambda_ is None else lambda_
    check_lambda(weight)
    rows: list[ComponentRow] = []
    best: tuple[int, NaiveBayes] | None = None
    begun, first = monotonic(), SMOOTHING if alpha is None else alpha
    with SearchControl.within(time_limit).running() as control:
        for model in naive_bayes_models(
            dataset,
            alpha=first,
            seed=seed,
            components=components,
            parameters=parameters,
            control=control,
        ):
            row = _row(model, dataset, validation, weight, monotonic() - begun)
            is_best = best is None or row.score > rows[best[0]].score or components is not None
            if is_best:
                best = len(rows), model
            rows.append(row)
            if on_model is not None:
                on_model(model, row, is_best)
            assert best is not None
            if components is None and len(rows) - 1 - best[0] >= parameters.stall_limit:
                break
        assert best is not None
        place, model = best
        if alpha is None and not control.is_over:
            found = choose_component_smoothing(model, dataset, seed=seed, control=control).alpha
            if not control.is_over:
                problem = ComponentEM.of(dataset, found, control)
                model, first = by_em(problem, problem.start(model), control).model, found
        is_complete = not control.is_over
    return GrownNaiveBayes(model, tuple(rows), place, first, weight, is_complete)


def _row(
    model: NaiveBayes,
    dataset: Dataset,
    validation: Dataset | None,
    lambda_: float,
    seconds: float,
) -> ComponentRow:
    likelihood = dataset.total(model.log_likelihood_rows(dataset))
    held_out = None
    if validation is not None:
        held_out = validation.total(model.log_likelihood_rows(validation))
    score = (1 - lambda_) * likelihood - lambda_ * model.representational_size
    return ComponentRow(
        model.n_components,
        model.effective_size,
        model.representational_size,
        likelihood,
        held_out,
        score if held_out is None else held_out,
        seconds,
    )


def naive_bayes_models(
    dataset: Dataset,
    *,
    alpha: float = SMOOTHING,
    seed: int = 0,
    components: int | None = None,
    parameters: GrowthParameters = GROWTH,
    control: SearchControl | None = None,
) -> Iterator[NaiveBayes]:
    """Yield models with more and more components (THESIS, Algorithm 4.5), the first has one.

    Parameters
    ----------
    dataset, alpha, seed, parameters
        As for :func:`learn_naive_bayes`.
    components
        Number of components of the last model, in place of ``parameters.most_components``.
    control
        Ends the sequence, in place of the search that runs in this thread; the last model is then
        what EM had reached.

    Raises
    ------
    DataError
        If there are no rows of positive weight.
    OptionError
        If ``alpha`` or the number of components is wrong.
    """
    most = parameters.most_components if components is None else components
    if most < 1:
        raise OptionError(f"{most} components: give 1 or more")
    control = control or SearchControl.within()
    problem = ComponentEM.of(dataset, alpha, control)
    growth = _Growth(problem, parameters, np.random.default_rng(seed))
    table = growth.one_component()
    wanted = 1
    while True:
        model = by_em(problem, table.ravel(), control).model
        yield model
        if wanted == most or control.is_over:
            return
        wanted = min(most, wanted + max(1, int(parameters.growth * wanted)))
        table = growth.grown(growth.pruned(model.table), wanted)


class _Growth:
    """Tables of parameters, shape (1 + states, components), and their next ones."""

    def __init__(
        self, problem: ComponentEM, parameters: GrowthParameters, rng: np.random.Generator
    ) -> None:
        self._problem, self._how, self._rng = problem, parameters, rng
        self._marginal = self.one_component()[1:]

    def one_component(self) -> Floats:
        """Return the relative frequencies."""
        problem = self._problem
        table = problem.table(problem.normalised(np.ones(1 + problem.n_states)))
        counts = problem.e_step(0, table.ravel()).counts + max(problem.alpha, 1e-9)
        return problem.table(problem.normalised(counts))

    def pruned(self, table: Floats) -> Floats:
        """Return the components that have some weight."""
        return table[:, table[0] > min(self._how.least_weight, float(table[0].max()) / 2)]

    def grown(self, table: Floats, wanted: int) -> Floats:
        """Return as many components as are wanted, but one new one at least."""
        new = max(1, wanted - table.shape[1])
        halves = min(round(self._how.split_share * new), table.shape[1])
        if halves:
            table = self._split(table, halves)
        if halves < new:
            table = self._centred(table, new - halves)
        return self._problem.table(self._problem.normalised(table.ravel()))

    def _split(self, table: Floats, number: int) -> Floats:
        """Return the components with the most spread ones split (THESIS, Algorithm 4.5, line 7)."""
        spread = -table[0] * xlogy(table[1:], table[1:]).sum(axis=0)
        chosen = np.argsort(-spread, kind="stable")[:number]
        rows = self._drawn(self._how.sample)
        shares, _ = shares_of(table, self._problem.starts, self._problem.codes[rows])
        cumulated = shares[:, chosen].cumsum(axis=0)
        passed = cumulated >= self._rng.random(number) * cumulated[-1]
        halves = table[:, chosen].copy()
        halves[0] /= 2
        halves[1:] = self._towards(rows[passed.argmax(axis=0)], halves[1:], self._how.centre)
        table = table.copy()
        table[0, chosen] /= 2
        return np.hstack((table, halves))

    def _centred(self, table: Floats, number: int) -> Floats:
        """Return the components and new ones centred at rows (THESIS, 4.35)."""
        drawn = self._towards(self._drawn(number), self._marginal, 1 - self._how.marginal)
        new = number / (table.shape[1] + number)
        table = np.vstack((table[:1] * (1 - new) / table[0].sum(), table[1:]))
        return np.hstack((table, np.vstack((np.full(number, new / number), drawn))))

    def _drawn(self, number: int) -> NDArray[np.int64]:
        """Draw rows by their weights."""
        weights = self._problem.weights
        return self._rng.choice(len(weights), number, p=weights / weights.sum())

    def _towards(self, rows: NDArray[np.int64], table: Floats, share: float) -> Floats:
        """Return distributions moved towards the states of rows, but of missing cells.

        Parameters
        ----------
        rows
            Their numbers.
        table
            Shape (states, rows) or (states, 1).
        share
            Weight of the rows.
        """
        problem = self._problem
        moved = np.repeat(table, len(rows), axis=1) if table.shape[1] == 1 else table.copy()
        for v, first in enumerate(problem.starts.tolist()):
            codes = problem.codes[rows, v]
            seen = np.flatnonzero(codes >= 0)
            own = moved[first : first + len(problem.states[v])]
            own[:, seen] *= 1 - share
            own[codes[seen], seen] += share
        return moved
