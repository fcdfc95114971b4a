"""Forests grown by tests of independence (THESIS, Algorithms 4.11 and 4.12)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2, chi2_contingency

from exactlearn._runtime.control import SearchControl
from exactlearn.data.dataset import Dataset
from exactlearn.errors import OptionError
from exactlearn.pdg.learn.direct import learn_direct
from exactlearn.pdg.learn.edge_counts import StructureScore
from exactlearn.pdg.learn.forest_growth import (
    are_dependent,
    dependent_components,
    grown_forest,
)
from exactlearn.pdg.learn.methods import learn_pdg
from tests.logic_models import drawn, logic1, logic3, parity


@given(st.integers(0, 10_000))
@settings(max_examples=30)
def test_the_statistic_adds_up_over_the_parts(seed):
    """THESIS (4.51), with the expected count of (4.52) as corrected: that of each part alone."""
    rng = np.random.default_rng(seed)
    counts = (
        rng.poisson(rng.choice([0.0, 8.0, 20.0], (2, 3, 2), p=[0.2, 0.4, 0.4])) + 0.0
    )
    counts[:, 0, 0] += 20
    statistic = 0.0
    for part in counts:
        occupied = part[part.any(axis=1)][:, part.any(axis=0)]
        statistic += chi2_contingency(occupied, correction=False).statistic
    freedom = max(2 * 2 - int((counts == 0).sum()), 1)
    p = chi2.sf(statistic, freedom)
    assert are_dependent(counts, min(p * 1.001 + 1e-12, 1.0))
    assert not are_dependent(counts, p * 0.999 - 1e-12)


def test_too_few_rows_are_not_tested():
    counts = np.array([[[3.0, 0.0], [0.0, 2.0]]])
    assert are_dependent(counts, 0.05)
    assert not are_dependent(0.99 * counts, 1.0)
    assert not are_dependent(np.repeat(counts, 2, axis=0) / 2.01, 1.0)


def chains(rng, n_rows):
    """Draw two independent chains of three bits."""
    bits = rng.random((n_rows, 6)) < 0.5
    for v in (1, 2, 4, 5):
        bits[:, v] = np.where(
            rng.random(n_rows) < 0.85, bits[:, v - 1], ~bits[:, v - 1]
        )
    return Dataset(bits.astype(np.int16), tuple("abcdef"), (("0", "1"),) * 6)


def test_dependence_is_within_the_parts():
    """The ends of a chain depend on each other, but not given the bit between them."""
    data = chains(np.random.default_rng(0), 4000)
    everything = np.zeros(4000, np.int64)
    ends = np.array([0, 2])
    joined = dependent_components(data, np.array([0, 2, 3]), everything, 0.01)
    assert [component.tolist() for component in joined] == [[0, 2], [3]]
    parted = dependent_components(data, ends, data.codes[:, 1].astype(np.int64), 0.01)
    assert [component.tolist() for component in parted] == [[0], [2]]


@pytest.mark.parametrize("seed", range(4))
def test_each_component_is_a_tree_and_a_branch(seed):
    rng = np.random.default_rng(seed)
    forest = grown_forest(chains(rng, 3000), 0.001, StructureScore(0.8), rng).tolist()
    for first, middle, last in ((0, 1, 2), (3, 4, 5)):
        assert [forest[first], forest[middle], forest[last]].count(-1) == 1
        if forest[middle] == -1:
            assert (
                forest[first] == forest[last] == middle
            )  # independent given the middle one
        else:
            assert {forest[first], forest[middle], forest[last]} <= {
                -1,
                first,
                middle,
                last,
            }


def test_a_search_that_is_over_grows_no_level():
    data = drawn(logic1(), 500, np.random.default_rng(0))
    rng = np.random.default_rng(0)
    forest = grown_forest(data, 0.05, StructureScore(0.8), rng, SearchControl(0.0))
    assert (forest == -1).all()


def test_the_search_goes_over_the_grown_forest_too():
    data, seen = drawn(logic3(6), 400, np.random.default_rng(2)), []
    without = learn_direct(data, on_model=lambda *_: seen.append("without")).models[0]
    (model,) = learn_direct(
        data, significance=0.5, seed=2, on_model=lambda *_: seen.append("with")
    ).models
    model.check(data)
    assert model.score >= without.score
    assert seen.count("with") == seen.count("without") + 1


def test_parity_needs_the_chain():
    data = drawn(parity(), 2000, np.random.default_rng(0))
    forest = grown_forest(data, 0.001, StructureScore(0.8), np.random.default_rng(0))
    assert (forest == -1).all()
    assert learn_direct(data, significance=0.001).graph.effective_size == 18


@pytest.mark.parametrize("significance", [-0.1, 1.5, np.nan])
def test_a_significance_is_a_probability(significance):
    data = drawn(parity(3), 20, np.random.default_rng(0))
    with pytest.raises(OptionError, match="significance"):
        learn_direct(data, significance=significance)
    with pytest.raises(OptionError, match="choose method='direct'"):
        learn_pdg(data, significance=0.5)
