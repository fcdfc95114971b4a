"""All ways of learning a decision graph from a table, behind one call.

``direct`` (THESIS, section 4.5), ``hybrid`` (4.6), and structural EM (PDG-SEM) with its stand-ins
by available and by complete cases.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, cast

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.control import SearchControl
from exactlearn.bayesnet.complete_data import fit_complete
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.dataset import Dataset, DatasetLike, aligned_codes
from exactlearn.errors import OptionError, TooLargeError, did_you_mean
from exactlearn.pdg.compile.approximation import Frontier
from exactlearn.pdg.compile.compile import compile_network
from exactlearn.pdg.learn.direct import DirectProgress, learn_direct
from exactlearn.pdg.learn.hybrid import HybridGraph, HybridGraphs, learn_hybrid
from exactlearn.pdg.learn.network_starts import (
    LEAST_SIZE_WEIGHT,
    MAX_PARENTS,
    MOST_CELLS,
    SMOOTHING,
    learnt_network,
    structural_em_rounds,
)
from exactlearn.pdg.learn.smoothing import tuned_smoothing
from exactlearn.pdg.learn.structural_em import Cases, StructuralEMState, structural_em_graph
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.pdg.model.structure_score import Size, StructureScore
from exactlearn.scoring.scores import BDeu, PenalisedLikelihood, Score

METHODS = ("hybrid", "direct", "em", "available", "complete")

Report = Callable[[str], None]
Keep = Callable[[float, float, Callable[[], DecisionGraph]], None]
"""Takes the score and the lambda of each model that may be the best, and what smooths it."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Request:
    """What to learn, and how.

    Parameters
    ----------
    dataset
        The rows.
    method
        ``direct``, ``hybrid``, ``em``, ``available`` or ``complete``.
    network
        For ``hybrid`` what is compiled; for others, the search starts from its graph too.
    size_weights
        Weights of the size; that of BIC when not set.
    size, smoothing, seed
        As for `exactlearn.pdg.learn.direct.learn_direct`.
    """

    dataset: Dataset
    method: str
    network: BayesianNetwork | None = None
    size_weights: Sequence[float] | None = None
    size: Size = "effective"
    smoothing: float | None = None
    seed: int = 0


@dataclass(frozen=True, eq=False)
class LearntModels:
    """The models learnt.

    Parameters
    ----------
    models
        Each with its lambda.
    frontier
        ``hybrid``: the path of size against likelihood.
    finished
        Whether neither limit nor interrupt cut the search short.
    """

    models: tuple[tuple[float, DecisionGraph], ...]
    frontier: Frontier | None = None
    finished: bool = True

    @property
    def graph(self) -> DecisionGraph:
        """The last model, that of the smallest lambda."""
        return self.models[-1][1]


@checked_arguments()
def learn_pdg(
    dataset: DatasetLike,
    *,
    method: Literal["hybrid", "direct", "em", "available", "complete"] = "hybrid",
    network: BayesianNetwork | None = None,
    size_weights: Sequence[float] | None = None,
    size: Size = "effective",
    smoothing: float | None = None,
    seed: int = 0,
    time_limit: float | None = None,
) -> LearntModels:
    """Learn a decision graph from a table.

    Parameters
    ----------
    dataset
        Table with or without missing cells.
    method
        ``hybrid``: learn a network, compile it and merge nodes; ``direct``: search for forests and
        graphs from the rows (:func:`~exactlearn.pdg.learn.direct.learn_direct`); ``em``,
        ``available``, ``complete``: structural EM, from available or from complete cases.
    network
        A network of the table's variables, in place of one that is learnt: ``hybrid`` compiles it,
        others start from its graph.
    size_weights
        Weights of the size, from 0 to 1, a graph for each; left out, one by cross-validation, or
        that of BIC where cells are missing or ``smoothing`` is given.
    size
        ``effective`` or ``representational``, of which ``hybrid`` only has the first one.
    smoothing
        Pseudo-count of every parameter; left out, parameters are shrunk to those of a network as
        far as cross-validation chooses; 1 with missing cells.
    seed
        Of all that is random.
    time_limit
        Seconds.

    Returns
    -------
    LearntModels
        One graph at least; a limit or an interrupt ends the search with what there is.

    Raises
    ------
    DataError
        If a cell is missing and the method needs complete rows, or the table does not fit the
        network.
    OptionError
        If a size weight or ``smoothing`` is wrong, or there is no such method.

    Examples
    --------
    >>> import exactlearn as el
    >>> el.learn_pdg(el.read_dataset("cancer-mcar-complete")).graph
    DecisionGraph(variables=5, nodes=5, effective_size=10)
    """
    if method not in METHODS:
        raise OptionError(f"method: found {method!r}{did_you_mean(method, METHODS)}")
    if method == "hybrid" and size != "effective":
        raise OptionError(f"size {size!r}: method 'hybrid' has the effective size only")
    request = Request(
        dataset=dataset,
        method=method,
        network=network,
        size_weights=size_weights,
        size=size,
        smoothing=smoothing,
        seed=seed,
    )
    with SearchControl.within(time_limit).running():
        return learn_by(request, lambda text: None, lambda *model: None)


