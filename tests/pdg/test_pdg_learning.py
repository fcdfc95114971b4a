from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn.data.counts import bic_size_weight
from exactlearn.data.dataset import Dataset
from exactlearn.errors import CheckError, DataError, OptionError
from exactlearn.pdg.compile.approximation import MergeSequence, information
from exactlearn.pdg.learn.edge_counts import SIZES, StructureScore, structure_of
from exactlearn.pdg.learn.forest_growth import reached_nodes
from exactlearn.pdg.learn.redirections import (
    Reference,
    choose_heads,
    populate,
    redirect_edges,
)
from exactlearn.pdg.learn.structure_search import (
    complete_rows,
    expanded_structure,
    learn_on_forest,
    split_and_merge,
)
from exactlearn.pdg.model.decision_graph import assemble
from exactlearn.pdg.model.forest import forest_children
from tests.logic_models import chain, drawn, logic1, logic3, parity
from tests.pdg_oracle import random_graph, reached
from tests.structure_oracle import all_structures, counts_by_rows, score_by_rows

SCORES = st.builds(
    StructureScore, st.sampled_from((0.0, 0.3, 0.7, 0.9)), st.sampled_from(SIZES)
)


def random_rows(rng, graph, n):
    codes = (rng.random((n, graph.n_variables)) ** 2 * graph.cardinalities).astype(int)
    return complete_rows(Dataset(codes, graph.names, graph.states, rng.random(n) + 0.1))


def populated(seed, n=5, rows=30):
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, n)
    table = random_rows(rng, graph, rows)
    reference = Reference.of_rows(table, graph.forest)
    return table, populate(reference, structure_of(graph)), graph


@given(st.integers(0, 10_000), SCORES)
@settings(max_examples=40)
def test_a_population_counts_what_rows_reach(seed, score):
    rows, population, graph = populated(seed)
    codes = rows.codes
    population.graph.check()
    counts = counts_by_rows(population.graph, codes, rows.weights)
    assert np.allclose(
        population.graph.parameters, population.graph.with_counts(counts).parameters
    )
    assert (np.add.reduceat(counts, population.graph.parameter_offsets[:-1]) > 0).all()
    value = score.of(population.graph, population.log_likelihood)
    assert value == pytest.approx(
        score_by_rows(population.graph, codes, rows.weights, score)
    )
    full = score_by_rows(graph, codes, rows.weights, StructureScore(0.0))
    assert population.log_likelihood == pytest.approx(full)
    nodes_of_rows = reached_nodes(population.graph, codes)
    for i, row in enumerate(codes[:5].tolist()):
        for v, node in reached(population.graph, row).items():
            place = node - population.graph.first_nodes[v]
            assert nodes_of_rows[v][i] == place


@given(st.integers(0, 10_000), SCORES)
@settings(max_examples=40)
def test_no_step_lets_the_score_fall(seed, score):
    rows, population, _ = populated(seed)
    reference = Reference.of_rows(rows, population.graph.forest)

    def value(p):
        return score.of(p.graph, p.log_likelihood)

    changed = split_and_merge(population, reference, rows, score)
    redirected = redirect_edges(changed, reference, score)
    values = [value(p) for p in (population, changed, redirected)]
    assert (np.diff(values) >= -1e-9).all()
    for p in (changed, redirected):
        p.graph.check()


@given(st.integers(0, 10_000), st.floats(0, 2))
@settings(max_examples=60)
def test_nodes_of_one_label_stay_apart_only_where_that_pays(seed, rate):
    """Over a root with a state for each node of its only child."""
    rng = np.random.default_rng(seed)
    n, r = int(rng.integers(1, 8)), int(rng.integers(2, 4))
    table = rng.gamma(3, 1, (n, r)) * rng.integers(1, 9, (n, 1))
    names, states = ("a", "b"), (tuple(map(str, range(n))), tuple(map(str, range(r))))
    parameters = [np.full((1, n), 1 / n), table / table.sum(axis=1, keepdims=True)]
    heads = [np.arange(n).reshape(1, n, 1), np.empty((n, r, 0))]
    graph = assemble(names, states, np.array([-1, 0]), parameters, heads)
    masses = np.concatenate([table.sum(axis=1), table.ravel()])
    labels = rng.integers(0, 3, n)
    merges = MergeSequence(graph, masses, labels=np.append(0, labels))
    merges.merge_until(rate=rate)
    merges.join_labels(rate)
    merged = merges.merged()
    group = merged.successors_of(0)[0, :, 0]
    assert all(len(set(labels[group == k])) == 1 for k in set(group))
    lost = information(table).sum()
    for label in set(labels):
        sums = [table[group == k].sum(axis=0) for k in set(group[labels == label])]
        lost -= information(np.array(sums)).sum()
        apart = information(np.array(sums)).sum() - information(sum(sums))
        assert len(sums) == 1 or apart > rate * r * (len(sums) - 1)
    assert merges.loss == pytest.approx(lost)


