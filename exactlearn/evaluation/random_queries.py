"""Random queries: how probable a model finds some cells of a row given some others, and how soon.

THESIS, section 5.1.1, after Lowd and Domingos (2005): a row of the test is drawn, and two disjoint
sets of its variables, Q and E; the accuracy of a model is log P(q | e).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import nan, sqrt
from time import process_time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import checked_arguments
from exactlearn.bayesnet.clique_elimination import eliminated, prepared
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.codes import MISSING
from exactlearn.data.dataset import Dataset, DatasetLike, aligned_codes
from exactlearn.errors import DataError, OptionError
from exactlearn.pdg.inference.flows import posteriors_and_log_likelihoods
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.queries.evidence import Model

N_QUERIES, QUERY_VARIABLES, EVIDENCE_VARIABLES = 1000, 4, 3
"""As in THESIS, section 5.4."""

WARM_UP = 50
"""Queries that are answered before the clock runs: compilation, and the order of elimination."""


class QueryAnswers(NamedTuple):
    """How a model answers random queries.

    Attributes
    ----------
    mean, error
        Mean log P(q | e) in nats, and its standard error (NaN for one query); minus infinity where
        a query is impossible.
    seconds
        CPU time of a belief update: all posterior marginals given a query's evidence, and the
        probability of that.
    """

    mean: float
    error: float
    seconds: float


NO_QUERIES = QueryAnswers(nan, nan, nan)
"""Of a model that was asked nothing."""


@dataclass(frozen=True, eq=False)
class RandomQueries:
    """Queries P(q | e), one a row.

    Parameters
    ----------
    evidence, observed
        Rows in which only the cells of E are observed, and those with the cells of Q as well.
    """

    evidence: Dataset
    observed: Dataset

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return self.evidence.n_rows

    def answered_by(self, model: Model) -> QueryAnswers:
        """Return how a model answers: beliefs are updated by e, and by q and e, for each query.

        A network is queried in its own clique tree, not compiled.

        Raises
        ------
        DataError
            When a variable of the model is absent, or a row has a state that it does not know.
        TooLargeError
            When the tables of a network would have too many cells.
        """
        update = _belief_update(model)
        asked = (self.evidence, self.observed)
        given, all_of = (aligned_codes(part, model.names, model.states) for part in asked)
        for codes in (given, all_of):
            update(codes[:WARM_UP])
        begun = process_time()
        before, after = update(given), update(all_of)
        seconds = (process_time() - begun) / (2 * self.n_queries)
        with np.errstate(invalid="ignore"):
            logs = np.where(np.isneginf(after), -np.inf, after - before)
            error = float(logs.std(ddof=1)) / sqrt(len(logs)) if len(logs) > 1 else nan
        return QueryAnswers(float(logs.mean()), error, seconds)


@checked_arguments()
def random_queries(
    dataset: DatasetLike,
    n_queries: int = N_QUERIES,
    *,
    query_variables: int = QUERY_VARIABLES,
    evidence_variables: int = EVIDENCE_VARIABLES,
    seed: int = 0,
) -> RandomQueries:
    """Draw queries from rows.

    Parameters
    ----------
    dataset
        The rows; those with enough observed cells are drawn by their weights, with repetition.
    n_queries
        Number of queries.
    query_variables, evidence_variables
        Numbers of variables of Q and of E.
    seed
        Of what is drawn.

    Raises
    ------
    OptionError
        When there is no query, or no variable to ask for.
    DataError
        When no row has so many observed cells.

    Examples
    --------
    >>> table = Dataset(np.array([[0, 1, 0]]), ("a", "b", "c"), (("n", "y"),) * 3)
    >>> asked = random_queries(table, 5, query_variables=1, evidence_variables=1)
    >>> (asked.evidence.codes >= 0).sum(axis=1).tolist()
    [1, 1, 1, 1, 1]
    """
    if min(n_queries, query_variables) < 1 or evidence_variables < 0:
        raise OptionError(
            f"{n_queries} queries of {query_variables} variables given {evidence_variables}: "
            "expected at least one query, of one variable given none"
        )
    observed = dataset.codes != MISSING
    both = query_variables + evidence_variables
    weights = np.where(observed.sum(axis=1) >= both, dataset.row_weights, 0.0)
    if not weights.sum() > 0:
        raise DataError(
            f"no row has the {both} observed cells that a query of {query_variables} variables "
            f"given {evidence_variables} needs; ask for fewer"
        )
    rng = np.random.default_rng(seed)
    rows = rng.choice(dataset.n_rows, n_queries, p=weights / weights.sum())
    keys = np.where(observed[rows], rng.random((n_queries, dataset.n_variables)), np.inf)
    order = keys.argsort(axis=1)
    given, all_of = (_only(dataset, rows, order[:, :k]) for k in (evidence_variables, both))
    return RandomQueries(given, all_of)


def _only(dataset: Dataset, rows: NDArray[np.int64], kept: NDArray[np.int64]) -> Dataset:
    """Return rows of a table of which only some cells are kept."""
    chosen = dataset.part(rows)
    codes = np.full_like(chosen.codes, MISSING)
    np.put_along_axis(codes, kept, np.take_along_axis(chosen.codes, kept, axis=1), axis=1)
    return replace(chosen, codes=codes, weights=None)


def _belief_update(model: Model) -> Callable[[NDArray[np.int16]], NDArray[np.float64]]:
    """Return what finds all posterior marginals of rows, and gives the rows' log-likelihoods."""
    if isinstance(model, BayesianNetwork):
        network = prepared(model)
        return lambda codes: eliminated(network, codes)[1]
    if isinstance(model, DecisionGraph):
        return lambda codes: posteriors_and_log_likelihoods(model, codes, threads=1)[1]
    return lambda codes: model.row_posteriors(codes)[1]
