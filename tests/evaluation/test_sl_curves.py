"""Entropy, fronts, overfitting, selection and dominance against their definitions."""

import json
from collections import Counter
from math import inf, log, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn.data.dataset import Dataset
from exactlearn.errors import OptionError, TooLargeError
from exactlearn.evaluation import sl_curves as module
from exactlearn.evaluation.models import log_likelihoods
from exactlearn.evaluation.random_queries import random_queries
from exactlearn.evaluation.sl_curves import (
    CRITERIA,
    SLCurves,
    SLPoint,
    dominance,
    empirical_log_likelihood,
    front,
    overfits,
    selected,
    sl_curves,
)
from exactlearn.reproduce.generators import random_model
from tests.strategies import datasets


def point(size, train=-1.0, test=-1.0, language="bn", **more):
    values = {"size_weight": 0.5, "representational_size": size, "validation": test, "seconds": 0.0}
    values |= dict.fromkeys(("query_accuracy", "query_error", "query_seconds"), nan) | more
    return SLPoint(language=language, effective_size=size, train=train, test=test, **values)


likelihoods = st.integers(-5, 0).map(float)
points = st.lists(
    st.builds(point, st.integers(1, 6), likelihoods, likelihoods), min_size=1, max_size=8
)


def drawn(rows, seed):
    return random_model("Rnd5", 0).drawn(rows, np.random.default_rng(seed))


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


def dominated(one, other):
    differs = (one.effective_size, one.test) != (other.effective_size, other.test)
    return other.effective_size <= one.effective_size and other.test >= one.test and differs


@given(points)
def test_the_front_is_what_no_point_dominates(found):
    kept = front(found)
    expected = {
        (p.effective_size, p.test) for p in found if not any(dominated(p, o) for o in found)
    }
    assert [(p.effective_size, p.test) for p in kept] == sorted(expected)


@given(points)
def test_overfitting_is_definition_4_1_and_the_likeliest_model_never_does(found):
    for one in found:
        expected = any(one.train > o.train and one.test < o.test for o in found)
        assert overfits(one, found) == expected
    assert not overfits(selected(found, "test", 10.0), found)


@given(points, st.floats(2, 1000))
def test_criteria_choose_by_the_penalised_likelihood(found, n):
    for criterion, size_weight in (("BIC", log(n) / (2 + log(n))), ("AIC", 0.5)):
        scores = [(1 - size_weight) * n * p.train - size_weight * p.effective_size for p in found]
        best = selected(found, criterion, n)
        own = (1 - size_weight) * n * best.train - size_weight * best.effective_size
        assert own == pytest.approx(max(scores), rel=1e-9)
    assert selected(found, "validation", n).validation == max(p.validation for p in found)


def test_unknown_queries_are_never_chosen_and_unknown_criteria_refused():
    found = [point(3), point(2, query_accuracy=-4.0)]
    assert selected(found, "queries", 9.0) is found[1]
    with pytest.raises(OptionError, match="did you mean 'BIC'"):
        selected(found, "BICC", 9.0)


@given(points, points)
def test_dominance_compares_the_best_of_up_to_each_size(first, second):
    found = dominance(first, second)
    least = max(min(p.effective_size for p in own) for own in (first, second))
    sizes = {p.effective_size for p in (*first, *second) if p.effective_size >= least}

    def best(own, size):
        return max(p.test for p in own if p.effective_size <= size)

    ahead = [best(first, s) > best(second, s) for s in sizes]
    behind = [best(first, s) < best(second, s) for s in sizes]
    assert found.share == pytest.approx(sum(ahead) / len(sizes))
    assert found.consistent == (any(ahead) and not any(behind))
    back = dominance(second, first)
    assert not (found.consistent and back.consistent)
    assert found.share + back.share <= 1 + 1e-9