def test_a_node_that_gains_less_than_it_costs_is_removed():
    flows = np.array([[0.0, -1.0, -9.0], [-2.0, 0.0, -9.0], [-9.0, -8.0, 0.0]])
    heads = np.array([0, 1, 2], np.int32)
    assert choose_heads(flows, heads, 0.5).tolist() == [0, 1, 2]
    assert choose_heads(flows, heads, 1.5).tolist() == [1, 1, 2]
    assert choose_heads(flows, heads, 8.5).tolist() == [1, 1, 1]
    assert choose_heads(flows, np.array([2, 2, 0], np.int32), 0.0).tolist() == [0, 1, 2]


@pytest.mark.parametrize("forest", [[-1, 0, 1], [-1, 0, 0], [1, -1, -1]])
def test_against_all_structures(forest):
    """Over three bits the search ends at the best of all structures."""
    names, states = ("a", "b", "c"), (("0", "1"),) * 3
    forest = np.array(forest, np.int32)
    structures = list(all_structures(names, states, forest))
    for seed in range(6):
        rng = np.random.default_rng(seed)
        joint = rng.dirichlet(np.full(8, 0.3))
        codes = np.array(np.unravel_index(rng.choice(8, 60, p=joint), (2, 2, 2))).T
        rows = complete_rows(Dataset(codes, names, states))
        score = StructureScore(bic_size_weight(60))
        best = max(
            score_by_rows(g, rows.codes, rows.weights, score) for g in structures
        )
        found = learn_on_forest(Dataset(codes, names, states), forest)
        assert found.score == pytest.approx(best)


TRUE_FOREST = [-1, 0, 1, 1, 3, 4, 2, 5, 7, 7]
"""Logic1: A above B, below it C with G and D with E, F, H, below which I and J."""


@pytest.mark.parametrize(
    ("rows", "forest", "size", "bits"),
    [
        (logic1(), TRUE_FOREST, 46, 4),
        (parity(), chain(5), 18, 4),
        (parity(10), chain(10), 38, 9),
        (logic3(), chain(8), 40, 7),
    ],
    ids=["Logic1", "Logic2", "parity of ten", "Logic3"],
)
def test_logical_relations_are_recovered(rows, forest, size, bits):
    """THESIS, Table 4.3: the true models over the true forests."""
    data = drawn(rows, 10_000, np.random.default_rng(1))
    found = learn_on_forest(data, forest)
    found.check(data)
    for change in (
        {"score": found.score + 1},
        {"log_likelihood": found.log_likelihood - 9999},
    ):
        with pytest.raises(CheckError, match="recomputation"):
            replace(found, **change).check(data)
    assert found.graph.effective_size == size
    assert found.log_likelihood / np.log(2) / 10_000 == pytest.approx(-bits, abs=0.01)


def test_support_bounds_the_expanded_start():
    rows = complete_rows(drawn(parity(6), 500, np.random.default_rng(0)))
    reference = Reference.of_rows(rows, chain(6))
    full = populate(reference, expanded_structure(rows, chain(6), 1, 100))
    assert full.graph.node_counts.tolist() == [1, 2, 4, 8, 16, 32]
    few = populate(reference, expanded_structure(rows, chain(6), 1, 5))
    assert few.graph.node_counts.tolist() == [1, 2, 4, 5, 5, 5]
    for support in (501, np.inf):
        one = populate(reference, expanded_structure(rows, chain(6), support, 100))
        assert one.graph.n_nodes == 6
    assert forest_children(chain(6)) == one.graph.children


def test_bic_in_both_forms():
    """PDG-SEM's footnote is per record: the trade-off of one cell is log N / 2 either way."""
    score = StructureScore(bic_size_weight(1000))
    assert score.rate == pytest.approx(np.log(1000) / 2)
    per_record = 1 / (2 * 1000 / np.log(1000) + 1)
    assert per_record / (1 - per_record) * 1000 == pytest.approx(score.rate)


def test_mistakes_are_reported():
    data = drawn(parity(3), 20, np.random.default_rng(0))
    holes = Dataset(np.array([[0, -1, 1]]), data.names, data.states)
    with pytest.raises(DataError, match="complete"):
        learn_on_forest(holes, chain(3))
    with pytest.raises(DataError, match="shape"):
        learn_on_forest(data, chain(4))
    with pytest.raises(CheckError, match="cycle"):
        learn_on_forest(data, [1, 0, -1])
    with pytest.raises(OptionError, match="size_weight"):
        learn_on_forest(data, chain(3), size_weight=1.5)
