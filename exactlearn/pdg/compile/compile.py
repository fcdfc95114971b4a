"""Compilation of a Bayesian network to the smallest decision graph over a searched forest.

A clique tree of the network gives forests of variables, one for each clique as its root (THESIS,
Algorithms 4.13 and 4.14), from the
best of which a search goes on to the forest with the smallest graph
(`exactlearn.pdg.compile.forest_search`). Sizes are effective sizes: states times nodes times max(1,
children), over all variables (THESIS, 3.52). Over a forest the graph is the smallest there is,
and no clique's table is written out to find it (`exactlearn.pdg.compile.expansion`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf, nan
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.compilation_notice import clock
from exactlearn._runtime.control import SearchControl
from exactlearn._runtime.display import Displayed
from exactlearn.bayesnet.cliques import clique_tree
from exactlearn.bayesnet.network import (
    BayesianNetwork,
    NetworkLike,
    normalised,
    without_irrelevant_parents,
)
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError, TooLargeError
from exactlearn.graphs.dag import moral_graph
from exactlearn.pdg.compile.expansion import Expansion
from exactlearn.pdg.compile.forest_search import (
    ForestResult,
    ForestSearch,
    IterationBudget,
    first_forests,
)
from exactlearn.pdg.inference.flows import log_likelihood_rows
from exactlearn.pdg.model.decision_graph import DecisionGraph, assemble
from exactlearn.pdg.model.forest import (
    VariableForest,
    checked_forest,
    forest_order,
    forest_over,
)

MAX_SIZE = 100_000_000
"""Most cells of a graph before merging, about 40 bytes each."""

CHECK_TIME = 1.5e-7
LATE = 1.0
"""Seconds that the comparison takes for each cell of the graph, about (14 million of munin1 took
1.9 s), and how long it, or the first graph, may take once the search has used up its time, or was
interrupted."""

TRIANGULATION = 0.2
"""Share of the time limit after which the clique tree is taken as it is."""

CHECK_ROWS = 1000
"""Rows of each kind on which a compilation is compared with its network."""


@dataclass(frozen=True, repr=False)
class Compilation(Displayed, shown="graph clique_tree_size max_error message finished"):
    """A compiled network with its sizes and its measured error.

    Parameters
    ----------
    graph
        The decision graph.
    expanded_size
        Effective size with a node for each configuration of a context, over the same forest.
    clique_tree_size
        Effective size of the clique tree that the search started from, THESIS (3.20).
    max_error
        Largest relative difference of the two probabilities of a row, over rows drawn from the
        network and rows drawn uniformly; infinite if only one of them is zero, and nan where no
        time was left to compare, which the message says.
    message
        What a user should know of the exact graph: whether merging equivalent nodes paid.
    finished
        Whether the search went on to its end or limit; Ctrl-C keeps the smallest graph so far.
    status
        "optimal" if no forest has a smaller graph, which is proven for connected parts of up to
        eight variables, else "feasible", or "interrupted" if not ``finished``.
    """

    graph: DecisionGraph
    expanded_size: int
    clique_tree_size: int
    max_error: float
    message: str
    finished: bool = True
    status: str = "feasible"


@checked_arguments()
def compile_network(
    network: NetworkLike,
    *,
    forest: Sequence[int] | NDArray[np.int32] | None = None,
    max_size: int = MAX_SIZE,
    steps: int | None = None,
    time_limit: float | None = None,
    seed: int = 0,
    on_event: Callable[[int], None] | None = None,
) -> DecisionGraph:
    """Return a decision graph of the network's joint distribution.

    Parameters
    ----------
    network
        Network to represent; rows of its tables that sum to one only nearly are normalised.
    forest
        The forest to use, as the parent of each variable (-1 for a root): nothing is searched.
    max_size
        Most cells of the graph before merging.
    steps, time_limit
        Moves of the search in each connected part, and seconds for all; either or both. Without
        them the search is short and its end does not depend on the machine.
    seed
        Seed of the search; the same seed and steps give the same graph.
    on_event
        Called with the effective size of the first graph and of each smaller one.

    Raises
    ------
    TooLargeError
        If a graph would have more than ``max_size`` cells before merging, raised before they
        take memory; or if the time limit is over about a second before the first graph is built.
    OptionError
        If a number is negative.
    DataError
        If the network has no variables, or ``forest`` another number of them.
    CheckError
        If ``forest`` is no forest or leaves the variables of some family on different branches.

    Examples
    --------
    >>> import exactlearn as el
    >>> el.compile_network(el.read_network("asia"))
    DecisionGraph(variables=8, nodes=20, effective_size=40)
    """
    # Ctrl-C raises here unless a search around this one takes it: a graph alone does not show
    # that its search was interrupted.
    control = SearchControl.within(time_limit)
    budget = IterationBudget(
        control,
        steps if forest is None else 0,
        time_limit,
        seed,
        on_event,
    )
    task = _task(network, forest, control, time_limit)
    return _assembled(network, _searched(task, max_size, budget))


def compile_and_check(
    network: BayesianNetwork,
    *,
    max_size: int = MAX_SIZE,
    steps: int | None = None,
    time_limit: float | None = None,
    seed: int = 0,
    on_event: Callable[[int], None] | None = None,
    on_graph: Callable[[int, Callable[[], Compilation]], None] | None = None,
    after: float = 0.0,
) -> Compilation:
    """Return the graph of `compile_network` with its sizes, compared with the network on rows.

    Ctrl-C ends the search with the smallest graph so far, marked as not ``finished``.

    Parameters
    ----------
    network, max_size, steps, time_limit, on_event
        As in `compile_network`; once ``on_event`` was called an interrupt returns a graph.
    seed
        Seed of the search, and of the rows that are drawn for the comparison.
    on_graph
        Called with the effective size of the first graph and of each smaller one, and what compiles
        the network to it; not where the time limit leaves no time for that.
    after
        Seconds of the time limit that are kept, for each cell of the graph, for what the caller
        does with it.
    """
    control = SearchControl.within(time_limit)
    budget = IterationBudget(
        control,
        steps,
        time_limit,
        seed,
        on_event,
        after=CHECK_TIME + after,
    )
    with control.running():
        # Within the control, too: a clique tree takes a part of the time.
        task = _task(network, None, control, time_limit)

        def checked(result: ForestResult) -> Compilation:
            return _checked(network, result, task.clique_size, seed, control)

        def report(size: int, built: Callable[[], tuple[Expansion, ...]]) -> None:
            if on_graph is not None:
                on_graph(
                    size,
                    lambda: checked(ForestResult(built(), finished=False, steps=1)),
                )

        budget = replace(budget, on_graph=None if on_graph is None else report)
        return checked(_searched(task, max_size, budget))


def _checked(
    network: BayesianNetwork,
    result: ForestResult,
    clique_size: int,
    seed: int,
    control: SearchControl,
) -> Compilation:
    """Return the record of a graph, compared with its network on rows if there is time."""
    graph = _assembled(network, result)
    cardinalities = network.cardinalities.tolist()
    # The size without merging tells what merging saved.
    expanded = sum(b.forest.expanded_size(cardinalities) for b in result.built)
    message = _message(result, graph.effective_size, expanded, clique_size)
    # The comparison takes time in proportion to the graph: it is left out where none is
    # left.
    if fits(CHECK_TIME * graph.effective_size, control):
        error = max_error(network, graph, np.random.default_rng(seed))
    else:
        error = nan
        message = f"{message}; not compared with the network: no time was left"
    return Compilation(
        graph=graph,
        expanded_size=expanded,
        clique_tree_size=clique_size,
        max_error=error,
        message=message,
        finished=result.finished,
        status=result.status,
    )


def fits(seconds: float, control: SearchControl) -> bool:
    """Return whether what follows a search, and takes some seconds, is done about in time."""
    return seconds < LATE + (0.0 if control.is_stopped else control.left)


class _Task(NamedTuple):
    """A network without irrelevant parents, trees to start from, and the size of a clique tree."""

    network: BayesianNetwork
    forests: list[VariableForest]
    clique_size: int


def _task(
    network: BayesianNetwork,
    forest: Sequence[int] | NDArray[np.int32] | None,
    control: SearchControl,
    time_limit: float | None,
) -> _Task:
    """Return the best tree of each connected part by a clique tree, or the only one given."""
    if network.n_variables == 0:
        raise DataError("the network has no variables: nothing to compile")
    reduced = without_irrelevant_parents(network)
    if forest is not None:
        return _Task(reduced, _given(reduced, forest), 0)
    # The orders of a small clique tree give the first forests.
    tree = clique_tree(reduced, control=control.part(TRIANGULATION))
    forests = first_forests(reduced, tree, _given_up_at(control, time_limit) - LATE / 2)
    return _Task(reduced, forests, tree.size(network.cardinalities))


def _given_up_at(control: SearchControl, time_limit: float | None) -> float:
    """Return the time of the clock when a first graph that is not built is given up.

    One that a search around this one needs is built whole, whatever its limit.
    """
    return np.inf if time_limit is None else control.deadline + LATE


def _searched(task: _Task, max_size: int, budget: IterationBudget) -> ForestResult:
    """Search from the forests of a task, whose graphs are to be built about in time."""
    until = _given_up_at(budget.control, budget.time_limit)
    try:
        return ForestSearch(
            task.network,
            task.forests,
            budget,
            max_size,
            until=until,
        ).run()
    except TooLargeError as error:
        # Time and size end the search by the same error: tell which limit is to be
        # raised.
        is_late = clock() > until
        clique_size = task.clique_size or clique_tree(task.network).size(
            task.network.cardinalities
        )
        if is_late:
            fault = (
                f"no decision graph was built within the time limit of {budget.time_limit:g}"
                " seconds, and there is none to write: the first one would have"
            )
            cure = "the time limit"
        else:
            fault = (
                f"the decision graph would have more than {max_size:,} cells before merging, the"
                " limit, and"
            )
            cure = (
                "the limit if memory allows about 40 bytes for each cell; or give each variable"
                " fewer parents when learning"
            )
        # How far the limit must be raised at most.
        r = task.network.cardinalities.tolist()
        expanded = sum(forest.expanded_size(r) for forest in task.forests)
        raise TooLargeError(
            f"{fault} up to {expanded:,} cells if nothing merges; the best clique tree found has"
            f" {clique_size:,}. Raise {cure}; or {_fallback(clique_size)}"
        ) from error


def _assembled(network: BayesianNetwork, result: ForestResult) -> DecisionGraph:
    """Return the decision graph of all parts together."""
    parent = np.full(network.n_variables, -1, np.int32)
    parameters: dict[int, NDArray[np.float64]] = {}
    successors: dict[int, NDArray[np.int32]] = {}
    for built in result.built:
        part = list(built.forest.order)
        parent[part] = [built.forest.parents[v] for v in part]
        parameters |= built.parameters
        successors |= built.successors
    return assemble(network.names, network.states, parent, parameters, successors)


def _given(
    network: BayesianNetwork, forest: Sequence[int] | NDArray[np.int32]
) -> list[VariableForest]:
    """Return the trees of a given forest, one part of the network or several together in each."""
    parents = checked_forest(forest, network.n_variables)
    adjacency = moral_graph(network.parents)
    # Depth first, so that each tree is a run of the order that begins with a root.
    order = np.array(forest_order(parents))
    roots = np.flatnonzero(parents[order] < 0)
    parts = np.split(order, roots[1:])
    return [forest_over(adjacency, parents.tolist(), part.tolist()) for part in parts]


def _fallback(clique_size: int) -> str:
    """Return the advice for a network that is not compiled."""
    if clique_size > MAX_SIZE:
        return "query the network itself where that is much observed: its clique tree is too large"
    return "query the network itself, which is answered along a clique tree"


def _message(result: ForestResult, size: int, expanded: int, clique_size: int) -> str:
    if size < expanded:
        text = (
            f"exact graph: merging equivalent nodes saved {expanded - size:,}"
            f" of {expanded:,} cells"
        )
    else:
        text = (
            f"exact graph: {size:,} cells; no nodes are equivalent: no determinism or"
            " context-specific independence was found"
        )
    # Inference in the network costs about its clique tree: say where the graph is no
    # gain.
    if clique_size < size:
        text += f"; the clique tree is smaller, {clique_size:,} cells against {size:,}"
    if result.finished:
        return text
    reached = (
        "the smallest graph so far" if result.steps else "one of the first forests"
    )
    return f"interrupted, this is {reached}; {text}"


def max_error(
    network: BayesianNetwork,
    graph: DecisionGraph,
    rng: np.random.Generator,
    rows: int = CHECK_ROWS,
) -> float:
    """Return the largest relative difference between the two probabilities of a row.

    The network's tables count as normalised: a file's rows may sum to one only to six digits.

    Parameters
    ----------
    rows
        How many rows to draw from the network, and again uniformly from all states.
    """
    exact = normalised(network)
    likely = exact.sample(rows, rng).codes
    uniform = rng.integers(0, exact.cardinalities, (rows, exact.n_variables))
    codes = np.concatenate((likely, uniform)).astype(np.int16)
    expected = exact.log_likelihood_rows(Dataset(codes, exact.names, exact.states))
    # half of the rows of a small graph need no kernel for many rows, which takes seconds to compile
    halves = [log_likelihood_rows(graph, half) for half in np.split(codes, 2)]
    logs = np.concatenate(halves)
    possible = np.isfinite(expected)
    if (possible != np.isfinite(logs)).any():
        return inf
    errors = np.expm1(logs[possible] - expected[possible])
    return float(np.abs(errors).max(initial=0.0))
