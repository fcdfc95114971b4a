"""The posterior over networks and completions, against all completions and all DAGs."""

import signal
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

import exactlearn as el
from exactlearn.augmentation import FamilyRules
from exactlearn.errors import DataError, OptionError, TooLargeError
from exactlearn.graphs.dag import ancestor_matrix
from exactlearn.structure.completion_posterior import (
    AVERAGES,
    n_completions,
    row_classes,
)
from exactlearn.structure.completion_sampling import sweeps
from tests.augmentation_oracle import (
    allowed_dags,
    completions,
    random_table,
    solution_scores,
)


def enumerated(table, score, rules, log_prior=lambda dag: 0.0):
    """Return the log evidence, all DAGs and completions, and their joint probabilities."""
    dags = allowed_dags(table.n_variables, rules)
    scores = solution_scores(table, score, rules) + [log_prior(dag) for dag in dags]
    evidence = logsumexp(scores)
    return evidence, dags, np.array(completions(table)), np.exp(scores - evidence)


def assert_enumerated(posterior, table, score, rules, log_prior=lambda dag: 0.0):
    """Compare a posterior with the enumeration of all completions and DAGs."""
    evidence, dags, values, joint = enumerated(table, score, rules, log_prior)
    of_dags = joint.sum(axis=0)
    n = table.n_variables
    assert posterior.status == posterior.claim == "exact over completions"
    assert posterior.log_evidence == pytest.approx(evidence, abs=1e-9)
    # arcs, ancestors, parent sets, networks
    pairs = [[[a in dag[b] for b in range(n)] for a in range(n)] for dag in dags]
    arcs = np.tensordot(of_dags, pairs, 1)
    np.testing.assert_allclose(posterior.arcs, arcs, atol=1e-9)
    descents = np.array([ancestor_matrix(dag) for dag in dags])
    ancestors = np.tensordot(of_dags, descents, 1)
    np.testing.assert_allclose(posterior.ancestors, ancestors, atol=1e-9)
    for parents, probability in posterior.parent_sets(0).items():
        family = tuple(table.names.index(name) for name in parents)
        expected = sum(of_dags[k] for k, dag in enumerate(dags) if dag[0] == family)
        assert probability == pytest.approx(expected, abs=1e-9)
    for k in (0, len(dags) // 2, len(dags) - 1):
        assert posterior.probability(dags[k]) == pytest.approx(of_dags[k], abs=1e-9)
    assert posterior.mass(dags) == pytest.approx(1.0, abs=1e-9)
    assert posterior.mass([]) == 0.0
    # cells
    of_values = joint.sum(axis=1)
    expected = []
    for cell, (_, variable) in enumerate(table.missing_cells):
        for state in range(table.cardinalities[variable]):
            expected.append(of_values[values[:, cell] == state].sum())
    np.testing.assert_allclose(posterior.cells["probability"], expected, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("score", [el.BDeu(1.0), el.BIC()])
def test_averages_are_those_of_the_enumeration(seed, score):
    table = random_table(np.random.default_rng(seed), 4, 12, 4)
    posterior = el.posterior(table, score=score, missing="average")
    assert_enumerated(posterior, table, score, FamilyRules.of(3))


def test_priors_and_constraints_hold_for_all_completions():
    table = random_table(np.random.default_rng(7), 4, 10, 4)
    rules = FamilyRules.of(2, required=[(0, 1)], forbidden=[(3, 2)])
    posterior = el.posterior(
        table,
        max_parents=2,
        required=[("a", "b")],
        forbidden=[("d", "c")],
        prior={("b", "c"): 0.9},
    )

    def log_prior(dag):
        return np.log(0.9 if 1 in dag[2] else 0.1)

    assert_enumerated(posterior, table, el.BDeu(1.0), rules, log_prior)
    assert posterior.probability([()] * 4) == 0.0


def test_equal_rows_count_as_multisets():
    codes = np.array(
        [[0, 0, 1]] * 4 + [[1, 1, 0]] * 3 + [[0, 1, -1]] * 5 + [[-1, 0, -1]] * 2
    )
    table = el.Dataset(codes, ("a", "b", "c"), (("n", "y"),) * 3)
    # multisets of 5 of two completions, and of 2 of four
    assert n_completions(row_classes(table)) == 6 * 10
    assert_enumerated(el.posterior(table), table, el.BDeu(1.0), FamilyRules.of(3))


def test_a_weight_counts_as_that_many_rows():
    codes = np.array([[0, 0, 1], [1, 1, 0], [0, -1, 1], [-1, 0, 0]])
    weights = np.array([4.0, 3.0, 2.0, 1.0])
    weighted = el.Dataset(codes, ("a", "b", "c"), (("n", "y"),) * 3, weights)
    rows = el.posterior(weighted.written_out())
    counted = el.posterior(weighted)
    np.testing.assert_allclose(counted.arcs, rows.arcs, atol=1e-12)
    assert counted.log_evidence == pytest.approx(rows.log_evidence, abs=1e-9)
    halved = replace(weighted, weights=weights / 4)
    assert el.posterior(halved).claim == "exact for expected counts"
    with pytest.raises(DataError, match="whole numbers"):
        el.posterior(halved, missing="average")


@settings(max_examples=10)
@given(st.integers(0, 1000))
def test_relabelled_states_permute_cells(seed):
    rng = np.random.default_rng(seed)
    table = random_table(rng, 3, 8, 2)
    # each variable's states the other way round
    codes = np.where(table.codes < 0, -1, table.cardinalities - 1 - table.codes)
    turned = el.Dataset(codes, table.names, tuple(s[::-1] for s in table.states))
    first = el.posterior(table)
    second = el.posterior(turned)
    np.testing.assert_allclose(second.arcs, first.arcs, atol=1e-9)
    keys = ["row", "variable", "value"]
    expected = first.cells.set_index(keys)["probability"]
    found = second.cells.set_index(keys)["probability"]
    np.testing.assert_allclose(found[expected.index], expected, atol=1e-9)


def test_a_complete_table_needs_no_average():
    table = el.read_dataset("cancer-mcar-complete")
    averaged = el.posterior(table, missing="average")
    assert averaged.claim == "exact"
    np.testing.assert_array_equal(averaged.arcs, el.posterior(table).arcs)
    with pytest.raises(OptionError, match="missing='average'"):
        averaged.cells  # noqa: B018


def test_too_many_completions_are_sampled_or_expected():
    table = el.read_dataset("cancer-mcar")
    assert el.posterior(table, max_parents=2).claim == "exact for expected counts"
    sampled = el.posterior(table, max_parents=2, missing="average")
    assert sampled.claim == "sampled over completions"
    assert np.isnan(sampled.log_evidence)
    assert "log_evidence" not in sampled.to_dict()
    assert sampled.best_probability == sampled.probability(sampled.best) > 0.0
    assert len(sampled.sample(3, seed=1)) == 3
    sums = sampled.cells.groupby(["row", "variable"])["probability"].sum()
    np.testing.assert_allclose(sums, 1.0, atol=1e-9)


def test_completions_of_too_many_variables_are_refused():
    rng = np.random.default_rng(0)
    codes = rng.integers(2, size=(12, 13))
    codes[rng.random(codes.shape) < 0.2] = -1
    table = el.Dataset(codes, tuple("abcdefghijklm"), (("n", "y"),) * 13)
    with pytest.raises(TooLargeError, match=r"13 variables .* use missing='expected'"):
        el.posterior(table, max_parents=1, missing="average")


@pytest.mark.parametrize("seed", [1, 2])
def test_sampled_averages_are_within_their_errors_of_exact_ones(monkeypatch, seed):
    table = random_table(np.random.default_rng(seed), 4, 12, 4)
    exact = el.posterior(table)
    monkeypatch.setitem(AVERAGES, "average", 0)
    sampled = el.posterior(table, missing="average", seed=seed)
    assert sampled.claim == "sampled over completions"
    assert sampled.error <= 0.01
    # within five standard errors, which are known from few batches
    frame = sampled.to_frame().sort_values(["parent", "child"])
    truth = exact.to_frame().sort_values(["parent", "child"])
    for figure, error in (("probability", "error"), ("ancestor", "ancestor_error")):
        difference = np.abs(frame[figure].to_numpy() - truth[figure].to_numpy())
        assert (difference <= 5 * frame[error].to_numpy() + 1e-3).all()
    cells = sampled.cells
    difference = np.abs(cells["probability"] - exact.cells["probability"])
    assert (difference <= 5 * cells["error"] + 1e-3).all()
    for graph in exact.sample(5):
        expected = exact.probability(graph)
        assert sampled.probability(graph) == pytest.approx(expected, rel=0.2, abs=1e-3)
    # equal seeds give equal estimates
    again = el.posterior(table, missing="average", seed=seed)
    np.testing.assert_array_equal(again.arcs, sampled.arcs)


def test_sweeps_visit_completions_by_their_probability():
    codes = np.array([[0, 0, 1], [1, 1, 0], [1, 1, 0], [0, -1, 1], [-1, 1, 0]])
    table = el.Dataset(codes, ("a", "b", "c"), (("n", "y"),) * 3)
    _, _, values, joint = enumerated(table, el.BDeu(1.0), FamilyRules.of(3))
    families = el.posterior(table).networks.families
    chain = sweeps(families, values[0], np.random.default_rng(5))
    n_sweeps = 800
    visited = np.array([values for values, *_ in islice(chain, n_sweeps)])
    for completion, probability in zip(values, joint.sum(axis=1), strict=True):
        frequency = (visited == completion).all(axis=1).mean()
        # neighbouring sweeps depend on each other
        error = np.sqrt(probability * (1 - probability) / (n_sweeps / 4))
        assert frequency == pytest.approx(probability, abs=5 * error)


def test_stopped_chains_keep_the_completions_that_they_drew():
    table = el.read_dataset("cancer-mcar")
    sampled = el.posterior(
        table,
        missing="average",
        on_progress=lambda done: signal.raise_signal(signal.SIGINT),
    )
    assert sampled.status == "interrupted"
    assert np.isfinite(sampled.networks.arc_errors).all()
    assert len(sampled.cells) > 0


def test_sampling_on_request_is_one_for_expected_counts():
    table = random_table(np.random.default_rng(4), 4, 12, 3)
    sampled = el.posterior(table, method="sampled")
    assert sampled.claim == "sampled for expected counts"
    averaged = el.posterior(table, method="sampled", missing="average")
    assert averaged.claim == "exact over completions"


def test_a_limit_ends_the_average():
    with pytest.raises(TooLargeError, match="sums over all completions"):
        el.posterior(el.read_dataset("asia-mnar"), time_limit=1e-3)
    with pytest.raises(TooLargeError, match="Markov chains over completions"):
        el.posterior(el.read_dataset("cancer-mcar"), missing="average", time_limit=1e-3)


def test_samples_follow_the_average():
    table = random_table(np.random.default_rng(2), 3, 10, 3)
    posterior = el.posterior(table)
    drawn = [graph.parents for graph in posterior.sample(200, seed=1)]
    for dag in set(drawn):
        probability = posterior.probability(dag)
        tolerance = 5 * np.sqrt(probability * (1 - probability) / 200)
        assert drawn.count(dag) / 200 == pytest.approx(
            probability, abs=tolerance + 1e-9
        )


def test_the_best_network_is_among_the_most_probable():
    table = random_table(np.random.default_rng(3), 4, 12, 4)
    posterior = el.posterior(table)
    _, _, _, joint = enumerated(table, el.BDeu(1.0), FamilyRules.of(3))
    assert posterior.best_probability > 0.8 * joint.sum(axis=0).max()


def test_many_rows_have_no_exact_average_for_their_rounding():
    rows = np.random.default_rng(0).integers(0, 2, (60_000, 3))
    rows[0, 0] = -1
    table = el.Dataset(rows, ("a", "b", "c"), (("n", "y"),) * 3)
    assert el.posterior(table).claim == "exact for expected counts"
