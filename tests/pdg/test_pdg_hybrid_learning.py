import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn.bayesnet.complete_data import fit_complete
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.dataset import Dataset
from exactlearn.data.trade_off import bic_lambda
from exactlearn.errors import DataError, OptionError, TooLargeError
from exactlearn.pdg.compile import expanded_graph as module
from exactlearn.pdg.compile.compile import compile_and_check, compile_network
from exactlearn.pdg.compile.expanded_graph import expanded_graph
from exactlearn.pdg.inference.flows import expected_counts, log_likelihood
from exactlearn.pdg.learn import methods
from exactlearn.pdg.learn.hybrid import (
    collapse_unreached,
    learn_hybrid,
    smallest_as_likely,
)
from exactlearn.pdg.learn.network_starts import LEAST_LAMBDA
from exactlearn.pdg.model.structure_score import information
from exactlearn.scoring.scores import PenalisedLikelihood
from tests.interrupts import press_ctrl_c
from tests.network_oracle import random_network
from tests.pdg_oracle import coarse_network, completions, graph_joint, random_graph, reached


@pytest.fixture(scope="module")
def learnt():
    """A dense network with the frequencies of rows of another one."""
    rng = np.random.default_rng(6)
    data = random_network(rng, 6).sample(400, rng)
    parents = [(), (0,), (0, 1), (1, 2), (2, 3), (3, 4)]
    return fit_complete(data, parents, alpha=0.0), data


def ml_likelihood(graph, data):
    """The largest log-likelihood of a structure, from its counts."""
    counts = expected_counts(graph, data.codes.astype(np.int16))
    pairs = zip(graph.parameter_offsets, graph.parameter_offsets[1:], strict=False)
    return sum(information(counts[a:b]) for a, b in pairs)


def test_the_path_begins_where_the_network_is_and_falls(learnt):
    network, data = learnt
    lambdas = [0.0, 0.5, 0.9, 0.99, 1.0]
    found = learn_hybrid(network, data, lambdas=lambdas, alpha=0.0)
    assert [m.lambda_ for m in found.models] == lambdas
    sizes = [m.graph.effective_size for m in found.models]
    assert (np.diff(sizes) <= 0).all()
    assert sizes[-1] == data.cardinalities @ np.maximum(1, found.models[-1].graph.child_counts)
    first = collapse_unreached(compile_network(network), data)
    best = ml_likelihood(first, data)
    assert best >= network.log_likelihood(data) - 1e-9
    for model in found.models:
        model.graph.check()
        assert model.log_likelihood == pytest.approx(best - model.loss)
        assert model.log_likelihood == pytest.approx(log_likelihood(model.graph, data))
    frontier = found.frontier
    assert frontier.effective_size[0] == first.effective_size <= found.compiled_size
    assert (np.diff(frontier.effective_size) < 0).all()
    assert (np.diff(frontier.loss) >= -1e-12).all()
    at = dict(zip(frontier.effective_size, frontier.loss, strict=True))
    for model in found.models:
        assert at[model.graph.effective_size] * 400 == pytest.approx(model.loss, abs=1e-8)


def test_the_score_of_each_lambda_is_no_worse_than_at_the_start(learnt):
    network, data = learnt
    seen = []
    found = learn_hybrid(network, data, lambdas=[0.7, 0.9], alpha=0.0, on_model=seen.append)
    assert tuple(seen) == found.models
    start = found.frontier.effective_size[0]
    for model in found.models:
        saved = start - model.graph.effective_size
        assert (1 - model.lambda_) * model.loss <= model.lambda_ * saved + 1e-9


def test_smoothing_and_missing_cells(learnt):
    network, data = learnt
    model = learn_hybrid(network, data).models[0]
    assert (model.graph.parameters > 0).all()
    codes = data.codes.astype(int)
    codes[np.random.default_rng(0).random(codes.shape) < 0.1] = -1
    holes = Dataset(codes, data.names, data.states)
    found = learn_hybrid(network, holes).models[0]
    found.graph.check()
    assert found.graph.effective_size < learn_hybrid(network, holes, lambdas=[0]).compiled_size
    joint = graph_joint(found.graph)
    assert joint.min() > 0
    assert joint.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"lambdas": []}, "no lambda"), ({"lambdas": [-1.0]}, "lambda"), ({"alpha": -1.0}, "alpha")],
)
def test_mistakes_are_reported(learnt, options, message):
    with pytest.raises(OptionError, match=message):
        learn_hybrid(*learnt, **options)


