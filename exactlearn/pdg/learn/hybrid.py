"""Refinement of a compiled network by data: collapse, then merge with growing lambda.

THESIS, Algorithm 4.18: nodes that no record reaches become garbage nodes, all others get the
maximum-likelihood parameters of the records, and nodes with the same successors are merged for
each lambda in turn, while the score (1-lambda) L - lambda size does not fall.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from exactlearn.data.alignment import aligned_codes
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError, OptionError
from exactlearn.pdg.compile.approximation import MergeSequence, rate_of
from exactlearn.pdg.inference.flows import expected_counts
from exactlearn.pdg.learn.collapse import collapse_unreached
from exactlearn.pdg.model.decision_graph import DecisionGraph


class Refined(NamedTuple):
    """One model along lambda.

    Attributes
    ----------
    lambda_
        The lambda up to which was merged.
    graph
        The model.
    loss
        Log-likelihood per record that merging lost, in nats.
    """

    lambda_: float
    graph: DecisionGraph
    loss: float


def data_merges(graph: DecisionGraph, dataset: Dataset) -> MergeSequence:
    """Return the merges of a graph whose unreached nodes are collapsed, weighed by records.

    With missing cells, records count for what they are expected to reach under the graph.

    Raises
    ------
    DataError
        If the table does not fit the graph, is empty, or a record is impossible under it.
    """
    if dataset.n_rows == 0:
        raise DataError("the table has no rows: nothing to merge by")
    small = collapse_unreached(graph, dataset)
    codes = aligned_codes(dataset, small.names, small.states)
    counts = expected_counts(small, codes, dataset.weights)
    # Each variable's counts add up to the weight of all records.
    return MergeSequence(small, counts * (small.n_variables / counts.sum()))


def merge_along(graph: DecisionGraph, dataset: Dataset, lambdas: Sequence[float]) -> list[Refined]:
    """Return a model for each lambda, by merging further and further.

    Parameters
    ----------
    lambdas
        From 0 to 1, none smaller than the one before.

    Raises
    ------
    OptionError
        If the lambdas fall or are out of range.
    DataError
        As `data_merges`.
    """
    rates = [rate_of(x) for x in lambdas]
    if not (np.diff(lambdas) >= 0).all():
        raise OptionError(f"lambdas {list(lambdas)} must not fall")
    merges = data_merges(graph, dataset)
    models = []
    for lambda_, rate in zip(lambdas, rates, strict=True):
        merges.merge_until(rate=rate)
        models.append(Refined(lambda_, merges.merged(), merges.loss))
    return models