def test_the_dominating_and_the_dominated_language():
    curves = SLCurves(
        points=(
            *(point(s, -3 - 1 / s, -3 - 1 / s, "bn") for s in (2, 4)),
            *(point(s, -2 - 1 / s, -4 - 1 / s, "nb") for s in (2, 4)),
            *(point(s, -3, -1 - 1 / s, "pdg") for s in (1, 4)),
        ),
        n_rows=100.0,
        train_bound=-0.5,
        test_bound=-0.5,
    )
    assert curves.consistent("test") == ("pdg", "nb")
    assert curves.consistent("train") == ("nb", "bn")
    assert SLCurves(curves.of("bn"), 100.0, -0.5, -0.5).consistent("test") == (None, None)


def test_each_language_gives_its_points():
    train, test = drawn(200, 0), drawn(100, 1)
    seen = []
    curves = sl_curves(train, test, size_weights=[0.8, 0.6], on_model=seen.append)
    assert [p.train for p in seen] == [p.train for p in curves.points]
    assert set(curves.languages) >= {"bn", "nb", "pdg"}
    for learnt, found in zip(curves.models, curves.points, strict=True):
        assert curves.model(found).effective_size == found.effective_size
        logs = log_likelihoods(learnt.model, test).mean()
        assert found.test == found.validation == pytest.approx(float(logs))
        assert found.train <= curves.train_bound + 1e-9
        assert found.test <= curves.test_bound + 1e-9
    record = json.loads(json.dumps(curves.to_dict(), allow_nan=False))
    kept = {key for key in record["points"][0] if key in SLPoint.__dataclass_fields__}
    again = [SLPoint.of_record({k: p[k] for k in kept}) for p in record["points"]]
    assert [repr(p) for p in again] == [repr(p) for p in curves.points]
    assert set(record["selected"]["bn"]) == set(CRITERIA)
    assert sum(p["in_front"] for p in record["points"]) == len(front(curves.points))


def test_validation_rows_choose_and_test_rows_judge():
    curves = sl_curves(
        drawn(200, 0), drawn(60, 1), validation=drawn(60, 2), languages=["nb"], size_weights=[0.5]
    )
    chosen = curves.selected("nb", "validation")
    assert chosen.validation == max(p.validation for p in curves.points)
    assert chosen.validation != chosen.test


def test_a_time_limit_leaves_one_model_of_each_language():
    curves = sl_curves(drawn(200, 0), drawn(50, 1), time_limit=0.0)
    assert set(curves.languages) == set(curves.unfinished) >= {"bn", "nb", "pdg"}
    assert len(curves.of("bn")) == len(curves.of("nb")) == 1


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


def test_an_impossible_row_is_kept_in_a_record():
    curves = SLCurves((point(2, test=-inf),), 10.0, -1.0, -1.0)
    record = curves.to_dict()["points"][0]
    assert record["test"] is None
    fields = {k: record[k] for k in SLPoint.__dataclass_fields__}
    assert SLPoint.of_record(fields).test == -inf


def test_a_model_too_large_for_the_rows_ends_its_sequence(monkeypatch):
    original, seen = module.log_likelihoods, []

    def refuse_the_second(model, rows):
        seen.append(model)
        if len(set(map(id, seen))) > 1:
            raise TooLargeError("too many cells")
        return original(model, rows)

    monkeypatch.setattr(module, "log_likelihoods", refuse_the_second)
    curves = sl_curves(drawn(200, 0), drawn(50, 1), languages=["nb"])
    assert len(curves.points) == 1
    seen[:] = [None]
    with pytest.raises(TooLargeError):
        sl_curves(drawn(200, 0), drawn(50, 1), languages=["nb"])


def test_large_models_are_not_queried(monkeypatch):
    train, queries = drawn(200, 0), random_queries(drawn(50, 1), 20, query_variables=2)
    monkeypatch.setattr(module, "MOST_QUERIED", 20)
    curves = sl_curves(train, drawn(50, 1), languages=["nb"], queries=queries)
    for found in curves.points:
        assert (found.query_accuracy < 0) == (found.effective_size <= 20)
