"""`learn` against the enumeration of all DAGs, and what it makes of tables as people have them."""

import pickle
import warnings
from itertools import product

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import exactlearn as el
from exactlearn.errors import DataError
from exactlearn.scoring.scores import total_score
from exactlearn.solvers.constraints import MaxParents, RequiredAncestor, Tiers
from exactlearn.structure import selection, structure_search
from tests.brute_force import is_acyclic
from tests.interrupts import press_ctrl_c

NAMES = ("smoke", "lung", "xray", "cough")


def table(seed=0, rows=60, variables=4, share=0.0):
    rng = np.random.default_rng(seed)
    codes = np.empty((rows, variables), np.int64)
    codes[:, 0] = rng.integers(0, 2, rows)
    for v in range(1, variables):
        source = codes[:, rng.integers(0, v)]
        codes[:, v] = np.where(rng.random(rows) < 0.8, source, rng.integers(0, 3, rows))
    codes[rng.random(codes.shape) < share] = -1
    states = (("no", "yes"), *(("no", "some", "yes"),) * (variables - 1))
    return el.Dataset(codes, NAMES[:variables], states)


def frame(data):
    columns = {
        name: pd.Categorical([None if c < 0 else own[c] for c in codes], categories=own)
        for name, own, codes in zip(data.names, data.states, data.codes.T, strict=True)
    }
    return pd.DataFrame(columns)


def dags(n, most):
    sets = [
        [s for s in range(2**n) if not s >> v & 1 and s.bit_count() <= most]
        for v in range(n)
    ]
    for chosen in product(*sets):
        parents = tuple(tuple(p for p in range(n) if s >> p & 1) for s in chosen)
        if is_acyclic(parents):
            yield parents


SCORES = {"bdeu": el.BDeu(), "bic": el.BIC(), "aic": el.AIC()}


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize(("seed", "most"), [(0, 3), (1, 2), (2, None)])
def test_the_optimum_is_that_of_all_dags(score, seed, most):
    data = table(seed)
    found = el.learn(data, score=score, max_parents=most)
    best = max(
        total_score(data, parents, SCORES[score])
        for parents in dags(4, 3 if most is None else most)
    )
    assert found.status == "optimal"
    assert found.score == pytest.approx(best)
    assert found.bound == pytest.approx(best)
    assert found.score == pytest.approx(total_score(data, found.parents, SCORES[score]))
    assert found.completed is found.dataset


@pytest.mark.parametrize("seed", range(3))
def test_a_network_and_a_completion_are_the_best_of_all(seed):
    data = table(seed, rows=12, variables=3, share=0.1)
    found = el.learn(data, ess=1, missing="augment", max_parents=2)
    best = max(
        total_score(data.complete(values), parents, el.BDeu())
        for values in product(
            *(range(data.cardinalities[v]) for _, v in data.missing_cells)
        )
        for parents in dags(3, 2)
    )
    assert found.status == "optimal"
    assert found.score == pytest.approx(best)
    assert total_score(found.completed, found.parents, el.BDeu()) == pytest.approx(best)
    assert "branching" in found.reason


def test_many_missing_cells_are_completed_by_the_climber(monkeypatch):
    monkeypatch.setattr(structure_search, "MAX_PROVEN_CELLS", 2)
    found = el.learn(table(1, share=0.1), missing="augment", ess=1)
    assert found.status == "t-local"
    assert found.bound == np.inf
    assert "too many for a proof" in found.reason
    assert found.completed.is_complete


def test_missing_cells_are_learned_from_as_solve_does():
    data = table(3, rows=150, share=0.1)
    found = el.learn(data, seed=2, ess="auto")
    choice = el.choose_ess(data, seed=2)
    score = el.BDeu(choice.ess)
    counts = el.learned_counts(data, max_parents=3, seed=2).counts
    wanted = el.solve(el.candidate_parent_sets(data, score, counts=counts), seed=2)
    assert (found.parents, found.score) == (wanted.parents, pytest.approx(wanted.score))
    assert found.ess == score.ess
    fitted = el.fit_em(data, wanted.parents).model
    for own, other in zip(found.network.tables, fitted.tables, strict=True):
        np.testing.assert_allclose(own, other)
    values = el.most_probable_completion(found.network, data)
    np.testing.assert_array_equal(found.completed.codes, data.complete(values).codes)
    assert "expected counts" in found.reason
    assert found.ess_choice == choice
    assert choice.reason in found.reason
    assert choice.reason in repr(found)


