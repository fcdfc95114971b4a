"""Values for missing cells: by networks, and by the methods they are compared with."""

from exactlearn.imputation.imputed import Imputed
from exactlearn.imputation.imputer import MODES, Imputer, Mode
from exactlearn.imputation.learning import Learner, Learning, Missingness

__all__ = ["MODES", "Imputed", "Imputer", "Learner", "Learning", "Missingness", "Mode"]
