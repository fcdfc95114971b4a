"""Constraints and lists of networks from the command line and run files."""

import csv
import json
import re
import tomllib

import pytest
from pyscipopt import Model

from exactlearn.commands.declared_constraints import declared_constraints
from exactlearn.commands.runs import Run
from exactlearn.commands.sections import Search
from exactlearn.errors import OptionError
from exactlearn.formats.jkl import write_jkl
from exactlearn.formats.run_file import from_table, to_toml
from exactlearn.formats.table import read_dataset
from exactlearn.reporting.arc_support import (
    arc_support,
    probabilities,
    support_record,
    write_support,
)
from exactlearn.reporting.plot import require_matplotlib
from exactlearn.scoring.candidates import candidate_parent_sets
from exactlearn.scoring.scores import BDeu
from exactlearn.solvers.constraints import (
    ArcTotal,
    ForbiddenAdjacency,
    ForbiddenAncestor,
    Independence,
    MaxParents,
    RequiredAdjacency,
    RequiredAncestor,
    Tiers,
)
from tests.command_line import fails, run, run_json

NAMES = ["a", "b", "x-ray", "a->b", "p,q", "u|v"]
FORMS = {
    "required_adjacent": (("a-b", "x-ray - a"), [RequiredAdjacency(0, 1), RequiredAdjacency(2, 0)]),
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
    "min_arcs": (2, [ArcTotal(least=2)]),
    "max_arcs": (0, [ArcTotal(most=0)]),
}


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
        ({"tiers": ("a", "xray")}, "tier 'xray': no variable 'xray'; did you mean 'x-ray'"),
        ({"tiers": ("a", "b,a")}, "'a' stands in them twice"),
        ({"max_parents_of": {"c": 1}}, "max_parents_of: no variable 'c'"),
        ({"max_parents_of": {"a": -1}}, "max_parents_of.a: expected at least 0"),
        ({"independent": ("a",)}, "expected 'A, B | C, D'"),
        ({"independent": ("a,b,x-ray",)}, "expected two variables before"),
        ({"independent": ("a,b|c",)}, "no variable 'c'"),
        ({"independent": ("a,b|a",)}, "each variable once"),
        ({"required_ancestors": ("a -> " * 30_000 + "b",)}, "expected one '->', found 30000"),
        ({"independent": ("a,b" + "|" * 50_000,)}, "expected one '|', found 50000"),
        ({"tiers": ("x" * 140_000,)}, "expected a list of names (field larger"),
        ({"max_arcs": -1}, "max_arcs: expected at least 0"),
    ],
)
def test_what_is_no_constraint_is_refused(declared, message):
    with pytest.raises(OptionError, match=re.escape(message)):
        declared_constraints(Search(**declared), NAMES)


def test_run_files_hold_constraints():
    search = Search(**{key: written for key, (written, _) in FORMS.items()})
    text = to_toml(Run(data=tomllib_data(), search=search))
    assert from_table(tomllib.loads(text), Run).search == search


def tomllib_data():
    return from_table({"data": {"file": "a.csv"}}, Run).data


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / "full.csv"
    run("simulate", "cancer", "--rows", 200, "--seed", 3, "-o", path)
    return path


def test_constraints_hold(table):
    answer = run_json(
        "solve", table, "--require-adjacent", "Pollution-Smoker", "--max-arcs", 3,
        "--tiers", "Smoker;Cancer,Xray", "--max-parents-of", "Cancer=1",
        "--forbid-adjacent", "Cancer-Xray", "--require-ancestor", "Smoker->Xray",
        "--independent", "Pollution,Dyspnoea",
    )  # fmt: skip
    parents = answer["parents"]
    assert "Smoker" in parents["Pollution"] or "Pollution" in parents["Smoker"]
    assert "Cancer" not in parents["Xray"]
    assert len(parents["Cancer"]) <= 1
    assert not set(parents["Smoker"]) & {"Cancer", "Xray"}
    assert sum(map(len, parents.values())) <= 3
    assert answer["status"] == "optimal"


def test_a_conflict_is_explained(table):
    printed = fails(
        "solve", table, "--min-arcs", 2, "--forbid-ancestor", "Smoker->Cancer",
        "--require", "Smoker->Cancer", status=4,
    )  # fmt: skip
    assert "required Smoker -> Cancer, forbidden ancestor Smoker of Cancer;" in printed


