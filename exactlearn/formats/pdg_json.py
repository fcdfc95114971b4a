"""Decision graphs as JSON: ``*.pdg.json``.

One JSON object in UTF-8, perhaps compressed by gzip; keys besides these are passed over:

``format``, ``version``
    ``"exactlearn decision graph"`` and 1.
``variables``
    An object for each variable: ``name``; ``states``, a list of texts; and ``parent``, the place
    in this list, from 0, of its parent in the forest, null for a root.
``nodes``
    A pair for each variable: its place in ``variables``, and how many nodes it has, 1 for a root.
    A parent stands before its children. Nodes are numbered from 0 on in the order of these pairs,
    all nodes of the first pair's variable before those of the second.
``parameters``
    Node after node, a probability for each state; those of a node sum to one within 1e-9.
``successors``
    Node after node, state after state, for each child of the variable in the order of
    ``variables`` the number of a node of that child: where a row with this state goes on. Any node
    of the child will do where the state has probability zero. Each node but the roots is the
    successor of some node.

Floats are written with the digits that give the same float again. A fair coin ``a`` that a second
one ``b`` copies:

>>> import json, os, tempfile
>>> coins = {
...     "format": "exactlearn decision graph",
...     "version": 1,
...     "variables": [
...         {"name": "a", "states": ["head", "tail"], "parent": None},
...         {"name": "b", "states": ["head", "tail"], "parent": 0},
...     ],
...     "nodes": [[0, 1], [1, 2]],
...     "parameters": [0.5, 0.5, 1.0, 0.0, 0.0, 1.0],
...     "successors": [1, 2],
... }
>>> with tempfile.TemporaryDirectory() as folder:
...     path = os.path.join(folder, "coins.pdg.json")
...     with open(path, "w", encoding="utf-8") as file:
...         json.dump(coins, file)
...     read_pdg(path).effective_size
6
"""

import os
from typing import Any

import numpy as np

from exactlearn._runtime.arguments import checked_arguments
from exactlearn.errors import FormatError
from exactlearn.formats.model_json import (
    Head,
    check_variables,
    numbers,
    read_object,
    variable_states,
    write_object,
)
from exactlearn.pdg.model.decision_graph import DecisionGraph

HEAD = Head("exactlearn decision graph", 1)

_KEYS = ("variables", "nodes", "parameters", "successors")


@checked_arguments()
def write_pdg(pdg: DecisionGraph, path: str | os.PathLike[str]) -> None:
    """Write a decision graph, in one step.

    Parameters
    ----------
    pdg
        Graph to write.
    path
        File to write or replace; compressed when its name ends in ``.gz``.

    Raises
    ------
    OptionError
        If the file cannot be written.

    Examples
    --------
    >>> import exactlearn as el
    >>> el.write_model(el.compile_network(el.read_network("asia")), "asia.pdg.json")
    """
    write_object(path, HEAD, _to_json(pdg))


@checked_arguments()
def read_pdg(path: str | os.PathLike[str]) -> DecisionGraph:
    """Read a decision graph and check it.

    Parameters
    ----------
    path
        File to read, compressed by gzip or not.

    Raises
    ------
    FormatError
        If the file is not JSON, of another format or version, lacks a key or has a wrong value,
        or if its arrays form no decision graph; names the place.
    OptionError
        If the file cannot be read.

    Examples
    --------
    >>> import exactlearn as el
    >>> graph = el.compile_network(el.read_network("asia"))
    >>> el.write_model(graph, "asia.pdg.json")
    >>> el.read_model("asia.pdg.json") == graph
    True
    """
    return read_object(path, HEAD, _KEYS, _from_json)


def _to_json(pdg: DecisionGraph) -> dict[str, Any]:
    return {
        "variables": [
            {"name": name, "states": list(states), "parent": parent if parent >= 0 else None}
            for name, states, parent in zip(pdg.names, pdg.states, pdg.forest.tolist(), strict=True)
        ],
        "nodes": [[v, int(pdg.node_counts[v])] for v in pdg.order.tolist()],
        "parameters": pdg.parameters.tolist(),
        "successors": pdg.successors.tolist(),
    }


def _from_json(content: dict[str, Any]) -> DecisionGraph:
    variables = [_variable(i, entry) for i, entry in enumerate(content["variables"])]
    n = len(variables)
    names = tuple(name for name, _, _ in variables)
    check_variables(names)
    for name, _, parent in variables:
        if parent >= n:
            raise FormatError(f"key 'variables' ({name}): the parent {parent} is not below {n}")
    parameters = numbers(content, "parameters", np.float64).ravel()
    counts = numbers(content, "nodes", np.int64)
    if counts.shape != (n, 2) or sorted(counts[:, 0].tolist()) != list(range(n)):
        raise FormatError(f"key 'nodes': expected pairs of variable, each 0..{n - 1} once, nodes")
    if (counts[:, 1] < 1).any() or counts[:, 1].max() > len(parameters):
        raise FormatError(
            "key 'nodes': a variable has fewer than one node, or more than parameters"
        )
    if None in content["successors"]:
        raise FormatError(
            f"key 'successors', entry {content['successors'].index(None)}: expected a node, found "
            "null; where a state is impossible, any node of the child will do"
        )
    successors = numbers(content, "successors", np.int64).ravel()
    if successors.size and not 0 <= successors.min() <= successors.max() < counts[:, 1].sum():
        raise FormatError("key 'successors': a number is not that of a node")
    return DecisionGraph(
        names,
        tuple(states for _, states, _ in variables),
        np.array([parent for _, _, parent in variables], np.int32),
        np.repeat(counts[:, 0], counts[:, 1]).astype(np.int32),
        parameters,
        successors.astype(np.int32),
    )


def _variable(place: int, entry: Any) -> tuple[str, tuple[str, ...], int]:
    name, states = variable_states(place, entry, ("name", "states", "parent"))
    parent = entry["parent"]
    if parent is not None and (not isinstance(parent, int) or parent < 0):
        raise FormatError(
            f"key 'variables', entry {place} ({name}): the parent must be a variable's number or"
            " null"
        )
    return name, states, -1 if parent is None else parent
