import json
import stat

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn.errors import FormatError, OptionError
from exactlearn.formats.model_json import read_pdg, write_pdg
from exactlearn.pdg.model.decision_graph import assemble
from tests.pdg_oracle import paper_example, random_graph
from tests.strategies import awkward_names


@given(st.integers(0, 10_000), st.integers(1, 6))
@settings(max_examples=25)
def test_round_trips_are_exact(tmp_path_factory, seed, n):
    graph = random_graph(np.random.default_rng(seed), n)
    folder = tmp_path_factory.mktemp("pdg")
    for name in ("a.pdg.json", "a.pdg.json.gz"):
        write_pdg(graph, folder / name)
        assert read_pdg(folder / name) == graph


@given(awkward_names, st.lists(awkward_names, min_size=2, max_size=3, unique=True))
@settings(max_examples=25)
def test_any_names_survive(tmp_path_factory, name, states):
    r = len(states)
    theta = [np.full((1, r), 1 / r)]
    graph = assemble((name,), (tuple(states),), np.array([-1]), theta, [np.empty((1, r, 0))])
    path = tmp_path_factory.mktemp("pdg") / "a.pdg.json"
    write_pdg(graph, path)
    assert read_pdg(path) == graph


def written(tmp_path, change) -> str:
    path = tmp_path / "a.pdg.json"
    write_pdg(paper_example(), path)
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    return path


def broken(message, *keys):
    """Return a case: what sets the item at the path ``keys[:-1]`` to ``keys[-1]`` is refused."""

    def change(content):
        for key in keys[:-2]:
            content = content[key]
        content[keys[-2]] = keys[-1]

    return pytest.param(message, change, id=" ".join(map(repr, keys)))


@pytest.mark.parametrize(
    ("message", "change"),
    [
        broken('expected a JSON object with "format"', "format", "xml"),
        broken("version 2 was written by another release", "version", 2),
        broken("key 'nodes' is missing", "nodes", None),
        broken("key 'nodes': expected pairs", "nodes", [[0, 1], [1, 2]]),
        broken("key 'nodes': expected pairs", "nodes", [1, 2, 3]),
        broken("more than parameters", "nodes", 0, [0, 10**12]),
        broken("fewer than one node", "nodes", 0, [0, 0]),
        broken("at least one variable", "variables", []),
        broken("key 'variables', entry 1: expected an object", "variables", 1, "X"),
        broken("the name 3 is not text", "variables", 1, "name", 3),
        broken("two variables have the same name", "variables", 1, "name", "X0"),
        broken(r"entry 1 \(X1\): the states must be a list", "variables", 1, "states", "ab"),
        broken("two states have the same name", "variables", 1, "states", ["a", "a"]),
        broken("the parent must be null or a number", "variables", 1, "parent", "X0"),
        broken(r"\(X1\): the parent must be null or a number below 4", "variables", 1, "parent", 9),
        broken("cycle", "variables", 1, "parent", 3),
        broken("key 'parameters': expected a list of float64", "parameters", 0, "0.5"),
        broken(r"parameters of node 0 \('X0'\) sum to", "parameters", 0, 0.5),
        broken("not a number", "parameters", 0, float("nan")),
        broken("more than parameters|2 parameters", "parameters", [0.5, 0.5]),
        broken("key 'successors': expected a list of int64", "successors", 0, 1.5),
        broken("key 'successors': a number is not that of a node", "successors", 0, 99),
        broken("key 'successors': a number is not that of a node", "successors", 0, -1),
        broken("node of another variable", "successors", 0, 5),
        broken("0 successors", "successors", []),
        broken("key 'successors': expected a list", "successors", [[1], [2, 3]]),
        broken("key 'successors': expected a list of int64", "successors", 5, None),
    ],
)
def test_broken_files_are_refused_with_the_place(tmp_path, message, change):
    with pytest.raises(FormatError, match=message) as caught:
        read_pdg(written(tmp_path, change))
    assert "a.pdg.json" in str(caught.value)


def test_what_is_not_json_is_refused(tmp_path):
    path = tmp_path / "a.pdg.json"
    path.write_text('{"format":\n  oops}')
    with pytest.raises(FormatError, match=r"line 2, column 3: not JSON"):
        read_pdg(path)
    path.write_bytes(b'{"\xff"}')
    with pytest.raises(FormatError, match="not UTF-8"):
        read_pdg(path)
    with pytest.raises(OptionError, match="cannot read"):
        read_pdg(tmp_path / "none.pdg.json")


def test_a_truncated_file_is_reported_as_such(tmp_path):
    path = tmp_path / "a.pdg.json"
    write_pdg(paper_example(), path)
    text = path.read_text()
    for length in range(1, len(text) - 2, 7):
        path.write_text(text[:length])
        with pytest.raises(FormatError, match=r"a\.pdg\.json.*cut off, write it anew"):
            read_pdg(path)


def test_a_file_is_replaced_whole(tmp_path):
    path = tmp_path / "a.pdg.json"
    path.write_text("old")
    path.chmod(0o640)
    write_pdg(paper_example(), path)
    assert read_pdg(path) == paper_example()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [p.name for p in tmp_path.iterdir()] == ["a.pdg.json"]
    with pytest.raises(OptionError, match="does not exist"):
        write_pdg(paper_example(), tmp_path / "none" / "a.pdg.json")
