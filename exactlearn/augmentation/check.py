"""The proof, found anew, of what an augmentation claims."""

from exactlearn.augmentation.completions import FamilyRules
from exactlearn.augmentation.local_search.neighbourhood import better_pair
from exactlearn.augmentation.progress import Incumbent
from exactlearn.augmentation.result import Augmentation
from exactlearn.augmentation.solution import Pair
from exactlearn.augmentation.task import Task
from exactlearn.data.dataset import Dataset
from exactlearn.errors import CheckError
from exactlearn.scoring.scores import Score


def check(augmentation: Augmentation, dataset: Dataset, score: Score, rules: FamilyRules) -> None:
    """Recompute the score from the incomplete table, and search the neighbourhood once more.

    Parameters
    ----------
    augmentation
        The answer.
    dataset, score, rules
        What was asked.

    Raises
    ------
    CheckError
        When :meth:`Augmentation.check_score` does, or when ``t-local`` is claimed and a better pair
        lies within distance ``t``.
    """
    augmentation.check_score(dataset, score, rules)
    if augmentation.status != "t-local" or augmentation.parents is None:
        return
    assert augmentation.t is not None
    pair = Pair(augmentation.parents, augmentation.values, augmentation.score)
    better = better_pair(Task(dataset, score, rules), Incumbent(), pair, augmentation.t)
    if better is not None:
        raise CheckError(
            f"a pair within distance {augmentation.t} scores {better.score!r}, more than "
            f"{augmentation.score!r}"
        )
