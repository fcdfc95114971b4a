import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn.bayesnet.em import fit_em
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.dataset import Dataset
from exactlearn.data.missingness import hide
from exactlearn.errors import CheckError, DataError, OptionError
from exactlearn.formats.bif import read_bif
from exactlearn.instances import locate
from exactlearn.pdg.compile.compile import compile_network
from exactlearn.pdg.inference.flows import log_likelihood
from exactlearn.pdg.learn import parameters as refinement
from exactlearn.pdg.learn.parameters import ParameterEM, refine
from exactlearn.pdg.model.decision_graph import assemble
from exactlearn.structure.structural_em import structural_em
from tests.pdg_oracle import counts_by_joint, paper_example, random_graph


def incomplete(rng, graph, rows, missing=0.3, weights=None) -> Dataset:
    codes = rng.integers(0, graph.cardinalities, (rows, graph.n_variables)).astype(
        np.int8
    )
    codes[rng.random(codes.shape) < missing] = -1
    return Dataset(codes, graph.names, graph.states, weights)


@given(
    st.integers(0, 10_000),
    st.integers(1, 4),
    st.sampled_from([0.0, 0.7]),
    st.sampled_from(["start", "uniform"]),
)
@settings(max_examples=15)
def test_each_step_is_the_brute_force_step(seed, n, smoothing, prior):
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, n, zeros=0)
    data = incomplete(rng, graph, 12, weights=rng.exponential(size=12))
    problem = ParameterEM(graph, data, smoothing, prior)
    state = problem.e_step(0, graph.parameters)
    current = graph
    nothing = np.full((1, n), -1, np.int8)
    rows = counts_by_joint(graph, nothing, np.array([len(graph.parameters)]))
    for _ in range(3):
        pseudo_counts = smoothing * (rows if prior == "start" else 1)
        counts = counts_by_joint(current, data.codes, data.weights) + pseudo_counts
        parameters = current.parameters.copy()
        for start, end in zip(
            graph.parameter_offsets, graph.parameter_offsets[1:], strict=False
        ):
            if counts[start:end].sum() > 0:
                parameters[start:end] = counts[start:end] / counts[start:end].sum()
        current = graph.with_parameters(parameters)
        state = problem.e_step(1, problem.m_step(state))
        np.testing.assert_allclose(state.parameters, parameters, rtol=1e-9, atol=1e-13)
        assert state.log_likelihood == pytest.approx(log_likelihood(current, data))


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.5]), st.sampled_from([0.0, 0.4]))
@settings(max_examples=15)
def test_what_is_maximised_never_falls(seed, smoothing, zeros):
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, 5, zeros=zeros)
    full = random_graph(rng, 5, zeros=0)
    data = incomplete(rng, graph if not zeros else full, 30)
    if zeros:
        graph = full
    refined = refine(graph, data, iterations=25, tolerance=0.0, smoothing=smoothing)
    steps = np.diff(refined.objectives)
    assert (steps >= -1e-9 * abs(refined.objectives[0])).all()
    assert log_likelihood(refined.model, data) == pytest.approx(
        refined.log_likelihoods[-1]
    )
    refined.model.check()


def test_complete_data_converges_in_one_step():
    rng = np.random.default_rng(1)
    graph = random_graph(rng, 4, zeros=0)
    data = incomplete(rng, graph, 200, missing=0)
    refined = refine(graph, data, smoothing=0)
    assert refined.converged
    assert refined.iterations == 2
    assert refined.log_likelihoods[1] == pytest.approx(refined.log_likelihoods[2])


def test_unreached_nodes_keep_their_parameters_without_alpha():
    graph = paper_example()
    row = np.zeros((5, 4), np.int8)  # reaches the nodes 0, 1, 4 and 6
    data = Dataset(row, graph.names, graph.states)
    refined = refine(graph, data, smoothing=0)
    kept = [2, 3, 5, 7]
    for node in kept:
        start = graph.parameter_offsets[node]
        same = slice(start, start + 2)
        assert (
            refined.model.parameters[same].tolist() == graph.parameters[same].tolist()
        )
    smoothed = refine(graph, data, smoothing=1, prior="uniform")
    np.testing.assert_allclose(
        smoothed.model.parameters_of(2), [[6 / 7, 1 / 7], [0.5, 0.5]]
    )


