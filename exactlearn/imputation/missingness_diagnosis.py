"""What missing cells seem to depend on, and how parameters should be estimated from the rows.

The missingness graph of a table is learned in three steps. The imputer's
(:mod:`exactlearn.imputation.mechanism`) chooses for each variable whether its missing cells depend
on nothing, on other variables or on their own values, by a network: a given one with parameters
from available cases, which dependence on own values does not bias, or the tree of Chow and Liu 1968
with parameters by EM. It takes a sample of the rows, since what a network cannot express looks like
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
from shlex import quote

import numpy as np

from exactlearn._runtime.arguments import ParentsLike, checked_arguments
from exactlearn.bayesnet.complete_data import fit_available_cases
from exactlearn.bayesnet.em import fit_em
from exactlearn.bayesnet.indicators import fit_with_indicators
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.bayesnet.recoverability import recoverability
from exactlearn.bayesnet.separators import learned_separators
from exactlearn.data.codes import MISSING
from exactlearn.data.dataset import Dataset, DatasetLike
from exactlearn.data.missingness_graph import MissingnessGraph
from exactlearn.data.missingness_patterns import MissingnessPatterns
from exactlearn.graphs.dag import moral_graph
from exactlearn.graphs.triangulation import elimination_order, maximal_cliques
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
    few_rows
        Rows below which EM is preferred to deletion, where exact inference is small.
    large_cliques
        Configurations of all cliques of a network above which EM is not preferred.
    nearly_complete
        Share of complete rows from which the others may be left out when cells are missing
        completely at random.
    rows_per_configuration
        Least rows for each configuration of the separators of informed deletion.
    """

    graph_rows: int = 10_000
    smoothing: float = 0.3
    odds: float = 20.0
    suspects: int = 2
    passes: int = 2
    few_rows: float = 1e7
    large_cliques: float = 1e7
    nearly_complete: float = 0.95
    rows_per_configuration: float = 10.0


DEFAULTS = DiagnosisParameters()


