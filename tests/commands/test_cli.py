"""The command line: its contract of options, streams, JSON keys, files and exit statuses."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import exactlearn
from exactlearn.__main__ import COMMANDS, main
from exactlearn._runtime.kernel import cache_folder
from exactlearn.augmentation.solutions import Incumbent
from exactlearn.bayesnet.em import fit_em
from exactlearn.commands.sections import Reading
from exactlearn.commands.tables import load
from exactlearn.formats.bif import read_bif
from exactlearn.formats.model_json import read_pdg
from exactlearn.formats.scores import read_jkl
from exactlearn.formats.table import read_dataset
from exactlearn.instances import bundled, folder
from exactlearn.pdg.compile.forest_search import ForestSearch
from exactlearn.pdg.inference.flows import log_likelihood
from tests.command_line import (
    ENVIRONMENT,
    PATIENCE,
    ROOT,
    alone,
    fails,
    read_record,
    run,
    run_json,
    started,
)
from tests.interrupts import press_ctrl_c


def imported_by(*calls):
    """Return the packages that calls import, and how many of the package's own modules."""
    code = (
        "import sys; before = set(sys.modules)\n"
        "from exactlearn.__main__ import main\n"
        f"for words in {calls}: main(words, standalone_mode=False)\n"
        "new = {m.partition('.')[0] for m in set(sys.modules) - before}\n"
        "own = sum(name.startswith('exactlearn') for name in sys.modules)\n"
        "print(sorted(new - set(sys.stdlib_module_names)), own, sep='\\n')\n"
    )
    packages, own = alone("-c", code).stdout.splitlines()[-2:]
    return packages, int(own)


class TestOverview:
    def test_helps_import_nothing_but_click(self):
        helps = (["--help"], *([name, "--help"] for name in COMMANDS))
        packages, own = imported_by(*helps)
        assert packages == "['click', 'exactlearn']"
        assert own <= 17

    def test_a_small_table_is_solved_without_slow_imports(self):
        packages, _ = imported_by(["solve", "asia-mnar-complete"])
        for name in ("highspy", "matplotlib", "pandas", "pyarrow", "pyscipopt"):
            assert repr(name) not in packages

    def test_the_launcher_runs_a_checkout(self, tmp_path):
        assert alone(ROOT / "cli.py", "--version", cwd=tmp_path).stdout.startswith(
            "exactlearn "
        )


class TestSolve:
    def test_scores_give_what_their_data_give(self, tables, tmp_path):
        scores = tables / "scores.jkl"
        assert read_jkl(scores).n_variables == 5
        from_scores, from_data = (
            run_json("solve", s) for s in (scores, tables / "full.csv")
        )
        assert from_scores["score"] == pytest.approx(from_data["score"], abs=1e-4)


class TestAugment:
    @pytest.mark.parametrize("method", ["exact", "branching", "gadget", "t-local"])
    def test_no_time_at_all_is_a_limit_not_a_conflict(self, tables, method):
        words = ("augment", tables / "holes.csv", "--method", method, "--time-limit", 0)
        record = run_json(*words, status=3)
        assert record["status"] == "feasible"

    @pytest.mark.parametrize("method", ["exact", "branching", "gadget", "t-local"])
    def test_an_interrupt_keeps_the_first_solution(
        self, tables, tmp_path, monkeypatch, method
    ):
        def offer_and_press(incumbent, solution):
            offer(incumbent, solution)
            # Once: a thread may offer again before the main thread has seen the first one.
            if not pressed:
                pressed.append(True)
                press_ctrl_c()

        pressed, offer = [], Incumbent.offer
        monkeypatch.setattr(Incumbent, "offer", offer_and_press)
        kept = tmp_path / "kept.json"
        words = ("augment", tables / "holes.csv", "--method", method, "-o", kept)
        record = run_json(*words, status=130)
        assert record["status"] == "interrupted"
        assert record["bound"] is None or record["score"] <= record["bound"]
        assert read_record(kept) == record


def test_debug_shows_the_traceback():
    done = CliRunner().invoke(main, ["query", "asia", "-e", "smoke", "--debug"])
    assert done.exit_code == 2
    assert "Traceback" in done.stderr


