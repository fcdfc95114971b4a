r"""Diagnosis of missing cells: their causes, and the estimator of parameters that these allow.

*Tests.* If cells are missing completely at random, the indicator R_v is independent of every
variable u in the rows that observe u (available cases). The statistic is that of the likelihood
ratio,

.. math:: G = 2 \sum_{s, r} N_{sr} \log \frac{N_{sr} N}{N_s N_r} ,

with N_sr the weight of the rows with state s of u and indicator r. Its p-value is that of the
chi-squared distribution, with (states - 1) degrees of freedom; where an expected count is below
five it is that of permutations of the indicator, for which the counts of the missing cells are
multivariate hypergeometric. All p-values are adjusted together for the false discovery rate
(Benjamini and Hochberg 1995, "Controlling the false discovery rate").

What a variable's missing cells would have been is unknown, so that no test of the rows alone can
tell whether they depend on their own values (self-masking).

*Graph.* The missingness graph of a table is learned in three steps. The imputer's
(:mod:`exactlearn.imputation.mechanism`) chooses for each variable whether its missing cells depend
on nothing, on other variables or on their own values, by the tree of Chow and Liu 1968 with
parameters by EM. It takes a sample of the rows, since what a network cannot express looks like
a dependence on the own value once rows are many. Where the causes may be observed, all fully
observed causes are then selected by BIC from all rows (:mod:`exactlearn.bayesnet.separators`).
Where they may not, EM with indicators judges by BIC between these, variables with missing cells
that the tests of the table find, and the own value. That cannot be tested: the learned graph says
so only where the rows are much more probable with it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import log, prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, xlogy

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.offsets import offsets
from exactlearn.bayesnet.em import fit_em, fit_with_indicators
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.bayesnet.separators import learned_separators
from exactlearn.data.codes import MISSING
from exactlearn.data.dataset import Dataset, DatasetLike
from exactlearn.data.indicators import one_hot
from exactlearn.data.missingness_graph import MissingnessGraph
from exactlearn.imputation.mechanism import learned_missingness_graph
from exactlearn.pdg.learn.starts import chow_liu_parents
from exactlearn.scoring.scores import total_weight

LEAST_EXPECTED = 5.0
"""Smallest expected count for the chi-squared distribution."""

DRAWS = 499
"""Permutations of each test that needs them."""

DRAWS_PER_TEST = 40
"""Permutations for each test of all, where the first ones leave the p-value small: the smallest
p-value that they can give must pass the adjustment."""

MAX_DRAWS = 100_000
"""Most permutations of a test."""

GRAPH_ROWS = 10_000
"""Most rows that the dependence on own values is learned from."""

SMOOTHING = 0.3
"""Pseudo-count of the parameters of networks."""

ODDS = 20.0
"""For each variable with missing cells, how many times as probable the rows must be when the
missing cells of one depend on their own values, by BIC, to be taken to do so: this cannot be
tested, and estimates are worse when it is wrong."""

SUSPECTS = 2
"""Variables with missing cells that are tried as the cause of another one's by EM."""

PASSES = 2
"""How often the causes are gone through."""

FEW_ROWS = 1e7
"""Rows below which EM takes seconds; it was as accurate as deletion, or more so
(docs/deletion.md)."""


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


@checked_arguments()
def indicator_tests(
    dataset: DatasetLike, rng: np.random.Generator
) -> tuple[IndicatorTest, ...]:
    """Test each indicator of a table against each other variable.

    Parameters
    ----------
    dataset
        Table with missing cells; weights count as numbers of rows.
    rng
        Draws the permutations.

    Returns
    -------
    tuple of IndicatorTest
        By increasing p-value, then by decreasing statistic.
    """
    tables = list(_tables(dataset))
    if not tables:
        return ()
    from scipy.stats import false_discovery_control  # takes long to import

    # As many permutations as the smallest p-value needs to pass the adjustment.
    draws = min(max(DRAWS, DRAWS_PER_TEST * len(tables)), MAX_DRAWS)
    tests = [_test(*table, draws, rng) for table in tables]
    adjusted = false_discovery_control([test.p_value for test in tests])
    for k, p_value in enumerate(adjusted.tolist()):
        tests[k] = tests[k]._replace(adjusted=p_value)
    return tuple(sorted(tests, key=lambda test: (test.p_value, -test.statistic)))


