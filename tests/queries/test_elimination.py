from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn.bayesnet.row_completion import eliminated
from exactlearn.formats.bif import read_bif
from exactlearn.pdg.compile.compile import compile_network
from exactlearn.pdg.inference.flows import posteriors_and_log_likelihoods
from exactlearn.queries import row_marginals as queries
from exactlearn.queries.posteriors import query
from tests.network_oracle import random_network
from tests.pdg_oracle import coarse_network


@given(
    st.integers(0, 10_000),
    st.integers(1, 6),
    st.sampled_from([random_network, coarse_network]),
)
@settings(max_examples=25)
def test_elimination_agrees_with_the_decision_graph(seed, n, make):
    rng = np.random.default_rng(seed)
    network = make(rng, n)
    codes = rng.integers(-1, network.cardinalities, (4, n)).astype(np.int16)
    graph = compile_network(network, steps=0)
    expected, logs = posteriors_and_log_likelihoods(graph, codes)
    found, found_logs = eliminated(network, codes)
    np.testing.assert_allclose(found_logs, logs, rtol=1e-9, atol=1e-12)
    possible = np.isfinite(logs)
    np.testing.assert_allclose(
        found[possible], expected[possible], rtol=1e-9, atol=1e-14
    )
    assert (found[~possible] == 0).all()


def test_all_ways_of_asking_a_network_agree(data_dir, monkeypatch):
    network = read_bif(data_dir / "bif" / "alarm.bif.gz")
    evidence = {"HRBP": "LOW", "CO": "HIGH"}
    answers = [query(network, evidence)]
    monkeypatch.setattr(queries, "QUICK_CELLS", 0)
    answers.append(query(network, evidence))
    monkeypatch.setattr(
        queries, "compiled_once", lambda n: compile_network(n, max_size=1)
    )
    answers.append(query(replace(network), evidence))
    for other in answers[1:]:
        np.testing.assert_allclose(
            other.log_probability_of_evidence,
            answers[0].log_probability_of_evidence,
            rtol=1e-12,
        )
        for name, posterior in answers[0].posterior.items():
            for state, p in posterior.items():
                np.testing.assert_allclose(other.posterior[name][state], p, rtol=1e-10)


@given(st.integers(0, 10_000), st.integers(2, 6))
@settings(max_examples=20)
def test_what_a_large_network_is_not_asked_about_is_left_out(seed, n):
    rng = np.random.default_rng(seed)
    network = random_network(rng, n)
    order = [network.names[v] for v in rng.permutation(n).tolist()]
    told = {
        order[0]: network.states[network.index(order[0])][0],
        order[1]: network.states[network.index(order[1])][-1],
    }
    evidence = dict(list(told.items())[: int(rng.integers(3))])
    targets = order[-1:]
    expected = query(network, evidence, targets)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(queries, "QUICK_CELLS", -1)
        patch.setattr(
            queries, "compiled_once", lambda part: compile_network(part, steps=0)
        )
        found = query(replace(network), evidence, targets)
    assert found.log_probability_of_evidence == pytest.approx(
        expected.log_probability_of_evidence, rel=1e-12, abs=1e-12
    )
    assert found.posterior[targets[0]] == pytest.approx(
        expected.posterior[targets[0]], rel=1e-10
    )
