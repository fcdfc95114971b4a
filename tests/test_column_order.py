"""A table whose columns stand in another order than a model's has the same answers."""

from collections.abc import Callable

import numpy as np
import pytest

import exactlearn as el
from exactlearn.bayesnet.row_completion import posterior_cells
from exactlearn.data.dataset import Dataset
from exactlearn.pdg.learn.direct import learn_direct
from exactlearn.pdg.learn.hybrid import learn_hybrid
from exactlearn.pdg.learn.structural_em import structural_em_graph
from exactlearn.scoring.expected_counts import expected_counts

PARENTS = ((), (0,), (1,), (0, 2))
NAMES = ("a", "b", "c", "d")
STATES = (("no", "yes"), ("low", "mid", "high"), ("no", "yes"), ("x", "y"))


def rows_of(seed: int) -> Dataset:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 2, 150)
    b = (a + rng.integers(0, 2, 150)) % 3
    c = (b > 0) ^ (rng.random(150) < 0.2)
    d = (a & c) ^ (rng.random(150) < 0.1)
    return Dataset(np.column_stack([a, b, c, d]), NAMES, STATES)


COMPLETE = rows_of(0)
INCOMPLETE = el.hide(COMPLETE, "mcar:0.1", np.random.default_rng(1))
NETWORK = el.fit_complete(COMPLETE, PARENTS, smoothing=1.0)
GRAPH = el.compile_network(NETWORK)


def permuted(table: Dataset) -> Dataset:
    """Return the table with its columns in another order, the states of one reversed."""
    order = [2, 0, 3, 1]
    codes = table.codes[:, order].copy()
    codes[:, 0] = np.where(codes[:, 0] >= 0, 1 - codes[:, 0], -1)
    states = [STATES[v] for v in order]
    states[0] = states[0][::-1]
    return Dataset(codes, tuple(NAMES[v] for v in order), tuple(states))


def with_a_column(table: Dataset) -> Dataset:
    """Return the permuted table with a column before the others."""
    table = permuted(table)
    codes = np.column_stack([np.arange(table.n_rows) % 2, table.codes])
    return Dataset(codes, ("other", *table.names), (("u", "v"), *table.states))


def hybrid_graph(table: Dataset) -> float:
    """Return the likelihood of a graph whose parameters and lambda are chosen by folds."""
    graph = learn_hybrid(NETWORK, table, seed=1).graph
    return COMPLETE.total(graph.log_likelihood_rows(COMPLETE))


def started_graph(table: Dataset) -> float:
    return structural_em_graph(table, start=GRAPH, iterations=2).score


def most_likely_graph(table: Dataset) -> float:
    """Return the score of a direct search that begins with the best graph there is."""
    return (
        learn_direct(table, start=GRAPH, size_weights=[0.0], smoothing=0.0)
        .models[0]
        .score
    )


def counted_family(table: Dataset) -> float:
    child = table.index("d")
    parents = tuple(sorted((table.index("a"), table.index("c"))))
    return float((expected_counts(NETWORK, table, 3).family(child, parents) ** 2).sum())


def squared_posteriors(table: Dataset) -> float:
    return float((posterior_cells(NETWORK, table) ** 2).sum())


def refined(table: Dataset) -> float:
    return el.refine(GRAPH, table, starts=1, iterations=3).log_likelihoods[-1]


def class_loss(table: Dataset) -> float:
    return el.classify(NETWORK, table, "d").log_loss


@pytest.mark.parametrize("changed", [permuted, with_a_column])
@pytest.mark.parametrize(
    ("answer", "table"),
    [
        (hybrid_graph, COMPLETE),
        (class_loss, COMPLETE),
        (refined, INCOMPLETE),
    ],
)
def test_columns_are_matched_by_name(
    answer: Callable[[Dataset], float],
    table: Dataset,
    changed: Callable[[Dataset], Dataset],
):
    assert answer(changed(table)) == pytest.approx(answer(table), abs=1e-6)


@pytest.mark.parametrize(
    ("answer", "table"),
    [
        (started_graph, INCOMPLETE),
        (most_likely_graph, COMPLETE),
        (counted_family, INCOMPLETE),
        (squared_posteriors, INCOMPLETE),
    ],
)
def test_a_model_of_all_columns_is_matched_by_name(
    answer: Callable[[Dataset], float], table: Dataset
):
    assert answer(permuted(table)) == pytest.approx(answer(table), abs=1e-6)
