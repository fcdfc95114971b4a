"""``exactlearn missingness``: what it prints, draws and writes, and what it recommends."""

import shlex

import numpy as np
import pytest

from exactlearn.bayesnet.complete_data import fit_available_cases
from exactlearn.data.dataset import Dataset
from exactlearn.data.missingness_graph import MissingnessGraph
from exactlearn.data.missingness_patterns import missingness_patterns
from exactlearn.data.missingness_simulation import hide_by_graph
from exactlearn.formats.missingness_file import read_missingness
from exactlearn.formats.models import read_network
from exactlearn.formats.table import read_dataset
from exactlearn.imputation.mechanism import learned_missingness_graph
from exactlearn.imputation.missingness_diagnosis import (
    DiagnosisParameters,
    causes_in_words,
    diagnosed_missingness_graph,
    recommendation,
)
from exactlearn.imputation.missingness_tests import indicator_tests
from exactlearn.instances import locate
from tests.command_line import fails, run, run_json

GRAPH = "lung <- smoke; dysp <- bronc, smoke; xray <-"


@pytest.fixture(scope="module")
def incomplete(tmp_path_factory):
    path = tmp_path_factory.mktemp("missingness") / "incomplete.csv"
    run("simulate", "asia", "--rows", 4000, "--missingness", GRAPH, "--seed", 3, "-o", path)
    return path


def test_the_record_counts_what_the_table_has(incomplete):
    record = run_json("missingness", incomplete, "--patterns", 3)
    table = read_dataset(incomplete)
    missing = table.codes == -1
    assert record["rows"] == 4000
    assert record["missing_cells"] == missing.sum()
    assert record["share_complete"] == pytest.approx((~missing.any(axis=1)).mean())
    assert record["rates"] == pytest.approx(
        dict(zip(table.names, missing.mean(axis=0), strict=True))
    )
    assert record["pattern_count"] == len(np.unique(missing, axis=0))
    assert len(record["patterns"]) == 3
    for pattern in record["patterns"]:
        same = (missing == [name in pattern["missing"] for name in table.names]).all(axis=1)
        assert pattern["rows"] == same.sum()
    assert record["mcar"]["tested"] == len(record["tests"]) == 21
    assert "not MCAR" in record["mcar"]["verdict"]
    assert record["learned"]["kind"] == "MAR"
    assert record["learned"]["causes"]["dysp"]["variables"] == ["smoke", "bronc"]
    assert record["recommendation"]["method"] == "em"
    assert "implied" not in record


def test_a_given_graph_is_tested(incomplete, tmp_path):
    file = tmp_path / "graph.missingness"
    file.write_text(GRAPH.replace("; ", "\n"))
    for source in (GRAPH, file):
        record = run_json("missingness", incomplete, "--missingness", source)
        assert record["implied"]["failed"] == []
        assert record["implied"]["kind"] == "MAR"
    wrong = run_json("missingness", incomplete, "--missingness", "lung <-; dysp <-; xray <- xray")
    failed = {(test["indicator"], test["variable"]) for test in wrong["implied"]["failed"]}
    assert {("lung", "smoke"), ("dysp", "bronc")} <= failed
    assert not {indicator for indicator, _ in failed} & {"xray"}
    assert wrong["implied"]["not_testable"] == ["xray"]
    assert wrong["recommendation"]["method"] == "em"
    assert "which the rows contradict" in wrong["recommendation"]["wrong_if"]


def test_text_figure_and_learned_graph(incomplete, tmp_path):
    graph = tmp_path / "learned.missingness"
    for suffix in ("svg", "png", "pdf"):
        first = run("missingness", incomplete, "-o", tmp_path / f"a.{suffix}")
    again = run("missingness", incomplete, "-o", tmp_path / "b.svg", "--missingness-output", graph)
    assert first == again
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert str(read_missingness(graph)) == run_json("missingness", incomplete)["learned"]["graph"]
    for words in ("cannot be tested", "recommended", "wrong if", "smoke, bronc", "complete rows"):
        assert words in again
    run("missingness", incomplete, "-o", tmp_path / "r.json")
    assert (tmp_path / "r.json").read_text().startswith("{")


