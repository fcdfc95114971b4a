"""The posterior over all networks and all completions of an incomplete table.

The probability of the data and a network is the sum of ``exp(score)`` over all completions of the
missing cells: the table is taken as if it had been drawn complete, and cells hidden whatever they
hold. The sums are exact where there are few completions: one after the other, in an order in which
one row changes at a time, so that few tables of families change
(:mod:`exactlearn.scoring.incremental_tables`). Rows that are equal, missing cells included, are
exchangeable: their completions count as multisets, each as often as its rows can be ordered.

Where there are too many, some are drawn (:mod:`exactlearn.structure.completion_sampling`).
"""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations_with_replacement, product
from math import comb, factorial, log, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

from exactlearn._runtime.control import SearchControl
from exactlearn._runtime.executors import in_order, n_threads
from exactlearn._runtime.tolerance import TOLERANCE
from exactlearn.augmentation.families import Families, FamilyRules
from exactlearn.augmentation.family_store import FamilyStore
from exactlearn.data.dataset import Dataset
from exactlearn.scoring.prior import with_prior
from exactlearn.scoring.scores import score_tolerance
from exactlearn.scoring.terms import TermTables
from exactlearn.solvers.parent_set_sums import POWERS, add_probabilities
from exactlearn.solvers.posterior import (
    MAX_ERROR,
    SelectionPosterior,
    ancestor_probabilities,
    parents_as_bits,
    posterior_of_selections,
    require_sums,
)
from exactlearn.solvers.problem import Problem
from exactlearn.solvers.sums import split_weights, sum_over_dags, sums_of_stretches
from exactlearn.structure.network_distribution import (
    Parents,
    SummedNetworks,
    unfinished,
)
from exactlearn.structure.selection import Scoring

MAX_PIECE = 256
"""Most completions between two counts of all tables."""

PIECE_PAIRS = 2_000_000
"""Pairs of sets between two looks at the clock, about: some .1 s."""

OVERHEAD = 2_000
"""Pairs of sets that take as long as what each completion takes beside them."""

MAX_ROWS = 1e6
"""Total weight up to which rows are written out by default."""

AVERAGES = {"auto": 7e8, "average": 4e9}
"""Pairs of sets, for all completions, up to which each way sums: 15 and 90 seconds of two cores."""


def counts_for(missing: Any) -> Any:
    """Return the counts that stand in where a way to average is too much."""
    return "expected" if missing in AVERAGES else missing


