"""The same values give the same answers, whatever the types of the columns that hold them.

A table of zeros and ones is written in every type, fitted in every type, and its later rows, which
have missing cells, are asked about in every type.
"""

from functools import cache

import numpy as np
import pandas as pd
import pytest

import exactlearn as el
from exactlearn.errors import DataError, StateWarning
from exactlearn.sklearn import BayesianNetworkClassifier, ExactImputer
from tests.command_line import run_json

NAMES = ["a", "b", "c"]

pytestmark = pytest.mark.filterwarnings("ignore:X .* feature names:UserWarning")


def table(rows=80, hidden=0.1):
    """Return zeros and ones in dependent columns, NaN where a cell is missing."""
    rng = np.random.default_rng(3)
    values = rng.integers(0, 2, (rows, 3)).astype(float)
    for column in (1, 2):
        is_copy = rng.random(rows) < 0.85
        values[is_copy, column] = values[is_copy, column - 1]
    values[rng.random(values.shape) < hidden] = np.nan
    return pd.DataFrame(values, columns=NAMES)


VALUES = table()
LATER = VALUES.head(12)


def mapped(values, zero, one):
    """Return objects in place of 0 and 1; missing cells are None."""
    objects = values.astype(object).where(values.notna(), None)
    return objects.replace({0.0: zero, 1.0: one})


KINDS = {
    "float": lambda values: values,
    "Int64": lambda values: values.astype("Int64"),
    "boolean": lambda values: values.astype("boolean"),
    "object": lambda values: mapped(values, 0, 1).astype(object),
    "truth values": lambda values: mapped(values, False, True).astype(object),
    "category": lambda values: values.astype("Int64").astype("category"),
    "category of texts": lambda values: mapped(values, "0", "1").astype("category"),
    "string": lambda values: mapped(values, "0", "1").astype("str"),
    "string of floats": lambda values: mapped(values, "0.0", "1.0").astype("str"),
    "array": lambda values: values.to_numpy(),
    "array of objects": lambda values: mapped(values, 0, 1).to_numpy(),
}
WHOLE = {
    "int": lambda values: values.astype(int),
    "bool": lambda values: values.astype(bool),
}
"""Types without missing cells."""


def framed(values):
    """Return rows as a frame with the names of the columns."""
    if isinstance(values, np.ndarray):
        return pd.DataFrame(values, columns=NAMES)
    return values


def as_numbers(rows):
    """Return the cells of a table as floats, by their labels."""
    numbers = {"0": 0.0, "1": 1.0, "0.0": 0.0, "1.0": 1.0, "False": 0.0, "True": 1.0}
    return (
        framed(rows)
        .map(lambda cell: numbers[str(cell)], na_action="ignore")
        .astype(float)
    )


@cache
def fitted(kind):
    """Return what is fitted to the table in one type."""
    rows = (KINDS | WHOLE)[kind](VALUES if kind in KINDS else table(hidden=0))
    target = np.where(
        VALUES["a"].fillna(0) + np.arange(len(VALUES)) % 3 > 1, "high", "low"
    )
    classifier = BayesianNetworkClassifier(structure="naive-bayes", smoothing=1.0)
    imputer = ExactImputer(mode="posterior", max_parents=1, random_state=0)
    parents = [(), (0,), (1,)]
    network = el.fit_em(framed(rows), parents, smoothing=1.0).model
    graph = el.compile_network(network, steps=0)
    return classifier.fit(rows, target), imputer.fit(rows), network, graph


def answers(kind, later):
    """Return the predictions for later rows of models that were fitted in one type."""
    classifier, imputer, network, graph = fitted(kind)
    rows = framed(later)
    return {
        "predict_proba": classifier.predict_proba(later),
        "transform": as_numbers(imputer.transform(later)),
        "query_rows": el.query_rows(network, rows, "b").posteriors[0],
        "classify": el.classify(network, rows, "c").posterior,
        "log_likelihood_rows": network.log_likelihood_rows(rows),
        "of a graph": graph.log_likelihood_rows(rows),
        "completion": el.most_probable_completion(network, rows),
    }


