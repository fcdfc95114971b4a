"""Decision graphs and naive Bayes models in JSON: any names, and files that are refused."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn.bayesnet.naive_bayes import NaiveBayes
from exactlearn.errors import ArgumentError, FormatError, OptionError
from exactlearn.formats.model_json import read_pdg, write_naive_bayes
from exactlearn.formats.models import read_model, write_model
from exactlearn.pdg.model.decision_graph import assemble
from tests.naive_bayes_oracle import random_naive_bayes
from tests.pdg_oracle import paper_example
from tests.strategies import awkward_names

NAIVE_BAYES = random_naive_bayes(np.random.default_rng(1), 3, 2)


@given(awkward_names, st.lists(awkward_names, min_size=2, max_size=3, unique=True))
@settings(max_examples=25)
def test_any_names_survive(tmp_path_factory, name, states):
    r, folder, own = (
        len(states),
        tmp_path_factory.mktemp("models"),
        ((name,), (tuple(states),)),
    )
    theta = np.full((1, r), 1 / r)
    graph = assemble(*own, np.array([-1]), [theta], [np.empty((1, r, 0))])
    naive_bayes = NaiveBayes(*own, np.ones(1), theta.T)
    for model, suffix in ((graph, ".pdg.json"), (naive_bayes, ".nb.json")):
        write_model(model, folder / f"a{suffix}")
        assert read_model(folder / f"a{suffix}") == model


def broken(message, *keys):
    """Return a case: what sets the item at the path ``keys[:-1]`` to ``keys[-1]`` is refused."""
    return pytest.param(message, keys, id=" ".join(map(repr, keys)))


def check_refusal(model, path, message, keys):
    """Write the model with one item changed; it is refused by the name of the file."""
    write_model(model, path)
    whole = content = json.loads(path.read_text())
    *places, last, value = keys
    for key in places:
        content = content[key]
    content[last] = value
    path.write_text(json.dumps(whole))
    with pytest.raises(FormatError, match=message) as caught:
        read_model(path)
    assert path.name in str(caught.value)


@pytest.mark.parametrize(
    ("message", "keys"),
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
        broken(
            r"entry 1 \(X1\): the states must be a list", "variables", 1, "states", "ab"
        ),
        broken("two states have the same name", "variables", 1, "states", ["a", "a"]),
        broken("the parent must be null or a number", "variables", 1, "parent", "X0"),
        broken(
            r"\(X1\): the parent must be null or a number below 4",
            "variables",
            1,
            "parent",
            9,
        ),
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
def test_broken_decision_graphs_are_refused_with_the_place(tmp_path, message, keys):
    check_refusal(paper_example(), tmp_path / "a.pdg.json", message, keys)


@pytest.mark.parametrize(
    ("message", "keys"),
    [
        broken(
            "expected a model, found a decision graph",
            "format",
            "exactlearn decision graph",
        ),
        broken("version 2 was written by another release", "version", 2),
        broken("key 'prior' is missing", "prior", None),
        broken("at least one variable", "variables", []),
        broken("key 'prior': expected a list of float64", "prior", 0, "0.5"),
        broken("variable 'component': .* sum to one", "prior", 0, 0.9),
        broken("variable 'component': .* sum to one", "prior", 0, float("nan")),
        broken("expected a prior of one component or more", "prior", []),
        broken("found shapes", "prior", [1.0]),
        broken("key 'parameters': expected a list", "parameters", [[1.0], [0.5, 0.5]]),
        broken(
            "variable 'X0', given component=1: .* sum to one", "parameters", 1, 0, 0.99
        ),
        broken("expected probabilities >= 0", "parameters", 1, 0, -0.5),
    ],
)
def test_broken_naive_bayes_models_are_refused_with_the_place(tmp_path, message, keys):
    check_refusal(NAIVE_BAYES, tmp_path / "a.nb.json", message, keys)


def test_what_is_cut_off_is_told(tmp_path):
    path = tmp_path / "a.pdg.json"
    write_model(paper_example(), path)
    text = path.read_text()
    for length in range(1, len(text) - 2, 7):
        path.write_text(text[:length])
        with pytest.raises(FormatError, match=r"a\.pdg\.json.*cut off, write it anew"):
            read_pdg(path)


def test_the_suffix_names_the_language(tmp_path):
    for name in ("a.bif", "a.pdg.json"):
        with pytest.raises(
            OptionError, match=r"a file for a naive Bayes model, ending in .nb.json"
        ):
            write_model(NAIVE_BAYES, tmp_path / name)
    with pytest.raises(OptionError, match=r"a file for a decision graph"):
        write_model(paper_example(), tmp_path / "a.nb.json")
    with pytest.raises(ArgumentError, match="expected a NaiveBayes"):
        write_naive_bayes(paper_example(), tmp_path / "a.nb.json")
