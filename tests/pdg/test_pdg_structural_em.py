import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn._runtime.control import SearchControl
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError, OptionError
from exactlearn.pdg.inference.flows import expected_counts, log_likelihood, posteriors
from exactlearn.pdg.learn import structural_em
from exactlearn.pdg.learn.edge_counts import (
    SIZES,
    StructureScore,
    copied_by_edges,
    expected_edge_counts,
    improved_by_counts,
    structure_of,
)
from exactlearn.pdg.learn.parameters import available_counts
from exactlearn.pdg.learn.starts import markov_forest
from exactlearn.pdg.learn.structural_em import (
    drawn_completion,
    structural_em_graph,
    structural_em_rounds,
)
from tests.interrupts import press_ctrl_c
from tests.logic_models import drawn, logic3
from tests.pdg_oracle import (
    completions,
    graph_joint,
    paper_example,
    random_graph,
    reached,
)


def weighted_completions(graph, codes):
    """Return every completion of every row with its posterior probability."""
    full = graph_joint(graph)
    rows, shares = [], []
    for row in codes:
        filled = completions(row, graph.cardinalities)
        mass = np.array([full[x] for x in filled])
        rows += filled
        shares += (mass / mass.sum()).tolist()
    return np.array(rows), np.array(shares)


def holes(graph, rng, n, share=0.4):
    """Draw complete rows of positive probability, and hide cells of them."""
    full = graph_joint(graph)
    codes = np.array(
        np.unravel_index(rng.choice(full.size, n, p=full.ravel()), full.shape)
    ).T
    codes[rng.random(codes.shape) < share] = -1
    return codes.astype(np.int16)


@given(st.integers(0, 10_000))
@settings(max_examples=30)
def test_edge_counts_by_all_completions(seed):
    """PDG-SEM, equation 23."""
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, 4)
    codes, weights = holes(graph, rng, 6), rng.random(6) + 0.1
    data = Dataset(codes, graph.names, graph.states, weights)
    tables, likelihood = expected_edge_counts(graph, data)
    expected = {v: np.zeros(t.shape) for v, t in tables.items()}
    for row, weight in zip(codes, weights, strict=True):
        for x, share in zip(*weighted_completions(graph, row[None]), strict=True):
            nodes = reached(graph, tuple(x))
            for v, parent in enumerate(graph.forest.tolist()):
                edge = 0
                if parent >= 0:
                    place = nodes[parent] - graph.first_nodes[parent]
                    edge = place * graph.cardinalities[parent] + x[parent]
                expected[v][edge, x[v]] += weight * share
    for v, table in tables.items():
        assert np.allclose(table, expected[v])
    full = graph_joint(graph)
    logs = [
        np.log(sum(full[x] for x in completions(row, graph.cardinalities)))
        for row in codes
    ]
    assert likelihood == pytest.approx(float(weights @ logs))


def test_the_paper_example():
    """PDG-SEM, Example 4.1 as corrected: P(nu10 and X1=1 | X3=0) = 0.036 / 0.414."""
    graph = paper_example()
    row = Dataset(np.array([[-1, -1, -1, 0]]), graph.names, graph.states)
    tables, likelihood = expected_edge_counts(graph, row)
    assert tables[1][0, 1] == pytest.approx(0.036 / 0.414)
    assert np.exp(likelihood) == pytest.approx(0.414)


@given(st.integers(0, 10_000))
@settings(max_examples=20)
def test_copies_by_edges_keep_the_distribution(seed):
    graph = random_graph(np.random.default_rng(seed), 5)
    copied = copied_by_edges(graph)
    copied.check()
    assert np.allclose(graph_joint(copied), graph_joint(graph))


@given(st.integers(0, 10_000), st.sampled_from((0.0, 0.4, 0.8)), st.sampled_from(SIZES))
@settings(max_examples=40)
def test_the_gain_of_a_sweep_is_that_of_the_expected_score(seed, size_weight, size):
    """PDG-SEM, equations 8, 13 and 15: Q before and after, over all completions."""
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, 4)
    codes, score = holes(graph, rng, 12), StructureScore(size_weight, size)
    data = Dataset(codes, graph.names, graph.states)
    tables, _ = expected_edge_counts(graph, data)
    found = improved_by_counts(graph, tables, score)
    if found is None:
        return
    changed, gain = found
    changed.check()
    refitted = graph.with_counts(expected_counts(graph, codes))
    rows, shares = weighted_completions(graph, codes)

    def q(model):
        full = graph_joint(model)
        logs = np.log(full[tuple(rows.T)][shares > 0])
        return score.of(model, float(shares[shares > 0] @ logs))

    assert gain == pytest.approx(q(changed) - q(refitted), abs=1e-8)
    assert gain > 0


