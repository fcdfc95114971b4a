"""Models by the suffix of their file.

A model is a Bayesian network, a probabilistic decision graph or a naive Bayes model.
"""

from collections import ChainMap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from exactlearn.bayesnet.naive_bayes import NaiveBayes
from exactlearn.bayesnet.network import BayesianNetwork
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
