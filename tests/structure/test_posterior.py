"""The posterior over networks of a table: priors, networks, classes and samples."""

import json
import pickle
from itertools import combinations, product
from math import comb, exp

import numpy as np
import pandas as pd
import pytest

import exactlearn as el
from exactlearn.errors import ArgumentError, OptionError, TooLargeError
from exactlearn.scoring.prior import with_prior
from tests.brute_force import is_acyclic


@pytest.fixture(scope="module")
def asia():
    return el.read_dataset("asia-mnar-complete")


@pytest.fixture(scope="module")
def posterior(asia):
    return el.posterior(asia)


def small_problem(seed=0, n=4):
    rng = np.random.default_rng(seed)
    tables = []
    for child in range(n):
        others = [v for v in range(n) if v != child]
        sets = [s for k in range(n) for s in combinations(others, k)]
        tables.append({s: 2.0 * rng.normal() for s in sets})
    return el.Problem.from_candidates("abcd"[:n], tables)


def networks_of(problem):
    """Return all networks of a problem with their scores."""
    families = [list(problem.candidates(v)) for v in range(problem.n_variables)]
    networks = {}
    for choice in product(*families):
        parents = tuple(family for family, _ in choice)
        if is_acyclic(parents):
            networks[parents] = sum(score for _, score in choice)
    return networks


def test_the_figures_of_asia(asia, posterior):
    # 100 rows, BDeu 1, three parents, uniform prior
    assert posterior.best_probability == pytest.approx(5.845e-6, rel=1e-3)
    frame = posterior.to_frame().set_index(["parent", "child"])
    assert frame.loc[("either", "lung"), "probability"] == pytest.approx(
        0.444, abs=1e-3
    )
    problem = el.candidate_parent_sets(asia, "bdeu", prune=False)
    listed = el.enumerate_networks(problem, k=100)
    networks = [network.parents for network in listed.networks]
    assert posterior.mass(networks) == pytest.approx(0.0003, rel=0.05)
    assert posterior.mass([*networks, networks[0]]) == posterior.mass(networks)


@pytest.mark.parametrize("seed", range(3))
def test_posteriors_of_networks_and_classes_match_enumeration(seed):
    problem = small_problem(seed)
    posterior = el.posterior(problem)
    networks = networks_of(problem)
    total = sum(map(exp, networks.values()))
    best = max(networks, key=networks.get)
    assert posterior.best == best
    for parents in [best, *list(networks)[::97]]:
        expected = exp(networks[parents]) / total
        assert posterior.probability(parents) == pytest.approx(expected, abs=1e-12)
        members = [
            m for m in networks if el.graphs.cpdag(m) == el.graphs.cpdag(parents)
        ]
        of_class = sum(exp(networks[m]) for m in members) / total
        assert posterior.class_probability(parents) == pytest.approx(
            of_class, abs=1e-12
        )
    family = posterior.parent_sets("b")
    assert list(family.values()) == sorted(family.values(), reverse=True)
    assert sum(family.values()) == pytest.approx(1.0, abs=1e-12)
    direct = sum(exp(s) for p, s in networks.items() if p[1] == (0, 2)) / total
    assert family["a", "c"] == pytest.approx(direct, abs=1e-12)


def test_parent_sets_that_are_no_candidates_have_no_probability(posterior):
    full = {"dysp": ["asia", "tub", "smoke", "lung"]}
    assert posterior.probability(full) == 0.0


def test_the_fair_prior_is_equal_for_each_number_of_parents():
    problem = el.Problem.from_candidates(
        "abcd",
        [dict.fromkeys(dict(small_problem().candidates(v)), 0.0) for v in range(4)],
    )
    fair = np.exp(with_prior(problem, "fair").scores)
    for child in range(4):
        sets = problem.first[child] + np.arange(8)
        sizes = np.array([len(problem.parent_set(c)) for c in sets])
        by_size = np.bincount(sizes, fair[sets])
        np.testing.assert_allclose(by_size, 1.0)
        assert fair[sets][sizes == 2][0] == pytest.approx(1 / comb(3, 2))


def test_beliefs_are_the_probabilities_of_arcs_without_data():
    # one arc only: its prior odds are its posterior odds
    problem = el.Problem.from_candidates("ab", [{(): 0.0}, {(): 0.0, (0,): 0.0}])
    for beliefs in (
        {("a", "b"): 0.8},
        {(0, 1): 0.8},
        pd.DataFrame({"parent": ["a"], "child": ["b"], "probability": [0.8]}),
    ):
        posterior = el.posterior(problem, prior=beliefs)
        assert posterior.arcs[0, 1] == pytest.approx(0.8, abs=1e-12)
        assert posterior.prior == "beliefs"


