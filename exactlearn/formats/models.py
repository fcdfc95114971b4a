"""Models by the suffix of their file.

A model is a Bayesian network, a probabilistic decision graph or a naive Bayes model.
"""

import os
from collections import ChainMap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from exactlearn._runtime.arguments import checked_arguments
from exactlearn.bayesnet.naive_bayes import NaiveBayes
from exactlearn.bayesnet.network import BayesianNetwork, NetworkLike
from exactlearn.formats import Format, format_of, writer_of
from exactlearn.formats.bif import read_bif, write_bif
from exactlearn.formats.naive_bayes_json import read_naive_bayes, write_naive_bayes
from exactlearn.formats.net import read_net, write_net
from exactlearn.formats.pdg_json import read_pdg, write_pdg
from exactlearn.formats.xmlbif import read_xmlbif, write_xmlbif
from exactlearn.instances import locate
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.queries.evidence import Model

_XMLBIF = Format(read_xmlbif, write_xmlbif)

NETWORKS: dict[str, Format[BayesianNetwork]] = {
    ".bif": Format(read_bif, write_bif),
    ".xmlbif": _XMLBIF,
    ".bifxml": _XMLBIF,
    ".xml": _XMLBIF,
    ".net": Format(read_net, write_net),
}
"""Formats of Bayesian networks by the suffix of the file."""

GRAPHS: dict[str, Format[DecisionGraph]] = {".pdg.json": Format(read_pdg, write_pdg)}
"""Formats of decision graphs by the suffix of the file."""

NAIVE_BAYES: dict[str, Format[NaiveBayes]] = {
    ".nb.json": Format(read_naive_bayes, write_naive_bayes)
}
"""Formats of naive Bayes models by the suffix of the file."""

FORMATS: Mapping[str, Format[Any]] = ChainMap[str, Format[Any]](NETWORKS, GRAPHS, NAIVE_BAYES)
"""Formats of all models by the suffix of the file."""


def read_model(path: str | os.PathLike[str]) -> Model:
    """Read a model in the format of the suffix, or a bundled network; ``.gz`` may follow.

    Raises
    ------
    FormatError
        When the file does not follow its format.
    OptionError
        When the suffix names no model format, or there is no such file.
    """
    file = locate(path, ".bif")
    expected = (
        f"a network ({_of(NETWORKS)}), a decision graph ({_of(GRAPHS)}) or a naive Bayes model"
        f" ({_of(NAIVE_BAYES)})"
    )
    model: Model = format_of(file, FORMATS, expected).read(file)
    return model


@checked_arguments()
def read_network(path: str | os.PathLike[str]) -> BayesianNetwork:
    """Read a network in the format of the suffix; ``.gz`` may follow.

    Parameters
    ----------
    path
        The file: ``.bif``, ``.xmlbif`` (also ``.bifxml``, ``.xml``) or ``.net``; or the name of a
        bundled network.

    Raises
    ------
    FormatError
        When the file does not follow its format.
    OptionError
        When the suffix names no format of networks, or the file cannot be read.

    Examples
    --------
    >>> import exactlearn
    >>> exactlearn.read_network("cancer").names
    ('Pollution', 'Smoker', 'Cancer', 'Xray', 'Dyspnoea')
    """
    file = locate(path, ".bif")
    return format_of(file, NETWORKS, f"a network ({_of(NETWORKS)})").read(file)


@checked_arguments()
def write_network(network: NetworkLike, path: str | os.PathLike[str]) -> None:
    """Write a network in the format of the suffix, in one step; ``.gz`` may follow.

    Every format keeps all digits and all names: what a format, or a program that reads it, cannot
    hold as a name is written as a similar word beside the name itself.

    Parameters
    ----------
    network
        Network to write.
    path
        File to write or replace; suffixes as for :func:`read_network`.

    Raises
    ------
    OptionError
        When the suffix names no format of networks, or the file cannot be written.

    Examples
    --------
    >>> import exactlearn, tempfile, pathlib
    >>> network = exactlearn.read_network("cancer")
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "cancer.net"
    >>> exactlearn.write_network(network, file)
    >>> exactlearn.read_network(file).names == network.names
    True
    """
    writer_of(Path(path), NETWORKS, "a file for a network")(network, Path(path))


def write_model(model: Model, path: Path) -> None:
    """Write a model in the format of the suffix, in one step.

    Raises
    ------
    OptionError
        When the suffix names no format of such a model, or the file cannot be written.
    """
    if isinstance(model, BayesianNetwork):
        write_network(model, path)
    elif isinstance(model, NaiveBayes):
        writer_of(path, NAIVE_BAYES, "a file for a naive Bayes model")(model, path)
    else:
        writer_of(path, GRAPHS, "a file for a decision graph")(model, path)


def _of(formats: Mapping[str, object]) -> str:
    return ", ".join(formats)
