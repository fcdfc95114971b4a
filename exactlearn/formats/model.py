"""Models by the suffix of their file: a Bayesian network or a probabilistic decision graph."""

from pathlib import Path

from exactlearn.errors import OptionError
from exactlearn.formats.bif import read_bif
from exactlearn.formats.pdg_json import read_pdg
from exactlearn.network import BayesianNetwork
from exactlearn.pdg.decision_graph import DecisionGraph

Model = BayesianNetwork | DecisionGraph


def read_model(path: Path) -> Model:
    """Read a network (``.bif``, ``.bif.gz``) or a decision graph (``.pdg.json``).

    Raises
    ------
    FormatError
        When the file does not follow its format.
    OptionError
        When the suffix names no model format.
    """
    name = path.name.lower().removesuffix(".gz")
    if name.endswith(".bif"):
        return read_bif(path)
    if name.endswith(".pdg.json"):
        return read_pdg(path)
    raise OptionError(f"{path}: expected a network (.bif) or a decision graph (.pdg.json)")
