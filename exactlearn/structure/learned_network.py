"""A network learned from a table, with the proof state of its structure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from exactlearn._runtime.display import ByValue, for_counts
from exactlearn._runtime.files import strict
from exactlearn._runtime.tolerance import gap_between
from exactlearn.bayesnet.cliques import CliqueTree
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.dataset import Dataset
from exactlearn.graphs.dag import named_parents
from exactlearn.graphs.equivalence import Structured
from exactlearn.graphs.orientation import reversible_arcs
from exactlearn.solvers.problem import Arc
from exactlearn.structure.cell_weight_choice import CellWeightChoice
from exactlearn.structure.ess_choice import ESSChoice
from exactlearn.structure.network_price import NetworkPrice
from exactlearn.structure.selection import Counts

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LearnedNetwork(
    Structured,
    ByValue,
    shown="status=claim score bound gap ess ess_choice price arcs left_out dataset",
):
    """A network learned from a table, with the proof state of its structure.

    How probable it is among all networks, :func:`exactlearn.posterior` tells.

    Parameters
    ----------
    parents
        Parents of each variable, by index.
    network
        The network, with parameters from the table as it was given, missing cells and all.
    dataset
        The coded table that it was learned from.
    completed
        That table with its missing cells filled in; the same where none was missing, ``None`` where
        exact inference is too large.
    score
        Score of the structure.
    bound
        No structure allowed scores more; ``inf`` where no such bound is proven.
    status
        ``optimal``, ``feasible`` (a limit was reached), ``interrupted``, or how augmentation ended
        (:class:`~exactlearn.augmentation.Augmentation`).
    reason
        The methods and why they were taken; the counts that score, bound and proof refer to; what
        came short.
    seconds
        Wall time of the search for the structure, as in other results and in records of
        ``exactlearn solve``; not of reading, the choice of the score, scoring and parameters.
    ess
        Equivalent sample size of the BDeu score; ``None`` with another score.
    ess_choice
        How it was chosen, where it was to be chosen.
    cell_weight_choice
        How the price of a cell was chosen, where it was to be chosen.
    price
        Size and true score, where cells have a price: status, score, bound and gap are then those
        of the problem with the price.
    left_out
        Columns that were kept out, with the reason.
    directions
        Directions that required and forbidden arcs, or tiers, leave to adjacencies, by index.
    clique_tree
        Cliques of the network where their size was bounded by ``max_clique``.
    counts
        The counts of families with missing cells that score, bound and proof are of, as the
        parameter ``missing`` of :func:`learn`; ``None`` where they are of the table itself.
    counts_network
        The network that expected counts are under; ``None`` where there are none.

    Examples
    --------
    >>> import numpy as np
    >>> from exactlearn.structure.learning import learn
    >>> table = np.array([["no", "no"], ["yes", "yes"]] * 9 + [["no", "yes"]])
    >>> found = learn(table)
    >>> found.names, found.parents, found.arcs
    (('X0', 'X1'), ((1,), ()), (('X1', 'X0'),))
    >>> found.status, found.gap
    ('optimal', 0.0)
    >>> found.reversible, found.cpdag.edges
    ((('X1', 'X0'),), (('X0', 'X1'),))
    >>> found.to_frame().values.tolist(), found.to_dict()["parents"]
    ([['X1', 'X0']], {'X0': ['X1'], 'X1': []})
    """

    parents: tuple[tuple[int, ...], ...]
    network: BayesianNetwork
    dataset: Dataset
    completed: Dataset | None
    score: float
    bound: float
    status: str
    reason: str
    seconds: float = field(default=0.0, compare=False)
    ess: float | None = None
    ess_choice: ESSChoice | None = None
    cell_weight_choice: CellWeightChoice | None = None
    price: NetworkPrice | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)
    directions: frozenset[Arc] = frozenset()
    clique_tree: CliqueTree | None = None
    counts: Counts | None = None
    counts_network: BayesianNetwork | None = field(default=None, compare=False)

    @property
    def claim(self) -> str:
        """The status, with the counts that it is for where cells are missing.

        Examples
        --------
        >>> import exactlearn as el
        >>> el.learn(el.read_dataset("cancer-mcar")).claim
        'optimal for expected counts'
        """
        return self.status + for_counts(self.counts)

    @property
    def names(self) -> tuple[str, ...]:
        """Variable names, in the order of ``parents``."""
        return self.dataset.names

    @property
    def reversible(self) -> tuple[tuple[str, str], ...]:
        """The arcs, by name, that an equivalent network with the required arcs has reversed.

        Examples
        --------
        >>> import exactlearn as el
        >>> el.learn(el.read_dataset("cancer-mcar-complete")).reversible
        (('Cancer', 'Smoker'), ('Cancer', 'Xray'), ('Dyspnoea', 'Cancer'))
        """
        arcs = sorted(reversible_arcs(self.parents, self.directions))
        return tuple((self.names[a], self.names[b]) for a, b in arcs)

    @property
    def gap(self) -> float:
        """Difference of bound and score in nats; infinite without a bound."""
        return gap_between(self.score, self.bound)

    def to_dict(self) -> dict[str, Any]:
        """Return the result for a record: ``None`` stands for an infinite number."""
        keys = ("status", "score", "bound", "gap", "seconds", "ess", "reason")
        record = {key: getattr(self, key) for key in (*keys, "left_out", "counts")}
        record["parents"] = named_parents(self.names, self.parents)
        record["reversible"] = self.reversible
        if self.price is not None:
            record |= self.price.to_dict()
        finite: dict[str, Any] = strict(record)
        return finite

    def to_frame(self) -> "pd.DataFrame":
        """Return the arcs as a pandas frame: parent, child."""
        return self.network.to_frame()
