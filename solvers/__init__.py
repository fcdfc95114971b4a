"""Parent-set selection: one candidate parent set per variable, acyclic, of maximal total score."""

if __name__ != "exactlearn.solvers":
    raise ImportError("this folder is exactlearn.solvers: import it by that name")

from exactlearn.solvers.problem import Problem
from exactlearn.solvers.result import Result
from exactlearn.solvers.select import solve

__all__ = ["Problem", "Result", "solve"]