@pytest.mark.parametrize("name", ["asia", "cancer", "survey"])
def test_one_missing_cell_changes_neither_the_ess_nor_the_arcs(name):
    full = el.read_network(name).sample(300, np.random.default_rng(7))
    codes = full.codes.copy()
    codes[17, 2] = -1
    holed = el.Dataset(codes, full.names, full.states)
    whole, other = el.learn(full), el.learn(holed)
    assert whole.ess == other.ess == 1.0
    assert whole.ess_choice is other.ess_choice is None
    assert whole.cpdag == other.cpdag


def test_counts_that_deletion_estimates_give_the_parameters_too():
    data = table(4, rows=150, share=0.1)
    found = el.learn(data, missing="f-mcar", ess=1)
    fitted = el.fit_deletion(data, found.parents, method="f-mcar", smoothing=0.25).model
    for own, other in zip(found.network.tables, fitted.tables, strict=True):
        np.testing.assert_allclose(own, other)


@pytest.mark.parametrize("share", [0.0, 0.05])
def test_a_frame_and_an_array_give_what_the_dataset_gives(share):
    data = table(5, share=share)
    found = el.learn(data, ess=1)
    by_frame = el.learn(frame(data), ess=1)
    assert by_frame.arcs == found.arcs
    assert by_frame.score == pytest.approx(found.score)
    by_array = el.learn(frame(data).to_numpy(object), ess=1)
    assert by_array.parents == found.parents
    assert by_array.names == ("X0", "X1", "X2", "X3")


def test_arcs_are_given_by_name_or_index():
    data = table(6)
    free = el.learn(data)
    (parent, child), *_ = free.arcs
    by_name = el.learn(data, required=[(child, parent)], forbidden=[("xray", "cough")])
    pair = (NAMES.index(child), NAMES.index(parent))
    by_index = el.learn(data, required=[pair], forbidden=[(2, 3)])
    assert by_name.parents == by_index.parents
    assert (child, parent) in by_name.arcs
    assert ("xray", "cough") not in by_name.arcs
    with pytest.raises(
        el.ExactlearnError, match="required: no variable 'lugn'; did you mean"
    ):
        el.learn(data, required=[("smoke", "lugn")])
    with pytest.raises(el.ExactlearnError, match=r"pass \[\('smoke', 'lung'\)\]"):
        el.learn(data, required="smoke->lung")
    blacklist = pd.DataFrame([("xray", "cough")], columns=["from", "to"])
    assert (
        el.learn(data, required=[pair], forbidden=blacklist).parents == by_index.parents
    )


def test_named_tiers_equal_the_constraint_and_compel_arcs():
    data = table(7)
    order = Tiers(((3,), (2, 1), (0,)))
    tiers = [[NAMES[v] for v in group] for group in order.groups]
    found = el.learn(data, tiers=tiers)
    assert found.arcs
    assert found == el.learn(data, constraints=[order])
    tier = {name: k for k, group in enumerate(tiers) for name in group}
    assert all(tier[a] == tier[b] for a, b in found.reversible)
    for wrong in ({NAMES[0]: 1}, 3, "smoke"):
        with pytest.raises(
            el.ExactlearnError, match="argument 'tiers': expected groups"
        ):
            el.learn(data, tiers=wrong)
    with pytest.raises(
        el.ExactlearnError, match="tiers: no variable 'lugn'; did you mean"
    ):
        el.learn(data, tiers=[["smoke"], ["lugn"]])


def test_constraints_hold_or_are_refused_by_augmentation():
    data = table(7, rows=20, share=0.05)
    order = Tiers(((3,), (2, 1), (0,)))
    for missing in ("expected", "augment"):
        found = el.learn(data, constraints=[order], missing=missing, ess=1)
        assert not order.forbidden_arcs & {
            (p, child) for child, own in enumerate(found.parents) for p in own
        }
    with pytest.raises(el.ExactlearnError, match="cannot be honoured"):
        el.learn(data, constraints=[RequiredAncestor(0, 1)], missing="augment", ess=1)
    with pytest.raises(ValueError, match="smoke"):
        el.learn(data, required=[(0, 1), (1, 0)], ess=1)


