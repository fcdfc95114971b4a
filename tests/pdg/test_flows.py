import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError
from exactlearn.pdg.inference import block_flows as engine
from exactlearn.pdg.inference import flows
from exactlearn.pdg.inference.block_flows import NO_COUNTS, NO_POSTERIOR, block_flows
from exactlearn.pdg.inference.flows import (
    expect_counts,
    expected_counts,
    log_likelihood,
    log_likelihood_rows,
    node_probabilities,
    posteriors,
)
from exactlearn.pdg.model.decision_graph import assemble
from tests.pdg_oracle import (
    completions,
    counts_by_joint,
    graph_joint,
    paper_example,
    random_graph,
    reached,
)


@pytest.fixture(params=["side by side", "one by one", "logarithms"])
def kernel(request, monkeypatch):
    """Send rows through the kernel in each of the ways that it knows."""
    use(request.param, monkeypatch)


def use(way, patch):
    patch.setattr(engine, "FEW_VISITS", 0)
    patch.setattr(engine, "SIDE_BY_SIDE", 1 if way == "one by one" else 4)
    if way == "logarithms":
        patch.setattr(flows, "log_likelihood_rows", by_logarithms)
        patch.setattr(flows, "expect", expect_by_logarithms)


def expect_by_logarithms(
    layout,
    parameters,
    rows,
    weights=None,
    counts=NO_COUNTS,
    posterior=NO_POSTERIOR,
    threads=None,
):
    result, turns = np.empty(len(rows)), np.arange(len(rows))
    weights = np.ones(len(rows)) if weights is None else weights
    none = np.zeros(len(layout.order), np.bool_)
    rest = (weights, turns, 4, True, none, result, counts, posterior)
    block_flows(layout, parameters, np.ascontiguousarray(rows.T), *rest)
    return result


def by_logarithms(graph, codes):
    return expect_by_logarithms(
        graph.layout, graph.parameters, np.array(codes, np.int16)
    )


def incomplete_rows(rng, graph, rows, missing):
    codes = rng.integers(0, graph.cardinalities, (rows, graph.n_variables))
    codes[rng.random(codes.shape) < missing] = -1
    return codes.astype(np.int16)


def probability(full, row):
    return sum(full[x] for x in completions(row, full.shape))


def marginals_by_joint(full, row):
    filled = completions(row, full.shape)
    found = [np.zeros(r) for r in full.shape]
    for x in filled:
        for v, state in enumerate(x):
            found[v][state] += full[x]
    return np.concatenate(found) / probability(full, row)


def test_the_papers_example_with_its_misprints_corrected(kernel):
    graph = paper_example()
    evidence = np.array([[-1, -1, -1, 0]], np.int16)
    assert np.exp(flows.log_likelihood_rows(graph, evidence)) == pytest.approx([0.414])
    counts = expected_counts(graph, evidence)
    # P(nu_1,0 and X1 = 1 | X3 = 0) = 0.036 / 0.414 (printed 0.869)
    assert counts[graph.parameter_offsets[1] + 1] == pytest.approx(0.036 / 0.414)
    assert counts[graph.parameter_offsets[1] + 1] == pytest.approx(0.08696, abs=5e-6)
    # In-flow of nu_3,1 (printed 0.7) times its parameter 0.3, over P(X3 = 0)
    assert counts[graph.parameter_offsets[4]] * 0.414 / 0.3 == pytest.approx(0.46)


@given(st.integers(0, 10_000), st.integers(1, 5), st.sampled_from([0.0, 0.3, 0.8, 1.0]))
@settings(max_examples=40)
def test_all_ways_agree_with_the_full_joint(seed, n, missing):
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, n, most=7 if n < 4 else 3)
    full = graph_joint(graph)
    codes = incomplete_rows(rng, graph, 9, missing)
    expected = np.array([probability(full, row) for row in codes])
    possible = expected > 0
    weights = rng.exponential(size=len(codes))
    for way in ("side by side", "one by one", "logarithms"):
        with pytest.MonkeyPatch.context() as patch:
            use(way, patch)
            found = flows.log_likelihood_rows(graph, codes)
            np.testing.assert_allclose(np.exp(found), expected, rtol=1e-11)
            assert (np.isneginf(found) == ~possible).all()
            marginals = np.array(
                [marginals_by_joint(full, row) for row in codes[possible]]
            )
            if possible.any():
                found = posteriors(graph, codes[possible])
                np.testing.assert_allclose(found, marginals, rtol=1e-11, atol=1e-14)
            counts = counts_by_joint(graph, codes[possible], weights[possible])
            found = expected_counts(graph, codes[possible], weights[possible])
            np.testing.assert_allclose(found, counts, rtol=1e-11, atol=1e-13)


def test_rows_do_not_disturb_each_other(kernel):
    rng = np.random.default_rng(5)
    graph = random_graph(rng, 12, zeros=0)
    codes = incomplete_rows(rng, graph, 300, 0.4)
    layout, parameters, ones = graph.layout, graph.parameters, np.ones(300)
    together = expect_counts(layout, parameters, codes, ones)
    order = rng.permutation(300)
    shuffled = expect_counts(layout, parameters, codes[order], ones)
    np.testing.assert_allclose(together[0], shuffled[0], rtol=1e-10)
    np.testing.assert_allclose(together[1][order], shuffled[1])
    apart = np.vstack([posteriors(graph, row[None]) for row in codes[:20]])
    np.testing.assert_allclose(posteriors(graph, codes)[:20], apart, rtol=1e-12)