@given(st.integers(0, 10_000))
@settings(max_examples=30)
def test_available_cases_agree_in_all_completions(seed):
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, 4)
    codes = (rng.random((8, 4)) * (graph.cardinalities + 1)).astype(np.int16) - 1
    weights = rng.random(8) + 0.1
    expected = np.zeros(len(graph.parameters))
    for row, weight in zip(codes, weights, strict=True):
        ways = [reached(graph, x) for x in completions(row, graph.cardinalities)]
        for v in range(4):
            nodes = {way[v] for way in ways}
            if row[v] >= 0 and len(nodes) == 1:
                expected[graph.parameter_offsets[nodes.pop()] + row[v]] += weight
    assert np.allclose(available_counts(graph.layout, codes, weights), expected)


def test_the_first_graph_has_a_node_for_each_state_of_the_parent():
    codes = np.array([[0, 0], [1, 1], [2, 1], [-1, 0], [0, -1]] * 20, np.int16)
    data = Dataset(codes, ("x", "y"), (("a", "b", "c"), ("0", "1")))
    graph = markov_forest(data, np.array([-1, 0], np.int32))
    graph.check()
    assert graph.node_counts.tolist() == [1, 3]
    assert (graph.parameters > 0).all()
    assert graph.parameters_of(1)[0, 0] > 0.95
    assert structure_of(graph)[0].ravel().tolist() == [0, 1, 2]


@pytest.mark.parametrize("forest", ["forest", "tree"])
def test_scores_never_fall_and_the_result_is_good(forest):
    rng = np.random.default_rng(0)
    truth = random_graph(rng, 6, zeros=0.0)
    full = graph_joint(truth)
    train = holes(truth, rng, 1500, share=0.15)
    data = Dataset(train, truth.names, truth.states)
    seen = []
    found = structural_em_graph(
        data, forest=forest, on_model=lambda model, _: seen.append(model)
    )
    assert found.converged
    assert tuple(seen) == found.models
    assert (np.diff([model.score for model in found.models]) >= -1e-6).all()
    first, last = found.models[0], found.models[-1]
    assert last.log_likelihood == pytest.approx(log_likelihood(last.graph, data))
    assert last.score >= first.score
    found.graph.check()
    divergence = (full * np.log(full / graph_joint(found.graph))).sum()
    assert divergence < 0.1


def test_independent_variables_get_trees_of_their_own():
    data = Dataset(
        np.random.default_rng(1).integers(0, 2, (500, 4)),
        tuple("abcd"),
        (("0", "1"),) * 4,
    )
    forest = structural_em_graph(data).graph
    assert (forest.forest < 0).all()
    tree = structural_em_graph(data, forest="tree").graph
    assert (tree.forest < 0).sum() == 1


@pytest.mark.parametrize("parameters", ["available", "complete"])
def test_alternatives_to_em_in_line_5_only(parameters):
    """PDG-SEM, 6.1.2: parameters of the cases, structure by the expected counts of all rows."""
    complete = drawn(logic3(4), 400, np.random.default_rng(2))
    same = structural_em_graph(complete, parameters=parameters).graph
    other = structural_em_graph(complete).graph
    assert same.effective_size == other.effective_size
    assert np.allclose(same.parameters, other.parameters, atol=1e-6)
    codes = complete.codes.astype(np.int16)
    codes[np.random.default_rng(3).random(codes.shape) < 0.2] = -1
    data = Dataset(codes, complete.names, complete.states)
    found = structural_em_graph(data, parameters=parameters).graph
    used = codes[data.complete_rows] if parameters == "complete" else codes
    counts = available_counts(found.layout, used, np.ones(len(used)))
    assert np.allclose(found.parameters, found.with_counts(counts + 1.0).parameters)


def test_an_interrupt_keeps_the_last_state():
    rng = np.random.default_rng(0)
    truth = random_graph(rng, 6, zeros=0.0)
    data = Dataset(holes(truth, rng, 500), truth.names, truth.states)

    seen = []

    def stop(model, smoothed):
        seen.append(smoothed())
        if len(seen) == 2:
            press_ctrl_c()

    found = structural_em_graph(data, on_model=stop)
    assert not found.finished
    assert not found.converged
    assert len(found.models) == len(seen) == 2
    assert (seen[1].parameters > 0).all()
    found.graph.check()
    few = structural_em_graph(data, iterations=1)
    assert few.finished
    assert len(few.models) == 2
    none = structural_em_graph(data, time_limit=0)
    assert (none.finished, len(none.models)) == (False, 1)
    assert (none.graph.parameters > 0).all()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"parameters": "some"}, OptionError, "parameters"),
        ({"parameters": "complete"}, DataError, "complete"),
        ({"forest": "trees"}, OptionError, "forest"),
        ({"forest": [0, 1]}, DataError, "shape"),
        ({"smoothing": -1.0}, OptionError, "smoothing"),
    ],
)
def test_mistakes_are_reported(options, error, message):
    data = Dataset(np.array([[0, -1, 1], [-1, 1, 0]]), tuple("abc"), (("0", "1"),) * 3)
    with pytest.raises(error, match=message):
        structural_em_graph(data, **options)
    with pytest.raises(DataError, match="no rows"):
        structural_em_graph(Dataset(data.codes, data.names, data.states, np.zeros(2)))


