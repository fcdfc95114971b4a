"""What users meet around the solver: formats, options, limits, interrupts and bad input."""

import errno
import json
import os
import shutil
import signal
import sys
import time
from types import SimpleNamespace

import pytest

from exactlearn._runtime import files
from exactlearn.bayesnet.deletion import fit_deletion
from exactlearn.bayesnet.em import fit_em
from exactlearn.formats.models import read_network
from exactlearn.formats.scores import read_jkl, write_scores
from exactlearn.formats.table import read_dataset
from exactlearn.instances import locate
from exactlearn.scoring.candidates import candidate_parent_sets
from exactlearn.scoring.scores import BDeu
from exactlearn.scoring.set_sums import TableScorer
from exactlearn.solvers import Problem, prover
from exactlearn.solvers import solve as solve_problem
from exactlearn.structure import held_out_choice, selection
from exactlearn.structure.learned_counts import learned_counts
from tests.command_line import (
    PATIENCE,
    fails,
    invoke,
    run,
    run_json,
    started,
    wait_for,
)
from tests.interrupts import press_before, press_ctrl_c

learned_counts_module = sys.modules[learned_counts.__module__]

SCORES = """# three variables, the best two of them in a cycle
3
a 2
-1.0 1 b
-3.0 0
b 3
-1.0 1 a
-2.5 0
-0.25 2 a c
c 1
-1.0 0
"""
OPTIMUM = {"a": [], "b": ["a", "c"], "c": []}

NETWORK = """network n { }
variable c { type discrete [ 2 ] { 0, 1 }; }
variable b { type discrete [ 2 ] { 0, 1 }; }
variable a { type discrete [ 2 ] { 0, 1 }; }
probability ( c ) { table 0.5, 0.5; }
probability ( b ) { table 0.5, 0.5; }
probability ( a | b ) { (0) 0.5, 0.5; (1) 0.5, 0.5; }
"""


@pytest.fixture
def scores(tmp_path):
    path = tmp_path / "scores.jkl"
    path.write_text(SCORES)
    return path


class TestFormats:
    @pytest.mark.parametrize("suffix", ["scores", "jkl.gz", "scores.gz"])
    def test_scores_convert_and_solve_alike(self, scores, tmp_path, suffix):
        target = tmp_path / f"x.{suffix}"
        done = invoke("convert", scores, "-o", target)
        assert (done.exit_code, done.stdout) == (0, "")
        assert done.stderr == f"Wrote {target}\n"
        assert run_json("solve", target)["parents"] == OPTIMUM
        run("convert", target, "-o", tmp_path / "again.jkl")
        again, first = read_jkl(tmp_path / "again.jkl"), read_jkl(scores)
        assert [dict(again.candidates(v)) for v in range(3)] == [
            dict(first.candidates(v)) for v in range(3)
        ]

    def test_convert_writes_what_is_scored_within_the_time_limit(self, tmp_path):
        target = tmp_path / "x.jkl"
        done = invoke(
            "convert", "asia-mnar-complete", "-o", target, "--time-limit", 0, status=3
        )
        assert (
            "Time limit reached: 100 % of the parent sets of size 0 were scored"
            in done.stderr
        )
        assert read_jkl(target).n_candidates == 8


class TestStart:
    def test_a_network_or_a_result_is_a_start(self, scores, tmp_path):
        (tmp_path / "net.bif").write_text(NETWORK)
        run("solve", scores, "-o", tmp_path / "result.json")
        for name in ("net.bif", "result.json"):
            assert (
                run_json("solve", scores, "--start", tmp_path / name)["parents"]
                == OPTIMUM
            )

    def test_names_are_matched_not_places(self, scores, tmp_path, monkeypatch):
        (tmp_path / "net.bif").write_text(NETWORK)
        seen = {}

        def solve(problem, **options):
            seen.update(options)
            return real(problem, **options)

        real = selection.solve
        monkeypatch.setattr(selection, "solve", solve)
        run("solve", scores, "--start", tmp_path / "net.bif", "--gap", 0.25)
        assert seen["start"] == ((1,), (), ())
        assert seen["gap"] == 0.25

    @pytest.mark.parametrize(
        ("name", "text", "printed"),
        [
            ("x.json", "{", "x.json, line 1, column 2: not JSON"),
            (
                "x.json",
                '{"parents": {"a": "b"}}',
                "expected an object with the key 'parents'",
            ),
            (
                "x.json",
                '{"parents": {"a": [], "b": []}}',
                "1 of 3 expected variables are missing, such as 'c'",
            ),
            ("x.json", '{"parents": {"a": ["d"]}}', "x.json: no variable 'd'"),
            (
                "x.json",
                '{"parents": {"a": ["b"], "b": ["c"], "c": ["a"]}}',
                "cycle",
            ),
            ("x.bif", NETWORK.replace("variable a", "variable z"), "x.bif"),
        ],
    )
    def test_a_start_that_does_not_fit_is_reported(
        self, scores, tmp_path, name, text, printed
    ):
        (tmp_path / name).write_text(text)
        assert printed in fails("solve", scores, "--start", tmp_path / name)


