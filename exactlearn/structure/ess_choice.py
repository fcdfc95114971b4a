r"""The equivalent sample size of BDeu by cross-validation.

The network of the highest BDeu score depends on the equivalent sample size (ess): a larger one
means more arcs. No value is best for all tables (Silander, Kontkanen and Myllymaki 2007, "On
sensitivity of the MAP Bayesian network structure to the equivalent sample size parameter"), and the
evidence, the score itself maximised over the ess, is a worse guide than held-out rows
(docs/equivalent-sample-size.md). So the rows are divided into folds at random; for each value, a
network is learnt without the rows of each fold, and judged by the log-likelihood of the observed
cells of these rows, with the parameters that `fit` estimates by default. The smallest value is
chosen whose mean log-likelihood is within one standard error of the best one's, by the differences
row by row (Breiman et al. 1984, "Classification and Regression Trees", section 3.4.3).

The networks are those that a short search over orders finds. Where cells are missing, it maximises
the score of the counts that :func:`~exactlearn.structure.learning.learn` uses: expected ones, under
a network that structural EM learns without the rows of the fold, or those of a deletion estimator.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.control import LOG, SearchControl, is_interrupted
from exactlearn._runtime.display import Displayed
from exactlearn.augmentation.starts import heuristic_network
from exactlearn.bayesnet.complete_data import SMOOTHING
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.bayesnet.smoothing_choice import as_good_as_best, divided
from exactlearn.data.dataset import Dataset, DatasetLike
from exactlearn.errors import OptionError, TooLargeError, as_written
from exactlearn.scoring.candidates import candidate_parent_sets, n_families
from exactlearn.scoring.deletion_enumeration import DeletionCounts
from exactlearn.scoring.expected_counts import ExpectedCounts
from exactlearn.scoring.scores import BDeu
from exactlearn.structure.learned_counts import learned_counts
from exactlearn.structure.selection import Counts, fitted_network

ESS_SHARE = 0.3
"""Share of a time limit in which the equivalent sample size is chosen."""


@dataclass(frozen=True)
class ESSParameters:
    """Constants of the choice of the equivalent sample size.

    Parameters
    ----------
    values
        Equivalent sample sizes to try.
    folds, incomplete_folds
        Parts that the rows are divided into, and of a table with missing cells, as structural EM
        learns without each.
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
    incomplete_folds: int = 5
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
"""Decimals of a row's log-likelihood beyond which values are equal."""


