"""Imputation of missing cells: by networks, and by the methods they are compared with.

=================  ========================================================  ==================
symbol             meaning                                                   shape
=================  ========================================================  ==================
``values``         state of each missing cell, by row, then by variable      (cells,)
``probabilities``  distribution of each missing cell                         (cells, states)
``indicators``     1 where a row has a state, NaN where its cell is missing  (rows, all states)
``proportions``         indicators with estimates in place of NaN                 (rows, all states)
``R_v``            missingness indicator of the variable v                   (rows,)
``beta``           distribution of a variable among its missing cells        (states,)
=================  ========================================================  ==================

The registry of methods is :data:`exactlearn.imputation.methods.METHODS`.
"""

from exactlearn.imputation.learning import Imputed, Learner, Learning, Missingness
from exactlearn.imputation.methods import MODES, Imputer, Mode

__all__ = ["MODES", "Imputed", "Imputer", "Learner", "Learning", "Missingness", "Mode"]
