"""What every format of every registry keeps: round trips, clear refusals, and whole files."""

import gzip
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exactlearn.data.codes import Column, LabelledRows
from exactlearn.data.dataset import Dataset
from exactlearn.errors import ExactlearnError, FormatError, OptionError
from exactlearn.formats import Format, models, scores, table
from exactlearn.formats.graph_file import read_graph, write_graph
from exactlearn.formats.models import read_model, write_model
from exactlearn.formats.scores import read_scores, write_scores
from exactlearn.formats.table import TableFormat, read_dataset, write_dataset
from exactlearn.graphs.equivalence import NamedGraph
from exactlearn.scoring.candidates import candidate_parent_sets
from exactlearn.scoring.scores import BDeu
from tests.naive_bayes_oracle import random_naive_bayes
from tests.network_oracle import random_network
from tests.pdg_oracle import random_graph

N_SEEDS = 5


@dataclass(frozen=True)
class Content:
    """A kind of content: what to write, how it is written and read, and what must come back."""

    name: str
    draw: Callable[[np.random.Generator], Any]
    write: Callable[[Any, Path], None]
    read: Callable[[Path], Any]
    comparable: Callable[[Any], Any]


def draw_table(rng: np.random.Generator) -> Dataset:
    """Return a table whose states are all seen, in the order in which a reader sorts them."""
    cardinalities = rng.integers(2, 5, 4)
    codes = rng.integers(-1, cardinalities, (30, 4))
    codes[:4] = np.arange(4)[:, None] % cardinalities
    states = tuple(tuple("abcd"[:r]) for r in cardinalities)
    return Dataset(codes, ("one", "two, three", 'a "b"', "é"), states)


def draw_structure(rng: np.random.Generator) -> NamedGraph:
    """Return a graph with awkward names; one without v-structures is read as what it is."""
    network = random_network(rng, 5)
    names = ("one", "two, three", 'a "b"', "é", "x -> y")
    found = NamedGraph.of(names, network.parents)
    return found.as_kind("cpdag") if found.as_kind("cpdag").edges else found


def content_of_table(data: Dataset) -> Any:
    return data.names, data.states, data.codes.tolist()


def content_of_network(network: Any) -> Any:
    return (
        network.names,
        network.states,
        network.parents,
        [t.tobytes() for t in network.tables],
    )


def content_of_graph(graph: Any) -> Any:
    arrays = (graph.forest, graph.variable, graph.parameters, graph.successors)
    return graph.names, graph.states, [a.tobytes() for a in arrays]


def content_of_problem(problem: Any) -> Any:
    return problem.names, [
        sorted(problem.candidates(v)) for v in range(problem.n_variables)
    ]


NETWORK = Content("network", lambda rng: random_network(rng, 5), write_model, read_model,
                  content_of_network)  # fmt: skip
GRAPH = Content(
    "graph", lambda rng: random_graph(rng, 5), write_model, read_model, content_of_graph
)
NAIVE_BAYES = Content(
    "naive Bayes",
    lambda rng: random_naive_bayes(rng, 5, 3),
    write_model,
    read_model,
    lambda m: m,
)
STRUCTURE = Content(
    "structure", draw_structure, write_graph, read_graph, lambda found: found
)
TABLE = Content("table", draw_table, write_dataset, read_dataset, content_of_table)
SCORES = Content(
    "scores",
    lambda rng: candidate_parent_sets(
        complete(draw_table(rng)), BDeu(1.0), max_parents=2
    ),
    write_scores,
    read_scores,
    content_of_problem,
)


def complete(data: Dataset) -> Dataset:
    return replace(data, codes=np.maximum(data.codes, 0))


NEEDS_PYARROW = pytest.mark.skipif(
    find_spec("pyarrow") is None, reason="PyArrow is missing"
)

CASES = [
    pytest.param(
        content,
        suffix,
        id=f"{content.name}{suffix}",
        marks=[NEEDS_PYARROW] if suffix == ".parquet" else [],
    )
    for content, suffixes in (
        (NETWORK, models.NETWORKS),
        (GRAPH, models.GRAPHS),
        (NAIVE_BAYES, models.NAIVE_BAYES),
        (STRUCTURE, [".json"]),
        (TABLE, table.FORMATS),
        (SCORES, scores.FORMATS),
    )
    for suffix in suffixes
]
each_format = pytest.mark.parametrize(("content", "suffix"), CASES)


@each_format
@pytest.mark.parametrize("seed", range(N_SEEDS))
def test_what_is_written_is_read_again(content, suffix, seed, tmp_path):
    given = content.draw(np.random.default_rng(seed))
    content.write(given, tmp_path / f"a{suffix}")
    assert content.comparable(
        content.read(tmp_path / f"a{suffix}")
    ) == content.comparable(given)


@each_format
def test_the_same_content_gives_the_same_bytes(content, suffix, tmp_path):
    for name in "ab":
        content.write(
            content.draw(np.random.default_rng(1)), tmp_path / f"{name}{suffix}"
        )
    assert (tmp_path / f"a{suffix}").read_bytes() == (
        tmp_path / f"b{suffix}"
    ).read_bytes()


