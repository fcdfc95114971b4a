"""Tables on the workers of a Dask cluster: the numbers of one process, also when one is killed."""

import os
import signal
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest

from exactlearn import fit_deletion, read_blocks
from exactlearn._runtime import executors
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.blocks import merge_rows
from exactlearn.errors import DataError, MissingExtraError, OptionError, SolverError
from exactlearn.formats.models import write_model
from exactlearn.formats.table import read_dataset, write_dataset
from tests.command_line import fails, run_json

distributed = pytest.importorskip("distributed", reason="needs Dask: exactlearn[scale]")
# Sockets of a cluster that closes are left to the garbage collector.
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)

FLIP = np.array([[0.9, 0.1], [0.2, 0.8]])
NETWORK = BayesianNetwork(
    ("a", "b", "c"),
    (("n", "y"),) * 3,
    ((), (0,), (1,)),
    (np.array([0.3, 0.7]), FLIP, FLIP),
)


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as local,
        distributed.Client(local) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Return a file of 4,000 rows with missing cells, and weights."""
    path = tmp_path_factory.mktemp("cluster") / "rows.csv"
    rng = np.random.default_rng(3)
    codes = NETWORK.sample(4000, rng).codes.copy()
    codes[rng.random(codes.shape) < 0.2] = -1
    write_dataset(
        type(NETWORK.sample(1, rng))(codes, NETWORK.names, NETWORK.states), path
    )
    write_model(NETWORK, path.with_name("net.bif"))
    return path


def same(one, other):
    assert (one.names, one.states) == (other.names, other.states)
    assert one.codes.tobytes() == other.codes.tobytes()
    np.testing.assert_allclose(one.weights, other.weights, rtol=1e-12)


@pytest.mark.parametrize("size", [100, 1000, 10**6])
def test_a_file_in_parts_gives_the_same_table(table, client, size):
    blocks = read_blocks(table, block_bytes=size)
    same(merge_rows(blocks, cluster=client), merge_rows([read_dataset(table)]))
    declared = read_blocks(
        table, block_bytes=size, states=dict.fromkeys("abc", ("n", "y"))
    )
    same(merge_rows(declared, cluster=client.scheduler.address), merge_rows(blocks))


def test_parquet_parts_give_the_same_table(table, client, tmp_path):
    pytest.importorskip("pyarrow")
    whole = read_dataset(table)
    for k in range(3):
        write_dataset(whole.part(np.arange(4000) % 3 == k), tmp_path / f"{k}.parquet")
    blocks = read_blocks(tmp_path, block_bytes=1000)
    same(merge_rows(blocks, cluster=client), merge_rows(blocks))


def test_a_dask_frame_gives_the_table_of_its_rows(table, client):
    frames = pytest.importorskip("dask.dataframe")
    frame = pd.read_csv(table, dtype=str, keep_default_na=False)
    blocks = read_blocks(frames.from_pandas(frame, npartitions=5))
    whole = read_dataset(table)
    assert (
        np.concatenate([block.codes for block in blocks]).tolist()
        == whole.codes.tolist()
    )
    same(merge_rows(blocks), merge_rows([whole]))
    merged = merge_rows(blocks, cluster=client)
    same(merged, merge_rows([whole]))
    parents = [(), (0,), (1,)]
    for a, b in zip(
        fit_deletion(merged, parents, method="d-mar").model.tables,
        fit_deletion(whole, parents, method="d-mar").model.tables,
        strict=True,
    ):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_a_state_unknown_to_the_model_is_found_on_a_worker(tmp_path, client):
    (tmp_path / "t.csv").write_text("a,b\n" + "n,n\n" * 50 + "\nn,k\n")
    blocks = read_blocks(
        tmp_path / "t.csv", states=dict.fromkeys("ab", ("n", "y")), block_bytes=20
    )
    with pytest.raises(DataError, match=r"t\.csv, line 53, column 'b': the state 'k'"):
        merge_rows(blocks, cluster=client)


def test_a_killed_worker_changes_no_number(table, tmp_path):
    blocks = read_blocks(table, block_bytes=200)
    deadly = replace(
        blocks, read=partial(_read_or_die, blocks.read, tmp_path / "killed")
    )
    with executors.running("local:2") as client:
        found = merge_rows(deadly, cluster=client)
    assert (tmp_path / "killed").exists()
    same(found, merge_rows(blocks))


def _read_or_die(read, mark, *source):
    """Read rows; the first process that does is killed before."""
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        yield from read(*source)
    else:
        os.kill(os.getpid(), signal.SIGKILL)


def test_what_a_killed_worker_held_is_made_anew():
    with executors.running("local:2") as client:
        (kept,) = executors.held(client, [{"some": "data"}])
        kept.result()
        (address,) = client.who_has([kept])[kept.key]
        os.kill(client.run(os.getpid, workers=[address])[address], signal.SIGKILL)
        assert client.submit(len, kept, pure=False).result(timeout=60) == 1


def test_a_task_that_is_cancelled_is_done_again_once(client, monkeypatch):
    lost = set()

    def submit(function, *arguments, **options):
        future = distributed.Client.submit(client, function, *arguments, **options)
        if function is executors._unless_stopped and arguments[-1] not in lost:
            lost.add(arguments[-1])
            future.cancel()
        return future

    monkeypatch.setattr(client, "submit", submit)
    found = executors.finished(divmod, [(k,) for k in (3, 4)], client, shared=[25])
    assert sorted(found) == [(0, (8, 1)), (1, (6, 1))]


def test_a_worker_that_does_not_start_is_an_error(monkeypatch):
    def lose(**_):
        raise RuntimeError("Nanny failed to start.")

    monkeypatch.setattr(distributed, "LocalCluster", lose)
    with (
        pytest.raises(SolverError, match="did not start"),
        executors.running("local:2"),
    ):
        pass


def test_fit_and_evaluate_on_a_cluster(table, client):
    net, address = table.with_name("net.bif"), client.scheduler.address
    for command in (("fit", "--method", "d-mcar"), ("evaluate",)):
        words = (command[0], net, table, *command[1:])
        found, whole = run_json(*words, "--cluster", address), run_json(*words)
        key = "log_likelihood" if command[0] == "fit" else "log_likelihood_per_row"
        assert found[key] == pytest.approx(whole[key], rel=1e-12)
        assert found["rows"] == 4000


def test_clusters_that_are_none(table, monkeypatch):
    net = table.with_name("net.bif")
    for given in ("local:0", "local:many"):
        assert "a number of workers" in fails("fit", net, table, "--cluster", given)
    monkeypatch.setattr(executors, "CONNECTION_TIMEOUT", 0.5)
    with pytest.raises(OptionError, match="no scheduler answers"):
        merge_rows(read_blocks(table), cluster="tcp://127.0.0.1:9")

    def absent(name):
        raise ImportError(name)

    monkeypatch.setattr(executors, "import_module", absent)
    with pytest.raises(MissingExtraError, match=r"exactlearn\[scale\]"):
        merge_rows(read_blocks(table), cluster="local")