def test_beliefs_weigh_networks_as_their_arcs():
    problem = small_problem(7)
    beliefs = {("a", "b"): 0.9, ("c", "a"): 0.2, ("b", "d"): 0.4}
    weights = {}
    for parents, score in networks_of(problem).items():
        weight = exp(score)
        for (tail, head), probability in beliefs.items():
            is_there = "abcd".index(tail) in parents["abcd".index(head)]
            weight *= probability if is_there else 1 - probability
        weights[parents] = weight
    total = sum(weights.values())
    posterior = el.posterior(problem, prior=beliefs)
    expected = sum(w for p, w in weights.items() if 0 in p[1]) / total
    assert posterior.arcs[0, 1] == pytest.approx(expected, abs=1e-12)
    assert posterior.best == max(weights, key=weights.get)


@pytest.mark.parametrize(
    ("prior", "error", "message"),
    [
        ("flat", ArgumentError, "one of uniform, fair"),
        ({("a", "b"): 1.0}, OptionError, "require or forbid"),
        ({("a", "b"): float("nan")}, OptionError, "between 0 and 1"),
        ({("a", "z"): 0.5}, OptionError, "'z'"),
        ({("a", "b"): 0.5, (0, 1): 0.5}, OptionError, "twice"),
        (3, ArgumentError, "parent, child, probability"),
    ],
)
def test_a_prior_that_is_none_is_refused(prior, error, message):
    with pytest.raises(error, match=message):
        el.posterior(small_problem(), prior=prior)


def test_arcs_that_are_required_or_forbidden_are_certain(asia):
    posterior = el.posterior(
        asia,
        max_parents=2,
        required=[("smoke", "lung")],
        forbidden=[("dysp", "bronc")],
        tiers=[["asia", "smoke"], ["tub", "lung", "bronc", "either", "xray", "dysp"]],
    )
    frame = posterior.to_frame().set_index(["parent", "child"])["probability"]
    assert frame["smoke", "lung"] == pytest.approx(1.0, abs=1e-12)
    assert frame["dysp", "bronc"] == 0.0
    assert frame["lung", "smoke"] == 0.0


def test_ancestors_in_other_parts_are_counted_in_samples():
    # a -> b -> c by tiers: three parts
    problem = el.Problem.from_candidates(
        "abc",
        [{(): 0.0}, {(): 0.0, (0,): 1.0}, {(): 0.0, (1,): 1.0}],
    )
    posterior = el.posterior(problem)
    arc = exp(1) / (1 + exp(1))
    assert posterior.arcs[0, 1] == pytest.approx(arc, abs=1e-12)
    assert posterior.ancestors[0, 2] == pytest.approx(arc**2, abs=0.05)
    assert posterior.ancestors[2, 0] == 0.0


def test_samples_are_the_same_for_a_seed(posterior):
    first = posterior.sample(3, seed=1)
    assert first == posterior.sample(3, seed=1)
    assert first != posterior.sample(3, seed=2)
    assert all(graph.kind == "dag" for graph in first)


def test_a_posterior_is_kept_by_pickle_and_recorded(posterior):
    assert pickle.loads(pickle.dumps(posterior)) == posterior
    record = posterior.to_dict()
    assert record["status"] == "exact"
    assert len(record["arcs"]) == len(record["ancestors"]) == 56
    assert len(record["edges"]) == 28
    assert record["arcs"][0].keys() == {"parent", "child", "probability"}


def test_missing_cells_give_a_posterior_for_expected_counts():
    posterior = el.posterior(el.read_dataset("cancer-mcar"), max_parents=2)
    assert posterior.claim == "exact for expected counts"


def test_a_limit_that_is_too_short_is_an_error(asia):
    with pytest.raises(TooLargeError, match="allow more time"):
        el.posterior(asia, time_limit=0.0)


def test_the_averaged_network_has_the_likely_edges(posterior):
    averaged = posterior.averaged(0.9)
    linked = {frozenset(arc) for arc in averaged.arcs}
    frame = posterior.to_frame()
    likely = frame[frame["edge"] > 0.9]
    assert linked == {
        frozenset(x) for x in zip(likely["parent"], likely["child"], strict=True)
    }


