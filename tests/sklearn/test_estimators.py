"""Estimators: exact posteriors, tables of all kinds, and work with the rest of scikit-learn."""

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import exactlearn as el
from exactlearn.errors import ColumnWarning, DataError, OptionError, StateWarning
from exactlearn.sklearn import (
    BayesianNetworkClassifier,
    ExactImputer,
)
from exactlearn.sklearn.classifiers import folds

CLASSIFIERS = [
    BayesianNetworkClassifier(random_state=0),
    BayesianNetworkClassifier(structure="exact", max_parents=3, random_state=0),
    BayesianNetworkClassifier(structure="naive-bayes", random_state=0),
]


@pytest.fixture(scope="module")
def rows():
    """Mixed columns, a tenth of the cells missing, and a class that depends on them."""
    rng = np.random.default_rng(3)
    n = 300
    colour = rng.choice(["red", "green", "blue"], n)
    size = rng.normal(size=n) + (colour == "red")
    count = rng.integers(0, 4, n)
    y = np.where((size + count + rng.normal(size=n) * 0.5) > 1.8, "high", "low")
    frame = pd.DataFrame(
        {"colour": colour, "size": size, "count": count, "wet": rng.random(n) < 0.5}
    ).astype({"count": "Int64", "wet": "boolean"})
    return frame.mask(rng.random(frame.shape) < 0.1), y


def joint(network, codes):
    """Return the probability of a row of codes, -1 summed out, by the plain sum."""
    total = 0.0
    ranges = [
        range(len(s)) if c < 0 else [c]
        for s, c in zip(network.states, codes, strict=True)
    ]
    for full in itertools.product(*ranges):
        total += np.prod(
            [
                t[tuple(full[p] for p in (*family, v))]
                for v, (family, t) in enumerate(
                    zip(network.parents, network.tables, strict=True)
                )
            ]
        )
    return total


@pytest.mark.parametrize("model", CLASSIFIERS)
def test_probabilities_are_those_of_the_joint_distribution(model, rows):
    X, y = rows
    model = clone(model).fit(X, y)
    codes = model.coding_.dataset(X[:40]).codes
    weights = [[joint(model.network_, [*row, k]) for k in range(2)] for row in codes]
    expected = np.array(weights) / np.sum(weights, axis=1, keepdims=True)
    assert model.predict_proba(X[:40]) == pytest.approx(expected, abs=1e-9)
    assert model.classes_.tolist() == ["high", "low"]
    assert (model.predict(X) == y).mean() > 0.8


def test_structures_are_those_asked_for(rows):
    X, y = rows
    complete = X.notna().all(
        axis=1
    )  # of missing cells each structure has expected counts
    X, y = X[complete], y[complete]
    augmented = BayesianNetworkClassifier(structure="augmented").fit(X, y)
    assert all(4 in family for family in augmented.network_.parents[:4])
    assert augmented.learned_.status == "optimal"
    naive = BayesianNetworkClassifier(structure="naive-bayes").fit(X, y)
    assert naive.network_.parents == ((4,),) * 4 + ((),)
    exact = BayesianNetworkClassifier(structure="exact").fit(X, y)
    assert exact.learned_.score >= augmented.learned_.score - 1e-9
    with pytest.raises(ValueError, match="did you mean 'exact'"):
        BayesianNetworkClassifier(structure="exakt").fit(X, y)
    with pytest.raises(
        ValueError, match="'smoothing': expected a finite number above 0"
    ):
        BayesianNetworkClassifier(smoothing=0).fit(X, y)
    with pytest.raises(ValueError, match="two classes or more"):
        BayesianNetworkClassifier().fit(X, np.zeros(len(X)))


def test_structure_and_pseudo_count_minimise_held_out_log_loss(rows):
    """The losses of naive Bayes models are computed again by plain products."""
    X, y = rows
    model = BayesianNetworkClassifier(random_state=0).fit(X, y)
    losses = model.log_losses_
    assert len(losses) == 15
    assert (model.structure_, model.smoothing_) == min(
        losses, key=lambda key: losses[key]
    )
    complete = X.notna().all(axis=1)
    X, y = X[complete], y[complete]
    fixed = model.set_params(structure="naive-bayes").fit(X, y)
    table = fixed._with_class(fixed.coding_.dataset(X), (y == "low")[:, None])
    seed = np.random.RandomState(0).randint(np.iinfo(np.int32).max)
    for smoothing in (0.05, 4.0):
        total = 0.0
        for train, test in folds(table, seed):
            network = el.fit_complete(
                train, fixed.network_.parents, smoothing=smoothing
            )
            for row, weight in zip(test.codes, test.row_weights, strict=True):
                both = [joint(network, [*row[:-1], k]) for k in range(2)]
                total -= weight * np.log(both[row[-1]] / sum(both))
        expected = total / len(y)
        assert fixed.log_losses_["naive-bayes", smoothing] == pytest.approx(expected)


