"""The score of a decision graph's structure: penalised log-likelihood.

    S(lambda) = (1-lambda) L - lambda size        (THESIS, 4.8 and 4.40; PDG-SEM, equation 2)

L is the total log-likelihood at its maximum, a sum of `information` over nodes. The size is the
effective one (THESIS, 3.52) or the number of free parameters.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from exactlearn.data.counts import check_size_weight, rate_of
from exactlearn.errors import OptionError
from exactlearn.pdg.model.decision_graph import DecisionGraph

Size = Literal["effective", "representational"]
SIZES: tuple[Size, ...] = ("effective", "representational")
"""What a node costs: states times max(1, children), or states less one."""


@dataclass(frozen=True)
class StructureScore:
    """S(lambda) for one lambda and one kind of size.

    Parameters
    ----------
    size_weight
        Weight of the size, from 0 to 1.
    size
        ``effective`` or ``representational``.

    Raises
    ------
    OptionError
        If lambda is out of range or the size is of no known kind.
    """

    size_weight: float
    size: Size = "effective"

    def __post_init__(self) -> None:
        """Check the options."""
        check_size_weight(self.size_weight)
        if self.size not in SIZES:
            raise OptionError(f"size {self.size!r}: give 'effective' or 'representational'")

    @property
    def rate(self) -> float:
        """The log-likelihood that one cell of size must gain, in nats; infinite for lambda 1."""
        return rate_of(self.size_weight)

    def cells(self, graph: DecisionGraph) -> NDArray[np.int64]:
        """Return what one node of each variable adds to the size, shape (variables,)."""
        if self.size == "effective":
            return graph.cardinalities * np.maximum(1, graph.child_counts)
        return graph.cardinalities - 1

    def node_cost(self, graph: DecisionGraph, variable: int) -> float:
        """Return the log-likelihood that a node of a variable must gain, in nats."""
        cells = int(self.cells(graph)[variable])
        return self.rate * cells if cells > 0 else 0.0

    def size_of(self, graph: DecisionGraph) -> int:
        """Return the size of a graph."""
        if self.size == "effective":
            return graph.effective_size
        return graph.representational_size

    def of(self, graph: DecisionGraph, log_likelihood: float) -> float:
        """Return S(lambda) of a graph with this total log-likelihood."""
        return (1 - self.size_weight) * log_likelihood - self.size_weight * self.size_of(graph)
