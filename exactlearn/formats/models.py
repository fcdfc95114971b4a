"""Models by the suffix of their file, and the parents of each variable from a model or a result.

A model is a Bayesian network, a probabilistic decision graph or a naive Bayes model.
"""

import os
from collections import ChainMap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from exactlearn._runtime.files import suffix_of
from exactlearn._runtime.json_file import read_json
from exactlearn.bayesnet.naive_bayes import NaiveBayes
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.errors import FormatError, OptionError, did_you_mean
from exactlearn.formats import Format, format_of, writer_of
from exactlearn.formats.bif import read_bif, write_bif
from exactlearn.formats.naive_bayes_json import read_naive_bayes, write_naive_bayes
from exactlearn.formats.pdg_json import read_pdg, write_pdg
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.queries.evidence import Model

NETWORKS: dict[str, Format[BayesianNetwork]] = {".bif": Format(read_bif, write_bif)}
"""Formats of Bayesian networks by the suffix of the file."""

GRAPHS: dict[str, Format[DecisionGraph]] = {".pdg.json": Format(read_pdg, write_pdg)}
"""Formats of decision graphs by the suffix of the file."""

NAIVE_BAYES: dict[str, Format[NaiveBayes]] = {
    ".nb.json": Format(read_naive_bayes, write_naive_bayes)
}
"""Formats of naive Bayes models by the suffix of the file."""

FORMATS: Mapping[str, Format[Any]] = ChainMap[str, Format[Any]](NETWORKS, GRAPHS, NAIVE_BAYES)
"""Formats of all models by the suffix of the file."""


def read_model(path: Path) -> Model:
    """Read a model in the format of the suffix; ``.gz`` may follow.

    Raises
    ------
    FormatError
        When the file does not follow its format.
    OptionError
        When the suffix names no model format.
    """
    expected = (
        f"a network ({_of(NETWORKS)}), a decision graph ({_of(GRAPHS)}) or a naive Bayes model"
        f" ({_of(NAIVE_BAYES)})"
    )
    known = format_of(path, FORMATS, expected)
    model: Model = known.read(path)
    return model


def read_network(path: Path) -> BayesianNetwork:
    """Read a network in the format of the suffix; ``.gz`` may follow.

    Raises
    ------
    FormatError, OptionError
        As :func:`read_model`.
    """
    return format_of(path, NETWORKS, f"a network ({_of(NETWORKS)})").read(path)


def write_model(model: Model, path: Path) -> None:
    """Write a model in the format of the suffix, in one step.

    Raises
    ------
    OptionError
        When the suffix names no format of such a model, or the file cannot be written.
    """
    if isinstance(model, BayesianNetwork):
        writer_of(path, NETWORKS, "a file for a network")(model, path)
    elif isinstance(model, NaiveBayes):
        writer_of(path, NAIVE_BAYES, "a file for a naive Bayes model")(model, path)
    else:
        writer_of(path, GRAPHS, "a file for a decision graph")(model, path)


def _of(formats: Mapping[str, object]) -> str:
    return ", ".join(formats)


def read_parents(path: str | os.PathLike[str], names: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """Read a network structure over known variables, whatever their order in the file.

    Parameters
    ----------
    path
        A network (``.bif``), or a record with the key ``parents`` (``.json``), as ``solve`` and
        ``augment`` write it; ``.gz`` may follow.
    names
        The variables.

    Returns
    -------
    tuple of tuple of int
        Parents of each variable, as positions in ``names``, in increasing order.

    Raises
    ------
    OptionError
        When the file cannot be read, its suffix is another, or its variables are not ``names``.
    FormatError
        When the file does not follow its format.
    """
    source = Path(path)
    suffix = suffix_of(source)
    if suffix in NETWORKS:
        network = read_network(source)
        found = {
            name: [network.names[p] for p in parents]
            for name, parents in zip(network.names, network.parents, strict=True)
        }
    elif suffix == ".json":
        found = recorded_parents(source)
    else:
        raise OptionError(
            f"{source}: expected a network ({_of(NETWORKS)}) or a result (.json), found '{suffix}'"
        )
    return _placed(source, found, names)


def recorded_parents(source: Path) -> dict[str, list[str]]:
    """Return the parents of each variable that a JSON record has, by name.

    Raises
    ------
    FormatError
        When it has none.
    OptionError
        When the file cannot be read.
    """
    record = read_json(source)
    parents = record.get("parents") if isinstance(record, dict) else None
    if not isinstance(parents, dict) or not all(map(_is_list_of_texts, parents.values())):
        raise FormatError(
            f"{source}: expected an object with the key 'parents', from each variable to the list "
            "of its parents, as 'exactlearn solve --json' prints it"
        )
    return parents


def _is_list_of_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(entry, str) for entry in value)


def _placed(
    source: Path, found: Mapping[str, Sequence[str]], names: Sequence[str]
) -> tuple[tuple[int, ...], ...]:
    """Match names; every variable must be there, and no other."""
    index = {name: k for k, name in enumerate(names)}
    for name in (*found, *(parent for family in found.values() for parent in family)):
        if name not in index:
            raise OptionError(
                f"{source}: {name!r} is not a variable of the problem{did_you_mean(name, names)}"
            )
    lacking = [name for name in names if name not in found]
    if lacking:
        more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
        raise OptionError(
            f"{source}: the parents of {lacking[0]!r}{more} are missing; expected all "
            f"{len(names)} variables of the problem"
        )
    return tuple(tuple(sorted({index[p] for p in found[name]})) for name in names)
