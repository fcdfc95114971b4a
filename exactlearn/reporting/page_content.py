"""The content of a page of results: a record, a table, models and a trace."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.dataset import Dataset
from exactlearn.graphs.dag import named_parents
from exactlearn.graphs.orientation import reversible_arcs
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.reporting.report import named_arcs

STRENGTHS = {
    "edge_strength": "share of bootstrap samples with the edge",
    "adjacency_weight": "weight of the listed networks with the edge",
}
"""Keys of an arc's support that its width may show, and what they are."""


@dataclass(frozen=True)
class PageContent:
    """The content of a page; what is ``None`` or empty is left out.

    Parameters
    ----------
    title
        Heading of the page.
    record
        The JSON record of a command.
    data
        The table as it was read.
    network, graph
        The models.
    trace
        Seconds, score and bound at each improvement.
    notes
        What could not be read, and why.
    """

    title: str
    record: Mapping[str, Any] = field(default_factory=dict)
    data: Dataset | None = None
    network: BayesianNetwork | None = None
    graph: DecisionGraph | None = None
    trace: Sequence[tuple[float, float, float]] = ()
    notes: Sequence[str] = ()

    def entries(self, key: str) -> list[Mapping[str, Any]]:
        """Return a list of objects in the record; nothing where the key is another command's."""
        found = self.record.get(key)
        listed = isinstance(found, list) and all(isinstance(one, dict) for one in found)
        return found if listed and found else []

    @cached_property
    def parents(self) -> dict[str, list[str]]:
        """Parents of each variable by name: those of the record, or else of the network."""
        own = self.record.get("parents")
        if isinstance(own, dict) and own:
            return own
        network = self.network
        return {} if network is None else named_parents(network.names, network.parents)

    @cached_property
    def reversible(self) -> list[tuple[str, str]]:
        """The arcs that equivalent networks reverse: those of the record, or else all of them."""
        names = list(self.parents)
        known = self.record.get("reversible")
        if known is None:
            parents = [[names.index(p) for p in family] for family in self.parents.values()]
            known = named_arcs(names, reversible_arcs(parents))
        return [(a, b) for a, b in known]

    @cached_property
    def support(self) -> dict[tuple[str, str], Mapping[str, float]]:
        """What is known of each arc's support, by parent and child."""
        known = {(one["parent"], one["child"]): one for one in self.entries("support")}
        return {**{arc[::-1]: one for arc, one in known.items()}, **known}

    @property
    def strength_key(self) -> str:
        """The key of the support that arcs are drawn by, if any: the same in both directions."""
        one = next(iter(self.support.values()), {})
        return next((key for key in STRENGTHS if key in one), "")
