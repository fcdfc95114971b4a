"""Optimistic augmentation: the DAG and the completion of all missing cells that score best."""

from exactlearn.augmentation.augment import METHODS, augment, gadget_problem
from exactlearn.augmentation.check import check
from exactlearn.augmentation.completions import FamilyRules
from exactlearn.augmentation.result import Augmentation

__all__ = ["METHODS", "Augmentation", "FamilyRules", "augment", "check", "gadget_problem"]
