"""Decision graphs and naive Bayes models as JSON: ``*.pdg.json`` and ``*.nb.json``.

Each is one JSON object in UTF-8, perhaps compressed by gzip; other keys are passed over. Floats are
written with the digits that give the same float again. A decision graph has the keys:

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

A fair coin ``a`` that a second one ``b`` copies:

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

A naive Bayes model has the keys:

``format``, ``version``
    ``"exactlearn naive Bayes"`` and 1.
``variables``
    An object for each variable: ``name``, and ``states``, a list of texts.
``prior``
    The probability of each component.
``parameters``
    A list for each component: variable after variable, a probability for each state.

The prior, and the probabilities of a variable in a component, sum to one within 1e-9. A coin ``a``
that a second one ``b`` copies:

>>> import json, os, tempfile
>>> coins = {
...     "format": "exactlearn naive Bayes",
...     "version": 1,
...     "variables": [
...         {"name": "a", "states": ["head", "tail"]},
...         {"name": "b", "states": ["head", "tail"]},
...     ],
...     "prior": [0.5, 0.5],
...     "parameters": [[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]],
... }
>>> with tempfile.TemporaryDirectory() as folder:
...     path = os.path.join(folder, "coins.nb.json")
...     with open(path, "w", encoding="utf-8") as file:
...         json.dump(coins, file)
...     read_naive_bayes(path).effective_size
4
"""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.files import atomic_write, read_json
from exactlearn.bayesnet.naive_bayes import NaiveBayes, as_naive_bayes
from exactlearn.data.codes import repeated, states_by_name
from exactlearn.errors import CheckError, FormatError
from exactlearn.formats import are_texts
from exactlearn.pdg.model.decision_graph import DecisionGraph

M = TypeVar("M", DecisionGraph, NaiveBayes)

GRAPH = "exactlearn decision graph"
NAIVE_BAYES = "exactlearn naive Bayes"
"""Names of the formats."""

VERSION = 1


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
    # The forest stands with the variables, a null for the parent of a root.
    variables = _variables(pdg)
    for entry, parent in zip(variables, pdg.forest.tolist(), strict=True):
        entry["parent"] = None if parent < 0 else parent
    content = {
        "variables": variables,
        "nodes": [[v, int(pdg.node_counts[v])] for v in pdg.order.tolist()],
        "parameters": pdg.parameters.tolist(),
        "successors": pdg.successors.tolist(),
    }
    _write(path, GRAPH, content)


@checked_arguments(model=as_naive_bayes)
def write_naive_bayes(model: NaiveBayes, path: str | os.PathLike[str]) -> None:
    """Write a naive Bayes model, in one step.

    Parameters
    ----------
    model
        Model to write.
    path
        File to write or replace; compressed when its name ends in ``.gz``.

    Raises
    ------
    OptionError
        If the file cannot be written.

    Examples
    --------
    >>> import exactlearn as el
    >>> model = el.learn_naive_bayes(el.read_dataset("cancer-mcar-complete")).model
    >>> el.write_model(model, "cancer.nb.json")
    """
    content = {
        "variables": _variables(model),
        "prior": model.prior.tolist(),
        "parameters": model.parameters.T.tolist(),
    }
    _write(path, NAIVE_BAYES, content)


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
    return _read(path, GRAPH, _graph)


@checked_arguments()
def read_naive_bayes(path: str | os.PathLike[str]) -> NaiveBayes:
    """Read a naive Bayes model and check it.

    Parameters
    ----------
    path
        File to read, compressed by gzip or not.

    Raises
    ------
    FormatError
        If the file is not JSON, of another format or version, lacks a key or has a wrong value;
        names the place.
    OptionError
        If the file cannot be read.

    Examples
    --------
    >>> import exactlearn as el
    >>> model = el.learn_naive_bayes(el.read_dataset("cancer-mcar-complete")).model
    >>> el.write_model(model, "cancer.nb.json")
    >>> el.read_model("cancer.nb.json") == model
    True
    """
    return _read(path, NAIVE_BAYES, _naive_bayes)


def _variables(model: DecisionGraph | NaiveBayes) -> list[dict[str, Any]]:
    """Return an object for each variable."""
    return [
        {"name": name, "states": [*states]}
        for name, states in states_by_name(model).items()
    ]


def _write(path: str | os.PathLike[str], kind: str, content: Mapping[str, Any]) -> None:
    """Write a model in one step, the name of its format first."""
    record = {"format": kind, "version": VERSION, **content}
    text = json.dumps(record, separators=(",", ":"), ensure_ascii=False)
    atomic_write(path, text + "\n")


