"""The command that puts languages of models side by side."""

import json
import tomllib

import pytest

from exactlearn.commands.declarations import Compare
from exactlearn.commands.runs import run_from
from exactlearn.evaluation import language_study, sl_curves
from exactlearn.evaluation.languages import LANGUAGES
from exactlearn.formats.models import read_model
from tests.command_line import fails, read_record, run, run_json
from tests.interrupts import press_ctrl_c

QUICK = ("--size-weights", "0.8,0.6", "--queries", 40)
BOTH = ("--languages", "bn,pdg", *QUICK)


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    run("simulate", "cancer", "--rows", 150, "--seed", 3, "-o", folder / "full.csv")
    run("simulate", "cancer", "--rows", 60, "--seed", 4, "-o", folder / "test.csv")
    run("simulate", "cancer", "--rows", 90, "--hide", "mcar:0.1", "-o", folder / "holes.csv")
    return folder


def without_seconds(value):
    if isinstance(value, dict):
        return {k: without_seconds(v) for k, v in value.items() if "seconds" not in k}
    return [without_seconds(v) for v in value] if isinstance(value, list) else value


def test_each_language_has_the_models_that_the_criteria_choose(tables):
    words = ("compare", tables / "full.csv", "--languages", ",".join(LANGUAGES), *QUICK)
    record = run_json(*words, "--repeat", 2)
    chosen = [(row["language"], row["chosen_by"]) for row in record["rows"]]
    assert chosen == [(name, by) for name in LANGUAGES for by in language_study.CHOSEN_BY]
    for row in record["rows"]:
        assert row["n"] == 2
        assert row["train_error"] >= 0
        assert row["query_accuracy"] < 0
    (verdict,) = record["verdicts"]
    best = {r["language"]: r["test"] for r in record["rows"] if r["chosen_by"] == "validation"}
    assert best[verdict["winner"]] == max(best.values())
    assert verdict["ahead"] == pytest.approx(best[verdict["winner"]] - best[verdict["second"]])
    assert [c["rows"] for c in record["curves"]["full"]] == [120, 120]
    printed = run(*words[:-1], 0, "--repeat", 1, "-q")
    assert "predicts the test best" in " ".join(printed.split())
    assert "Definition 4.1" in printed
    assert "log P(q|e)" not in printed


def test_a_folder_holds_models_curves_and_what_a_later_call_goes_on_from(tables, tmp_path):
    pytest.importorskip("matplotlib")
    folder = tmp_path / "out"
    words = ("compare", tables / "full.csv", "--languages", "bn,nb,pdg", *QUICK, "-o", folder)
    run(*words, "--repeat", 1)
    models = sorted(path.name for path in (folder / "models").iterdir())
    assert models == sorted(
        f"full-{name}-{by}{suffix}"
        for name, suffix in (("bn", ".bif"), ("nb", ".nb.json"), ("pdg", ".pdg.json"))
        for by in ("aic", "bic", "validation")
    )
    record = json.loads((folder / "compare.json").read_text())
    for row in record["rows"]:
        name = f"full-{row['language']}-{row['chosen_by'].lower()}"
        (path,) = (folder / "models").glob(f"{name}.*")
        assert read_model(path).representational_size == row["representational_size"]
    for figure in ("sl_curve.svg", "queries.svg"):
        assert (folder / figure).read_text().count("</svg>") == 1
    before = json.loads((folder / "repetitions.json").read_text())["full"]["0"]
    run(*words, "--repeat", 2)
    after = json.loads((folder / "repetitions.json").read_text())["full"]
    assert after["0"] == before
    assert sorted(after) == ["0", "1"]


def test_processes_give_what_one_process_gives(tables):
    words = ("compare", tables / "full.csv", *BOTH, "--repeat", 2)
    assert without_seconds(run_json(*words, "--jobs", 2)) == without_seconds(run_json(*words))


def test_rows_of_a_test_judge(tables):
    words = ("compare", tables / "full.csv", *BOTH, "--repeat", 1)
    record = run_json(*words, "--test", tables / "test.csv")
    (curves,) = record["curves"]["full"]
    assert curves["rows"] == 135
    rows = language_study.StudyTable("full", *_read(tables)).divided(0)
    assert [part.n_rows for part in rows] == [135, 15, 60]
    assert curves["test_bound"] == pytest.approx(sl_curves.empirical_log_likelihood(rows[2]))


def _read(tables):
    from exactlearn.formats.table import read_dataset

    full = read_dataset(tables / "full.csv")
    states = dict(zip(full.names, full.states, strict=True))
    return full, read_dataset(tables / "test.csv", states=states)


def test_several_tables_and_missing_cells(tables, tmp_path):
    words = ("compare", tables / "full.csv", tables / "holes.csv", *BOTH, "--repeat", 1)
    record = run_json(*words, "-o", tmp_path / "all.json")
    assert [v["data"] for v in record["verdicts"]] == ["full", "holes"]
    assert read_record(tmp_path / "all.json") == record
    printed = run(*words, "-q")
    assert printed.splitlines()[0].split()[:2] == ["data", "language"]