@each_format
def test_a_text_may_be_compressed_and_a_suffix_in_capitals(content, suffix, tmp_path):
    given = content.draw(np.random.default_rng(2))
    path = tmp_path / f"a{suffix.upper()}{'' if suffix == '.parquet' else '.gz'}"
    content.write(given, path)
    assert content.comparable(content.read(path)) == content.comparable(given)


@each_format
def test_what_is_no_file_is_refused(content, suffix, tmp_path):
    (tmp_path / f"folder{suffix}").mkdir()
    for name, message in (
        ("none", "no (such )?file"),
        ("folder", "folder"),
        ("\0", "file"),
    ):
        with pytest.raises(OptionError, match=message):
            content.read(tmp_path / f"{name}{suffix}")


@each_format
def test_what_is_no_text_is_refused_with_its_place(content, suffix, tmp_path):
    path = tmp_path / f"a{suffix}"
    content.write(content.draw(np.random.default_rng(3)), path)
    cut = gzip.compress(path.read_bytes() * 9)[:-12]
    for damaged, message in (
        (cut, "damaged gzip"),
        (b"\n# \xe9", "line 2, byte 3: 0xe9 is not UTF-8"),
    ):
        path.write_bytes(damaged)
        with pytest.raises(
            FormatError, match=rf"a\{suffix}.*({message}|expected XML|no.* Parquet)"
        ):
            content.read(path)


@each_format
@pytest.mark.parametrize("damage", ["cut", "changed", "binary", "empty"])
def test_a_damaged_file_is_read_or_refused_by_its_name(
    content, suffix, damage, tmp_path
):
    """Whatever stands in the file: an answer or an error of the package, nothing else."""
    path = tmp_path / f"a{suffix}"
    content.write(content.draw(np.random.default_rng(3)), path)
    whole = path.read_bytes()
    for seed in range(12):
        path.write_bytes(damaged(whole, damage, random.Random(seed)))
        error = refusal(content.read, path)
        assert error is None or path.name in error


def refusal(read: Callable[[Path], Any], path: Path) -> str | None:
    try:
        read(path)
    except ExactlearnError as error:
        return str(error)
    return None


def damaged(whole: bytes, damage: str, rng: random.Random) -> bytes:
    if damage == "cut":
        return whole[: rng.randrange(len(whole))]
    if damage == "changed":
        place = rng.randrange(len(whole))
        return (
            whole[:place]
            + rng.choice([b"{", b'"', b"-1", b"\n", b"|"])
            + whole[place + 1 :]
        )
    return rng.randbytes(rng.randrange(1, 300)) if damage == "binary" else b""


@each_format
def test_a_write_that_fails_keeps_the_old_file(content, suffix, tmp_path, monkeypatch):
    path = tmp_path / f"a{suffix}"
    content.write(content.draw(np.random.default_rng(4)), path)
    before = path.read_bytes()
    monkeypatch.setattr("os.replace", refuse)
    with pytest.raises(OptionError):
        content.write(content.draw(np.random.default_rng(5)), path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def refuse(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_a_table_format_is_one_entry(tmp_path, monkeypatch):
    def read(path, layout):
        cells = np.array([line.split("/") for line in path.read_text().split()])
        columns = [
            Column(name, *np.unique(own, return_inverse=True)) for name, *own in cells.T
        ]
        yield LabelledRows(path, columns, np.arange(1, len(cells)))

    def write(dataset, names, path, missing):
        rows = [[(*own, missing)[k] for own, k in zip(dataset.states, row, strict=True)]
                for row in dataset.codes.tolist()]  # fmt: skip
        path.write_text("\n".join(map("/".join, [names, *rows])))

    small = Dataset(np.array([[0, 1], [1, -1], [1, 0]]), ("a", "b"), (("n", "y"),) * 2)
    monkeypatch.setitem(table.FORMATS, ".slash", TableFormat(read, write))
    write_dataset(small, tmp_path / "t.slash")
    assert np.array_equal(read_dataset(tmp_path / "t.slash").codes, small.codes)


def test_a_format_of_scores_is_one_entry(tmp_path, monkeypatch):
    with pytest.raises(OptionError, match=r"ending in \.jkl.* found '\.new'"):
        read_scores(tmp_path / "a.new")
    monkeypatch.setitem(scores.FORMATS, ".new", Format(lambda path: path.name))
    assert read_scores(tmp_path / "a.new") == "a.new"


def test_a_format_of_networks_is_one_entry(tmp_path, monkeypatch):
    network = random_network(np.random.default_rng(0), 3)
    with pytest.raises(
        OptionError, match=r"a network, ending in \.bif, .*found '\.new'"
    ):
        write_model(network, tmp_path / "a.new")
    written = []
    monkeypatch.setitem(
        models.NETWORKS,
        ".new",
        Format(lambda path: network, lambda *given: written.append(given)),
    )
    write_model(network, tmp_path / "a.new")
    (tmp_path / "a.new").touch()
    assert read_model(tmp_path / "a.new") is network
    with pytest.raises(OptionError, match=r"normalise=True is for networks"):
        read_model(tmp_path / "a.new", normalise=True)
    assert written == [(network, tmp_path / "a.new")]
