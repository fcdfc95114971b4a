"""Prediction by the average over networks, beside evidences and enumerated networks."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import beta

import exactlearn as el
from exactlearn.errors import OptionError
from tests.brute_force import is_acyclic
from tests.network_oracle import CHAIN

NAMES = ("a", "b", "c")
STATES = (("n", "y"), ("n", "y"), ("l", "m", "h"))


def table_of(codes):
    return el.Dataset(np.asarray(codes), NAMES, STATES)


@pytest.fixture(scope="module")
def table():
    return CHAIN.sample(25, np.random.default_rng(4))


@pytest.fixture(scope="module")
def posterior(table):
    return el.posterior(table, ess=2.0)


@pytest.fixture(scope="module")
def predicted(table, posterior):
    """Return P(row | table) of all rows: how much the row adds to the evidence."""
    joint = np.zeros((2, 2, 3))
    for row in np.ndindex(joint.shape):
        longer = table_of([*table.codes.tolist(), row])
        evidence = el.posterior(longer, ess=2.0).log_evidence
        joint[row] = np.exp(evidence - posterior.log_evidence)
    return joint


def test_a_row_is_predicted_by_the_ratio_of_evidences(posterior, predicted):
    assert predicted.sum() == pytest.approx(1.0)
    mixture = posterior.mixture(n=5_000, smoothing="bdeu")
    rows = table_of(list(np.ndindex(predicted.shape)))
    logs = mixture.log_likelihood_rows(rows)
    np.testing.assert_allclose(np.exp(logs), predicted.ravel(), rtol=0.02)


def test_evidence_weighs_networks(posterior, predicted):
    mixture = posterior.mixture(n=5_000, smoothing="bdeu")
    answer = el.query(mixture, {"c": "h", "b": "n"}, "a")
    expected = predicted[:, 0, 2]
    assert answer.probability_of_evidence == pytest.approx(expected.sum(), rel=0.02)
    probabilities = list(answer.posterior["a"].values())
    assert probabilities == pytest.approx(expected / expected.sum(), abs=0.005)


def test_missing_cells_are_summed_out(posterior):
    mixture = posterior.mixture(n=300)
    rows = table_of(list(product(range(2), range(2), range(3))))
    joint = np.exp(mixture.log_likelihood_rows(rows)).reshape(2, 2, 3)
    assert joint.sum() == pytest.approx(1.0)
    incomplete = table_of([[1, -1, 2], [-1, -1, 0], [-1, 0, -1], [-1, -1, -1]])
    expected = [
        joint[1, :, 2].sum(),
        joint[..., 0].sum(),
        joint[:, 0].sum(),
        1.0,
    ]
    logs = mixture.log_likelihood_rows(incomplete)
    assert np.exp(logs) == pytest.approx(expected, abs=1e-12)
    # and the posterior of a cell is its part of that
    answer = el.query_rows(mixture, incomplete, ["b"])
    part = joint[1, :, 2] / joint[1, :, 2].sum()
    assert answer.posteriors[0][0] == pytest.approx(part, abs=1e-12)
    assert answer.posteriors[0][2].tolist() == [1.0, 0.0]


def test_rounding_leaves_no_probability_above_one(posterior):
    for n in range(1, 40):
        answer = el.query(posterior.mixture(n=n))
        assert answer.probability_of_evidence <= 1.0
        assert max(max(p.values()) for p in answer.posterior.values()) <= 1.0


def test_a_posterior_answers_as_a_model(posterior, table):
    answer = posterior.query({"b": "y"}, ["a", "c"])
    assert answer == el.query(posterior, {"b": "y"}, ["a", "c"])
    assert answer == el.query(posterior.mixture(), {"b": "y"}, ["a", "c"])
    classes = posterior.classify("c", table)
    assert classes == el.classify(posterior, table, "c")
    first = posterior.query(dict(zip("ab", _labels(table, 0), strict=False)), "c")
    assert classes.posterior[0] == pytest.approx(list(first.posterior["c"].values()))
    rows = el.query_rows(posterior, table)
    assert rows.log_probability_of_evidence == pytest.approx(
        posterior.log_likelihood_rows(table)
    )


def _labels(table, row):
    codes = table.codes[row].tolist()
    return [states[code] for states, code in zip(table.states, codes, strict=True)]


def test_parameters_have_the_pseudo_count_that_is_asked_for():
    problem = {"forbidden": [("a", "b"), ("b", "a")]}
    data = el.Dataset(np.array([[0, 0], [0, 1], [1, 1]]), ("a", "b"), STATES[:2])
    posterior = el.posterior(data, **problem)
    for smoothing, expected in ((0.5, 2.5 / 4), (0.0, 2 / 3), ("bdeu", 2.5 / 4)):
        answer = el.query(posterior.mixture(smoothing=smoothing), {}, "a")
        assert answer.posterior["a"]["n"] == pytest.approx(expected)
    # without a pseudo-count, and with one network, a row may be impossible
    certain = el.Dataset(np.array([[0, 0], [0, 1]]), ("a", "b"), STATES[:2])
    mixture = el.posterior(certain, **problem).mixture(smoothing=0.0)
    new = el.Dataset(np.array([[1, 0]]), ("a", "b"), STATES[:2])
    assert mixture.log_likelihood_rows(new).tolist() == [-np.inf]
    assert np.isnan(el.query_rows(mixture, new).posteriors[0]).all()


def test_expected_counts_give_the_parameters():
    table = el.read_dataset("cancer-mcar")
    posterior = el.posterior(table, max_parents=2)
    averaged = posterior.log_likelihood_rows(table).mean()
    learned = el.learn(table, max_parents=2).network.log_likelihood_rows(table).mean()
    assert averaged == pytest.approx(learned, abs=0.02)
    assert posterior.effect("Smoker", "Cancer", n=20)["mean"].between(0, 1).all()


def effect_by_enumeration(posterior, table, cause, outcome):
    """Return the mean of P(outcome | do(cause)) over all DAGs over three variables."""
    sets = [
        [s for s in ((), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2)) if v not in s]
        for v in range(3)
    ]
    mean = 0.0
    for parents in filter(is_acyclic, product(*sets)):
        network = el.fit_complete(table, parents, smoothing=0.0)
        tables = []
        for v, family in enumerate(parents):
            codes = table.codes[:, [*family, v]]
            counts = np.full(network.tables[v].shape, 2.0 / network.tables[v].size)
            np.add.at(counts, tuple(codes.T), 1.0)
            tables.append(counts / counts.sum(axis=-1, keepdims=True))
        joint = np.zeros((2, 2, 3))
        for states in np.ndindex(joint.shape):
            factors = [
                t[(*(states[p] for p in parents[v]), states[v])]
                for v, t in enumerate(tables)
                if v != cause
            ]
            joint[states] = np.prod(factors)
        (third,) = {0, 1, 2} - {cause, outcome}
        effect = joint.sum(axis=third)
        if cause > outcome:
            effect = effect.T
        mean += posterior.probability(parents) * effect
    return mean


@pytest.mark.parametrize(("cause", "outcome"), [(0, 1), (1, 2), (2, 0)])
def test_the_mean_effect_is_that_of_all_networks(posterior, table, cause, outcome):
    frame = posterior.effect(NAMES[cause], NAMES[outcome], n=1_500)
    columns = ["cause", "outcome", "mean", "lower", "upper"]
    assert frame.columns.tolist() == columns
    expected = effect_by_enumeration(posterior, table, cause, outcome)
    assert frame["mean"].to_numpy() == pytest.approx(expected.ravel(), abs=0.015)
    assert (frame["lower"] <= frame["mean"]).all()
    assert (frame["mean"] <= frame["upper"]).all()
    totals = frame.groupby("cause")["mean"].sum()
    assert totals.to_numpy() == pytest.approx(1.0)


def test_one_network_leaves_the_interval_of_its_parameters(table):
    posterior = el.posterior(
        table,
        ess=2.0,
        required=[("a", "b")],
        forbidden=[("a", "c"), ("c", "a"), ("b", "c"), ("c", "b")],
    )
    frame = posterior.effect("a", "b", n=3_000).set_index(["cause", "outcome"])
    counts = np.zeros((2, 2))
    np.add.at(counts, tuple(table.codes[:, :2].T), 1.0)
    for code, state in enumerate("ny"):
        distribution = beta(counts[code, 1] + 0.5, counts[code, 0] + 0.5)
        row = frame.loc[state, "y"]
        assert row["mean"] == pytest.approx(distribution.mean(), abs=0.01)
        assert row["lower"] == pytest.approx(distribution.ppf(0.05), abs=0.03)
        assert row["upper"] == pytest.approx(distribution.ppf(0.95), abs=0.03)


def test_tiny_pseudo_counts_give_distributions(table):
    frame = el.posterior(table, ess=1e-4).effect("a", "c", n=50)
    assert frame["mean"].between(0, 1).all()
    assert frame.groupby("cause")["mean"].sum().to_numpy() == pytest.approx(1.0)


def test_what_has_no_parameters_is_refused(table):
    problem = el.candidate_parent_sets(table, "bdeu", prune=False)
    with pytest.raises(OptionError, match="has neither: make it from the table"):
        el.posterior(problem).log_likelihood_rows(table)
    incomplete = el.read_dataset("cancer-mcar")
    for missing in ("d-mcar", "average"):
        part = incomplete.part(slice(60))
        without = el.posterior(part, max_parents=1, missing=missing)
        with pytest.raises(OptionError, match="missing='expected'"):
            without.query({}, "Cancer")
    by_bic = el.posterior(table, score="bic")
    assert by_bic.query({}, "a").posterior["a"]["n"] < 1.0
    for call in (
        lambda: by_bic.effect("a", "b"),
        lambda: by_bic.mixture(smoothing="bdeu"),
    ):
        with pytest.raises(OptionError, match="score='bdeu'"):
            call()


def test_effects_without_a_meaning_are_refused(posterior):
    for call in (posterior.sample, posterior.mixture):
        with pytest.raises(OptionError, match="'n': expected a whole number from 1"):
            call(n=-1)
    with pytest.raises(OptionError, match="both cause and outcome"):
        posterior.effect("a", "a")
    with pytest.raises(OptionError, match="'z'"):
        posterior.effect("a", "z")
    with pytest.raises(OptionError, match="has effect"):
        el.query(posterior, do={"a": "n"})
