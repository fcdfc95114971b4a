import contextlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn.data.dataset import Dataset
from exactlearn.data.missingness import hide, parse_spec, simulate_missingness
from exactlearn.errors import DataError, OptionError
from tests.strategies import datasets

ALL_SPECS = ["mcar:0.3", "mcar:1", "mar:0.2", "mnar:2", "mnar:1:1"]
seeds = st.integers(0, 2**32)


def table(rows=2000, variables=4, seed=0, states=2, missing=0.0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, states, (rows, variables))
    codes[rng.random(codes.shape) < missing] = -1
    return Dataset(
        codes,
        tuple(f"X{k}" for k in range(variables)),
        (tuple(f"s{k}" for k in range(states)),) * variables,
    )


def hidden_by(before, spec, seed=0):
    """Return what was hidden, after checking what every mechanism promises."""
    after = hide(before, spec, np.random.default_rng(seed))
    again = hide(before, spec, np.random.default_rng(seed))
    assert (after.codes == again.codes).all()
    assert (after.names, after.states) == (before.names, before.states)
    kept = after.codes >= 0
    assert (after.codes[kept] == before.codes[kept]).all()
    assert (after.codes[before.codes < 0] == -1).all()
    had_some = (before.codes >= 0).any(axis=0)
    assert (kept.any(axis=0) == had_some).all()
    return (before.codes >= 0) & ~kept


@settings(max_examples=60)
@given(datasets(rows=(3, 30), missing=True), st.sampled_from(ALL_SPECS), seeds)
def test_every_mechanism_only_hides(before, spec, seed):
    with contextlib.suppress(DataError, OptionError):
        hidden_by(before, spec, seed)


@settings(max_examples=60)
@given(datasets(rows=(2, 30)), st.integers(1, 4), st.integers(0, 1), seeds)
def test_mnar_hides_one_value_per_variable_and_leaves_one(before, count, state, seed):
    hidden = hidden_by(before, f"mnar:{count}:{state}", seed)
    cells = (before.codes == state).sum(axis=0)
    assert (before.codes[hidden] == state).all()
    assert (hidden.sum(axis=0) == np.minimum(count, np.maximum(cells - 1, 0))).all()


@settings(max_examples=60)
@given(datasets(rows=(10, 30), states=(2, 2)), seeds)
def test_drawn_values_can_lose_as_many_cells(before, seed):
    hidden = hidden_by(before, "mnar:2", seed)
    assert (hidden.sum(axis=0) == 2).all()
    for variable in range(before.n_variables):
        assert len(set(before.codes[hidden[:, variable], variable])) == 1


def test_both_values_are_drawn():
    before = table(rows=50, variables=1)
    drawn = [before.codes[hidden_by(before, "mnar:3", s)][0] for s in range(200)]
    assert 70 < sum(drawn) < 130


def test_mnar_of_a_rare_value_hides_all_but_one():
    before = Dataset(np.array([[0], [1], [1], [0], [0]]), ("x",), (("a", "b"),))
    assert hidden_by(before, "mnar:2:1").sum() == 1
    assert hidden_by(before, "mnar:5").sum() == 2


def test_mcar_hides_its_share_whatever_the_value():
    before = table()
    hidden = hidden_by(before, "mcar:0.2")
    assert hidden.mean() == pytest.approx(0.2, abs=0.02)
    assert hidden[before.codes == 0].mean() == pytest.approx(0.2, abs=0.03)
    assert (hidden_by(before, "mcar:7").sum(axis=0) == 7).all()
    assert hidden_by(table(missing=0.3), "mcar:0.2").mean() == pytest.approx(
        0.14, abs=0.02
    )


def test_mcar_never_hides_a_whole_column():
    assert (hidden_by(table(rows=3), "mcar:0.999").sum(axis=0) == 2).all()


@pytest.mark.parametrize(("spec", "driver"), [("mar:0.2", 0), ("mar:0.2:X2", 2)])
def test_mar_depends_on_its_driver_alone(spec, driver):
    before = table(rows=20_000, states=3)
    hidden = hidden_by(before, spec)
    assert not hidden[:, driver].any()
    others = np.delete(hidden, driver, axis=1)
    assert others.mean() == pytest.approx(0.2, abs=0.01)
    rates = [others[before.codes[:, driver] == s].mean() for s in range(3)]
    assert rates == pytest.approx([0.1, 0.2, 0.3], abs=0.01)
    values = np.delete(before.codes, driver, axis=1)
    assert [others[values == s].mean() for s in range(3)] == pytest.approx(
        [0.2] * 3, abs=0.01
    )


def test_mar_takes_the_first_complete_variable():
    before = table()
    codes = before.codes.copy()
    codes[5, 0] = -1
    incomplete = Dataset(codes, before.names, before.states)
    assert hidden_by(incomplete, "mar:0.3").sum(axis=0)[1] == 0
    with pytest.raises(DataError, match="'X0', which has missing cells"):
        hide(incomplete, "mar:0.3:X0", np.random.default_rng(0))
    with pytest.raises(DataError, match="there is none"):
        hide(table(missing=0.5), "mar:0.3", np.random.default_rng(0))


@pytest.mark.parametrize(
    "spec",
    [
        "mcra:0.1",
        "mcar",
        "mcar:",
        "mcar:ten",
        "mcar:-1",
        "mcar:0",
        "mcar:1.0",
        "mcar:0.0",
        "mcar:0.1:2",
        "mcar:2:0.1",
        "mar:2",
        "mar:0.1:",
        "mnar:2:yes",
        "mnar:0.1",
        "mnar:2:-1",
        "",
    ],
)
def test_bad_specs_tell_the_forms(spec):
    with pytest.raises(
        OptionError, match=f"'{spec}': expected one of mcar:P, mcar:K, .*mnar:K:S"
    ):
        parse_spec(spec)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("mcar:20", "'X0': it has 20 observed cells"),
        ("mar:0.9", "at most"),
        ("mar:0.1:X", "did you mean"),
        ("mnar:2:2", "'X0' has only the indices 0 to 1"),
    ],
)
def test_too_much_is_refused(spec, message):
    with pytest.raises(OptionError, match=message):
        hide(table(rows=20), spec, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("spec", "graph"),
    [
        ("mcar:0.3", "X0 <-; X1 <-; X2 <-; X3 <-"),
        ("mcar:3", "X0 <-; X1 <-; X2 <-; X3 <-"),
        ("mar:0.2", "X1 <- X0; X2 <- X0; X3 <- X0"),
        ("mar:0.2:X2", "X0 <- X2; X1 <- X2; X3 <- X2"),
        ("mnar:2", "X0 <- X0; X1 <- X1; X2 <- X2; X3 <- X3"),
        ("mnar:2:1", "X0 <- X0; X1 <- X1; X2 <- X2; X3 <- X3"),
    ],
)
def test_a_specification_states_its_graph(spec, graph):
    before = table(rows=5000, states=3)
    found = simulate_missingness(before, spec, np.random.default_rng(8))
    assert str(found.graph) == graph
    assert (
        found.dataset.codes == hide(before, spec, np.random.default_rng(8)).codes
    ).all()
    for name, probabilities in found.tables.items():
        missing = found.dataset.codes[:, before.names.index(name)] == -1
        (cause,) = found.graph.causes[name] or (None,)
        values = 0 if cause is None else before.codes[:, before.names.index(cause)]
        for state, probability in enumerate(probabilities.ravel()):
            assert missing[values == state].mean() == pytest.approx(
                probability, abs=0.05
            )