@dataclass(frozen=True, eq=False)
class RowClass:
    """Equal rows with missing cells.

    Parameters
    ----------
    cells
        Numbers of their missing cells, shape (rows, cells of a row).
    n_states
        Number of states of each cell of a row.
    """

    cells: NDArray[np.int64]
    n_states: list[int]

    @property
    def n_completions(self) -> int:
        """Number of completions: multisets of those of a row."""
        n_rows = len(self.cells)
        return comb(prod(self.n_states) + n_rows - 1, n_rows)

    @cached_property
    def completions(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The states of all cells in each completion, and logs of numbers of orders."""
        of_row = product(*map(range, self.n_states))
        completions = [*combinations_with_replacement(of_row, len(self.cells))]
        log_orders = []
        for completion in completions:
            repeats = prod(map(factorial, Counter(completion).values()))
            log_orders.append(log(factorial(len(completion)) // repeats))
        return np.reshape(completions, (len(completions), -1)), np.array(log_orders)


def row_classes(dataset: Dataset) -> list[RowClass]:
    """Return the classes of equal rows with missing cells."""
    rows, variables = dataset.missing_cells.T
    by_codes: dict[bytes, list[int]] = {}
    for cell, row in enumerate(rows):
        by_codes.setdefault(dataset.codes[row].tobytes(), []).append(cell)
    classes = []
    for cells in by_codes.values():
        by_row = np.reshape(cells, (len(np.unique(rows[cells])), -1))
        n_states = dataset.cardinalities[variables[by_row[0]]]
        classes.append(RowClass(by_row, n_states.tolist()))
    return classes


def n_completions(classes: Sequence[RowClass]) -> int:
    """Return the number of completions of a table."""
    return prod(row_class.n_completions for row_class in classes)


def completions(
    classes: Sequence[RowClass], numbers: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the states of all cells in some completions, and logs of numbers of orders.

    Numbers are reflected Gray codes: neighbours differ in one class only.
    """
    n_cells = sum(row_class.cells.size for row_class in classes)
    values = np.zeros((len(numbers), n_cells), np.int64)
    log_orders = np.zeros(len(numbers))
    for row_class in classes:
        states, log_orders_of_class = row_class.completions
        numbers, digit = np.divmod(numbers, len(states))
        digit = np.where(numbers % 2 == 1, len(states) - 1 - digit, digit)
        values[:, row_class.cells.ravel()] = states[digit]
        log_orders += log_orders_of_class[digit]
    return values, log_orders


@dataclass(frozen=True, eq=False)
class CompletedFamilies:
    """The families of an incomplete table, and sums over all networks under its completions.

    Parameters
    ----------
    dataset
        The table, without weights.
    families, problem
        The families of all networks that are allowed, and the same with the logarithms of their
        priors for scores.
    tables
        The score, tabulated for the table.
    """

    dataset: Dataset
    families: Families
    problem: Problem
    tables: TermTables

    @classmethod
    def of(cls, scoring: Scoring) -> "CompletedFamilies":
        """Return those of a scoring.

        Raises
        ------
        OptionError, InfeasibleError
            When a constraint concerns the whole network, or no network satisfies them all.
        DataError
            When the weight of a row is no whole number.
        """
        dataset = scoring.dataset.written_out()
        families = Families.allowed(dataset.names, FamilyRules.of(scoring.max_parents))
        problem = replace(
            families.flat,
            required=scoring.required,
            forbidden=scoring.forbidden,
            constraints=scoring.constraints,
        )
        require_sums(problem)
        families = families.take(problem.allowed)
        tables = TermTables(scoring.score, dataset.cardinalities, dataset.row_weights)
        return cls(dataset, families, with_prior(families.flat, scoring.prior), tables)

    def scores(
        self, values: NDArray[np.int64], some: Any = slice(None)
    ) -> NDArray[np.float64]:
        """Return the scores of all families, or of some, under completions, with the prior."""
        log_prior = self.problem.scores[some]
        return np.asarray(self.store(values[0], some).scores_under(values) + log_prior)

    def store(self, values: NDArray[np.int64], some: Any = slice(None)) -> FamilyStore:
        """Return all families, or some, tabulated under a completion, shape (cells,)."""
        families = self.families.take(some)
        return FamilyStore.of(self.dataset, values, self.tables, families)

    def average(
        self, values: NDArray[np.int64], log_orders: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], ...]:
        """Return the averages over some completions.

        Parameters
        ----------
        values, log_orders
            States of all cells, shape (completions, cells), and logs of numbers of orders.

        Returns
        -------
        log_weights
            Logarithm of the sum over all networks under each completion, shape (completions,).
        scores, candidates, non_descendants, cells
            Score and probability of each family, and probabilities of each set to be all that do
            not descend from a variable and of each state of each cell, averaged by these weights.
        """
        scores = self.scores(values)
        first = self.problem.first
        parents = parents_as_bits(self.problem, np.arange(self.problem.n_variables))
        log_weights = log_orders.copy()
        candidates = np.zeros_like(scores)
        non_descendants = []
        for k, weights in enumerate(zip(*split_weights(scores), strict=True)):
            stretches = (first[:-1], first[1:], parents, *weights)
            sums = sums_of_stretches(*stretches)
            part = sum_over_dags(sums, np.diff(first), threads=1)
            assert part is not None  # no clock ends it
            log_weights[k] += part.log_sum
            non_descendants.append(part.non_descendants * sums.high)
            # overwrites the sums over sets of non-descendants
            add_probabilities(
                *stretches, sums.exponent, part.non_descendants, POWERS, candidates[k]
            )
        proportions = softmax(log_weights)
        is_state = values[..., None] == np.arange(self.dataset.cardinalities.max())
        averaged = (scores, candidates, non_descendants, is_state)
        return log_weights, *(np.tensordot(proportions, x, 1) for x in averaged)

    def networks(self, values: NDArray[np.int64]) -> SummedNetworks:
        """Return the posterior over all networks under one completion, shape (1, cells)."""
        selections = posterior_of_selections(
            replace(self.problem, scores=self.scores(values)[0])
        )
        assert selections is not None  # without a limit
        return SummedNetworks(selections)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class CompletionAverage(SummedNetworks, shown="status log_evidence error"):
    """The posterior over networks, averaged over completions.

    Parameters
    ----------
    selections
        Probabilities of parent sets, arcs and ancestors.
    families
        The families of the table.
    listed
        Returns, for numbers of completions, the states of all cells, shape (numbers, cells), and
        logarithms of weights: the weight times ``exp(score)`` is what the completion adds to the
        probability of a network.
    proportions
        Probability of each completion, shape (completions,).
    cell_figures
        The ``probability`` of each state of each missing cell, shape (cells, most states); sampled,
        with its standard ``error``.
    pair_figures
        Figures of the certainty of estimates by name, shape (n, n); empty for sums.
    """

    families: CompletedFamilies
    listed: Callable[[NDArray[np.int64]], tuple[NDArray[np.int64], NDArray[np.float64]]]
    proportions: NDArray[np.float64]
    cell_figures: dict[str, NDArray[np.float64]]
    pair_figures: dict[str, NDArray[np.float64]]

    @property
    def diagnostics(self) -> dict[str, NDArray[np.float64]]:
        """Figures of the certainty of estimates by name, shape (n, n); empty for sums."""
        return self.pair_figures

    def mass(self, networks: Sequence[Parents]) -> float:
        """Return the probability that some different networks have together."""
        problem = self.families.problem
        selections = np.array([*map(problem.selection, networks)])
        selections = selections[(selections >= 0).all(axis=1)]
        needed, places = np.unique(selections, return_inverse=True)
        places = places.reshape(selections.shape)
        total = 0.0
        for numbers in _pieces(len(self.proportions), problem.n_variables):
            values, log_weights = self.listed(numbers)
            scores = self.families.scores(values, needed)[:, places].sum(axis=2)
            total += float(np.exp(scores + log_weights[:, None]).sum())
        return total

    def probability(self, parents: Parents) -> float:
        """Return the probability of one network; 0 where it is not allowed."""
        return self.mass([parents])

    def draw(
        self, n: int, rng: np.random.Generator
    ) -> list[tuple[tuple[int, ...], ...]]:
        """Return the parents of each variable in ``n`` networks drawn independently."""
        drawn = []
        for number in rng.choice(len(self.proportions), n, p=self.proportions):
            values, _ = self.listed(np.array([number]))
            drawn += self.families.networks(values).draw(1, rng)
        return drawn


