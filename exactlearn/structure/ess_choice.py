r"""The equivalent sample size of BDeu by cross-validation.

The network of the highest BDeu score depends on the equivalent sample size (ess): a larger one
means more arcs. No value is best for all tables (Silander, Kontkanen and Myllymaki 2007, "On
sensitivity of the MAP Bayesian network structure to the equivalent sample size parameter"), and the
evidence, the score itself maximised over the ess, is a worse guide than held-out rows
(docs/equivalent-sample-size.md). So the rows are divided into folds at random; for each value, a
network is learnt without the rows of each fold, and judged by the log-likelihood of these rows,
with the parameters that `fit` estimates by default.

The networks are those that a short search over orders finds. Where cells are missing, networks are
learnt from rows that are completed by one draw from the posterior of a tree, fitted by EM, and
judged by the observed cells of the rows held out.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf, log
from typing import Any

import numpy as np

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.control import SearchControl
from exactlearn._runtime.display import Displayed
from exactlearn.augmentation.starts import Dag, heuristic_network
from exactlearn.bayesnet.complete_data import fit_complete
from exactlearn.bayesnet.em import fit_em
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.bayesnet.row_completion import draw_completions, observed_log_likelihood_rows
from exactlearn.bayesnet.smoothing_choice import divided
from exactlearn.data.dataset import Dataset, DatasetLike
from exactlearn.errors import OptionError, TooLargeError, as_written
from exactlearn.scoring.candidates import candidate_parent_sets, n_families
from exactlearn.scoring.deletion_enumeration import DeletionCounts
from exactlearn.scoring.scores import BDeu


@dataclass(frozen=True)
class ESSParameters:
    """Constants of the choice of the equivalent sample size.

    Parameters
    ----------
    values
        Equivalent sample sizes to try.
    folds
        Parts that the rows are divided into.
    work, least_folds
        Families to score for each value, in all folds together: with more, there are fewer folds,
        but at least so many.
    most_families
        Families that each search for a network may score; with more, it takes fewer parents.
    most_rows
        Rows that the choice takes; of more, so many are drawn.
    budget, perturbations
        Length of the search over orders: candidates looked at, and continuations from a perturbed
        order for each variable.
    """

    values: tuple[float, ...] = (0.25, 1.0, 4.0, 16.0, 64.0)
    folds: int = 10
    work: int = 3_000_000
    least_folds: int = 3
    most_families: int = 5_000_000
    most_rows: int = 20_000
    budget: int = 2_000_000
    perturbations: int = 20

    def __post_init__(self) -> None:
        """Refuse to choose from nothing."""
        if not self.values:
            raise OptionError("values: expected at least one equivalent sample size, found none")

    @property
    def in_order(self) -> list[float]:
        """The values as they are tried: 1, larger ones, which win more often, then smaller ones."""
        return sorted(self.values, key=lambda value: (value < 1, value))


DEFAULTS = ESSParameters()

TIES = 9
"""Decimals of a log-likelihood per row beyond which values are equal."""

LARGE = 16.0
"""Equivalent sample size from which networks are much denser than those of 1."""


@dataclass(frozen=True, repr=False)
class ESSChoice(Displayed, shown="ess values=log_likelihood folds max_parents"):
    """The equivalent sample size under which networks predict held-out rows best.

    Parameters
    ----------
    ess
        The equivalent sample size; the one nearest to 1 of several as good.
    log_likelihood
        Of the observed cells of the rows of all folds done, per row, natural logarithm, each under
        the network learnt without the row's fold: for each value tried. Minus infinity where cells
        are missing and inference in a network is too large to judge it.
    folds
        Folds that these values were tried on before the time limit, or an interrupt; 0 where the
        value is the default, since no two values were compared.
    max_parents
        Most parents of the networks.

    Examples
    --------
    >>> import exactlearn as el
    >>> choice = el.ESSChoice(4.0, {1.0: -2.31, 4.0: -2.25}, folds=10, max_parents=3)
    >>> choice.reason.split("; ")[0]
    'ess 4: log-likelihood -2.250 per held-out row (10 folds, at most 3 parents)'
    >>> choice.to_dict()["value"]
    4.0
    """

    ess: float
    log_likelihood: Mapping[float, float]
    folds: int
    max_parents: int

    @property
    def reason(self) -> str:
        """Why this value, and what another one would do."""
        if not self.folds:
            return (
                f"ess {self.ess:g}, the default, as the time was too short to compare two values; "
                "an equal call may have the time and choose another: give more time, or a number "
                f"({as_written('ess', 1)})"
            )
        own = self.log_likelihood[self.ess]
        others = [
            f"{value:g}: {found - own:+.3f}"
            for value, found in self.log_likelihood.items()
            if value != self.ess
        ]
        folds = f"{self.folds} fold{'s' * (self.folds > 1)}"
        why = (
            f"ess {self.ess:g}: log-likelihood {own:.3f} per held-out row ({folds}, at most "
            f"{self.max_parents} parents); of other values, beside it, {', '.join(others)}"
        )
        if self.ess < LARGE:
            return why
        return (
            f"{why}; so large a value predicts best here, but gives many arcs: "
            f"{as_written('ess', 1)} gives fewer"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the choice for a record."""
        tried = {
            f"{value:g}": None if found == -inf else found
            for value, found in self.log_likelihood.items()
        }
        return {
            "value": self.ess,
            "held_out_log_likelihood_per_row": tried,
            "folds": self.folds,
            "max_parents": self.max_parents,
        }