@pytest.mark.parametrize("kind", KINDS)
def test_later_rows_of_every_type_have_the_same_answers(kind):
    expected = answers("float", LATER)
    for later in KINDS.values():
        found = answers(kind, later(LATER))
        for name, values in expected.items():
            np.testing.assert_allclose(found[name], values, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("kind", WHOLE)
def test_later_rows_with_gaps_may_be_of_a_type_that_has_none(kind):
    expected = answers(kind, WHOLE[kind](table(12, hidden=0)))
    complete = table(12, hidden=0)
    for later in (KINDS | WHOLE).values():
        found = answers(kind, later(complete))
        for name, values in expected.items():
            np.testing.assert_allclose(found[name], values, atol=1e-9, err_msg=name)


@pytest.mark.parametrize(
    "kind", [name for name in KINDS | WHOLE if "array" not in name]
)
def test_imputed_columns_have_the_fitted_types(kind):
    as_kind = (KINDS | WHOLE)[kind]
    types = as_kind(table(hidden=0)).dtypes
    _, imputer, *_ = fitted(kind)
    for later in KINDS.values():
        for filled in (
            imputer.transform(framed(later(LATER))),
            imputer.sample(framed(later(LATER)), 1, random_state=0)[0],
        ):
            assert filled.notna().all().all()
            assert filled.dtypes.tolist() == types.tolist()


def test_only_values_that_a_type_cannot_hold_are_replaced():
    frame = pd.DataFrame(
        {
            "grade": pd.Categorical(
                ["lo", "hi"] * 20, categories=["lo", "hi", "never"]
            ),
            "count": np.array([1, 2] * 20, np.int8),
            "word": ["x", "y"] * 20,
        }
    )
    imputer = ExactImputer(mode="posterior", max_parents=1, random_state=0).fit(frame)
    later = pd.DataFrame(
        {
            "grade": ["never", "new", None, "hi"],
            "count": ["7", "300", "2.5", None],
            "word": ["x", "z", None, "y"],
        }
    )
    with pytest.warns(
        StateWarning, match=r"'grade': 'never' \(1\), 'new' \(1\); column 'count'"
    ):
        filled = imputer.transform(later)
    assert filled.dtypes.tolist() == frame.dtypes.tolist()
    assert filled["grade"].tolist()[::3] == ["never", "hi"]
    assert filled["count"].tolist() == [7, filled["count"][1], 1, 2]
    assert set(filled["count"][1:]) <= {1, 2}
    assert filled["word"].tolist()[::3] == ["x", "y"]
    assert filled["word"][1] == "z"


@pytest.mark.parametrize("kind", ["network", "graph", "naive Bayes", "learned"])
def test_unseen_states_are_refused_or_count_as_missing(kind):
    rows = VALUES.assign(a=VALUES["a"].fillna(0))
    learned = el.learn(rows, ess=1)
    model = {
        "network": learned.network,
        "graph": el.compile_network(learned.network),
        "naive Bayes": el.learn_naive_bayes(learned.dataset, components=1).model,
        "learned": learned,
    }[kind]
    strange = LATER.assign(b=["2"] * 11 + [None])
    missing = LATER.assign(b=None)
    coded = el.Dataset.from_frame(strange.assign(b=["2"] * 10 + ["1", None]))
    judge = getattr(model, "network", model)
    for ask in (
        lambda rows, **options: el.query_rows(model, rows, "a", **options).posteriors[
            0
        ],
        lambda rows, **options: el.classify(model, rows, "a", **options).posterior,
        lambda rows, **options: judge.log_likelihood_rows(rows, **options),
    ):
        for table_of_rows in (strange, coded):
            with pytest.raises(DataError, match=r"column 'b'.*'2'.*unseen='missing'"):
                ask(table_of_rows)
        with pytest.warns(
            StateWarning, match=r"count as missing: column 'b': '2' \(11\)$"
        ):
            found = ask(strange, unseen="missing")
        np.testing.assert_allclose(found, ask(missing))
        with pytest.warns(
            StateWarning, match=r"count as missing: column 'b': '2' \(10\)$"
        ):
            found = ask(coded, unseen="missing")
        np.testing.assert_allclose(found[:10], ask(missing)[:10])
    with pytest.raises(el.ExactlearnError, match="unseen: found 'drop'"):
        el.query_rows(model, strange, "a", unseen="drop")


@pytest.mark.parametrize(
    "later", ["float", "Int64", "boolean", "string of floats", "category"]
)
def test_files_are_evaluated_by_value(later, tmp_path):
    network = fitted("float")[2]
    el.write_model(network, tmp_path / "model.bif")
    rows = KINDS[later](LATER)
    rows.to_csv(tmp_path / "rows.csv", index=False)
    rows.to_parquet(tmp_path / "rows.parquet")
    expected = network.log_likelihood_rows(LATER).mean()
    for name in ("rows.csv", "rows.parquet"):
        found = run_json("evaluate", tmp_path / "model.bif", tmp_path / name)
        assert found["log_likelihood_per_row"] == pytest.approx(expected)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with the table, whole and with missing cells, in files of several types."""
    place = tmp_path_factory.mktemp("types")
    whole = table(40, hidden=0)
    missing = table(40)
    for kind in ("Int64", "Float64", "boolean"):
        whole.astype("Int64").astype(kind).to_csv(
            place / f"whole-{kind}.csv", index=False
        )
        missing.astype("Int64").astype(kind).to_csv(
            place / f"missing-{kind}.csv", index=False
        )
        run_json("solve", place / f"whole-{kind}.csv", "-o", place / f"{kind}.bif")
    return place


COMMANDS = {
    "augment": (
        "augment missing-Int64.csv --method t-local --truth whole-KIND.csv",
        "score",
    ),
    "compare": (
        "compare missing-Int64.csv --methods mode --truth whole-KIND.csv",
        "rows",
    ),
    "impute": (
        "impute missing-KIND.csv --train whole-Int64.csv --method mode",
        "completion",
    ),
    "evaluate": (
        "evaluate Int64.bif missing-KIND.csv --class b --reference KIND.bif",
        "log_likelihood_per_row kl_divergence accuracy",
    ),
    "fit": ("fit Int64.bif missing-KIND.csv", "log_likelihood"),
}


def figures(command, kind, keys):
    """Return some figures of the record of a command, of rows their accuracy."""
    record = run_json(*command.replace("KIND", kind).split())
    found = {key: record[key] for key in keys.split()}
    if "rows" in found:
        found["rows"] = [row["accuracy"] for row in record["rows"]]
    return found, record.get("imputation_accuracy")


@pytest.mark.parametrize(("command", "keys"), COMMANDS.values(), ids=COMMANDS)
def test_commands_match_files_by_value(command, keys, folder, monkeypatch):
    monkeypatch.chdir(folder)
    expected = figures(command, "Int64", keys)
    for kind in ("Float64", "boolean"):
        assert figures(command, kind, keys) == expected
