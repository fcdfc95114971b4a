"""Random queries of all languages against the full joint distribution."""

from math import isnan

import numpy as np
import pytest

from exactlearn.bayesnet.component_growth import naive_bayes_models
from exactlearn.bayesnet.naive_bayes import NaiveBayes
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError, OptionError
from exactlearn.evaluation.sl_curves import random_queries
from exactlearn.pdg.compile.compile import compile_network
from exactlearn.pdg.model.decision_graph import DecisionGraph
from tests.network_oracle import joint, random_network
from tests.pdg_oracle import graph_joint


def network_and_rows(seed, rows=60):
    rng = np.random.default_rng(seed)
    network = random_network(rng, 4, most_states=3)
    return network, network.sample(rows, rng)


def full_joint(model):
    if isinstance(model, DecisionGraph):
        return graph_joint(model)
    if not isinstance(model, NaiveBayes):
        return joint(model)
    full, first = np.zeros(tuple(model.cardinalities)), np.cumsum([0, *model.cardinalities])
    for where in np.ndindex(full.shape):
        rows = [int(first[v]) + s for v, s in enumerate(where)]
        full[where] = (model.prior * model.parameters[rows].prod(axis=0)).sum()
    return full


def probability(full, row):
    return full[tuple(slice(None) if s < 0 else s for s in row)].sum()


@pytest.mark.parametrize("language", ["bn", "pdg", "nb"])
def test_queries_are_ratios_of_the_full_joint(language):
    network, rows = network_and_rows(3)
    models = {
        "bn": lambda: network,
        "pdg": lambda: compile_network(network, steps=0),
        "nb": lambda: list(zip(range(3), naive_bayes_models(rows), strict=False))[2][1],
    }
    model = models[language]()
    asked = random_queries(rows, 70, query_variables=2, evidence_variables=1, seed=1)
    full = full_joint(model)
    expected = [
        np.log(probability(full, all_of) / probability(full, given))
        for given, all_of in zip(asked.evidence.codes, asked.observed.codes, strict=True)
    ]
    answers = asked.answered_by(model)
    assert answers["query_accuracy"] == pytest.approx(np.mean(expected))
    assert answers["query_error"] == pytest.approx(np.std(expected, ddof=1) / np.sqrt(70))
    assert answers["query_seconds"] > 0


def test_queries_take_cells_of_rows_that_observe_enough():
    _, rows = network_and_rows(5)
    codes = rows.codes.copy()
    codes[::2, 0] = codes[1::4, 1:] = -1
    table = Dataset(codes, rows.names, rows.states)
    asked = random_queries(table, 100, query_variables=2, evidence_variables=1)
    given, all_of = asked.evidence.codes, asked.observed.codes
    assert ((given >= 0).sum(axis=1) == 1).all()
    assert ((all_of >= 0).sum(axis=1) == 3).all()
    assert ((given < 0) | (given == all_of)).all()
    for row in all_of:
        assert any((np.where(row < 0, row, known) == row).all() for known in codes)
    again = random_queries(table, 100, query_variables=2, evidence_variables=1)
    assert (again.observed.codes == all_of).all()
    assert random_queries(table, 9, query_variables=1, evidence_variables=0).evidence.n_rows == 9


def test_one_query_has_no_error_and_an_impossible_one_no_accuracy():
    network, rows = network_and_rows(3)
    asked = random_queries(rows, 1, query_variables=1, evidence_variables=1)
    assert isnan(asked.answered_by(network)["query_error"])
    code = int(asked.observed.codes.max(axis=0)[np.argmax(asked.observed.codes[0] >= 0)])
    v = int(np.argmax(asked.observed.codes[0] >= 0))
    excluded = tuple(
        np.eye(int(r))[(code + 1) % int(r)] if k == v else np.full(int(r), 1 / r)
        for k, r in enumerate(network.cardinalities)
    )
    other = type(network)(network.names, network.states, ((),) * 4, excluded)
    assert asked.answered_by(other)["query_accuracy"] == -np.inf


def test_what_cannot_be_asked_is_refused():
    _, rows = network_and_rows(3)
    with pytest.raises(DataError, match="no row has the 7 observed cells"):
        random_queries(rows)
    with pytest.raises(OptionError, match="expected at least one query"):
        random_queries(rows, 0)