def _tables(dataset: Dataset) -> Iterator[tuple[str, str, NDArray[np.float64]]]:
    """Yield indicator, variable and counts by state and indicator, shape (states, 2)."""
    weights = dataset.row_weights[:, None]
    missing = dataset.codes == MISSING
    # All pairs by two products of matrices: (indicators x rows) times (rows x states).
    states = np.nan_to_num(one_hot(dataset))
    observed_counts = (~missing * weights).T @ states
    missing_counts = (missing * weights).T @ states
    counts = np.stack([observed_counts, missing_counts], axis=-1)
    first = offsets(dataset.cardinalities)
    for v in np.flatnonzero(missing.any(axis=0)).tolist():
        for u in range(dataset.n_variables):
            table = counts[v, first[u] : first[u + 1]]
            # States that never occur add no degrees of freedom; a constant row or
            # column tests nothing.
            table = table[table.sum(axis=1) > 0]
            if u != v and len(table) > 1 and (table.sum(axis=0) > 0).all():
                yield dataset.names[v], dataset.names[u], table


def _test(
    indicator: str,
    variable: str,
    counts: NDArray[np.float64],
    draws: int,
    rng: np.random.Generator,
) -> IndicatorTest:
    """Return the test of an indicator against a variable, not yet adjusted.

    Parameters
    ----------
    indicator, variable
        Their names.
    counts
        Weight of the rows by state and indicator, shape (states, 2).
    draws
        Permutations where the first `DRAWS` leave the p-value small.
    rng
        Draws the permutations.
    """
    states = counts.sum(axis=1)
    total = float(counts.sum())
    # Expected counts under independence, and twice the divergence from these.
    expected = states[:, None] * (counts.sum(axis=0) / total)
    divergence = float((xlogy(counts, counts) - xlogy(counts, expected)).sum())
    rates = counts[:, 1] / states
    statistic = max(0.0, 2 * divergence)
    degrees = len(counts) - 1
    is_fractional = (counts != np.rint(counts)).any()
    is_permuted = bool(expected.min() < LEAST_EXPECTED and not is_fractional)
    p_value = float(chdtrc(degrees, statistic))
    # Small expected counts: few permutations first, more where they leave it open.
    if is_permuted:
        p_value = _permuted(counts, DRAWS, rng)
        if draws > DRAWS and p_value < 20 / DRAWS:
            p_value = _permuted(counts, draws, rng)
    return IndicatorTest(
        indicator=indicator,
        variable=variable,
        statistic=statistic,
        degrees=degrees,
        rows=total,
        lowest=float(rates.min()),
        highest=float(rates.max()),
        permuted=is_permuted,
        p_value=p_value,
        adjusted=np.nan,
    )


def _permuted(
    counts: NDArray[np.float64],
    draws: int,
    rng: np.random.Generator,
) -> float:
    """Return the share of permutations whose statistic is as large."""
    table = counts.astype(np.int64)
    states = table.sum(axis=1)
    # Margins are fixed, so that only the sum of n log n over the cells varies.
    missing = rng.multivariate_hypergeometric(states, table[:, 1].sum(), size=draws)
    observed = states - missing
    drawn = (xlogy(missing, missing) + xlogy(observed, observed)).sum(axis=1)
    statistic = float(xlogy(table, table).sum())
    as_large = int((drawn >= statistic - 1e-9 * abs(statistic)).sum())
    return (as_large + 1) / (draws + 1)


