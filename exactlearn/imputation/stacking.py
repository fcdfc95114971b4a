r"""Several imputers pooled, with weights that are learned on cells hidden on purpose.

Networks of few parents, logistic regressions, forests and mixtures err on different tables. With
q_c(s) the probability of the state s by the component c, the pool is

.. math:: P(s) \propto \prod_c q_c(s)^{w_c}, \qquad w_c \ge 0 ,

the log-linear pool (Genest and Zidek 1986, "Combining probability distributions"); as its weights
need not add up to one, it also makes probabilities less sure, or more. The weights minimise the
log loss of cells that were observed, and were hidden from the components: stacking (Wolpert 1992,
"Stacked generalization"; Breiman 1996, "Stacked regressions"). Those of a variable are drawn to
weights common to all variables, and these to fixed ones, as few cells are hidden of each: they
minimise

.. math:: - \sum_i \log P(s_i) + \lambda \| w - w^0 \|^2 .

The components of the pool are fitted to the whole table. Where the table says that cells are
missing by their own value (:mod:`exactlearn.imputation.mechanism`), more than the hidden ones seem
to be, the pool is multiplied by how much more probable each state is among the missing cells than
among the observed ones.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax

from exactlearn._runtime.control import SearchControl
from exactlearn.bayesnet.component_growth import learn_naive_bayes
from exactlearn.bayesnet.naive_bayes import NaiveBayes
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.codes import MISSING
from exactlearn.data.dataset import Dataset
from exactlearn.errors import TooLargeError
from exactlearn.imputation.forest import fit_forest
from exactlearn.imputation.imputed import CellModel, cell_probabilities
from exactlearn.imputation.learning import (
    Learning,
    averaged_posterior,
    bootstrap_networks,
    independent,
)
from exactlearn.imputation.logistic import fit_logistic
from exactlearn.imputation.mechanism import PredictedCells, self_masking_ratios
from exactlearn.imputation.turns import mean_shares

Matrix = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class StackingParameters:
    """Constants of the pool.

    Parameters
    ----------
    hidden
        Share of the observed cells that are hidden to learn the weights.
    common, own
        The number lambda for the weights common to all variables, and for those of each.
    floor
        Share of the uniform distribution in that of each component: none is certain.
    """

    hidden: float = 0.15
    common: float = 10.0
    own: float = 100.0
    floor: float = 1e-3


PARAMETERS = StackingParameters()


@dataclass(frozen=True, eq=False)
class NetworkAverage:
    """The mean of the posteriors of networks."""

    networks: tuple[BayesianNetwork, ...]

    def posterior(self, table: Dataset) -> Matrix:
        """Return the mean distribution of each missing cell."""
        return averaged_posterior(self.networks, table)


@dataclass(frozen=True, eq=False)
class Mixture:
    """A naive Bayes model with a hidden class."""

    model: NaiveBayes

    def posterior(self, table: Dataset) -> Matrix:
        """Return the distribution of each missing cell given the observed cells of its row."""
        found, _ = self.model.row_posteriors(table.codes.astype(np.int16))
        return cell_probabilities(found, table)


def _networks(dataset: Dataset, how: Learning, control: SearchControl) -> CellModel | None:
    networks, _ = bootstrap_networks(dataset, replace(how, time_limit=control.remaining))
    return NetworkAverage(networks) if networks else None


def _logistic(dataset: Dataset, how: Learning, control: SearchControl) -> CellModel | None:
    return fit_logistic(dataset, seed=how.seed, control=control)


def _forest(dataset: Dataset, how: Learning, control: SearchControl) -> CellModel | None:
    return fit_forest(dataset, seed=how.seed, control=control)


def _mixture(dataset: Dataset, how: Learning, control: SearchControl) -> CellModel | None:
    found = learn_naive_bayes(dataset, seed=how.seed, time_limit=control.remaining)
    return Mixture(found.model)


@dataclass(frozen=True)
class Component:
    """A kind of imputer that is pooled.

    Parameters
    ----------
    fit
        Fits it to a table; ``None`` when a limit came before there was any model.
    weight
        What its weights are drawn to, over the sum of all components that are fitted.
    """

    fit: Callable[[Dataset, Learning, SearchControl], CellModel | None]
    weight: float


COMPONENTS: dict[str, Component] = {
    "mixture": Component(_mixture, 0.1),
    "logistic": Component(_logistic, 0.4),
    "forest": Component(_forest, 0.2),
    "networks": Component(_networks, 0.4),
}
"""The imputers that are pooled, the fastest first."""


@dataclass(frozen=True, eq=False)
class StackedModel:
    """Fitted components and their pool.

    Parameters
    ----------
    components
        The fitted components by name.
    weights
        Weight of each component for each variable, shape (variables, components).
    ratios
        For variables whose cells are missing by their own value how much more probable each state
        is there, shape (states,).
    parameters
        Constants.
    """

    components: Mapping[str, CellModel]
    weights: Matrix
    ratios: Mapping[int, Matrix] = field(default_factory=dict)
    parameters: StackingParameters = PARAMETERS

    @property
    def network(self) -> BayesianNetwork | None:
        """The first network of the components, if one has any."""
        every = (m.networks for m in self.components.values() if isinstance(m, NetworkAverage))
        return next((networks[0] for networks in every), None)

    def named_weights(self, names: Sequence[str]) -> dict[str, dict[str, float]]:
        """Return the weights of the components by variable."""
        return {
            name: dict(zip(self.components, own, strict=True))
            for name, own in zip(names, self.weights.tolist(), strict=True)
        }

    def posterior(self, table: Dataset) -> Matrix:
        """Return the pooled distribution of each missing cell, as `CellModel.posterior`."""
        return self.pool([model.posterior(table) for model in self.components.values()], table)

    def pool(self, parts: Sequence[Matrix], table: Dataset) -> Matrix:
        """Return the pool of what the components say of the missing cells of a table."""
        columns = table.missing_cells[:, 1]
        logs = log_shares(parts, table.cardinalities[columns], self.parameters.floor)
        found = pooled(logs, self.weights[columns])
        for v, ratio in self.ratios.items():
            found[columns == v] *= ratio
        total: Matrix = found / found.sum(axis=1, keepdims=True)
        return total


def fit_stacked(
    dataset: Dataset, how: Learning, parameters: StackingParameters = PARAMETERS
) -> tuple[StackedModel, str]:
    """Fit the components, learn their weights and, if wanted, why cells are missing.

    Components that a limit or an interrupt leaves out are not part of the pool, nor are those that
    need too large tables of exact inference. Without time for the weights these are fixed ones.

    Parameters
    ----------
    dataset
        Table with or without missing cells.
    how
        Seed, time limit, whether missingness is learned, and how networks are.
    parameters
        Constants.

    Returns
    -------
    model
        The pool; of the shares of the observed states where no component was fitted in time.
    status
        ``heuristic``, or else ``feasible`` or ``interrupted``.
    """
    with SearchControl.within(how.time_limit).running() as control:
        components, parts = _fitted(dataset, how, COMPONENTS, control)
        if not components:
            components = {"marginal": NetworkAverage((independent(dataset),))}
        fixed = [COMPONENTS[name].weight if name in COMPONENTS else 1.0 for name in components]
        weights = np.tile(np.array(fixed) / sum(fixed), (dataset.n_variables, 1))
        hidden = None
        if dataset.n_variables > 1 and not control.is_over:
            hidden = _hidden_cells(dataset, how, tuple(components), control, parameters)
        if hidden is not None:
            weights = learned_weights(hidden, weights, parameters)
        model = StackedModel(components, weights, parameters=parameters)
        if how.missingness != "ignored" and hidden is not None and not control.is_over:
            nothing = replace(
                dataset, codes=np.full((1, dataset.n_variables), MISSING), weights=None
            )
            marginals = cell_probabilities(mean_shares(dataset)[None], nothing)
            found = pooled(hidden.logs, weights[hidden.columns])
            at_random = PredictedCells(hidden.columns, found, hidden.weights)
            posterior = model.pool(parts, dataset)
            ratios = self_masking_ratios(dataset, posterior, marginals, at_random)
            model = replace(model, ratios=ratios)
        return model, control.status if control.is_over else "heuristic"


def _fitted(
    dataset: Dataset, how: Learning, names: Iterable[str], control: SearchControl
) -> tuple[dict[str, CellModel], list[Matrix]]:
    """Return the components that can be fitted within the limit, and their posteriors."""
    found, parts = {}, []
    for name in names:
        if control.is_over:
            break
        try:
            model = COMPONENTS[name].fit(dataset, how, control)
            if model is not None:
                parts.append(model.posterior(dataset))
                found[name] = model
        except TooLargeError:
            continue
    return found, parts


def _hidden_cells(
    dataset: Dataset,
    how: Learning,
    names: Sequence[str],
    control: SearchControl,
    parameters: StackingParameters,
) -> "HiddenCells | None":
    """Return what components say of cells hidden from them; none when a limit prevents it."""
    table = with_hidden_cells(dataset, parameters.hidden, np.random.default_rng(how.seed))
    rows, columns = table.missing_cells.T
    states = dataset.codes[rows, columns].astype(np.int64)
    known = states != MISSING
    fewer = replace(how, networks=(how.networks + 1) // 2)
    _, parts = _fitted(table, fewer, names, control)
    if control.is_over or len(parts) < len(names) or not known.any():
        return None
    logs = log_shares(
        [part[known] for part in parts], dataset.cardinalities[columns[known]], parameters.floor
    )
    return HiddenCells(logs, states[known], dataset.row_weights[rows[known]], columns[known])


def learned_weights(cells: "HiddenCells", centre: Matrix, parameters: StackingParameters) -> Matrix:
    """Return weights of components for each variable, shape (variables, components).

    Parameters
    ----------
    cells
        Hidden cells of some variables.
    centre
        What the common weights are drawn to, the same for each variable, shape of the weights.
    parameters
        How strongly.
    """
    common = pool_weights(cells, centre[0], parameters.common)
    weights = np.tile(common, (len(centre), 1))
    for v in np.unique(cells.columns).tolist():
        weights[v] = pool_weights(cells.part(cells.columns == v), common, parameters.own)
    return weights


def with_hidden_cells(dataset: Dataset, share: float, rng: np.random.Generator) -> Dataset:
    """Hide a share of the observed cells; each variable keeps one that it has."""
    codes = dataset.codes.copy()
    codes[rng.random(codes.shape) < share] = MISSING
    for v in np.flatnonzero((codes == MISSING).all(axis=0)).tolist():
        seen = np.flatnonzero(dataset.codes[:, v] != MISSING)[:1]
        codes[seen, v] = dataset.codes[seen, v]
    return replace(dataset, codes=codes)


def log_shares(parts: Sequence[Matrix], sizes: NDArray[np.int64], floor: float) -> Matrix:
    """Return logarithms of the distributions of cells by several components.

    Parameters
    ----------
    parts
        For each component, shape (cells, most states).
    sizes
        Number of states of each cell's variable.
    floor
        Share of the uniform distribution that each distribution gets.

    Returns
    -------
    logs
        Shape (components, cells, most states); ``-inf`` beyond the states of a variable.
    """
    found = np.array(parts)
    real = np.arange(found.shape[2]) < sizes[:, None]
    logs = np.log((1 - floor) * found + floor / sizes[:, None])
    return np.where(real, logs, -np.inf)


def pooled(logs: Matrix, weights: Matrix) -> Matrix:
    """Return the log-linear pool of distributions.

    Parameters
    ----------
    logs
        As of :func:`log_shares`.
    weights
        Shape (cells, components).

    Returns
    -------
    probabilities
        Shape (cells, most states); each row sums to one.

    Examples
    --------
    >>> logs = np.log([[[0.5, 0.5]], [[0.8, 0.2]]])
    >>> pooled(logs, np.array([[3.0, 0.5]])).round(2).tolist()
    [[0.67, 0.33]]
    """
    return softmax(_combined(logs, weights), axis=1)


def _combined(logs: Matrix, weights: Matrix) -> Matrix:
    real = np.isfinite(logs[0])
    total = np.einsum("kc,cks->ks", weights, np.where(real, logs, 0.0))
    return np.where(real, total, -np.inf)


@dataclass(frozen=True, eq=False)
class HiddenCells:
    """What components say of cells whose states are known.

    Parameters
    ----------
    logs
        As of :func:`log_shares`.
    states
        The states, shape (cells,).
    weights, columns
        Weight of each cell's row, and its variable, shape (cells,).
    """

    logs: Matrix
    states: NDArray[np.int64]
    weights: Matrix
    columns: NDArray[np.int64]

    def part(self, chosen: NDArray[np.bool_]) -> "HiddenCells":
        """Return some of the cells."""
        cells = self.states[chosen], self.weights[chosen], self.columns[chosen]
        return HiddenCells(self.logs[:, chosen], *cells)


def pool_weights(cells: HiddenCells, centre: Matrix, strength: float) -> Matrix:
    """Return the weights of components that minimise log loss plus ``strength |w - centre|^2``.

    Parameters
    ----------
    cells
        Cells whose states are known.
    centre
        What the weights are drawn to, shape (components,).
    strength
        How strongly, in nats.

    Returns
    -------
    weights
        Shape (components,), none negative.
    """
    from scipy.optimize import minimize  # takes long to import

    own = cells.logs[:, np.arange(len(cells.states)), cells.states]
    finite = np.where(np.isfinite(cells.logs), cells.logs, 0.0)

    def loss(weights: Matrix) -> tuple[float, Matrix]:
        logs = log_softmax(_combined(cells.logs, weights[None]), axis=1)
        lost = -logs[np.arange(len(cells.states)), cells.states]
        slope = np.einsum("ks,cks->ck", np.exp(logs), finite) - own
        away = weights - centre
        return (
            float(cells.weights @ lost + strength * away @ away),
            slope @ cells.weights + 2 * strength * away,
        )

    bounds = [(0.0, None)] * len(centre)
    found: Matrix = minimize(loss, centre, jac=True, bounds=bounds, method="L-BFGS-B", tol=1e-7).x
    return found
