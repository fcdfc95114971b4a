"""The registry of imputation methods, by which ``impute`` and ``compare`` complete.

A new method is one module with a function ``impute(dataset, how) -> Imputed`` and one entry here.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

from exactlearn._runtime.arguments import checked_arguments
from exactlearn.data.dataset import Dataset, DatasetLike
from exactlearn.errors import OptionError, did_you_mean
from exactlearn.imputation import scikit_learn
from exactlearn.imputation.imputed import Imputed
from exactlearn.imputation.imputer import AVERAGING, Imputer, Mode
from exactlearn.imputation.learning import (
    Learner,
    Learning,
    augmented,
    averaged_posterior,
    independent,
)


@dataclass(frozen=True)
class Method:
    """A method of imputation, called with a table and with how networks are learned.

    Parameters
    ----------
    impute
        Completes a table. Of the second argument every method takes the seed and the time limit,
        and methods that learn a network take all of it.
    learns_network
        Whether the values depend on how a network is learned.
    needs_scikit_learn
        Whether it is a method of scikit-learn.
    """

    impute: Callable[[Dataset, Learning], Imputed]
    learns_network: bool = False
    needs_scikit_learn: bool = False

    def __call__(self, dataset: Dataset, how: Learning) -> Imputed:
        """Return the values of a table's missing cells."""
        return self.impute(dataset, how)


def _by_augmentation(learner: str, dataset: Dataset, how: Learning) -> Imputed:
    return augmented(dataset, how.learned_by(cast(Learner, learner)))


def _most_frequent(dataset: Dataset, how: Learning) -> Imputed:
    found = _by_augmentation("mode", dataset, how)
    return replace(found, probabilities=averaged_posterior([independent(dataset)], dataset))


def _by_network(mode: Mode, dataset: Dataset, how: Learning) -> Imputed:
    imputer = Imputer(mode, replace(how, learner=None) if mode in AVERAGING else how)
    found = imputer.learn(dataset)
    return found if found.network is None else imputer.imputed(dataset)


def _by_structural_em(dataset: Dataset, how: Learning) -> Imputed:
    return _by_network("mpe", dataset, how.learned_by("structural-em"))


_network = partial(Method, learns_network=True)
_imputer = partial(Method, needs_scikit_learn=True)

METHODS: dict[str, Method] = {
    "branching": _network(partial(_by_augmentation, "branching")),
    "exact": _network(partial(_by_augmentation, "exact")),
    "gadget": _network(partial(_by_augmentation, "gadget")),
    "t-local": _network(partial(_by_augmentation, "t-local")),
    "mode": _network(_most_frequent),
    "structural-em": _network(_by_structural_em),
    "stacked": _network(partial(_by_network, "stacked")),
    "posterior": _network(partial(_by_network, "posterior")),
    "mpe": _network(partial(_by_network, "mpe")),
    "averaged": _network(partial(_by_network, "averaged")),
    "knn": _imputer(scikit_learn.impute_knn),
    "iterative": _imputer(scikit_learn.impute_iterative),
    "logistic": _imputer(scikit_learn.impute_logistic),
    "mice": _imputer(scikit_learn.impute_mice),
    "forest": _imputer(scikit_learn.impute_forest),
    "boosted": _imputer(scikit_learn.impute_boosted),
}
"""Every method of completing a table, by its name."""


@checked_arguments()
def impute(
    dataset: DatasetLike, method: str = "stacked", learning: Learning | None = None
) -> Imputed:
    """Complete a table: each missing cell gets a state, by one of the methods of `METHODS`.

    Parameters
    ----------
    dataset
        Table with missing cells.
    method
        ``stacked`` (the pool that is the default of ``exactlearn impute``), another method by
        networks, or a baseline, such as ``mode``, ``knn`` or ``logistic``.
    learning
        How networks are learned, with the seed and the time limit of any method.

    Returns
    -------
    Imputed
        The values of the missing cells, with their distributions where the method has them.

    Raises
    ------
    OptionError
        When the method is unknown.
    MissingExtraError
        When the method needs scikit-learn, and it is not installed.

    Examples
    --------
    >>> import exactlearn as el
    >>> table = el.read_dataset("asia-mnar")
    >>> el.impute(table, "mode").to_frame(table).iloc[:2, :3]
       row variable value
    0    2     dysp    no
    1   12     dysp    no
    """
    if method not in METHODS:
        raise OptionError(f"there is no method {method!r}{did_you_mean(method, METHODS)}")
    return METHODS[method](dataset, Learning() if learning is None else learning)
