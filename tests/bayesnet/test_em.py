"""EM for the parameters of a network, against the full joint distribution."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from exactlearn._runtime.control import SearchControl
from exactlearn.bayesnet.complete_data import fit_complete, smoothed
from exactlearn.bayesnet.deletion import fit_deletion
from exactlearn.bayesnet.em import NetworkEM, fit_em
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError, OptionError
from tests.bayesnet.test_completing import row_posterior, table_with_holes
from tests.interrupts import press_ctrl_c
from tests.network_oracle import joint, random_network

LECTURE = [
    [0, 0],
    [0, 1],
    [0, 1],
    [-1, 1],
    [-1, 0],
    [-1, 0],
    [1, 0],
    [1, 0],
    [1, 1],
    [1, -1],
]


def lecture_table() -> Dataset:
    return Dataset(np.array(LECTURE), ("A", "B"), (("0", "1"),) * 2)


def lecture_start(table: Dataset) -> BayesianNetwork:
    """Return the parameters of complete-case analysis."""
    rows = table.codes[(table.codes >= 0).all(axis=1)]
    return fit_complete(
        Dataset(rows, table.names, table.states), [(), (0,)], smoothing=0.0
    )


@pytest.fixture(scope="module")
def problem():
    """Return a network, a table with holes, and the network's DAG."""
    rng = np.random.default_rng(1)
    network = random_network(rng, 6)
    return network, table_with_holes(network, rng, 60)


def flat(network: BayesianNetwork) -> np.ndarray:
    return np.concatenate([table.ravel() for table in network.tables])


def expected_counts(
    network: BayesianNetwork, table: Dataset
) -> tuple[np.ndarray, float]:
    """Return the expected counts of all families and the log-likelihood, by enumeration."""
    full, total = joint(network), 0.0
    complete = np.zeros_like(full)
    weights = np.ones(table.n_rows) if table.weights is None else table.weights
    for row, weight in zip(table.codes, weights, strict=True):
        where = tuple(slice(None) if code < 0 else code for code in row)
        complete[where] += weight * row_posterior(full, row)
        total += weight * np.log(full[where].sum())
    axes = range(network.n_variables)
    counts = [
        np.moveaxis(
            complete.sum(axis=tuple(a for a in axes if a not in (*ps, v))),
            np.argsort(np.argsort((*ps, v))),
            range(len(ps) + 1),
        )
        for v, ps in enumerate(network.parents)
    ]
    return np.concatenate([c.ravel() for c in counts]), total


def test_the_lecture_converges_to_its_fixed_point():
    table = lecture_table()
    # Plain EM with the expected counts of all variables, also of barren ones.
    em = NetworkEM(table, [(), (0,)], smoothing=0.0, leaves_out_barren=False)
    states = [em.e_step(0, flat(lecture_start(table)))]
    for k in (1, 2):
        states.append(em.e_step(k, em.m_step(states[-1])))
    # The lecture rounds 0.43333 up to 0.44, and 0.42036 to 0.43.
    seen = [state.parameters[0] for state in states]
    assert seen == pytest.approx([0.5, 0.43333, 0.42036], abs=5e-6)
    result = fit_em(table, [(), (0,)], smoothing=0.0, tolerance=1e-12)
    assert result.converged
    a, b = result.model.tables
    assert a[0] == pytest.approx(0.414712, abs=2e-6)
    assert b[:, 0] == pytest.approx([0.371007, 0.713265], abs=2e-6)
    assert result.log_likelihood == pytest.approx(-10.593572, abs=1e-6)


@pytest.mark.parametrize("seed", range(15))
def test_expected_counts_agree_with_the_full_joint(seed):
    rng = np.random.default_rng(seed)
    network = random_network(rng, int(rng.integers(1, 7)))
    holes = table_with_holes(network, rng, 15)
    table = Dataset(holes.codes, holes.names, holes.states, weights=rng.random(15) * 3)
    em = NetworkEM(table, network.parents, smoothing=0.5, leaves_out_barren=False)
    state = em.e_step(0, flat(network))
    counts, log_likelihood = expected_counts(network, table)
    np.testing.assert_allclose(state.counts, counts, atol=1e-9)
    assert state.log_likelihood == pytest.approx(log_likelihood, rel=1e-9)
    fewer = NetworkEM(table, network.parents, smoothing=0.5).e_step(0, flat(network))
    assert fewer.log_likelihood == pytest.approx(log_likelihood, rel=1e-9)
    np.testing.assert_allclose(fewer.counts, without_barren(network, table), atol=1e-9)


