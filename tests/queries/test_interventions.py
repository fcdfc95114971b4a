"""Interventions, beside the truncated factorisation of the full joint distribution."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import exactlearn as el
from exactlearn.errors import DataError, OptionError
from exactlearn.pdg.compile.compile import compile_network
from tests.command_line import fails, run_json
from tests.network_oracle import random_network
from tests.pdg_oracle import paper_example


def truncated_factorisation(network, interventions):
    """Return the joint under an intervention (Pearl 2009, equation 3.10)."""
    joint = np.zeros(tuple(network.cardinalities))
    for states in np.ndindex(joint.shape):
        if any(states[v] != state for v, state in interventions.items()):
            continue
        joint[states] = 1.0
        for v, (family, table) in enumerate(
            zip(network.parents, network.tables, strict=True)
        ):
            if v not in interventions:
                joint[states] *= table[(*(states[p] for p in family), states[v])]
    return joint


def states_of(network, codes):
    return {network.names[v]: network.states[v][code] for v, code in codes.items()}


@given(st.integers(0, 10_000), st.integers(2, 5))
@settings(max_examples=25)
def test_answers_agree_with_the_truncated_factorisation(seed, n):
    rng = np.random.default_rng(seed)
    network = random_network(rng, n)
    role = rng.permutation(n)
    interventions = {
        int(v): int(rng.integers(len(network.states[v]))) for v in role[:2]
    }
    joint = truncated_factorisation(network, interventions)
    evidence = {}
    if n > 2:
        v = int(role[2])
        others = tuple(u for u in range(n) if u != v)
        evidence[v] = int(joint.sum(axis=others).argmax())
        joint = np.take(joint, [evidence[v]], axis=v)
    answer = el.query(
        network, states_of(network, evidence), do=states_of(network, interventions)
    )
    assert answer.probability_of_evidence == pytest.approx(joint.sum())
    targets = set(range(n)) - evidence.keys() - interventions.keys()
    assert answer.posterior.keys() == {network.names[v] for v in targets}
    for v in targets:
        others = tuple(u for u in range(n) if u != v)
        expected = joint.sum(axis=others) / joint.sum()
        posterior = list(answer.posterior[network.names[v]].values())
        assert posterior == pytest.approx(expected.tolist(), abs=1e-12)


@given(st.integers(0, 10_000))
@settings(max_examples=15)
def test_an_intervention_on_a_root_is_an_observation(seed):
    rng = np.random.default_rng(seed)
    network = random_network(rng, 4)
    root = network.names[network.order[0]]
    state = network.states[network.order[0]][-1]
    observed = el.query(network, {root: state})
    for name, posterior in el.query(network, do={root: state}).posterior.items():
        assert posterior == pytest.approx(observed.posterior[name], abs=1e-12)


def confounded():
    """Return age -> drug, age -> cure <- drug: the drug helps, but the old take it."""
    return el.BayesianNetwork(
        ("age", "drug", "cure"),
        (("young", "old"), ("no", "yes"), ("no", "yes")),
        ((), (0,), (0, 1)),
        (
            np.array([0.5, 0.5]),
            np.array([[0.8, 0.2], [0.2, 0.8]]),
            np.array([[[0.3, 0.7], [0.2, 0.8]], [[0.8, 0.2], [0.7, 0.3]]]),
        ),
    )


def test_the_back_door_is_closed():
    network = confounded()
    cured = {}
    for drug in ("no", "yes"):
        seen = el.query(network, {"drug": drug}, "cure").posterior["cure"]["yes"]
        done = el.query(network, None, "cure", do={"drug": drug}).posterior["cure"]
        cured[drug] = (seen, done["yes"])
    # observed: .8 .7 + .2 .2 and .2 .8 + .8 .3; adjusted for age: means of both ages
    assert cured["no"] == pytest.approx((0.60, 0.45))
    assert cured["yes"] == pytest.approx((0.40, 0.55))
    # an effect is no reason to believe in another state of a cause
    answer = el.query(network, do={"cure": "yes"})
    assert answer.posterior["age"] == pytest.approx({"young": 0.5, "old": 0.5})
    assert answer.do == {"cure": "yes"}
    assert answer.evidence == {"cure": {"yes": 1.0}}
    assert answer.model.arcs == (("age", "drug"),)


@pytest.mark.parametrize(
    ("evidence", "do", "error", "message"),
    [
        ({"age": "old"}, {"age": "old"}, OptionError, "'age' is set by 'do' and"),
        ({}, {"agee": "old"}, OptionError, "did you mean 'age'"),
        ({}, {"age": "olt"}, OptionError, "did you mean 'old'"),
        ({}, ["age"], el.errors.ArgumentError, "'do': expected a mapping"),
    ],
)
def test_what_cannot_be_set_is_refused(evidence, do, error, message):
    with pytest.raises(error, match=message):
        el.query(confounded(), evidence, do=do)


def test_evidence_that_an_intervention_excludes_is_refused():
    logic = el.BayesianNetwork(
        ("a", "b"), (("n", "y"),) * 2, ((), (0,)), (np.full(2, 0.5), np.eye(2))
    )
    assert el.query(logic, {"b": "y"}).posterior["a"] == {"n": 0.0, "y": 1.0}
    with pytest.raises(DataError, match=r"b=y has .* under the intervention on a"):
        el.query(logic, {"b": "y"}, do={"a": "n"})


def test_only_networks_have_interventions():
    naive_bayes = el.learn_naive_bayes(el.read_dataset("asia-mnar-complete")).model
    for model in (paper_example(), compile_network(confounded()), naive_bayes):
        with pytest.raises(OptionError, match="network that a decision graph was comp"):
            el.query(model, do={model.names[0]: model.states[0][0]})
        assert el.query(model, do={}) == el.query(model)


def test_the_command_sets_variables(tmp_path):
    words = ("query", "asia", "--do", "bronc=yes", "--do", "lung=no", "-e", "dysp=yes")
    record = run_json(*words, "-t", "smoke", "-t", "tub", "--map", "--joint")
    answer = el.query(
        el.read_network("asia"),
        {"dysp": "yes"},
        ["smoke", "tub"],
        do={"bronc": "yes", "lung": "no"},
    )
    assert record["do"] == {"bronc": "yes", "lung": "no"}
    assert record["posterior"] == answer.posterior
    assert record["probability_of_evidence"] == answer.probability_of_evidence
    joint = {
        tuple(row["states"].values()): row["probability"] for row in record["joint"]
    }
    # nothing but its own parents speaks of smoking any more
    for (smoke, tub), probability in joint.items():
        product = answer.posterior["smoke"][smoke] * answer.posterior["tub"][tub]
        assert probability == pytest.approx(product)
    (best,) = record["explanations"]
    assert best["probability"] == pytest.approx(max(joint.values()))
    assert "expected NAME=VALUE" in fails("query", "asia", "--do", "bronc")
