"""Naive Bayes models with a latent component as JSON: ``*.nb.json``.

One JSON object in UTF-8, perhaps compressed by gzip; keys besides these are passed over:

``format``, ``version``
    ``"exactlearn naive Bayes"`` and 1.
``variables``
    An object for each variable: ``name``, and ``states``, a list of texts.
``prior``
    The probability of each component.
``parameters``
    A list for each component: variable after variable, a probability for each state.

The prior, and the probabilities of a variable in a component, sum to one within 1e-9. Floats are
written with the digits that give the same float again. A coin ``a`` that a second one ``b`` copies:

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

import os
from typing import Any

import numpy as np

from exactlearn._runtime.arguments import checked_arguments
from exactlearn.bayesnet.naive_bayes import NaiveBayes, as_naive_bayes
from exactlearn.formats.model_json import (
    Head,
    check_variables,
    numbers,
    read_object,
    variable_states,
    write_object,
)

HEAD = Head("exactlearn naive Bayes", 1)

_KEYS = ("variables", "prior", "parameters")


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
        "variables": [
            {"name": name, "states": list(states)}
            for name, states in zip(model.names, model.states, strict=True)
        ],
        "prior": model.prior.tolist(),
        "parameters": model.parameters.T.tolist(),
    }
    write_object(path, HEAD, content)


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
    return read_object(path, HEAD, _KEYS, _from_json)


def _from_json(content: dict[str, Any]) -> NaiveBayes:
    keys = ("name", "states")
    variables = [variable_states(i, own, keys) for i, own in enumerate(content["variables"])]
    names = tuple(name for name, _ in variables)
    check_variables(names)
    prior, parameters = (numbers(content, key, np.float64) for key in ("prior", "parameters"))
    states = tuple(own for _, own in variables)
    return NaiveBayes(names, states, prior, np.ascontiguousarray(parameters.T))
