"""Simulated missingness: rates against the tables, and the graphs of the generators."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn import simulate_missingness
from exactlearn.data.dataset import Dataset
from exactlearn.data.missingness import draw_tables, hide_by_graph, simulate_graph
from exactlearn.data.missingness_graph import MissingnessGraph
from exactlearn.errors import ArgumentError, DataError, OptionError

NAMES = ("a", "b", "c", "d")


def table(rows=20_000, variables=4, states=3, seed=0):
    codes = np.random.default_rng(seed).integers(0, states, (rows, variables))
    return Dataset(
        codes,
        tuple("abcdefghijklmnopqrstuvwxyz"[:variables]),
        (tuple(f"s{k}" for k in range(states)),) * variables,
    )


def rates_by_rows(full, found):
    """Count in Python how often each variable is missing in each configuration of its causes."""
    hidden, all_ = Counter(), Counter()
    for values, codes in zip(full.codes.tolist(), found.dataset.codes.tolist(), strict=True):
        value = dict(zip(full.names, values, strict=True))
        missing = {name: code == -1 for name, code in zip(full.names, codes, strict=True)}
        for name, causes in found.graph.causes.items():
            others = found.graph.indicator_causes.get(name, ())
            key = name, (*(value[u] for u in causes), *(int(missing[u]) for u in others))
            all_[key] += 1
            hidden[key] += missing[name]
    return {key: (hidden[key] / count, count) for key, count in all_.items()}


@pytest.mark.parametrize(
    "text",
    [
        "a <-",
        "a <- b",
        "a <- a",
        "a <- b, a; b <- a; c <- missing(a), missing(b)",
        "c <- missing(b); b <- missing(a), d; a <- c, d",
    ],
)
def test_rates_are_those_of_the_tables(text):
    full, graph = table(), MissingnessGraph.parse(text)
    found = simulate_graph(full, graph, np.random.default_rng(3))
    assert found.graph is graph
    kept = found.dataset.codes != -1
    assert (found.dataset.codes[kept] == full.codes[kept]).all()
    assert kept[:, [name not in graph.causes for name in NAMES]].all()
    for (name, configuration), (rate, count) in rates_by_rows(full, found).items():
        expected = found.tables[name][configuration]
        assert abs(rate - expected) < 4.5 * np.sqrt(expected * (1 - expected) / count) + 1e-9


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    share=st.floats(0, 0.7).map(lambda x: round(x, 2)),
    n_causes=st.integers(0, 2),
)
def test_mar_takes_its_causes_from_observed_variables_neighbours_first(seed, share, n_causes):
    rng = np.random.default_rng(seed)
    full = table(rows=5, variables=8)
    parents = [tuple(u for u in range(v) if rng.random() < 0.3) for v in range(8)]
    found = simulate_missingness(full, f"random-mar:{share}:{n_causes}:1:0.5", rng, parents)
    graph = found.graph
    assert len(graph.causes) == round(8 * share)
    assert graph.kind == ("MAR" if graph.causes and n_causes else "MCAR")
    observed = set(full.names) - graph.causes.keys()
    adjacent = {(full.names[u], full.names[v]) for v in range(8) for u in parents[v]}
    for name, causes in graph.causes.items():
        assert len(causes) == n_causes
        near = {u for u in observed if (u, name) in adjacent or (name, u) in adjacent}
        assert len(near & {*causes}) == min(n_causes, len(near))
        assert found.tables[name].shape == (3,) * n_causes


def test_beta_is_the_distribution_of_missing_cells():
    full = table(rows=10, variables=26)
    graph = MissingnessGraph(dict.fromkeys(full.names, ("a", "b", "c")))
    drawn = draw_tables(full, graph, np.random.default_rng(0), beta=(1.0, 0.5))
    values = np.concatenate([table.ravel() for table in drawn.values()])
    assert values.mean() == pytest.approx(2 / 3, abs=0.04)
    assert values.var() == pytest.approx(4 / 45, abs=0.02)


def test_no_column_loses_all_its_cells_and_seeds_repeat():
    full, graph = table(rows=7), MissingnessGraph.parse("a <-; b <- missing(a)")
    tables = {"a": np.array(1.0), "b": np.array([1.0, 1.0])}
    first = hide_by_graph(full, graph, tables, np.random.default_rng(5)).codes
    assert (first == -1).sum(axis=0).tolist() == [6, 6, 0, 0]
    assert (hide_by_graph(full, graph, tables, np.random.default_rng(5)).codes == first).all()


def test_cells_missing_before_stay_so_and_count_as_missing():
    full = table(rows=1000)
    codes = full.codes.copy()
    codes[:500, 0] = -1
    before = Dataset(codes, full.names, full.states)
    graph = MissingnessGraph.parse("a <-; b <- missing(a)")
    tables = {"a": np.array(0.0), "b": np.array([0.0, 0.9])}
    after = hide_by_graph(before, graph, tables, np.random.default_rng(0)).codes
    assert (after[:, 0] == codes[:, 0]).all()
    assert (after[:500, 1] == -1).mean() > 0.8
    assert (after[500:, 1] != -1).all()


def test_a_graph_without_its_tables_is_refused():
    with pytest.raises(OptionError, match="no table of its mechanism"):
        hide_by_graph(table(9), MissingnessGraph.parse("a <-"), {}, np.random.default_rng(0))


def test_causes_must_have_their_values():
    full = table(rows=10)
    codes = full.codes.copy()
    codes[3, 1] = -1
    with pytest.raises(DataError, match=r"column 'b', row 4 \(index 3\)"):
        simulate_graph(
            Dataset(codes, full.names, full.states),
            MissingnessGraph.parse("a <- b"),
            np.random.default_rng(0),
        )


def test_a_text_is_a_graph_also_where_decision_graphs_are_known():
    import exactlearn.pdg.model.decision_graph  # noqa: F401, its parameters have the same name

    found = simulate_graph(table(rows=9), "a <- b", np.random.default_rng(0))
    assert found.graph == MissingnessGraph.parse("a <- b")
    with pytest.raises(ArgumentError, match="'graph': expected a MissingnessGraph"):
        simulate_graph(table(rows=9), {"a": ["b"]}, np.random.default_rng(0))
