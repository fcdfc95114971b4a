"""All ways of learning a decision graph from a table, behind one call.

``direct`` (THESIS, section 4.5), ``hybrid`` (4.6), and structural EM, ``em`` (PDG-SEM).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.control import SearchControl
from exactlearn.bayesnet.complete_data import fit_complete
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.dataset import Dataset, DatasetLike, aligned_codes
from exactlearn.errors import OptionError, TooLargeError, did_you_mean
from exactlearn.pdg.compile.compile import compile_network
from exactlearn.pdg.learn.direct import learn_direct
from exactlearn.pdg.learn.edge_counts import Size, StructureScore
from exactlearn.pdg.learn.hybrid import HybridGraph, learn_hybrid
from exactlearn.pdg.learn.parameters import tuned_smoothing
from exactlearn.pdg.learn.starts import (
    LEAST_SIZE_WEIGHT,
    MAX_PARENTS,
    MOST_CELLS,
    SMOOTHING,
    learnt_network,
)
from exactlearn.pdg.learn.structural_em import (
    StructuralEMState,
    structural_em_graph,
    structural_em_rounds,
)
from exactlearn.pdg.learn.structure_search import LearntGraph
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.scoring.scores import BDeu, PenalisedLikelihood, Score

Method = Literal["hybrid", "direct", "em"]
METHODS: tuple[Method, ...] = ("hybrid", "direct", "em")

Report = Callable[[str], None]
Keep = Callable[[float, float, Callable[[], DecisionGraph]], None]
"""Takes the score and the lambda of each model that may be the best, and what smooths it."""


@dataclass(frozen=True, eq=False)
class LearntModels:
    """The models learnt.

    Parameters
    ----------
    models
        Each with its lambda.
    finished
        Whether neither limit nor interrupt cut the search short.
    """

    models: tuple[tuple[float, DecisionGraph], ...]
    finished: bool = True

    @property
    def graph(self) -> DecisionGraph:
        """The last model, that of the smallest lambda."""
        return self.models[-1][1]


@checked_arguments()
def learn_pdg(
    dataset: DatasetLike,
    *,
    method: Method = "hybrid",
    network: BayesianNetwork | None = None,
    size_weights: Sequence[float] | None = None,
    size: Size = "effective",
    smoothing: float | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    on_progress: Report | None = None,
    on_model: Keep | None = None,
) -> LearntModels:
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
        A network of the table's variables, in place of one that is learnt: ``hybrid`` compiles it,
        the others start from its graph.
    size_weights
        Weights of the size, from 0 to 1, a graph for each; left out, that of BIC, or with
        ``hybrid``, complete rows and no ``smoothing`` one by cross-validation.
    size
        ``effective`` or ``representational``, of which ``hybrid`` only has the first one.
    smoothing
        Pseudo-count of every parameter; left out, chosen by cross-validation, by ``hybrid`` among
        parameters shrunk to those of the network as well; 1 with missing cells.
    seed
        Of all that is random.
    time_limit
        Seconds.
    on_progress, on_model
        Called with a line of progress; and with each model that may be the best so far, by its
        score, lambda, and what smooths it.

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
    if network is not None:
        codes = aligned_codes(dataset, network.names, network.states)
        dataset = Dataset(codes, network.names, network.states, dataset.weights)
    report: Report = on_progress or (lambda text: None)
    keep: Keep = on_model or (lambda *model: None)
    search = _Search(dataset, network, size_weights, size, smoothing, seed, report, keep)
    with SearchControl.within(time_limit).running():
        if method != "em" and on_model is not None:
            search.keep_first()
        found: LearntModels = getattr(search, method)()
    return found


@dataclass(frozen=True, eq=False)
class _Search:
    """What to learn: the arguments of `learn_pdg`; a method for each of its methods."""

    dataset: Dataset
    network: BayesianNetwork | None
    size_weights: Sequence[float] | None
    size: Size
    smoothing: float | None
    seed: int
    report: Report
    keep: Keep

    def keep_first(self) -> None:
        """Keep a model of a first tree of variables before the search begins."""
        weight = max(self.size_weights) if self.size_weights else None
        first = structural_em_graph(self.dataset, iterations=0, **self._for_em(weight))
        self.keep(first.score, first.size_weight, lambda: first.graph)

    def direct(self) -> LearntModels:
        """Learn from complete rows."""

        def show(done: int, total: int, model: LearntGraph) -> None:
            self.report(f"graph {done} of {total}  score {model.score:.4f}")
            count = 1.0 if self.smoothing is None else self.smoothing
            smoothed = partial(tuned_smoothing, model.graph, self.dataset, smoothing=count)
            self.keep(model.score, model.size_weight, smoothed)

        found = learn_direct(
            self.dataset,
            size_weights=self.size_weights,
            size=self.size,
            starts=self._starts,
            smoothing=self.smoothing,
            seed=self.seed,
            on_progress=show,
        )
        return LearntModels(tuple((m.size_weight, m.graph) for m in found.models), found.finished)

    def hybrid(self) -> LearntModels:
        """Learn from the network, or from one of fewer parents where its graph is too large."""

        def show(model: HybridGraph) -> None:
            size = model.graph.effective_size
            self.report(f"size_weight {model.size_weight:.4g}  effective size {size:,}")
            score = StructureScore(model.size_weight).of(model.graph, model.log_likelihood)
            self.keep(score, model.size_weight, lambda: model.graph)

        for most in range(MAX_PARENTS, -1, -1):
            self.report(f"network, at most {most} parents")
            relearn = self._relearn(most)
            try:
                found = learn_hybrid(
                    relearn(self.dataset),
                    self.dataset,
                    size_weights=self.size_weights,
                    smoothing=self.smoothing,
                    relearn=relearn,
                    seed=self.seed,
                    on_model=show,
                )
                break
            except TooLargeError:
                if self.network is not None or most == 0:
                    raise
        return LearntModels(tuple((m.size_weight, m.graph) for m in found.models), found.finished)

    def em(self) -> LearntModels:
        """Learn by structural EM."""

        def show(state: StructuralEMState) -> None:
            line = f"iteration {state.iteration}  score {state.score:.4f}"
            self.report(f"{line}  effective size {state.graph.effective_size:,}")

        models, finished = [], True
        for size_weight in self.size_weights or (None,):
            if not finished:
                break
            options = self._for_em(size_weight) | {
                "on_iteration": show,
                "on_graph": lambda state, x, smoothed: self.keep(state.objective, x, smoothed),
            }
            if self._starts:
                found = structural_em_graph(self.dataset, start=self._starts[0], **options)
            else:
                found = structural_em_rounds(self.dataset, seed=self.seed, **options)
            models.append((found.size_weight, found.graph))
            finished = found.finished
        return LearntModels(tuple(models), finished)

    def _for_em(self, size_weight: float | None) -> dict[str, Any]:
        smoothing = 1.0 if self.smoothing is None else self.smoothing
        return {"size_weight": size_weight, "size": self.size, "smoothing": smoothing}

    @cached_property
    def _starts(self) -> tuple[DecisionGraph, ...]:
        """The decision graph of the network, if there is one not too large to start from."""
        if self.network is None:
            return ()
        try:
            return (compile_network(self.network, max_size=MOST_CELLS, seed=self.seed),)
        except TooLargeError:
            return ()

    def _relearn(self, max_parents: int) -> Callable[[Dataset], BayesianNetwork]:
        """Return what learns the network from rows; the structure of one that is given stays."""
        network = self.network
        if network is not None:
            return lambda rows: (
                network
                if rows is self.dataset
                else fit_complete(rows, network.parents, smoothing=SMOOTHING)
            )
        score: Score = BDeu()
        if self.size_weights:  # merging takes away what a larger weight would not pay for
            score = PenalisedLikelihood(max(min(self.size_weights), LEAST_SIZE_WEIGHT))
        return partial(learnt_network, seed=self.seed, score=score, max_parents=max_parents)
