r"""The number of components of a naive Bayes model, learned (THESIS, Algorithm 4.5).

EM fits a number of components; equal ones are merged, those of hardly any row go, others are split;
EM fits again (after Lowd and Domingos 2005, "Naive Bayes models for probability estimation"). Of
the sequence the model of the best score is taken, S = (1-lambda) L - lambda x free parameters
(THESIS, 4.40); then components are merged as long as that raises the score.

A component is split for its spread, the entropy of its expected rows,

.. math:: P(c) \, H(X \mid c) = - P(c) \sum_i \sum_x P(x_i \mid c) \log P(x_i \mid c),

exact since its variables are independent. (THESIS, section 4.4.2, prints the entropy without its
minus, takes the component of low entropy, and then splits by P(c) alone.) One half stays as it is;
the other moves towards a row that is drawn among those of the component. New components that are
centred at rows drawn from the whole table instead, mixed with the marginal distribution (4.35),
describe unseen rows worse after the same time (benchmarks/ablation.md).

Merging components a and b loses at most how much the entropy of their expected counts grows; bounds
of disjoint pairs add up (theorem *Merging two components*, docs/theory/naive_bayes.md).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import monotonic

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.control import SearchControl
from exactlearn.bayesnet.ascent import EMResult, fitted
from exactlearn.bayesnet.naive_bayes import (
    SMOOTHING,
    ComponentEM,
    NaiveBayes,
    component_posteriors,
)
from exactlearn.data.counts import bic_size_weight, rate_of
from exactlearn.data.dataset import Dataset, DatasetLike
from exactlearn.errors import OptionError

Floats = NDArray[np.float64]


ITERATIONS = 50
TOLERANCE = 1e-4
"""Most iterations of EM for each number of components, and the gain per row that ends it."""

GROWTH = 0.5
"""New components as a share of those that there were, at least one."""

MIN_ROWS = 1.0
"""Components of fewer expected rows are left out (THESIS, section 4.4.2: of less probability than
0.001, which many components have)."""

MAX_COMPONENTS = 1000
"""Where growth ends."""

STALL_LIMIT = 2
"""After how many numbers of components without a better score growth ends."""

CENTRE = 0.5
"""Weight of the row in the half of a component that moves towards it."""

MERGE_LOSS = TOLERANCE
"""Components are merged where that loses no more log-likelihood per row."""

SAMPLE = 2000
"""Rows that centres are drawn from."""


@dataclass(frozen=True, eq=False)
class ComponentRow:
    """A model of the sequence, in numbers.

    Parameters
    ----------
    components, effective_size, representational_size
        Of the model.
    log_likelihood
        Of the rows learned from: a total, natural logarithm.
    score
        What the model was chosen by.
    seconds
        Wall time since the start.
    """

    components: int
    effective_size: int
    representational_size: int
    log_likelihood: float
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
        The place of the model among them.
    smoothing
        Pseudo-count of every parameter.
    size_weight
        Weight of the size in the score.
    is_complete
        Whether no limit and no interrupt ended the search.
    """

    model: NaiveBayes
    rows: tuple[ComponentRow, ...]
    best: int
    smoothing: float
    size_weight: float
    is_complete: bool


