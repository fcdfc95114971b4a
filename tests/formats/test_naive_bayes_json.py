import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn.bayesnet.naive_bayes import NaiveBayes
from exactlearn.errors import ArgumentError, FormatError, OptionError
from exactlearn.formats.model_json import read_naive_bayes, write_naive_bayes
from exactlearn.formats.models import read_model, write_model
from tests.naive_bayes_oracle import random_naive_bayes
from tests.pdg_oracle import paper_example
from tests.strategies import awkward_names


@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(1, 4))
@settings(max_examples=25)
def test_round_trips_are_exact(tmp_path_factory, seed, n, components):
    model = random_naive_bayes(np.random.default_rng(seed), n, components)
    folder = tmp_path_factory.mktemp("nb")
    for name in ("a.nb.json", "a.nb.json.gz"):
        write_model(model, folder / name)
        assert read_model(folder / name) == model


@given(awkward_names, st.lists(awkward_names, min_size=2, max_size=3, unique=True))
@settings(max_examples=25)
def test_any_names_survive(tmp_path_factory, name, states):
    r = len(states)
    model = NaiveBayes((name,), (tuple(states),), np.ones(1), np.full((r, 1), 1 / r))
    path = tmp_path_factory.mktemp("nb") / "a.nb.json"
    write_naive_bayes(model, path)
    assert read_naive_bayes(path) == model


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
        broken('expected a JSON object with "format"', "format", "exactlearn decision graph"),
        broken("version 2 was written by another release", "version", 2),
        broken("key 'prior' is missing", "prior", None),
        broken("at least one variable", "variables", []),
        broken("key 'variables', entry 1: expected an object", "variables", 1, "X"),
        broken("two variables have the same name", "variables", 1, "name", "X0"),
        broken("key 'prior': expected a list of float64", "prior", 0, "0.5"),
        broken("the prior has the sum", "prior", 0, 0.9),
        broken("the prior has the sum", "prior", 0, float("nan")),
        broken("expected a prior of one component or more", "prior", []),
        broken("found shapes", "prior", [1.0]),
        broken("key 'parameters': expected a list", "parameters", [[1.0], [0.5, 0.5]]),
        broken("parameters of 'X0' in component 1 sum to", "parameters", 1, 0, 0.99),
        broken("not a number of 0 or more", "parameters", 1, 0, -0.5),
    ],
)
def test_broken_files_are_refused_with_the_place(tmp_path, message, change):
    path = tmp_path / "a.nb.json"
    write_naive_bayes(random_naive_bayes(np.random.default_rng(1), 3, 2), path)
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    with pytest.raises(FormatError, match=message) as caught:
        read_naive_bayes(path)
    assert "a.nb.json" in str(caught.value)


def test_the_suffix_names_the_language(tmp_path):
    model = random_naive_bayes(np.random.default_rng(1), 3, 2)
    for name in ("a.bif", "a.pdg.json"):
        with pytest.raises(
            OptionError, match=r"a file for a naive Bayes model, ending in .nb.json"
        ):
            write_model(model, tmp_path / name)
    with pytest.raises(OptionError, match=r"a file for a decision graph"):
        write_model(paper_example(), tmp_path / "a.nb.json")
    with pytest.raises(ArgumentError, match="expected a NaiveBayes"):
        write_naive_bayes(paper_example(), tmp_path / "a.nb.json")
