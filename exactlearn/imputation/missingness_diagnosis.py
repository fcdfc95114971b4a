"""What missing cells seem to depend on, and how parameters should be estimated from the rows.

The missingness graph of a table is learned in three steps. The imputer's
(:mod:`exactlearn.imputation.mechanism`) chooses for each variable whether its missing cells depend
on nothing, on other variables or on their own values, by the tree of Chow and Liu 1968 with
parameters by EM. It takes a sample of the rows, since what a network cannot express looks like
a dependence on the own value once rows are many. Where the causes may be observed, all fully
observed causes are then selected by BIC from all rows (:mod:`exactlearn.bayesnet.separators`).
Where they may not, EM with indicators judges by BIC between these, variables with missing cells
that the tests of the table (:mod:`exactlearn.imputation.missingness_tests`) find, and the own
value. That cannot be tested: the learned graph says so only where the rows are much more probable
with it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import log, prod
from typing import NamedTuple

import numpy as np

from exactlearn._runtime.arguments import checked_arguments
from exactlearn.bayesnet.em import fit_em
from exactlearn.bayesnet.indicators import fit_with_indicators
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.bayesnet.separators import learned_separators
from exactlearn.data.codes import MISSING
from exactlearn.data.dataset import Dataset, DatasetLike
from exactlearn.data.missingness_graph import MissingnessGraph
from exactlearn.imputation.mechanism import learned_missingness_graph
from exactlearn.imputation.missingness_tests import IndicatorTest
from exactlearn.pdg.learn.chow_liu import chow_liu_forest


@dataclass(frozen=True)
class DiagnosisParameters:
    """Tuning constants.

    Parameters
    ----------
    graph_rows
        Most rows that the dependence on own values is learned from.
    smoothing
        Pseudo-count of the parameters of networks.
    odds
        For each variable with missing cells, how many times as probable the rows must be when
        the missing cells of one depend on their own values, by BIC, to be taken to do so: this
        cannot be tested, and estimates are worse when it is wrong.
    suspects
        Variables with missing cells that are tried as the cause of another one's by EM.
    passes
        How often the causes are gone through with EM.
    """

    graph_rows: int = 10_000
    smoothing: float = 0.3
    odds: float = 20.0
    suspects: int = 2
    passes: int = 2


DEFAULTS = DiagnosisParameters()


@checked_arguments()
def diagnosed_missingness_graph(
    dataset: DatasetLike,
    tests: Sequence[IndicatorTest],
    rng: np.random.Generator,
    parameters: DiagnosisParameters = DEFAULTS,
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
    parameters
        Tuning constants.

    Raises
    ------
    TooLargeError
        When a variable has too many states.
    """
    sample = dataset.drawn(parameters.graph_rows, rng)
    network = _tree(sample, parameters.smoothing)
    graph = learned_missingness_graph(sample, [network], several=True)
    full = np.flatnonzero(~(dataset.codes == MISSING).any(axis=0) & (dataset.cardinalities > 1))
    dependent = {(test.indicator, test.variable) for test in tests}
    observed = {dataset.names[v] for v in full}
    causes: dict[str, tuple[str, ...]] = {}
    suspected: dict[str, list[str]] = {}
    for name, found in graph.causes.items():
        selected = learned_separators(dataset, dataset.names.index(name), full)
        separators = tuple(dataset.names[u] for u in sorted(selected))
        if {*found} <= observed:
            causes[name] = separators or found
        else:
            causes[name] = separators
            tested = sorted((t for t in tests if t.indicator == name), key=lambda t: -t.statistic)
            others = [t.variable for t in tested if t.variable not in observed]
            suspected[name] = [*others[: parameters.suspects], name]
        causes[name] = tuple(u for u in causes[name] if (name, u) in dependent)
    return _chosen_by_em(sample, network, replace(graph, causes=causes), suspected, parameters)


def _chosen_by_em(
    dataset: Dataset,
    network: BayesianNetwork,
    graph: MissingnessGraph,
    suspected: Mapping[str, Sequence[str]],
    parameters: DiagnosisParameters,
) -> MissingnessGraph:
    """Replace the causes of some variables, one after the other, by the one of the best BIC."""
    penalty = 0.5 * log(max(float(dataset.row_weights.sum()), 2.0))
    margin = log(parameters.odds * max(len(graph.causes), 1))

    def bic(one: MissingnessGraph) -> float:
        fit = fit_with_indicators(
            dataset, network.parents, one, smoothing=parameters.smoothing, tolerance=1e-5
        )
        families = one.parents(dataset.names)
        sizes = (prod(int(dataset.cardinalities[u]) for u in family) for family in families)
        own = sum(name in causes for name, causes in one.causes.items())
        return float(fit.log_likelihoods[-1]) - penalty * sum(sizes) - margin * own

    best = bic(graph) if suspected else 0.0
    for name, candidates in [*suspected.items()] * parameters.passes:
        for cause in candidates:
            other = replace(graph, causes={**graph.causes, name: (cause,)})
            if other != graph and (value := bic(other)) > best:
                graph, best = other, value
    return graph


def _tree(dataset: Dataset, smoothing: float) -> BayesianNetwork:
    """Return the tree of Chow and Liu with parameters by EM; edges pay for themselves by BIC."""
    codes = np.ascontiguousarray(dataset.codes, np.int16)
    rate = 0.5 * float(np.log(max(dataset.row_weights.sum(), 2.0)))
    forest = chow_liu_forest(codes, dataset.row_weights, dataset.cardinalities, rate)
    parents = tuple(() if parent < 0 else (int(parent),) for parent in forest)
    return fit_em(dataset, parents, smoothing=smoothing).model


def causes_in_words(graph: MissingnessGraph) -> dict[str, str]:
    """Return what the missing cells of each variable depend on, in words.

    Examples
    --------
    >>> causes_in_words(MissingnessGraph.parse("a <- b, a; c <- missing(a); d <-"))
    {'a': 'b, their own value', 'c': 'whether a is missing', 'd': 'nothing'}
    """
    return {
        name: ", ".join(
            [
                *(cause for cause in causes if cause != name),
                *(["their own value"] * (name in causes)),
                *(f"whether {u} is missing" for u in graph.indicator_causes.get(name, ())),
            ]
        )
        or "nothing"
        for name, causes in graph.causes.items()
    }


class Recommendation(NamedTuple):
    """How parameters should be estimated from incomplete rows.

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


FEW_ROWS = 1e7
"""Rows below which EM takes seconds; it was as accurate as deletion, or more so
(docs/deletion.md)."""


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
        return Recommendation(
            "complete", "", "no cell is missing: relative frequencies maximise the likelihood"
        )
    is_ignorable = graph.kind != "MNAR"
    text = "" if is_ignorable else str(graph)
    if float(dataset.row_weights.sum()) >= FEW_ROWS:
        method = {"MCAR": "f-mcar", "MAR": "d-mar"}.get(graph.kind, "graph")
        why = "a closed form takes one pass over so many rows where EM takes many"
    else:
        method, why = "em", "it uses every observed cell, and takes seconds"
        if not is_ignorable:
            why += " together with the probabilities that cells are missing"
    wrong = (
        "wrong where cells are missing because of their own or other missing values"
        if is_ignorable
        else "wrong where the graph lacks a cause"
    )
    return Recommendation(method, text, f"{why}; {wrong}")