@given(st.integers(0, 10_000), st.integers(1, 6))
@settings(max_examples=30, deadline=None)
def test_the_expanded_graph_has_a_node_a_configuration(seed, n):
    """THESIS, Algorithms 4.13 to 4.17; also where many configurations are impossible."""
    network = coarse_network(np.random.default_rng(seed), n)
    compilation = compile_and_check(network, steps=0)
    expanded = expanded_graph(network, compilation.graph)
    expanded.check()
    assert expanded.effective_size == compilation.expanded_size
    np.testing.assert_allclose(graph_joint(expanded), graph_joint(compilation.graph), atol=1e-15)


def test_the_expanded_start_merges_to_the_same_graph(monkeypatch):
    logic = np.array([[[0.5, 0.5], [0.1, 0.9]], [[0.1, 0.9], [0.1, 0.9]]])
    tables = (np.array([0.4, 0.6]),) * 2 + (logic, np.array([[0.9, 0.1], [0.3, 0.7]]))
    states = (("n", "y"),) * 4
    network = BayesianNetwork(("a", "b", "c", "d"), states, ((), (), (0, 1), (2,)), tables)
    data = network.sample(500, np.random.default_rng(0))
    lambdas = [0.0, bic_lambda(500)]
    start, whole = (learn_hybrid(network, data, lambdas=lambdas, expanded=x) for x in (False, True))
    assert start.compiled_size < whole.compiled_size
    assert whole.models[0].loss == 0
    sizes = [found.models[1].graph.effective_size for found in (start, whole)]
    assert sizes[0] == sizes[1]
    likelihoods = [found.models[1].log_likelihood for found in (start, whole)]
    assert likelihoods[0] == pytest.approx(likelihoods[1])
    smallest = smallest_as_likely(network, data, -np.inf, expanded=True)
    assert smallest.compiled_size == whole.compiled_size
    monkeypatch.setattr(module, "MAX_SIZE", 1)
    with pytest.raises(TooLargeError, match="begin with the compiled one"):
        learn_hybrid(network, data, expanded=True)


def test_an_interrupt_keeps_what_there_is(learnt):
    found = learn_hybrid(*learnt, lambdas=[0.5, 0.9], on_model=press_ctrl_c)
    assert not found.finished
    assert [m.lambda_ for m in found.models] == [0.5]


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.5]))
@settings(max_examples=20, deadline=None)
def test_nodes_that_no_row_reaches_become_one_uniform_node(seed, missing):
    """By following every completion of every row."""
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, 4)
    full = graph_joint(graph)
    drawn = np.array(np.unravel_index(rng.choice(full.size, 3, p=full.ravel()), full.shape)).T
    codes = np.where(rng.random(drawn.shape) < missing, -1, drawn)
    met = {
        node
        for row in codes
        for x in completions(row, graph.cardinalities)
        if full[x] > 0
        for node in reached(graph, x).values()
    }
    collapsed = collapse_unreached(graph, Dataset(codes, graph.names, graph.states))
    collapsed.check()
    for v in range(4):
        own = np.flatnonzero(graph.variable == v).tolist()
        kept = [node for node in own if node in met]
        assert collapsed.node_counts[v] == len(kept) + (len(kept) < len(own))
        first = collapsed.parameters_of(v)[: len(kept)]
        places = np.array(kept, np.int64) - graph.first_nodes[v]
        assert np.array_equal(first, graph.parameters_of(v)[places])
        assert np.allclose(collapsed.parameters_of(v)[len(kept) :], 1 / graph.cardinalities[v])
    after = graph_joint(collapsed)
    for row in codes:
        for x in completions(row, graph.cardinalities):
            assert after[x] == pytest.approx(full[x]) or full[x] == 0