def test_complete_tables_have_nothing_to_diagnose(tmp_path):
    run("simulate", "survey", "--rows", 200, "-o", tmp_path / "full.csv")
    record = run_json("missingness", tmp_path / "full.csv")
    assert record["recommendation"]["method"] == "complete"
    assert record["tests"] == []
    assert "no cell is missing" in run("missingness", tmp_path / "full.csv")


def test_mistakes_are_refused(incomplete, tmp_path):
    unknown = GRAPH.replace("bronc", "bronch")
    assert "'bronch' is no variable" in fails("missingness", incomplete, "--missingness", unknown)
    lacking = fails("missingness", incomplete, "--missingness", "lung <-")
    assert "the missingness graph says that this variable has none" in lacking
    assert "ending in .json, .svg" in fails("missingness", incomplete, "-o", tmp_path / "a.csv")
    assert "there is no folder" in fails(
        "missingness", incomplete, "--missingness-output", tmp_path / "no" / "g.json"
    )


def test_a_run_file_takes_it_as_a_step(incomplete, tmp_path):
    (tmp_path / "a.toml").write_text(
        f"[data]\nfile = '{incomplete}'\n[search]\nmethod = 'mode'\n[figures]\nformats = []\n"
        "[missingness]\noutput = 'patterns.svg'\n"
        f"missingness = '{GRAPH} # longer than the name of any file: {'x' * 300}'\n"
    )
    record = run_json("run", tmp_path / "a.toml", "-o", tmp_path / "out")
    (step,) = record["steps"]
    assert step["implied"]["failed"] == []
    assert (tmp_path / "out" / "patterns.svg").is_file()


def table(graph, rows=2000, complete=0.5, names=("a", "b", "c", "d")):
    codes = np.random.default_rng(0).integers(0, 2, (rows, len(names)))
    incomplete = [names.index(name) for name in graph.causes]
    codes[: int(rows * (1 - complete)), incomplete] = -1
    return Dataset(codes, names, (("no", "yes"),) * len(names))


CHAIN = [(), (0,), (1,), (2,)]
DENSE = DiagnosisParameters(large_cliques=4)


@pytest.mark.parametrize(
    ("text", "rows", "complete", "parameters", "method"),
    [
        ("", 2000, 1.0, DiagnosisParameters(), "complete"),
        ("a <-", 2000, 0.5, DiagnosisParameters(), "em"),
        ("a <-", 2000, 0.99, DiagnosisParameters(), "cca"),
        ("a <-", 2000, 0.99, DENSE, "f-mcar"),
        ("a <- b", 2000, 0.5, DiagnosisParameters(), "em"),
        ("a <- b", 2000, 0.5, DiagnosisParameters(few_rows=2000), "id-mar"),
        ("a <- b", 2000, 0.5, DENSE, "if-mar"),
        ("a <- b, c, d", 40, 0.5, DENSE, "f-mar"),
        ("a <- b, c, d", 40, 0.5, DiagnosisParameters(few_rows=40), "d-mar"),
        ("a <- b; b <- a", 2000, 0.5, DiagnosisParameters(), "em"),
        ("a <- b; b <- a", 2000, 0.5, DiagnosisParameters(few_rows=2000), "graph"),
        ("a <- a", 2000, 0.5, DiagnosisParameters(), "em"),
        ("a <- a", 2000, 0.5, DENSE, "graph"),
    ],
)
def test_recommendations(text, rows, complete, parameters, method):
    graph = MissingnessGraph.parse(text)
    data = table(graph, rows, complete)
    found = recommendation(
        data, missingness_patterns(data), graph,
        is_given=True, parents=CHAIN, parameters=parameters,
    )  # fmt: skip
    assert found.method == method
    assert (f"--method {method}" in found.command) != (method == "graph")
    takes = method in ("graph", "id-mar", "if-mar") or graph.kind == "MNAR"
    assert ("--missingness" in found.command) == takes == bool(found.missingness)
    assert bool(found.separators) == (method in ("id-mar", "if-mar"))
    assert found.why
    assert found.wrong_if


