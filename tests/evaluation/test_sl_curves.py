"""SL-curves: what each language's sequence holds; random queries against the joint distribution."""

from math import log

import numpy as np
import pytest

from exactlearn.bayesnet.component_growth import naive_bayes_models
from exactlearn.bayesnet.naive_bayes import NaiveBayes
from exactlearn.data.dataset import Dataset
from exactlearn.errors import ExactlearnError, TooLargeError
from exactlearn.evaluation import sl_curves as module
from exactlearn.evaluation.sl_curves import (
    LANGUAGES,
    answers,
    random_queries,
    sl_curves,
)
from exactlearn.pdg.compile.compile import compile_network
from exactlearn.pdg.model.decision_graph import DecisionGraph
from experiments.generators import drawn as rows_of
from experiments.generators import random_graph
from tests.naive_bayes_oracle import full_joint
from tests.network_oracle import joint, random_network
from tests.pdg_oracle import graph_joint


def drawn(rows, seed):
    return rows_of(random_graph("Rnd5", 0), rows, np.random.default_rng(seed))


def test_each_language_gives_its_models():
    train, test = drawn(200, 0), drawn(100, 1)
    curves = sl_curves(train, test, size_weights=[0.8, 0.6])
    assert list(curves["language"].unique()) == list(LANGUAGES)
    for row in curves.itertuples():
        assert row.train == pytest.approx(row.model.log_likelihood_rows(train).mean())
        assert row.test == pytest.approx(row.model.log_likelihood_rows(test).mean())
        assert row.parameters == row.model.representational_size
        is_graph = isinstance(row.model, DecisionGraph)
        size = row.effective_size if is_graph else row.parameters
        assert row.bic == pytest.approx(200 * row.train - log(200) / 2 * size)
        assert row.aic == pytest.approx(200 * row.train - size)
    assert curves["query_accuracy"].isna().all()
    assert curves.attrs["unfinished"] == []


def test_a_time_limit_leaves_one_model_of_each_language():
    curves = sl_curves(drawn(200, 0), drawn(50, 1), time_limit=0.0)
    assert (
        curves.attrs["unfinished"]
        == list(curves["language"].unique())
        == list(LANGUAGES)
    )
    counts = curves["language"].value_counts()
    assert counts["bn"] == counts["nb"] == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"languages": ["pdgs"]}, "languages: found 'pdgs'; did you mean 'pdg'"),
        ({"size_weights": [1.5]}, "a number from 0 to 1"),
        ({"queries": -1}, "'queries': expected a whole number from 0"),
        ({"queries": 5}, "no row has the 7 observed cells"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(ExactlearnError, match=message):
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
    monkeypatch.setattr(module, "QUERY_VARIABLES", 2)
    curves = sl_curves(drawn(200, 0), drawn(50, 1), languages=["nb"], queries=20)
    assert ((curves["query_accuracy"] < 0) == (curves["effective_size"] <= 20)).all()


@pytest.fixture
def short(monkeypatch):
    """Let queries ask for two variables given one."""
    monkeypatch.setattr(module, "QUERY_VARIABLES", 2)
    monkeypatch.setattr(module, "EVIDENCE_VARIABLES", 1)


def network_and_rows(seed, rows=60):
    rng = np.random.default_rng(seed)
    network = random_network(rng, 4, most_states=3)
    return network, network.sample(rows, rng)


def probability(full, row):
    return full[tuple(slice(None) if s < 0 else s for s in row)].sum()


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("language", ["bn", "pdg", "nb"])
def test_queries_are_ratios_of_the_full_joint(language):
    network, rows = network_and_rows(3)
    if language == "bn":
        model, full = network, joint(network)
    elif language == "pdg":
        model = compile_network(network, steps=0)
        full = graph_joint(model)
    else:
        model = list(zip(range(3), naive_bayes_models(rows), strict=False))[2][1]
        full = full_joint(model)
    asked = random_queries(rows, 70, seed=1)
    expected = [
        np.log(probability(full, all_of) / probability(full, given))
        for given, all_of in zip(*(part.codes for part in asked), strict=True)
    ]
    found = answers(model, asked)
    assert found["query_accuracy"] == pytest.approx(np.mean(expected))
    assert found["query_seconds"] > 0


@pytest.mark.usefixtures("short")
def test_queries_take_cells_of_rows_that_observe_enough():
    _, rows = network_and_rows(5)
    codes = rows.codes.copy()
    codes[::2, 0] = codes[1::4, 1:] = -1
    table = Dataset(codes, rows.names, rows.states)
    asked = random_queries(table, 100)
    given, all_of = (part.codes for part in asked)
    assert ((given >= 0).sum(axis=1) == 1).all()
    assert ((all_of >= 0).sum(axis=1) == 3).all()
    assert ((given < 0) | (given == all_of)).all()
    for row in all_of:
        assert any((np.where(row < 0, row, known) == row).all() for known in codes)
    again = random_queries(table, 100)
    assert (again[1].codes == all_of).all()


@pytest.mark.usefixtures("short")
def test_an_impossible_query_has_no_accuracy():
    network, rows = network_and_rows(3)
    asked = random_queries(rows, 1)
    observed = asked[1].codes[0]
    v = int(np.argmax(observed >= 0))
    code = int(observed[v])
    excluded = tuple(
        np.eye(int(r))[(code + 1) % int(r)] if k == v else np.full(int(r), 1 / r)
        for k, r in enumerate(network.cardinalities)
    )
    other = type(network)(network.names, network.states, ((),) * 4, excluded)
    assert answers(other, asked)["query_accuracy"] == -np.inf