@checked_arguments()
def diagnosed_missingness_graph(
    dataset: DatasetLike,
    tests: Sequence[IndicatorTest],
    rng: np.random.Generator,
) -> MissingnessGraph:
    """Learn what the missing cells of each variable depend on, quickly.

    Parameters
    ----------
    dataset
        Table with missing cells.
    tests
        Tests that find a dependence; other variables are no causes.
    rng
        Draws the sample of the rows.

    Raises
    ------
    TooLargeError
        When a variable has too many states.
    """
    sample = dataset.drawn(GRAPH_ROWS, rng)
    network = _tree(sample)
    graph = learned_missingness_graph(sample, [network])
    is_full = (dataset.codes != MISSING).all(axis=0)
    full = np.flatnonzero(is_full & (dataset.cardinalities > 1))
    full_names = {dataset.names[v] for v in full}
    causes: dict[str, tuple[str, ...]] = {}
    suspected: dict[str, list[str]] = {}
    for name, own_causes in graph.causes.items():
        by_statistic = sorted(
            (test for test in tests if test.indicator == name),
            key=lambda test: -test.statistic,
        )
        dependent = [test.variable for test in by_statistic]
        # Causes without missing cells, from all rows.
        selected = learned_separators(dataset, dataset.index(name), full)
        separators = tuple(dataset.names[u] for u in sorted(selected))
        if {*own_causes} <= full_names:
            separators = separators or own_causes
        else:
            incomplete = [u for u in dependent if u not in full_names]
            suspected[name] = [*incomplete[:SUSPECTS], name]
        causes[name] = tuple(u for u in separators if u in dependent)
    return _chosen_by_em(sample, network, replace(graph, causes=causes), suspected)


def _chosen_by_em(
    dataset: Dataset,
    network: BayesianNetwork,
    graph: MissingnessGraph,
    suspected: Mapping[str, Sequence[str]],
) -> MissingnessGraph:
    """Replace the causes of some variables, one after the other, by the one of the best BIC."""
    if not suspected:
        return graph
    penalty = 0.5 * log(max(total_weight(dataset), 2.0))
    margin = log(ODDS * max(len(graph.causes), 1))

    def bic(candidate: MissingnessGraph) -> float:
        fit = fit_with_indicators(
            dataset,
            network.parents,
            candidate,
            smoothing=SMOOTHING,
            tolerance=1e-5,
        )
        # BIC: a probability for each configuration of an indicator's causes, and the prior odds.
        n_parameters = 0
        for family in candidate.parents(dataset.names):
            n_parameters += prod(dataset.cardinalities[[*family]].tolist())
        n_own = sum(name in causes for name, causes in candidate.causes.items())
        log_likelihood = float(fit.log_likelihoods[-1])
        return log_likelihood - penalty * n_parameters - margin * n_own

    best = bic(graph)
    # One cause after the other, as long as BIC rises.
    for name, suspects in [*suspected.items()] * PASSES:
        for cause in suspects:
            candidate = replace(graph, causes={**graph.causes, name: (cause,)})
            if candidate != graph and (value := bic(candidate)) > best:
                graph = candidate
                best = value
    return graph


def _tree(dataset: Dataset) -> BayesianNetwork:
    """Return the tree of Chow and Liu with parameters by EM; edges pay for themselves by BIC."""
    rate = 0.5 * float(np.log(max(total_weight(dataset), 2.0)))
    return fit_em(dataset, chow_liu_parents(dataset, rate), smoothing=SMOOTHING).model


class Recommendation(NamedTuple):
    """Recommended estimator of parameters from incomplete rows.

    Attributes
    ----------
    method
        A method of ``exactlearn fit``; ``graph`` for the formulas of a missingness graph.
    missingness
        The missingness graph that the method takes; empty for none.
    why
        Why this one, and what would make its estimates wrong.
    """

    method: str
    missingness: str
    why: str


def recommendation(dataset: Dataset, graph: MissingnessGraph) -> Recommendation:
    """Recommend an estimator for the parameters of a network, in one sentence.

    Parameters
    ----------
    dataset
        The table.
    graph
        What missing cells depend on.
    """
    if dataset.is_complete:
        why = "no cell is missing: relative frequencies maximise the likelihood"
        return Recommendation("complete", "", why)
    # Under MNAR the likelihood is that of the missingness graph, too.
    is_ignorable = graph.kind != "MNAR"
    method = "em"
    why = "it uses every observed cell, and takes seconds"
    if total_weight(dataset) >= FEW_ROWS:
        method = {"MCAR": "f-mcar", "MAR": "d-mar"}.get(graph.kind, "graph")
        why = "a closed form takes one pass over so many rows where EM takes many"
    elif not is_ignorable:
        why += " together with the probabilities that cells are missing"
    if is_ignorable:
        wrong = "where cells are missing because of their own or other missing values"
        return Recommendation(method, "", f"{why}; wrong {wrong}")
    return Recommendation(
        method,
        str(graph),
        f"{why}; wrong where the graph lacks a cause",
    )
