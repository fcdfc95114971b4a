"""``solve`` and ``augment``: constraints, lists of networks, bootstrap, searches over classes."""

import json
import os
import re
import signal
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pyscipopt import Model

import exactlearn as el
from exactlearn.commands.pipeline import declared_constraints
from exactlearn.commands.sections import Search
from exactlearn.errors import OptionError
from exactlearn.evaluation.cross_validation import learn_exact
from exactlearn.formats.table import read_dataset
from exactlearn.instances import locate
from exactlearn.reporting.records import support_records
from exactlearn.solvers.constraints import (
    ForbiddenAdjacency,
    ForbiddenAncestor,
    Independence,
    MaxParents,
    RequiredAdjacency,
    RequiredAncestor,
    Tiers,
)
from exactlearn.structure import posterior as structure_posterior
from exactlearn.structure.selection import fitted_network
from tests.command_line import PATIENCE, fails, invoke, run, run_json, started, wait_for
from tests.interrupts import press_before

TABLE, ASIA = "cancer-mcar-complete", "asia-mnar-complete"
NAMES = ["a", "b", "x-ray", "a->b", "p,q", "u|v"]
FORMS = {
    "required_adjacent": (
        ("a-b", "x-ray - a"),
        [RequiredAdjacency(0, 1), RequiredAdjacency(2, 0)],
    ),
    "forbidden_adjacent": (("b - p,q",), [ForbiddenAdjacency(1, 4)]),
    "required_ancestors": (("a->b -> b",), [RequiredAncestor(3, 1)]),
    "forbidden_ancestors": (("a->x-ray",), [ForbiddenAncestor(0, 2)]),
    "tiers": (('a, "p,q"', "x-ray", " b "), [Tiers(((0, 4), (2,), (1,)))]),
    "max_parents_of": ({"a": 0, "x-ray": 2}, [MaxParents(0, 0), MaxParents(2, 2)]),
    "independent": (
        ("a, b | x-ray", 'a,"p,q"', "a, u|v | b"),
        [
            Independence(frozenset({0}), frozenset({1}), frozenset({2})),
            Independence(frozenset({0}), frozenset({4})),
            Independence(frozenset({0}), frozenset({5}), frozenset({1})),
        ],
    ),
}


def constraints(folder, **keys):
    """Return a file of constraints."""
    path = folder / "constraints.toml"
    lines = (f"{key} = {json.dumps(value)}" for key, value in keys.items())
    path.write_text(
        "\n".join(lines).replace("{", "{ ").replace('":', '" ='), encoding="utf-8"
    )
    return path


@pytest.mark.parametrize("key", FORMS)
def test_constraints_are_read_by_name(key):
    written, expected = FORMS[key]
    assert declared_constraints(Search(**{key: written}), NAMES) == tuple(expected)


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"required_adjacent": ("a,b",)}, "expected 'A - B'"),
        ({"required_adjacent": ("a-c",)}, "no variable 'c'"),
        ({"required_ancestors": ("a->a",)}, "two different variables"),
        (
            {"tiers": ("a", "xray")},
            "tier 'xray': no variable 'xray'; did you mean 'x-ray'",
        ),
        ({"tiers": ("a", "b,a")}, "'a' stands in them twice"),
        ({"max_parents_of": {"c": 1}}, "max_parents_of: no variable 'c'"),
        ({"max_parents_of": {"a": -1}}, "max_parents_of.a: expected at least 0"),
        ({"independent": ("a",)}, "expected 'A, B | C, D'"),
        ({"independent": ("a,b,x-ray",)}, "expected 'A, B | C, D'"),
        ({"independent": ("a,b|c",)}, "no variable 'c'"),
        ({"independent": ("a,b|a",)}, "each variable once"),
        ({"required_ancestors": ("a -> " * 30_000 + "b",)}, "expected 'A -> B'"),
        ({"independent": ("a,b" + "|" * 50_000,)}, "expected 'A, B | C, D'"),
    ],
)
def test_what_is_no_constraint_is_refused(declared, message):
    with pytest.raises(OptionError, match=re.escape(message)):
        declared_constraints(Search(**declared), NAMES)


