"""Sweeps: each run as it is alone, one table over all, done once, in several processes alike."""

import csv
import json
import shutil
import signal
import time

import pytest

from exactlearn.commands.steps import read_runs
from exactlearn.instances import locate
from tests.command_line import run, run_json, started

SWEEP = """
[data]
file = "table.csv"
test = "table.csv"
[sweep]
score.ess = [1, 16]
score.max_parents = [1, 2]
"""


def begun(folder):
    """Return a folder with a table and the sweep over it."""
    shutil.copyfile(locate("asia-mnar-complete", ".csv"), folder / "table.csv")
    (folder / "run.toml").write_text(SWEEP)
    return folder


@pytest.fixture
def folder(tmp_path):
    return begun(tmp_path)


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """Return a folder with the sweep done in this process, and its record."""
    folder = begun(tmp_path_factory.mktemp("swept"))
    return folder, run_json("run", folder / "run.toml", "-o", folder / "out")


def written(folder, text):
    path = folder / "other.toml"
    path.write_text(text)
    return path


def test_any_key_of_a_section_or_step_is_varied(folder):
    text = """
    data = {file = "table.csv", drop = ["asia"]}
    [[solve]]
    [[solve]]
    output = "again"
    [sweep]
    data.discretise.age = ["width:2", "width:3"]
    search.forbidden = [["tub->asia"], []]
    solve.best = [2, 3]
    """
    runs = read_runs(written(folder, text))
    assert len(runs) == 8
    assert all(one["data"]["drop"] == ["asia"] for _, one in runs)
    assert [one["search"]["forbidden"] for _, one in runs[:4]] == [
        ["tub->asia"]
    ] * 2 + [[]] * 2
    assert [[step["best"] for step in one["solve"]] for _, one in runs[:2]] == [
        [2, 2],
        [3, 3],
    ]
    varied = {"data.discretise.age": "width:3", "search.forbidden": [], "solve.best": 3}
    assert runs[-1][0] == varied


def test_each_run_is_that_of_its_own_file(swept):
    folder, found = swept
    assert found["varied"] == ["score.ess", "score.max_parents"]
    assert len(found["runs"]) == 4
    for row in found["runs"]:
        chosen = "".join(f"{key} = {row[key]}\n" for key in found["varied"])
        text = f"{chosen}{SWEEP.partition('[sweep]')[0]}"
        alone = run_json("run", written(folder, text), "-o", folder / "alone")
        record = json.loads((folder / "out" / row["run"] / "result.json").read_text())
        assert row["score"] == record["score"] == alone["score"]
        assert record["parents"] == alone["parents"]
        held_out = alone["held_out"]["network"]["log_likelihood_per_row"]
        assert row["held_out.network.log_likelihood_per_row"] == held_out
        assert record["made_by"]["command"][1] == "run"
    with (folder / "out" / "sweep.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["score"]) for row in rows] == [
        row["score"] for row in found["runs"]
    ]


def test_what_is_done_is_not_repeated(folder):
    out, quick = folder / "out", SWEEP.replace("[sweep]", "[solve]\n[sweep]")
    quick = f"pipeline = false\n{quick}"
    words = ("run", written(folder, quick), "-o", out)
    run(*words)
    before = {path: path.stat().st_mtime_ns for path in out.glob("*/result.json")}
    table = (out / "sweep.csv").read_bytes()
    run(*words)
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert (out / "sweep.csv").read_bytes() == table
    written(folder, quick.replace("[1, 16]", "[1, 16, 64]"))
    (out / "ess=16,max_parents=2" / "result.json").unlink()
    run(*words)
    again = {path: path.stat().st_mtime_ns for path in out.glob("*/result.json")}
    assert len(again) == 6
    assert sum(again[path] != before.get(path) for path in again) == 3
    rows = (folder / "table.csv").read_text().splitlines(keepends=True)
    (folder / "table.csv").write_text("".join(rows[:-1]))
    run(*words)
    assert all(path.stat().st_mtime_ns != again[path] for path in again)


@pytest.mark.parametrize("place", ["--jobs", "--cluster"])
@pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
def test_several_processes_leave_the_same_files(swept, place, request, tmp_path):
    folder, alone = swept
    words = (
        place,
        2 if place == "--jobs" else request.getfixturevalue("client").scheduler.address,
    )
    other = run_json("run", folder / "run.toml", "-o", tmp_path / "out", *words)["runs"]
    for one, two in zip(alone["runs"], other, strict=True):
        clocks = {key: 0 for key in one if key.endswith("seconds")}
        assert {**one, **clocks} == {**two, **clocks}
        for name in ("network.bif", "model.pdg.json", "run.toml"):
            paths = [place / "out" / one["run"] / name for place in (folder, tmp_path)]
            assert paths[0].read_bytes() == paths[1].read_bytes()


def test_a_run_that_fails_leaves_the_others(folder):
    text = SWEEP.replace("max_parents = [1, 2]", "max_parents = [1]") + (
        'search.required = [["smoke->lung", "bronc->lung"], []]\n'
    )
    path = written(folder, text)
    found = run_json("run", path, "-o", folder / "out", status=5)
    assert len(found["runs"]) == len(found["failures"]) == 2
    assert "may have at most 1" in found["failures"][0]


def test_steps_alone_are_varied_too(folder):
    text = 'pipeline = false\ndata.file = "table.csv"\n[sweep]\nsolve.criterion = ["bic", "aic"]\n'
    rows = run_json("run", written(folder, text), "-o", folder / "out")["runs"]
    assert [row["solve.criterion"] for row in rows] == ["bic", "aic"]
    for row in rows:
        alone = run_json(
            "solve", folder / "table.csv", "--criterion", row["solve.criterion"]
        )
        assert row["solve.score"] == alone["score"]


def test_ctrl_c_keeps_what_is_done(folder):
    text = SWEEP.replace("[1, 16]", str([1, *range(1000, 1200)]))
    path, out = written(folder, text), folder / "out"
    with started("run", path, "-o", out, "--json") as process:
        while not (out / "ess=1,max_parents=2" / "network.bif").exists():
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        found, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert json.loads(found)["runs"][0]["score.ess"] == 1
    assert "runs are done" in err
