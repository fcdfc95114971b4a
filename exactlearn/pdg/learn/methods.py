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
from exactlearn.bayesnet.complete_data import fit_complete
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.dataset import Dataset, DatasetLike, aligned_table
from exactlearn.errors import OptionError, TooLargeError, as_written
from exactlearn.pdg.compile.compile import compile_network
from exactlearn.pdg.learn.direct import learn_direct
from exactlearn.pdg.learn.edge_counts import LearnedGraph, LearnedGraphs, OnModel, Size
from exactlearn.pdg.learn.hybrid import learn_hybrid
from exactlearn.pdg.learn.starts import (
    LEAST_SIZE_WEIGHT,
    MAX_PARENTS,
    MOST_CELLS,
    SMOOTHING,
    learned_network,
)
from exactlearn.pdg.learn.structural_em import (
    Estimator,
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
    refused = {
        "em": ("parameters", parameters, "em"),
        "direct": ("significance", significance, None),
    }
    for owner, (option, value, default) in refused.items():
        if method != owner and value != default:
            cure = as_written("method", owner)
            raise OptionError(
                f"{option} {value!r}: method {method!r} has none; choose {cure}"
            )
    if network is not None:
        dataset = aligned_table(dataset, network)
    smooth = 1.0 if smoothing is None else smoothing
    em: dict[str, Any] = {"size": size, "parameters": parameters, "smoothing": smooth}
    em["on_model"] = on_model
    options: dict[str, Any] = {
        "size_weights": size_weights,
        "smoothing": smoothing,
        "seed": seed,
    }
    options["on_model"] = on_model
    with SearchControl.within(time_limit).running():
        if method == "em":
            return _by_structural_em(dataset, size_weights, network, seed, em)
        if on_model is not None:
            weight = max(size_weights) if size_weights else None
            structural_em_graph(dataset, size_weight=weight, iterations=0, **em)
        if method == "hybrid":
            return _from_networks(dataset, network, options)
        start = _start(network, seed)
        return learn_direct(
            dataset, size=size, start=start, significance=significance, **options
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
    models: list[LearnedGraph] = []
    finished = True
    weights = size_weights or (None,)
    for size_weight in counted("size weight", weights, len(weights)):
        if not finished:
            break
        arguments = options | {"size_weight": size_weight}
        if start is not None:
            model = structural_em_graph(dataset, start=start, **arguments)
        else:
            model = structural_em_rounds(dataset, seed=seed, **arguments)
        models.append(model)
        finished = model.finished
    return LearnedGraphs(tuple(models), finished)


def _from_networks(
    dataset: Dataset,
    network: BayesianNetwork | None,
    options: dict[str, Any],
) -> LearnedGraphs:
    """Learn from the network, or from one of fewer parents where its graph is too large."""
    size_weights = options["size_weights"]
    seed = options["seed"]
    score: Score = BDeu()
    if size_weights:  # merging takes away what a larger weight would not pay for
        score = PenalisedLikelihood(max(min(size_weights), LEAST_SIZE_WEIGHT))

    def relearned(rows: Dataset, max_parents: int) -> BayesianNetwork:
        """Return the network of some rows; the structure of one that is given stays."""
        if network is None:
            return learned_network(rows, seed, score=score, max_parents=max_parents)
        if rows is dataset:
            return network
        return fit_complete(rows, network.parents, smoothing=SMOOTHING)

    most = MAX_PARENTS
    while True:
        relearn = partial(relearned, max_parents=most)
        try:
            return learn_hybrid(relearn(dataset), dataset, relearn=relearn, **options)
        except TooLargeError:
            if network is not None or most == 0:
                raise
            most -= 1


def _start(network: BayesianNetwork | None, seed: int) -> DecisionGraph | None:
    """Return the decision graph of the network, if there is one not too large to start from."""
    if network is None:
        return None
    try:
        return compile_network(network, max_size=MOST_CELLS, seed=seed)
    except TooLargeError:
        return None