def keep_first(request: Request, keep: Keep) -> None:
    """Keep a model of a first tree of variables before the search begins."""
    size_weight = max(request.size_weights) if request.size_weights else None
    found = structural_em_graph(
        request.dataset,
        cases="complete" if request.method == "complete" else "em",
        size_weight=size_weight,
        size=request.size,
        smoothing=_smoothing(request),
        iterations=0,
    )
    keep(found.score, found.size_weight, lambda: found.graph)


def learn_by(request: Request, report: Report, keep: Keep) -> LearntModels:
    """Return the models learnt as requested; report the progress and keep each better model.

    Raises
    ------
    DataError
        If the table lacks a variable of the network, or has a state that it does not know; and
        what the methods raise.
    """
    request = _aligned(request)
    with SearchControl.within().running():
        if request.method == "direct":
            return _direct(request, report, keep)
        if request.method == "hybrid":
            return _hybrid(request, report, keep)
        return _structural_em(request, report, keep)


def _smoothing(request: Request) -> float:
    """Return the pseudo-count of a model whose smoothing is not tuned."""
    return 1.0 if request.smoothing is None else request.smoothing


def _aligned(request: Request) -> Request:
    """Align the table with the network's variables and states."""
    network, data = request.network, request.dataset
    if network is None:
        return request
    codes = aligned_codes(data, network.names, network.states)
    return replace(request, dataset=Dataset(codes, network.names, network.states, data.weights))


def _starts(request: Request) -> tuple[DecisionGraph, ...]:
    """Return the decision graph of the network, if there is one not too large to start from."""
    if request.network is None:
        return ()
    try:
        return (compile_network(request.network, max_size=MOST_CELLS, seed=request.seed),)
    except TooLargeError:
        return ()


def _direct(request: Request, report: Report, keep: Keep) -> LearntModels:
    def show(progress: DirectProgress) -> None:
        model = progress.model
        report(f"graph {progress.done} of {progress.total}  score {model.score:.4f}")
        keep(
            model.score,
            model.size_weight,
            lambda: (
                tuned_smoothing(model.graph, request.dataset, smoothing=_smoothing(request)).graph
            ),
        )

    found = learn_direct(
        request.dataset,
        size_weights=request.size_weights,
        size=request.size,
        starts=_starts(request),
        smoothing=request.smoothing,
        seed=request.seed,
        on_progress=show,
    )
    models = tuple((m.size_weight, m.graph) for m in found.models)
    return LearntModels(models, None, found.finished)


def _hybrid(request: Request, report: Report, keep: Keep) -> LearntModels:
    """Learn from the network given; else from one of fewer parents where its graph is too large."""
    for most in range(MAX_PARENTS, -1, -1):
        report(f"network, at most {most} parents")
        relearn = _relearn(request, most)
        try:
            found = _hybrid_of(relearn(request.dataset), relearn, request, report, keep)
        except TooLargeError:
            if request.network is not None or most == 0:
                raise
            continue
        break
    models = tuple((m.size_weight, m.graph) for m in found.models)
    return LearntModels(models, found.frontier, found.finished)


def _hybrid_of(
    network: BayesianNetwork,
    relearn: Callable[[Dataset], BayesianNetwork],
    request: Request,
    report: Report,
    keep: Keep,
) -> HybridGraphs:
    def show(model: HybridGraph) -> None:
        report(
            f"size_weight {model.size_weight:.4g}  effective size {model.graph.effective_size:,}"
        )
        score = StructureScore(model.size_weight).of(model.graph, model.log_likelihood)
        keep(score, model.size_weight, lambda: model.graph)

    report("compiling")
    return learn_hybrid(
        network,
        request.dataset,
        size_weights=request.size_weights,
        smoothing=request.smoothing,
        relearn=relearn,
        seed=request.seed,
        on_model=show,
    )


def _relearn(request: Request, max_parents: int) -> Callable[[Dataset], BayesianNetwork]:
    """Return what learns the network from some rows; the structure of one that is given stays."""
    given = request.network
    if given is not None:
        parents = given.parents
        return lambda rows: (
            given if rows is request.dataset else fit_complete(rows, parents, smoothing=SMOOTHING)
        )
    score: Score = BDeu()
    if request.size_weights:  # merging takes away what a larger weight would not pay for
        score = PenalisedLikelihood(max(min(request.size_weights), LEAST_SIZE_WEIGHT))
    return partial(learnt_network, seed=request.seed, score=score, max_parents=max_parents)


def _structural_em(request: Request, report: Report, keep: Keep) -> LearntModels:
    def show(state: StructuralEMState) -> None:
        size = state.graph.effective_size
        report(f"iteration {state.iteration}  score {state.score:.4f}  effective size {size:,}")

    def reached(
        state: StructuralEMState, size_weight: float, smoothed: Callable[[], DecisionGraph]
    ) -> None:
        keep(state.objective, size_weight, smoothed)

    start, smoothing = next(iter(_starts(request)), None), _smoothing(request)
    models, finished = [], True
    for size_weight in request.size_weights or (None,):
        if not finished:
            break
        options: dict[str, Any] = {
            "size_weight": size_weight,
            "size": request.size,
            "smoothing": smoothing,
            "on_iteration": show,
            "on_graph": reached,
        }
        if request.method == "em" and start is None:
            found = structural_em_rounds(request.dataset, seed=request.seed, **options)
        else:
            cases = cast(Cases, request.method)
            found = structural_em_graph(request.dataset, cases=cases, start=start, **options)
        models.append((found.size_weight, found.graph))
        finished = found.finished
    return LearntModels(tuple(models), finished=finished)
