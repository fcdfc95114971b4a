"""One lambda: every learner and command weighs the total log-likelihood against the size."""

from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn.bayesnet.complete_data import fit_complete
from exactlearn.bayesnet.component_growth import learn_naive_bayes
from exactlearn.data.counts import bic_size_weight, rate_of, size_weight_of
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError, OptionError
from exactlearn.pdg.compile.compile import compile_network
from exactlearn.pdg.learn.hybrid import data_merges, learn_hybrid
from exactlearn.pdg.learn.structure_search import learn_on_forest
from exactlearn.scoring.scores import BIC, PenalisedLikelihood, score_family


def test_bic_and_aic():
    assert bic_size_weight(1) == 0
    assert rate_of(bic_size_weight(1000)) == pytest.approx(log(1000) / 2)
    assert bic_size_weight(1000) == pytest.approx(log(1000) / (2 + log(1000)))
    assert rate_of(0.5) == 1
    assert rate_of(1) == np.inf
    with pytest.raises(DataError, match="rows"):
        bic_size_weight(0)
    with pytest.raises(OptionError, match="size_weight"):
        rate_of(1.5)


@given(rate=st.floats(0, 100))
def test_a_rate_is_that_of_its_lambda(rate):
    assert rate_of(size_weight_of(rate)) == pytest.approx(rate)


def pairs(n_rows, dependence, copies=1):
    """Rows of two bits that agree with probability (1 + dependence) / 2."""
    same = round(n_rows * (1 + dependence) / 4)
    other = n_rows // 2 - same
    rows = np.repeat(
        [[0, 0], [1, 1], [0, 1], [1, 0]], [same, same, other, other], axis=0
    )
    return Dataset(np.tile(rows, (copies, 1)), ("a", "b"), (("0", "1"),) * 2)


@given(st.integers(10, 400), st.floats(0, 0.4), st.integers(1, 20))
@settings(max_examples=40)
def test_the_lambda_of_bic_makes_one_choice(half, dependence, copies):
    """A second node of ``b`` costs one parameter, as the parent ``a`` does, or two cells."""
    data = pairs(2 * half, dependence, copies)
    size_weight = bic_size_weight(data.n_rows)
    bic = score_family(data, 1, (0,), BIC()) - score_family(data, 1, (), BIC())
    penalised = PenalisedLikelihood(size_weight)
    gain = score_family(data, 1, (0,), penalised) - score_family(data, 1, (), penalised)
    assert gain == pytest.approx((1 - size_weight) * bic, abs=1e-6)
    # Counted by free parameters, graphs are networks here.
    graph = learn_on_forest(
        data, [-1, 0], size_weight=size_weight, size="representational"
    ).graph
    if abs(bic) > 1e-6:
        assert graph.node_counts[1] == (2 if bic > 0 else 1)
    # Counted by cells, all learners of graphs agree: an arc's gain in likelihood is to exceed 2
    # cells. As cells cost twice what parameters do, so does half the weight of one cell.
    likelihood = bic + log(data.n_rows) / 2
    size_weight = size_weight_of(log(data.n_rows) / 4)
    if abs(bic) > 1e-6 and likelihood > 1e-6:
        network = fit_complete(data, [(), (0,)], smoothing=0.0)
        merges = data_merges(compile_network(network, forest=[-1, 0]), data)
        merges.merge_until(rate=rate_of(size_weight) / data.n_rows)
        hybrid = (
            learn_hybrid(network, data, size_weights=[size_weight], smoothing=0.0)
            .models[0]
            .graph
        )
        direct = learn_on_forest(data, [-1, 0], size_weight=size_weight).graph
        nodes = 3 if bic > 0 else 2
        assert (merges.merged().n_nodes, hybrid.n_nodes, direct.n_nodes) == (nodes,) * 3


def test_naive_bayes_by_default_is_that_of_bic():
    rng = np.random.default_rng(2)
    hidden = rng.integers(0, 3, 300)
    rows = (rng.random((300, 5)) < np.array([0.1, 0.5, 0.9])[hidden, None]).astype(int)
    data = Dataset(rows, tuple("abcde"), (("0", "1"),) * 5)
    default = learn_naive_bayes(data).model
    named = learn_naive_bayes(data, size_weight=bic_size_weight(300)).model
    assert default.n_components == named.n_components
    assert (default.parameters == named.parameters).all()