def test_a_choice_is_made_only_where_there_is_one(rows):
    X, y = rows
    given = BayesianNetworkClassifier(structure="exact", smoothing=0.5).fit(X, y)
    assert (given.log_losses_, given.structure_, given.smoothing_) == ({}, "exact", 0.5)
    lone = BayesianNetworkClassifier().fit(X[:21], ["high"] * 20 + ["low"])
    assert (lone.log_losses_, lone.structure_) == ({}, "augmented")


def test_folds_are_stratified_and_weights_are_repetitions():
    rng = np.random.default_rng(0)
    codes = np.column_stack((rng.integers(-1, 2, (60, 2)), rng.integers(0, 3, 60)))
    names, states = ("a", "b", "class"), (("n", "y"), ("n", "y"), ("u", "v", "w"))
    table = el.Dataset(codes, names, states)
    distinct, counts = np.unique(rng.permutation(codes), axis=0, return_counts=True)
    merged = el.Dataset(distinct, names, states, counts.astype(float))
    for one, other in zip(folds(table, 1), folds(merged, 1), strict=True):
        for a, b in zip(one, other, strict=True):
            assert (a.codes == b.codes).all()
            assert (a.weights == b.weights).all()
        train, test = one
        assert train.row_weights.sum() + test.row_weights.sum() == 60
        for label in range(3):
            held_out = test.row_weights[test.codes[:, 2] == label].sum()
            assert abs(held_out - (codes[:, 2] == label).sum() / 5) < 1


def test_unknown_values_count_as_missing(rows):
    X, y = rows
    model = BayesianNetworkClassifier().fit(X, y)
    strange, missing = X[:5].copy(), X[:5].copy()
    strange["colour"], missing["colour"] = "violet", None
    with pytest.warns(
        StateWarning, match=r"count as missing: column 'colour': 'violet' \(5\)$"
    ):
        found = model.predict_proba(strange)
    assert found == pytest.approx(model.predict_proba(missing))
    with pytest.raises(DataError, match=r"'colour': 'violet' \(5\)"):
        model.set_params(unseen="refuse").predict_proba(strange)
    with pytest.raises(
        OptionError, match="unseen: found 'ignore'; expected one of 'refuse', 'missing'"
    ):
        model.set_params(unseen="ignore").fit(X, y)


def test_arrays_and_lists_of_values_are_taken(rows):
    X, y = rows
    frame, array = X.astype(object), X.astype(object).to_numpy()
    model = BayesianNetworkClassifier(random_state=0)
    expected = model.fit(frame, y).predict_proba(frame)
    for table in (array, array.tolist()):
        assert model.fit(table, y).predict_proba(table) == pytest.approx(expected)


def test_a_column_may_have_the_name_of_the_class(rows):
    X, y = rows
    X = X.rename(columns={"colour": "class"})
    model = BayesianNetworkClassifier().fit(X, y)
    assert model.network_.names == ("class", "size", "count", "wet", "class_")
    assert model.predict_proba(X).shape == (300, 2)
    assert model.fit(X, pd.Series(y, name="risk")).network_.names[-1] == "risk"


@pytest.mark.parametrize("weights", ["class_weight", "sample_weight"])
def test_weights_move_the_predictions(weights, rows):
    X, y = rows
    model = BayesianNetworkClassifier()
    plain = clone(model).fit(X, y).predict_proba(X)[:, 0].mean()
    if weights == "class_weight":
        weighed = model.set_params(class_weight={"high": 9, "low": 1}).fit(X, y)
    else:
        weighed = model.fit(X, y, np.where(y == "high", 9, 1))
    assert weighed.predict_proba(X)[:, 0].mean() > plain + 0.05


