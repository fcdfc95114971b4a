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
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.formats import Format, format_of, model_json, writer_of
from exactlearn.formats.bif import read_bif, write_bif
from exactlearn.formats.content import expecting
from exactlearn.formats.net import read_net, write_net
from exactlearn.formats.xmlbif import read_xmlbif, write_xmlbif
from exactlearn.instances import locate
from exactlearn.queries.posteriors import Model, ModelLike

_XMLBIF = Format(read_xmlbif, write_xmlbif)

NETWORKS: dict[str, Format[BayesianNetwork]] = {
    ".bif": Format(read_bif, write_bif),
    ".xmlbif": _XMLBIF,
    ".bifxml": _XMLBIF,
    ".xml": _XMLBIF,
    ".net": Format(read_net, write_net),
}
"""Formats of Bayesian networks by the suffix of the file."""

GRAPHS = {".pdg.json": Format(model_json.read_pdg, model_json.write_pdg)}
"""Formats of decision graphs by the suffix of the file."""

NAIVE_BAYES = {".nb.json": Format(model_json.read_naive_bayes, model_json.write_naive_bayes)}
"""Formats of naive Bayes models by the suffix of the file."""

FORMATS: Mapping[str, Format[Any]] = ChainMap[str, Format[Any]](NETWORKS, GRAPHS, NAIVE_BAYES)
"""Formats of all models by the suffix of the file."""


@checked_arguments()
def read_model(path: str | os.PathLike[str]) -> Model:
    """Read a model in the format of the suffix; ``.gz`` may follow.

    Parameters
    ----------
    path
        The file: a network (as for :func:`read_network`), a decision graph (``.pdg.json``) or a
        naive Bayes model (``.nb.json``); or the name of a bundled network.

    Raises
    ------
    FormatError
        When the file does not follow its format.
    OptionError
        When the suffix names no model format, or there is no such file.

    Examples
    --------
    >>> import exactlearn as el
    >>> el.write_model(el.compile_network(el.read_network("asia")), "asia.pdg.json")
    >>> el.read_model("asia.pdg.json").effective_size
    40
    """
    file = locate(path, ".bif")
    expected = (
        f"a network ({_of(NETWORKS)}), a decision graph ({_of(GRAPHS)}) or a naive Bayes model"
        f" ({_of(NAIVE_BAYES)})"
    )
    with expecting(file, "a model", FORMATS):
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
    with expecting(file, "a network", NETWORKS):
        return format_of(file, NETWORKS, f"a network ({_of(NETWORKS)})").read(file)


@checked_arguments()
def write_model(model: ModelLike, path: str | os.PathLike[str]) -> None:
    """Write a model in the format of the suffix, in one step; ``.gz`` may follow.

    Every format keeps all digits and all names: what a format, or a program that reads it, cannot
    hold as a name is written as a similar word beside the name itself.

    Parameters
    ----------
    model
        A network, a decision graph or a naive Bayes model.
    path
        File to write or replace; suffixes as for :func:`read_model`.

    Raises
    ------
    OptionError
        When the suffix names no format of such a model, or the file cannot be written.

    Examples
    --------
    >>> import exactlearn as el
    >>> network = el.read_network("cancer")
    >>> el.write_model(network, "cancer.net")
    >>> el.read_network("cancer.net").names == network.names
    True
    """
    known: tuple[Mapping[str, Format[Any]], str] = GRAPHS, "a decision graph"
    if isinstance(model, BayesianNetwork):
        known = NETWORKS, "a network"
    elif isinstance(model, NaiveBayes):
        known = NAIVE_BAYES, "a naive Bayes model"
    writer_of(Path(path), known[0], f"a file for {known[1]}")(model, Path(path))


def _of(formats: Mapping[str, object]) -> str:
    return ", ".join(formats)
