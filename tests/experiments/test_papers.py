"""A tiny run of each kind of table, against what the paper's model or method must satisfy."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

import exactlearn as el
import experiments.structural_em as incomplete
from experiments import (
    choices,
    completions,
    deletion,
    equivalence,
    generators,
    mechanisms,
    pdg_sem,
    sources,
    thesis,
)
from experiments.runner import Grid

GRID = Grid("toy", {"columns": {}, "tests": {}})


@pytest.fixture
def data(tmp_path):
    """A folder of public data with three small tables."""
    rng = np.random.default_rng(0)
    (tmp_path / "uci").mkdir()
    rows = [
        f"M,{','.join(f'{x:.3f}' for x in rng.random(7))},{k % 7}" for k in range(90)
    ]
    pd.Series(rows).to_csv(
        tmp_path / "uci" / "abalone.data.gz", index=False, header=False, sep=";"
    )
    codes = rng.integers(0, 3, (60, 4))
    text = "\n".join(",".join("?ny"[c] for c in row) for row in codes)
    for name in ("house-votes-84.data", "SPECT.train", "SPECT.test"):
        (tmp_path / "uci" / name).write_text(text, "utf-8")
    return str(tmp_path)


@pytest.fixture
def few_rows(monkeypatch):
    monkeypatch.setattr(thesis, "TRAIN_ROWS", 600)
    monkeypatch.setattr(thesis, "TEST_ROWS", 100)


@pytest.mark.parametrize(
    "method",
    ["t-local", "structural-em-hard", "posterior-average", completions.GENERATING],
)
def test_cells_of_a_network_are_completed(method):
    how = {"seed": 0, "data": "", "source": "cancer", "rows": 60, "hidden": "mcar:2"}
    row = completions.augmentation(method=method, **how)
    assert (0 <= row["accuracy"] <= 100, row["cells"]) == (True, 10)
    assert row["shd"] == 0 if method == completions.GENERATING else row["shd"] <= 10


def test_labels_of_one_state_are_hidden_and_classified():
    pytest.importorskip("sklearn")
    how = {"method": "svm-rbf", "seed": 0, "data": "", "source": "cancer", "rows": 90}
    row = completions.augmentation(hidden="labels:Smoker:9:True", **how)
    full, table = completions._drawn("cancer", "labels:Smoker:9:True", 90, 0, "")
    assert row["cells"] == len(table.missing_cells) == 9
    rows, column = table.missing_cells[:, 0], full.names.index("Smoker")
    assert {full.states[column][c] for c in full.codes[rows, column]} == {"True"}


def test_imputers_complete_the_same_cells_and_are_ranked(data):
    how = {
        "seed": 1,
        "data": data,
        "table": "abalone",
        "hidden": "mcar:0.2",
        "rows": 60,
    }
    found = [
        completions.imputers(method=method, **how) for method in ("mode", "posterior")
    ]
    row = found[0]
    assert found[1]["cells"] == row["cells"]
    assert sum(row["losses"]) / row["cells"] == pytest.approx(row["log_loss"], abs=1e-3)
    better = found[0] | {
        "losses": (np.array(found[0]["losses"]) / 2).tolist(),
        "log_loss": 0.5,
    }
    same = {"case": "abalone", "seed": 1, "seconds": 1.0}
    rows = [
        {**same, "method": "mode", **found[0]},
        {**same, "method": "better", **better},
    ]
    tables = completions.verdicts(GRID, pd.DataFrame(rows))
    assert tables["verdicts"].loc["abalone"].tolist()[::2] == ["better", "better"]
    assert tables["means"].loc["better", "log_loss"] == 0.5


def test_the_test_by_rows_has_its_level_and_holm_is_step_by_step():
    rng = np.random.default_rng(0)
    rejected = [completions.sign_test(rng.normal(size=40)) < 0.05 for _ in range(1000)]
    assert np.mean(rejected) == pytest.approx(0.05, abs=0.025)
    assert completions.sign_test(np.full(20, 0.5)) < 1e-3
    assert completions.holm([0.5, 0.01, 0.9]) == [1.0, 0.03, 1.0]


def test_public_sets_are_prepared_and_counted(data):
    table = sources.public_set("abalone", data, np.random.default_rng(0), 50)
    assert (table.codes.shape, set(table.cardinalities)) == (
        (50, 8),
        {5},
    )  # X0 is constant
    assert sum(part.n_rows for part in sources.thesis_split("Abalone", data, 0)) == 90
    assert sources.table("SPECT", data).n_rows == 120
    assert set(sources.HALVES["development"]).isdisjoint(sources.HALVES["test"])
    with pytest.raises(FileNotFoundError, match="--data-dir"):
        sources.network("alarm", data)
    row = thesis.counted(method="", seed=0, data=data, table="Abalone")
    assert row["entropy"] == pytest.approx(np.log(90))
    rows = thesis.smoothing(method="", seed=0, data=data, table="Abalone")
    (chosen, *_) = thesis.smoothing_choices(GRID, pd.DataFrame(rows))["choices"][
        "pseudo_count"
    ]
    assert chosen in thesis.PSEUDO_COUNTS


@pytest.mark.parametrize("method", ["EM-1", "F-MAR + EM", "D-MCAR", "IF-MAR"])
def test_fire_alarm_parameters_have_both_pseudo_counts(method):
    how = {"network": "fire alarm", "rows": 500, "hidden": "random-mar:0.3:2:0.5:1.0:3"}
    rows = deletion.parameters(
        method=method, seed=0, data="", limit=60.0, divergence=True, **how
    )
    assert [row["label"] for row in rows] == ["pseudo-count 1", "pseudo-count 0.25"]
    assert 0.5 > rows[0]["kl"] != rows[1]["kl"] > 0


def test_no_start_on_the_four_cycle_exceeds_the_optimum(monkeypatch):
    monkeypatch.setattr(equivalence, "COPIES", 2)
    monkeypatch.setattr(equivalence, "STARTS", 4)
    rows = []
    how = {
        "data": "",
        "source": "",
        "marginals": (0.22, 0.35),
        "rows": 2000,
        "max_parents": 3,
    }
    for method, seed in product(("exact", "ges 1", "ges 2", "kes 0.5"), (0, 1)):
        found = equivalence.starts(method=method, seed=seed, **how)
        rows += [
            {"case": "toy", "method": method, "seed": seed, **row} for row in found
        ]
    found = equivalence.scores(GRID, pd.DataFrame(rows))["starts"].droplevel("case")
    assert found["starts"].tolist() == [1, 1, 1, 8]
    assert (found["best"] <= found.loc["exact", "best"] + 1e-6).all()


METHODS = (
    "structural-em",
    "structural-em-hard",
    "expected",
    "counts f-mcar",
    "t-local",
    "mode",
)


@pytest.mark.parametrize("method", METHODS)
def test_a_structure_is_learned_and_judged(method):
    how = {"network": "cancer", "rows": 120, "hidden": "mcar:0.1", "max_parents": 2}
    row = incomplete.structures(method=method, seed=0, data="", **how)
    assert 0 <= row["cpdag_shd"] <= 10
    assert -0.5 < row["log_likelihood"] < 0.01


def test_methods_are_behind_the_best_on_incomplete_rows():
    """A method that learns from the complete table is no baseline."""
    likelihoods = {"em": (-1.0, -2.0), "mode": (-1.2, -1.5), "complete": (-0.5, -1.0)}
    same = {"rows": 5, "hidden": "h", "ess": 1.0, "seed": 0}
    rows = [
        {**same, "network": n, "method": m, "log_likelihood": x}
        for m, values in likelihoods.items()
        for n, x in zip("ab", values, strict=True)
    ]
    behind = incomplete.shortfalls(GRID, pd.DataFrame(rows))["shortfalls"].droplevel(
        [0, 1, 2]
    )
    assert behind.loc["em", ["behind", "most", "close"]].tolist() == pytest.approx(
        [0.25, 0.5, 1]
    )
    fewer = pd.DataFrame(rows[:-1])  # a table that 'complete' lacks counts for none
    behind = incomplete.shortfalls(GRID, fewer)["shortfalls"].droplevel([0, 1, 2])
    assert behind.loc["em", ["n", "behind"]].tolist() == [1, 0.0]


def test_structural_em_of_decision_graphs_beside_its_rivals(monkeypatch, data):
    for name, number in (("TEST_ROWS", 200), ("ROWS", 80), ("FOLDS", 2)):
        monkeypatch.setattr(pdg_sem, name, number)
    rows = []
    methods = (
        "PDG",
        "available",
        "complete",
        "first model",
        "true tree",
        "NB",
        "generating model",
    )
    for method, seed in product(methods, (0, 1)):
        how = {"variables": 5, "rows": 250, "share": 0.1}
        (row,) = pdg_sem.random_graph(method=method, seed=seed, data="", **how)
        rows.append({"method": method, "seed": seed, **how, **row})
    found = pdg_sem.tests(GRID, pd.DataFrame(rows))["tests"]
    assert found[["better", "level", "worse"]].sum(axis=1).eq(1).all()
    assert pdg_sem.dense(method="PDG", seed=0, data="", share=0.1)["size"] > 13
    assert (
        pdg_sem.left_out(method="BN", seed=0, data=data, table="house-votes-84")[0][
            "size"
        ]
        > 3
    )


def test_random_graphs_are_valid_and_logic1_has_its_size(few_rows):
    for seed in range(5):
        graph = generators.random_decision_graph(7, np.random.default_rng(seed))
        graph.check()
        assert generators.drawn(graph, 9, np.random.default_rng(0)).n_rows == 9
    row = thesis.logic(method="given forest", seed=0, data="", table="Logic1")
    assert (row["size"], row["train"]) == (46, pytest.approx(-4 * np.log(2), abs=0.05))
    assert (
        thesis.logic(method="learned forest", seed=0, data="", table="Logic2")["size"]
        >= 18
    )
    assert thesis.logic(method="true model", seed=0, data="", table="Rnd5")["test"] < 0


def test_languages_and_hybrids_of_a_relation(few_rows):
    rows = [
        {"case": "Logic2", "method": method, "seed": 0, **row}
        for method in ("PDG", "BN", "true model")
        for row in thesis.languages(method=method, seed=0, data="", table="Logic2")
    ]
    found = thesis.choices(
        Grid("toy", {"columns": {"size": 0, "test": 3}}), pd.DataFrame(rows)
    )
    assert found["chosen"].loc[("Logic2", "PDG, BIC"), "size"] == 18
    assert found["dominance"].loc[("Logic2", "test"), "best"] == "PDG"
    bn, pdg = thesis.hybrid(method="", seed=0, data="", table="Logic1", kind="BIC")
    assert pdg["train"] >= bn["train"] - 1e-9
    assert pdg["dominates"] == (pdg["size"] <= bn["size"])


def test_choices_are_judged_by_other_rows_beside_fixed_ones(data):
    how, rows = {"seed": 0, "data": data, "rows": 80}, []
    for m in ("auto", "1", "BIC"):
        found = choices.sample_size(method=m, table="abalone", **how)
        rows.append({"case": "abalone", "seed": 0, "method": m, **found})
    found = choices.losses(Grid("toy", {"fixed": ["1"]}), pd.DataFrame(rows))["losses"]
    assert found.loc["1", "mean loss"] == 0
    assert choices.smoothing(method="auto", table="cancer", **how)["chosen"] > 0
    found = choices.strengths(method="1", table="cancer", samples=4, **how)
    assert [sum(row[key] for row in found) for key in ("number", "true")] == [
        20 + 10,
        4 + 4,
    ]


def test_a_model_class_dominates_if_likelier_at_every_size():
    points = {
        "bn": [(2, -3.5), (4, -3.2)],
        "nb": [(2, -4.5), (4, -4.2)],
        "pdg": [(1, -2.0), (4, -1.0)],
    }
    curves = {
        key: pd.DataFrame(own, columns=["size", "test"]) for key, own in points.items()
    }
    best, worst = (thesis.dominating(curves, "test", sign) for sign in (1, -1))
    assert (best, worst) == ("pdg", "nb")
    curves["pdg"].loc[1, "size"], curves["pdg"].loc[0, "test"] = 5, -3.4
    assert thesis.dominating(curves, "test") == ""


def table_of(rows, variables):
    codes = np.random.default_rng(0).integers(0, 3, (rows, variables))
    names = tuple(f"X{k}" for k in range(variables))
    return el.Dataset(codes, names, (("a", "b", "c"),) * variables)


def test_random_mar_draws_causes_from_separators_and_neighbours():
    rng = np.random.default_rng(0)
    unrelated = [()] * 20
    spec = "random-mar:0.8:2:0.5:0.5:3"
    incomplete, graph = mechanisms.hide_cells(table_of(50, 20), spec, rng, unrelated)
    assert len(graph.causes) == 16
    assert {*np.unique(incomplete.missing_cells[:, 1])} <= {
        int(v[1:]) for v in graph.causes
    }
    assert len({u for causes in graph.causes.values() for u in causes}) == 3
    with pytest.raises(ValueError, match="take fewer"):
        mechanisms.hide_cells(
            table_of(50, 4), "random-mar:0.5:3:1:1", rng, unrelated[:4]
        )


@pytest.mark.parametrize("seed", range(20))
def test_random_mar_prefers_observed_neighbours_as_causes(seed):
    rng = np.random.default_rng(seed)
    share, n_causes = round(rng.uniform(0, 0.7), 2), int(rng.integers(0, 3))
    full, spec = table_of(5, 8), f"random-mar:{share}:{n_causes}:1:0.5"
    parents = [tuple(u for u in range(v) if rng.random() < 0.3) for v in range(8)]
    _, graph = mechanisms.hide_cells(full, spec, rng, parents)
    assert len(graph.causes) == round(8 * share)
    assert graph.kind == ("MAR" if graph.causes and n_causes else "MCAR")
    observed = {*full.names} - graph.causes.keys()
    adjacent = {(full.names[u], full.names[v]) for v in range(8) for u in parents[v]}
    for name, causes in graph.causes.items():
        near = {u for u in observed if (u, name) in adjacent or (name, u) in adjacent}
        assert len(causes) == n_causes
        assert len(near & {*causes}) == min(n_causes, len(near))


def test_a_share_of_cells_of_a_share_of_the_variables():
    full, rng = table_of(5000, 20), np.random.default_rng(0)
    incomplete, _ = mechanisms.hide_cells(full, "mcar:0.7:0.3", rng, [()] * 20)
    rates = (incomplete.codes == -1).mean(axis=0)
    assert rates[rates > 0] == pytest.approx([0.7] * 6, abs=0.03)


def test_mnar_by_states_hides_by_a_probability_of_each_state():
    full = table_of(40_000, 2)
    spec = "mnar-states:0.2"
    incomplete, graph = mechanisms.hide_cells(full, spec, np.random.default_rng(1))
    assert str(graph) == "X0 <- X0; X1 <- X1"
    tables = mechanisms._tables_by_states(full, 0.2, np.random.default_rng(1))
    for column, codes, probabilities in zip(
        full.codes.T, incomplete.codes.T, tables.values(), strict=True
    ):
        assert probabilities[column].mean() == pytest.approx(0.2)
        rates = [(codes == -1)[column == state].mean() for state in range(3)]
        assert rates == pytest.approx(probabilities, abs=0.02)


@pytest.mark.parametrize(("spec", "state"), [("mnar:0.1:0", 0), ("mnar:0.1", None)])
def test_a_share_of_all_cells_is_hidden_of_one_state(spec, state):
    full = table_of(50, 8)
    incomplete, _ = mechanisms.hide_cells(full, spec, np.random.default_rng(0))
    hidden = full.codes[incomplete.codes == -1]
    assert len(hidden) == 40
    assert len({*hidden} | ({state} - {None})) == 1
    with pytest.raises(ValueError, match="take fewer"):
        mechanisms.hide_cells(full, "mnar:0.9", np.random.default_rng(0))
