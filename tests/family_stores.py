"""The families of a table, tabulated for tests."""

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn.augmentation import FamilyRules
from exactlearn.augmentation.families import Families
from exactlearn.augmentation.family_store import FamilyStore
from exactlearn.augmentation.task import Task
from exactlearn.data.dataset import Dataset
from exactlearn.scoring.scores import Score


def store_of(
    data: Dataset,
    values: NDArray[np.int64],
    score: Score,
    rules: FamilyRules,
    control: SearchControl = UNLIMITED,
) -> FamilyStore:
    """Return the store of all families that the rules allow."""
    families = Families.allowed(data.names, rules)
    return FamilyStore.of(
        data, values, Task(data, score, rules).tables, families, control
    )