def test_constraints_hold(tables, tmp_path):
    file = constraints(
        tmp_path,
        required_adjacent=["Pollution-Smoker"],
        max_parents_of={"Cancer": 1},
        forbidden_adjacent=["Cancer-Xray"],
        required_ancestors=["Smoker->Xray"],
        independent=["Pollution,Dyspnoea"],
    )
    words = ("solve", tables / "full.csv", "--constraints", file)
    answer = run_json(*words, "--tiers", "Smoker;Cancer,Xray")
    parents = answer["parents"]
    assert "Smoker" in parents["Pollution"] or "Pollution" in parents["Smoker"]
    assert "Cancer" not in parents["Xray"]
    assert len(parents["Cancer"]) <= 1
    assert not set(parents["Smoker"]) & {"Cancer", "Xray"}
    assert answer["status"] == "optimal"


def test_a_conflict_is_explained(tables, tmp_path):
    file = constraints(tmp_path, forbidden_ancestors=["Smoker->Cancer"])
    words = ("--constraints", file, "--require", "Smoker->Cancer")
    printed = fails("solve", tables / "full.csv", *words, status=4)
    assert "required Smoker -> Cancer, forbidden ancestor Smoker of Cancer;" in printed


def test_completing_honours_tiers(tables):
    answer = run_json(
        "augment",
        tables / "holes.csv",
        "--tiers",
        "Xray,Dyspnoea;Cancer;Smoker,Pollution",
    )
    assert not answer["parents"]["Xray"] or set(answer["parents"]["Xray"]) == {
        "Dyspnoea"
    }


def test_rewritten_scores_honour_constraints(tables, tmp_path):
    """A score file and an integer program hold no more candidates than the constraints allow."""
    scores, kept, program = (
        tables / "scores.jkl",
        tmp_path / "kept.jkl",
        tmp_path / "program.lp",
    )
    held = "--constraints", constraints(tmp_path, forbidden_adjacent=["Cancer-Xray"])
    for file in (kept, program):
        run("convert", scores, *held, "-o", file)
    expected = run_json("solve", scores, *held)["score"]
    assert expected < run_json("solve", scores)["score"] - 0.1
    assert run_json("solve", kept)["score"] == pytest.approx(expected)
    model = Model()
    model.hideOutput()
    model.readProblem(str(program))
    model.optimize()
    assert model.getObjVal() == pytest.approx(expected)


def test_the_best_networks_and_their_arcs(tables, tmp_path):
    answer = run_json("solve", tables / "full.csv", "--best", 4, "-o", tmp_path / "out")
    scores = [network["score"] for network in answer["networks"]]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == 4
    assert answer["complete"]
    assert scores[0] == pytest.approx(answer["score"])
    stored = json.loads((tmp_path / "out" / "result.json").read_text(encoding="utf-8"))
    assert stored["networks"] == answer["networks"]
    listed = {
        (p, v) for n in answer["networks"] for v, ps in n["parents"].items() for p in ps
    }
    assert {(arc["parent"], arc["child"]) for arc in answer["support"]} == listed


@pytest.mark.parametrize("table", [TABLE, ASIA])
def test_the_second_class_is_the_best_network_of_another_class(table):
    record = run_json("solve", table, "--best", 2, "--classes")
    networks = run_json("solve", table, "--best", 200)["networks"]
    names = list(record["parents"])

    def class_of(parents):
        return el.graphs.cpdag(
            [tuple(names.index(p) for p in parents[name]) for name in names]
        )

    first, second = record["networks"]
    expected = next(
        n for n in networks if class_of(n["parents"]) != class_of(first["parents"])
    )
    assert second["score"] == pytest.approx(expected["score"])
    assert second["log_bayes_factor"] == pytest.approx(
        second["score"] - record["score"]
    )
    ties = [n for n in networks if class_of(n["parents"]) == class_of(first["parents"])]
    assert len(ties) == first["size"]


