"""Simulated missingness: rates against the tables, and the graphs of the generators."""

from collections import Counter

import numpy as np
import pytest

from exactlearn import simulate_missingness
from exactlearn.data.dataset import Dataset
from exactlearn.data.missingness import hide_by_graph
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
    for values, codes in zip(
        full.codes.tolist(), found.dataset.codes.tolist(), strict=True
    ):
        value = dict(zip(full.names, values, strict=True))
        missing = {
            name: code == -1 for name, code in zip(full.names, codes, strict=True)
        }
        for name, causes in found.graph.causes.items():
            others = found.graph.indicator_causes.get(name, ())
            key = (
                name,
                (*(value[u] for u in causes), *(int(missing[u]) for u in others)),
            )
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
    found = simulate_missingness(full, graph, np.random.default_rng(3))
    assert found.graph is graph
    kept = found.dataset.codes != -1
    assert (found.dataset.codes[kept] == full.codes[kept]).all()
    assert kept[:, [name not in graph.causes for name in NAMES]].all()
    for (name, configuration), (rate, count) in rates_by_rows(full, found).items():
        expected = found.tables[name][configuration]
        assert (
            abs(rate - expected)
            < 4.5 * np.sqrt(expected * (1 - expected) / count) + 1e-9
        )


def test_no_column_loses_all_its_cells_and_seeds_repeat():
    full, graph = table(rows=7), MissingnessGraph.parse("a <-; b <- missing(a)")
    tables = {"a": np.array(1.0), "b": np.array([1.0, 1.0])}
    first = hide_by_graph(full, graph, tables, np.random.default_rng(5)).codes
    assert (first == -1).sum(axis=0).tolist() == [6, 6, 0, 0]
    assert (
        hide_by_graph(full, graph, tables, np.random.default_rng(5)).codes == first
    ).all()


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
    with pytest.raises(
        OptionError,
        match=r"'a': expected a table of probabilities of shape \(\), .* None",
    ):
        hide_by_graph(
            table(9), MissingnessGraph.parse("a <-"), {}, np.random.default_rng(0)
        )


def test_what_does_not_fit_a_graph_is_refused():
    full, rng = table(rows=9), np.random.default_rng(0)
    with pytest.raises(OptionError, match=r"shape \(3,\)"):
        simulate_missingness(full, "a <- a", rng, {"a": [0.5]})
    with pytest.raises(OptionError, match=r"probabilities of shape \(3,\), .*2, 0\]"):
        simulate_missingness(full, "a <- a", rng, {"a": [0.5, 2, 0]})
    with pytest.raises(OptionError, match="'x' is no variable"):
        simulate_missingness(full, "x <-", rng)
    with pytest.raises(OptionError, match="has its own probabilities"):
        simulate_missingness(full, "mcar:0.5", rng, {"a": 0.5})


def test_causes_must_have_their_values():
    full = table(rows=10)
    codes = full.codes.copy()
    codes[3, 1] = -1
    with pytest.raises(DataError, match=r"column 'b', row 4 \(index 3\)"):
        simulate_missingness(
            Dataset(codes, full.names, full.states),
            MissingnessGraph.parse("a <- b"),
            np.random.default_rng(0),
        )


def test_a_text_is_a_graph_also_where_decision_graphs_are_known():
    import exactlearn.pdg.model.decision_graph  # noqa: F401, its parameters have the same name

    found = simulate_missingness(table(rows=9), "a <- b", np.random.default_rng(0))
    assert found.graph == MissingnessGraph.parse("a <- b")
    with pytest.raises(
        ArgumentError, match="'spec': expected a specification or a graph"
    ):
        simulate_missingness(table(rows=9), {"a": ["b"]}, np.random.default_rng(0))