class TestColumnsLeftOut:
    def test_they_are_named_with_the_reason_and_warned_of(self):
        rows = frame(table(8))
        rows["place"] = "Ghent"
        rows["nothing"] = None
        rows["partly"] = [None, *["x"] * (len(rows) - 1)]
        with pytest.warns(el.errors.ColumnWarning) as caught:
            found = el.learn(rows, tidy=True)
        assert found.left_out == {
            "place": "constant, every observed cell is 'Ghent'",
            "nothing": "all cells are missing",
            "partly": "constant, every observed cell is 'x'",
        }
        assert len(caught) == 1
        assert caught[0].filename == __file__
        assert found.names == NAMES
        assert found.arcs == el.learn(table(8)).arcs

    def test_a_coded_table_is_not_tidied(self):
        with pytest.raises(
            el.errors.OptionError, match=r"tidy, .* are for a frame or an array"
        ):
            el.learn(table(9), tidy=True)

    def test_arcs_of_them_are_refused_and_a_table_of_them_too(self):
        rows = frame(table(8)).assign(place="Ghent")
        with (
            pytest.warns(el.errors.ColumnWarning),
            pytest.raises(el.ExactlearnError, match="no variable 'place'"),
        ):
            el.learn(rows, required=[("smoke", "place")], tidy=True)
        with pytest.raises(ValueError, match="nothing to learn from"):
            el.learn(rows[["place"]], tidy=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"missing": "guess"}, "missing: found 'guess'"),
        ({"score": "bdue"}, "unknown score 'bdue'"),
        ({"score": el.BDeu(2), "ess": 4}, "ess: the score"),
        ({"score": "bic", "ess": "auto"}, "ess"),
        ({"max_parents": "3"}, "max_parents"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    with pytest.raises(el.ExactlearnError, match=message):
        el.learn(table(), **arguments)


@pytest.mark.parametrize("missing", ["expected", "augment"])
@pytest.mark.parametrize("share", [0.0, 0.1])
def test_without_time_there_is_a_network_and_the_reason(monkeypatch, share, missing):
    monkeypatch.setattr(selection, "MIN_SCORING", 0.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = el.learn(
            table(10, share=share), ess="auto", time_limit=0, missing=missing
        )
    assert [one.category for one in caught] == [el.errors.TimeLimitWarning]
    assert all(one.filename == __file__ for one in caught)
    assert found.status == "feasible"
    assert found.score <= found.bound
    assert len(found.network.tables) == 4
    assert found.completed.is_complete
    assert "stopped" in found.reason


@pytest.mark.parametrize("share", [0.0, 0.1])
def test_ctrl_c_leaves_the_best_so_far(monkeypatch, share):
    def solve(*arguments, **more):
        press_ctrl_c()
        return real(*arguments, **more)

    real = selection.candidate_parent_sets
    monkeypatch.setattr(selection, "candidate_parent_sets", solve)
    found = el.learn(table(11, share=share), ess=1)
    assert found.status == "interrupted"
    assert "Ctrl-C" in found.reason
    assert found.completed.is_complete


def test_the_result_is_a_record_a_frame_and_pickles():
    found = el.learn(table(12))
    record = found.to_dict()
    assert record["parents"] == {
        name: [NAMES[p] for p in own]
        for name, own in zip(NAMES, found.parents, strict=True)
    }
    assert {*found.to_frame().itertuples(index=False, name=None)} == {*found.arcs}
    again = pickle.loads(pickle.dumps(found))
    assert (again.arcs, again.score) == (found.arcs, found.score)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert el.learn(found.dataset).arcs == found.arcs


class TestLog:
    def test_stages_are_logged_and_improvements_in_detail(self, caplog):
        with caplog.at_level("INFO", logger="exactlearn"):
            found = el.learn(table(13, share=0.05), ess="auto")
        stages = [record.getMessage() for record in caplog.records]
        begun = (
            "choosing the equ",
            "scoring the par",
            "choosing among",
            "optimal: score",
            "estim",
        )
        assert [
            text.startswith(start) for text, start in zip(stages, begun, strict=False)
        ] == ([True] * len(begun))
        assert f"{found.score:.10g}" in stages[3]
        assert stages[5].endswith("optimal")
        caplog.clear()
        with caplog.at_level("DEBUG", logger="exactlearn"):
            el.learn(table(13, share=0.05), missing="augment", ess=1)
        details = {record.levelname for record in caplog.records}
        assert details == {"DEBUG", "INFO"}
        assert any("incumbent" in record.getMessage() for record in caplog.records)

    def test_nothing_is_printed_by_default(self, capfd):
        el.learn(table(13))
        assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("maker", ["frame", "array"])
def test_refused_numbers_name_what_takes_the_advised_parameters(maker: str) -> None:
    numbers = (
        np.random.default_rng(1).permutation(200.0 + np.arange(100)).repeat(2)[:, None]
    )
    data = pd.DataFrame(numbers, columns=["a"]) if maker == "frame" else numbers
    advice = r"cut numbers into bins \(Dataset\.from_frame\(frame, discretise="
    with pytest.raises(DataError, match=advice):
        el.fit_complete(data, [()])
    with pytest.raises(DataError, match=r"discretise=.*") as refused:
        el.learn(data)  # which takes what is advised
    assert "Dataset.from" not in str(refused.value)
    assert el.Dataset.from_frame(data, discretise={0: "width:2"}).n_rows == len(data)
    rule = {"*": "frequency:5"}
    table = el.Dataset.from_frame(data, discretise=rule)
    assert table.cardinalities.tolist() == [5]


def test_columns_are_discretised_and_dropped_as_in_from_frame() -> None:
    rng = np.random.default_rng(1)
    age = rng.normal(size=60)
    frame = pd.DataFrame(
        {"age": age, "old": age > 0, "name": [f"n{k}" for k in range(60)]}
    )
    found = el.learn(frame, discretise={"age": "frequency:2"}, drop="name")
    assert found.names == ("age", "old")
    assert len(found.dataset.states[0]) == 2
    assert found.arcs
    cells = frame.drop(columns="name").to_numpy(object)
    by_array = el.learn(cells, discretise={"X0": "frequency:2"})
    assert by_array.score == found.score
    with pytest.raises(el.ExactlearnError, match="for a frame or an array"):
        el.learn(found.dataset, drop=["old"])


@pytest.mark.parametrize(
    ("by_index", "by_name"),
    [
        ({"forbidden": [(1, 2), (2, 1)]}, {"forbidden": [("a", "b"), ("b", "a")]}),
        (
            {"required": [(1, 3)], "constraints": [MaxParents(2, 0)]},
            {"required": [("a", "c")], "constraints": [MaxParents("b", 0)]},
        ),
        ({"tiers": [[3], [2], [1]]}, {"tiers": [["c"], ["b"], ["a"]]}),
    ],
)
def test_indices_count_columns_that_are_left_out(by_index, by_name):
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 100)
    b, c = (np.where(rng.random(100) < share, a, 1 - a) for share in (0.8, 0.9))
    rows = pd.DataFrame({"same": "x", "a": a, "b": b, "c": c})
    expected = el.learn(rows.drop(columns="same"), **by_name).parents
    for given in (rows, rows.to_numpy().astype(str), pa.table(rows)):
        with pytest.warns(el.errors.ColumnWarning):
            assert el.learn(given, **by_index, tidy=True).parents == expected


def test_an_index_of_a_column_that_is_left_out_is_refused():
    rows = frame(table()).assign(same="x")[["same", *NAMES]]
    with (
        pytest.warns(el.errors.ColumnWarning),
        pytest.raises(el.errors.OptionError, match="no variable 'same'"),
    ):
        el.learn(rows, required=[(0, 1)], tidy=True)


def test_nothing_is_proven_where_not_all_parent_sets_were_scored(monkeypatch):
    """It was "optimal" over the candidates, where a tree scored more."""
    monkeypatch.setattr("exactlearn.scoring.candidate_search.DEEPEST", 1)
    table = el.read_dataset("asia-mnar-complete")
    learned = el.learn(table, scoring_time=20)
    assert learned.status == "feasible"
    assert learned.bound == np.inf
    assert "not all parent sets were scored" in learned.reason
    assert el.learn(table, scoring_time=20, max_parents=1).status == "optimal"