def test_the_best_networks_and_their_arcs(table, tmp_path):
    answer = run_json("solve", table, "--best", 4, "-o", tmp_path / "out")
    scores = [network["score"] for network in answer["networks"]]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == 4
    assert answer["complete"]
    assert answer["networks"][0]["score"] == pytest.approx(answer["score"])
    with (tmp_path / "out" / "support.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["parent"] for row in rows] == [arc["parent"] for arc in answer["support"]]
    stored = json.loads((tmp_path / "out" / "result.json").read_text(encoding="utf-8"))
    assert stored["networks"] == answer["networks"]
    assert (tmp_path / "out" / "support.svg").exists()


def test_classes_and_ties(table):
    found = run_json("solve", table, "--best-classes", 2)
    ties = run_json("solve", table, "--within", 1)
    assert ties["ties"] == len(ties["networks"]) == found["networks"][0]["size"]
    assert found["networks"][0]["score"] == pytest.approx(ties["score"])
    printed = run("solve", table, "--best-classes", 2)
    assert "members" in printed
    assert "adjacency_weight" in printed


def test_lists_over_a_score_file_say_what_they_are_over(table, tmp_path):
    problem = candidate_parent_sets(read_dataset(table), BDeu(), max_parents=2)
    write_jkl(problem, tmp_path / "scores.jkl")
    answer = run_json("solve", tmp_path / "scores.jkl", "--within", 2)
    assert "candidates of the file" in answer["candidates"]
    whole = run_json("solve", table, "--within", 2, "--max-parents", 2)
    assert len(answer["networks"]) <= len(whole["networks"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--best", 2, "--best-classes", 2], "exclude each other"),
        (["--support", "s.csv"], "say which with --best K"),
        (["--best", 2, "--support", "s.txt"], "expected a file name ending in"),
        (["--best", 2, "--gap", 0.1], "--gap is for one network only"),
        (["--best", 2, "--solver", "ordering"], "proves nothing"),
        (["--max-parents-of", "Cancer=x"], "whole number"),
        (["--max-parents-of", "Cancer=7"], "raise that"),
        (["--require-adjacent", "Cancer-Xrai"], "did you mean 'Xray'"),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, list) else "",
)
def test_what_is_refused(table, options, message, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert message in fails("solve", table, *options, status=2)


def test_completing_honours_or_refuses_constraints(tmp_path):
    holes = tmp_path / "holes.csv"
    run("simulate", "cancer", "--rows", 60, "--hide", "mcar:0.01", "--seed", 3, "-o", holes)
    answer = run_json("augment", holes, "--tiers", "Xray,Dyspnoea;Cancer;Smoker,Pollution")
    assert not answer["parents"]["Xray"] or set(answer["parents"]["Xray"]) == {"Dyspnoea"}
    printed = fails("augment", holes, "--max-arcs", 2, status=2)
    assert "'at most 2 arcs' cannot be honoured while missing cells are completed" in printed


class TestSupport:
    NETWORKS = (
        (((), (0,), (0, 1)), -1.0),
        (((1,), (), (0, 1)), -1.0),
        (((), (0,), (0,)), -1.5),
    )

    def test_shares_are_counted_and_weighted(self):
        weights = probabilities([-1.0, -1.0, -1.5])
        assert weights.sum() == pytest.approx(1.0)
        rows = {(row.parent, row.child): row for row in arc_support(self.NETWORKS)}
        assert set(rows) == {(0, 1), (1, 0), (0, 2), (1, 2)}
        assert rows[0, 2][2:] == pytest.approx((1, 1, 1, 1))
        assert rows[0, 1].support == pytest.approx(2 / 3)
        assert rows[0, 1].weight == pytest.approx(weights[0] + weights[2])
        assert rows[0, 1].adjacency_weight == rows[1, 0].adjacency_weight == pytest.approx(1)
        assert rows[1, 2].adjacency_support == pytest.approx(2 / 3)
        assert arc_support([]) == ()

    def test_tables_and_figures(self, tmp_path):
        names = ["a", "b, c", "$d$"]
        records = support_record(names, arc_support(self.NETWORKS))
        for suffix in (".csv", ".json", ".svg", ".png"):
            write_support(records, names, tmp_path / f"support{suffix}")
        assert json.loads((tmp_path / "support.json").read_text(encoding="utf-8")) == records
        first = (tmp_path / "support.svg").read_bytes()
        write_support(records, names, tmp_path / "again.svg")
        assert (tmp_path / "again.svg").read_bytes() == first
        with pytest.raises(OptionError, match="expected a file name ending in"):
            write_support(records, names, tmp_path / "support.txt")

    def test_many_variables_are_reduced(self, tmp_path):
        require_matplotlib("")
        names = [f"X{v}" for v in range(80)]
        parents = tuple((v - 1,) if v % 2 else () for v in range(80))
        records = support_record(names, arc_support([(parents, -1.0)]))
        write_support(records, names, tmp_path / "many.png")
        assert (tmp_path / "many.png").stat().st_size > 1000


def test_a_misspelt_name_is_told_before_the_cross_validation():
    for command in ("solve", "augment"):
        said = fails(command, "cancer-mcar", "--require", "Smokr -> Cancer")
        assert "no variable 'Smokr'; did you mean 'Smoker'?" in said
        assert "held-out" not in said


def test_rewritten_scores_honour_constraints(table, tmp_path):
    """A score file and an integer program hold no more candidates than the constraints allow."""
    scores, kept, program = (tmp_path / name for name in ("all.jkl", "kept.jkl", "program.lp"))
    run("convert", table, "-o", scores)
    forbidden = "--forbid-adjacent", "Cancer-Xray"
    for file in (kept, program):
        run("convert", scores, *forbidden, "-o", file)
    expected = run_json("solve", scores, *forbidden)["score"]
    assert expected < run_json("solve", scores)["score"] - 0.1
    assert run_json("solve", kept)["score"] == pytest.approx(expected)
    model = Model()
    model.hideOutput()
    model.readProblem(str(program))
    model.optimize()
    assert model.getObjVal() == pytest.approx(expected)
    assert "at most 3 arcs" in fails("convert", scores, "--max-arcs", "3", "-o", program)


@pytest.mark.parametrize("option", ["--max-parents=1", "--ess=4", "--criterion=bic"])
def test_options_of_the_scoring_are_refused_beside_scores(table, tmp_path, option):
    run("convert", table, "-o", scores := tmp_path / "scores.jkl")
    assert "is for a table, but scores were given" in fails("solve", scores, option)
