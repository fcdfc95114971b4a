"""Commands and functions on a Dask cluster: the answers of one process, also after Ctrl-C."""

import numpy as np
import pandas as pd
import pytest

from exactlearn import (
    BDeu,
    candidate_parent_sets,
    learn,
    read_blocks,
    read_dataset,
    solve,
    sparse_candidates,
)
from exactlearn.data.blocks import merge_rows
from exactlearn.errors import ArgumentError
from exactlearn.formats.scores import read_scores
from exactlearn.formats.table import write_dataset
from exactlearn.instances import locate
from tests.command_line import fails, run, run_json

distributed = pytest.importorskip("distributed", reason="needs Dask: exactlearn[scale]")
# Sockets of a cluster that closes are left to the garbage collector.
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)

INCOMPLETE = locate("cancer-mcar", ".csv")
COMPLETE = locate("asia-mnar-complete", ".csv")
LIVE = ("seconds", "made_by", "trace", "sets", "nodes")
"""Keys whose values differ from run to run, or are counted by each process for itself."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder of three Parquet files with the rows of the complete table."""
    pytest.importorskip("pyarrow")
    table, found = read_dataset(COMPLETE), tmp_path_factory.mktemp("parts")
    for k in range(3):
        write_dataset(
            table.part(np.arange(table.n_rows) % 3 == k), found / f"{k}.parquet"
        )
    return found


def steady(record):
    return {key: value for key, value in record.items() if key not in LIVE}


@pytest.mark.parametrize(
    "words",
    [
        ("solve", COMPLETE),
        ("solve", INCOMPLETE, "--counts", "f-mar"),
    ],
)
def test_a_command_on_a_cluster_answers_alike(words, client):
    address = client.scheduler.address
    assert steady(run_json(*words, "--cluster", address)) == steady(run_json(*words))


def test_a_folder_of_parquet_files_is_solved_as_its_rows(folder, client):
    words = ("--cluster", client.scheduler.address)
    whole, parts = run_json("solve", COMPLETE), run_json("solve", folder)
    assert steady(parts) == steady(whole) == steady(run_json("solve", folder, *words))
    assert "--discretise" in fails("solve", folder, "--discretise", "*=width:2")


FEW_PARENTS = ("--candidate-parents", "3", "--require", "tub->either")


@pytest.mark.parametrize("more", [(), FEW_PARENTS])
def test_scores_of_a_folder_have_the_same_bytes(folder, tmp_path, client, more):
    for name, words in {
        "whole": (COMPLETE,),
        "parts": (folder, "--cluster", client.scheduler.address),
    }.items():
        run("convert", *words, *more, "-o", tmp_path / f"{name}.jkl")
    assert (tmp_path / "whole.jkl").read_bytes() == (
        tmp_path / "parts.jkl"
    ).read_bytes()


def test_scores_among_few_parents_are_those_of_sparse_candidates(tmp_path):
    run("convert", COMPLETE, *FEW_PARENTS, "-o", tmp_path / "few.jkl")
    data = read_dataset(COMPLETE)
    either = data.names.index("either")
    problem = sparse_candidates(
        data, "bdeu", candidate_parents=3, required=[(data.names.index("tub"), either)]
    )
    written = read_scores(tmp_path / "few.jkl")
    assert written.members.tolist() == problem.members.tolist()
    np.testing.assert_allclose(written.scores, problem.scores, rtol=1e-9)
    assert "--ess auto" in fails(
        "convert", COMPLETE, *FEW_PARENTS, "--ess", "auto", "-o", "a.jkl"
    )


def test_learn_takes_blocks_and_dask_frames(client, folder):
    frames = pytest.importorskip("dask.dataframe")
    whole = learn(read_dataset(COMPLETE), max_parents=2)
    frame = frames.from_pandas(pd.read_csv(COMPLETE), npartitions=3)
    for data in (read_blocks(folder), read_blocks(frame)):
        for cluster_ in (None, client):
            found = learn(data, max_parents=2, cluster=cluster_)
            assert (found.parents, found.score) == (whole.parents, whole.score)
            for a, b in zip(found.network.tables, whole.network.tables, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-12)
    with pytest.raises(ArgumentError, match="read_blocks"):
        learn(frame)


@pytest.mark.parametrize("jobs", [("--jobs", "2"), ("--cluster",)])
def test_compare_answers_alike(jobs, client, tmp_path):
    words = (
        "compare",
        INCOMPLETE,
        "--methods",
        "mode,t-local",
        "--ess",
        "1",
        "--max-parents",
        "1",
    )
    jobs = (*jobs, client.scheduler.address) if len(jobs) == 1 else jobs
    alone, other = run_json(*words)["rows"], run_json(*words, *jobs)["rows"]
    assert [steady(row) for row in other] == [steady(row) for row in alone]


def test_blocks_are_a_table_wherever_one_is_taken(folder):
    blocks = read_blocks(folder)
    one, other = (
        solve(candidate_parent_sets(d, BDeu())) for d in (blocks, merge_rows(blocks))
    )
    assert one.score == other.score