def test_bayes_factors_say_what_they_are(tables):
    for criterion, said in (
        ("bdeu", "marginal"),
        ("bic", "approximates"),
        ("aic", "difference of scores"),
    ):
        record = run_json("solve", TABLE, "--best", 3, "--criterion", criterion)
        assert said in record["bayes_factor"]
    record = run_json("solve", tables / "scores.jkl", "--best", 2)
    assert "difference of scores" in record["bayes_factor"]


def test_support_counts_and_weighs_arcs():
    networks = (
        (((), (0,), (0, 1)), -1.0),
        (((1,), (), (0, 1)), -1.0),
        (((), (0,), (0,)), -1.5),
    )
    weights = np.exp([-1.0, -1.0, -1.5])
    weights /= weights.sum()
    rows = {
        (row["parent"], row["child"]): row for row in support_records("abc", networks)
    }
    assert set(rows) == {("a", "b"), ("b", "a"), ("a", "c"), ("b", "c")}
    assert list(rows["a", "c"].values())[2:] == pytest.approx([1, 1, 1, 1])
    assert rows["a", "b"]["support"] == pytest.approx(2 / 3)
    assert rows["a", "b"]["weight"] == pytest.approx(weights[0] + weights[2])
    assert (
        rows["a", "b"]["adjacency_weight"] == rows["b", "a"]["adjacency_weight"] == 1.0
    )


def test_a_search_best_first_keeps_the_probability_exact():
    words = ("solve", TABLE, "--max-parents", 2)
    record = run_json(*words, "--scoring-time", 60, "--probability", status=(0, 3))
    assert record["probability"] == run_json(*words)["probability"]


@pytest.mark.parametrize("table", [ASIA, "asia-mnar", "cancer-mcar"])
def test_the_network_and_its_class_have_a_probability(table):
    record = run_json("solve", table, "--max-parents", 2)
    dataset = el.read_dataset(table)
    posterior = el.posterior(dataset, max_parents=2, missing="expected")
    expected = posterior.probability(record["parents"])
    assert record["probability"] == pytest.approx(expected, rel=1e-6)
    expected = posterior.class_probability(record["parents"])
    assert record["class_probability"] == pytest.approx(expected, rel=1e-6)
    shown = run("solve", table, "--max-parents", 2)
    line = next(line for line in shown.splitlines() if "class probability" in line)
    assert line.strip().endswith("for expected counts") == ("counts" in record)


def test_a_probability_holds_for_prior_and_constraints(tmp_path):
    (tmp_path / "beliefs.csv").write_text("parent,child,probability\nsmoke,lung,0.9\n")
    limits = ("--prior", tmp_path / "beliefs.csv", "--tiers", "asia,smoke;tub,lung")
    words = (ASIA, "--max-parents", 2, *limits)
    record = run_json("solve", *words)
    assert record["probability"] == run_json("posterior", *words)["best_probability"]


def test_a_list_says_what_it_holds_and_how_sure_arcs_are():
    words = ("solve", TABLE, "--max-parents", 2, "--best", 3)
    record = run_json(*words)
    posterior = el.posterior(el.read_dataset(TABLE), max_parents=2)
    networks = [network["parents"] for network in record["networks"]]
    assert record["mass"] == pytest.approx(posterior.mass(networks))
    for arc in record["support"]:
        parent, child = (posterior.names.index(arc[key]) for key in ("parent", "child"))
        assert arc["probability"] == pytest.approx(posterior.arcs[parent, child])
        assert arc["adjacency_probability"] == pytest.approx(
            posterior.edges[parent, child]
        )
    classes = run_json(*words, "--classes")
    expected = sum(
        posterior.class_probability(network["parents"])
        for network in classes["networks"]
    )
    assert classes["mass"] == pytest.approx(expected)
    plain = run_json(*words, "--no-probability")
    assert "weight" in plain["support"][0]
    assert not {"mass", "probability"} & plain.keys()


