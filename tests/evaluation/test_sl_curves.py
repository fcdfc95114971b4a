"""SL-curves: entropy, the criteria, and what each language's sequence holds."""

from collections import Counter
from functools import partial
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn.bayesnet.naive_bayes import NaiveBayes
from exactlearn.data.dataset import Dataset
from exactlearn.errors import OptionError, TooLargeError
from exactlearn.evaluation import sl_curves as module
from exactlearn.evaluation.sl_curves import (
    LANGUAGES,
    empirical_log_likelihood,
    random_queries,
    sl_curves,
)
from exactlearn.pdg.model.decision_graph import DecisionGraph
from experiments.generators import drawn as rows_of
from experiments.generators import random_graph
from tests.strategies import datasets


def drawn(rows, seed):
    return rows_of(random_graph("Rnd5", 0), rows, np.random.default_rng(seed))


@settings(deadline=None)
@given(datasets(rows=(1, 12), variables=(1, 3)), st.data())
def test_no_distribution_is_likelier_than_the_rows_own(table, data):
    counts = Counter(map(tuple, table.codes.tolist()))
    n = table.n_rows
    expected = sum(k / n * log(k / n) for k in counts.values())
    assert empirical_log_likelihood(table) == pytest.approx(expected)
    size = int(np.prod(table.cardinalities))
    other = np.array(data.draw(st.lists(st.floats(0.01, 1), min_size=size, max_size=size)))
    logs = np.log(other / other.sum()).reshape(table.cardinalities)
    assert logs[tuple(table.codes.T)].mean() <= expected + 1e-9


@settings(deadline=None)
@given(datasets(rows=(1, 12), variables=(1, 3), missing=True), st.integers(0, 9))
def test_rows_that_miss_the_same_cells_are_counted_among_themselves(table, seed):
    rows = [tuple(row) for row in table.codes.tolist()]
    missing = [tuple(c < 0 for c in row) for row in rows]
    alike, kind = Counter(rows), Counter(missing)
    logs = [log(alike[r] / kind[m]) for r, m in zip(rows, missing, strict=True)]
    assert empirical_log_likelihood(table) == pytest.approx(float(np.mean(logs)))
    weights = np.random.default_rng(seed).integers(1, 3, table.n_rows)
    repeated = Dataset(np.repeat(table.codes, weights, axis=0), table.names, table.states)
    weighted = Dataset(table.codes, table.names, table.states, weights.astype(float))
    assert empirical_log_likelihood(weighted) == pytest.approx(empirical_log_likelihood(repeated))


def test_each_language_gives_its_models():
    train, test = drawn(200, 0), drawn(100, 1)
    curves = sl_curves(train, test, size_weights=[0.8, 0.6])
    assert list(curves["language"].unique()) == list(LANGUAGES)
    for row in curves.itertuples():
        assert (
            row.test == row.validation == pytest.approx(row.model.log_likelihood_rows(test).mean())
        )
        assert row.train <= curves.attrs["train_bound"] + 1e-9
        assert row.test <= curves.attrs["test_bound"] + 1e-9
        assert row.parameters == row.model.representational_size
        is_graph = isinstance(row.model, DecisionGraph)
        size = row.effective_size if is_graph else row.parameters
        assert row.bic == pytest.approx(200 * row.train - log(200) / 2 * size)
        assert row.aic == pytest.approx(200 * row.train - size)
    assert curves["query_accuracy"].isna().all()
    assert curves.attrs["unfinished"] == []


def test_validation_rows_choose_and_test_rows_judge():
    parts = {"validation": drawn(60, 2), "languages": ["nb"], "size_weights": [0.5]}
    curves = sl_curves(drawn(200, 0), drawn(60, 1), **parts)
    assert (curves["validation"] != curves["test"]).all()


def test_a_time_limit_leaves_one_model_of_each_language():
    curves = sl_curves(drawn(200, 0), drawn(50, 1), time_limit=0.0)
    assert curves.attrs["unfinished"] == list(curves["language"].unique()) == list(LANGUAGES)
    counts = curves["language"].value_counts()
    assert counts["bn"] == counts["nb"] == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"languages": ["pdgs"]}, "no language 'pdgs'; did you mean 'pdg'"),
        ({"size_weights": [1.5]}, "size_weight 1.5: expected a number between 0 and 1"),
    ],
)
def test_unknown_languages_and_wrong_weights_are_refused(options, message):
    with pytest.raises(OptionError, match=message):
        sl_curves(drawn(20, 0), drawn(20, 1), **options)


def test_a_model_too_large_for_the_rows_ends_its_sequence(monkeypatch):
    original, seen = NaiveBayes.log_likelihood_rows, []

    def refuse_the_second(model, rows):
        seen.append(model)
        if len(set(map(id, seen))) > 1:
            raise TooLargeError("too many cells")
        return original(model, rows)

    monkeypatch.setattr(NaiveBayes, "log_likelihood_rows", refuse_the_second)
    assert len(sl_curves(drawn(200, 0), drawn(50, 1), languages=["nb"])) == 1
    seen[:] = [None]
    with pytest.raises(TooLargeError):
        sl_curves(drawn(200, 0), drawn(50, 1), languages=["nb"])


def test_large_models_are_not_queried(monkeypatch):
    monkeypatch.setattr(module, "MAX_QUERIED", 20)
    monkeypatch.setattr(module, "random_queries", partial(random_queries, query_variables=2))
    curves = sl_curves(drawn(200, 0), drawn(50, 1), languages=["nb"], queries=20)
    assert ((curves["query_accuracy"] < 0) == (curves["effective_size"] <= 20)).all()
