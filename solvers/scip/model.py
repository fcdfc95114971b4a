"""The integer program of a component as a SCIP model: settings, variables, rows.

Every row here is valid for all acyclic selections; acyclicity itself is left to the constraint
handler (:mod:`exactlearn.solvers.scip.separation`).
"""

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyscipopt import Model, Variable, quicksum
from pyscipopt.scip import PY_SCIP_PARAMSETTING

from ..components import Component
from ..parameters import BranchAndCutParameters

SETTINGS: dict[str, Any] = {
    "misc/catchctrlc": False,  # SCIP's own handler prints on standard output
    "misc/usesymmetry": 0,
    "presolving/maxrestarts": 0,
    "estimation/restarts/restartpolicy": "n",
    "timing/clocktype": 2,
    "separating/maxstallroundsroot": -1,
    "separating/maxroundsroot": -1,
    "separating/gomory/freq": -1,
    "separating/aggregation/freq": -1,
    "constraints/knapsack/sepafreq": -1,
    "branching/relpscost/initcand": 15,  # strong branching took most of the time by default
    "branching/relpscost/inititer": 20,
    "branching/relpscost/maxlookahead": 4,
    "branching/relpscost/sbiterofs": 5000,
    "branching/relpscost/sbiterquot": 0.3,
    "limits/gap": 0.0,
    "limits/absgap": 0.0,
}

WITHOUT_CHOICES: dict[str, Any] = {
    "separating/zerohalf/maxroundsroot": -1,
    "separating/zerohalf/maxsepacutsroot": 500,
    "separating/zerohalf/densityoffset": 10**6,  # cluster inequalities are long
    "separating/zerohalf/badscore": 0.0,
    "separating/zerohalf/goodscore": 0.5,
    "conflict/enable": False,
    "presolving/donotaggr": True,  # each candidate keeps a variable of its own, to branch on
    "presolving/donotmultaggr": True,
}
"""More settings for components without choices.

Zero-half cuts from cluster inequalities close much of the gap at the root, but SCIP leaves rows out
that are as long as theirs.
"""


def new_model(
    component: Component,
    losses: NDArray[np.float64],
    seed: int,
    parameters: BranchAndCutParameters,
) -> Model:
    """Return a model with SCIP's settings, still without variables."""
    model = Model("parent sets")
    model.hideOutput()
    model.setHeuristics(PY_SCIP_PARAMSETTING.OFF)
    model.setParams(SETTINGS | {"randomization/randomseedshift": seed % 2**31})
    if not len(component.choices):
        model.setParams(WITHOUT_CHOICES)
        if component.n_candidates > parameters.many_candidates:
            model.setParam("lp/pricing", "s")
    if losses.max(initial=0.0) > parameters.large_loss:
        model.setParam("numerics/feastol", 1e-9)
    return model


def add_variables(
    model: Model, component: Component, losses: NDArray[np.float64]
) -> tuple[list[Variable], list[Variable]]:
    """Add a variable for each candidate and each literal, of which one is 1 in each group."""
    x = [model.addVar(vtype="B", obj=float(loss)) for loss in losses]
    z = [model.addVar(vtype="B") for _ in range(int(component.options.sum()))]
    for variables, first in ((x, component.first), (z, component.option_first)):
        for start, stop in pairwise(first.tolist()):
            model.addCons(quicksum(variables[start:stop]) == 1)
    return x, z


def add_literal_rows(
    model: Model, component: Component, x: list[Variable], z: list[Variable]
) -> None:
    """Only candidates whose literals hold are chosen."""
    owner = np.repeat(np.arange(component.n_candidates), np.diff(component.literal_first))
    for _, rows in _groups(component.child[owner] * len(z) + component.literals):
        literal = component.literals[rows[0]]
        model.addCons(quicksum(x[c] for c in owner[rows]) <= z[literal])


def add_pair_rows(model: Model, component: Component, x: list[Variable]) -> None:
    """At most one of two variables is a parent of the other."""
    owner = np.repeat(np.arange(component.n_candidates), np.diff(component.member_first))
    child, parent = component.child[owner], component.members
    low, high = np.minimum(child, parent), np.maximum(child, parent)
    for _, rows in _groups(low * component.n_variables + high):
        if len(np.unique(child[rows])) == 2:
            model.addCons(quicksum(x[c] for c in owner[rows]) <= 1)


def _groups(keys: NDArray[np.int64]) -> list[tuple[int, NDArray[np.int64]]]:
    """Return the positions of each key, keys in increasing order."""
    order = np.argsort(keys, kind="stable")
    kinds, starts = np.unique(keys[order], return_index=True)
    return list(zip(kinds.tolist(), np.split(order, starts[1:]), strict=True)) if len(keys) else []
