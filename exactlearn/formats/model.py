"""Models by the suffix of their file: a Bayesian network or a probabilistic decision graph."""

from pathlib import Path

from exactlearn._runtime.text_file import suffix_of
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.errors import OptionError
from exactlearn.formats.bif import read_bif, write_bif
from exactlearn.formats.pdg_json import read_pdg, write_pdg
from exactlearn.pdg.model.decision_graph import DecisionGraph

Model = BayesianNetwork | DecisionGraph


def read_model(path: Path) -> Model:
    """Read a network (``.bif``) or a decision graph (``.pdg.json``); ``.gz`` may follow.

    Raises
    ------
    FormatError
        When the file does not follow its format.
    OptionError
        When the suffix names no model format.
    """
    suffix = suffix_of(path)
    if suffix == ".bif":
        return read_bif(path)
    if suffix == ".pdg.json":
        return read_pdg(path)
    raise OptionError(f"{path}: expected a network (.bif) or a decision graph (.pdg.json)")


def write_model(model: Model, path: Path) -> None:
    """Write a network as BIF or a decision graph as JSON, in one step.

    Raises
    ------
    OptionError
        When the file cannot be written.
    """
    if isinstance(model, BayesianNetwork):
        write_bif(model, path)
    else:
        write_pdg(model, path)