def test_what_is_learned_to_be_missing_not_at_random_is_fitted_with_the_network():
    graph = MissingnessGraph.parse("a <- b; b <-")
    data = table(graph)
    found = recommendation(data, missingness_patterns(data), graph, is_given=False)
    assert (found.method, found.missingness) == ("em", "a <- b; b <-")
    assert "learned" in found.wrong_if


def test_the_recommended_command_runs(tmp_path):
    data, model = tmp_path / "a.csv", tmp_path / "model.bif"
    for graph, method in ((GRAPH, "em"), ("smoke <- bronc; bronc <- smoke", "em")):
        run("simulate", "asia", "--rows", 3000, "--missingness", graph, "--seed", 4, "-o", data)
        words = ("missingness", data, "--missingness", graph, "--network", "asia")
        found = run_json(*words)["recommendation"]
        assert found["method"] == method
        record = run_json(*shlex.split(found["command"])[1:], "-o", model)
        assert ("missingness" in record) == (graph != GRAPH)


def test_the_learned_graph_has_all_fully_observed_causes_that_tests_find():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 2, (3000, 4))
    rates = np.array([[0.05, 0.3], [0.5, 0.9]])
    codes[rng.random(3000) < rates[codes[:, 1], codes[:, 2]], 0] = -1
    codes[rng.random(3000) < 0.2, 3] = -1
    data = Dataset(codes, ("a", "b", "c", "d"), (("no", "yes"),) * 4)
    tests = [test for test in indicator_tests(data, rng) if test.adjusted < 0.05]
    graph = diagnosed_missingness_graph(data, tests, rng)
    assert str(graph) == "a <- b, c; d <-"
    assert str(diagnosed_missingness_graph(data, [], rng)) == "a <-; d <-"
    assert causes_in_words(graph) == {"a": "b, c", "d": "nothing"}


@pytest.mark.parametrize(
    "text", ["smoke <- smoke; dysp <- bronc", "dysp <- bronc; bronc <- smoke; smoke <- dysp"]
)
def test_dependence_on_own_values_and_on_missing_ones_is_learned_with_the_network(text):
    network = read_network(locate("asia", ".bif"))
    rng = np.random.default_rng(1)
    graph = MissingnessGraph.parse(text)
    tables = {
        name: np.array([[0.1, 0.6], [0.7, 0.2], [0.2, 0.7]][k])
        for k, name in enumerate(graph.causes)
    }
    data = hide_by_graph(network.sample(20_000, rng), graph, tables, rng)
    tests = [test for test in indicator_tests(data, rng) if test.adjusted < 0.05]
    learned = diagnosed_missingness_graph(data, tests, rng, network.parents)
    assert learned.causes == graph.causes


def test_causes_together_beat_each_alone_in_the_learned_graph():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 2, (2000, 3))
    codes[rng.random(2000) < np.array([[0.1, 0.3], [0.5, 0.9]])[codes[:, 1], codes[:, 2]], 0] = -1
    data = Dataset(codes, ("a", "b", "c"), (("no", "yes"),) * 3)
    networks = [fit_available_cases(data, [()] * 3, smoothing=1.0)]
    assert learned_missingness_graph(data, networks).causes == {"a": ("b",)}
    assert learned_missingness_graph(data, networks, several=True).causes == {"a": ("b", "c")}


def test_a_weak_dependence_that_bic_refuses_is_not_called_nothing(tmp_path):
    rows = {"?,?": 3, "?,a": 3, "?,b": 14, "a,?": 5, "a,a": 130, "a,b": 32}
    rows |= {"b,?": 8, "b,a": 41, "b,b": 164}
    lines = ["x,y", *(row for row, count in rows.items() for _ in range(count))]
    (tmp_path / "weak.csv").write_text("\n".join(lines) + "\n")
    printed = run("missingness", tmp_path / "weak.csv")
    causes = {line.split()[0]: line for line in printed.splitlines() if "nothing" in line}
    assert "nothing by BIC, though a test below finds a dependence" in causes["x"]
    assert causes["y"].split()[-1] == "nothing"