@dataclass(frozen=True, repr=False)
class ESSChoice(Displayed, shown="reason"):
    """The smallest equivalent sample size whose networks predict held-out rows as well as any.

    Parameters
    ----------
    ess
        The equivalent sample size: the smallest value within one standard error of the best.
    log_likelihood
        Of the observed cells of the rows of all folds done, per row, natural logarithm, each under
        the network learnt without the row's fold: for each value tried, in increasing order. Minus
        infinity where cells are missing and inference in a network is too large to judge it.
    folds
        Folds that these values were tried on before the time limit, or an interrupt; 0 where the
        value is the default, since no two values were compared.
    max_parents
        Most parents of the networks.

    Examples
    --------
    >>> import exactlearn as el
    >>> choice = ESSChoice(4.0, {1.0: -2.31, 4.0: -2.25, 16.0: -2.24}, folds=10, max_parents=3)
    >>> choice.best, choice.to_dict()["value"]
    (16.0, 4.0)
    >>> print(choice.reason)
    equivalent sample size 4: the smallest of 1, 4, 16 whose networks predict held-out rows as well
    as those of 16, the best, up to one standard error
    """

    ess: float
    log_likelihood: Mapping[float, float]
    folds: int
    max_parents: int

    @property
    def best(self) -> float:
        """The value of the largest log-likelihood, the smallest of equal ones."""
        return max(self.log_likelihood, key=self.log_likelihood.__getitem__, default=self.ess)

    @property
    def reason(self) -> str:
        """Why this value, in one sentence."""
        if not self.folds:
            return (
                f"equivalent sample size {self.ess:g}, the default, as the time was too short to "
                "compare two values; an equal call may have the time and choose another: give more "
                f"time, or a number ({as_written('ess', 1)})"
            )
        tried = ", ".join(f"{value:g}" for value in self.log_likelihood)
        if self.ess == self.best:
            return (
                f"equivalent sample size {self.ess:g}: of {tried} its networks predict held-out "
                "rows best, and no smaller one comes within one standard error"
            )
        return (
            f"equivalent sample size {self.ess:g}: the smallest of {tried} whose networks predict "
            f"held-out rows as well as those of {self.best:g}, the best, up to one standard error"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the choice for a record."""
        tried = {
            f"{value:g}": None if found == -inf else found
            for value, found in self.log_likelihood.items()
        }
        return {
            "value": self.ess,
            "reason": self.reason,
            "held_out_log_likelihood_per_row": tried,
            "folds": self.folds,
            "max_parents": self.max_parents,
        }


@checked_arguments()
def choose_ess(
    dataset: DatasetLike,
    *,
    max_parents: int | None = 3,
    counts: Counts = "expected",
    seed: int = 0,
    time_limit: float | None = None,
    parameters: ESSParameters = DEFAULTS,
) -> ESSChoice:
    """Return the smallest equivalent sample size whose networks predict held-out rows well.

    That is the smallest value within one standard error of the best.

    Parameters
    ----------
    dataset
        Table with or without missing cells; rows count by their weights.
    max_parents
        Largest number of parents, or ``None`` for no limit; the choice may take fewer
        (``parameters.most_families``), and 3 without a limit.
    counts
        Where cells are missing, what networks are learned from: ``expected``, or the name of a
        deletion estimator, as ``missing`` of :func:`~exactlearn.structure.learning.learn`.
    seed
        Of the division into folds, the searches, and the expected counts.
    time_limit
        Seconds; when they are over, the folds done so far count, of the first one the values.
    parameters
        Values to try and tuning constants.

    Raises
    ------
    DataError
        If there are fewer than two rows.
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
    wanted = parameters.folds if dataset.is_complete else parameters.incomplete_folds
    folds = divided(dataset.row_weights, min(wanted, most_folds), seed)
    rows: dict[float, list[NDArray[np.float64]]] = {}
    weights: list[NDArray[np.float64]] = []
    with SearchControl(time_limit).running() as control:
        search = _Search(k, counts, seed, parameters, control)
        for fold in range(folds.n):
            rest = folds.part(dataset, folds.fold != fold)
            held_out = folds.part(dataset, folds.fold == fold)
            found = dict(search.log_likelihoods(rest, held_out))
            if weights and control.is_over:
                break  # of the first fold, the values that were tried can be compared
            rows = {value: [*rows.get(value, ()), own] for value, own in found.items()}
            weights.append(held_out.row_weights)
            if control.is_over:
                break
    if len(rows) < min(2, len(parameters.values)):
        return ESSChoice(BDeu.ess, {}, 0, k)
    values, weight = sorted(rows), np.concatenate(weights)
    logs = np.array([np.concatenate(rows[value]) for value in values]).round(TIES)
    per_row = logs @ weight / weight.sum()
    judged = np.isfinite(per_row)
    if not judged.any():
        raise TooLargeError(
            "inference is too large in the networks by which the equivalent sample size is chosen "
            "where cells are missing: give it as a number"
        )
    smallest = np.flatnonzero(judged)[as_good_as_best(logs[judged], weight).argmax()]
    means = dict(zip(values, per_row.round(TIES).tolist(), strict=True))
    return ESSChoice(values[smallest], means, len(weights), k)


def chosen_ess(
    dataset: Dataset,
    ess: float | Literal["auto"],
    *,
    score: str,
    max_parents: int | None,
    counts: Counts = "expected",
    seed: int,
    time_limit: float | None,
) -> tuple[float, ESSChoice | None]:
    """Choose the equivalent sample size where it is to be chosen.

    Parameters
    ----------
    dataset
        What is learned from.
    ess
        A number or ``auto``.
    score
        Name of the score.
    max_parents, counts, seed
        As for :func:`choose_ess`.
    time_limit
        Seconds for all that is learned; a share of them is for the choice.

    Returns
    -------
    ess, choice
        The equivalent sample size, and how it was chosen; ``None`` where it was given.

    Raises
    ------
    OptionError
        When the score has no equivalent sample size.
    KeyboardInterrupt
        After Ctrl-C, unless it ends a search that this is a part of.
    """
    if ess != "auto":
        return ess, None
    if score != BDeu.name:
        raise OptionError(
            f"{as_written('ess', 'auto')} is for {as_written('score', 'bdeu')}, found "
            f"{score!r}; leave one of the two out"
        )
    with SearchControl().running() as control:
        LOG.info("choosing the equivalent sample size")
        choice = choose_ess(
            dataset,
            max_parents=max_parents,
            counts=counts,
            seed=seed,
            time_limit=None if time_limit is None else ESS_SHARE * time_limit,
        )
    if control.is_stopped and not is_interrupted():
        raise KeyboardInterrupt
    return choice.ess, choice


def _log_likelihood_rows(network: BayesianNetwork, rows: Dataset) -> NDArray[np.float64]:
    try:
        return network.log_likelihood_rows(rows)
    except TooLargeError:
        return np.full(rows.n_rows, -inf)


@dataclass(frozen=True)
class _Search:
    """Finds networks until its control's search is over, then any."""

    max_parents: int
    counts: Counts
    seed: int
    parameters: ESSParameters
    control: SearchControl

    def log_likelihoods(
        self, rest: Dataset, held_out: Dataset
    ) -> Iterator[tuple[float, NDArray[np.float64]]]:
        """Yield each value that is tried in time, with the log-likelihood of each row held out."""
        counts = self.estimated(rest)
        for value in self.parameters.in_order:
            if isinstance(counts, ExpectedCounts) and not counts.finished:
                return
            network = self.network(rest, value, counts)
            log_likelihoods = _log_likelihood_rows(network, held_out)
            if self.control.is_over:
                return
            yield value, log_likelihoods

    def estimated(self, rest: Dataset) -> DeletionCounts | ExpectedCounts | None:
        """Return the counts of families with missing cells."""
        if rest.is_complete:
            return None
        if self.counts != "expected":
            return DeletionCounts(self.counts)
        limit = self.control.remaining
        found = learned_counts(rest, max_parents=self.max_parents, seed=self.seed, time_limit=limit)
        return found.counts

    def network(
        self, rest: Dataset, ess: float, counts: DeletionCounts | ExpectedCounts | None
    ) -> BayesianNetwork:
        """Return the best network that a short search over orders finds, fitted."""
        problem = candidate_parent_sets(
            rest, BDeu(ess), max_parents=self.max_parents, counts=counts, control=self.control
        )
        parents, _ = heuristic_network(
            problem,
            None,
            budget=self.parameters.budget,
            perturbations=self.parameters.perturbations,
            seed=self.seed,
            control=self.control,
        )
        limit = self.control.remaining
        how: dict[str, Any] = {"smoothing": SMOOTHING, "counts": self.counts}
        return fitted_network(rest, parents, time_limit=limit, **how)[0]
