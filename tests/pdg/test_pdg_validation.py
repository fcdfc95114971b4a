import numpy as np
import pytest

from exactlearn.bayesnet.complete_data import fit_complete
from exactlearn.data.dataset import Dataset
from exactlearn.pdg.inference.flows import log_likelihood, log_likelihood_rows
from exactlearn.pdg.learn import methods, parameters
from exactlearn.pdg.learn.parameters import (
    STRENGTHS,
    Validation,
    cross_validated,
    estimated,
    tuned_smoothing,
)
from exactlearn.pdg.learn.structure_search import learn_on_forest
from tests.interrupts import Looks, press_ctrl_c
from tests.network_oracle import random_network
from tests.pdg_oracle import reached


@pytest.fixture(scope="module")
def drawn():
    rng = np.random.default_rng(2)
    network = random_network(rng, 5)
    return network, network.sample(200, rng), network.sample(4000, rng)


def learn(data, **options):
    return methods.learn_pdg(data, method="direct", **options)


def test_parameters_are_shrunk_to_those_of_the_graph(drawn):
    """(n + s m) / (N + s), node by node, with the rows followed through the graph."""
    _, data, _ = drawn
    forest = np.array([-1, 0, 1, 2, 3])
    graph = learn_on_forest(data, forest, size_weight=0.3, smoothing=3.0).graph
    counts = np.zeros(len(graph.parameters))
    for row in data.codes.tolist():
        for v, node in reached(graph, row).items():
            counts[graph.parameter_offsets[node] + row[v]] += 1
    found = estimated(graph, data, 5.0).parameters
    for start, end in zip(
        graph.parameter_offsets, graph.parameter_offsets[1:], strict=False
    ):
        n, m = counts[start:end], graph.parameters[start:end]
        np.testing.assert_allclose(found[start:end], (n + 5 * m) / (n.sum() + 5))
    assert estimated(graph, data, np.inf) is graph
    tuned = tuned_smoothing(graph, data)
    assert np.array_equal(estimated(graph, data, None).parameters, tuned.parameters)


@pytest.mark.parametrize("weighted", [False, True])
def test_validation_by_hand(drawn, weighted, monkeypatch):
    """Each fold predicted by graphs that were learnt from the others, row by row."""
    _, data, _ = drawn
    rng = np.random.default_rng(0)
    weights = rng.uniform(0.5, 2, data.n_rows) if weighted else None
    data = Dataset(data.codes, data.names, data.states, weights)
    forest = np.array([-1, 0, 1, 2, 3])

    def paths(rows):
        graphs = [
            learn_on_forest(rows, forest, size_weight=x).graph for x in (0.9, 0.6, 0.3)
        ]
        return [g.with_counts(g.parameters + 0.1) for g in graphs]

    monkeypatch.setattr(parameters, "FOLDS", 3)
    found = cross_validated(paths, data, 3, seed=4)
    parts = np.random.default_rng(4).permutation(200) % 3
    own = data.row_weights
    held = np.full((3, len(STRENGTHS), 200), np.nan)
    sizes = np.zeros(3)
    for k in range(3):
        train = Dataset(
            data.codes[parts != k], data.names, data.states, own[parts != k]
        )
        for g, graph in enumerate(paths(train)):
            sizes[g] += graph.effective_size
            for j, strength in enumerate(STRENGTHS):
                model = estimated(graph, train, strength, 4)
                held[g, j, parts == k] = log_likelihood_rows(
                    model, data.codes[parts == k]
                )
    judged = ~np.isnan(held[0, 0])
    totals = held[:, :, judged] @ own[judged]
    assert found.strengths == tuple(STRENGTHS[j] for j in totals.argmax(axis=1))
    best = int(totals.max(axis=1).argmax())
    as_good = []
    for g in range(3):
        lost = (
            held[best, totals[best].argmax(), judged]
            - held[g, totals[g].argmax(), judged]
        )
        mean = np.average(lost, weights=own[judged])
        error = np.sqrt(
            np.average((lost - mean) ** 2, weights=own[judged]) / own[judged].sum()
        )
        if mean <= error:
            as_good.append(g)
    assert found.smallest == min(as_good, key=lambda g: sizes[g])
    assert best in as_good


def test_a_decision_graph_predicts_as_well_as_the_network(drawn):
    network, _, test = drawn
    data = network.sample(1000, np.random.default_rng(7))
    learnt = fit_complete(data, network.parents, smoothing=0.25)
    found = learn(data)
    graph = found.graph
    assert found.finished
    assert 0 < found.models[-1].size_weight < 1
    assert (
        learnt.log_likelihood(test) - log_likelihood(graph, test)
    ) / test.n_rows < 0.05
    again = learn(data).graph
    assert np.array_equal(graph.parameters, again.parameters)
    several = learn(data, size_weights=[0.9, 0.5]).models
    assert [each.size_weight for each in several] == [0.9, 0.5]
    assert several[0].graph.effective_size <= several[1].graph.effective_size


def test_parity_of_many_variables_is_learned_from_the_rows():
    """No network of few parents represents it."""
    rng = np.random.default_rng(5)
    bits = rng.integers(0, 2, (2000, 4))
    codes = np.column_stack([bits, bits.sum(axis=1) % 2])
    data = Dataset(codes, tuple("abcde"), (("0", "1"),) * 5)
    graph = learn(data).graph
    assert log_likelihood(graph, data) / 2000 == pytest.approx(-4 * np.log(2), abs=0.01)
    assert graph.effective_size == 18


def test_an_interrupt_keeps_a_graph(drawn):
    _, data, _ = drawn

    found = learn(data, on_model=press_ctrl_c)
    assert not found.finished
    found.graph.check()
    assert (found.graph.parameters > 0).all()


def test_few_rows_are_learnt_without_validation(drawn):
    _, data, _ = drawn
    one = Dataset(data.codes[:1], data.names, data.states)
    graph = learn(one).graph
    assert (graph.parameters > 0).all()
    few = Dataset(data.codes[:3], data.names, data.states)
    assert (learn(few).graph.parameters > 0).all()


def test_graphs_are_judged_only_while_there_is_time(drawn, monkeypatch):
    _, data, _ = drawn
    forest = np.array([-1, 0, 1, 2, 3])
    graphs = [
        learn_on_forest(data, forest, size_weight=x).graph for x in (0.9, 0.6, 0.3)
    ]
    judged = []
    monkeypatch.setattr(
        parameters, "estimated", lambda *given: judged.append(given) or given[0]
    )
    found = cross_validated(lambda rows: graphs, data, 3, control=Looks(1))
    assert found == Validation.default(3)
    assert len(judged) == len(STRENGTHS)


@pytest.mark.parametrize("weights", [[1.0, 0.0], [2.5, 0.0], [0.5, 0.7]])
def test_rows_too_few_to_divide_are_learned_without_validation(weights):
    codes = np.array([[0, 0], [0, 1]])
    data = Dataset(codes, ("a", "b"), (("x", "y"),) * 2, np.array(weights))
    for method in ("hybrid", "direct"):
        found = methods.learn_pdg(data, method=method)
        assert np.isfinite(log_likelihood(found.graph, data))
    validation = cross_validated(lambda train: [found.graph], data, 1)
    assert (validation == Validation.default(1)) == (np.count_nonzero(weights) < 2)
