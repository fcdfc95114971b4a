import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn.bayesnet.network import BayesianNetwork, draw
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError, OptionError
from exactlearn.formats.bif import read_bif
from exactlearn.instances import path
from tests.network_oracle import joint, random_network

STATES = (("no", "yes"), ("low", "mid", "high"))
TABLES = (np.array([0.25, 0.75]), np.array([[0.5, 0.5, 0.0], [0.1, 0.2, 0.7]]))


def make(**changes) -> BayesianNetwork:
    fields = {
        "names": ("a", "b"),
        "states": STATES,
        "parents": ((), (0,)),
        "tables": TABLES,
    }
    return BayesianNetwork(**(fields | changes))


@pytest.fixture(scope="module")
def asia() -> BayesianNetwork:
    return read_bif(path("asia.bif"))


def test_sizes_and_arcs_of_asia(asia):
    assert asia.representational_size == 18
    assert asia.cardinalities.tolist() == [2] * 8
    assert len(asia.arcs) == 8
    assert ("either", "dysp") in asia.arcs
    assert asia.state_index(asia.index("dysp"), "no") == 1


def test_unknown_names_get_a_suggestion(asia):
    with pytest.raises(OptionError, match="did you mean 'smoke'"):
        asia.index("smoker")
    with pytest.raises(
        OptionError, match="'lung' has no state 'maybe'; expected one of 'yes'"
    ):
        asia.state_index(asia.index("lung"), "maybe")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"names": ("a",)}, "one entry a variable"),
        ({"names": ("a", "a")}, "variables have the name 'a'"),
        ({"states": (("no", "no"), STATES[1])}, "has the state 'no' twice"),
        ({"states": (STATES[0], ())}, "'b' has 0 states"),
        ({"parents": ((), (2,))}, "different indices from 0 to 1"),
        ({"parents": ((), (-1,))}, "different indices from 0 to 1"),
        ({"parents": ((), (1,))}, "other than its own"),
        ({"parents": ((), (0, 0))}, "must be different"),
        (
            {"tables": (TABLES[0], TABLES[1].T)},
            r"shape \(2, 3\).*found float64 \(3, 2\)",
        ),
        ({"tables": (TABLES[0].astype(np.float32), TABLES[1])}, "found float32"),
        (
            {"tables": (TABLES[0], TABLES[1] * 1.00001)},
            "given a=no: .* sum to one within 1e-06",
        ),
        ({"tables": (np.array([1.5, -0.5]), TABLES[1])}, "probabilities >= 0"),
        ({"tables": (np.array([np.nan, 1.0]), TABLES[1])}, "variable 'a'"),
    ],
)
def test_inconsistent_fields_are_refused(changes, message):
    with pytest.raises(DataError, match=message):
        make(**changes)


def test_a_cycle_is_refused_by_name():
    tables = (np.full((3, 2), 0.5), TABLES[1])
    with pytest.raises(OptionError, match=r"a -> b -> a|b -> a -> b"):
        make(parents=((1,), (0,)), tables=tables)


def test_rows_are_kept_as_given():
    table = np.array([0.3333333, 0.6666669])
    assert make(tables=(table, TABLES[1])).tables[0] is table


def every_row(network: BayesianNetwork) -> Dataset:
    codes = np.array(list(np.ndindex(*network.cardinalities)), np.int8)
    return Dataset(codes, network.names, network.states)


@given(st.integers(0, 10**6), st.integers(1, 5))
@settings(max_examples=40)
def test_row_likelihoods_are_the_joint(seed, n):
    network = random_network(np.random.default_rng(seed), n)
    full = joint(network)
    assert full.sum() == pytest.approx(1)
    rows = network.log_likelihood_rows(every_row(network))
    np.testing.assert_allclose(np.exp(rows), full.ravel(), rtol=1e-12, atol=1e-300)


@given(st.integers(0, 10**6))
@settings(max_examples=20)
def test_columns_states_and_weights_are_matched(seed):
    rng = np.random.default_rng(seed)
    network = random_network(rng, 4)
    data = network.sample(20, rng)
    expected = network.log_likelihood_rows(data)
    columns = rng.permutation(4)
    orders = [rng.permutation(len(s)) for s in network.states]
    shuffled = Dataset(
        np.stack([np.argsort(orders[v])[data.codes[:, v]] for v in columns], 1).astype(
            np.int8
        ),
        (*(network.names[v] for v in columns),),
        tuple(tuple(network.states[v][k] for k in orders[v]) for v in columns),
        weights=rng.random(20),
    )
    np.testing.assert_array_equal(network.aligned_codes(shuffled), data.codes)
    np.testing.assert_array_equal(network.log_likelihood_rows(shuffled), expected)
    assert network.log_likelihood(shuffled) == pytest.approx(
        shuffled.weights @ expected
    )
    assert network.log_likelihood(data) == pytest.approx(expected.sum())


