"""Why cells are missing: what is chosen against plain loops, and found where it is known."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import softmax

from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.bayesnet.row_completion import posterior_cells
from exactlearn.data.dataset import Dataset
from exactlearn.data.missingness import hide
from exactlearn.errors import OptionError
from exactlearn.imputation import Imputer, Learning
from exactlearn.imputation.learning import independent
from exactlearn.imputation.mechanism import (
    PredictedCells,
    _drawn_shift,
    _gains,
    _gains_by_others,
    is_not_at_random,
    learned_missingness_graph,
    shifted,
)
from exactlearn.imputation.methods import AVERAGING
from exactlearn.scoring.scores import BDeu
from tests.network_oracle import random_network

HOW = Learning(
    learner="structural-em", score=BDeu(), starts=1, max_parents=2, smoothing=0.3
)


@pytest.fixture(scope="module")
def chain():
    """Four variables, each much like the one before."""
    alike = np.array([[0.9, 0.1], [0.1, 0.9]])
    return BayesianNetwork(
        tuple("abcd"),
        (("n", "y"),) * 4,
        ((), (0,), (1,), (2,)),
        (np.array([0.5, 0.5]), alike, alike, alike),
    )


def causes(network, table):
    return learned_missingness_graph(table, [network]).causes


class TestReasons:
    def test_cells_missing_by_their_value_are_recognised(self, chain):
        full = chain.sample(600, np.random.default_rng(2))
        table = hide(full, "mnar:60:1", np.random.default_rng(3))
        assert causes(chain, table) == {name: (name,) for name in "abcd"}

    def test_cells_missing_by_another_value_are_recognised(self, chain):
        full = chain.sample(600, np.random.default_rng(3))
        table = hide(full, "mar:0.3:a", np.random.default_rng(4))
        assert causes(chain, table) == dict.fromkeys("bcd", ("a",))

    @pytest.mark.parametrize("seed", range(4))
    def test_cells_missing_at_random_tell_nothing(self, chain, seed):
        full = chain.sample(400, np.random.default_rng(seed))
        table = hide(full, "mcar:0.15", np.random.default_rng(seed + 50))
        assert causes(chain, table) == dict.fromkeys("abcd", ())

    def test_columns_without_observed_cells_or_choice_tell_nothing(self):
        codes = np.array([[0, -1, 0], [-1, -1, 0], [1, -1, -1]])
        table = Dataset(
            codes, ("a", "nothing", "constant"), (("x", "y"),) * 2 + (("o",),)
        )
        assert causes(independent(table), table) == {"a": ()}
        complete = Dataset(np.array([[0], [1]]), ("a",), (("x", "y"),))
        assert causes(independent(complete), complete) == {}

    def test_gains_are_half_the_g_statistic_less_the_penalty(self):
        rng = np.random.default_rng(5)
        network = random_network(rng, 4)
        table = hide(network.sample(50, rng), "mcar:0.2", rng)
        weighted = replace(table, weights=rng.integers(1, 4, 50).astype(float))
        posterior = posterior_cells(network, table)
        holes = weighted.codes < 0
        found = _gains_by_others(weighted, posterior, holes)
        cells = {tuple(cell): k for k, cell in enumerate(table.missing_cells.tolist())}
        total = weighted.row_weights.sum()
        for v in range(4):
            for u in range(4):
                r = int(table.cardinalities[u])
                counts = np.zeros((2, r))
                for row, w in enumerate(weighted.row_weights):
                    code = table.codes[row, u]
                    share = (
                        np.eye(r)[code] if code >= 0 else posterior[cells[row, u], :r]
                    )
                    counts[int(holes[row, v])] += w * share
                expected = (
                    counts.sum(axis=1, keepdims=True) * counts.sum(axis=0) / total
                )
                some = counts > 0
                g = (counts[some] * np.log(counts[some] / expected[some])).sum()
                assert found[v, u] == pytest.approx(g - 0.5 * np.log(total) * (r - 1))


@given(st.integers(0, 10**6))
@example(435080)  # steps were small long before the maximum
@settings(max_examples=30)
def test_no_other_distribution_is_likelier(seed):
    rng = np.random.default_rng(seed)
    states = int(rng.integers(2, 4))
    ratios = rng.random((int(rng.integers(1, 9)), states)) + 0.01
    weights = rng.random(len(ratios)) + 0.1
    beta, best = shifted(ratios, weights, np.full(states, 1 / states))
    assert beta.sum() == pytest.approx(1)
    for other in rng.dirichlet(np.ones(states), 200):
        assert weights @ np.log(ratios @ other) <= best + 1e-4


class TestImputer:
    def test_what_is_learned_of_missingness_completes_better(self, chain):
        full = chain.sample(500, np.random.default_rng(6))
        table = hide(full, "mnar:75:1", np.random.default_rng(7))
        ignored = Imputer("posterior", HOW).fit_transform(table).codes
        how = replace(HOW, missingness="learned")
        imputer = Imputer("posterior", how)
        right = [
            (c == full.codes)[table.codes < 0]
            for c in (ignored, imputer.fit_transform(table).codes)
        ]
        assert right[1].mean() > right[0].mean() + 0.05
        assert imputer.network.names == full.names
        usual = Imputer("posterior", HOW).fit(table).network
        nothing = replace(table, codes=np.full((1, 4), -1))
        by_value, by_chance = (
            posterior_cells(n, nothing) for n in (imputer.network, usual)
        )
        shares = full.codes.mean(axis=0)
        assert abs(by_value[:, 1] - shares).max() < abs(by_chance[:, 1] - shares).max()
        assert imputer.imputed(table).probabilities.shape == (
            len(table.missing_cells),
            2,
        )

    @pytest.mark.parametrize(
        "mode", ["stacked", "posterior", "mpe", "averaged", "multiple"]
    )
    def test_columns_of_other_tables_come_in_any_order(self, chain, mode):
        full = chain.sample(300, np.random.default_rng(8))
        table = hide(full, "mnar:45:1", np.random.default_rng(9))
        learner = None if mode in AVERAGING else HOW.learner
        how = replace(HOW, missingness="learned", networks=2, learner=learner)
        imputer = Imputer(mode, how).fit(table)
        model = imputer._model
        assert model.ratios if mode == "stacked" else model.missingness.causes
        order = [2, 0, 3, 1]
        turned = Dataset(
            table.codes[:, order], tuple("cadb"), tuple(table.states[v] for v in order)
        )
        completed = imputer.transform(turned)
        assert completed.is_complete
        if mode in ("posterior", *AVERAGING):
            assert np.array_equal(
                completed.codes, imputer.transform(table).codes[:, order]
            )

    def test_a_complete_table_has_no_missingness_to_learn(self, chain):
        full = chain.sample(50, np.random.default_rng(10))
        imputer = Imputer("posterior", replace(HOW, missingness="learned")).fit(full)
        holed = hide(full, "mcar:2", np.random.default_rng(1))
        usual = Imputer("posterior", network=imputer.network).transform(holed)
        assert np.array_equal(imputer.transform(holed).codes, usual.codes)

    @pytest.mark.parametrize(
        "options", [{"mode": "mode"}, {"mode": "mpe", "network": "given"}]
    )
    def test_it_goes_with_learned_networks_only(self, chain, options):
        told = {
            key: chain if value == "given" else value for key, value in options.items()
        }
        with pytest.raises(OptionError, match="leave missingness 'ignored'"):
            Imputer(learning=replace(HOW, missingness="learned"), **told)


def test_the_gain_of_the_own_value_is_a_likelihood_ratio():
    """Against all distributions of observed and of missing cells on a grid."""
    network = BayesianNetwork(
        ("a", "b"), (("n", "y"),) * 2, ((), (0,)),
        (np.array([0.4, 0.6]), np.array([[0.9, 0.1], [0.3, 0.7]])),
    )  # fmt: skip
    table = hide(
        network.sample(80, np.random.default_rng(0)),
        "mnar:9:1",
        np.random.default_rng(1),
    )
    codes = table.codes.copy()
    codes[:, 1] = np.where(codes[:, 1] < 0, 0, codes[:, 1])
    table = replace(table, codes=codes)
    a, b = codes.T
    missing, grid = a < 0, np.linspace(0.001, 0.999, 999)

    def log_likelihood(p, rows):
        given_a = [network.tables[1][k, b[rows]] for k in range(2)]
        if rows is missing:
            return np.log(np.outer(1 - p, given_a[0]) + np.outer(p, given_a[1])).sum(
                axis=1
            )
        counts = np.bincount(a[rows], minlength=2)
        return counts[0] * np.log(1 - p) + counts[1] * np.log(p)

    apart = log_likelihood(grid, ~missing).max() + log_likelihood(grid, missing).max()
    alike = (log_likelihood(grid, ~missing) + log_likelihood(grid, missing)).max()
    nothing = replace(table, codes=np.full((1, 2), -1))
    posteriors = (posterior_cells(network, t) for t in (table, nothing))
    gains = _gains(table, *posteriors, np.array([0]))
    assert gains[0, 1] == pytest.approx(apart - alike - 0.5 * np.log(80), abs=1e-3)


class TestNotAtRandom:
    """Missing cells beside cells hidden at random, of two variables with three states."""

    def is_found(self, seed, beta):
        rng = np.random.default_rng(seed)
        p = np.array([0.5, 0.3, 0.2])
        marginals = np.array([p, p])

        def cells(n, distribution):
            # Noisy sight of the states; the posteriors are biased, and surer than they should be.
            states = rng.choice(3, n, p=distribution)
            seen = np.eye(3)[states] + rng.normal(0, 0.5, (n, 3)) + [0.0, 0.3, 0.0]
            posterior = softmax(1.5 * seen + np.log(p), axis=1)
            return PredictedCells(np.arange(n) % 2, posterior, np.ones(n))

        return is_not_at_random(cells(300, beta), cells(200, p), marginals)

    def test_mar_cells_are_not_flagged_under_wrong_posteriors(self):
        assert sum(self.is_found(seed, [0.5, 0.3, 0.2]) for seed in range(200)) <= 2

    def test_cells_of_mostly_one_state_are_found(self):
        assert sum(self.is_found(seed, [0.1, 0.1, 0.8]) for seed in range(50)) == 50

    def test_cells_of_one_state_twice_as_often_are_found_mostly(self):
        assert sum(self.is_found(seed, [0.3, 0.3, 0.4]) for seed in range(50)) >= 40

    def test_no_cells_give_no_difference(self):
        none = PredictedCells(np.zeros(0, np.int64), np.zeros((0, 3)), np.zeros(0))
        assert not is_not_at_random(none, none, np.full((1, 3), 1 / 3))

    def test_the_statistic_is_that_of_a_general_optimiser(self):
        rng = np.random.default_rng(3)
        posterior, weights = rng.dirichlet([2, 1], 40), rng.uniform(0.5, 2, 40)
        p = np.array([0.6, 0.4])

        def lost(first):
            beta = np.array([first, 1 - first])
            return -float(
                weights @ np.log(posterior / p @ beta) + 5 * p @ np.log(beta / p)
            )

        best = minimize_scalar(lost, bounds=(1e-9, 1 - 1e-9), method="bounded")
        cells = PredictedCells(np.zeros(40, np.int64), posterior, weights)
        beta, gain, with_prior = _drawn_shift(cells, 0, p, 5)
        assert beta[0] == pytest.approx(best.x, abs=1e-4)
        assert with_prior == pytest.approx(-best.fun, abs=1e-6)
        assert gain == pytest.approx(weights @ np.log(posterior / p @ beta))
