"""Simulated missingness: rates against the tables, and the graphs of the generators."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn.data.dataset import Dataset
from exactlearn.data.missingness_graph import MissingnessGraph
from exactlearn.data.missingness_simulation import (
    draw_tables,
    hide_by_graph,
    simulate_graph,
    simulate_mar,
    simulate_mcar,
    simulate_self_masking,
)
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
    found = simulate_graph(full, graph, np.random.default_rng(3), beta=(2.0, 3.0))
    assert found.graph is graph
    kept = found.dataset.codes != -1
    assert (found.dataset.codes[kept] == full.codes[kept]).all()
    assert kept[:, [name not in graph.causes for name in NAMES]].all()
    for (name, configuration), (rate, count) in rates_by_rows(full, found).items():
        expected = found.tables[name][configuration]
        assert abs(rate - expected) < 4.5 * np.sqrt(expected * (1 - expected) / count) + 1e-9


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), share=st.floats(0, 0.7), n_causes=st.integers(0, 2))
def test_mar_takes_its_causes_from_observed_variables_neighbours_first(seed, share, n_causes):
    rng = np.random.default_rng(seed)
    full = table(rows=5, variables=8)
    parents = [tuple(u for u in range(v) if rng.random() < 0.3) for v in range(8)]
    found = simulate_mar(full, parents, rng, share=share, n_causes=n_causes)
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


def test_mar_among_named_variables_depends_on_these_alone():
    full = table(rows=100, variables=20)
    parents = [()] * 20
    found = simulate_mar(
        full, parents, np.random.default_rng(0), share=0.8, n_causes=2, among=("c", "k", "t")
    )
    assert len(found.graph.causes) == 16
    assert {u for causes in found.graph.causes.values() for u in causes} == {"c", "k", "t"}


def test_beta_is_the_distribution_of_missing_cells():
    full = table(rows=10, variables=26)
    graph = MissingnessGraph(dict.fromkeys(full.names, ("a", "b", "c")))
    drawn = draw_tables(full, graph, np.random.default_rng(0), beta=(1.0, 0.5))
    values = np.concatenate([table.ravel() for table in drawn.values()])
    assert values.mean() == pytest.approx(2 / 3, abs=0.04)
    assert values.var() == pytest.approx(4 / 45, abs=0.02)


def test_mcar_hides_its_share_of_some_variables():
    full = table(variables=20)
    found = simulate_mcar(full, np.random.default_rng(1))
    rates = (found.dataset.codes == -1).mean(axis=0)
    assert found.graph.kind == "MCAR"
    assert {full.names[v] for v in np.flatnonzero(rates)} == {*found.graph.variables}
    assert len(found.graph.variables) == 6
    assert rates[rates > 0] == pytest.approx([0.7] * 6, abs=0.015)


def test_self_masking_hides_each_value_at_its_rate():
    full = table()
    rates = {"b": (0.0, 1 / 3, 0.5)}
    found = simulate_self_masking(full, rates, np.random.default_rng(2))
    assert str(found.graph) == "b <- b"
    missing = found.dataset.codes[:, 1] == -1
    assert [missing[full.codes[:, 1] == s].mean() for s in range(3)] == pytest.approx(
        rates["b"], abs=0.02
    )


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


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (lambda d, g: simulate_mcar(d, g, share=1.5), "share of partially observed variables"),
        (lambda d, g: simulate_mcar(d, g, probability=-1), "probability of a missing cell"),
        (lambda d, g: simulate_mar(d, [()] * 4, g, share=0.9), "2 causes of each mechanism: only"),
        (lambda d, g: simulate_mar(d, [()] * 4, g, among=["x"]), "cause 'x' is no variable"),
        (
            lambda d, g: simulate_mar(d, [()] * 4, g, share=0.9, among=["a"]),
            "4 of 4 variables cannot be partially observed",
        ),
        (lambda d, g: simulate_mar(d, [()] * 4, g, beta=(0, 1)), "shape parameters above 0"),
        (lambda d, g: simulate_self_masking(d, {"a": [0.1]}, g), r"shape \(3,\).*found \(1,\)"),
        (lambda d, g: simulate_self_masking(d, {"a": [0.1, 2, 0]}, g), "no probability"),
        (lambda d, g: simulate_self_masking(d, {"x": [0.1]}, g), "'x' is no variable"),
        (
            lambda d, g: hide_by_graph(d, MissingnessGraph.parse("a <-"), {}, g),
            "no table of its mechanism",
        ),
    ],
)
def test_wrong_settings_are_refused(run, message):
    with pytest.raises(OptionError, match=message):
        run(table(rows=10), np.random.default_rng(0))


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