def without_barren(network: BayesianNetwork, table: Dataset) -> np.ndarray:
    """Return the expected counts without barren variables, row by row, by enumeration."""
    ends, total = np.cumsum([t.size for t in network.tables])[:-1], 0.0
    for k in range(table.n_rows):
        barren: set[int] = set()
        for v in reversed(network.order):
            children = {c for c, ps in enumerate(network.parents) if v in ps}
            if table.codes[k, v] < 0 and children <= barren:
                barren.add(v)
        row = Dataset(
            table.codes[[k]], table.names, table.states, weights=table.weights[[k]]
        )
        own = np.split(expected_counts(network, row)[0], ends)
        total = total + np.concatenate(
            [0.0 * t if v in barren else t for v, t in enumerate(own)]
        )
    return total


def configuration_counts(counts, network):
    """Return the expected count of each parameter's parent configuration."""
    ends = np.cumsum([table.size for table in network.tables])[:-1]
    return np.concatenate(
        [
            np.repeat(own.reshape(-1, table.shape[-1]).sum(axis=1), table.shape[-1])
            for own, table in zip(np.split(counts, ends), network.tables, strict=True)
        ]
    )


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.3, 1.0]))
@example(1052, 0.0)
def test_the_objective_never_falls(seed, smoothing):
    rng = np.random.default_rng(seed)
    network = random_network(rng, 5)
    table = table_with_holes(network, rng, 25)
    result = fit_em(
        table, network.parents, smoothing=smoothing, starts=2, seed=seed, iterations=40
    )
    gains = np.diff(result.objectives)
    assert (gains >= -1e-9 * abs(result.objectives[0])).all()
    assert smoothing > 0 or result.objectives == result.log_likelihoods
    counts, log_likelihood = expected_counts(result.model, table)
    assert result.log_likelihood == pytest.approx(log_likelihood, rel=1e-9)
    if result.converged:
        again = NetworkEM(table, network.parents, smoothing).maximise(counts)
        fitted = np.concatenate([t.ravel() for t in result.model.tables])
        # in counts: where next to no row is expected, parameters move far for next to no gain
        assert (
            np.abs(again - fitted) * configuration_counts(counts, result.model)
        ).max() < 0.05


def test_complete_rows_need_one_step():
    network = random_network(np.random.default_rng(4), 5)
    table = network.sample(50, np.random.default_rng(5))
    result = fit_em(table, network.parents, smoothing=0.7)
    expected = fit_complete(table, network.parents, smoothing=0.7)
    for found, wanted in zip(result.model.tables, expected.tables, strict=True):
        np.testing.assert_allclose(found, wanted)
    assert result.log_likelihood == pytest.approx(expected.log_likelihood(table))


def test_order_and_repetition_of_rows_do_not_matter(problem):
    network, table = problem
    first = fit_em(table, network.parents, iterations=20)
    rows = np.random.default_rng(0).permutation(np.repeat(np.arange(table.n_rows), 2))
    halves = np.full(len(rows), 0.5)
    again = Dataset(table.codes[rows], table.names, table.states, weights=halves)
    second = fit_em(again, network.parents, iterations=20)
    np.testing.assert_allclose(second.objectives, first.objectives, rtol=1e-10)


def latent_class() -> tuple[BayesianNetwork, Dataset]:
    """Return a network with one root, and rows that do not observe it."""
    rng = np.random.default_rng(2)
    truth = BayesianNetwork(
        ("class", "x", "y", "z"),
        (("a", "b"),) * 4,
        ((), (0,), (0,), (0,)),
        (np.array([0.4, 0.6]), *[np.array([[0.9, 0.1], [0.2, 0.8]])] * 3),
    )
    codes = truth.sample(2000, rng).codes.copy()
    codes[:, 0] = -1
    return truth, Dataset(codes, truth.names, truth.states)


