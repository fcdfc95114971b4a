from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import xlogy

from exactlearn._runtime.control import SearchControl
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError, OptionError
from exactlearn.pdg.inference import flows
from exactlearn.pdg.learn import starts
from exactlearn.pdg.learn.direct import learn_direct
from exactlearn.pdg.learn.parameters import (
    choose_graph_smoothing,
    pseudo_counts,
    tuned_smoothing,
)
from exactlearn.pdg.learn.starts import chow_liu_forest, mutual_information, pair_joint
from exactlearn.pdg.learn.structure_search import learn_on_forest
from exactlearn.pdg.model.forest import forest_order
from exactlearn.scoring.scores import BIC
from tests.interrupts import press_ctrl_c
from tests.logic_models import chain, drawn, logic3, parity
from tests.pdg_oracle import completions, random_graph, reached


def table_of(x, y, r, s):
    table = np.zeros((r + 1, s + 1))
    np.add.at(table, (x, y), 1)
    return table


@given(st.integers(0, 10_000))
@settings(max_examples=6)
def test_the_joint_of_a_pair_by_em_over_rows(seed):
    """PDG-SEM, Algorithm 2, record by record."""
    rng = np.random.default_rng(seed)
    x, y = rng.integers(-1, 2, 25), rng.integers(-1, 3, 25)
    x[:6], y[:6] = [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2]
    joint = (table_of(x, y, 2, 3)[:2, :3] + 1) / (
        table_of(x, y, 2, 3)[:2, :3] + 1
    ).sum()
    for _ in range(400):
        expected = np.zeros((2, 3))
        for a, b in zip(x, y, strict=True):
            mask = np.ones((2, 3))
            if a >= 0:
                mask[1 - a] = 0
            if b >= 0:
                mask[:, np.arange(3) != b] = 0
            expected += joint * mask / (joint * mask).sum()
        joint = expected / expected.sum()
    found = pair_joint(table_of(x, y, 2, 3), 5000, 1e-14)
    assert np.allclose(found, joint, atol=1e-4)


def test_the_tree_of_largest_mutual_information():
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 3, (60, 5)).astype(np.int16)
    codes[:, 3] = np.where(rng.random(60) < 0.7, codes[:, 1], codes[:, 3])
    codes[rng.random((60, 5)) < 0.1] = -1
    r, weights = np.full(5, 3), np.ones(60)
    information = mutual_information(codes, weights, r, 1000, 1e-12)
    data = Dataset(codes, tuple("abcde"), (("0", "1", "2"),) * 5)

    def worth(edges):
        return sum(information[e] for e in edges)

    def spans(edges):
        reached = {0}
        for _ in edges:
            reached |= {v for e in edges if reached & set(e) for v in e}
        return len(reached) == 5

    pairs = list(combinations(range(5), 2))
    best = max((t for t in combinations(pairs, 4) if spans(t)), key=worth)
    forest = chow_liu_forest(data)
    forest_order(forest)
    edges = [tuple(sorted((v, int(p)))) for v, p in enumerate(forest) if p >= 0]
    assert worth(edges) == pytest.approx(worth(best), abs=1e-6)
    assert len(edges) == 4
    parted = chow_liu_forest(data, rate=2.0)
    assert (parted < 0).sum() > 1
    assert parted[1] == 3 or parted[3] == 1
    assert (chow_liu_forest(data, rate=100.0) < 0).all()


def test_parity_is_recovered_without_the_forest():
    """THESIS, Table 4.3, experiment 2; and Logic3 exactly, at no more than the thesis's size."""
    rng = np.random.default_rng(1)
    data, test = drawn(parity(), 10_000, rng), drawn(parity(), 5000, rng)
    seen = []
    found = learn_direct(
        data, on_model=lambda best, smoothed: seen.append((best, smoothed()))
    )
    (model,) = found.models
    model.check(data)
    assert found.finished
    assert model.graph.effective_size == 18
    assert flows.log_likelihood(model.graph, test) / 5000 / np.log(2) == pytest.approx(
        -4, abs=0.01
    )
    assert (
        sorted(best.score for best, _ in seen)[-1] == seen[-1][0].score == model.score
    )
    assert (seen[-1][1].parameters > 0).all()
    again = learn_direct(data).models[0]
    assert (again.graph.parameters == model.graph.parameters).all()
    data = drawn(logic3(), 10_000, rng)
    model = learn_direct(data).models[0]
    assert model.log_likelihood / 10_000 / np.log(2) == pytest.approx(-7, abs=0.01)
    assert model.graph.effective_size <= 68


def test_graphs_grow_as_lambda_falls():
    data = drawn(logic3(6), 300, np.random.default_rng(2))
    models = learn_direct(data, size_weights=[0.2, 0.9, 0.99]).models
    assert [m.size_weight for m in models] == [0.99, 0.9, 0.2]
    assert np.diff([m.graph.effective_size for m in models]).min() >= 0
    assert np.diff([m.log_likelihood for m in models]).min() >= -1e-9


def test_an_interrupt_keeps_the_best_so_far():
    data, seen = drawn(parity(4), 200, np.random.default_rng(0)), []

    def stop(*progress):
        seen.append(progress)
        press_ctrl_c()

    found = learn_direct(data, on_model=stop)
    assert not found.finished
    found.models[0].check(data)
    assert len(seen) == 1


