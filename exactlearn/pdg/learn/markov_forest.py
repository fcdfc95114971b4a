"""The decision graph that structural EM begins with: a node for each state of the parent.

PDG-SEM, section 4. Its parameters are the conditional distributions of the pairs of variables,
estimated by EM on each pair (Algorithm 2).
"""

import numpy as np
from numpy.typing import NDArray

from exactlearn.pdg.learn.chow_liu import ITERATIONS, TOLERANCE, pair_joint
from exactlearn.pdg.model.decision_graph import DecisionGraph, assemble
from exactlearn.pdg.model.forest import forest_children

SHARE = 0.01
"""Weight of the uniform distribution in the first parameters: EM never leaves a zero."""


def markov_forest(
    names: tuple[str, ...],
    states: tuple[tuple[str, ...], ...],
    forest: NDArray[np.int32],
    codes: NDArray[np.int16],
    weights: NDArray[np.float64],
) -> DecisionGraph:
    """Return the graph in which each variable depends on its forest parent alone.

    Parameters
    ----------
    forest
        Parent of each variable, -1 for a root.
    codes, weights
        Rows, shape (rows, variables), -1 for a missing cell; and the weight of each.
    """
    children = forest_children(forest)
    parameters, successors = {}, {}
    for v, parent in enumerate(forest.tolist()):
        r, k = len(states[v]), len(children[v])
        table = _pair_table(codes, weights, states, max(parent, -1), v)
        joint = pair_joint(table, ITERATIONS, TOLERANCE)
        mass = joint.sum(axis=1, keepdims=True)
        parameters[v] = np.where(mass > 0, joint / np.where(mass > 0, mass, 1), 1 / r)
        parameters[v] = (1 - SHARE) * parameters[v] + SHARE / r
        nodes = len(joint)
        heads = np.repeat(np.arange(r)[:, None], k, axis=1)
        successors[v] = np.repeat(heads[None], nodes, axis=0).astype(np.int32)
    return assemble(names, states, forest, parameters, successors)


def _pair_table(
    codes: NDArray[np.int16],
    weights: NDArray[np.float64],
    states: tuple[tuple[str, ...], ...],
    parent: int,
    child: int,
) -> NDArray[np.float64]:
    """Return the counts of two variables, a missing cell as a last state; a root has one row."""
    above = len(states[parent]) if parent >= 0 else 1
    table = np.zeros((above + 1, len(states[child]) + 1))
    first = codes[:, parent] if parent >= 0 else np.zeros(len(codes), np.int16)
    np.add.at(table, (first, codes[:, child]), weights)
    return table
