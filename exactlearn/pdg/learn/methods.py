"""All ways of learning a decision graph from a table, behind one call.

``direct`` (THESIS, section 4.5), ``hybrid`` (4.6), and structural EM, ``em`` (PDG-SEM).
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

from exactlearn._runtime.argument_kinds import one_of
from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.control import SearchControl
from exactlearn._runtime.progress import counted
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.alignment import aligned_table
from exactlearn.data.dataset import Dataset, DatasetLike
from exactlearn.errors import OptionError, TooLargeError, as_written
from exactlearn.pdg.compile.compile import compile_network
from exactlearn.pdg.learn.direct import learn_direct
from exactlearn.pdg.learn.edge_counts import LearnedGraphs, OnModel, Size
from exactlearn.pdg.learn.hybrid import learn_hybrid
from exactlearn.pdg.learn.starts import (
    LEAST_SIZE_WEIGHT,
    MOST_CELLS,
    learned_network,
    with_fewer_parents,
)
from exactlearn.pdg.learn.structural_em import (
    Estimator,
    StructuralEMGraph,
    structural_em_graph,
    structural_em_rounds,
)
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.scoring.scores import BDeu, PenalisedLikelihood, Score

Method = Literal["hybrid", "direct", "em"]
METHODS: tuple[Method, ...] = ("hybrid", "direct", "em")


@checked_arguments(method=one_of(METHODS))
def learn_pdg(
    dataset: DatasetLike,
    *,
    method: Method = "hybrid",
    network: BayesianNetwork | None = None,
    size_weights: Sequence[float] | None = None,
    size: Size = "effective",
    parameters: Estimator = "em",
    significance: float | None = None,
    smoothing: float | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    on_model: OnModel | None = None,
) -> LearnedGraphs:
    """Learn a decision graph from a table.

    Parameters
    ----------
    dataset
        Table with or without missing cells.
    method
        ``hybrid``: learn a network, compile it and merge nodes; ``direct``: search for forests and
        graphs from the rows (:func:`~exactlearn.pdg.learn.direct.learn_direct`); ``em``:
        structural EM.
    network
        A network of the table's variables, in place of one that is learned: ``hybrid`` compiles it,
        the others start from its graph.
    size_weights
        Weights of the size, from 0 to 1, a graph for each; left out, that of BIC, or with
        ``hybrid``, complete rows and no ``smoothing`` one by cross-validation.
    size
        ``effective`` or ``representational``, of which ``hybrid`` only has the first one.
    parameters
        With ``em``, how the parameters of each structure are estimated: by ``em``, or from
        ``available`` or ``complete`` cases
        (:func:`~exactlearn.pdg.learn.structural_em.structural_em_graph`).
    significance
        With ``direct``, the level of the tests of independence by which one more forest is grown
        (:func:`~exactlearn.pdg.learn.direct.learn_direct`).
    smoothing
        Pseudo-count of every parameter; left out, chosen by cross-validation, by ``hybrid`` among
        parameters shrunk to those of the network as well; 1 with missing cells.
    seed
        Of all that is random.
    time_limit
        Seconds.
    on_model
        Called with each model that may be the best so far, of a first tree of variables to begin
        with, and what returns its graph with smoothed parameters.

    Returns
    -------
    LearnedGraphs
        One graph at least; a limit or an interrupt ends the search with what there is.

    Raises
    ------
    DataError
        If a cell is missing and the method needs complete rows, no row is complete with
        ``parameters="complete"``, or the table does not fit the network.
    OptionError
        If a size weight or ``smoothing`` is wrong, there is no such method, or the method does not
        have an option.

    Examples
    --------
    >>> import exactlearn as el
    >>> el.learn_pdg(el.read_dataset("cancer-mcar-complete")).graph
    DecisionGraph(variables=5, nodes=5, effective_size=10)
    """
    if method == "hybrid" and size != "effective":
        raise OptionError(f"size {size!r}: method 'hybrid' has the effective size only")
    _require_method("parameters", parameters, "em", "em", method)
    _require_method("significance", significance, None, "direct", method)
    if network is not None:
        dataset = aligned_table(dataset, network)
    em: dict[str, Any] = {
        "size": size,
        "parameters": parameters,
        "smoothing": 1.0 if smoothing is None else smoothing,
        "on_model": on_model,
    }
    options: dict[str, Any] = {
        "size_weights": size_weights,
        "smoothing": smoothing,
        "seed": seed,
        "on_model": on_model,
    }
    with SearchControl.within(time_limit).running():
        if method == "em":
            return _by_structural_em(dataset, size_weights, network, seed, em)
        if on_model is not None:
            # Structural EM without an iteration reports the graph of a tree, the first model.
            weight = max(size_weights) if size_weights else None
            structural_em_graph(dataset, size_weight=weight, iterations=0, **em)
        if method == "hybrid":
            return _from_networks(dataset, network, options)
        start = _start(network, seed)
        return learn_direct(
            dataset,
            size=size,
            start=start,
            significance=significance,
            **options,
        )


def _require_method(
    option: str,
    value: object,
    default: object,
    owner: Method,
    method: Method,
) -> None:
    """Refuse an option that only another method has, unless it has its default."""
    if method != owner and value != default:
        cure = as_written("method", owner)
        raise OptionError(
            f"{option} {value!r}: method {method!r} has none; choose {cure}"
        )


def _by_structural_em(
    dataset: Dataset,
    size_weights: Sequence[float] | None,
    network: BayesianNetwork | None,
    seed: int,
    options: dict[str, Any],
) -> LearnedGraphs:
    """Learn a graph for each weight, from the network's graph or by rounds."""
    start = _start(network, seed)
    if start is None:
        learn = partial(structural_em_rounds, dataset, seed=seed, **options)
    else:
        learn = partial(structural_em_graph, dataset, start=start, **options)
    models: list[StructuralEMGraph] = []
    weights = size_weights or (None,)
    for size_weight in counted("size weight", weights, len(weights)):
        models.append(learn(size_weight=size_weight))
        if not models[-1].finished:
            break
    return LearnedGraphs(tuple(models), models[-1].finished)


def _from_networks(
    dataset: Dataset,
    network: BayesianNetwork | None,
    options: dict[str, Any],
) -> LearnedGraphs:
    """Learn from the network, or from one of fewer parents where its graph is too large."""
    if network is not None:
        return learn_hybrid(network, dataset, **options)
    size_weights = options["size_weights"]
    score: Score = BDeu()
    if size_weights:  # merging takes away what a larger weight would not pay for
        score = PenalisedLikelihood(max(min(size_weights), LEAST_SIZE_WEIGHT))

    def learned(max_parents: int) -> LearnedGraphs:
        relearn = partial(
            learned_network,
            seed=options["seed"],
            score=score,
            max_parents=max_parents,
        )
        return learn_hybrid(relearn(dataset), dataset, relearn=relearn, **options)

    return with_fewer_parents(learned)


def _start(network: BayesianNetwork | None, seed: int) -> DecisionGraph | None:
    """Return the decision graph of the network, if there is one not too large to start from."""
    if network is None:
        return None
    try:
        return compile_network(network, max_size=MOST_CELLS, seed=seed)
    except TooLargeError:
        return None
