"""Arc strengths against what is counted by hand, and the threshold against its definition."""

import os
import subprocess
import sys
from fractions import Fraction
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import exactlearn as el
from exactlearn.data.blocks import merge_rows
from exactlearn.errors import ExactlearnError, OptionError
from exactlearn.evaluation.bootstrap import ArcStrengths, bootstrap
from exactlearn.evaluation.cross_validation import learn_exact
from exactlearn.graphs.dag import topological_order
from exactlearn.graphs.equivalence import cpdag
from exactlearn.graphs.partially_directed import PartiallyDirectedGraph, skeleton
from exactlearn.instances import locate
from exactlearn.solvers.constraints import ForbiddenAdjacency
from tests.graph_oracle import Parents, arcs_of, dags, every_dag


def of_pairs(strengths: list[float]) -> ArcStrengths:
    """Return strengths of the edges of so many variables that there are enough pairs."""
    n = next(n for n in range(2, 9) if n * (n - 1) // 2 == len(strengths))
    compelled = np.zeros((n, n))
    compelled[np.triu_indices(n, 1)] = strengths
    return ArcStrengths(tuple("abcdefgh"[:n]), compelled, np.zeros((n, n)), 100, 100)


def significant_by_definition(strengths: list[float]) -> set[int]:
    """Minimise the integral of |F(x) - t| over t, equally good values to the larger one."""
    values = [Fraction(x) for x in strengths]
    ends = sorted({Fraction(0), *values, Fraction(1)})

    def distribution(x: Fraction) -> Fraction:
        return Fraction(sum(value <= x for value in values), len(values))

    def distance(t: Fraction) -> Fraction:
        return sum((b - a) * abs(distribution(a) - t) for a, b in pairwise(ends))

    # the distance is linear between two values of F, so one of them is a minimum
    t = min((distribution(x) for x in ends), key=lambda t: (distance(t), -t))
    quantile = min((x for x in ends if distribution(x) >= t), default=Fraction(0))
    return {k for k, value in enumerate(values) if value > quantile}


@given(
    st.sampled_from([1, 3, 6, 10]).flatmap(
        lambda n: st.lists(
            st.integers(0, 20).map(lambda k: k / 20), min_size=n, max_size=n
        )
    )
)
def test_significant_edges_are_those_of_the_definition(strengths: list[float]) -> None:
    found = of_pairs(strengths)
    chosen = significant_by_definition(strengths)
    assert {k for k, x in enumerate(strengths) if x > found.threshold} == chosen
    assert chosen == {k for k, x in enumerate(strengths) if x > 0.5}


def test_threshold_of_the_paper_s_example() -> None:
    example = [0.2242, 0.0460, 0.8935, 0.3921, 0.7689, 0.9439]
    assert of_pairs(example).threshold == 0.3921


@given(st.lists(dags(4, 4), min_size=1, max_size=6))
def test_strengths_are_the_mean_over_the_classes_members(
    networks: list[Parents],
) -> None:
    found = ArcStrengths.of("abcd", [cpdag(dag) for dag in networks])
    edges = [skeleton(dag) for dag in networks]
    for a in range(4):
        for b in range(4):
            if a == b:
                continue
            shares = []
            for dag in networks:
                members = [arcs_of(member) for member in cpdag(dag).members()]
                some = any((a, b) in arcs for arcs in members)
                every = all((a, b) in arcs for arcs in members)
                shares.append((some + every) / 2)
            assert found.strength(a, b) == pytest.approx(np.mean(shares))
            edge = np.mean([(min(a, b), max(a, b)) in own for own in edges])
            assert found.edge_strength("abcd"[a], b) == pytest.approx(edge)


@given(st.lists(dags(6, 6), min_size=1), st.floats(0, 0.99))
def test_the_averaged_network_has_the_edges_above_the_threshold(
    networks, threshold
) -> None:
    found = ArcStrengths.of("abcdef", [cpdag(dag) for dag in networks])
    averaged = found.averaged(threshold).parents
    topological_order(averaged)
    above = {
        (a, b) for a, b in np.argwhere(np.triu(found.edges > threshold, 1)).tolist()
    }
    assert skeleton(averaged) <= above
    assert all(found.strengths[arc] > 0 for arc in arcs_of(averaged))
    for a, b in above - skeleton(
        averaged
    ):  # every direction that a sample has closes a cycle
        for tail, head in ((a, b), (b, a)):
            assert found.strengths[tail, head] == 0 or tail in descendants(
                averaged, head
            )


def descendants(parents: Parents, of: int) -> set[int]:
    found = {of}
    for v in topological_order(parents):
        if found & set(parents[v]):
            found.add(v)
    return found


def test_a_direction_that_no_sample_has_is_not_taken() -> None:
    classes = [
        *[PartiallyDirectedGraph(3, [(0, 1), (1, 2)], [])] * 2,
        *[PartiallyDirectedGraph(3, [(0, 1), (2, 0)], [])] * 3,
        *[PartiallyDirectedGraph(3, [(1, 2), (2, 0)], [])] * 4,
    ]
    found = ArcStrengths.of("abc", classes)
    assert found.averaged(0.5).arcs == (("b", "c"), ("c", "a"))


def test_consensus_adds_arcs_by_strength_and_avoids_cycles() -> None:
    """An arc that would close a cycle is turned."""
    compelled = np.zeros((3, 3))
    compelled[0, 1], compelled[1, 2], compelled[2, 0], compelled[0, 2] = (
        0.9,
        0.8,
        0.6,
        0.1,
    )
    found = ArcStrengths(("a", "b", "c"), compelled, np.zeros((3, 3)), 10, 10)
    averaged = found.averaged(0.5)
    assert averaged.arcs == (("a", "b"), ("a", "c"), ("b", "c"))
    assert set(averaged.to_networkx().edges) == set(averaged.arcs)


@pytest.fixture(scope="module")
def table() -> el.Dataset:
    rng = np.random.default_rng(5)
    a = rng.integers(0, 2, 60)
    flip = rng.random((2, 60)) < 0.2
    codes = np.column_stack([a, a ^ flip[0], a ^ flip[1]])
    return el.Dataset(codes, ("a", "b", "c"), (("0", "1"),) * 3)


def best_by_enumeration(dataset: el.Dataset) -> Parents:
    """Score every network on the rows, each row as often as it was drawn."""
    codes = np.repeat(dataset.codes, dataset.row_weights.astype(int), axis=0)
    rows = el.Dataset(codes, dataset.names, dataset.states)

    def score(dag: Parents) -> float:
        return sum(
            el.score_family(rows, v, own, el.BDeu(1.0)) for v, own in enumerate(dag)
        )

    return max(every_dag(3), key=score)


def test_the_default_counts_the_classes_that_enumeration_finds(
    table: el.Dataset,
) -> None:
    found, expected = (
        bootstrap(table, 12),
        bootstrap(table, 12, learner=best_by_enumeration),
    )
    np.testing.assert_array_equal(found.compelled, expected.compelled)
    np.testing.assert_array_equal(found.reversible, expected.reversible)
    assert found.edges.any()
    assert not bootstrap(table, 3, learner="independent").edges.any()


def test_samples_keep_the_row_count_and_draw_duplicates_singly(
    table: el.Dataset,
) -> None:
    rng = np.random.default_rng(1)
    merged = merge_rows([table])
    drawn = [merged.resampled(rng) for _ in range(400)]
    assert {float(one.row_weights.sum()) for one in drawn} == {60.0}
    counts = [
        one.row_weights[(one.codes == merged.codes[0]).all(axis=1)].sum()
        for one in drawn
    ]
    share = merged.row_weights[0] / 60
    assert np.mean(counts) == pytest.approx(60 * share, rel=0.06)
    assert np.var(counts) == pytest.approx(60 * share * (1 - share), rel=0.25)
    halves = el.Dataset(table.codes, table.names, table.states, np.full(60, 0.5))
    assert float(halves.resampled(rng).row_weights.sum()) == 30.0


def test_bootstrap_is_reproducible_and_resumes_from_its_folder(table, tmp_path) -> None:
    """Neither the number of processes nor the order of the samples matters."""
    begun: list[str] = []
    kwargs = {"seed": 3, "folder": tmp_path, "on_begin": begun.append}
    few = bootstrap(table, 4, **kwargs)
    assert len(begun) == few.replicates == 4
    more = bootstrap(table, 7, jobs=2, **kwargs)
    assert len(begun) == more.replicates == 7
    assert (more.compelled == bootstrap(table, 7, seed=3).compelled).all()
    bootstrap(table, 7, **kwargs | {"seed": 4})
    assert len(begun) == 14
    bootstrap(table, 7, learner=partial(learn_exact, max_parents=1), **kwargs)
    assert len(begun) == 21


def test_failures_are_told_and_a_column_may_be_left_out(table: el.Dataset) -> None:
    calls = []

    def every_second(dataset: el.Dataset) -> Parents:
        calls.append(1)
        if len(calls) % 2:
            raise OptionError("no luck")
        return ((), (0,), ())

    found = bootstrap(table, 6, learner=every_second)
    assert (found.replicates, found.wanted, found.failures) == (3, 6, ("no luck",))
    assert found.edge_strength("a", "b") == 1.0

    class WithoutB:
        names, parents = ("a", "c"), ((), (0,))

    assert (
        bootstrap(table, 2, learner=lambda dataset: WithoutB).edge_strength("a", "c")
        == 1.0
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"replicates": 0}, "'replicates': expected a whole number from 1, found 0"),
        ({"learner": "exactly"}, "no learner 'exactly'; did you mean 'exact'"),
        ({"learner": lambda dataset: None}, "gave a network: .*no network"),
        ({"required": [("d", "a")]}, "required: no variable 'd'"),
        ({"ess": "auto"}, "give the number that el.choose_ess chooses"),
        ({"tires": []}, "unexpected keyword argument 'tires'"),
    ],
)
def test_what_cannot_be_learnt_is_refused(table: el.Dataset, options, message) -> None:
    with pytest.raises(ExactlearnError, match=message):
        bootstrap(table, **{"replicates": 2, **options})