def _pieces(n_completions: int, n_variables: int) -> list[NDArray[np.int64]]:
    """Return the numbers of all completions in pieces that take a fraction of a second."""
    size = max(1, min(MAX_PIECE, PIECE_PAIRS // 3**n_variables))
    numbers = np.arange(n_completions)
    return np.split(numbers, numbers[size::size])


def average_over_completions(
    scoring: Scoring,
    way: str,
    control: SearchControl,
    on_progress: Callable[[float], None],
) -> CompletionAverage | None:
    """Return the posterior over networks, averaged over completions; ``None`` if that is too much.

    It is too much where it takes too long, or rounding may change a probability by more than 1e-6,
    as with some ten thousands of rows.

    Parameters
    ----------
    scoring
        The incomplete table, its score, and what every network satisfies.
    way
        How much is affordable: ``average``, or less by ``auto``.
    control
        The clock.
    on_progress
        Called with the proportion that is done.

    Raises
    ------
    OptionError, InfeasibleError, DataError
        As :meth:`CompletedFamilies.of`.
    TooLargeError
        When the control ends the sums.
    """
    weights = scoring.dataset.row_weights
    if way == "auto" and (weights.sum() > MAX_ROWS or (weights % 1).any()):
        return None
    families = CompletedFamilies.of(scoring)
    classes = row_classes(families.dataset)
    number = n_completions(classes)
    n = families.problem.n_variables
    is_affordable = number * (3**n + OVERHEAD) <= AVERAGES[way]
    if not is_affordable or _error(families, classes) > MAX_ERROR:
        return None
    return _averaged(families, classes, control, on_progress)


def _error(families: CompletedFamilies, classes: list[RowClass]) -> float:
    """Return a bound on the error of a probability by rounding.

    Scores follow the changes of cells within a piece; the sums themselves lose next to nothing.
    """
    n_changes = MAX_PIECE * max(row_class.cells.size for row_class in classes)
    tolerance = score_tolerance(families.problem.n_variables, families.dataset.n_rows)
    return n_changes * (tolerance - TOLERANCE)


def _averaged(
    families: CompletedFamilies,
    classes: list[RowClass],
    control: SearchControl,
    on_progress: Callable[[float], None],
) -> CompletionAverage:
    """Return the average over all completions."""
    pieces = _pieces(n_completions(classes), families.problem.n_variables)

    def work(piece: int, space: None) -> tuple[NDArray[np.float64], ...]:
        return families.average(*completions(classes, pieces[piece]))

    averages = []
    with closing(
        in_order(work, len(pieces), lambda: None, n_threads(None))
    ) as work_done:
        for average in work_done:
            averages.append(average)
            on_progress(len(averages) / len(pieces))
            if not control.goes_on():
                raise unfinished("the sums over all completions", control)
    # the averages of all pieces, by their weights
    by_piece, *averaged = zip(*averages, strict=True)
    of_pieces = softmax([*map(logsumexp, by_piece)])
    scores, candidates, non_descendants, cells = (
        np.tensordot(of_pieces, values, 1) for values in averaged
    )
    # cells of equal rows have equal probabilities
    for row_class in classes:
        cells[row_class.cells] = cells[row_class.cells].mean(axis=0)
    log_weights = np.concatenate(by_piece)
    log_evidence = float(logsumexp(log_weights))

    def listed(
        numbers: NDArray[np.int64],
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        values, log_orders = completions(classes, numbers)
        return values, log_orders - log_evidence

    return CompletionAverage(
        selections=SelectionPosterior(
            problem=replace(families.problem, scores=scores),
            parts=(),
            log_sum=log_evidence,
            candidates=candidates,
            arcs=families.problem.sum_by_arc(candidates),
            ancestors=ancestor_probabilities(non_descendants),
            error=_error(families, classes),
        ),
        families=families,
        listed=listed,
        proportions=softmax(log_weights),
        cell_figures={"probability": cells},
        pair_figures={},
        status="exact over completions",
    )
