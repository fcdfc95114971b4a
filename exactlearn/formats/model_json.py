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
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.files import atomic_write, read_json
from exactlearn.bayesnet.naive_bayes import NaiveBayes, as_naive_bayes
from exactlearn.errors import CheckError, FormatError
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
    forest = [None if parent < 0 else parent for parent in pdg.forest.tolist()]
    content = {
        "variables": _variables(pdg.names, pdg.states, parent=forest),
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
        "variables": _variables(model.names, model.states),
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


def _variables(
    names: Sequence[str], states: Sequence[Sequence[str]], **more: Sequence[Any]
) -> list[dict[str, Any]]:
    """Return an object for each variable."""
    rows = zip(names, map(list, states), *more.values(), strict=True)
    return [dict(zip(("name", "states", *more), row, strict=True)) for row in rows]


def _write(path: str | os.PathLike[str], kind: str, content: Mapping[str, Any]) -> None:
    whole = {"format": kind, "version": VERSION, **content}
    atomic_write(
        path, json.dumps(whole, separators=(",", ":"), ensure_ascii=False) + "\n"
    )


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
    names, states, entries = _read_variables(content, "parent")
    n = len(names)
    parents = [own["parent"] for own in entries]
    for name, parent in zip(names, parents, strict=True):
        if parent is not None and (type(parent) is not int or not 0 <= parent < n):
            raise FormatError(
                f"key 'variables' ({name}): the parent must be null or a number below {n}"
            )
    parameters = _numbers(content, "parameters", np.float64).ravel()
    counts = _numbers(content, "nodes", np.int64)
    if counts.shape != (n, 2) or sorted(counts[:, 0].tolist()) != list(range(n)):
        raise FormatError(
            f"key 'nodes': expected pairs of variable, each 0..{n - 1} once, nodes"
        )
    if (counts[:, 1] < 1).any() or counts[:, 1].max() > len(parameters):
        raise FormatError(
            "key 'nodes': a variable has fewer than one node, or more than parameters"
        )
    successors = _numbers(content, "successors", np.int64).ravel()
    if (
        successors.size
        and not 0 <= successors.min() <= successors.max() < counts[:, 1].sum()
    ):
        raise FormatError("key 'successors': a number is not that of a node")
    return DecisionGraph(
        names,
        states,
        np.array([-1 if parent is None else parent for parent in parents], np.int32),
        np.repeat(counts[:, 0], counts[:, 1]).astype(np.int32),
        parameters,
        successors.astype(np.int32),
    )


def _naive_bayes(content: dict[str, Any]) -> NaiveBayes:
    names, states, _ = _read_variables(content)
    prior, parameters = (
        _numbers(content, key, np.float64) for key in ("prior", "parameters")
    )
    return NaiveBayes(names, states, prior, np.ascontiguousarray(parameters.T))


def _read_variables(
    content: dict[str, Any], *more: str
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...], list[dict[str, Any]]]:
    """Return names and states of the variables, and the whole objects, with more keys."""
    entries = _list(content, "variables")
    keys = ("name", "states", *more)
    for place, entry in enumerate(entries):
        where = f"key 'variables', entry {place}"
        if not isinstance(entry, dict) or set(entry) != {*keys}:
            raise FormatError(
                f"{where}: expected an object with the keys {', '.join(keys)}"
            )
        name = entry["name"]
        states = entry["states"]
        if not isinstance(name, str):
            raise FormatError(f"{where}: the name {name!r} is not text")
        if not (
            isinstance(states, list)
            and states
            and all(isinstance(s, str) for s in states)
        ):
            raise FormatError(
                f"{where} ({name}): the states must be a list of texts, at least one"
            )
        if len(set(states)) < len(states):
            raise FormatError(f"{where} ({name}): two states have the same name")
    names = tuple(entry["name"] for entry in entries)
    if not names:
        raise FormatError("key 'variables': expected at least one variable")
    if len(set(names)) < len(names):
        raise FormatError("key 'variables': two variables have the same name")
    return names, tuple(tuple(entry["states"]) for entry in entries), entries


def _list(content: dict[str, Any], key: str) -> list[Any]:
    found = content.get(key)
    if not isinstance(found, list):
        raise FormatError(f"key {key!r} is missing or not a list")
    return found


def _numbers(content: dict[str, Any], key: str, dtype: type[np.number]) -> Any:
    """Return a list of numbers as an array; integers must be written as such."""
    found = _list(content, key)
    try:
        array = np.array(found)
        if array.size == 0:
            return np.empty(0, dtype)
        if array.dtype.kind not in ("if" if dtype is np.float64 else "i"):
            raise TypeError
        return array.astype(dtype)
    except (ValueError, TypeError, OverflowError):
        raise FormatError(
            f"key {key!r}: expected a list of {dtype.__name__} numbers"
        ) from None
