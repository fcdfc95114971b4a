"""Parent-set selection: one candidate parent set per variable, acyclic, of maximal total score.

:func:`solve` takes a :class:`Problem` apart into :mod:`.components`, finds a first selection of
each (:mod:`.ordering`), and lets the component solvers prove it (:mod:`.strategy`).
Constraints on the whole network are inequalities of branch and cut (:mod:`.constrained`). Theorems,
with their proofs and tests: docs/theory/solvers.md.

========================  =====================================================  ==================
symbol                    meaning                                                shape
========================  =====================================================  ==================
``n``, ``m``              number of variables; number of candidates
``first``                 where each variable's candidates begin                 (n + 1,)
``scores``                local score of each candidate, maximised               (m,)
``child``                 the variable of each candidate                         (m,)
``member_first``          where each candidate's parents begin in ``members``    (m + 1,)
``members``               parents of all candidates, one after the other         (total,)
``chosen``                a selection: the candidate of each variable            (n,)
``order``, ``position``   an order of the variables, and its inverse             (n,)
``k``                     number of a component in the progress
========================  =====================================================  ==================
"""

if __name__ != "exactlearn.solvers":
    raise ImportError("this folder is exactlearn.solvers: import it by that name")

from .problem import Problem
from .result import Result
from .select import solve

__all__ = ["Problem", "Result", "solve"]