@checked_arguments()
def learn_naive_bayes(
    dataset: DatasetLike,
    *,
    components: int | None = None,
    size_weight: float | None = None,
    smoothing: float = SMOOTHING,
    seed: int = 0,
    time_limit: float | None = None,
    on_model: Callable[[NaiveBayes, ComponentRow, bool], None] | None = None,
) -> GrownNaiveBayes:
    """Return the model of the best score among growing numbers of components, and the sequence.

    The score is S = (1-lambda) L - lambda x free parameters (PDG-SEM, section 6.2.1); growth ends
    when it has not risen for some numbers of components, and the best model then shrinks.

    Parameters
    ----------
    dataset
        Rows, possibly weighted and with missing cells.
    components
        Number of components; chosen by the score when left out.
    size_weight
        Weight of the size, from 0 to 1; left out, that of BIC.
    smoothing
        Pseudo-count of every parameter.
    seed
        Of the rows that are drawn.
    time_limit
        Seconds after which the best model so far is returned.
    on_model
        Called with each model of the sequence, its numbers, and whether it is the best so far.

    Raises
    ------
    DataError
        If there are no rows of positive weight.
    OptionError
        If ``size_weight``, ``smoothing`` or a number of components is wrong.

    Examples
    --------
    >>> rows = np.array([[0, 0, 0], [1, 1, 1]] * 50)
    >>> table = Dataset(rows, ("a", "b", "c"), (("n", "y"),) * 3)
    >>> model = learn_naive_bayes(table).model
    >>> model.n_components, model.representational_size
    (2, 7)
    """
    total = float(dataset.row_weights.sum())
    weight = bic_size_weight(total) if size_weight is None else size_weight
    rate_of(weight)  # refuses a weight that is none
    rows: list[ComponentRow] = []
    models: list[NaiveBayes] = []
    best = 0
    begun = monotonic()

    def keep(model: NaiveBayes) -> bool:
        nonlocal best
        likelihood = dataset.total(model.log_likelihood_rows(dataset))
        parameters = model.representational_size
        row = ComponentRow(
            components=model.n_components,
            effective_size=model.effective_size,
            representational_size=parameters,
            log_likelihood=likelihood,
            score=(1 - weight) * likelihood - weight * parameters,
            seconds=monotonic() - begun,
        )
        # With a given number of components, every model replaces the one before.
        is_best = components is not None or not rows or row.score > rows[best].score
        if is_best:
            best = len(rows)
        rows.append(row)
        models.append(model)
        if on_model is not None:
            on_model(model, row, is_best)
        return is_best

    # Growth: components are added until the score has stalled.
    with SearchControl.within(time_limit).running() as control:
        for model in naive_bayes_models(
            dataset,
            smoothing=smoothing,
            seed=seed,
            components=components,
            control=control,
        ):
            if not keep(model) and len(rows) - 1 - best >= STALL_LIMIT:
                break
        # Then components of the best model are removed while the score rises.
        if components is None:
            problem = ComponentEM(dataset, smoothing, control)
            for model in _shrunk(models[best], problem, rate_of(weight), control):
                if not keep(model):
                    break
        is_complete = not control.is_over
    return GrownNaiveBayes(
        models[best],
        tuple(rows),
        best,
        smoothing,
        weight,
        is_complete,
    )


def _shrunk(
    model: NaiveBayes,
    problem: ComponentEM,
    rate: float,
    control: SearchControl,
) -> Iterator[NaiveBayes]:
    """Yield models of fewer components, as long as merging pairs raises the score by its bound.

    Parameters
    ----------
    rate
        What a free parameter must gain, in nats.
    """
    limit = rate * (1 + int((model.cardinalities - 1).sum()))
    while not control.is_over:
        table = merged(model.table, problem.total_weight, limit)
        if table.shape[1] == model.n_components:
            return
        model = by_em(problem, problem.normalised(table.ravel()), control).model
        yield model


def naive_bayes_models(
    dataset: Dataset,
    *,
    smoothing: float = SMOOTHING,
    seed: int = 0,
    components: int | None = None,
    control: SearchControl | None = None,
) -> Iterator[NaiveBayes]:
    """Yield models with more and more components (THESIS, Algorithm 4.5), the first has one.

    Parameters
    ----------
    dataset, smoothing, seed
        As for :func:`learn_naive_bayes`.
    components
        Number of components of the last model, in place of `MAX_COMPONENTS`.
    control
        Ends the sequence, in place of the search that runs in this thread; the last model is then
        what EM had reached.

    Raises
    ------
    DataError
        If there are no rows of positive weight.
    OptionError
        If ``smoothing`` or the number of components is wrong.
    """
    last = MAX_COMPONENTS if components is None else components
    if last < 1:
        raise OptionError(f"{last} components: give 1 or more")
    control = control or SearchControl.within()
    problem = ComponentEM(dataset, smoothing, control)
    rng = np.random.default_rng(seed)
    n_components = 1
    table = _one_component(problem)
    while True:
        model = by_em(problem, table.ravel(), control).model
        is_last = n_components == last or control.is_over
        # Equal components are merged, where their number is free.
        if components is None:
            limit = MERGE_LOSS * problem.total_weight
            table = merged(model.table, problem.total_weight, limit)
            model = problem.model(problem.normalised(table.ravel()))
        yield model
        if is_last:
            return
        # Those of hardly any row are left out, and the most spread ones split.
        growth = max(1, int(GROWTH * n_components))
        n_components = min(last, n_components + growth)
        table = model.table
        if components is None:
            half_of_largest = float(model.prior.max()) / 2
            floor = min(MIN_ROWS / problem.total_weight, half_of_largest)
            table = table[:, model.prior > floor]
        table = split(problem, table, n_components - table.shape[1], rng)


