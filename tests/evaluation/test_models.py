"""Divergences of a model from a reference, exact and estimated."""

from math import inf

import numpy as np
import pytest

from exactlearn.errors import OptionError, TooLargeError
from exactlearn.evaluation import metrics
from exactlearn.evaluation.metrics import divergence
from exactlearn.pdg.compile.compile import compile_network
from tests.network_oracle import joint, random_network


@pytest.fixture
def too_large(monkeypatch):
    def refuse(p, q):
        raise TooLargeError("too many cells")

    monkeypatch.setattr(metrics, "kl_divergence", refuse)


@pytest.mark.usefixtures("too_large")
def test_the_interval_of_a_sampled_divergence_covers_it_as_often_as_it_says():
    rng = np.random.default_rng(0)
    p = random_network(rng, 4, most_states=2)
    q = random_network(rng, 4, most_states=2)
    one, other = joint(p), joint(q)
    exact = (one * np.log(one / other)).sum()
    graph = compile_network(q, steps=0)
    for reference, model in ((p, q), (p, graph), (compile_network(p, steps=0), q)):
        found = [divergence(reference, model, samples=500, seed=s) for s in range(200)]
        assert {each.method for each in found} == {"sampled"}
        covered = sum(each.interval[0] <= exact <= each.interval[1] for each in found)
        assert 175 <= covered <= 200
        assert np.mean([each.value for each in found]) == pytest.approx(exact, rel=0.05)


@pytest.mark.usefixtures("too_large")
def test_a_drawn_row_that_the_model_excludes_proves_that_the_divergence_is_infinite():
    p = random_network(np.random.default_rng(1), 3, most_states=2)
    excluding = type(p)(p.names, p.states, ((),) * 3, tuple(np.array([0.0, 1.0]) for _ in range(3)))
    found = divergence(p, excluding, samples=100)
    assert (found.value, found.method, found.interval) == (inf, "sampled", (inf, inf))


def test_an_interval_needs_two_rows():
    p = random_network(np.random.default_rng(1), 3)
    with pytest.raises(OptionError, match="at least 2"):
        divergence(p, p, samples=1)
