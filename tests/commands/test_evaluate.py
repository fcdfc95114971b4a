"""``exactlearn evaluate`` against the full joint distribution."""

import json
import time

import numpy as np
import pytest

from exactlearn import Dataset, Imputer, read_dataset, read_network
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.formats.models import read_model, write_model
from exactlearn.formats.table import write_dataset
from exactlearn.instances import locate
from exactlearn.pdg.compile.compile import compile_network
from tests.command_line import fails, invoke, read_record, run_json
from tests.interrupts import press_ctrl_c
from tests.network_oracle import CHAIN, FLIP, joint

OTHER = BayesianNetwork(
    ("c", "b", "a"),
    (("h", "l", "m"), ("y", "n"), ("n", "y")),
    ((), (0, 2), ()),
    (
        np.array([0.5, 0.3, 0.2]),
        np.array([[FLIP[0], FLIP[1]], [FLIP[1], FLIP[0]], [[0.5, 0.5], [0.6, 0.4]]]),
        np.array([0.4, 0.6]),
    ),
)
ROWS = "w,c,a,b\n1,l,y,n\n2.5,?,n,?\n0,m,?,y\n1,h,y,?\n"


def in_order_of_truth(full):
    """Return the joint distribution of `OTHER` with the axes and states of `CHAIN`."""
    return full.transpose(2, 1, 0)[:, ::-1][:, :, [1, 2, 0]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("evaluate")
    for name, network in (("true", CHAIN), ("other", OTHER)):
        write_model(network, path / f"{name}.bif")
        write_model(compile_network(network, steps=0), path / f"{name}.pdg.json")
    (path / "rows.csv").write_text(ROWS)
    return path


@pytest.mark.parametrize("model", ["other.bif", "other.pdg.json"])
def test_rows_with_missing_cells_agree_with_the_full_joint(folder, model):
    full = in_order_of_truth(joint(OTHER))
    rows = [full[1, 0, 0], full[0].sum(), full[:, 1, 1].sum(), full[1, :, 2].sum()]
    words = ("evaluate", folder / model, folder / "rows.csv")
    found = run_json(*words, "--weights", "w")
    weights = np.array([1, 2.5, 0, 1])
    assert found["log_likelihood_per_row"] == pytest.approx(
        weights @ np.log(rows) / weights.sum(), abs=1e-12
    )
    assert found["rows"] == 4
    assert found["impossible_rows"] == []
    found = run_json(*words, "--drop", "w")
    assert found["log_likelihood_per_row"] == pytest.approx(
        np.log(rows).mean(), abs=1e-12
    )


@pytest.mark.parametrize("model", ["true.bif", "true.pdg.json"])
@pytest.mark.parametrize("reference", ["other.bif", "other.pdg.json"])
def test_divergence_and_distances_agree_with_the_full_joints(folder, model, reference):
    p, q = in_order_of_truth(joint(OTHER)), joint(CHAIN)
    found = run_json("evaluate", folder / model, "--reference", folder / reference)
    assert found["kl_divergence"] == pytest.approx((p * np.log(p / q)).sum(), abs=1e-12)
    assert found["kl_method"] == "exact"
    assert "kl_interval" not in found
    if model.endswith(".bif") and reference.endswith(".bif"):
        # a -> b -> c beside a -> b <- c: the arc between b and c; of the classes, both edges
        assert (found["shd"], found["cpdag_shd"]) == (1, 2)
        assert (found["arc_precision"], found["arc_recall"], found["arc_f1"]) == (
            0.5,
            0.5,
            0.5,
        )
        assert (found["edge_precision"], found["edge_recall"], found["edge_f1"]) == (
            1,
            1,
            1,
        )
    else:
        assert not {"shd", "cpdag_shd", "arc_precision"} & found.keys()


def test_a_divergence_that_is_too_costly_is_sampled(folder, monkeypatch):
    monkeypatch.setattr("exactlearn.queries.information.MAX_CELLS", 3)
    p, q = in_order_of_truth(joint(OTHER)), joint(CHAIN)
    words = ("evaluate", folder / "true.bif", "--reference", folder / "other.bif")
    found = run_json(*words, "--seed", 3)
    low, high = found["kl_interval"]
    assert found["kl_method"] == "sampled"
    assert low < (p * np.log(p / q)).sum() < high
    assert low < found["kl_divergence"] < high < low + 0.1
    assert found == run_json(*words, "--seed", 3)


def test_an_infinite_divergence_is_reported(folder, tmp_path):
    certain = BayesianNetwork(
        CHAIN.names, CHAIN.states, ((), (), ()),
        (np.array([0.0, 1.0]), np.array([0.5, 0.5]), np.ones(3) / 3),
    )  # fmt: skip
    write_model(certain, tmp_path / "certain.bif")
    words = ("evaluate", tmp_path / "certain.bif", folder / "rows.csv", "--drop", "w")
    reference = ("--reference", folder / "true.bif")
    found = run_json(*words, *reference, "-o", tmp_path / "out.json")
    assert found["impossible_rows"] == [1]
    assert found["log_likelihood_per_row"] is None
    assert found["kl_divergence"] is None
    assert read_record(tmp_path / "out.json") == found


def test_classes_are_judged_by_weight(folder):
    full = in_order_of_truth(joint(OTHER))
    words = ("evaluate", folder / "other.bif", folder / "rows.csv", "--class", "c")
    right = [full[1, 0].argmax() == 0, full[:, 1].sum(axis=0).argmax() == 1]
    right.append(full[1].sum(axis=0).argmax() == 2)
    found = run_json(*words, "--drop", "w")
    assert found["labelled"] == 3
    assert found["accuracy"] == pytest.approx(np.mean(right))
    found = run_json(*words, "--weights", "w")
    assert found["accuracy"] == pytest.approx(np.average(right, weights=[1, 0, 1]))


def test_a_step_takes_the_held_out_rows(tmp_path):
    network, rng = read_model(locate("cancer", ".bif")), np.random.default_rng(0)
    write_dataset(network.sample(300, rng), tmp_path / "train.csv")
    write_dataset(network.sample(50, rng), tmp_path / "test.csv")
    (tmp_path / "run.toml").write_text(
        '[data]\nfile = "train.csv"\ntest = "test.csv"\n'
        '[evaluate]\nreference = "network.bif"\nclass = "Cancer"\n'
    )
    found = run_json("run", tmp_path / "run.toml", "-o", tmp_path / "out")
    step, held_out = found["steps"][0], found["held_out"]["decision_graph"]
    assert {key: step[key] for key in held_out} == held_out
    assert step["kl_divergence"] >= 0
    assert 0 < step["accuracy"] <= 1


def test_ctrl_c_ends_it_with_the_status_of_an_interrupt(monkeypatch):
    """While rows are drawn for an estimate of the divergence."""

    def interrupted(*given, **options):
        press_ctrl_c()
        time.sleep(30)  # ended by the signal

    monkeypatch.setattr("exactlearn.commands.judge.divergence", interrupted)
    begun = time.monotonic()
    printed = fails("evaluate", "asia", "--reference", "asia", status=130)
    assert time.monotonic() - begun < 20
    assert "Interrupted" in printed


@pytest.mark.parametrize(
    "words",
    [
        ("evaluate", "asia", "rows.csv"),
        ("fit", "asia", "rows.csv"),
        ("impute", "rows.csv", "--network", "asia"),
        ("impute", "rows.csv", "--train", "asia-mnar", "--method", "mode"),
        ("compile", "asia", "--data", "rows.csv"),
    ],
)
@pytest.mark.parametrize("is_large", [False, True])
def test_columns_that_the_model_lacks_are_left_out(
    words, is_large, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    table = read_dataset("asia-mnar")
    if is_large:
        monkeypatch.setattr("exactlearn.commands.tables.LARGE", 0)
    write_dataset(table, "rows.csv")
    expected = run_json(*words, "--json")
    header, *lines = (tmp_path / "rows.csv").read_text().splitlines()
    wide = [f"row {k},{line},same" for k, line in enumerate(lines)]
    (tmp_path / "rows.csv").write_text("\n".join([f"id,{header},constant", *wide]))
    done = invoke(*words, "--json")
    assert "no variables of the model are left out: 'id', 'constant'" in done.stderr
    record = json.loads(done.stdout)
    volatile = {"made_by", "seconds"}
    assert {k: record[k] for k in record.keys() - volatile} == {
        k: expected[k] for k in expected.keys() - volatile
    }


def test_an_imputer_leaves_out_columns_that_its_network_lacks():
    table = read_dataset("asia-mnar")
    codes = np.column_stack([table.codes, np.zeros(table.n_rows, np.int8)])
    wide = Dataset(codes, (*table.names, "ward"), (*table.states, ("a", "b")))
    imputer = Imputer("posterior", network=read_network("asia"))
    assert imputer.transform(wide) == imputer.transform(table)