def test_smoothing_keeps_unreached_nodes_and_excludes_nothing():
    graph = paper_example()
    data = Dataset(np.zeros((5, 4), np.int8), graph.names, graph.states)
    smoothed = refine(graph, data, smoothing=1).model.parameters
    assert (smoothed > 0).all()
    for node in [2, 3, 5, 7]:
        start = graph.parameter_offsets[node]
        np.testing.assert_allclose(
            smoothed[start : start + 2], graph.parameters[start : start + 2]
        )


@pytest.mark.parametrize("name", ["asia", "cancer", "lucas"])
def test_refinement_on_few_rows_keeps_held_out_likelihood(name):
    """By pseudo-counts of 0 it did: ASIA lost 0.7 per row, and fresh rows became impossible."""
    rng, network = np.random.default_rng(3), read_bif(locate(name, ".bif"))
    data, fresh = (
        hide(network.sample(300, rng), "mcar:0.1", rng),
        network.sample(5000, rng),
    )
    learned = fit_em(data, network.parents).model
    graph = compile_network(learned, steps=0)
    before, after = (
        log_likelihood(g, fresh) / fresh.n_rows
        for g in (graph, refine(graph, data).model)
    )
    assert before == pytest.approx(learned.log_likelihood(fresh) / fresh.n_rows)
    assert after > before - 0.005
    assert log_likelihood(
        refine(graph, data, smoothing=0).model, fresh
    ) < log_likelihood(graph, fresh)


@pytest.mark.parametrize("share", [0.05, 0.2])
def test_default_graphs_predict_as_well_as_their_network(share):
    """On fresh rows, by the graph of a learned network."""
    truth, rng = read_bif(locate("asia", ".bif")), np.random.default_rng(401)
    full, fresh = truth.sample(400, np.random.default_rng(400)), truth.sample(5000, rng)
    codes = full.codes.copy()
    codes[np.random.default_rng(401).random(codes.shape) < share] = -1
    data = Dataset(codes, full.names, full.states)
    parents = structural_em(data, "bdeu", max_parents=2).parents
    graph = compile_network(fit_em(data, parents).model, steps=0)
    start, chosen, one = (
        log_likelihood(g, fresh) / fresh.n_rows
        for g in (
            graph,
            refine(graph, data).model,
            refine(graph, data, smoothing=1).model,
        )
    )
    assert chosen > start - 0.005
    assert (
        one < start - 0.02
    )  # the network, fitted, knows more than one pseudo-count a parameter


def test_there_may_be_nothing_to_validate_on():
    graph = paper_example()
    row = Dataset(np.zeros((1, 4), np.int8), graph.names, graph.states)
    hidden = Dataset(np.full((9, 4), -1), graph.names, graph.states)
    for data in (row, hidden):
        assert refine(graph, data).smoothing == 1.0


def test_merged_nodes_add_up_their_pseudo_counts():
    two = assemble(
        ("a", "b"), (("n", "y"),) * 2, np.array([-1, 0]),
        [np.array([[0.6, 0.4]]), np.array([[0.2, 0.8], [0.2, 0.8]])],
        [np.array([[[0], [1]]]), np.zeros((2, 2, 0), int)],
    )  # fmt: skip
    one = assemble(
        two.names, two.states, two.forest, [two.parameters_of(0), two.parameters_of(1)[:1]],
        [np.array([[[0], [0]]]), np.zeros((1, 2, 0), int)],
    )  # fmt: skip
    data = incomplete(np.random.default_rng(6), two, 30)
    apart = ParameterEM(two, data, 2).pseudo_counts  # 2 for each of 6 parameters
    assert apart == pytest.approx(12 * np.array([0.6, 0.4, 0.12, 0.48, 0.08, 0.32]))
    merged = ParameterEM(one, data, 3).pseudo_counts  # 3 for each of 4
    assert merged == pytest.approx([*apart[:2], *(apart[2:4] + apart[4:])])