def test_a_search_starts_from_a_given_graph():
    rng = np.random.default_rng(4)
    truth = random_graph(rng, 5, zeros=0.0)
    data = Dataset(holes(truth, rng, 300), truth.names, truth.states)
    found = structural_em_graph(data, start=truth)
    assert (found.graph.forest == truth.forest).all()
    value = StructureScore(found.size_weight).of(truth, log_likelihood(truth, data))
    assert found.score >= value
    with pytest.raises(OptionError, match="expected two models of the same variables"):
        structural_em_graph(data, start=paper_example())


@pytest.fixture(scope="module")
def parity_with_holes():
    """Rows of three bits, the last one the parity of the others, and a noisy copy of it."""
    rng = np.random.default_rng(2)
    a, b = rng.integers(0, 2, (2, 500))
    codes = np.array(
        [a, b, a ^ b, np.where(rng.random(500) < 0.9, a ^ b, 1 - (a ^ b))]
    ).T
    codes[rng.random(codes.shape) < 0.1] = -1
    return Dataset(codes, tuple("abcd"), (("n", "y"),) * 4)


@pytest.fixture(scope="module")
def found(parity_with_holes):
    return structural_em_rounds(parity_with_holes, seed=1)


def test_networks_of_completed_tables_find_what_no_tree_shows(
    parity_with_holes, found, monkeypatch
):
    alone = structural_em_graph(parity_with_holes)
    assert found.score > alone.score + 10
    assert log_likelihood(found.graph, parity_with_holes) > -2.6 * np.log(2) * 500
    again = structural_em_rounds(parity_with_holes, seed=1)
    assert (again.graph.parameters == found.graph.parameters).all()
    monkeypatch.setattr(structural_em, "ROUNDS", 0)
    none = structural_em_rounds(parity_with_holes)
    assert (none.graph.parameters == alone.graph.parameters).all()


@pytest.mark.parametrize("seed", range(3))
def test_a_tree_is_searched_from_beside_the_forest(seed, monkeypatch):
    monkeypatch.setattr(structural_em, "ROUNDS", 0)
    rng = np.random.default_rng(seed)
    truth = random_graph(rng, 6, zeros=0.0)
    data = Dataset(holes(truth, rng, 60), truth.names, truth.states)
    kinds = [
        structural_em_graph(data, forest=kind).score for kind in ("forest", "tree")
    ]
    assert structural_em_rounds(data).score == max(kinds)


def test_rounds_keep_the_best_at_an_interrupt(parity_with_holes):
    alone = structural_em_graph(parity_with_holes)
    seen = []

    def stop(model, smoothed):
        seen.append(model)
        if len(seen) > len(alone.models):
            press_ctrl_c()

    found = structural_em_rounds(parity_with_holes, on_model=stop)
    assert not found.finished
    assert found.score >= alone.score
    assert len(seen) == len(alone.models) + 1
    with SearchControl(0.0).running():
        none = structural_em_rounds(parity_with_holes)
    assert (none.finished, len(none.models)) == (False, 1)


def test_drawn_completions_follow_the_posterior(found):
    graph = found.graph
    row = np.array([[1, -1, 0, -1]])
    many = Dataset(np.repeat(row, 20_000, axis=0), graph.names, graph.states)
    drawn_rows = drawn_completion(graph, many, np.random.default_rng(0)).codes
    assert (drawn_rows[:, [0, 2]] == [1, 0]).all()
    shares = posteriors(graph, row.astype(np.int16))[0].reshape(4, 2)
    assert np.abs(drawn_rows.mean(axis=0) - shares[:, 1]).max() < 0.015


def test_a_row_that_a_start_excludes_is_named():
    """By its place in the table, though equal rows are merged."""
    names, states = ("a", "b"), (("n", "y"),) * 2
    start = structural_em_graph(
        Dataset(np.array([[0, 0], [1, 1]] * 20), names, states)
    ).graph
    clear = np.where(start.parameters > 0.8, 1.0, start.parameters)
    sure = start.with_parameters(np.where(clear < 0.2, 0.0, clear))
    rows = Dataset(np.array([[-1, -1], [0, 0], [0, 0], [0, 0], [0, 1]]), names, states)
    with pytest.raises(DataError, match=r"row 5 \(index 4\)"):
        structural_em_graph(rows, start=sure)
