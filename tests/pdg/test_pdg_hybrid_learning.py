import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn.bayesnet.complete_data import fit_complete
from exactlearn.data.counts import size_weight_of
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError, OptionError, TooLargeError
from exactlearn.pdg.compile.approximation import information
from exactlearn.pdg.compile.compile import compile_network
from exactlearn.pdg.inference.flows import expected_counts, log_likelihood
from exactlearn.pdg.learn import methods
from exactlearn.pdg.learn.edge_counts import StructureScore
from exactlearn.pdg.learn.hybrid import (
    collapse_unreached,
    data_merges,
    learn_hybrid,
    shrunk_to,
    smallest_as_likely,
    validated_size_weights,
)
from exactlearn.pdg.learn.starts import LEAST_SIZE_WEIGHT, MAX_PARENTS
from exactlearn.scoring.scores import BDeu, PenalisedLikelihood
from tests.interrupts import press_ctrl_c
from tests.network_oracle import random_network
from tests.pdg_oracle import completions, graph_joint, random_graph, reached


@pytest.fixture(scope="module")
def learnt():
    """A dense network with the frequencies of rows of another one."""
    rng = np.random.default_rng(6)
    data = random_network(rng, 6).sample(400, rng)
    parents = [(), (0,), (0, 1), (1, 2), (2, 3), (3, 4)]
    return fit_complete(data, parents, smoothing=0.0), data


def ml_likelihood(graph, data):
    """The largest log-likelihood of a structure, from its counts."""
    counts = expected_counts(graph, data.codes.astype(np.int16))
    pairs = zip(graph.parameter_offsets, graph.parameter_offsets[1:], strict=False)
    return sum(information(counts[a:b]) for a, b in pairs)


def test_the_path_begins_where_the_network_is_and_falls(learnt):
    network, data = learnt
    size_weights = [0.0, 0.5, 0.9, 0.99, 1.0]
    found = learn_hybrid(network, data, size_weights=size_weights, smoothing=0.0)
    assert [m.size_weight for m in found.models] == size_weights
    sizes = [m.graph.effective_size for m in found.models]
    assert (np.diff(sizes) <= 0).all()
    assert sizes[-1] == data.cardinalities @ np.maximum(
        1, found.models[-1].graph.child_counts
    )
    first = collapse_unreached(compile_network(network), data)
    best = ml_likelihood(first, data)
    assert best >= network.log_likelihood(data) - 1e-9
    for model in found.models:
        model.check(data)
        assert model.log_likelihood == pytest.approx(ml_likelihood(model.graph, data))
        assert model.log_likelihood == pytest.approx(log_likelihood(model.graph, data))
    assert found.models[0].log_likelihood == pytest.approx(best)
    assert (np.diff([m.log_likelihood for m in found.models]) <= 1e-9).all()


def test_the_score_of_each_lambda_is_no_worse_than_at_the_start(learnt):
    network, data = learnt
    seen = []

    def keep(model, smoothed):
        seen.append((model, smoothed()))

    found = learn_hybrid(
        network, data, size_weights=[0.7, 0.9], smoothing=0.0, on_model=keep
    )
    assert seen == [(model, model.graph) for model in found.models]
    start = collapse_unreached(compile_network(network), data)
    likelihood = ml_likelihood(start, data)
    for model in found.models:
        assert (
            model.score
            >= StructureScore(model.size_weight).of(start, likelihood) - 1e-9
        )


def test_smoothing_and_missing_cells(learnt):
    network, data = learnt
    model = learn_hybrid(network, data).models[0]
    assert (model.graph.parameters > 0).all()
    codes = data.codes.astype(int)
    codes[np.random.default_rng(0).random(codes.shape) < 0.1] = -1
    holes = Dataset(codes, data.names, data.states)
    found = learn_hybrid(network, holes).models[0]
    found.graph.check()
    assert found.graph.effective_size < compile_network(network).effective_size
    joint = graph_joint(found.graph)
    assert joint.min() > 0
    assert joint.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size_weights": []}, "no size_weight"),
        ({"size_weights": [-1.0]}, "size_weight"),
        ({"smoothing": -1.0}, "smoothing"),
    ],
)
def test_mistakes_are_reported(learnt, options, message):
    with pytest.raises(OptionError, match=message):
        learn_hybrid(*learnt, **options)


def test_an_interrupt_keeps_what_there_is(learnt):
    found = learn_hybrid(*learnt, size_weights=[0.5, 0.9], on_model=press_ctrl_c)
    assert not found.finished
    assert [m.size_weight for m in found.models] == [0.5]


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.5]))
@settings(max_examples=20)
def test_nodes_that_no_row_reaches_are_left_out(seed, missing):
    """By following every completion of every row."""
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, 4)
    full = graph_joint(graph)
    drawn = np.array(
        np.unravel_index(rng.choice(full.size, 3, p=full.ravel()), full.shape)
    ).T
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
        assert collapsed.node_counts[v] == len(kept)
        places = np.array(kept, np.int64) - graph.first_nodes[v]
        assert np.array_equal(
            collapsed.parameters_of(v), graph.parameters_of(v)[places]
        )
    after = graph_joint(collapsed)
    for row in codes:
        for x in completions(row, graph.cardinalities):
            assert after[x] == pytest.approx(full[x]) or full[x] == 0


