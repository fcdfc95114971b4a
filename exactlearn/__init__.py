"""Exact and hybrid learning of Bayesian networks and probabilistic decision graphs.

The public names are loaded on first use, so that ``import exactlearn`` and
``exactlearn --help`` cost nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from exactlearn.data import Dataset
    from exactlearn.errors import ExactlearnError
    from exactlearn.network import BayesianNetwork
    from exactlearn.solvers import Problem, Result, solve

__version__ = "0.1.0"

_HOME = {
    "BayesianNetwork": "exactlearn.network",
    "Dataset": "exactlearn.data",
    "ExactlearnError": "exactlearn.errors",
    "Problem": "exactlearn.solvers",
    "Result": "exactlearn.solvers",
    "solve": "exactlearn.solvers",
}

__all__ = [
    "BayesianNetwork",
    "Dataset",
    "ExactlearnError",
    "Problem",
    "Result",
    "solve",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
