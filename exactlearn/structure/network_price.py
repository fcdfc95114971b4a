"""Size and true score of a network that was learned with a price for each cell of its tables."""

from dataclasses import asdict, dataclass, replace
from math import inf
from typing import Any

from exactlearn._runtime.display import Displayed
from exactlearn._runtime.files import strict
from exactlearn._runtime.tolerance import gap_between
from exactlearn.augmentation import Augmentation
from exactlearn.bayesnet.cliques import CliqueTree
from exactlearn.bayesnet.triangulation import best_elimination_order, maximal_cliques
from exactlearn.graphs.dag import moral_graph
from exactlearn.scoring.prior import Prior, SizePrior, with_prior
from exactlearn.solvers import Result, solve
from exactlearn.structure.equivalence_search import EquivalenceSearch
from exactlearn.structure.selection import Scored

SearchResult = Result | Augmentation | EquivalenceSearch
"""The end of a search for a structure."""

MAX_UNPRICED_SECONDS = 10.0
"""Most seconds in which the best score without a price is looked for; its bound stands else."""


@dataclass(frozen=True, repr=False)
class NetworkPrice(
    Displayed,
    shown="cell_weight cells unpriced_score score_given_up clique_tree_size largest_clique",
):
    """Size and true score of a network that was learned with a price for each cell.

    Parameters
    ----------
    cell_weight
        Price of a cell in nats.
    cells
        Cells of the tables of all families.
    unpriced_score
        Score of the network without the price.
    score_given_up
        No network allowed scores more than ``unpriced_score`` by more nats, without the price;
        ``inf`` where no such bound is proven.
    clique_tree_size
        Configurations of all cliques of the best clique tree that was found; with ``max_clique``,
        of that which keeps the bound.
    largest_clique
        Configurations of its largest clique.

    Examples
    --------
    >>> import exactlearn as el
    >>> learned = el.learn(el.read_dataset("cancer-mcar-complete"), cell_weight=0.1)
    >>> learned.price.cells, learned.price.largest_clique
    (12, 4)
    """

    cell_weight: float
    cells: int
    unpriced_score: float
    score_given_up: float
    clique_tree_size: int
    largest_clique: int

    def to_dict(self) -> dict[str, Any]:
        """Return the figures for a record: ``None`` stands for an infinite number."""
        return dict(strict(asdict(self)))


def network_price(
    prior: Prior | None,
    result: SearchResult,
    scored: Scored | None = None,
    time_limit: float = inf,
) -> NetworkPrice | None:
    """Return size and true score of a network; ``None`` without a price or a network.

    Parameters
    ----------
    prior
        The prior, if any, whose price and cardinalities count.
    result
        The network, and its score less its price.
    scored
        The candidates, where the best network without the price is to be found among these.
    time_limit
        Seconds for that.
    """
    if result.parents is None or not isinstance(prior, SizePrior):
        return None
    bound = inf
    if scored is not None:
        # The same candidates without the price; where no time is left, a quick bound.
        time_limit = min(time_limit, MAX_UNPRICED_SECONDS)
        if result.status == "interrupted":
            time_limit = 0.0
        refund = replace(prior, weight=-prior.weight, base="uniform")
        unpriced = with_prior(scored.problem, refund)
        best = solve(unpriced, start=result.parents, time_limit=time_limit)
        bound = scored.judged(best).bound
    states = prior.cardinalities
    # A family has as many cells as a clique of its variables configurations.
    families = tuple((v, *members) for v, members in enumerate(result.parents))
    cells = CliqueTree(families, ()).size(states)
    # The cliques that a search for bounded ones proves, or the best that are found.
    tree = getattr(result, "clique_tree", None)
    if tree is None:
        graph = moral_graph(result.parents)
        order = best_elimination_order(graph, states)
        tree = CliqueTree(maximal_cliques(graph, order), ())
    sizes = tree.clique_sizes(states)
    unpriced_score = result.score + prior.weight * cells
    return NetworkPrice(
        cell_weight=prior.weight,
        cells=cells,
        unpriced_score=unpriced_score,
        score_given_up=gap_between(unpriced_score, bound),
        clique_tree_size=sum(sizes),
        largest_clique=max(sizes),
    )
