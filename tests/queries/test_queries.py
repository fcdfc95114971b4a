import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.bayesnet.row_completion import eliminated, posterior_cells, prepared
from exactlearn.data.missingness import hide
from exactlearn.errors import DataError, OptionError
from exactlearn.formats.bif import read_bif
from exactlearn.instances import path
from exactlearn.pdg.compile.compile import compile_network
from exactlearn.pdg.inference.flows import posteriors_and_log_likelihoods
from exactlearn.queries.posteriors import query
from tests.network_oracle import joint, random_network
from tests.pdg_oracle import paper_example


@given(st.integers(0, 10_000), st.integers(2, 5))
@settings(max_examples=25)
def test_answers_agree_with_the_full_joint(seed, n):
    rng = np.random.default_rng(seed)
    network = random_network(rng, n)
    row = network.sample(1, rng).codes[0]
    seen = rng.random(n) < 0.4
    evidence = {
        network.names[v]: network.states[v][row[v]] for v in np.flatnonzero(seen)
    }
    part = joint(network)[
        tuple(slice(row[v], row[v] + 1) if seen[v] else slice(None) for v in range(n))
    ]
    for model in (network, compile_network(network)):
        answer = query(model, evidence)
        assert answer.probability_of_evidence == pytest.approx(part.sum())
        assert answer.log_probability_of_evidence == pytest.approx(np.log(part.sum()))
        assert list(answer.posterior) == [
            network.names[v] for v in np.flatnonzero(~seen)
        ]
        for v in np.flatnonzero(~seen):
            expected = part.sum(axis=tuple(u for u in range(n) if u != v)) / part.sum()
            found = answer.posterior[network.names[v]]
            assert tuple(found) == network.states[v]
            assert list(found.values()) == pytest.approx(expected.tolist(), abs=1e-12)


def test_no_probability_is_above_one():
    """Rounding left 1.0000000000000002 in tables of answers and of imputed cells."""
    network, rng = read_bif(path("asia.bif")), np.random.default_rng(0)
    table = hide(network.sample(1000, rng), "mcar:0.3", rng)
    graph = compile_network(network)
    for found, logs in (
        posteriors_and_log_likelihoods(graph, table.codes),
        eliminated(prepared(network), table.codes.astype(np.int16)),
    ):
        assert found.max() == 1.0
        assert logs.max() <= 0.0
    assert posterior_cells(network, table).max() <= 1.0


def test_targets_are_answered_in_their_order_and_may_be_evidence():
    answer = query(paper_example(), {"X3": "0"}, ["X3", "X0"])
    assert list(answer.posterior) == ["X3", "X0"]
    assert answer.posterior["X3"] == {"0": pytest.approx(1), "1": 0}
    assert answer.posterior["X0"]["0"] == pytest.approx(0.2 * 0.39 / 0.414)
    assert answer.probability_of_evidence == pytest.approx(0.414)


def test_no_evidence_gives_the_prior():
    answer = query(paper_example())
    assert answer.probability_of_evidence == pytest.approx(1)
    assert answer.posterior["X0"] == {"0": pytest.approx(0.2), "1": pytest.approx(0.8)}


@pytest.mark.parametrize(
    ("evidence", "targets", "message"),
    [
        ({"X33": "0"}, None, "no variable 'X33'.* did you mean 'X3'"),
        ({"X3": "2"}, None, "'X3' has no state '2'; expected one of '0', '1'"),
        ({}, ["Y"], "no variable 'Y'"),
    ],
)
def test_unknown_names_are_refused_with_a_suggestion(evidence, targets, message):
    with pytest.raises(OptionError, match=message):
        query(paper_example(), evidence, targets)


def test_impossible_evidence_is_refused():
    graph = paper_example()
    parameters = graph.parameters.copy()
    parameters[:2] = 1, 0
    with pytest.raises(DataError, match="the evidence X0=1, X3=0 has probability zero"):
        query(graph.with_parameters(parameters), {"X0": "1", "X3": "0"})


def independent(*states):
    """Return a network of one variable with these states."""
    return BayesianNetwork(
        ("x",), (states,), ((),), (np.full(len(states), 1 / len(states)),)
    )


@pytest.mark.parametrize(
    ("states", "value", "expected"),
    [
        (("<=0.45", "(0.45, 0.54]", ">0.54"), 0.5, "(0.45, 0.54]"),
        (("<=0.45", "(0.45, 0.54]", ">0.54"), -3, "<=0.45"),
        (("<=0.45", "(0.45, 0.54]", ">0.54"), np.float32(99), ">0.54"),
        (("0", "1"), 1.0, "1"),
        (("0.0", "1.0"), np.int64(1), "1.0"),
        (("0.0", "1.0"), "1", "1.0"),
        (("False", "True"), np.bool_(True), "True"),
        (("false", "true"), True, "true"),
    ],
)
def test_a_value_stands_for_its_state(states, value, expected):
    answer = query(independent(*states), {"x": value}, ["x"])
    assert answer.posterior["x"][expected] == 1


@pytest.mark.parametrize(
    ("states", "value", "message"),
    [
        (
            ("(0.3, 0.45]", "(0.45, 0.54]"),
            0.1,
            r"'x' has no state '0.1'; expected one of '\(0.3, 0.45\]'",
        ),
        (("1", "1.0"), "1.00", "no state '1.00'"),
        (("no", "yes"), True, "no state 'True'; expected one of 'no', 'yes'"),
    ],
)
def test_a_value_without_a_state_is_refused(states, value, message):
    with pytest.raises(OptionError, match=message):
        query(independent(*states), {"x": value})