@checked_arguments()
def diagnosed_missingness_graph(
    dataset: DatasetLike,
    tests: Sequence[IndicatorTest],
    rng: np.random.Generator,
    parents: ParentsLike | None = None,
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
    parents
        Parents of each variable in a network to learn with, unless its cliques are large.
    parameters
        Tuning constants.

    Raises
    ------
    TooLargeError
        When a variable has too many states.
    """
    sample = dataset.drawn(parameters.graph_rows, rng)
    if parents is None or not is_inference_small(dataset, parents, parameters):
        network = _tree(sample, parameters.smoothing)
    else:
        network = fit_available_cases(sample, parents, smoothing=parameters.smoothing)
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


@dataclass(frozen=True)
class Recommendation:
    """How parameters should be estimated from incomplete rows.

    Parameters
    ----------
    method
        A method of ``exactlearn fit``; ``graph`` for the formulas of a missingness graph.
    separators
        Of informed deletion.
    missingness
        The missingness graph that the method takes; empty for none.
    command
        The command that does it.
    why
        Why this one.
    wrong_if
        What would make its estimates wrong.
    """

    method: str
    separators: tuple[str, ...]
    missingness: str
    command: str
    why: str
    wrong_if: str


@dataclass(frozen=True)
class _Case:
    """What a recommendation depends on."""

    graph: MissingnessGraph
    is_given: bool
    rows: float
    complete: float
    cliques: float
    not_recoverable: tuple[str, ...]
    separators: tuple[str, ...]
    configurations: float
    parameters: DiagnosisParameters
    files: Mapping[str, str]

    @property
    def is_large(self) -> bool:
        """Whether closed forms are preferred to EM."""
        return self.rows >= self.parameters.few_rows or self.has_large_cliques

    @property
    def has_large_cliques(self) -> bool:
        return self.cliques > self.parameters.large_cliques

    @property
    def size(self) -> str:
        """Why EM is preferred, or not."""
        if self.has_large_cliques:
            return (
                f"exact inference in this network needs cliques of {self.cliques:.2g} "
                "configurations, which EM would go through for every pattern; closed forms need no "
                "inference"
            )
        if self.is_large:
            return (
                f"with {self.rows:.3g} rows a closed form takes one pass where EM takes many; EM "
                "uses more of the observed cells where its time does not matter"
            )
        return (
            "it uses every observed cell, and where cliques are not large and rows are fewer than "
            f"{self.parameters.few_rows:,.0f} it takes seconds; it was as accurate as deletion, or "
            "more so, in docs/deletion.md"
        )

    def recommend(
        self,
        method: str,
        why: str,
        wrong_if: str,
        *,
        separators: tuple[str, ...] = (),
        missingness: bool = False,
    ) -> Recommendation:
        """Return a recommendation with its command."""
        words = ["exactlearn fit", self.files["network"], self.files["data"]]
        words += [f"--method {method}"] * (method != "graph")
        words += ["--missingness " + self.files["graph"]] * missingness
        text = str(self.graph) if missingness else ""
        return Recommendation(method, separators, text, " ".join(words), why, wrong_if)


def recommendation(
    dataset: Dataset,
    patterns: MissingnessPatterns,
    graph: MissingnessGraph,
    *,
    is_given: bool,
    parents: Sequence[Sequence[int]] | None = None,
    files: Mapping[str, str] | None = None,
    parameters: DiagnosisParameters = DEFAULTS,
) -> Recommendation:
    """Recommend an estimator for the parameters of a network.

    EM uses every observed cell, was as accurate as deletion or more so in docs/deletion.md, and
    takes seconds up to some million rows where the cliques of the network are small; also where
    cells are missing not at random, and it fits the indicators of a graph with the network.
    Deletion is for large cliques and for more rows.

    Parameters
    ----------
    dataset, patterns
        The table and its missingness patterns.
    graph
        What missing cells depend on.
    is_given
        Whether the graph is known, not learned.
    parents
        Parents of each variable in the network to estimate, for the size of exact inference.
    files
        Names of the ``network``, the ``data`` and the ``graph`` in the command.
    parameters
        Tuning constants.
    """
    incomplete = dict(zip(patterns.names, patterns.rates, strict=True))
    shown = graph.restricted([name for name in graph.causes if incomplete[name] > 0])
    separators = sorted({u for us in shown.causes.values() for u in us}, key=dataset.names.index)
    sizes = dict(zip(dataset.names, dataset.cardinalities.tolist(), strict=True))
    most = max((prod(sizes[u] for u in us) for us in shown.causes.values()), default=1)
    case = _Case(
        shown,
        is_given,
        patterns.total,
        patterns.complete / max(patterns.total, 1e-300),
        0.0 if parents is None else clique_size(dataset, parents),
        _not_recoverable(dataset, parents, shown),
        tuple(separators),
        float(most),
        parameters,
        {"network": "NETWORK.bif", "data": "DATA.csv", "graph": quote(str(shown)), **(files or {})},
    )
    if not patterns.missing.any():
        return case.recommend(
            "complete",
            "no cell is missing: relative frequencies are the maximum likelihood estimate",
            "the rows are no independent draws from one distribution",
        )
    choose = {"MCAR": _completely_at_random, "MAR": _at_random, "MNAR": _not_at_random}
    return choose[shown.kind](case)


def _not_recoverable(
    dataset: Dataset, parents: Sequence[Sequence[int]] | None, graph: MissingnessGraph
) -> tuple[str, ...]:
    """Return the variables whose families no formula is known for, given the graph."""
    if graph.kind != "MNAR":
        return ()
    if parents is None:
        return tuple(name for name, causes in graph.causes.items() if name in causes)
    families = recoverability(parents, dataset.names, graph)
    return tuple(family.child for family in families if not family.is_recoverable)


def is_inference_small(
    dataset: Dataset,
    parents: Sequence[Sequence[int]],
    parameters: DiagnosisParameters = DEFAULTS,
) -> bool:
    """Return whether the cliques of a network are small enough to learn a graph with it."""
    return clique_size(dataset, parents) <= parameters.large_cliques


def clique_size(dataset: Dataset, parents: Sequence[Sequence[int]]) -> float:
    """Return the configurations of the cliques of a network by the order of a greedy rule."""
    moral = moral_graph(parents)
    sizes = dataset.cardinalities.tolist()
    cliques = maximal_cliques(moral, elimination_order(moral, sizes))
    return sum(prod((sizes[v] for v in clique), start=1.0) for clique in cliques)


def _completely_at_random(case: _Case) -> Recommendation:
    wrong = (
        "whether cells are missing depends on variables after all, which the tests have overlooked "
        "(few rows, or a dependence on the own value, which no test sees)"
    )
    if case.is_large:
        return case.recommend(
            "f-mcar",
            f"{case.size}; factored deletion uses every row that observes a member of a family "
            "(d-mcar is some ten times faster)",
            wrong,
        )
    if case.complete < case.parameters.nearly_complete:
        return case.recommend("em", case.size, _EM_WRONG)
    return case.recommend(
        "cca",
        f"{100 * case.complete:.3g} % of the rows are complete, and cells are missing completely "
        "at random: leaving the other rows out costs little; 'em' uses them, too, and is right "
        "under weaker conditions",
        wrong,
    )


def _at_random(case: _Case) -> Recommendation:
    if not case.is_large:
        return case.recommend("em", case.size, _EM_WRONG)
    many_rows = case.rows >= case.parameters.few_rows
    wrong = "an indicator depends on a variable with missing cells or on its own value"
    learned = "" if case.is_given else "; the graph is learned: it may miss weak causes"
    if case.configurations * case.parameters.rows_per_configuration <= case.rows:
        return case.recommend(
            "id-mar" if many_rows else "if-mar",
            f"{case.size}; missing cells depend on {', '.join(case.separators)}, which every row "
            f"observes, on at most {case.configurations:.0f} configurations each",
            f"{wrong}, or on a fully observed one that is no separator{learned}",
            separators=case.separators,
            missingness=True,
        )
    return case.recommend(
        "d-mar" if many_rows else "f-mar",
        f"{case.size}; missing cells depend on fully observed variables with too many "
        f"configurations ({case.configurations:.2g}) to serve as separators",
        wrong + learned,
    )


def _not_at_random(case: _Case) -> Recommendation:
    biased = (
        "cells are missing not at random, so that estimators which ignore why are biased whatever "
        "the number of rows; "
    )
    wrong = "the graph lacks a cause" if case.is_given else (
        "the learned graph is wrong, which the rows cannot rule out: say what missing cells depend "
        "on if you know it (--missingness)"
    )  # fmt: skip
    lost = ", ".join(case.not_recoverable)
    if case.is_large:
        return case.recommend(
            "graph",
            f"{biased}{case.size}; the graph gives consistent closed forms for the families that "
            "it makes recoverable, and 'fit' names the others",
            wrong + (f"; no formula is known for the families of {lost}" if lost else ""),
            missingness=True,
        )
    return case.recommend(
        "em",
        f"{biased}EM fits the probabilities that cells are missing together with the network, "
        "from every observed cell, of which the closed forms of the graph (without --method) use "
        "only some" + (f", which are not known for the families of {lost}" if lost else ""),
        f"{wrong}; or rows do not determine all parameters, so that starts end in different "
        "estimates of the same likelihood (--starts 5 shows it)",
        missingness=True,
    )


_EM_WRONG = (
    "an indicator depends on its own value or on another variable with missing cells (MNAR), or EM "
    "stops at a local maximum: repeat it with several starts (--starts 5)"
)