def _read(
    path: str | os.PathLike[str], kind: str, build: Callable[[dict[str, Any]], M]
) -> M:
    """Return the model of a file, checked."""
    content = read_json(Path(path))
    if not isinstance(content, dict) or content.get("format") != kind:
        raise FormatError(f'{path}: expected a JSON object with "format": "{kind}"')
    if content.get("version") != VERSION:
        raise FormatError(
            f"{path}: version {content.get('version')!r} was written by another release of"
            f" exactlearn; this one reads version {VERSION}"
        )
    try:
        model = build(content)
        model.check()
    except (CheckError, FormatError) as error:
        raise FormatError(f"{path}: {error}; write the file anew") from None
    return model


def _graph(content: dict[str, Any]) -> DecisionGraph:
    """Return the decision graph of a file, whose arrays are not yet checked."""
    names, states, entries = _read_variables(content, "parent")
    n = len(names)
    forest = np.full(n, -1, np.int32)
    for variable, entry in enumerate(entries):
        parent = entry["parent"]
        if parent is None:
            continue
        if type(parent) is not int or not 0 <= parent < n:
            raise FormatError(
                f"key 'variables' ({names[variable]}): the parent must be null or a number below "
                f"{n}"
            )
        forest[variable] = parent
    # Nodes are numbered in the order of their variables.
    parameters = _numbers(content, "parameters", np.float64).ravel()
    nodes = _numbers(content, "nodes", np.int64)
    if nodes.shape != (n, 2) or sorted(nodes[:, 0].tolist()) != [*range(n)]:
        raise FormatError(
            f"key 'nodes': expected pairs of variable, each 0..{n - 1} once, nodes"
        )
    variables, counts = nodes.T
    if counts.min() < 1 or counts.max() > len(parameters):
        raise FormatError(
            "key 'nodes': a variable has fewer than one node, or more than parameters"
        )
    successors = _numbers(content, "successors", np.int64).ravel()
    if ((successors < 0) | (successors >= counts.sum())).any():
        raise FormatError("key 'successors': a number is not that of a node")
    variable_of_node = np.repeat(variables, counts)
    return DecisionGraph(
        names, states, forest, variable_of_node, parameters, successors
    )


def _naive_bayes(content: dict[str, Any]) -> NaiveBayes:
    """Return the naive Bayes model of a file, whose arrays are not yet checked."""
    names, states, _ = _read_variables(content)
    prior = _numbers(content, "prior", np.float64)
    parameters = _numbers(content, "parameters", np.float64)
    return NaiveBayes(names, states, prior, np.ascontiguousarray(parameters.T))


def _read_variables(
    content: dict[str, Any], *further: str
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...], list[dict[str, Any]]]:
    """Return the names and states of the variables, and their objects, which have further keys."""
    entries = _list(content, "variables")
    keys = ("name", "states", *further)
    for place, entry in enumerate(entries):
        where = f"key 'variables', entry {place}"
        if not isinstance(entry, dict) or entry.keys() != {*keys}:
            raise FormatError(
                f"{where}: expected an object with the keys {', '.join(keys)}"
            )
        name = entry["name"]
        states = entry["states"]
        if not isinstance(name, str):
            raise FormatError(f"{where}: the name {name!r} is not text")
        if not are_texts(states) or not states:
            raise FormatError(
                f"{where} ({name}): the states must be a list of texts, at least one"
            )
        if repeated(states):
            raise FormatError(f"{where} ({name}): two states have the same name")
    names = tuple(entry["name"] for entry in entries)
    if not names:
        raise FormatError("key 'variables': expected at least one variable")
    if repeated(names):
        raise FormatError("key 'variables': two variables have the same name")
    return names, tuple(tuple(entry["states"]) for entry in entries), entries


def _list(content: dict[str, Any], key: str) -> list[Any]:
    """Return the list under a key."""
    entries = content.get(key)
    if not isinstance(entries, list):
        raise FormatError(f"key {key!r} is missing or not a list")
    return entries


def _numbers(content: dict[str, Any], key: str, dtype: type[np.number]) -> Any:
    """Return a list of numbers as an array; integers must be written as such."""
    entries = _list(content, key)
    try:
        array = np.array(entries)
        if array.size == 0:
            return np.empty(0, dtype)
        if array.dtype.kind not in ("if" if dtype is np.float64 else "i"):
            raise TypeError
        return array.astype(dtype)
    except (ValueError, TypeError, OverflowError):
        raise FormatError(
            f"key {key!r}: expected a list of {dtype.__name__} numbers"
        ) from None