def test_a_variable_that_no_row_observes_gets_random_starts():
    truth, table = latent_class()
    one = fit_em(table, truth.parents, smoothing=0.0, starts=1)
    assert (one.symmetric, len(one.starts), one.converged) == (("class",), 1, True)
    several = fit_em(table, truth.parents, smoothing=0.0)
    assert (several.symmetric, len(several.starts)) == (("class",), 5)
    assert several.log_likelihood > one.log_likelihood + 100
    likelier = np.sort(several.model.tables[1][:, 0])
    assert likelier == pytest.approx([0.2, 0.9], abs=0.06)


def test_one_start_is_enough_where_it_tells_the_states_apart(problem):
    network, table = problem
    found = fit_em(table, network.parents, iterations=2)
    assert (found.symmetric, len(found.starts)) == ((), 1)
    hidden = table.codes.copy()
    hidden[:, 0] = -1
    table = Dataset(hidden, table.names, table.states)
    assert fit_em(table, network.parents, iterations=2).symmetric == (table.names[0],)
    assert len(fit_em(table, network.parents, start=network, iterations=2).starts) == 1
    alone = [()] * network.n_variables
    assert len(fit_em(table, alone, iterations=2).starts) == 1  # nothing depends on it


def plain_em(
    em: NetworkEM, parameters: np.ndarray, tolerance: float
) -> tuple[float, int]:
    """Return the objective that plain steps reach, and how many E-steps they took."""
    state, gain = em.e_step(0, parameters), np.inf
    while gain > tolerance * em.total_weight:
        following = em.e_step(state.iteration + 1, em.m_step(state))
        gain, state = following.objective - state.objective, following
    return state.objective, state.iteration + 1


@pytest.mark.parametrize("smoothing", [0.0, 1.0])
def test_accelerated_em_ends_no_lower_with_fewer_e_steps(smoothing, monkeypatch):
    truth, table = latent_class()
    em, count = NetworkEM(table, truth.parents, smoothing), []
    near = [0.7 * np.full(t.shape, 0.5) + 0.3 * t for t in truth.tables]
    first = BayesianNetwork(truth.names, truth.states, truth.parents, tuple(near))
    start = np.concatenate([t.ravel() for t in near])
    objective, plain_steps = plain_em(em, start, 1e-6)
    best, _ = plain_em(em, start, 1e-10)
    e_step = NetworkEM.e_step
    monkeypatch.setattr(
        NetworkEM, "e_step", lambda *args: count.append(1) or e_step(*args)
    )
    found = fit_em(table, truth.parents, smoothing=smoothing, start=first, starts=1)
    monkeypatch.undo()
    assert found.converged
    assert found.objectives[-1] >= objective
    assert found.objectives[-1] == pytest.approx(best, abs=1e-4 * table.n_rows)
    assert 1.5 * len(count) < plain_steps


def test_the_same_seed_gives_the_same_network(problem):
    network, table = problem
    a, b = (
        fit_em(table, network.parents, starts=3, seed=9, iterations=5) for _ in "ab"
    )
    assert a.objectives == b.objectives
    assert not a.converged
    assert a.iterations == 5


def test_a_start_may_have_another_order(problem):
    network, table = problem
    turned = table_of_other_order(network)
    a, b = (
        fit_em(table, network.parents, start=s, iterations=3) for s in (network, turned)
    )
    assert turned.names != network.names
    np.testing.assert_allclose(b.objectives, a.objectives, rtol=1e-12)


def table_of_other_order(network: BayesianNetwork) -> BayesianNetwork:
    """Return a network with variables, states and parents in the opposite order."""
    last, flip = network.n_variables - 1, (slice(None, None, -1),)
    families = [
        tuple(last - p for p in reversed(ps)) for ps in reversed(network.parents)
    ]
    tables = [
        np.moveaxis(t.transpose()[flip * t.ndim], 0, -1) if t.ndim else t
        for t in reversed(network.tables)
    ]
    names, states = (
        network.names[::-1],
        tuple(s[::-1] for s in reversed(network.states)),
    )
    return BayesianNetwork(names, states, tuple(families), tuple(tables))