def test_simulate_hides_by_a_missingness_graph(tmp_path):
    text = "lung <- smoke, lung; dysp <- missing(lung)"
    words = ("simulate", "asia", "--rows", 900, "--missingness")
    record = run_json(*words, text, "-o", tmp_path / "a.csv")
    assert record["missingness"] == text
    assert np.shape(record["probabilities"]["lung"]) == (2, 2)
    data = read_dataset(tmp_path / "a.csv")
    assert record["missing_cells"] == len(data.missing_cells)
    assert {data.names[v] for v in data.missing_cells[:, 1]} <= {"lung", "dysp"}
    (tmp_path / "g.missingness").write_text(text)
    assert (
        run_json(*words, tmp_path / "g.missingness", "-o", tmp_path / "b.csv") == record
    )
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_convert_draws_and_compiles(tmp_path):
    run("convert", "cancer", "-o", tmp_path / "c.pdg.json")
    run("convert", tmp_path / "c.pdg.json", "-o", tmp_path / "c.svg")
    assert (tmp_path / "c.svg").read_text().count("box") >= 5
    run("convert", folder() / "asia-mnar.csv", "-o", tmp_path / "a.tsv.gz")
    assert len(read_dataset(tmp_path / "a.tsv.gz").missing_cells) == 16
    run("convert", "asia-mnar", "-o", tmp_path / "b.tsv.gz")
    assert (tmp_path / "b.tsv.gz").read_bytes() == (tmp_path / "a.tsv.gz").read_bytes()
    run("convert", tmp_path / "c.pdg.json", "-o", tmp_path / "c.pdg.json.gz")
    run("convert", tmp_path / "c.pdg.json.gz", "-o", tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_bytes() == (tmp_path / "c.svg").read_bytes()


def test_bins_with_commas_and_brackets_pass_through_every_file(tmp_path):
    raw, cut, net, graph = (
        tmp_path / name for name in ("r.csv", "c.csv", "n.bif", "g.pdg.json")
    )
    raw.write_text(
        "age,ill\n"
        + "".join(f"{k / 7},{'yes' if k > 20 else 'no'}\n" for k in range(30))
    )
    run("convert", raw, "--discretise", "*=frequency:3", "-o", cut)
    table = read_dataset(cut)
    names = table.states[0]
    assert names == read_dataset(raw, discretise={"age": "frequency:3"}).states[0]
    assert "(" in names[1]
    assert ", " in names[1]
    run("solve", cut, "-o", net)
    run("compile", net, "-o", graph)
    run("fit", graph, cut, "-o", graph, "--overwrite")
    evidence = ("-e", f"age={names[2]}")
    ours, theirs = (
        run_json("query", model, *evidence)["posterior"] for model in (net, graph)
    )
    assert theirs["ill"]["yes"] > ours["ill"]["yes"] > 0.8
    declared = ",".join(f'"{name}"' for name in (*names, "older"))
    run("convert", cut, "--states", f"age={declared}", "-o", cut, "--overwrite")
    assert read_dataset(cut).states[0] == (*names, "older")


class TestInstances:
    def test_list(self):
        listed = {entry["name"] for entry in run_json("instances")["instances"]}
        assert {
            "asia",
            "cancer",
            "earthquake",
            "survey",
            "lucas",
            "asia-mnar",
        } <= listed
        (shown,) = run_json("instances", "asia.bif")["instances"]
        assert (shown["name"], shown["kind"]) == ("asia", "network")

    @pytest.mark.parametrize("name", ["asia", "asia.bif"])
    def test_a_folder_of_that_name_hides_no_instance(self, tmp_path, monkeypatch, name):
        monkeypatch.chdir(tmp_path)
        (tmp_path / name).mkdir()
        assert "dysp" in run_json("query", name)["posterior"]

    @pytest.mark.parametrize("run_file", [p for p in bundled() if p.suffix == ".toml"],
                             ids=lambda p: p.stem)  # fmt: skip
    def test_bundled_data_come_from_the_command_in_their_run_file(
        self, run_file, tmp_path, monkeypatch
    ):
        lines = run_file.read_text().splitlines()
        words = next(line for line in lines if "exactlearn simulate" in line).split()[
            2:
        ]
        monkeypatch.chdir(tmp_path)
        run(*words)
        made = sorted(p.name for p in tmp_path.iterdir())
        assert len(made) == 2
        for name in made:
            assert (tmp_path / name).read_bytes() == (folder() / name).read_bytes()


class TestRun:
    def test_a_bundled_run(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        record = run_json("run", "cancer")
        results = tmp_path / "results" / "cancer"
        assert read_record(results / "result.json") == record
        assert record["status"] == "optimal"
        assert len(record["completion"]) == 30
        assert 0 <= record["imputation_accuracy"] <= 1
        refinement = record["refinement"]
        assert refinement["log_likelihood"] >= refinement["log_likelihood_before"]
        assert set(record["steps"][0]["posterior"]) == {"Cancer"}
        # The stored run names the bundled tables; it works where the folder is moved to.
        assert str(folder()) not in (results / "run.toml").read_text()
        moved = results.rename(tmp_path / "moved")
        again = run_json("run", moved / "run.toml", "-o", moved)
        assert again["completion"] == record["completion"]
        assert again["imputation_accuracy"] == record["imputation_accuracy"]

    def test_an_interrupt_of_the_compilation_ends_with_its_graph(
        self, tables, tmp_path, monkeypatch
    ):
        def interrupt(*unused):
            press_ctrl_c()
            return False

        monkeypatch.setattr(ForestSearch, "_prove", interrupt)
        file, out = tmp_path / "full.toml", tmp_path / "out"
        file.write_text(f'[data]\nfile = "{tables / "full.csv"}"\n')
        record = run_json("run", file, "-o", out, status=130)
        assert record["status"] == "interrupted"
        size = record["decision_graph"]["effective_size"]
        assert read_pdg(out / "model.pdg.json").effective_size == size

    def test_rows_not_learned_from_are_judged(self, tables, tmp_path):
        run("simulate", "cancer", "--rows", 2000, "--hide", "mcar:0.05", "--seed", 5,
            "-o", tmp_path / "fresh.csv")  # fmt: skip
        file = tmp_path / "judged.toml"
        file.write_text(
            f'[data]\nfile = "{tables / "holes.csv"}"\ntest = "fresh.csv"\n'
            '[search]\nmethod = "mode"\n'
        )
        record = run_json("run", file, "-o", tmp_path / "out")
        network, graph = (
            record["held_out"]["network"],
            record["held_out"]["decision_graph"],
        )
        assert network["rows"] == graph["rows"] == 2000
        assert network["impossible_rows"] == graph["impossible_rows"] == []
        fresh = load(
            tmp_path / "fresh.csv", Reading(), read_pdg(tmp_path / "out/model.pdg.json")
        )
        expected = (
            log_likelihood(read_pdg(tmp_path / "out/model.pdg.json"), fresh) / 2000
        )
        assert graph["log_likelihood_per_row"] == pytest.approx(expected)
        assert expected > network["log_likelihood_per_row"] - 0.02
        parents = [record["parents"][name] for name in fresh.names]
        data = load(tables / "holes.csv", Reading(), fresh)
        by_em = fit_em(
            data, [[fresh.names.index(p) for p in ps] for ps in parents]
        ).model
        written = read_bif(tmp_path / "out/network.bif").tables
        for table, other in zip(by_em.tables, written, strict=True):
            np.testing.assert_allclose(table, other, atol=1e-9)

        file.write_text(file.read_text() + "[decision_graph]\nsmoothing = 0\n")
        printed = run("run", file, "-o", tmp_path / "out")
        assert re.search(r"decision_graph +2000 +-inf +\d+, ", printed)


def test_the_version_comes_with_what_it_stands_on():
    assert run("--version") == f"exactlearn {exactlearn.__version__}\n"
    shown = run("--version", "-v").splitlines()
    assert shown[0] == f"exactlearn {exactlearn.__version__}"
    assert f"numpy {np.__version__}" in shown
    assert str(cache_folder()) in shown[-1]


class TestStreams:
    def test_one_line_says_that_kernels_are_compiled(self, tmp_path):
        words = (
            "-m",
            "exactlearn",
            "simulate",
            "asia",
            "--rows",
            "13000",
            "-o",
            "rows.csv",
        )
        cold, warm = (
            alone(*words, cwd=tmp_path, NUMBA_CACHE_DIR=tmp_path) for _ in range(2)
        )
        first, wrote = cold.stderr.splitlines()
        assert first.startswith("Compiling the numerical kernels")
        assert wrote.startswith("Wrote")
        assert warm.stderr.splitlines() == [wrote]

    def test_one_line_says_that_kernels_cannot_be_kept(self, tmp_path):
        (tmp_path / "file").touch()
        words = (
            "-m",
            "exactlearn",
            "simulate",
            "asia",
            "--rows",
            "13000",
            "-o",
            "rows.csv",
        )
        cold = alone(*words, cwd=tmp_path, NUMBA_CACHE_DIR=tmp_path / "file")
        first, _ = cold.stderr.splitlines()
        assert f"cannot be kept in NUMBA_CACHE_DIR, {tmp_path / 'file'}" in first

    def test_a_closed_pipe_is_no_traceback(self):
        with started("instances", "--json") as pipe:
            pipe.stdout.close()
            _, printed = pipe.communicate(timeout=PATIENCE)
        assert (pipe.returncode, printed) == (141, "")

    @pytest.mark.skipif(
        not Path("/dev/full").exists(), reason="no device that is always full"
    )
    @pytest.mark.parametrize(
        ("words", "status", "printed"),
        [
            (
                "instances >/dev/full",
                2,
                "Error: standard output: No space left on device\n",
            ),
            (
                "--help >/dev/full",
                2,
                "Error: standard output: No space left on device\n",
            ),
            ("--help | true", 141, ""),
            ("instances >&- <&-", 0, ""),
            (
                "solve asia-mnar --json >&-",
                2,
                "Error: --json: standard output is closed; open it, or write the record with "
                "'-o FILE.json'\n",
            ),
            ("nocommand 2>&-", 2, ""),
            ("nocommand 2>/dev/full", 2, ""),
        ],
    )
    def test_a_full_or_closed_stream_is_reported_in_a_line_at_most(
        self, words, status, printed
    ):
        script = f"set -o pipefail; {sys.executable} -m exactlearn {words}"
        done = subprocess.run(
            ["bash", "-c", script], env=ENVIRONMENT, text=True, capture_output=True
        )
        assert (done.returncode, done.stdout, done.stderr) == (status, "", printed)


class TestMessages:
    def test_names_print_where_the_terminal_has_no_such_characters(self, tmp_path):
        model = folder() / "cancer.bif"
        text = model.read_text(encoding="utf-8").replace("Smoker", "\u5438\u70df")
        file = tmp_path / "model.bif"
        file.write_text(text, encoding="utf-8")
        done = alone("-m", "exactlearn", "query", file, PYTHONIOENCODING="ascii")
        assert done.stderr == ""
        assert r"\u5438\u70df" in done.stdout

    @pytest.mark.parametrize("text", [100_000 * "x", 10_000 * "many words "])
    @pytest.mark.parametrize(
        "words",
        [
            ("query", "asia", "-e", "smoke={}"),  # an error of this package
            ("query", "{}"),  # one of the operating system
            ("solve", "asia-mnar", "--solver", "{}"),  # one of the options' reader
        ],
    )
    def test_a_message_has_a_few_lines_whatever_it_quotes(self, words, text):
        printed = fails(*(word.format(text) for word in words))
        assert len(printed) < 1300
        assert text[:20] in printed

    def test_an_unexpected_error_is_reported_in_a_few_lines_too(self, monkeypatch):
        def fail(path):
            raise ZeroDivisionError(10_000 * "many words ")

        monkeypatch.setattr("exactlearn.formats.models.read_model", fail)
        printed = fails("query", "asia", status=1)
        assert len(printed) < 1300
        assert "run again with --debug" in printed


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
class TestSignals:
    def test_an_interrupt_while_a_text_is_run_has_the_status_of_one(self, tmp_path):
        """Python ended by the signal, status -2, though the interrupt was caught."""
        code = "import sys\nfrom exactlearn.__main__ import _exit_status as status\n"
        code += "sys.exit(status(lambda: exec('raise KeyboardInterrupt'), False))\n"
        (tmp_path / "interrupted.py").write_text(code)
        ended = alone("-m", "interrupted", status=130, cwd=tmp_path)
        assert ended.stderr == "Interrupted.\n"