def test_missing_cells_and_the_frame() -> None:
    incomplete = el.read_dataset(locate("cancer-mcar", ".csv"))
    found = el.bootstrap(incomplete, 10)
    frame = found.to_frame()
    assert list(frame.columns)[:3] == ["parent", "child", "strength"]
    first = frame.iloc[0]
    assert found.strength(first.parent, first.child) == first.strength
    assert (frame.significant == (frame.edge_strength > found.threshold)).all()
    assert repr(found).startswith("ArcStrengths(variables=5, replicates=10")
    record = found.to_dict()
    assert record["averaged"].keys() == set(incomplete.names)


def test_required_arcs_count_as_compelled(table: el.Dataset) -> None:
    learned = el.learn(table, required=[("b", "a")])
    assert ("b", "a") not in learned.reversible
    found = bootstrap(table, 4, learner=partial(learn_exact, required=[("b", "a")]))
    assert found.compelled[1, 0] == 1.0


def test_options_are_the_learner_s_by_name_or_by_index(table: el.Dataset) -> None:
    how = {
        "required": [("b", "a")],
        "forbidden": [("c", "b")],
        "max_parents": 1,
        "ess": 4.0,
    }
    named = bootstrap(table, 4, **how)
    assert named == bootstrap(table, 4, learner=partial(learn_exact, **how))
    assert named == bootstrap(
        table, 4, **how | {"required": [(1, 0)], "forbidden": [(2, 1)]}
    )
    assert set(named.averaged(0.0).arcs) >= {("b", "a")}
    for tiers in ([["c"], ["a", "b"]], [[2], [0, 1]]):
        found = bootstrap(table, 4, learner="bic", tiers=tiers)
        assert found.strength("a", "c") == found.strength("b", "c") == 0