def test_divisions_are_disjoint_and_whole(tables):
    full, _ = _read(tables)
    parts = language_study.StudyTable("t", full).divided(5)
    assert [part.n_rows for part in parts] == [120, 15, 15]
    together = sorted(row for part in parts for row in part.codes.tolist())
    assert together == sorted(full.codes.tolist())
    again = language_study.StudyTable("t", full).divided(5)
    other = language_study.StudyTable("t", full).divided(6)
    assert [p.codes.tolist() for p in again] == [p.codes.tolist() for p in parts]
    assert [p.codes.tolist() for p in other] != [p.codes.tolist() for p in parts]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--languages", "bn,pgd"), "no language 'pgd'; did you mean 'pdg'"),
        (("--languages", "bn", "--methods", "mode"), "--methods goes with a comparison of methods"),
        (("--languages", "bn", "--hide", "mcar:2"), "--hide goes with a comparison of methods"),
        (
            ("--languages", "bn", "--size-weights", "1"),
            "size_weight 1.0: expected a number between 0 and 1",
        ),
        (("--languages", "bn", "-o", "x.csv"), "ending in .json"),
        (("--size-weights", "0.5"), "--size-weights goes with a comparison of languages"),
        (("--test", "test.csv"), "--test goes with a comparison of languages"),
        (("other.csv",), "other.csv: a second table"),
    ],
)
def test_wrong_options_are_refused(tables, words, message):
    assert message in " ".join(fails("compare", tables / "full.csv", *words).split())


def test_tables_that_cannot_be_compared_on_are_refused(tables, tmp_path):
    small, single = tmp_path / "small.csv", tmp_path / "single.csv"
    small.write_text("a,b\n0,1\n1,0\n")
    single.write_text("a\n" + "0\n1\n" * 10)
    languages = ("--languages", "bn")
    assert "2 rows are too few" in fails("compare", small, *languages)
    assert "a single variable" in fails("compare", single, *languages)
    assert "expected a table" in fails("compare", *languages)
    two = ("compare", tables / "full.csv", tables / "holes.csv", *languages)
    assert "goes with one table" in fails(*two, "--test", tables / "test.csv")
    assert "a figure shows one table" in fails(*two, "-o", tmp_path / "x.svg")


def test_two_variables_suffice(tmp_path):
    table = tmp_path / "two.csv"
    table.write_text("a,b\n" + "0,1\n1,0\n0,0\n1,0\n" * 5)
    record = run_json("compare", table, *BOTH, "--repeat", 1)
    assert all(row["query_accuracy"] < 0 for row in record["rows"])


def test_a_failure_of_one_language_leaves_the_others(tables, monkeypatch):
    def fail(dataset, weights, seed):
        raise ValueError("broken")
        yield

    monkeypatch.setitem(sl_curves.LANGUAGES, "pdg", fail)
    record = run_json("compare", tables / "full.csv", *BOTH, "--repeat", 1, status=5)
    assert record["failures"] == ["full, 0: pdg: ValueError: broken"]
    assert {row["language"] for row in record["rows"]} == {"bn"}
    assert record["verdicts"] == []


def test_limit_and_interrupt_keep_the_curves_so_far(tables, monkeypatch):
    words = ("compare", tables / "full.csv", "--languages", "bn,nb", *QUICK, "--repeat", 1)
    record = run_json(*words, "--time-limit", 0.001, status=3)
    assert record["rows"] == [] or record["curves"]["full"][0]["unfinished"]
    first = LANGUAGES["bn"]

    def interrupted(dataset, weights, seed):
        yield next(iter(first(dataset, weights, seed)))
        press_ctrl_c()

    monkeypatch.setitem(sl_curves.LANGUAGES, "bn", interrupted)
    record = run_json(*words, status=130)
    assert record["curves"]["full"][0]["unfinished"] == ["bn"]
    assert {row["language"] for row in record["rows"]} == {"bn"}


def test_a_step_of_a_run_compares_languages(tables, tmp_path):
    text = f"""
        pipeline = false
        [data]
        file = '{tables / "full.csv"}'
        truth = '{tables / "full.csv"}'
        [compare]
        languages = ["bn", "pdg"]
        size_weights = [0.8]
        queries = 0
        repeat = 1
        output = "languages"
        """
    (step,) = run_from(tomllib.loads(text), tmp_path).steps
    assert isinstance(step.options, Compare)
    (tmp_path / "run.toml").write_text(text)
    run("run", tmp_path / "run.toml", "-o", tmp_path / "out", "-q")
    (record,) = json.loads((tmp_path / "out" / "result.json").read_text())["steps"]
    assert {row["language"] for row in record["rows"]} == {"bn", "pdg"}
    assert (tmp_path / "out" / "languages" / "models" / "full-bn-bic.bif").exists()