def test_many_variables_have_a_probability_on_request(tmp_path):
    # 17 variables in two tiers, so that the sums are over 9 and over 8 of them
    rows = np.random.default_rng(0).integers(0, 2, (30, 17))
    table = pd.DataFrame(rows, columns=[f"v{v}" for v in range(17)])
    table.to_csv(tmp_path / "table.csv", index=False)
    tiers = [list(table.columns[:9]), list(table.columns[9:])]
    words = ["solve", tmp_path / "table.csv", "--max-parents", 1]
    words += ["--tiers", ";".join(map(",".join, tiers))]
    assert "probability" not in run_json(*words)
    record = run_json(*words, "--probability")
    posterior = el.posterior(table.astype(str), max_parents=1, tiers=tiers)
    assert record["probability"] == pytest.approx(posterior.best_probability)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--constraints", "rules.toml"), "concerns the whole network"),
        (("--time-limit", "0.001"), "unfinished sums say nothing"),
    ],
)
def test_a_probability_that_cannot_be_had_is_left_out(
    tmp_path, monkeypatch, words, message
):
    monkeypatch.chdir(tmp_path)
    Path("rules.toml").write_text('required_adjacent = ["Cancer - Xray"]\n')
    done = invoke("solve", TABLE, *words, "--probability", "--json", status=(0, 3))
    assert message in done.stderr
    assert json.loads(done.stdout)["parents"]
    assert "probability" not in json.loads(done.stdout)


def test_scores_have_a_probability_where_all_are_listed(tmp_path):
    table = el.read_dataset(TABLE)
    for prune in (False, True):
        problem = el.candidate_parent_sets(table, "bdeu", max_parents=2, prune=prune)
        el.write_scores(problem, tmp_path / "scores.jkl")
        record = run_json("solve", tmp_path / "scores.jkl")
        assert ("probability" in record) != prune
    done = invoke("solve", tmp_path / "scores.jkl", "--probability")
    assert "count as impossible" in done.stderr


def test_ctrl_c_during_the_sums_keeps_the_network(tmp_path, monkeypatch):
    press_before(monkeypatch, structure_posterior, "posterior_of_selections")
    out = tmp_path / "out.json"
    run("solve", TABLE, "-o", out, status=130)
    assert json.loads(out.read_text())["parents"]


def test_the_bootstrap_is_that_of_the_python_function():
    table, bic = (
        read_dataset(locate(TABLE, ".csv")),
        ("--criterion", "bic", "--max-parents", 1),
    )
    learner = partial(learn_exact, score="bic", max_parents=1)
    for words, how in (((), {}), (bic, {"learner": learner})):
        record = run_json("solve", TABLE, "--bootstrap", 5, *words, "--seed", 1)[
            "bootstrap"
        ]
        found = el.bootstrap(table, 5, seed=1, **how)
        assert record == found.to_dict() | {
            "status": "done",
            "arcs": found.to_records(),
        }
    held = run_json("solve", TABLE, "--bootstrap", 5, "--forbid", "Cancer -> Xray")[
        "bootstrap"
    ]
    strengths = {(row["parent"], row["child"]): row["strength"] for row in held["arcs"]}
    assert strengths.get(("Cancer", "Xray"), 0.0) == 0.0


def test_a_bootstrap_resumes_after_ctrl_c(tmp_path):
    """The samples that were finished are kept."""
    words = ("solve", TABLE, "-o", tmp_path, "--json", "--bootstrap")
    kept = tmp_path / "bootstrap.json"
    with started(*words, 5000, start_new_session=True) as process:
        wait_for(kept.exists)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        answer, notes = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "Traceback" not in notes
    record = json.loads(answer)
    assert record["status"] == "optimal"
    assert record["bootstrap"]["status"] == "interrupted"
    assert 1 <= record["bootstrap"]["replicates"] < 5000
    stored = json.loads((tmp_path / "result.json").read_text())
    assert stored["bootstrap"] == record["bootstrap"]
    before = {
        k: v for k, v in json.loads(kept.read_text()).items() if not v.get("unfinished")
    }
    run(*words, 2)
    done = json.loads(kept.read_text())
    assert all(done[k] == before[k] for k in done.keys() & before.keys())


