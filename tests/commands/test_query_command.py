import numpy as np
import pytest

from exactlearn.bayesnet.complete_data import fit_complete
from exactlearn.data.labels import interval
from exactlearn.formats.bif import read_bif, write_bif
from exactlearn.formats.model_json import write_pdg
from exactlearn.formats.models import read_network
from exactlearn.formats.table import read_dataset, write_dataset
from exactlearn.queries.posteriors import query
from tests.command_line import fails, invoke, run, run_json
from tests.network_oracle import joint
from tests.pdg_oracle import paper_example


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "a.pdg.json"
    write_pdg(paper_example(), path)
    return path


def test_all_questions_are_answered_in_one_record(model):
    record = run_json("query", model, "-e", "X3=0", "--best", 2, "--independences")
    assert set(record["posterior"]) == {"X0", "X1", "X2"}
    first, second = record["explanations"]
    assert first["probability"] >= second["probability"]
    assert first["states"].keys() == {"X0", "X1", "X2"}
    assert record["independences"]
    assert "probability" in run("query", model, "--best", 1)


def test_the_best_states_are_those_of_the_targets():
    words = (
        "query",
        "asia",
        "-e",
        "dysp=yes",
        "-t",
        "bronc",
        "-t",
        "lung",
        "-t",
        "lung",
    )
    explained = run_json(*words, "--best", 9)["explanations"]
    table = joint(
        read_network("asia")
    )  # asia, tub, smoke, lung, bronc, either, xray, dysp
    marginal = table[..., 0].sum(axis=(0, 1, 2, 5, 6))
    marginal /= marginal.sum()
    labels = ("yes", "no")
    expected = {
        (labels[bronc], labels[lung]): marginal[lung, bronc]
        for bronc in (0, 1)
        for lung in (0, 1)
    }
    assert [list(each["states"]) for each in explained] == [["bronc", "lung"]] * 4
    probabilities = {
        tuple(each["states"].values()): each["probability"] for each in explained
    }
    assert probabilities == pytest.approx(expected)
    assert list(probabilities.values()) == sorted(probabilities.values(), reverse=True)
    told = invoke(*words, "--best", 1).stderr
    assert (
        "most probable states of bronc, lung together, the other variables summed out"
        in told
    )


def test_the_joint_posterior_and_its_maximum():
    """P(lung, bronc | dysp = yes) and MAP, by the full joint distribution."""
    words = ("query", "asia", "-e", "dysp=yes", "-t", "bronc", "-t", "lung")
    record = run_json(*words, "--map", "--joint")
    table = joint(read_network("asia"))[..., 0].sum(axis=(0, 1, 2, 5, 6)).T
    configurations = [tuple(row["states"].items()) for row in record["joint"]]
    labels = [("yes", "yes"), ("yes", "no"), ("no", "yes"), ("no", "no")]
    assert configurations == [(("bronc", b), ("lung", lung)) for b, lung in labels]
    probabilities = [row["probability"] for row in record["joint"]]
    assert probabilities == pytest.approx((table / table.sum()).ravel().tolist())
    (explanation,) = record["explanations"]
    assert explanation["states"] == {"bronc": "yes", "lung": "no"}
    assert explanation["probability"] == pytest.approx(max(probabilities))
    assert "joint" not in run_json(*words, "--best", 1)
    everything = run_json("query", "cancer", "--joint")["joint"]
    assert len(everything) == 2**5
    assert sum(row["probability"] for row in everything) == pytest.approx(1.0)
    assert "--map and --best exclude each other" in fails(*words, "--map", "--best", 2)


@pytest.fixture(scope="module")
def binned(tmp_path_factory):
    """A model whose states are bins, and the raw numbers behind them."""
    folder = tmp_path_factory.mktemp("binned")
    numbers = np.random.default_rng(3).normal(size=(60, 2)).round(3)
    rows = [f"{x},{y},{'no' if x < y else 'yes'}" for x, y in numbers.tolist()]
    (folder / "raw.csv").write_text("\n".join(["a,b,c", *rows]) + "\n")
    data = read_dataset(folder / "raw.csv", discretise={"*": "frequency:3"})
    write_bif(fit_complete(data, [(), (0,), (0, 1)]), folder / "model.bif")
    return folder, data


def test_a_number_stands_for_the_bin_that_holds_it(binned):
    folder, data = binned
    model, bins = folder / "model.bif", data.states[0]
    edge = interval(bins[0])[1]
    values = (-99, edge, edge + 1e-3, 99)
    for value, state in zip(values, (bins[0], bins[0], bins[1], bins[2]), strict=True):
        asked = run_json("query", model, "-e", f"a={value}", "-t", "b")["posterior"]
        assert (
            asked
            == run_json("query", model, "-e", f"a={state}", "-t", "b")["posterior"]
        )
        found = query(read_bif(model), {"a": value}, ["b"])
        assert found.posterior["b"] == pytest.approx(asked["b"])
    assert "no state 'high'" in fails("query", model, "-e", "a=high")


def test_a_table_of_numbers_is_read_by_a_model_of_bins(binned):
    folder, data = binned
    write_dataset(data, folder / "cut.csv")
    raw, own = (
        run_json("evaluate", folder / "model.bif", folder / f)
        for f in ("raw.csv", "cut.csv")
    )
    assert raw["log_likelihood_per_row"] == own["log_likelihood_per_row"]