class TestCertificate:
    def test_ctrl_c_leaves_it_unfinished_and_the_optimum_proven(
        self, tmp_path, monkeypatch
    ):
        press_before(monkeypatch, prover, "certify")
        table, proof = "asia-mnar-complete", tmp_path / "proof.json"
        done = invoke(
            "solve", table, "--certificate", proof, "--bootstrap", 5, "--json"
        )
        record = json.loads(done.stdout)
        assert (record["status"], record["gap"]) == ("optimal", 0.0)
        assert record["certificate"] == str(proof)
        assert record["certificate_unfinished"] is True
        assert "bootstrap" not in record
        assert "Certificate unfinished: it proves the bound" in done.stderr

    def test_decimals_beyond_floating_point_are_proven(self, tmp_path):
        scores, proof = tmp_path / "s.jkl", tmp_path / "c.json"
        scores.write_text(f"2\na 2\n-1.{'0' * 99}1 0\n-1 1 b\nb 1\n-3e-4000 0\n")
        record = run_json("solve", scores, "--certificate", proof)
        assert record["certificate_unfinished"] is False
        assert "Proven" in run("verify", proof, scores)


@pytest.fixture
def full_disk(monkeypatch):
    """Let every file be refused as by a full disk, from the start or for a while."""
    state = SimpleNamespace(full=True, refused=0)

    def replace(source, target):
        if state.full:
            state.refused += 1
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target))
        real(source, target)

    real = os.replace
    monkeypatch.setattr(files.os, "replace", replace)
    return state


class TestFullDisk:
    def test_the_answer_is_printed_and_the_error_reported(
        self, scores, tmp_path, full_disk
    ):
        words = ("solve", scores, "-o", tmp_path / "x.json")
        done = invoke(*words, "--json", status=2)
        assert json.loads(done.stdout)["parents"] == OPTIMUM
        assert done.stderr.count("The best so far is not saved") == 1
        assert "Error: cannot write" in done.stderr
        assert "No space left on device" in done.stderr
        assert list(tmp_path.iterdir()) == [scores]
        assert full_disk.refused >= 2

    def test_it_is_tried_again_at_the_end(
        self, scores, tmp_path, full_disk, monkeypatch
    ):
        def solve(problem, **options):
            result = real(problem, **options)
            full_disk.full = False
            return result

        real = selection.solve
        monkeypatch.setattr(selection, "solve", solve)
        done = invoke("solve", scores, "-o", tmp_path / "x.json")
        assert "The best so far is not saved" in done.stderr
        assert json.loads((tmp_path / "x.json").read_text())["parents"] == OPTIMUM


