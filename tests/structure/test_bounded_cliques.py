"""The best network with bounded cliques, against all networks and all elimination orders."""

from itertools import permutations
from math import inf, prod

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import exactlearn as el
from exactlearn.bayesnet.cliques import CliqueTree
from exactlearn.bayesnet.triangulation import elimination_clusters
from exactlearn.errors import CheckError, OptionError
from exactlearn.graphs.dag import moral_graph
from exactlearn.solvers import Problem
from exactlearn.solvers.constraints import RequiredAncestor
from exactlearn.structure.bounded_cliques import BoundedCliques, bounded_cliques
from exactlearn.structure.clique_annealing import Candidates, is_within_along
from tests.graph_oracle import dags, every_dag


def smallest_largest_clique(parents, cardinalities) -> int:
    """Return the configurations of the largest clique, by the best of all elimination orders."""
    graph = moral_graph(parents)
    return min(
        max(
            prod(cardinalities[v] for v in cluster)
            for cluster in elimination_clusters(graph, order)
        )
        for order in permutations(range(len(parents)))
    )


@st.composite
def problems(draw) -> tuple[Problem, list[int], int]:
    """Draw a problem of four variables, their numbers of states, and a bound on cliques."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    tables = []
    for v in range(4):
        others = [u for u in range(4) if u != v]
        sets = [[u for k, u in enumerate(others) if bits >> k & 1] for bits in range(8)]
        tables.append({tuple(s): len(s) + rng.normal(scale=3) for s in sets})
    sizes = draw(st.lists(st.integers(2, 4), min_size=4, max_size=4))
    bound = draw(st.integers(max(sizes), 40))
    return Problem.from_candidates(list("abcd"), tables), sizes, bound


@settings(max_examples=10, suppress_health_check=[HealthCheck.too_slow])
@given(problems())
def test_the_best_of_all_networks_with_small_cliques_is_learned(drawn) -> None:
    problem, sizes, bound = drawn
    best = -inf
    for parents in every_dag(4):
        is_better = problem.total(parents) > best
        if is_better and smallest_largest_clique(parents, sizes) <= bound:
            best = problem.total(parents)
    result = bounded_cliques(problem, sizes, bound, time_limit=0.3)
    assert result.score == pytest.approx(best)
    assert result.bound >= best - 1e-9
    assert smallest_largest_clique(result.parents, sizes) <= result.largest_clique
    result.check(problem)


@settings(max_examples=30)
@given(dags(least=2), st.randoms(use_true_random=False))
def test_clusters_along_an_order_are_those_of_elimination(parents, random) -> None:
    n = len(parents)
    order = random.sample(range(n), n)
    sizes = [random.randint(2, 5) for _ in range(n)]
    clusters = elimination_clusters(moral_graph(parents), order)
    largest = max(prod(sizes[v] for v in cluster) for cluster in clusters)
    width = 1 + max(map(len, parents))
    families = [[*sorted(ps), *[v] * (width - len(ps))] for v, ps in enumerate(parents)]
    candidates = Candidates(
        first=np.arange(n + 1),
        losses=np.zeros(n),
        families=np.array(families),
        cardinalities=np.array(sizes, np.float64),
    )
    arguments = (candidates, np.arange(n), np.array(order))
    assert is_within_along(*arguments, float(largest))
    assert not is_within_along(*arguments, float(largest - 1))


def test_learn_bounds_the_cliques_of_a_table() -> None:
    table = el.read_dataset("asia-mnar-complete")
    learned = el.learn(table, max_clique=4, time_limit=20)
    assert max(learned.clique_tree.clique_sizes(table.cardinalities)) <= 4
    learned.clique_tree.check(learned.network)
    assert learned.score < el.learn(table).score
    assert "cliques of at most 4 configurations" in learned.reason


def test_a_search_for_completions_takes_no_bound_on_cliques() -> None:
    with pytest.raises(OptionError, match="max_clique: missing='augment' takes none"):
        el.learn(el.read_dataset("cancer-mcar"), missing="augment", max_clique=4)


def test_an_optimum_that_fits_is_proven_without_a_search() -> None:
    table = el.read_dataset("asia-mnar-complete")
    problem = el.candidate_parent_sets(table, "bdeu")
    result = bounded_cliques(problem, table.cardinalities, 64)
    assert result.status == "optimal"
    assert result.score == pytest.approx(el.solve(problem).score)
    assert result.solver != "annealing"


def test_a_smaller_bound_never_raises_the_score_or_the_proof() -> None:
    table = el.read_dataset("asia-mnar-complete")
    problem = el.candidate_parent_sets(table, "bdeu")
    wide = bounded_cliques(problem, table.cardinalities, 8)
    narrow = bounded_cliques(problem, table.cardinalities, 4, time_limit=0.5)
    assert narrow.score <= wide.bound + 1e-9
    assert narrow.bound <= wide.bound + 1e-9
    assert narrow.largest_clique <= 4


def test_required_arcs_are_kept() -> None:
    table = el.read_dataset("asia-mnar-complete")
    problem = el.candidate_parent_sets(table, "bdeu", required=[("asia", "xray")])
    result = bounded_cliques(problem, table.cardinalities, 4, time_limit=0.5)
    assert ("asia", "xray") in result.arcs
    result.check(problem)


def test_a_result_with_other_cliques_does_not_stand_its_check() -> None:
    table = el.read_dataset("asia-mnar-complete")
    problem = el.candidate_parent_sets(table, "bdeu")
    result = bounded_cliques(problem, table.cardinalities, 8)
    fields = vars(result)
    large = CliqueTree((tuple(range(8)),), (-1,))
    with pytest.raises(CheckError, match="256 configurations, but 8"):
        BoundedCliques(**fields | {"clique_tree": large}).check(problem)
    with pytest.raises(CheckError, match="no clique holds the family"):
        BoundedCliques(**fields | {"clique_tree": None}).check(problem)


def test_a_bound_below_the_states_of_a_variable_is_refused() -> None:
    problem = Problem.from_candidates(["a", "b"], [{(): -2.0}, {(): -3.0}])
    with pytest.raises(OptionError, match="at least the 5 states of 'b', found 4"):
        bounded_cliques(problem, [2, 5], 4)


def test_constraints_on_the_whole_network_are_refused() -> None:
    sets = [{(): -2.0, (1,): -1.0}, {(): -3.0}]
    ancestor = RequiredAncestor(1, 0)
    problem = Problem.from_candidates(["a", "b"], sets, constraints=[ancestor])
    with pytest.raises(OptionError, match="leave out one of both"):
        bounded_cliques(problem, [2, 2], 4)
