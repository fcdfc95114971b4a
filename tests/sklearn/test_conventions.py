"""scikit-learn's own checks of estimators."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from exactlearn.sklearn import (
    BayesianNetworkClassifier,
    BayesianNetworkDensity,
    DecisionGraphClassifier,
    ExactImputer,
)

ESTIMATORS = [
    BayesianNetworkClassifier(),
    BayesianNetworkClassifier(structure="exact"),
    BayesianNetworkClassifier(structure="naive-bayes"),
    DecisionGraphClassifier(),
    BayesianNetworkDensity(max_parents=2),
    ExactImputer(mode="posterior"),
    ExactImputer(networks=1),
]


@parametrize_with_checks(ESTIMATORS)
@pytest.mark.filterwarnings("ignore::exactlearn.errors.LeftOutWarning")
def test_conventions(estimator, check):
    check(estimator)