class TestScoringIsStopped:
    """The best network of the parent sets scored so far, of which nothing is proven."""

    TABLE = "asia-mnar-complete"

    def test_by_the_time_limit(self, tmp_path, monkeypatch):
        monkeypatch.setattr(selection, "MIN_SCORING", 0.0)
        best = tmp_path / "best.json"
        more = ("--time-limit", 0, "--certificate", tmp_path / "proof.json", "-o", best)
        done = invoke("solve", self.TABLE, *more, "--json", status=3)
        record = json.loads(done.stdout)
        assert record["status"] == "feasible"
        assert record["bound"] is None
        assert record["gap"] is None
        assert not any(record["parents"].values())
        assert "the time limit stopped the scoring" in done.stderr
        assert "No certificate" in done.stderr
        assert record["certificate"] is None
        assert not (tmp_path / "proof.json").exists()
        assert json.loads(best.read_text())["parents"] == record["parents"]

    @pytest.mark.parametrize("more", [(), ("--best", 2)])
    def test_by_ctrl_c(self, monkeypatch, more):
        def score(scorer, joined, *arguments):
            if joined.sets.shape[1] == 3:
                press_ctrl_c()
            return real(scorer, joined, *arguments)

        real = TableScorer.score
        monkeypatch.setattr(TableScorer, "score", score)
        done = invoke("solve", self.TABLE, *more, "--json", status=130)
        record = json.loads(done.stdout)
        assert record["bound"] is None
        assert not record.get("complete")
        assert more or any(record["parents"].values())
        assert "Ctrl-C stopped the scoring" in done.stderr

    def test_before_a_network_meets_the_constraints(self, monkeypatch, tmp_path):
        (tmp_path / "c.toml").write_text('required_ancestors = ["smoke -> xray"]\n')
        monkeypatch.setattr(selection, "MIN_SCORING", 0.0)
        words = ("--time-limit", 0, "--constraints", tmp_path / "c.toml", "--json")
        done = invoke("solve", self.TABLE, *words, status=3)
        assert json.loads(done.stdout)["parents"] is None
        assert "No network was found" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_folder_that_vanishes_costs_the_file_not_the_answer(hard_scores, tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    words = (
        "solve",
        hard_scores,
        "--solver",
        "scip",
        "--json",
        "-o",
        folder / "x.json",
    )
    with started(*words, start_new_session=True) as process:
        wait_for((folder / "x.json").exists)
        shutil.rmtree(folder)
        time.sleep(1)
        process.send_signal(signal.SIGTERM)
        out, printed = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2, printed
    assert "Traceback" not in printed
    assert json.loads(out)["status"] == "interrupted"
    assert "does not exist" in printed


def test_missing_cells_have_expected_counts(tmp_path):
    file = tmp_path / "n.bif"
    found = run_json("solve", "lucas-mcar", "-o", str(file))
    assert found == run_json("solve", "lucas-mcar", "--counts", "expected") | {
        "seconds": found["seconds"]
    }
    assert (found["status"], found["counts"]) == ("optimal", "expected")
    data = read_dataset(locate("lucas-mcar", ".csv"))
    score, counts = BDeu(1.0), learned_counts(data).counts
    assert "ess" not in found
    problem = candidate_parent_sets(data, score, max_parents=3, counts=counts)
    assert found["score"] == pytest.approx(solve_problem(problem).score)
    network = read_network(file)
    expected = fit_em(data, network.parents).model
    for table, other in zip(network.tables, expected.tables, strict=True):
        assert table == pytest.approx(other, abs=1e-9)
    done = invoke("solve", "lucas-mcar")
    assert "those of expected counts" in done.stderr
    assert "equivalent sample size" not in done.stderr


def test_expected_counts_keep_constraints(tmp_path):
    (tmp_path / "c.toml").write_text("max_parents_of = { Coughing = 1 }\n")
    words = ("solve", "lucas-mcar", "--constraints", tmp_path / "c.toml")
    found = run_json(*words, "--require", "Allergy->Coughing")["parents"]
    assert len(found["Coughing"]) == 1
    assert "Allergy" in found["Coughing"]


def test_without_time_the_network_is_that_of_structural_em(monkeypatch):
    monkeypatch.setattr(selection, "MIN_SCORING", 0.0)
    done = invoke("solve", "lucas-mcar", "--time-limit", "0", "--json", status=3)
    assert json.loads(done.stdout)["status"] == "feasible"
    assert "those of the network that structural EM found" in done.stderr
    assert "by structural EM that was cut short" in done.stderr


@pytest.mark.parametrize(
    ("module", "name", "ess"),
    [
        (learned_counts_module, "structural_em", 1),
        (held_out_choice, "choose", "auto"),
    ],
)
def test_ctrl_c_before_the_search_leaves_a_network(module, name, ess, monkeypatch):
    press_before(monkeypatch, module, name)
    found = run_json("solve", "lucas-mcar", "--ess", ess, status=130)
    assert found["status"] == "interrupted"
    assert found["bound"] is None
    assert len(found["parents"]) == 12


def test_counts_of_missing_cells_are_estimated(tmp_path):
    found = run_json(
        "solve", "lucas-mcar", "--counts", "f-mar", "-o", str(tmp_path / "n.bif")
    )
    assert found["status"] == "optimal"
    assert found["counts"] == "f-mar"
    assert found["parents"]["Yellow_Fingers"] == ["Smoking"]
    network, data = (
        read_network(tmp_path / "n.bif"),
        read_dataset(locate("lucas-mcar", ".csv")),
    )
    expected = fit_deletion(data, network.parents, method="f-mar").model
    for table, other in zip(network.tables, expected.tables, strict=True):
        assert table == pytest.approx(other, abs=1e-9)


def test_a_checkpoint_lets_a_command_go_on_after_its_time_limit(hard_scores, tmp_path):
    state = tmp_path / "state"
    words = ("solve", hard_scores, "--time-limit", 1, "--checkpoint", state)
    first = run_json(*words, status=3)
    assert list(state.iterdir())
    again = run_json(*words, status=3)
    assert again["bound"] <= first["bound"] + 1e-6
    assert again["score"] >= first["score"]


def test_the_engine_tells_its_rounds_at_the_second_v(tmp_path):
    # arcs of a circuit, which a relaxation cuts off
    n = 24
    tables = [
        {(): 0.0, ((v + 1) % n,): 5.0, ((v + 5) % n, (v + 9) % n): 8.0}
        for v in range(n)
    ]
    problem = Problem.from_candidates([f"v{i}" for i in range(n)], tables)
    write_scores(problem, tmp_path / "hard.jkl")
    words = ["solve", tmp_path / "hard.jkl", "--solver", "root"]
    told = invoke(*words, "-v", "-v", status=(0, 3)).stderr
    assert "round 1: bound" in told
    assert "candidates left" in told
    assert "round 1: bound" not in invoke(*words, "-v", status=(0, 3)).stderr
