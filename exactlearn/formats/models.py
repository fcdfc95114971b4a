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
from exactlearn.errors import OptionError, as_written
from exactlearn.formats import C, Format, format_of, model_json, writer_of
from exactlearn.formats.bif import read_bif, write_bif
from exactlearn.formats.content import expecting
from exactlearn.formats.net import read_net, write_net
from exactlearn.formats.xmlbif import read_xmlbif, write_xmlbif
from exactlearn.instances import locate
from exactlearn.queries.model_graphs import Model
from exactlearn.queries.posteriors import ModelLike

_XMLBIF = Format(read_xmlbif, write_xmlbif, normalises=True)

NETWORKS: dict[str, Format[BayesianNetwork]] = {
    ".bif": Format(read_bif, write_bif, normalises=True),
    ".xmlbif": _XMLBIF,
    ".bifxml": _XMLBIF,
    ".xml": _XMLBIF,
    ".net": Format(read_net, write_net, normalises=True),
}
"""Formats of Bayesian networks by the suffix of the file."""

GRAPHS = {".pdg.json": Format(model_json.read_pdg, model_json.write_pdg)}
"""Formats of decision graphs by the suffix of the file."""

NAIVE_BAYES = {
    ".nb.json": Format(model_json.read_naive_bayes, model_json.write_naive_bayes)
}
"""Formats of naive Bayes models by the suffix of the file."""

FORMATS: Mapping[str, Format[Any]] = ChainMap[str, Format[Any]](
    NETWORKS, GRAPHS, NAIVE_BAYES
)
"""Formats of all models by the suffix of the file."""


@checked_arguments()
def read_model(path: str | os.PathLike[str], *, normalise: bool = False) -> Model:
    """Read a model in the format of the suffix; ``.gz`` may follow.

    Parameters
    ----------
    path
        The file: a network (as for :func:`read_network`), a decision graph (``.pdg.json``) or a
        naive Bayes model (``.nb.json``); or the name of a bundled network.
    normalise
        Divide each row of a network's tables by its sum, as for :func:`read_network`.

    Raises
    ------
    FormatError
        When the file does not follow its format.
    OptionError
        When the suffix names no model format, there is no such file, or ``normalise`` is wanted of
        another model than a network.

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
        model_format = format_of(file, FORMATS, expected)
        model: Model = _read(file, model_format, normalise=normalise)
    return model


@checked_arguments()
def read_network(
    path: str | os.PathLike[str], *, normalise: bool = False
) -> BayesianNetwork:
    """Read a network in the format of the suffix; ``.gz`` may follow.

    Parameters
    ----------
    path
        The file: ``.bif``, ``.xmlbif`` (also ``.bifxml``, ``.xml``) or ``.net``; or the name of a
        bundled network.
    normalise
        Divide each row of probabilities by its sum, so that a file may hold counts or percentages.
        Otherwise rows must sum to one: within 1e-6 they are kept as written, and within 0.001, as
        programs round them, they are divided by their sum. Entries down to -1e-6 are zero.

    Raises
    ------
    FormatError
        When the file does not follow its format; says what it is, if that is recognised.
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
        network_format = format_of(file, NETWORKS, f"a network ({_of(NETWORKS)})")
        return _read(file, network_format, normalise=normalise)


def _read(file: Path, file_format: Format[C], *, normalise: bool) -> C:
    """Read a file, its rows of probabilities divided by their sums if that is wanted."""
    if not normalise:
        return file_format.read(file)
    if not file_format.normalises:
        option = as_written("normalise", True)
        raise OptionError(
            f"{file}: {option} is for networks, and this is none; leave it out"
        )
    return file_format.read(file, normalise=True)


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
    # Each kind of model has formats of its own.
    formats: Mapping[str, Format[Any]] = GRAPHS
    kind = "a decision graph"
    if isinstance(model, BayesianNetwork):
        formats = NETWORKS
        kind = "a network"
    elif isinstance(model, NaiveBayes):
        formats = NAIVE_BAYES
        kind = "a naive Bayes model"
    writer_of(Path(path), formats, f"a file for {kind}")(model, Path(path))


def _of(formats: Mapping[str, object]) -> str:
    return ", ".join(formats)
