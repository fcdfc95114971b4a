r"""Tests of what missing cells depend on: each indicator against each other variable.

A missingness graph implies that the indicator R_v is independent of every variable u given its
causes, and so in the rows that observe u and the causes (available cases), unless whether u is
missing depends on R_v. Without a graph the indicators have no causes, and the tests are of data
missing completely at random. The statistic is that of the likelihood ratio,

.. math:: G = 2 \sum_{w, s, r} N_{wsr} \log \frac{N_{wsr} N_w}{N_{ws} N_{wr}} ,

with N_wsr the weight of the rows with configuration w of the causes, state s of u and indicator r.
Its p-value is that of the chi-squared distribution, with (states - 1) degrees of freedom for each
configuration; where an expected count is below five it is that of permutations of the indicator
within each configuration, for which the counts of the missing cells are multivariate
hypergeometric. All p-values are adjusted together for the false discovery rate (Benjamini and
Hochberg 1995, "Controlling the false discovery rate").

What a variable's missing cells would have been is unknown, so that no test of the rows alone can
tell whether they depend on their own values (self-masking).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy
from scipy.stats import chi2, false_discovery_control

from exactlearn._runtime.arguments import checked_arguments
from exactlearn.bayesnet.separators import indicator_counts
from exactlearn.data.codes import MISSING
from exactlearn.data.dataset import Dataset, DatasetLike
from exactlearn.data.missingness_graph import MissingnessGraph, as_missingness_graph


class IndicatorTest(NamedTuple):
    """A test of an indicator against another variable.

    Parameters
    ----------
    indicator
        The variable whose cells are missing.
    variable
        The variable that this may depend on.
    statistic
        The statistic G.
    degrees
        Degrees of freedom.
    rows
        Weight of the rows that observe what is tested.
    lowest, highest
        Smallest and largest share of missing cells among the states of the variable.
    permuted
        Whether the p-value is that of permutations.
    p_value
        The p-value.
    adjusted
        The p-value adjusted for all tests together.
    """

    indicator: str
    variable: str
    statistic: float
    degrees: int
    rows: float
    lowest: float
    highest: float
    permuted: bool
    p_value: float
    adjusted: float


@dataclass(frozen=True)
class TestParameters:
    """Tuning constants of the tests.

    Parameters
    ----------
    least_expected
        Smallest expected count for the chi-squared distribution.
    draws
        Permutations of each test that needs them.
    draws_per_test
        Permutations for each test of all, where the first ones leave the p-value small: the
        smallest p-value that they can give must pass the adjustment.
    most_draws
        Most permutations of a test.
    """

    __test__ = False  # pytest takes it for a class of tests

    least_expected: float = 5.0
    draws: int = 499
    draws_per_test: int = 40
    most_draws: int = 100_000


@checked_arguments(graph=as_missingness_graph)
def indicator_tests(
    dataset: DatasetLike,
    rng: np.random.Generator,
    graph: MissingnessGraph | None = None,
    parameters: TestParameters | None = None,
) -> tuple[IndicatorTest, ...]:
    """Test each indicator of a table against each other variable, given its causes.

    Parameters
    ----------
    dataset
        Table with missing cells; weights count as numbers of rows.
    rng
        Draws the permutations.
    graph
        Causes of the indicators; left out, they have none. Indicators that depend on their own
        variable cannot be tested, and are left out.
    parameters
        Tuning constants.

    Returns
    -------
    tuple of IndicatorTest
        By increasing p-value, then by decreasing statistic.

    Raises
    ------
    OptionError, DataError
        When the graph does not fit the table.
    """
    graph = _without_causes(dataset) if graph is None else graph
    graph.check_table(dataset)
    constants = parameters or TestParameters()
    tables = list(_tables(dataset, graph))
    draws = min(max(constants.draws, constants.draws_per_test * len(tables)), constants.most_draws)
    tests = [
        IndicatorTest(v, u, *_tested(counts, constants, draws, rng), np.nan)
        for v, u, counts in tables
    ]
    if not tests:
        return ()
    adjusted = false_discovery_control([test.p_value for test in tests])
    found = (t._replace(adjusted=float(p)) for t, p in zip(tests, adjusted, strict=True))
    return tuple(sorted(found, key=lambda test: (test.p_value, -test.statistic)))


def _without_causes(dataset: Dataset) -> MissingnessGraph:
    incomplete = (dataset.codes == MISSING).any(axis=0)
    return MissingnessGraph({dataset.names[v]: () for v in np.flatnonzero(incomplete)})


def _tables(
    dataset: Dataset, graph: MissingnessGraph
) -> Iterator[tuple[str, str, NDArray[np.float64]]]:
    """Yield indicator, variable and counts, shape (configurations, states, 2), of each test."""
    names = dataset.names
    is_missing = dataset.codes == MISSING
    partly = is_missing.any(axis=0)
    shifted: NDArray[np.integer] = dataset.codes + 1  # a missing cell has state 0
    width = int(dataset.cardinalities.max(initial=1)) + 1
    for name, causes in graph.causes.items():
        v = names.index(name)
        known = [names.index(cause) for cause in causes]
        if v in known or not partly[v]:
            continue
        others = [names.index(u) for u in graph.indicator_causes.get(name, ())]
        below = {names.index(u) for u in graph.variables if name in graph.indicator_ancestors([u])}
        columns = np.array(
            [u for u in range(len(names)) if u != v and u not in known and u not in below], np.int64
        )
        labels, n_labels = _configurations(shifted[:, known], is_missing[:, others])
        weights = dataset.row_weights * ~is_missing[:, known].any(axis=1)
        counts = indicator_counts(
            shifted, columns, labels, is_missing[:, v], weights, n_labels, width
        )[:, :, 1:]
        for u, table in zip(columns.tolist(), counts, strict=True):
            both = (table.sum(axis=1) > 0).all(axis=1)
            table = table[both][:, : dataset.cardinalities[u]]
            if ((table.sum(axis=2) > 0).sum(axis=1) > 1).any():
                yield name, names[u], table


def _configurations(
    states: NDArray[np.integer], missing: NDArray[np.bool_]
) -> tuple[NDArray[np.int32], int]:
    """Return the configuration of some columns in each row, and their number."""
    labels, number = np.zeros(len(states), np.int32), 1
    for column in (*states.T, *missing.T):
        keys = labels.astype(np.int64) * (int(column.max(initial=0)) + 1) + column
        found, inverse = np.unique(keys, return_inverse=True)
        labels, number = inverse.astype(np.int32), len(found)
    return labels, max(number, 1)


def _tested(
    counts: NDArray[np.float64], constants: TestParameters, draws: int, rng: np.random.Generator
) -> tuple[float, int, float, float, float, bool, float]:
    """Return the fields of a test from the statistic to the p-value."""
    states, indicator = counts.sum(axis=2), counts.sum(axis=1)
    totals = indicator.sum(axis=1)
    expected = states[:, :, None] * (indicator / totals[:, None])[:, None, :]
    statistic = max(0.0, 2 * float((xlogy(counts, counts) - xlogy(counts, expected)).sum()))
    degrees = int(((states > 0).sum(axis=1) - 1).sum())
    by_state = counts.sum(axis=0)
    rates = (
        by_state[:, 1][by_state.sum(axis=1) > 0] / by_state.sum(axis=1)[by_state.sum(axis=1) > 0]
    )
    fields = statistic, degrees, float(totals.sum()), float(rates.min()), float(rates.max())
    varying = expected[(states > 0) & ((states > 0).sum(axis=1, keepdims=True) > 1)]
    whole = bool((counts == np.rint(counts)).all())
    if varying.min() >= constants.least_expected or not whole:
        return *fields, False, float(chi2.sf(statistic, degrees))
    p_value = _permuted(counts, constants.draws, rng)
    if draws > constants.draws and p_value < 20 / constants.draws:
        p_value = _permuted(counts, draws, rng)
    return *fields, True, p_value


def _permuted(counts: NDArray[np.float64], draws: int, rng: np.random.Generator) -> float:
    """Return the share of permutations within each configuration whose statistic is as large."""
    drawn, observed = np.zeros(draws), 0.0
    for table in counts.astype(np.int64):
        states = table.sum(axis=1)
        if (states > 0).sum() < 2:
            continue
        # Margins are fixed, so that only the sum of n log n over the cells varies.
        missing = rng.multivariate_hypergeometric(states, table[:, 1].sum(), size=draws)
        drawn += (xlogy(missing, missing) + xlogy(states - missing, states - missing)).sum(axis=1)
        observed += float(xlogy(table, table).sum())
    as_large = int((drawn >= observed - 1e-9 * abs(observed)).sum())
    return (as_large + 1) / (draws + 1)
