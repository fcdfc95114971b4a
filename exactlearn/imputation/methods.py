"""Every method of completing a table by its name: what ``compare`` puts side by side."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from exactlearn.augmentation import METHODS as AUGMENTATION
from exactlearn.data.dataset import Dataset
from exactlearn.imputation.classifiers import impute_by_labels, impute_by_svm
from exactlearn.imputation.imputed import Imputed
from exactlearn.imputation.imputer import Imputer, Mode
from exactlearn.imputation.learning import Learner, Learning, augmented
from exactlearn.imputation.library import impute_forest, impute_iterative, impute_knn

Method = Callable[[Dataset, Learning], Imputed]
"""Completes a table; learns, if it learns a network, as told."""


def _by_network(mode: Mode, dataset: Dataset, how: Learning) -> Imputed:
    imputer = Imputer(mode, how)
    found = imputer.learn(dataset)
    return found if found.network is None else imputer.imputed(dataset)


def _structural_em(learner: Learner, dataset: Dataset, how: Learning) -> Imputed:
    return _by_network("mpe", dataset, how.learned_by(learner))


def _averaged_mnar(dataset: Dataset, how: Learning) -> Imputed:
    return _by_network("averaged", dataset, replace(how, missingness="learned"))


def _by_svm(kernel: str, dataset: Dataset, how: Learning) -> Imputed:
    return impute_by_svm(dataset, kernel, how.time_limit)


def _by_labels(spreading: bool, dataset: Dataset, how: Learning) -> Imputed:
    return impute_by_labels(dataset, spreading, how.time_limit)


NETWORK_METHODS: Mapping[str, Method] = {
    **{
        name: partial(lambda name, dataset, how: augmented(dataset, how.learned_by(name)), name)
        for name in AUGMENTATION
    },
    "structural-em": partial(_structural_em, "structural-em"),
    "structural-em-hard": partial(_structural_em, "structural-em-hard"),
    "posterior": partial(_by_network, "posterior"),
    "mpe": partial(_by_network, "mpe"),
    "averaged": partial(_by_network, "averaged"),
    "averaged-mnar": _averaged_mnar,
}
"""Methods that learn a network."""

IMPUTERS: Mapping[str, Method] = {
    "knn": lambda dataset, how: impute_knn(dataset, how.time_limit),
    "iterative": lambda dataset, how: impute_iterative(dataset, how.time_limit),
    "forest": lambda dataset, how: impute_forest(dataset, how.seed, how.time_limit),
}
"""Imputers of scikit-learn."""

CLASSIFIERS: Mapping[str, Method] = {
    **{f"svm-{kernel}": partial(_by_svm, kernel) for kernel in ("linear", "rbf", "poly")},
    "label-propagation": partial(_by_labels, False),
    "label-spreading": partial(_by_labels, True),
}
"""Classifiers of scikit-learn, for tables in which one variable is hidden in part."""

METHODS: Mapping[str, Method] = {**NETWORK_METHODS, **IMPUTERS, **CLASSIFIERS}