def test_columns_without_two_values_are_kept_out_with_a_warning(rows):
    X, y = rows
    X = X.assign(same=1.0, none=np.nan)
    with pytest.warns(
        ColumnWarning, match="'same' .constant, .* '1'.*'none' .all cells are mi"
    ):
        model = BayesianNetworkClassifier().fit(X, y)
    assert set(model.left_out_) == {"same", "none"}
    for estimator in (BayesianNetworkClassifier, ExactImputer):
        with pytest.raises(DataError, match=r"(?s)'none'.*'same'.*tidy=True"):
            estimator(tidy=False).fit(X, y)
    assert model.predict_proba(X).shape == (300, 2)
    with pytest.warns(ColumnWarning):
        alone = BayesianNetworkClassifier().fit(X[["same"]], y)
    assert alone.predict_proba(X[["same"]])[:, 0] == pytest.approx(
        (y == "high").mean(), abs=0.01
    )
    with pytest.warns(ColumnWarning):
        imputer = ExactImputer(mode="posterior").fit(X)
    filled = imputer.transform(X.assign(same=np.nan))
    assert list(filled) == imputer.get_feature_names_out().tolist() == [*X][:-1]
    assert (filled["same"] == 1).all()


def test_classifiers_work_in_searches_and_pipelines(rows):
    X, y = rows
    search = GridSearchCV(
        BayesianNetworkClassifier(),
        {
            "structure": ["augmented", "naive-bayes"],
            "discretise": ["entropy", "width:3"],
        },
        cv=3,
        scoring="neg_log_loss",
    ).fit(X, y)
    assert search.best_estimator_.n_features_in_ == 4
    scores = cross_val_score(BayesianNetworkClassifier(random_state=0), X, y, cv=3)
    assert scores.mean() > 0.75
    copy = pickle.loads(pickle.dumps(search.best_estimator_))
    assert (copy.predict_proba(X) == search.predict_proba(X)).all()


def test_an_imputer_works_in_pipelines_and_column_transformers(rows):
    X, y = rows
    model = make_pipeline(
        ExactImputer(mode="posterior"),
        make_column_transformer((OneHotEncoder(), ["colour"]), remainder="passthrough"),
        LogisticRegression(),
    ).set_output(transform="default")
    model[0].set_output(transform="pandas")
    assert model.fit(X, y).score(X, y) > 0.8
    parts = make_column_transformer((ExactImputer(mode="mode"), ["colour", "count"]))
    parts.set_output(transform="pandas")
    assert list(parts.fit_transform(X)) == [
        "exactimputer__colour",
        "exactimputer__count",
    ]


def test_an_imputer_fills_what_is_missing_only(rows):
    X, _ = rows
    imputer = ExactImputer(mode="posterior", random_state=0).fit(X)
    filled = imputer.transform(X)
    assert filled.dtypes.tolist() == X.dtypes.tolist()
    assert filled.notna().all().all()
    pd.testing.assert_frame_equal(filled.where(X.notna()), X)
    assert set(filled["size"][X["size"].isna()]) <= set(imputer.coding_.values["size"])
    strange = X[:4].assign(colour=["violet", None, "red", "violet"])
    with pytest.warns(StateWarning, match=r"column 'colour': 'violet' \(2\)$"):
        assert imputer.transform(strange)["colour"].tolist()[::3] == [
            "violet",
            "violet",
        ]


def test_draws_follow_the_posterior(rows):
    X, _ = rows
    imputer = ExactImputer(mode="posterior").fit(X)
    row = X[X["wet"].isna()].iloc[:1]
    table = imputer.coding_.dataset(row)
    posterior = el.query_rows(imputer.network_, table, "wet").posteriors[0][0]
    drawn = imputer.sample(row, 2000, random_state=1)
    share = np.mean([bool(table["wet"].iloc[0]) for table in drawn])
    assert share == pytest.approx(posterior[1], abs=0.04)
    first, again = (imputer.sample(row, 20, random_state=1) for _ in range(2))
    assert all(a.equals(b) for a, b in zip(first, again, strict=True))


def test_the_network_of_a_classifier_has_the_labels_as_states(rows):
    X, y = rows
    model = BayesianNetworkClassifier(ess=1, random_state=0).fit(X, y)
    assert model.network_.states[-1] == tuple(map(str, model.classes_))


def test_rules_by_column_are_refused_by_estimators(rows):
    with pytest.raises(OptionError, match="expected METHOD:BINS"):
        BayesianNetworkClassifier(discretise={"size": "frequency:4"}).fit(*rows)
