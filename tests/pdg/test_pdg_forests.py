from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import xlogy
from scipy.stats import chi2, chi2_contingency

from exactlearn._runtime.control import SearchControl
from exactlearn.bayesnet.smoothing_choice import SmoothingParameters
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError, OptionError
from exactlearn.pdg.inference.complete_rows import sample_rows
from exactlearn.pdg.inference.flows import expect_counts, log_likelihood, log_likelihood_rows
from exactlearn.pdg.learn import network_starts
from exactlearn.pdg.learn.chow_liu import chow_liu_forest, mutual_information, pair_joint
from exactlearn.pdg.learn.forest_growth import dependence_graph, grow_forest, pair_statistics
from exactlearn.pdg.learn.forest_population import learn_direct
from exactlearn.pdg.learn.populated_graph import CompleteRows
from exactlearn.pdg.learn.refine import pseudo_counts
from exactlearn.pdg.learn.smoothing import choose_graph_smoothing, tuned_smoothing
from exactlearn.pdg.learn.structure_search import learn_on_forest
from exactlearn.pdg.model.forest import forest_order
from exactlearn.pdg.model.structure_score import StructureScore
from tests.interrupts import press_ctrl_c
from tests.logic_models import chain, drawn, logic3, parity
from tests.pdg_oracle import random_graph


@given(st.integers(0, 10_000))
@settings(max_examples=30)
def test_statistics_add_up_over_the_parts(seed):
    """THESIS (4.51), with the expected count of (4.52) as corrected."""
    rng = np.random.default_rng(seed)
    r, parts = np.array([2, 3, 2]), rng.integers(0, 2, 200)
    columns = np.array([rng.integers(0, k, 200) for k in r])
    parts[:2] = 0, 1
    statistics, empty = pair_statistics(columns, np.ones(200), r, parts, 2)
    for i, j in combinations(range(3), 2):
        total = zeros = 0
        for b in range(2):
            table = np.zeros((r[i], r[j]))
            np.add.at(table, (columns[i][parts == b], columns[j][parts == b]), 1)
            zeros += (table == 0).sum()
            table = table[table.any(axis=1)][:, table.any(axis=0)]
            total += chi2_contingency(table, correction=False).statistic
        assert statistics[i, j] == pytest.approx(total)
        assert statistics[j, i] == statistics[i, j]
        assert empty[i, j] == zeros


def test_dependence_is_within_the_parts():
    """Two copies of a third variable depend, but not within its parts."""
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, 4000)
    noisy = np.array([np.where(rng.random(4000) < 0.8, z, 1 - z) for _ in range(2)])
    weights = np.ones(4000)
    apart = dependence_graph(noisy, weights, [2, 2], np.zeros(4000, np.int64), 0.01)
    within = dependence_graph(noisy, weights, [2, 2], z, 0.01)
    assert apart.tolist() == [[False, True], [True, False]]
    assert not within.any()
    statistic = pair_statistics(noisy, weights, np.array([2, 2]), z, 2)[0][0, 1]
    p = chi2.sf(statistic, 2)
    assert dependence_graph(noisy, weights, [2, 2], z, p * 1.001)[0, 1]
    assert not dependence_graph(noisy, weights, [2, 2], z, p * 0.999)[0, 1]