@pytest.mark.parametrize("limit", [0, 0.02])
def test_a_time_limit_keeps_the_best_so_far(limit):
    data = drawn(logic3(6), 400, np.random.default_rng(0))
    found = learn_direct(data, time_limit=limit)
    assert not found.finished
    found.models[0].check(data)
    assert (found.models[0].graph.parameters > 0).all()


def test_smoothing_by_cross_validation():
    """Algorithm 4.1 by hand at the smoothing found, which none of a fine grid beats by much."""
    data = drawn(logic3(5), 60, np.random.default_rng(3))
    graph = learn_on_forest(data, chain(5), size_weight=0.3).graph
    found = choose_graph_smoothing(graph, data, seed=7)
    parts = np.random.default_rng(7).permutation(60) % 5

    def validated(smoothing):
        value = 0.0
        for k in range(5):
            train = Dataset(data.codes[parts != k], data.names, data.states)
            model = tuned_smoothing(graph, train, smoothing=smoothing)
            value += flows.log_likelihood_rows(model, data.codes[parts == k]).sum()
        return value

    assert found.log_likelihood == pytest.approx(validated(found.smoothing))
    grid = [validated(a) for a in np.geomspace(0.01, 100, 40)]
    assert found.log_likelihood >= max(grid) - 0.05
    tuned = tuned_smoothing(graph, data, seed=7)
    assert (tuned.parameters > 0).all()
    assert tuned == tuned_smoothing(graph, data, smoothing=found.smoothing)
    zero = graph.with_counts(np.zeros(len(graph.parameters)))
    assert (zero.parameters == graph.parameters).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size_weights": []}, "no size_weight"),
        ({"size_weights": [2.0]}, "size_weight"),
        ({"smoothing": -1.0}, "smoothing"),
        (
            {"smoothing": np.inf},
            "'smoothing': expected a number from 0 to 1e.300, found inf",
        ),
        ({"size": "none"}, "size"),
    ],
)
def test_mistakes_are_reported(options, message):
    data = drawn(parity(3), 20, np.random.default_rng(0))
    with pytest.raises(OptionError, match=message):
        learn_direct(data, **options)


@pytest.mark.parametrize("prior", ["uniform", "start"])
def test_smoothing_counts_nodes_certainly_reached(prior):
    """Each variable is judged in the rows whose completions reach one node, by real refits."""
    rng = np.random.default_rng(4)
    graph = random_graph(rng, 4)
    codes = np.where(rng.random((80, 4)) < 0.2, -1, flows.sample_rows(graph, 80, rng))
    data = Dataset(codes, graph.names, graph.states)
    found = choose_graph_smoothing(graph, data, prior=prior, seed=2)
    folds = np.random.default_rng(2).permutation(80) % 5
    ways = [
        [reached(graph, x) for x in completions(row, graph.cardinalities)]
        for row in codes
    ]

    def validated(smoothing):
        value = 0.0
        for v in range(4):
            certain = [len({way[v] for way in own}) == 1 for own in ways]
            known = (codes[:, v] >= 0) & certain
            own = graph.variable == v
            for k in range(5):
                train = data.part(known & (folds != k))
                counts = flows.expect_counts(
                    graph.layout,
                    graph.parameters,
                    train.codes.astype(np.int16),
                    train.row_weights,
                )[0]
                model = graph.with_counts(
                    counts + smoothing * pseudo_counts(graph, prior)
                )
                rows = data.part(known & (folds == k))
                held_out = flows.expect_counts(
                    graph.layout,
                    graph.parameters,
                    rows.codes.astype(np.int16),
                    rows.row_weights,
                )[0]
                value += xlogy(held_out, model.parameters)[np.repeat(own, sizes)].sum()
        return value

    sizes = np.diff(graph.parameter_offsets)
    assert found.log_likelihood == pytest.approx(validated(found.smoothing))
    others = [validated(smoothing) for smoothing in np.geomspace(0.01, 1e3, 13)]
    assert found.log_likelihood >= max(others) - 1e-9


def test_smoothing_needs_complete_data():
    data = drawn(parity(3), 20, np.random.default_rng(0))
    graph = learn_on_forest(data, chain(3)).graph
    holes = Dataset(np.array([[0, -1, 1]]), data.names, data.states)
    with pytest.raises(DataError, match="complete"):
        tuned_smoothing(graph, holes)


def test_a_start_is_never_made_worse():
    """The search from a given graph ends no lower than the graph itself."""
    data = drawn(logic3(6), 400, np.random.default_rng(2))
    first = learn_on_forest(data, chain(6))
    found = learn_direct(data, start=first.graph).models[0]
    assert found.score >= first.score - 1e-9
    other = learn_on_forest(drawn(parity(3), 50, np.random.default_rng(0)), chain(3))
    with pytest.raises(OptionError, match="same variables, but only one has 'x3'"):
        learn_direct(data, start=other.graph)


@pytest.mark.parametrize("hole", [False, True])
def test_a_search_that_is_over_gives_a_network_all_the_same(hole):
    codes = np.array([[0, 0], [1, 1], [0, -1 if hole else 0]], np.int16)
    data = Dataset(codes, ("a", "b"), (("n", "y"),) * 2)
    with SearchControl(0.0).running():
        network = starts.learned_network(data, score=BIC())
    assert network.names == data.names
    assert all((table > 0).all() for table in network.tables)
    assert hole or sum(map(len, network.parents)) == 1