def test_a_bootstrap_with_missing_cells_and_without_time():
    assert (
        run_json("solve", "cancer-mcar", "--bootstrap", 3)["bootstrap"]["replicates"]
        == 3
    )
    none = run_json("solve", TABLE, "--bootstrap", 3, "--time-limit", 0, status=3)
    assert none["bootstrap"]["replicates"] < 3 or none["bootstrap"]["unfinished"]


def test_searches_over_classes_are_those_of_the_library(tmp_path):
    words = ("--solver", "ges", "--criterion", "bic")
    record = run_json("solve", TABLE, *words, "-o", tmp_path / "x")
    data = read_dataset(locate(TABLE, ".csv"))
    ours = el.equivalence_search(data, el.BIC())
    assert (record["status"], record["score"], record["gap"]) == (
        "heuristic",
        ours.score,
        None,
    )
    assert len(record["classes"]) == 1
    assert (
        el.read_network(tmp_path / "x" / "network.bif").n_variables == data.n_variables
    )
    record = run_json("solve", TABLE, "--solver", "kes", "--seed", 3)
    assert sum(each["starts"] for each in record["classes"]) == len(record["scores"])
    assert record["score"] == max(record["scores"]) == record["classes"][0]["score"]
    assert "'exactlearn solve' without it" in fails(
        "solve", "cancer-mcar", "--solver", "ges"
    )
    assert "'kes' is not one of" in fails("augment", "cancer-mcar", "--solver", "kes")
    assert "leave it out" in fails("solve", TABLE, "--solver", "ges", "--bootstrap", 3)


def test_the_best_solutions_begin_with_the_answer(tables, tmp_path):
    record = run_json(
        "augment", tables / "holes.csv", "--best", 4, "-o", tmp_path / "out"
    )
    assert record["best_status"] == "optimal"
    scores = [solution["score"] for solution in record["best"]]
    assert len(scores) == 4
    assert scores == sorted(scores, reverse=True)
    assert scores[0] == pytest.approx(record["score"])
    assert record["best"][0]["differs"] == []
    last = (tmp_path / "out" / "trace.csv").read_text().splitlines()[-1].split(",")
    assert [float(last[1]), float(last[2])] == pytest.approx([record["score"]] * 2)


def test_em_for_the_network_has_what_is_left_of_the_time_limit(tmp_path, monkeypatch):
    def fitted(*args, time_limit, **how):
        assert 0 < time_limit < 61
        return fitted_network(*args, **how, time_limit=0.0)

    monkeypatch.setattr("exactlearn.commands.solve.fitted_network", fitted)
    words = ("solve", "cancer-mcar", "--time-limit", 60, "-o", tmp_path / "network.bif")
    assert invoke(*words).stderr.count("EM for the parameters was cut short") == 1


def test_the_k_and_the_starts_of_kes():
    """THESIS 4.3: k = 1 is greedy search in one phase, whatever the start."""
    words = ("solve", "cancer-mcar-complete", "--solver", "kes", "--greediness")
    assert len(run_json(*words, 1, "--restarts", 3)["scores"]) == 3
    greedy = el.equivalence_search(
        el.read_dataset("cancer-mcar-complete"), "bdeu", phases=1
    )
    assert set(run_json(*words, 1, "--restarts", 3)["scores"]) == {greedy.score}
    fails(
        "--greediness is for --solver kes",
        "solve",
        "cancer-mcar-complete",
        "--greediness",
        1,
    )
    fails("greediness: expected 0 to 1, found 2", *words, 2)


def test_the_cliques_of_a_network_are_bounded_and_named() -> None:
    record = run_json("solve", ASIA, "--max-clique", "4", "--time-limit", "20")
    assert record["largest_clique"] == 4
    families = [{v, *parents} for v, parents in record["parents"].items()]
    assert all(any(f <= set(c) for c in record["cliques"]) for f in families)


def test_cliques_are_bounded_for_tables_only(tmp_path) -> None:
    scores = tmp_path / "scores.jkl"
    scores.write_text("2\na 1\n-2.0 0\nb 1\n-3.0 0\n")
    message = fails("solve", scores, "--max-clique", "4")
    assert "--max-clique is for a table" in message