@pytest.mark.parametrize("hidden", [False, True])
def test_a_time_limit_of_zero_gives_a_model(learnt, hidden):
    network, data = learnt
    if hidden:
        data = Dataset(np.where(np.arange(6) == 2, -1, data.codes), data.names, data.states)
    found = learn_hybrid(network, data, lambdas=[0.5, 0.9], time_limit=0)
    assert not found.finished
    (model,) = found.models
    assert (model.graph.parameters > 0).all()
    assert model.graph.effective_size == found.frontier.effective_size[0]


def test_rows_of_other_variables_are_refused(learnt):
    network, data = learnt
    other = Dataset(data.codes, tuple(f"y{k}" for k in range(6)), data.states)
    with pytest.raises(DataError, match="no column"):
        learn_hybrid(network, other)


def test_the_smallest_graph_at_equal_likelihood(learnt):
    """No merge further along the path would keep the likelihood."""
    network, data = learnt
    likely = network.log_likelihood(data)
    for least in (likely, likely - 5.0, likely - 1e9):
        found = smallest_as_likely(network, data, least)
        assert found.log_likelihood >= least - 1e-6
        assert found.log_likelihood == pytest.approx(ml_likelihood(found.graph, data))
        path = learn_hybrid(network, data, lambdas=[1.0], alpha=0.0).frontier
        allowed = ml_likelihood(collapse_unreached(compile_network(network), data), data) - least
        kept = path.effective_size[path.loss * data.n_rows <= allowed + 1e-9]
        assert found.graph.effective_size == kept.min()
        assert found.collapsed_size == path.effective_size[0] <= found.compiled_size
    holes = Dataset(np.where(np.arange(6) == 2, -1, data.codes), data.names, data.states)
    with pytest.raises(DataError, match="missing"):
        smallest_as_likely(network, holes, likely)


@pytest.mark.parametrize(
    ("lambdas", "score"),
    [
        (None, None),
        ([0.9, 0.7], PenalisedLikelihood(0.7)),
        ([0.2], PenalisedLikelihood(LEAST_LAMBDA)),
    ],
)
def test_networks_are_learnt_with_the_least_weight_of_the_size(learnt, monkeypatch, lambdas, score):
    network, data = learnt
    asked = []

    def learnt_network(dataset, seed, *, score, max_parents):
        asked.append(score)
        return network

    monkeypatch.setattr(methods, "learnt_network", learnt_network)
    request = methods.Request(dataset=data, method="hybrid", lambdas=lambdas)
    methods.learn_by(request, lambda told: None, lambda *kept: None)
    assert asked == [score] * methods.MAX_PARENTS


@pytest.mark.parametrize("interrupted", [False, True])
def test_the_network_that_scores_best_is_merged(learnt, monkeypatch, interrupted):
    """A network of too many parents for its rows, one that is too large, and one that fits."""
    dense, data = learnt
    few = Dataset(data.codes[:60], data.names, data.states)
    asked = []

    def networks(dataset, seed, *, max_parents, score=None):
        asked.append(max_parents)
        if interrupted and max_parents == 1:
            press_ctrl_c()
        parents = {
            3: [tuple(range(v)) for v in range(6)],
            2: dense.parents,
            1: [()] * 6,
        }[max_parents]
        return fit_complete(dataset, parents, alpha=1.0)

    def merged(network, dataset, **options):
        if network.parents == dense.parents:
            raise TooLargeError("too large")
        return learn_hybrid(network, dataset, **options)

    monkeypatch.setattr(methods, "learnt_network", networks)
    monkeypatch.setattr(methods, "learn_hybrid", merged)
    request = methods.Request(dataset=few, method="hybrid")
    found = methods.learn_by(request, lambda told: None, lambda *kept: None)
    assert asked == [3, 2, 1]
    assert found.finished is not interrupted
    if not interrupted:
        rich, poor = (learn_hybrid(networks(few, 0, max_parents=most), few) for most in (3, 1))
        assert poor.score > rich.score
        assert found.models[0][1].effective_size == poor.models[0].graph.effective_size