@pytest.mark.parametrize("method", ["cca", "f-mar", "d-mcar"])
@pytest.mark.parametrize("smoothing", [0.0, 0.25, 2.0])
def test_it_starts_from_a_deletion_estimate(method, smoothing):
    """Iteration 0 is the estimate itself, where all rows are possible under it."""
    rng = np.random.default_rng(5)
    codes = np.vstack(
        (np.indices((2, 2, 2)).reshape(3, -1).T, rng.integers(0, 2, (40, 3)))
    )
    codes[8:][
        rng.random((40, 3)) < 0.2
    ] = -1  # every configuration has a row without missing cells
    table, parents = (
        Dataset(codes, ("a", "b", "c"), (("n", "y"),) * 3),
        [(), (0,), (0, 1)],
    )
    start = fit_deletion(table, parents, method=method, smoothing=smoothing)
    found = fit_em(table, parents, start=start, smoothing=smoothing, iterations=0).model
    np.testing.assert_array_equal(flat(found), flat(start.model))


def test_an_e_step_ends_with_the_limit(problem, monkeypatch):
    network, table = problem
    whole = fit_em(table, network.parents, iterations=3)
    monkeypatch.setattr("exactlearn.bayesnet.em.BLOCK_WORK", 2000.0)
    np.testing.assert_allclose(
        fit_em(table, network.parents, iterations=3).objectives,
        whole.objectives,
        rtol=1e-12,
    )
    cut = fit_em(table, network.parents, time_limit=0.0)
    assert np.isnan(cut.log_likelihoods).all()
    assert (cut.iterations, cut.is_complete, cut.converged) == (0, False, False)
    first = fit_em(table, network.parents, iterations=0).model
    np.testing.assert_array_equal(flat(cut.model), flat(first))
    with SearchControl().running():
        second = fit_em(table, network.parents, on_iteration=press_ctrl_c)
    assert second.objectives == pytest.approx(whole.objectives[:1])


def test_rows_without_weight_do_not_count(problem):
    network, table = problem
    weights = np.ones(table.n_rows)
    weights[30:] = 0.0
    part = Dataset(table.codes, table.names, table.states, weights=weights)
    half = Dataset(table.codes[:30], table.names, table.states)
    a = fit_em(part, network.parents, iterations=5)
    b = fit_em(half, network.parents, iterations=5)
    np.testing.assert_allclose(a.objectives, b.objectives)


def test_what_cannot_be_fitted_is_refused():
    table = lecture_table()
    with pytest.raises(OptionError, match="'starts': expected a whole number from 1"):
        fit_em(table, [(), ()], starts=0)
    with pytest.raises(OptionError, match="'smoothing': expected a number from 0"):
        fit_em(table, [(), ()], smoothing=-1)
    with pytest.raises(OptionError, match="cycle"):
        fit_em(table, [(1,), (0,)])
    with pytest.raises(DataError, match="different indices"):
        fit_em(table, [(0,), ()])
    with pytest.raises(OptionError, match="the same parents"):
        fit_em(table, [(), ()], start=lecture_start(table))
    nothing = Dataset(table.codes, table.names, table.states, weights=np.zeros(10))
    with pytest.raises(DataError, match="no rows of positive weight"):
        fit_em(nothing, [(), ()])
    sure = smoothed(np.array([1.0, 0.0]), 0.0)
    never = np.array([[1.0, 0.0], [1.0, 0.0]])
    start = BayesianNetwork(
        table.names, table.states, ((), (0,)), (np.array([0.5, 0.5]), never)
    )
    with pytest.raises(DataError, match=r"row 2 \(index 1\): the observed cells"):
        fit_em(table, [(), (0,)], start=start)
    start = BayesianNetwork(table.names, table.states, ((), ()), (sure, sure))
    with pytest.raises(DataError, match=r"row 2 \(index 1\): the observed cells"):
        fit_em(table, [(), ()], start=start)
