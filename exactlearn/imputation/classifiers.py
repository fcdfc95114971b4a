"""Classifiers of scikit-learn as baselines for tables in which one variable is hidden in part.

Support vector machines with three kernels learn from the rows whose class is known; label
propagation (Zhu and Ghahramani 2002) and label spreading (Zhou et al. 2004), which smooths with
the graph's normalised Laplacian, use the others too. Each is one call of the library, which no time
limit can end: an answer that came too late says so by the status ``feasible``.
"""

from collections.abc import Callable
from time import monotonic
from typing import Any

import numpy as np

from exactlearn.data.codes import MISSING
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError
from exactlearn.imputation.imputed import Imputed
from exactlearn.imputation.library import require_library, require_plain_rows
from exactlearn.imputation.one_hot import one_hot

REACH = 2.0
"""Two rows that differ in d variables have the similarity exp(-2 d REACH): the squared distance
of their indicators is 2 d."""


def class_variable(dataset: Dataset) -> int:
    """Return the one variable that has missing cells.

    Raises
    ------
    DataError
        When there is not exactly one, or none of its cells is observed.
    """
    found = sorted(set(dataset.missing_cells[:, 1].tolist()))
    if len(found) != 1:
        told = ", ".join(repr(dataset.names[v]) for v in found[:5]) or "none"
        raise DataError(
            "a classifier needs exactly one variable with missing cells, the class; found "
            f"{told}{', ...' if len(found) > 5 else ''}: hide cells of one only ('--class NAME')"
        )
    if (dataset.codes[:, found[0]] == MISSING).all():
        raise DataError(
            f"column {dataset.names[found[0]]!r} has no observed cell to learn the class from"
        )
    return int(found[0])


def impute_by_svm(dataset: Dataset, kernel: str, time_limit: float | None = None) -> Imputed:
    """Classify the rows of unknown class by a support vector machine.

    Parameters
    ----------
    dataset
        Table in which one variable has missing cells.
    kernel
        ``linear``, ``rbf`` or ``poly`` (of degree 3), with the library's penalty of 1.

    Raises
    ------
    DataError
        When the missing cells are not those of one variable, or the rows have weights.
    MissingExtraError
        When scikit-learn is not installed.
    """
    require_library()
    from sklearn.svm import SVC

    def predicted(features: Any, labels: Any) -> Any:
        known = labels != MISSING
        machine = SVC(kernel=kernel).fit(features[known], labels[known])
        return machine.predict(features[~known])

    return _classified(dataset, predicted, time_limit)


def impute_by_labels(dataset: Dataset, spreading: bool, time_limit: float | None = None) -> Imputed:
    """Classify the rows of unknown class by letting labels pass between similar rows.

    Parameters
    ----------
    dataset
        Table in which one variable has missing cells.
    spreading
        Label spreading, which lets known labels change too, in place of propagation.

    Raises
    ------
    DataError
        When the missing cells are not those of one variable, or the rows have weights.
    MissingExtraError
        When scikit-learn is not installed.
    """
    require_library()
    from sklearn.semi_supervised import LabelPropagation, LabelSpreading

    def predicted(features: Any, labels: Any) -> Any:
        kind = LabelSpreading if spreading else LabelPropagation
        model = kind(kernel="rbf", gamma=REACH, max_iter=1000).fit(features, labels)
        return model.transduction_[labels == MISSING]

    return _classified(dataset, predicted, time_limit)


def _classified(
    dataset: Dataset, predicted: Callable[[Any, Any], Any], time_limit: float | None
) -> Imputed:
    """Give the unknown classes what is predicted, or the only class that is known."""
    begun = monotonic()
    target = class_variable(dataset)
    require_plain_rows(dataset)
    labels = dataset.codes[:, target].astype(np.int64)
    known = np.unique(labels[labels != MISSING])
    if len(known) == 1:
        return Imputed(values=np.repeat(known, (labels == MISSING).sum()))
    features = one_hot(dataset, [v for v in range(dataset.n_variables) if v != target])
    values = np.asarray(predicted(features, labels), np.int64)
    late = time_limit is not None and monotonic() - begun > time_limit
    return Imputed(values=values, status="feasible" if late else "heuristic")