@pytest.mark.parametrize("hidden", [False, True])
def test_a_time_limit_of_zero_gives_a_model(learnt, hidden):
    network, data = learnt
    if hidden:
        data = Dataset(
            np.where(np.arange(6) == 2, -1, data.codes), data.names, data.states
        )
    found = learn_hybrid(network, data, size_weights=[0.5, 0.9], time_limit=0)
    assert not found.finished
    (model,) = found.models
    assert (model.graph.parameters > 0).all()


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
        graph = smallest_as_likely(network, data, least)
        assert ml_likelihood(graph, data) >= least - 1e-6
        merges = data_merges(compile_network(network), data)
        allowed = ml_likelihood(merges.graph, data) - least
        while (merges.loss + merges.next_loss()[0]) * data.n_rows <= allowed + 1e-9:
            merges.merge()
        assert graph.effective_size == merges.merged().effective_size
    holes = Dataset(
        np.where(np.arange(6) == 2, -1, data.codes), data.names, data.states
    )
    with pytest.raises(DataError, match="missing"):
        smallest_as_likely(network, holes, likely)


@pytest.mark.parametrize(
    ("size_weights", "score"),
    [
        (None, BDeu()),
        ([0.9, 0.7], PenalisedLikelihood(0.7)),
        ([0.2], PenalisedLikelihood(LEAST_SIZE_WEIGHT)),
    ],
)
def test_networks_are_learnt_with_the_least_weight_of_the_size(
    learnt, monkeypatch, size_weights, score
):
    network, data = learnt
    asked = []

    def learned_network(dataset, seed, *, score, max_parents):
        asked.append((score, max_parents))
        return network

    monkeypatch.setattr(methods, "learned_network", learned_network)
    methods.learn_pdg(data, size_weights=size_weights)
    assert set(asked) == {(score, MAX_PARENTS)}


def test_too_large_graphs_give_way_to_fewer_parents(learnt, monkeypatch):
    network, data = learnt
    asked = []

    def merged(network, dataset, **options):
        asked.append(max(map(len, network.parents)))
        if asked[-1] > 1:
            raise TooLargeError("too large")
        return learn_hybrid(network, dataset, **options)

    monkeypatch.setattr(methods, "learn_hybrid", merged)
    (model,) = methods.learn_pdg(data, smoothing=1.0).models
    assert asked == sorted(asked, reverse=True)
    assert asked[-1] == 1
    model.graph.check()
    with pytest.raises(TooLargeError):
        methods.learn_pdg(data, network=network)


def test_validation_weighs_the_size_where_none_is_given():
    """Of a network with an arc too many from few rows, and of one that the rows follow."""
    rng = np.random.default_rng(3)
    network = random_network(rng, 6)
    data, test = network.sample(300, rng), network.sample(5000, rng)
    learnt = fit_complete(data, network.parents, smoothing=0.25)
    found = learn_hybrid(learnt, data)
    (model,) = found.models
    assert model.size_weight in validated_size_weights(300)
    assert found.finished
    assert (model.graph.parameters > 0).all()
    assert model.graph.effective_size <= compile_network(learnt).effective_size
    lost = learnt.log_likelihood(test) - log_likelihood(model.graph, test)
    assert lost / 5000 < 0.05
    again = learn_hybrid(learnt, data, size_weights=[0.0]).models[0].graph
    assert again.effective_size >= model.graph.effective_size
    assert log_likelihood(again, data) == pytest.approx(
        learnt.log_likelihood(data), rel=0.01
    )


def test_redirected_graphs_are_smaller_at_no_less_likelihood():
    """Beside the best merges of nodes with equal successors, on fresh rows."""
    rng = np.random.default_rng(8)
    network = random_network(rng, 7)
    data, test = network.sample(500, rng), network.sample(5000, rng)
    learnt = fit_complete(data, network.parents, smoothing=0.25)
    weight = size_weight_of(1.0)
    graph = learn_hybrid(learnt, data, size_weights=[weight]).graph
    small = collapse_unreached(compile_network(learnt), data)
    merges = data_merges(small, data)
    while merges.merged().effective_size > graph.effective_size:
        merges.merge()
    merged, _ = shrunk_to(small, merges.merged(), data)
    assert log_likelihood(graph, test) > log_likelihood(merged, test) + 50


def test_the_smallest_graph_as_likely_takes_all_fresh_rows():
    """It had the relative counts of the rows, which are zero for what none of them has."""
    rng = np.random.default_rng(9)
    network = random_network(rng, 5)
    data, test = network.sample(100, rng), network.sample(2000, rng)
    learnt = fit_complete(data, network.parents, smoothing=0.25)
    likeliest = fit_complete(data, network.parents, smoothing=0.0)
    graph = smallest_as_likely(learnt, data, likeliest.log_likelihood(data))
    lost = learnt.log_likelihood(test) - log_likelihood(graph, test)
    assert lost / test.n_rows < 0.05