def test_what_comes_out_does_not_depend_on_the_threads(monkeypatch):
    monkeypatch.setattr(engine, "PIECE", 64)
    monkeypatch.setattr(engine, "FEW_VISITS", 0)
    rng = np.random.default_rng(7)
    graph = random_graph(rng, 12, zeros=0)
    codes = incomplete_rows(rng, graph, 300, 0.4)
    layout, parameters, ones = graph.layout, graph.parameters, np.ones(300)
    one, two = (expect_counts(layout, parameters, codes, ones, k) for k in (1, 2))
    assert (one[0] == two[0]).all()
    assert (one[1] == two[1]).all()
    assert (
        posteriors(graph, codes, threads=1) == posteriors(graph, codes, threads=2)
    ).all()


def test_counts_of_each_variable_add_up_to_the_weight(kernel):
    rng = np.random.default_rng(6)
    graph = random_graph(rng, 10, zeros=0)
    weights = rng.exponential(size=50)
    counts = expected_counts(graph, incomplete_rows(rng, graph, 50, 0.5), weights)
    totals = np.zeros(10)
    np.add.at(
        totals, np.repeat(graph.variable, graph.cardinalities[graph.variable]), counts
    )
    np.testing.assert_allclose(totals, weights.sum())


def naive_bayes(features):
    """A class over features of ten states: a row's probability is about 10 ** -features."""
    rng = np.random.default_rng(0)
    theta = rng.dirichlet(np.full(10, 5.0), (features, 2))
    forest = np.zeros(features + 1, np.int32)
    forest[0] = -1
    top = np.repeat([[0], [1]], features, axis=1)[None]
    return assemble(
        tuple(f"x{i}" for i in range(features + 1)),
        (("a", "b"), *[tuple("0123456789")] * features),
        forest,
        [np.array([[0.3, 0.7]]), *theta],
        [top, *[np.empty((2, 10, 0))] * features],
    ), theta


def test_very_improbable_rows_use_logarithms(kernel):
    graph, theta = naive_bayes(600)
    rng = np.random.default_rng(1)
    features = rng.integers(0, 10, 600)
    codes = np.concatenate(([-1], features))[None].astype(np.int16)
    logs = np.log([0.3, 0.7]) + np.log(theta[np.arange(600), :, features]).sum(axis=0)
    expected = np.logaddexp(*logs)
    assert expected < np.log(np.finfo(float).tiny)
    assert flows.log_likelihood_rows(graph, codes) == pytest.approx(
        [expected], rel=1e-12
    )
    posterior = posteriors(graph, codes)
    np.testing.assert_allclose(posterior[0, :2], np.exp(logs - expected), rtol=1e-9)
    assert posterior[0, 2:].sum() == pytest.approx(600)
    counts = expected_counts(graph, np.repeat(codes, 3, axis=0))
    np.testing.assert_allclose(counts[:2], 3 * posterior[0, :2], rtol=1e-9)


def test_impossible_rows_have_minus_infinity_and_no_posterior(kernel):
    graph = random_graph(np.random.default_rng(3), 1, zeros=0)
    graph = graph.with_parameters(np.eye(1, len(graph.parameters))[0])
    codes = np.array([[0], [1], [-1]], np.int16)
    assert flows.log_likelihood_rows(graph, codes).tolist() == [0, -np.inf, 0]
    for function in (posteriors, expected_counts):
        with pytest.raises(
            DataError, match=r"row 2 \(index 1\), one of 1: .*probability zero"
        ):
            function(graph, codes)


def test_total_log_likelihood_counts_rows_by_weight():
    graph = paper_example()
    codes = np.array([[-1, -1, -1, 0], [-1, -1, -1, 1]], np.int8)
    dataset = Dataset(codes, graph.names, graph.states, np.array([2.0, 1.0]))
    expected = 2 * np.log(0.414) + np.log(0.586)
    assert log_likelihood(graph, dataset) == pytest.approx(expected)


def test_no_rows_give_no_results():
    graph = paper_example()
    none = np.empty((0, 4), np.int16)
    assert log_likelihood_rows(graph, none).shape == (0,)
    assert posteriors(graph, none).shape == (0, 8)
    assert expected_counts(graph, none).tolist() == [0] * 16


@given(st.integers(0, 10_000), st.integers(1, 5), st.sampled_from([1.0, 7.5]))
@settings(max_examples=20)
def test_probabilities_of_nodes_by_the_full_joint(seed, n, rows):
    graph = random_graph(np.random.default_rng(seed), n)
    full, expected = graph_joint(graph), np.zeros(len(graph.parameters))
    for x in np.ndindex(full.shape):
        for v, node in reached(graph, x).items():
            expected[graph.parameter_offsets[node] + x[v]] += rows * full[x]
    assert np.allclose(node_probabilities(graph, rows), expected)