def test_constraints_by_index_hold_in_samples_that_lack_a_column() -> None:
    rng = np.random.default_rng(0)
    codes = np.full((40, 3), -1)
    codes[:2, 0] = 0, 1  # one sample in seven has neither
    codes[:, 1] = rng.integers(0, 2, 40)
    codes[:, 2] = np.where(rng.random(40) < 0.8, codes[:, 1], 1 - codes[:, 1])
    table = el.Dataset(codes, ("rare", "a", "b"), (("no", "yes"),) * 3)
    found = bootstrap(
        table, 12, ess=1.0, constraints=[ForbiddenAdjacency(1, 2)], tiers=()
    )
    assert (found.replicates, found.edge_strength("a", "b")) == (12, 0.0)
    assert bootstrap(table, 12, ess=1.0).edge_strength("a", "b") == 1.0
    assert bootstrap(table, 12, ess=1.0, forbidden=[(1, 2)]).strength("a", "b") == 0.0


def test_the_description_of_a_learner_does_not_depend_on_hashes() -> None:
    text = (
        "from functools import partial; import exactlearn as el;"
        "from exactlearn.evaluation.cross_validation import learner_identity;"
        "from exactlearn.solvers.constraints import Independence as I;"
        "constraints = (I(frozenset('abc'), frozenset('de')),);"
        "print(learner_identity(partial(el.learn, constraints=constraints)))"
    )
    words = [sys.executable, "-c", text]
    seeds = [{**os.environ, "PYTHONHASHSEED": seed} for seed in "12"]
    assert len({subprocess.check_output(words, env=seed) for seed in seeds}) == 1
