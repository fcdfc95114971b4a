"""Languages of models: each learns a sequence of models of one table, from small to large.

A language is a row of `LANGUAGES`: Bayesian networks and decision graphs are learnt with several
weights of the size in S = (1-lambda) L - lambda size (THESIS, equation 4.40), naive Bayes models
with more and more components (Algorithm 4.5). Decision graphs are learnt from the rows, or merged
from networks. All take missing cells. A sequence ends early, after one model at least, once the
search that runs in this thread is over.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log
from time import process_time

from exactlearn._runtime.control import SearchControl
from exactlearn.bayesnet.component_growth import naive_bayes_models
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.dataset import Dataset
from exactlearn.data.trade_off import size_weight_of
from exactlearn.errors import TooLargeError
from exactlearn.evaluation.models import effective_size
from exactlearn.pdg.learn.hybrid import learn_hybrid
from exactlearn.pdg.learn.methods import Request, learn_by
from exactlearn.pdg.learn.network_starts import learnt_network
from exactlearn.queries.evidence import Model
from exactlearn.scoring.scores import PenalisedLikelihood

RATES = (8.0, 4.0, 2.0, 1.0)
"""What a cell of size must gain, as a multiple of AIC's 1 (BIC's is half the logarithm of the
number of rows, and comes to them)."""

MOST_SIZE, MOST_COMPONENTS = 30_000, 100
"""Of naive Bayes: effective size, and number of components, where growth ends."""

SIGNIFICANCES = (0.01, 1.0)
"""Of the tests that forests are grown by, beside those of networks and of mutual information."""


@dataclass(frozen=True, eq=False)
class LearntModel:
    """A model of a language's sequence.

    Parameters
    ----------
    model
        A network, a decision graph or a naive Bayes model.
    size_weight
        Weight of the size that it was learnt with; ``None`` for a naive Bayes model.
    seconds
        CPU time since the model before it.
    """

    model: Model
    size_weight: float | None
    seconds: float

    @property
    def effective_size(self) -> int:
        """What belief updating costs, see `effective_size`."""
        return effective_size(self.model)


def size_weights(n_rows: float) -> list[float]:
    """Return the weights of the size, in falling order.

    Parameters
    ----------
    n_rows
        Weight of all rows.
    """
    rates = sorted({*RATES, log(n_rows) / 2}, reverse=True)
    return [size_weight_of(rate) for rate in rates]


def networks(dataset: Dataset, weights: Sequence[float], seed: int) -> Iterator[LearntModel]:
    """Yield networks of at most three parents; with missing cells, by structural EM."""
    for k, size_weight in enumerate(weights):
        begun = process_time()
        network = learnt_network(dataset, seed, score=PenalisedLikelihood(size_weight))
        if k > 0 and SearchControl.within().is_over:  # cut short
            return
        yield LearntModel(network, size_weight, process_time() - begun)


def naive_bayes(dataset: Dataset, weights: Sequence[float], seed: int) -> Iterator[LearntModel]:
    """Yield naive Bayes models, whatever the weights are."""
    begun = process_time()
    for k, model in enumerate(naive_bayes_models(dataset, seed=seed)):
        if k > 0 and SearchControl.within().is_over:  # cut short
            return
        yield LearntModel(model, None, process_time() - begun)
        if model.effective_size > MOST_SIZE or model.n_components > MOST_COMPONENTS:
            return
        begun = process_time()


def decision_graphs(dataset: Dataset, weights: Sequence[float], seed: int) -> Iterator[LearntModel]:
    """Yield decision graphs by direct search; of missing cells by structural EM."""
    begun, method = process_time(), "direct" if dataset.is_complete else "em"
    request = Request(
        dataset=dataset, method=method, size_weights=weights, significances=SIGNIFICANCES, seed=seed
    )
    found = learn_by(request, lambda text: None, lambda *model: None).models
    seconds = (process_time() - begun) / len(found)
    for size_weight, graph in sorted(found, key=lambda model: -model[0]):
        yield LearntModel(graph, size_weight, seconds)


def hybrid_graphs(dataset: Dataset, weights: Sequence[float], seed: int) -> Iterator[LearntModel]:
    """Yield the decision graphs of networks, each merged with the weight it was learnt with."""
    for k, found in enumerate(networks(dataset, weights, seed)):
        assert isinstance(found.model, BayesianNetwork)
        assert found.size_weight is not None
        begun = process_time()
        try:
            merged = learn_hybrid(found.model, dataset, size_weights=[found.size_weight], seed=seed)
        except TooLargeError:
            if k == 0:
                raise
            return
        graph = merged.models[0].graph
        yield LearntModel(graph, found.size_weight, found.seconds + process_time() - begun)


Sequences = Callable[[Dataset, Sequence[float], int], Iterator[LearntModel]]
"""Yields the models of a table, given weights of the size in falling order, and a seed."""

LANGUAGES: Mapping[str, Sequences] = {
    "bn": networks,
    "nb": naive_bayes,
    "pdg": decision_graphs,
    "hybrid": hybrid_graphs,
}
"""How each language makes its sequence."""
