"""SL-curves: size against log-likelihood of the models of each class learned from a table.

THESIS, sections 4.1.2 and 5.1.1. Each language gives a sequence of models: networks and decision
graphs for falling weights of the size, naive Bayes models with more and more components (Algorithm
4.5). Decision graphs are learned from the rows, or merged from networks. All take missing cells.

Random queries (THESIS, section 5.1.1, after Lowd and Domingos 2005) judge a model, too: a row of
the test is drawn, and two disjoint sets of its variables, Q and E; the accuracy is log P(q | e).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import log, nan
from time import process_time
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from exactlearn._runtime.argument_kinds import all_of, one_of
from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.control import SearchControl
from exactlearn._runtime.progress import counted
from exactlearn.bayesnet.component_growth import naive_bayes_models
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.bayesnet.row_completion import eliminated, prepared
from exactlearn.data.alignment import aligned_codes
from exactlearn.data.codes import MISSING
from exactlearn.data.counts import size_weight_of
from exactlearn.data.dataset import Dataset, DatasetLike, require_weight
from exactlearn.errors import DataError, TooLargeError
from exactlearn.evaluation.metrics import effective_size
from exactlearn.pdg.inference.flows import posteriors_and_log_likelihoods
from exactlearn.pdg.learn.hybrid import learn_hybrid
from exactlearn.pdg.learn.methods import learn_pdg
from exactlearn.pdg.learn.starts import learned_network
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.queries.model_graphs import Model
from exactlearn.scoring.scores import PenalisedLikelihood

RATES = (8.0, 4.0, 2.0, 1.0, 0.5)
"""Gains that a cell of size must have, as multiples of AIC's 1; that of BIC, half the logarithm of
the number of rows, is added. More than AIC lets networks of many rows predict best."""

MAX_SIZE = 30_000
MAX_COMPONENTS = 100
"""Of naive Bayes: effective size, and number of components, where growth ends."""

MAX_QUERIED = 500_000
"""Effective size of the largest models that random queries are asked of."""

QUERY_VARIABLES = 4
EVIDENCE_VARIABLES = 3
"""Numbers of variables of Q and of E, as in THESIS, section 5.4."""

WARM_UP = 50
"""Queries that are answered before the clock runs: compilation, and the order of elimination."""

ANSWERS = ("query_accuracy", "query_seconds")
"""Keys of the measures of a model on random queries."""

Weighted = tuple[Model, float | None]
"""A model, and the weight of the size with which it was learned, if any."""


def networks(
    dataset: Dataset, weights: Sequence[float], seed: int
) -> Iterator[tuple[BayesianNetwork, float]]:
    """Yield networks of at most three parents; with missing cells, by structural EM."""
    for size_weight in weights:
        score = PenalisedLikelihood(size_weight)
        yield learned_network(dataset, seed, score=score), size_weight


def naive_bayes(
    dataset: Dataset, weights: Sequence[float], seed: int
) -> Iterator[Weighted]:
    """Yield naive Bayes models, whatever the weights are."""
    for model in naive_bayes_models(dataset, seed=seed):
        yield model, None
        if model.effective_size > MAX_SIZE or model.n_components > MAX_COMPONENTS:
            return


def decision_graphs(
    dataset: Dataset, weights: Sequence[float], seed: int
) -> Iterator[Weighted]:
    """Yield decision graphs by direct search; of missing cells by structural EM."""
    method: Literal["direct", "em"] = "direct" if dataset.is_complete else "em"
    models = learn_pdg(dataset, method=method, size_weights=weights, seed=seed).models
    for model in sorted(models, key=lambda model: -model.size_weight):
        yield model.graph, model.size_weight


def hybrid_graphs(
    dataset: Dataset, weights: Sequence[float], seed: int
) -> Iterator[Weighted]:
    """Yield the decision graphs of networks, each merged with the weight it was learned with."""
    for network, size_weight in networks(dataset, weights, seed):
        merged = learn_hybrid(network, dataset, size_weights=[size_weight], seed=seed)
        yield merged.models[0].graph, size_weight


LANGUAGES: Mapping[
    str, Callable[[Dataset, Sequence[float], int], Iterator[Weighted]]
] = {
    "bn": networks,
    "nb": naive_bayes,
    "pdg": decision_graphs,
    "hybrid": hybrid_graphs,
}
"""The function that makes the sequence of each model class."""


Queries = tuple[Dataset, Dataset]
"""Rows in which only the cells of E are observed, and those with the cells of Q as well."""


def random_queries(dataset: Dataset, n_queries: int, seed: int = 0) -> Queries:
    """Draw queries P(q | e) from rows.

    Parameters
    ----------
    dataset
        The rows; those with enough observed cells are drawn by their weights, with repetition.
    n_queries
        Number of queries.
    seed
        Of what is drawn.

    Raises
    ------
    DataError
        When no row has so many observed cells.
    """
    observed = dataset.codes != MISSING
    n_cells = QUERY_VARIABLES + EVIDENCE_VARIABLES
    weights = np.where(observed.sum(axis=1) >= n_cells, dataset.row_weights, 0.0)
    if not weights.sum() > 0:
        raise DataError(
            f"no row has the {n_cells} observed cells that a query of {QUERY_VARIABLES} variables "
            f"given {EVIDENCE_VARIABLES} needs; ask for no queries"
        )
    rng = np.random.default_rng(seed)
    # Rows are drawn by their weights, with repetition.
    rows = rng.choice(dataset.n_rows, n_queries, p=weights / weights.sum())
    # The observed cells of each row in a random order: first those of E, then those of Q.
    keys = rng.random((n_queries, dataset.n_variables))
    rank = np.where(observed[rows], keys, np.inf).argsort(axis=1).argsort(axis=1)
    drawn = replace(dataset.part(rows), weights=None)
    return (
        replace(drawn, codes=np.where(rank < EVIDENCE_VARIABLES, drawn.codes, MISSING)),
        replace(drawn, codes=np.where(rank < n_cells, drawn.codes, MISSING)),
    )


def answers(model: Model, queries: Queries) -> dict[str, float]:
    """Return accuracy and time of a model's answers: beliefs given e, and given q and e.

    A network is queried in its own clique tree, not compiled.

    Returns
    -------
    answers
        ``query_accuracy``, the mean log P(q | e) in nats, minus infinity where a query is
        impossible; ``query_seconds``, CPU time of a belief update: all posterior marginals given a
        query's evidence, and the probability of that.

    Raises
    ------
    DataError
        When a variable of the model is absent, or a row has a state that it does not know.
    TooLargeError
        When the tables of a network would have too many cells.
    """
    update = _belief_update(model)
    of_e, of_both = (aligned_codes(part, model.names, model.states) for part in queries)
    update(of_e[:WARM_UP])
    update(of_both[:WARM_UP])
    begun = process_time()
    log_e = update(of_e)
    log_both = update(of_both)
    seconds = (process_time() - begun) / (2 * len(of_e))
    # log P(q | e); both logarithms are infinite where e is impossible.
    with np.errstate(invalid="ignore"):
        logs = np.where(np.isneginf(log_both), -np.inf, log_both - log_e)
    return {"query_accuracy": float(logs.mean()), "query_seconds": seconds}


def _belief_update(model: Model) -> Callable[[NDArray[np.int16]], NDArray[np.float64]]:
    """Return the function that computes all posterior marginals, and returns log-likelihoods."""
    if isinstance(model, BayesianNetwork):
        network = prepared(model)
        return lambda codes: eliminated(network, codes)[1]
    if isinstance(model, DecisionGraph):
        return lambda codes: posteriors_and_log_likelihoods(model, codes, threads=1)[1]
    return lambda codes: model.row_posteriors(codes)[1]


@checked_arguments(languages=all_of(one_of(LANGUAGES)))
def sl_curves(
    train: DatasetLike,
    test: DatasetLike,
    *,
    languages: Sequence[str] = tuple(LANGUAGES),
    size_weights: Sequence[float] | None = None,
    queries: int = 0,
    seed: int = 0,
    time_limit: float | None = None,
) -> pd.DataFrame:
    """Learn the sequences of several languages: one row for each model.

    Parameters
    ----------
    train, test
        Rows learned from, and rows that the models are judged by; cells may be missing.
    languages
        ``bn`` (networks), ``nb`` (naive Bayes), ``pdg`` and ``hybrid`` (decision graphs).
    size_weights
        Weights of the size in S = (1-lambda) L - lambda size (THESIS, 4.40), L the total
        log-likelihood; left out, those of `RATES` and of BIC.
    queries
        Number of random queries, of rows of the test, that each model answers.
    seed
        Of the searches and of the queries.
    time_limit
        Seconds, shared among the languages; after it and after an interrupt, the sequences end
        where they are.

    Returns
    -------
    pandas.DataFrame
        ``language``, ``size_weight``, ``effective_size``, ``parameters`` (free ones);
        log-likelihoods per row in nats of ``train`` and ``test``; ``bic`` and ``aic``, to be
        maximised, which count the effective size of decision graphs and the free parameters of
        other models; CPU ``seconds``; ``query_accuracy`` and ``query_seconds``, see `answers`;
        and the ``model``. In ``attrs``: the languages that are ``unfinished``.

    Raises
    ------
    OptionError
        When a language is unknown, a size weight is not from 0 to 1, or there are fewer than no
        queries.
    DataError
        When a table has no rows, or no row has the observed cells of a query.
    TooLargeError
        When rows with missing cells are too hard for the first model of a language; a later one
        ends its sequence.

    Examples
    --------
    >>> rows = np.array([[0, 0, 0], [1, 1, 1], [0, 0, 1], [1, 1, 0]] * 25)
    >>> table = Dataset(rows, ("a", "b", "c"), (("n", "y"),) * 3)
    >>> curves = sl_curves(table, table, languages=["bn"], size_weights=[0.9, 0.5])
    >>> curves[["language", "effective_size", "train"]].round(2)
      language  effective_size  train
    0       bn               6  -1.39
    """
    # Weights of the size, the largest first: from small models to large ones.
    rates = (*RATES, log(max(2.0, require_weight(train))) / 2)
    require_weight(test, "judge by")
    weights = sorted(set(size_weights or map(size_weight_of, rates)), reverse=True)
    drawn = random_queries(test, queries, seed) if queries else None
    rows: list[dict[str, Any]] = []
    unfinished: list[str] = []
    with SearchControl.within(time_limit).running() as control:
        for k, language in enumerate(counted("model class", languages, len(languages))):
            # The time that is left, in equal parts.
            seconds = control.left / (len(languages) - k)
            with SearchControl.within(seconds).running() as of_language:
                models = LANGUAGES[language](train, weights, seed)
                points = _points(models, len(weights), train, test, drawn)
                rows += [{"language": language, **point} for point in points]
                if of_language.is_over:
                    unfinished.append(language)
    frame = pd.DataFrame(rows)
    frame.attrs["unfinished"] = unfinished
    return frame


IDENTITY = ("effective_size", "parameters", "train", "test")
"""Figures that are the same of equal models."""


def _points(
    models: Iterator[Weighted],
    n_models: int,
    train: Dataset,
    test: Dataset,
    queries: Queries | None,
) -> Iterator[dict[str, Any]]:
    """Yield the models of a language as rows; of equal models for two weights the first one."""
    begun = process_time()
    last: tuple[Any, ...] | None = None
    try:
        for model, size_weight in counted("model", models, n_models):
            if last is not None and SearchControl.within().is_over:  # cut short
                return
            seconds = process_time() - begun
            row = _point(model, train, test, queries)
            # Another weight may give the same model.
            key = tuple(row[name] for name in IDENTITY)
            if key != last:
                yield {"size_weight": size_weight, "seconds": seconds, **row}
            begun = process_time()
            last = key
    except TooLargeError:  # larger ones are not easier
        if last is None:
            raise


def _point(
    model: Model, train: Dataset, test: Dataset, queries: Queries | None
) -> dict[str, Any]:
    """Return sizes, log-likelihoods per row, criteria and answers of a model; and the model."""
    size = effective_size(model)
    parameters = model.representational_size
    of_train = train.total(model.log_likelihood_rows(train))
    of_test = test.total(model.log_likelihood_rows(test))
    n_train = float(train.row_weights.sum())
    # The criteria count cells of graphs, and free parameters of other models.
    counted_size = size if isinstance(model, DecisionGraph) else parameters
    answered = dict.fromkeys(ANSWERS, nan)
    if queries is not None and size <= MAX_QUERIED:
        answered = answers(model, queries)
    return {
        "effective_size": size,
        "parameters": parameters,
        "train": of_train / n_train,
        "test": of_test / float(test.row_weights.sum()),
        "bic": of_train - log(n_train) / 2 * counted_size,
        "aic": of_train - counted_size,
        **answered,
        "model": model,
    }