def test_too_few_rows_are_not_tested():
    x = np.array([[0, 1] * 5, [0, 1] * 5])
    same = np.zeros(10, np.int64)
    assert dependence_graph(x, np.ones(10), [2, 2], same, 0.05)[0, 1]
    assert not dependence_graph(x, np.full(10, 0.49), [2, 2], same, 0.05).any()
    spread = np.arange(10) // 2
    assert not dependence_graph(x, np.ones(10), [2, 2], spread, 1.0).any()


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
    joint = (table_of(x, y, 2, 3)[:2, :3] + 1) / (table_of(x, y, 2, 3)[:2, :3] + 1).sum()
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

    def worth(edges):
        return sum(information[e] for e in edges)

    def spans(edges):
        reached = {0}
        for _ in edges:
            reached |= {v for e in edges if reached & set(e) for v in e}
        return len(reached) == 5

    pairs = list(combinations(range(5), 2))
    best = max((t for t in combinations(pairs, 4) if spans(t)), key=worth)
    forest = chow_liu_forest(codes, weights, r)
    forest_order(forest)
    edges = [tuple(sorted((v, int(p)))) for v, p in enumerate(forest) if p >= 0]
    assert worth(edges) == pytest.approx(worth(best), abs=1e-6)
    assert len(edges) == 4
    parted = chow_liu_forest(codes, weights, r, rate=2.0)
    assert (parted < 0).sum() > 1
    assert parted[1] == 3 or parted[3] == 1
    assert (chow_liu_forest(codes, weights, r, rate=100.0) < 0).all()


def test_forests_part_what_is_independent():
    """Two chains of dependent variables make two trees, each grown along a chain."""
    rng = np.random.default_rng(5)
    blocks = []
    for _ in range(2):
        x = rng.integers(0, 2, 3000)
        block = [x]
        for _ in range(2):
            block.append(np.where(rng.random(3000) < 0.85, block[-1], 1 - block[-1]))
        blocks += block
    data = Dataset(np.array(blocks).T, tuple("abcdef"), (("0", "1"),) * 6)
    forest = grow_forest(CompleteRows.of(data), 0.001, StructureScore(0.8), rng)
    trees = {v: v for v in range(6)}
    for v in forest_order(forest):
        if forest[v] >= 0:
            trees[v] = trees[int(forest[v])]
    assert len({trees[v] for v in range(3)}) == 1
    assert len({trees[v] for v in range(3, 6)}) == 1
    assert trees[0] != trees[3]
    assert (forest < 0).sum() == 2


def test_parity_is_recovered_without_the_forest():
    """THESIS, Table 4.3, experiment 2; and Logic3 exactly, at no more than the thesis's size."""
    rng = np.random.default_rng(1)
    data, test = drawn(parity(), 10_000, rng), drawn(parity(), 5000, rng)
    seen = []
    found = learn_direct(data, on_progress=seen.append)
    (model,) = found.models
    model.check(data)
    assert found.finished
    assert model.graph.effective_size == 18
    assert log_likelihood(model.graph, test) / 5000 / np.log(2) == pytest.approx(-4, abs=0.01)
    assert {p.stage for p in seen} == {"forest", "screening", "graph"}
    again = learn_direct(data).models[0]
    assert (again.graph.parameters == model.graph.parameters).all()
    data = drawn(logic3(), 10_000, rng)
    model = learn_direct(data).models[0]
    assert model.log_likelihood / 10_000 / np.log(2) == pytest.approx(-7, abs=0.01)
    assert model.graph.effective_size <= 68


def test_graphs_grow_as_lambda_falls():
    data = drawn(logic3(6), 300, np.random.default_rng(2))
    models = learn_direct(data, size_weights=[0.2, 0.9, 0.99], significances=[0.1]).models
    assert [m.size_weight for m in models] == [0.99, 0.9, 0.2]
    assert np.diff([m.graph.effective_size for m in models]).min() >= 0
    assert np.diff([m.log_likelihood for m in models]).min() >= -1e-9


@pytest.mark.parametrize("stage", ["forest", "screening", "graph"])
def test_an_interrupt_keeps_the_best_so_far(stage):
    data, seen = drawn(parity(4), 200, np.random.default_rng(0)), []

    def stop(progress):
        seen.append(progress.stage)
        if progress.stage == stage:
            press_ctrl_c()

    found = learn_direct(data, on_progress=stop)
    assert not found.finished
    found.models[0].check(data)
    assert seen.count(stage) == 1


