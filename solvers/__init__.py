"""Parent-set selection: one candidate parent set per variable, acyclic, of maximal total score."""

if __name__ != "exactlearn.solvers":
    raise ImportError("this folder is exactlearn.solvers: import it by that name")

from .problem import Problem
from .result import Result
from .select import solve

__all__ = ["Problem", "Result", "solve"]