@pytest.mark.parametrize(
    "prior", ["fair", {("smoke", "lung"): 0.999, ("dysp", "either"): 0.9}]
)
def test_learning_with_a_prior_gives_the_most_probable_network(asia, prior):
    learned = el.learn(asia, max_parents=2, prior=prior)
    posterior = el.posterior(asia, max_parents=2, prior=prior)
    assert learned.status == "optimal"
    probability = posterior.probability(learned.parents)
    assert probability == pytest.approx(posterior.best_probability, rel=1e-6)
    assert "prior" in learned.reason
    assert posterior.probability(el.learn(asia, max_parents=2).parents) < probability


def test_a_markov_class_too_large_loses_no_record():
    # seven links apart: 128 networks are equivalent; ten triples: 59,049
    for size, n in ((2, 7), (3, 10)):
        tables = []
        for v in range(size * n):
            tables.append({(): 0.0} | ({(v - 1,): 5.0} if v % size else {}))
        names = [f"v{v}" for v in range(size * n)]
        posterior = el.posterior(el.Problem.from_candidates(names, tables))
        record = posterior.to_dict()
        assert record["status"] == "exact"
        if size == 2:
            assert record["class_probability"] >= record["best_probability"]
        else:
            assert record["class_probability"] is None
            with pytest.raises(OptionError, match="more than 10,000"):
                posterior.class_probability(posterior.best)


def test_the_error_of_counted_ancestors_is_shown(posterior):
    assert posterior.ancestor_error == posterior.error < 1e-9
    # two parts, joined by the arc a -> c
    tables = [
        {(): 0.0, (1,): 0.3},
        {(): 0.0, (0,): 0.1},
        {(): 0.0, (3,): 0.2, (0,): 1.0},
        {(): 0.0, (2,): 0.4},
    ]
    apart = el.posterior(el.Problem.from_candidates("abcd", tables))
    exact = sum(
        np.exp(score)
        for parents, score in networks_of(apart.networks.selections.problem).items()
        if 0 in parents[2] and 1 in parents[0]
    ) / np.exp(apart.log_evidence)
    assert apart.error < 1e-9
    assert apart.ancestor_error == pytest.approx(0.0112, abs=1e-4)
    assert apart.to_dict()["ancestor_error"] == apart.ancestor_error
    assert abs(apart.ancestors[1, 2] - exact) < 5 * apart.ancestor_error


def _ring_of_many(n=22):
    """Return a problem whose variables may all form cycles with each other."""
    tables = [{(): 0.0, ((v + 1) % n,): 2.0} for v in range(n)]
    return el.Problem.from_candidates([f"v{i}" for i in range(n)], tables)


def test_many_variables_are_sampled():
    posterior = el.posterior(_ring_of_many(), seed=1)
    assert posterior.status == "sampled"
    assert 0 < posterior.error <= 0.01
    record = json.loads(json.dumps(posterior.to_dict(), allow_nan=False))
    assert "log_evidence" not in record
    arc = record["arcs"][0]
    assert [*arc] == [
        *("parent", "child", "probability"),
        *("error", "r_hat", "effective_size"),
    ]
    assert record["ancestors"][0]["error"] >= 0
    frame = posterior.to_frame()
    assert frame["ancestor_error"].notna().all()
    # drawn networks have the arcs about as often as these are probable
    drawn = posterior.sample(400, seed=2)
    share = np.mean([("v1", "v0") in graph.arcs for graph in drawn])
    assert share == pytest.approx(posterior.arcs[1, 0], abs=0.15)
    by_parents = posterior.parent_sets("v0")
    assert by_parents["v1",] == pytest.approx(posterior.arcs[1, 0])


def test_the_method_of_a_posterior_may_be_chosen():
    table = el.read_dataset("cancer-mcar-complete")
    exact = el.posterior(table, max_parents=2, method="exact")
    sampled = el.posterior(table, max_parents=2, method="sampled")
    assert (exact.status, sampled.status) == ("exact", "sampled")
    np.testing.assert_allclose(sampled.arcs, exact.arcs, rtol=0, atol=0.06)
    with pytest.raises(TooLargeError, match="limit is 20 variables: sample networks"):
        el.posterior(_ring_of_many(), method="exact")
    with pytest.raises(OptionError, match="method: found 'chain'"):
        el.posterior(table, method="chain")
    with pytest.raises(TooLargeError, match="the time limit ended the Markov chains"):
        el.posterior(_ring_of_many(), time_limit=1e-3)
