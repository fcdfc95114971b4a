"""Tuning constants of the solvers: one frozen dataclass for each algorithm.

:class:`SolverParameters` holds all of them; :func:`exactlearn.solvers.solve` takes one. They change
how long a search takes, not what is proven. Constants that guard against rounding, or say how often
a loop looks at the clock, stand beside the code that they belong to.
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class DualAscentParameters:
    """Tuning constants of the dual ascent that gives the first multipliers.

    Parameters
    ----------
    work
        Candidates looked at after which the multipliers so far are taken.
    finest
        Limit of the reduced costs, relative to the first one, below which it does not fall.
    """

    work: int = 2_000_000_000
    finest: float = 1e-6


@dataclass(frozen=True, kw_only=True)
class SubgradientParameters:
    """Tuning constants of the subgradient method.

    Parameters
    ----------
    steps
        Steps after which lowering a bound is given up.
    overshoot
        How far below the bound that is wanted a step aims.
    """

    steps: int = 300
    overshoot: float = 0.1


@dataclass(frozen=True, kw_only=True)
class ColumnParameters:
    """Tuning constants of column generation in the linear relaxation.

    Parameters
    ----------
    beginning
        Candidates of each variable that are columns from the beginning.
    most_priced
        Columns that enter for one variable between two linear programs.
    tolerance
        Price at which a candidate enters, and value of artificial columns that counts as none.
    """

    beginning: int = 4
    most_priced: int = 6
    tolerance: float = 1e-7


@dataclass(frozen=True, kw_only=True)
class SeparationParameters:
    """Tuning constants of the search for violated clusters.

    Parameters
    ----------
    thresholds
        Values above which candidates count in the search for minimal clusters, besides all that
        are positive.
    orders
        Orders in which members are placed by force to make clusters minimal, for each threshold.
    few
        Violated clusters found quickly that make walks unnecessary.
    most_starts
        Variables from which walks set out.
    counts
        Counts above one that are tried.
    most_seeds
        Seeds looked at for each count.
    most_walks
        Seeds from which walks set out, the best ones for each count.
    """

    thresholds: tuple[float, ...] = (0.1, 0.2, 0.3, 0.4, 0.5)
    orders: int = 10
    few: int = 5
    most_starts: int = 30
    counts: tuple[int, ...] = (2, 3)
    most_seeds: int = 20_000
    most_walks: int = 20


@dataclass(frozen=True, kw_only=True)
class CuttingPlaneParameters:
    """Tuning constants of the rounds of cutting planes.

    Parameters
    ----------
    most_cuts
        Clusters that each search adds in one round.
    most_rounds
        Rounds after which the multipliers so far are taken.
    tail, least_gain
        Rounds in which so much of the gap must be closed.
    assumed_gap
        Gap where no selection is known, as a share of what all rounds together closed.
    most_idle
        Rounds without progress that a cluster of no value stays in the relaxation.
    tiny
        Multiplier of a cluster that is dropped.
    inwards
        Weight of the inner point where clusters are sought.
    dual_ascent, columns, separation
        Tuning constants of the first multipliers, the columns, and the search for clusters.
    """

    most_cuts: int = 50
    most_rounds: int = 2000
    tail: int = 60
    least_gain: float = 0.01
    assumed_gap: float = 0.01
    most_idle: int = 25
    tiny: float = 1e-9
    inwards: float = 0.5
    dual_ascent: DualAscentParameters = DualAscentParameters()
    columns: ColumnParameters = ColumnParameters()
    separation: SeparationParameters = SeparationParameters()


@dataclass(frozen=True, kw_only=True)
class OrderGraphParameters:
    """Tuning constants of the search in the order graph.

    Parameters
    ----------
    most_states
        States to be expanded after which the search gives up; ``None`` for never.
    group
        Most variables of one group of a pattern database; a table of 19 takes 4 MiB.
    first_share
        The first threshold's share of the difference that is to be closed: all of it where no
        selection better than the incumbent is expected.
    """

    most_states: int | None = None
    group: int = 19
    first_share: float = 0.125


@dataclass(frozen=True, kw_only=True)
class OrderingParameters:
    """Tuning constants of the local search among orders.

    Parameters
    ----------
    budget, least_budget
        Candidates that a search without a time limit looks at: for each candidate there is, and at
        least.
    relaxed
        Candidates in all the linear programs, together, that bound a component without a time
        limit.
    timed
        Whether a time limit is used up. Otherwise the search ends as one without a limit, at the
        latest at the limit: for a search that is a part of another one.
    """

    budget: int = 2_000
    least_budget: int = 40_000_000
    relaxed: int = 1_000_000
    timed: bool = True


@dataclass(frozen=True, kw_only=True)
class BranchAndCutParameters:
    """Tuning constants of branch and cut.

    Parameters
    ----------
    most_cuts
        Cluster inequalities that each search adds in one round of separation.
    tail, least_gain
        Rounds at the root that must have closed such a part of the gap, or branching begins.
    rounding_budget
        Candidates looked at after each rounding, for each candidate of the problem.
    many_candidates
        Candidates above which steepest edge pricing pays: a third of the iterations, slower ones.
    large_loss
        Loss above which a finer feasibility tolerance is needed.
    separation
        Tuning constants of the search for clusters.
    """

    most_cuts: int = 200
    tail: int = 5
    least_gain: float = 0.05
    rounding_budget: int = 200
    many_candidates: int = 2000
    large_loss: float = 1e3
    separation: SeparationParameters = SeparationParameters()


@dataclass(frozen=True, kw_only=True)
class ProofParameters:
    """Tuning constants of the branch and bound that ends in a certificate.

    Parameters
    ----------
    most_nodes
        Nodes that are branched on at most.
    shrunk
        Share of its candidates that a part must lose for its relaxation to be solved again.
    fixed
        Share of its candidates that a node of the tree must lose for that to be written down.
    tried
        Arcs tried before one is branched on.
    undecided
        Distance from 0 and 1 within which an arc counts as decided.
    least_side
        Share of the gap that a side of a branching counts as closing, at least.
    planes
        Of the rounds of cutting planes at one node.
    """

    most_nodes: int = 20_000
    shrunk: float = 0.9
    fixed: float = 0.8
    tried: int = 20
    undecided: float = 1e-6
    least_side: float = 1e-6
    planes: CuttingPlaneParameters = CuttingPlaneParameters(
        most_cuts=200, most_rounds=100, tail=5, least_gain=0.02
    )


@dataclass(frozen=True, kw_only=True)
class SolverParameters:
    """The tuning constants of all solvers.

    Parameters
    ----------
    cutting_planes
        Of the linear relaxation at the root.
    order_graph, ordering, branch_and_cut
        Of the search in the order graph, the local search among orders, and branch and cut.
    proof
        Of certificates.

    Examples
    --------
    >>> SolverParameters(order_graph=OrderGraphParameters(group=17)).order_graph.group
    17
    """

    cutting_planes: CuttingPlaneParameters = CuttingPlaneParameters()
    order_graph: OrderGraphParameters = OrderGraphParameters()
    ordering: OrderingParameters = OrderingParameters()
    branch_and_cut: BranchAndCutParameters = BranchAndCutParameters()
    proof: ProofParameters = ProofParameters()


DEFAULTS = SolverParameters()
"""The defaults of all tuning constants."""

INNER_SEARCH = SolverParameters(ordering=OrderingParameters(timed=False))
"""For one of several problems of a longer search, which leaves time for the others."""