def hidden_class(rng):
    """Return a graph that is symmetric in a class, and rows of three variables without it."""
    truth = BayesianNetwork(
        ("class", "x", "y", "z"),
        (("a", "b"),) * 4,
        ((), (0,), (0,), (0,)),
        (np.array([0.4, 0.6]), *[np.array([[0.9, 0.1], [0.2, 0.8]])] * 3),
    )
    codes = truth.sample(1000, rng).codes.copy()
    codes[:, 0] = -1
    graph = compile_network(truth, forest=[-1, 0, 0, 0])
    table = Dataset(codes, truth.names, truth.states)
    return graph.with_parameters(np.full_like(graph.parameters, 0.5)), table


def test_random_starts_separate_the_states_of_latent_variables():
    graph, table = hidden_class(np.random.default_rng(5))
    one = refine(graph, table, prior="uniform")
    assert (len(one.starts), one.converged) == (1, True)
    several = refine(graph, table, prior="uniform", starts=5)
    assert len(several.starts) == 5
    assert several.log_likelihoods[-1] > one.log_likelihoods[-1] + 100
    again = refine(graph, table, prior="uniform", starts=5)
    assert again.objectives == several.objectives
    with pytest.raises(
        OptionError, match="'starts': expected a whole number from 1, found 0"
    ):
        refine(graph, table, starts=0)


def test_repeated_rows_are_weights():
    rng = np.random.default_rng(2)
    graph = random_graph(rng, 4, zeros=0)
    data = incomplete(rng, graph, 10)
    times = rng.integers(0, 4, 10)
    long = Dataset(np.repeat(data.codes, times, axis=0), graph.names, graph.states)
    weighted = Dataset(data.codes, graph.names, graph.states, times.astype(float))
    first = refine(graph, long, iterations=5, tolerance=0, smoothing=1.0)
    second = refine(graph, weighted, iterations=5, tolerance=0, smoothing=1.0)
    np.testing.assert_allclose(first.model.parameters, second.model.parameters)
    assert first.log_likelihoods == pytest.approx(second.log_likelihoods)


def test_columns_are_matched_by_name():
    rng = np.random.default_rng(3)
    graph = random_graph(rng, 4, zeros=0)
    data = incomplete(rng, graph, 20)
    turned = Dataset(data.codes[:, ::-1].copy(), data.names[::-1], data.states[::-1])
    first, second = (
        refine(graph, d, iterations=3, smoothing=1.0) for d in (data, turned)
    )
    assert first.model.parameters.tolist() == second.model.parameters.tolist()


def test_limits_and_the_hook():
    rng = np.random.default_rng(4)
    graph = random_graph(rng, 4, zeros=0)
    data = incomplete(rng, graph, 30)
    seen = []
    refined = refine(graph, data, iterations=4, tolerance=0, on_iteration=seen.append)
    assert not refined.converged
    assert [s.iteration for s in seen] == [0, 1, 2, 3, 4]
    assert tuple(s.log_likelihood for s in seen) == refined.log_likelihoods
    assert (
        refine(graph, data, iterations=0).model.parameters.tolist()
        == graph.parameters.tolist()
    )


def test_impossible_rows_are_named():
    graph = paper_example()
    parameters = graph.parameters.copy()
    parameters[:2] = 1, 0
    codes = np.array([[0, 0, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0]], np.int8)
    data = Dataset(codes, graph.names, graph.states)
    with pytest.raises(DataError, match=r"row 3 \(index 2\)"):
        refine(graph.with_parameters(parameters), data)


def test_wrong_options_are_refused():
    graph = paper_example()
    data = Dataset(np.zeros((1, 4), np.int8), graph.names, graph.states)
    with pytest.raises(OptionError, match="smoothing"):
        refine(graph, data, smoothing=-1)
    empty = Dataset(np.zeros((0, 4), np.int8), graph.names, graph.states)
    with pytest.raises(DataError, match="no rows"):
        refine(graph, empty)


def test_a_fall_is_reported(monkeypatch):
    graph = paper_example()
    data = incomplete(np.random.default_rng(0), graph, 20)
    monkeypatch.setattr(
        refinement.ParameterEM, "m_step", lambda self, s: s.parameters[::-1].copy()
    )
    with pytest.raises(CheckError, match="EM iteration 1 fell"):
        refine(graph, data)