@checked_arguments()
def choose_ess(
    dataset: DatasetLike,
    *,
    max_parents: int | None = 3,
    seed: int = 0,
    time_limit: float | None = None,
    parameters: ESSParameters = DEFAULTS,
) -> ESSChoice:
    """Return the equivalent sample size under which networks predict held-out rows best.

    Parameters
    ----------
    dataset
        Table with or without missing cells; rows count by their weights.
    max_parents
        Largest number of parents, or ``None`` for no limit; the choice may take fewer
        (``parameters.most_families``), and 3 without a limit.
    seed
        Of the division into folds, the searches, and the completion of missing cells.
    time_limit
        Seconds; when they are over, the folds done so far count, of the first one the values.
    parameters
        Values to try and tuning constants.

    Raises
    ------
    DataError
        If there are fewer than two rows, or some variable is never observed.
    OptionError
        If there are fewer than two folds, or no values.
    TooLargeError
        If cells are missing, and inference is too large under all values.

    Examples
    --------
    >>> copies = np.repeat(np.random.default_rng(1).integers(0, 2, (200, 1)), 3, axis=1)
    >>> data = Dataset(copies, ("a", "b", "c"), (("no", "yes"),) * 3)
    >>> choice = choose_ess(data, parameters=ESSParameters(values=(1.0, 4.0)))
    >>> choice.ess, choice.folds
    (1.0, 10)
    """
    dataset = dataset.drawn(parameters.most_rows, np.random.default_rng(seed))
    n, most = dataset.n_variables, 3 if max_parents is None else max_parents
    sizes = range(max(0, min(most, n - 1)) + 1)
    k = max(m for m in sizes if m <= 1 or n_families(n, m) <= parameters.most_families)
    most_folds = max(parameters.least_folds, parameters.work // n_families(n, k))
    folds = divided(dataset.row_weights, min(parameters.folds, most_folds), seed)
    totals: dict[float, float] = {}
    weight, done = 0.0, 0
    with SearchControl(time_limit).running() as control:
        search = _Search(seed, parameters, control)
        table = dataset if dataset.is_complete else search.completed(dataset)
        for fold in range(folds.n):
            rest = folds.part(table, folds.fold != fold)
            held_out = folds.part(dataset, folds.fold == fold)
            found = dict(search.log_likelihoods(rest, held_out, k))
            if done and control.is_over:
                break  # of the first fold, the values that were tried can be compared
            totals = {value: totals.get(value, 0.0) + own for value, own in found.items()}
            weight += float(held_out.row_weights.sum())
            done += 1
            if control.is_over:
                break
    if len(totals) < min(2, len(parameters.values)):
        return ESSChoice(BDeu.ess, {}, 0, k)
    per_row = {
        value: round(totals[value] / weight, TIES) for value in parameters.values if value in totals
    }
    most_likely = max(per_row.values())
    if most_likely == -inf:
        raise TooLargeError(
            "inference is too large in the networks by which the equivalent sample size is chosen "
            "where cells are missing: give it as a number"
        )
    best = [value for value, mean in per_row.items() if mean == most_likely]
    return ESSChoice(min(best, key=lambda value: abs(log(value))), per_row, done, k)


def _log_likelihood(network: BayesianNetwork, rows: Dataset) -> float:
    if rows.is_complete:
        return network.log_likelihood(rows)
    try:
        return rows.total(observed_log_likelihood_rows(network, rows))
    except TooLargeError:
        return -inf


@dataclass(frozen=True)
class _Search:
    """Finds networks until its control's search is over, then any."""

    seed: int
    parameters: ESSParameters
    control: SearchControl

    def log_likelihoods(
        self, rest: Dataset, held_out: Dataset, max_parents: int
    ) -> Iterator[tuple[float, float]]:
        """Yield each value that is tried in time, with the rows' log-likelihood: a total."""
        for value in self.parameters.in_order:
            network = fit_complete(rest, self.best_dag(rest, value, max_parents))
            log_likelihood = _log_likelihood(network, held_out)
            if self.control.is_over:
                return
            yield value, log_likelihood

    def completed(self, dataset: Dataset) -> Dataset:
        """Complete a table by a draw from the posterior of its best tree."""
        tree = self.best_dag(dataset, BDeu.ess, 1, DeletionCounts("d-mcar"))
        network = fit_em(dataset, tree, time_limit=self.control.remaining).model
        rng = np.random.default_rng(self.seed)
        return dataset.complete(draw_completions(network, dataset, 1, rng)[0])

    def best_dag(
        self, dataset: Dataset, ess: float, max_parents: int, counts: DeletionCounts | None = None
    ) -> Dag:
        """Return the best DAG that a short search over orders finds."""
        problem = candidate_parent_sets(
            dataset, BDeu(ess), max_parents=max_parents, counts=counts, control=self.control
        )
        return heuristic_network(
            problem,
            None,
            budget=self.parameters.budget,
            perturbations=self.parameters.perturbations,
            seed=self.seed,
            control=self.control,
        )[0]
