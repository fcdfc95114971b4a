"""Estimators for scikit-learn (extra ``[sklearn]``).

``BayesianNetworkClassifier`` predicts a class, ``ExactImputer`` fills missing cells. Both take
arrays and data frames of texts, categories, booleans and numbers with missing cells, and cut
numbers into bins themselves (:mod:`exactlearn.data.frame_coding`).
"""

from exactlearn.imputation.scikit_learn import require_library

require_library()

from exactlearn.sklearn.classifiers import BayesianNetworkClassifier  # noqa: E402
from exactlearn.sklearn.imputer import ExactImputer  # noqa: E402

__all__ = ["BayesianNetworkClassifier", "ExactImputer"]