def by_em(
    problem: ComponentEM,
    parameters: Floats,
    control: SearchControl,
) -> EMResult[NaiveBayes]:
    """Return the model after EM from some parameters, as long as the growth of a model takes it."""
    return fitted(
        problem,
        [parameters],
        iterations=ITERATIONS,
        tolerance=TOLERANCE,
        control=control,
    )


def merged(table: Floats, total_weight: float, limit: float) -> Floats:
    """Return the components after those pairs are merged that lose least, each in one pair at most.

    Parameters
    ----------
    table
        Shape (1 + states, components).
    total_weight
        Of the rows.
    limit
        Most log-likelihood that a pair may lose, by the bound of :func:`_merge_losses`.
    """
    losses = _merge_losses(table, total_weight)
    pairs = np.argwhere(np.isfinite(losses) & (losses <= limit))
    # Greedily by loss: a component that was merged once is used up.
    order = np.argsort(losses[tuple(pairs.T)], kind="stable")
    table = table.copy()
    gone: set[int] = set()
    used: set[int] = set()
    for pair in pairs[order].tolist():
        if used.isdisjoint(pair):
            used.update(pair)
            kept, removed = pair
            gone.add(removed)
            # The merged component: weights add up, tables are averaged by them.
            weights = table[0, pair]
            total = weights.sum()
            table[1:, kept] = table[1:, pair] @ weights / total
            table[0, kept] = total
    return np.delete(table, sorted(gone), axis=1)


def _merge_losses(table: Floats, total_weight: float) -> Floats:
    """Return bounds of the log-likelihood that merging two components loses after EM.

    Shape (components, components), infinite on and below the diagonal.
    """
    weights = total_weight * table[0]
    parameters = table[1:]
    k = len(weights)
    counts = weights * parameters
    entropy_terms = weights * xlogy(parameters, parameters).sum(axis=0)
    losses = np.full((k, k), np.inf)
    for c in range(k - 1):
        # The expected counts of the component together with each later one.
        later = slice(c + 1, None)
        totals = np.maximum(weights[c] + weights[later], 1e-300)
        joint_counts = counts[:, [c]] + counts[:, later]
        merged_terms = xlogy(joint_counts, joint_counts / totals).sum(axis=0)
        losses[c, later] = entropy_terms[c] + entropy_terms[later] - merged_terms
    return losses


def _one_component(problem: ComponentEM) -> Floats:
    """Return the relative frequencies."""
    table = problem.normalised(np.ones(1 + problem.n_states))
    counts = problem.e_step(0, table).counts + max(problem.smoothing, 1e-9)
    return problem.table(problem.normalised(counts))


def split(
    problem: ComponentEM,
    table: Floats,
    number: int,
    rng: np.random.Generator,
) -> Floats:
    """Return the components with the most spread ones split (THESIS, Algorithm 4.5, line 7).

    Parameters
    ----------
    table
        Shape (1 + states, components).
    number
        Of the new components; at least one, and at most as many as there are.
    """
    weights = problem.weights
    parameters = table[1:]
    spread = -table[0] * xlogy(parameters, parameters).sum(axis=0)
    widest = np.argsort(-spread, kind="stable")[: max(1, number)]
    # A row of each component is the centre of one half.
    rows = rng.choice(len(weights), SAMPLE, p=weights / weights.sum())
    posteriors, _ = component_posteriors(table, problem.starts, problem.codes[rows])
    cumulated = posteriors[:, widest].cumsum(axis=0)
    levels = rng.random(len(widest)) * cumulated[-1]
    drawn = (cumulated >= levels).argmax(axis=0)
    centres = problem.codes[rows[drawn]]
    table = table.copy()
    table[0, widest] /= 2
    halves = table[:, widest]
    # It moves towards its centre, variable by variable where that is observed.
    for v, first in enumerate(problem.starts.tolist()):
        seen = np.flatnonzero(centres[:, v] >= 0)
        r = len(problem.states[v])
        distributions = halves[1 + first : 1 + first + r]
        distributions[:, seen] *= 1 - CENTRE
        distributions[centres[seen, v], seen] += CENTRE
    with_halves = np.hstack((table, halves))
    return problem.table(problem.normalised(with_halves.ravel()))
