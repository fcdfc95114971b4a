"""Bayesian networks: a DAG with one conditional probability table per variable."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class BayesianNetwork:
    """A discrete Bayesian network.

    Parameters
    ----------
    names
        Variable names, all different.
    states
        State names of each variable.
    parents
        Parents of each variable, in the order of its table's axes.
    tables
        Conditional probabilities of each variable: one axis per parent in that order, then the
        variable's own axis last; rows sum to one.
    """

    names: tuple[str, ...]
    states: tuple[tuple[str, ...], ...]
    parents: tuple[tuple[int, ...], ...]
    tables: tuple[NDArray[np.float64], ...]