def test_impossible_rows_have_minus_infinity_at_any_weight():
    network = make()
    data = Dataset(np.array([[0, 2], [1, 2]], np.int8), network.names, STATES)
    assert network.log_likelihood_rows(data).tolist() == [
        -np.inf,
        np.log(0.75) + np.log(0.7),
    ]
    assert network.log_likelihood(data) == -np.inf
    weighted = Dataset(data.codes, data.names, STATES, weights=np.array([0.0, 2.0]))
    assert network.log_likelihood(weighted) == pytest.approx(
        2 * (np.log(0.75) + np.log(0.7))
    )


def test_mismatched_data_is_refused():
    network = make()
    with pytest.raises(DataError, match=r"no column 'b'.*expected one of 'a'"):
        network.log_likelihood(Dataset(np.zeros((1, 1), np.int8), ("a",), (STATES[0],)))
    states = (STATES[0], ("low", "hihg"))
    data = Dataset(np.array([[0, 0], [0, 1]], np.int8), network.names, states)
    with pytest.raises(
        DataError,
        match=r"'b', row 2 \(index 1\): .* no state 'hihg'; did you mean 'high'",
    ):
        network.log_likelihood(data)
    unused = Dataset(data.codes[:1], data.names, states)
    assert network.log_likelihood(unused) == pytest.approx(np.log(0.125))
    hole = Dataset(np.array([[0, -1]], np.int8), network.names, STATES)
    assert network.aligned_codes(hole).tolist() == [[0, -1]]
    assert network.log_likelihood(hole) == pytest.approx(
        np.log(joint(network)[0].sum())
    )


def test_likelihood_agrees_with_pyagrum(asia, pyagrum):
    other = pyagrum.loadBN(str(path("asia.bif")))
    data = asia.sample(50, np.random.default_rng(4))
    rows = asia.log_likelihood_rows(data)
    for row, codes in zip(rows, data.codes, strict=True):
        instantiation = other.completeInstantiation()
        instantiation.fromdict(
            {v: s[c] for v, s, c in zip(asia.names, asia.states, codes, strict=True)}
        )
        # Its reader keeps probabilities in single precision.
        assert np.exp(row) == pytest.approx(
            other.jointProbability(instantiation), rel=1e-6
        )


@pytest.mark.parametrize("seed", range(3))
def test_samples_follow_the_joint(seed):
    rng = np.random.default_rng(seed)
    network = random_network(rng, 4)
    rows = 40_000
    data = network.sample(rows, rng)
    assert data.codes.dtype == np.int8
    assert data.codes.flags.c_contiguous
    full = joint(network)
    seen = np.zeros(full.shape)
    np.add.at(seen, tuple(data.codes.T), 1 / rows)
    assert not seen[full < 1e-11].any()
    # Six standard errors in each of at most 81 cells.
    assert (abs(seen - full) <= 6 * np.sqrt(full * (1 - full) / rows) + 1e-9).all()


def test_same_seed_same_rows(asia):
    first, second = (asia.sample(30, np.random.default_rng(7)) for _ in range(2))
    assert first.codes.tobytes() == second.codes.tobytes()
    assert asia.sample(0, np.random.default_rng(7)).codes.shape == (0, 8)
    with pytest.raises(OptionError, match="'rows': expected a whole number from 0"):
        asia.sample(-1, np.random.default_rng(7))


def test_many_states_need_wider_codes():
    states = tuple(f"s{k}" for k in range(200))
    network = BayesianNetwork(("a",), (states,), ((),), (np.full(200, 1 / 200),))
    data = network.sample(2000, np.random.default_rng(0))
    assert data.codes.dtype == np.int16
    assert data.codes.max() > 127


def test_what_has_probability_zero_is_never_drawn():
    rng = np.random.default_rng(1)
    table = rng.random((5, 4)) * (rng.random((5, 4)) < 0.6)
    table[:, 1] += 0.1
    cumulative = table.cumsum(axis=1)
    configuration = rng.integers(0, 5, 500)
    uniform = np.concatenate([rng.random(498), [0.0, np.nextafter(1, 0)]])
    drawn = np.empty(500, np.int16)
    draw(cumulative, configuration, uniform, drawn)
    assert (table[configuration, drawn] > 0).all()
