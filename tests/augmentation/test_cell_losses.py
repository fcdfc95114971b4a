"""Losses of single cells against the scores of the tables with these cells changed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import exactlearn as el
from exactlearn.augmentation.coordinate_ascent import cell_losses
from exactlearn.errors import TooLargeError
from exactlearn.scoring.scores import total_score
from tests.graph_oracle import dags
from tests.own_scores import K2
from tests.strategies import incomplete_datasets


@given(incomplete_datasets(), st.data())
def test_losses_are_differences_of_whole_scores(
    table: el.Dataset, data: st.DataObject
) -> None:
    n = table.n_variables
    parents = data.draw(dags(n, n))
    score = data.draw(st.sampled_from([el.BDeu(1.0), el.BDeu(10.0), el.BIC(), K2()]))
    states = table.cardinalities[table.missing_cells[:, 1]]
    values = np.array([data.draw(st.integers(0, int(r) - 1)) for r in states], np.int64)
    losses = cell_losses(table, score, parents, values)
    here = total_score(table.complete(values), parents, score)
    for cell, r in enumerate(states):
        for state in range(losses.shape[1]):
            if state >= r:
                assert np.isnan(losses[cell, state])
                continue
            other = values.copy()
            other[cell] = state
            expected = here - total_score(table.complete(other), parents, score)
            assert losses[cell, state] == pytest.approx(expected, abs=1e-8)


def test_tables_that_are_too_large_are_refused() -> None:
    codes = np.zeros((2, 9), int)
    codes[1] = -1
    table = el.Dataset(codes, tuple("abcdefghi"), (tuple("0123456789"),) * 9)
    parents = (*((),) * 8, tuple(range(8)))
    with pytest.raises(TooLargeError, match="allow fewer parents"):
        cell_losses(table, el.BDeu(1.0), parents, np.zeros(9, int))
