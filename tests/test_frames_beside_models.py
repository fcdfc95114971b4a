"""A frame beside a model has the model's states: a row by itself, numbers, other columns."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import exactlearn as el
from exactlearn.structure.learned_network import LearnedNetwork
from tests.network_oracle import joint


def frame():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 200)
    b = np.where(rng.random(200) < 0.9, a, 1 - a)
    age = np.round(rng.normal(40, 5, 200) + 10 * a, 1)
    return pd.DataFrame(
        {"a": a, "b": b, "age": age, "row": [f"r{k}" for k in range(200)]}
    )


FRAME = frame()
LEARNED = el.learn(FRAME, discretise={"age": "frequency:4"}, drop="row")
MODELS = {
    "learned network": LEARNED,
    "network": LEARNED.network,
    "decision graph": el.compile_network(LEARNED.network),
    "naive Bayes": el.learn_naive_bayes(LEARNED.dataset, components=2).model,
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_rows_are_asked_one_by_one(model):
    rows = FRAME.drop(columns="a")
    together = el.query_rows(model, rows, "a").posteriors[0]
    for k in range(5):
        alone = el.query_rows(model, rows.iloc[[k]], "a").posteriors[0]
        np.testing.assert_allclose(alone[0], together[k])
        evidence = {"b": rows["b"][k], "age": rows["age"][k]}
        if not isinstance(model, LearnedNetwork):
            expected = list(el.query(model, evidence, "a").posterior["a"].values())
            np.testing.assert_allclose(alone[0], expected)
    assert el.classify(model, FRAME.head(1), "a").labels.tolist() == [FRAME["a"][0]]


def test_frames_beside_a_model_are_read_by_its_states():
    """Refined, completed and judged by them."""
    graph = MODELS["decision graph"]
    few = FRAME.head(2)
    assert el.refine(graph, few, iterations=1).model.states == graph.states
    values = el.most_probable_completion(LEARNED, few.assign(b=None))
    assert values.tolist() == few["a"].tolist()


def joint_of(model):
    """Return the joint distribution of a model with few variables, from its own parameters."""
    if isinstance(model, el.BayesianNetwork):
        return joint(model)
    if isinstance(model, el.DecisionGraph):
        return joint(LEARNED.network)  # that it was compiled from
    full = 0.0
    for k, weight in enumerate(model.prior):
        for v in range(model.n_variables):
            weight = np.multiply.outer(weight, model.parameters_of(v)[:, k])
        full = full + weight
    return full


@pytest.mark.parametrize("kind", ["network", "decision graph", "naive Bayes"])
def test_row_log_likelihoods_sum_out_missing_cells(kind):
    model, rows = MODELS[kind], FRAME.drop(columns="row").head(40).astype(object)
    full, table = joint_of(model), LEARNED.dataset.part(slice(40))
    complete = model.log_likelihood_rows(rows)
    assert complete.shape == (40,)
    np.testing.assert_allclose(complete, np.log(full[tuple(table.codes.T)]))
    hidden = np.random.default_rng(1).random(rows.shape) < 0.4
    codes = np.where(hidden, -1, table.codes)
    cells = [tuple(slice(None) if code < 0 else code for code in row) for row in codes]
    expected = [np.log(full[cell].sum()) for cell in cells]
    in_order = rows.mask(hidden)[["age", "b", "a"]]
    for some in (in_order, el.Dataset(codes, table.names, table.states)):
        np.testing.assert_allclose(
            model.log_likelihood_rows(some), expected, atol=1e-12
        )


def test_arrays_have_the_states_of_the_model_by_place():
    array = np.array([["u", "x"], ["v", "y"], ["u", "x"], ["v", "x"]], dtype=object)
    network = el.learn(array).network
    assert el.query_rows(network, array[:1], "X0").posteriors[0].tolist() == [[1, 0]]
    both = network.log_likelihood_rows(array)
    assert network.log_likelihood_rows(array[1:2]).tolist() == [both[1]]
    assert el.compile_network(network).log_likelihood_rows(array) == pytest.approx(both)


def test_a_state_or_columns_that_the_model_lacks_are_refused():
    with pytest.raises(el.ExactlearnError, match=r"'new'.*'0', '1'") as caught:
        el.query_rows(LEARNED, FRAME.head(2).assign(b="new"), "a")
    assert "Dataset.from_frame" not in str(caught.value)
    with pytest.raises(el.ExactlearnError, match="no variables of the model"):
        el.query_rows(LEARNED, pd.DataFrame({"c": [1]}), "a")


def test_learn_does_not_send_elsewhere_for_parameters_of_its_own():
    with pytest.raises(el.ExactlearnError, match=r"drop=\['age', 'row'\]") as caught:
        el.learn(FRAME)
    assert "from_frame" not in str(caught.value)
    with pytest.raises(el.ExactlearnError, match="from_frame"):
        el.bootstrap(FRAME, 2)
    with pytest.raises(el.ExactlearnError, match="columns 1, 2 of 4") as caught:
        el.learn(FRAME.set_axis(["a", "a", "b", "c"], axis=1))
    assert "from_frame" not in str(caught.value)


def test_tables_of_other_libraries_are_taken():
    columns = FRAME[["a", "b"]]
    table = pa.Table.from_pandas(columns)
    assert el.learn(table) == el.learn(columns)
    assert el.Dataset.from_frame(table) == el.Dataset.from_frame(columns)


def test_answers_about_rows_of_a_frame_have_its_index():
    rows = (
        FRAME.set_index("row")
        .drop(columns="age")
        .sample(frac=1, random_state=1)
        .head(4)
    )
    gaps = rows.assign(b=[None, 0, 1, None])
    assert el.query_rows(LEARNED, rows, "a").to_frame().index.equals(rows.index)
    assert el.classify(LEARNED, rows, "a").to_frame().index.equals(rows.index)
    missing = el.Dataset.from_frame(gaps, states={"a": ["0", "1"], "b": ["0", "1"]})
    assert missing.completion_frame([0, 1])["row"].tolist() == [
        rows.index[0],
        rows.index[3],
    ]