@pytest.mark.parametrize("limit", [0, 0.3])
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
    found = tuned_smoothing(graph, data, seed=7, parameters=SmoothingParameters(folds=4))
    parts = np.random.default_rng(7).permutation(60) % 4

    def validated(smoothing):
        value = 0.0
        for k in range(4):
            train = Dataset(data.codes[parts != k], data.names, data.states)
            model = tuned_smoothing(graph, train, smoothing=smoothing).graph
            value += log_likelihood_rows(model, data.codes[parts == k]).sum()
        return value

    assert found.validated == pytest.approx(validated(found.smoothing))
    grid = [validated(a) for a in np.geomspace(0.01, 100, 40)]
    assert found.validated >= max(grid) - 0.05
    assert (found.graph.parameters > 0).all()
    whole = tuned_smoothing(graph, data, smoothing=found.smoothing)
    assert (whole.graph.parameters == found.graph.parameters).all()
    zero = graph.with_counts(np.zeros(len(graph.parameters)))
    assert (zero.parameters == graph.parameters).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size_weights": []}, "no size_weight"),
        ({"size_weights": [2.0]}, "size_weight"),
        ({"significances": [1.5]}, "significances"),
        ({"smoothing": -1.0}, "smoothing"),
        ({"smoothing": np.inf}, "finite"),
        ({"size": "none"}, "size"),
    ],
)
def test_mistakes_are_reported(options, message):
    data = drawn(parity(3), 20, np.random.default_rng(0))
    with pytest.raises(OptionError, match=message):
        learn_direct(data, **options)


@pytest.mark.parametrize("prior", ["uniform", "start"])
def test_smoothing_of_incomplete_rows_counts_the_nodes_that_they_are_known_to_reach(prior):
    """Each variable is judged in the rows that observe it and all above it, by real refits."""
    rng = np.random.default_rng(4)
    graph = random_graph(rng, 4)
    codes = np.where(rng.random((80, 4)) < 0.2, -1, sample_rows(graph, 80, rng))
    data = Dataset(codes, graph.names, graph.states)
    found = choose_graph_smoothing(graph, data, prior=prior, seed=2)
    folds = np.random.default_rng(2).permutation(80) % 5

    def validated(smoothing):
        value = 0.0
        for v in range(4):
            known, above = codes[:, v] >= 0, graph.forest[v]
            while above >= 0:
                known &= codes[:, above] >= 0
                above = graph.forest[above]
            own = graph.variable == v
            for k in range(5):
                train = data.part(known & (folds != k))
                counts = expect_counts(
                    graph.layout, graph.parameters, train.codes.astype(np.int16), train.row_weights
                ).counts
                model = graph.with_counts(counts + smoothing * pseudo_counts(graph, prior))
                rows = data.part(known & (folds == k))
                held_out = expect_counts(
                    graph.layout, graph.parameters, rows.codes.astype(np.int16), rows.row_weights
                ).counts
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
    with pytest.raises(OptionError, match="folds"):
        tuned_smoothing(graph, data, parameters=SmoothingParameters(folds=1))


def test_a_start_is_never_made_worse():
    """The search from a given graph ends no lower than the graph itself."""
    data = drawn(logic3(6), 400, np.random.default_rng(2))
    first = learn_on_forest(data, chain(6))
    found = learn_direct(data, starts=[first.graph], significances=[]).models[0]
    assert found.score >= first.score - 1e-9
    other = learn_on_forest(drawn(parity(3), 50, np.random.default_rng(0)), chain(3))
    with pytest.raises(DataError, match="other variables"):
        learn_direct(data, starts=[other.graph])


@pytest.mark.parametrize("hole", [False, True])
def test_a_search_that_is_over_gives_a_network_all_the_same(hole):
    codes = np.array([[0, 0], [1, 1], [0, -1 if hole else 0]], np.int16)
    data = Dataset(codes, ("a", "b"), (("n", "y"),) * 2)
    with SearchControl(0.0).running():
        network = network_starts.learnt_network(data)
    assert network.names == data.names
    assert all((table > 0).all() for table in network.tables)
    assert hole or sum(map(len, network.parents)) == 1
