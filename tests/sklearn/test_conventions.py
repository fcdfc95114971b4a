"""scikit-learn's own checks of estimators."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from exactlearn.sklearn import (
    BayesianNetworkClassifier,
    ExactImputer,
)

ESTIMATORS = [
    BayesianNetworkClassifier(),
    ExactImputer(networks=1),
]


@parametrize_with_checks(ESTIMATORS)
@pytest.mark.filterwarnings("ignore::exactlearn.errors.ColumnWarning")
def test_conventions(estimator, check):
    check(estimator)
