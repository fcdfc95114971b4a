from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn._runtime.control import SearchControl
from exactlearn.data.counts import rate_of
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError, OptionError, TooLargeError
from exactlearn.formats.bif import read_bif
from exactlearn.pdg.compile import approximation
from exactlearn.pdg.compile.approximation import MergeSequence
from exactlearn.pdg.compile.compile import compile_network
from exactlearn.pdg.inference.flows import expected_counts, log_likelihood_rows
from exactlearn.pdg.learn.hybrid import collapse_unreached, data_merges
from tests.network_oracle import random_network
from tests.pdg_oracle import graph_joint, random_graph


def divergence(p, q):
    some = p > 0
    return float((p[some] * np.log(p[some] / q[some])).sum())


@given(st.integers(0, 10_000), st.integers(1, 5), st.booleans())
@settings(max_examples=40)
def test_every_merge_has_the_divergence_it_says(seed, n, compiled):
    rng = np.random.default_rng(seed)
    graph = (
        compile_network(random_network(rng, n), steps=0)
        if compiled
        else random_graph(rng, n)
    )
    exact = graph_joint(graph)
    merges = MergeSequence(graph)
    while merges.next_loss()[0] < np.inf:
        before = merges.merged()
        merges.merge()
        merged = merges.merged()
        merged.check()
        assert merged.effective_size < before.effective_size
        assert merged.n_nodes == before.n_nodes - 1
        found = divergence(exact, graph_joint(merged))
        assert found == pytest.approx(merges.loss, rel=1e-9, abs=1e-12)
    if compiled:
        merged = merges.merged()
        for variable in range(n):
            rows = merged.successors_of(variable).reshape(
                merged.node_counts[variable], -1
            )
            assert len(np.unique(rows, axis=0)) == len(rows)


@given(st.integers(0, 10_000), st.integers(1, 5))
@settings(max_examples=25)
def test_the_cheapest_pair_per_cell_is_merged(seed, n):
    graph = random_graph(np.random.default_rng(seed), n, zeros=0)
    merges = MergeSequence(graph)
    found = merges.next_loss()[1]
    masses = expected_counts(graph, np.full((1, n), -1, np.int16))
    rates = [np.inf]
    for variable in range(n):
        m = graph.with_parameters(masses).parameters_of(variable)
        successors = graph.successors_of(variable)
        for a in range(len(m)):
            for b in range(a):
                if (successors[a] == successors[b]).all():
                    mean = (m[a] + m[b]) / (m[a] + m[b]).sum()
                    loss = sum(
                        (x * np.log(x / x.sum() / mean)).sum() for x in (m[a], m[b])
                    )
                    saved = m.shape[1] * max(1, len(graph.children[variable]))
                    rates.append(loss / saved)
    assert found == pytest.approx(min(rates), rel=1e-9, abs=1e-14)


def test_a_budget_stops_the_sequence(data_dir):
    graph = compile_network(read_bif(data_dir / "bif" / "alarm.bif.gz"), steps=500)
    merges = MergeSequence(graph)
    merges.merge_until(loss=0.01)
    assert merges.loss <= 0.01 < merges.loss + merges.next_loss()[0]
    small = merges.merged()
    small.check()
    assert small.effective_size < graph.effective_size


def weighted(network, rng, rows):
    codes = network.sample(rows, rng).codes
    weights = rng.integers(1, 4, rows).astype(float)
    return Dataset(codes, network.names, network.states, weights=weights)


@given(st.integers(0, 10_000), st.integers(1, 5))
@settings(max_examples=25)
def test_merging_by_records_loses_the_likelihood_it_says(seed, n):
    rng = np.random.default_rng(seed)
    network = random_network(rng, n)
    graph = compile_network(network, steps=0)
    data = weighted(network, rng, 20)
    fitted = data_merges(graph, data).merged()

    def per_record(model):
        logs = log_likelihood_rows(model, data.codes)
        return float(logs @ data.weights / data.weights.sum())

    merges, models = data_merges(graph, data), []
    for size_weight in (0.0, 0.02, 0.2, 0.7, 1.0):
        merges.merge_until(rate=rate_of(size_weight) / data.weights.sum())
        models.append((merges.merged(), merges.loss))
    assert fitted.effective_size == collapse_unreached(graph, data).effective_size
    sizes = [m.effective_size for m, _ in models]
    assert sizes == sorted(sizes, reverse=True)
    scores = []
    for model, loss in models:
        model.check()
        found = per_record(model)
        assert found == pytest.approx(per_record(fitted) - loss, rel=1e-9, abs=1e-9)
        scores.append(
            (1 - 0.2) * found * data.weights.sum() - 0.2 * model.effective_size
        )
    assert scores[2] >= scores[1] - 1e-9 >= scores[0] - 2e-9


def test_what_cannot_be_merged_is_refused(monkeypatch):
    rng = np.random.default_rng(1)
    network = random_network(rng, 4)
    graph = compile_network(network, steps=0)
    data = network.sample(5, rng)
    with pytest.raises(OptionError, match="from 0 to 1"):
        rate_of(1.5)
    with pytest.raises(DataError, match="no rows"):
        data_merges(graph, replace(data, codes=data.codes[:0]))
    monkeypatch.setattr(approximation, "MAX_PAIRS", 1)
    with pytest.raises(TooLargeError, match="pairs of nodes"):
        MergeSequence(graph)


def test_no_merge_is_made_once_the_search_is_over():
    graph = random_graph(np.random.default_rng(1), 5)
    sequence, over = MergeSequence(graph), SearchControl()
    over.stop()
    sequence.merge_until(control=over)
    assert np.array_equal(sequence.merged().parameters, graph.parameters)
