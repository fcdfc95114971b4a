"""SL-curves: size against log-likelihood of the models that each language learns from a table.

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
from exactlearn.data.codes import MISSING
from exactlearn.data.counts import size_weight_of
from exactlearn.data.dataset import Dataset, DatasetLike, aligned_codes, require_weight
from exactlearn.errors import DataError, TooLargeError
from exactlearn.evaluation.metrics import effective_size
from exactlearn.pdg.inference.flows import posteriors_and_log_likelihoods
from exactlearn.pdg.learn.hybrid import learn_hybrid
from exactlearn.pdg.learn.methods import learn_pdg
from exactlearn.pdg.learn.starts import learned_network
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.queries.posteriors import Model
from exactlearn.scoring.scores import PenalisedLikelihood

RATES = (8.0, 4.0, 2.0, 1.0, 0.5)
"""What a cell of size must gain, as a multiple of AIC's 1; that of BIC, half the logarithm of the
number of rows, comes to them. More than AIC lets networks of many rows predict best."""

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
"""How a model answers random queries."""

Weighted = tuple[Model, float | None]
"""A model, and the weight of the size that it was learned with, if any."""


def networks(
    dataset: Dataset, weights: Sequence[float], seed: int
) -> Iterator[tuple[BayesianNetwork, float]]:
    """Yield networks of at most three parents; with missing cells, by structural EM."""
    for size_weight in weights:
        yield (
            learned_network(dataset, seed, score=PenalisedLikelihood(size_weight)),
            size_weight,
        )


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
    found = learn_pdg(dataset, method=method, size_weights=weights, seed=seed).models
    for model in sorted(found, key=lambda model: -model.size_weight):
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
"""How each language makes its sequence."""


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
    both = QUERY_VARIABLES + EVIDENCE_VARIABLES
    weights = np.where(observed.sum(axis=1) >= both, dataset.row_weights, 0.0)
    if not weights.sum() > 0:
        raise DataError(
            f"no row has the {both} observed cells that a query of {QUERY_VARIABLES} variables "
            f"given {EVIDENCE_VARIABLES} needs; ask for no queries"
        )
    rng = np.random.default_rng(seed)
    rows = rng.choice(dataset.n_rows, n_queries, p=weights / weights.sum())
    keys = np.where(
        observed[rows], rng.random((n_queries, dataset.n_variables)), np.inf
    )
    rank = keys.argsort(axis=1).argsort(axis=1)
    drawn = dataset.part(rows)
    given, all_of = (
        replace(drawn, codes=np.where(rank < k, drawn.codes, MISSING), weights=None)
        for k in (EVIDENCE_VARIABLES, both)
    )
    return given, all_of


def answers(model: Model, queries: Queries) -> dict[str, float]:
    """Return how a model answers: beliefs are updated by e, and by q and e, for each query.

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
    given, all_of = (aligned_codes(part, model.names, model.states) for part in queries)
    for codes in (given, all_of):
        update(codes[:WARM_UP])
    begun = process_time()
    before = update(given)
    after = update(all_of)
    seconds = (process_time() - begun) / (2 * len(given))
    with np.errstate(invalid="ignore"):
        logs = np.where(np.isneginf(after), -np.inf, after - before)
    return {"query_accuracy": float(logs.mean()), "query_seconds": seconds}


def _belief_update(model: Model) -> Callable[[NDArray[np.int16]], NDArray[np.float64]]:
    """Return what finds all posterior marginals of rows, and gives the rows' log-likelihoods."""
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
    rates = (*RATES, log(max(2.0, require_weight(train))) / 2)
    require_weight(test, "judge by")
    weights = sorted(set(size_weights or map(size_weight_of, rates)), reverse=True)
    asked = random_queries(test, queries, seed) if queries else None
    rows: list[dict[str, Any]] = []
    unfinished: list[str] = []
    with SearchControl.within(time_limit).running() as control:
        for k, language in enumerate(counted("model class", languages, len(languages))):
            share = control.left / (len(languages) - k)
            with SearchControl.within(share).running() as own:
                models = LANGUAGES[language](train, weights, seed)
                points = _points(models, len(weights), train, test, asked)
                rows += [{"language": language, **point} for point in points]
                if own.is_over:
                    unfinished.append(language)
    frame = pd.DataFrame(rows)
    frame.attrs["unfinished"] = unfinished
    return frame


def _points(
    models: Iterator[Weighted],
    n_models: int,
    train: Dataset,
    test: Dataset,
    queries: Queries | None,
) -> Iterator[dict[str, Any]]:
    """Yield the models of a language as rows; of equal models for two weights the first one."""
    begun = process_time()
    last = None
    try:
        for model, size_weight in counted("model", models, n_models):
            if last is not None and SearchControl.within().is_over:  # cut short
                return
            seconds = process_time() - begun
            row = _point(model, train, test, queries)
            found = row["effective_size"], row["parameters"], row["train"], row["test"]
            if found != last:
                yield {"size_weight": size_weight, "seconds": seconds, **row}
            begun = process_time()
            last = found
    except TooLargeError:  # larger ones are not easier
        if last is None:
            raise


def _point(
    model: Model, train: Dataset, test: Dataset, queries: Queries | None
) -> dict[str, Any]:
    """Return sizes, log-likelihoods per row, criteria and answers of a model; and the model."""
    size = effective_size(model)
    parameters = model.representational_size
    totals = [part.total(model.log_likelihood_rows(part)) for part in (train, test)]
    n_train, n_test = (float(part.row_weights.sum()) for part in (train, test))
    counted = size if isinstance(model, DecisionGraph) else parameters
    asked = queries if size <= MAX_QUERIED else None
    return {
        "effective_size": size,
        "parameters": parameters,
        "train": totals[0] / n_train,
        "test": totals[1] / n_test,
        "bic": totals[0] - log(n_train) / 2 * counted,
        "aic": totals[0] - counted,
        **(answers(model, asked) if asked else dict.fromkeys(ANSWERS, nan)),
        "model": model,
    }
