"""Optimistic augmentation: the DAG and the completion of all missing cells that score best.

Adel and de Campos, "Learning Bayesian networks with incomplete data by augmentation", Eq. (1). The
score is decomposable: ``sum_i s_i(PA_i, Z)``, where each term depends on the completion ``Z`` only
through the contingency table of the family's columns. Theorems, proofs and the tests that check
them: ``docs/theory/augmentation.md``.

=============  =======================================================  =====================  =====
symbol         meaning                                                  shape                  paper
=============  =======================================================  =====================  =====
``i``, ``PA``  child and parent set; both together are a *family*       members: (m, k)        X_i
``c``, ``v``   missing cell (row, variable) and one of its states       cells: (cells, 2)
``Z``          completion: a state for every missing cell (``values``)  (cells,)               Z
solution       a DAG with a completion and their score
``s``          local score of a family under a completion               (m,)                   s_i
``j``, ``k``   parent configuration and state of the child              q and r of them
``n``, ``m``   weight in a cell of a table, and in its configuration    (q r,), (q,)           N_ijk
``f``, ``g``   score terms of ``n`` and ``m``; their differences are    (total weight + 1,)
               the score increments
local          states of the missing cells in a family's columns; a     (k,)
completion     column of the restricted master problem
``lambda``     Lagrange multiplier of a child's families for a state    (payers, cells, states);
``sigma``      Lagrange multiplier of the sink of a set for a state     first the children
constant       Lagrangian constant: sum over the cells of the largest
               total of a state's multipliers
``z``          share of a state in the restricted master problem        (cells, states)
``mu``         multipliers of cluster inequalities                      (clusters,)
``t``          radius of the neighbourhood in Hamming distance                                 t
move           a cell with a new state: row, variable, state            (moves, 3)
=============  =======================================================  =====================  =====

The methods: :mod:`.exact` runs the exact ones (:mod:`.branching` bounds families over all
completions, :mod:`.gadget` lists these) and lists the k best solutions, and :mod:`.hill_climber`
climbs over completions.
"""

from exactlearn.augmentation.augment import METHODS, augment, gadget_problem
from exactlearn.augmentation.families import FamilyRules
from exactlearn.augmentation.solutions import Augmentation

__all__ = ["METHODS", "Augmentation", "FamilyRules", "augment", "gadget_problem"]
