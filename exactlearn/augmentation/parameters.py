"""Tuning constants of the augmentation methods: a caller may replace them, and a benchmark vary."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ClimbingParameters:
    """Tuning constants of the t-local climber: none changes what it claims.

    Parameters
    ----------
    fitted_budget, fitted_rounds
        Candidates that the search for each network of a start by hard EM looks at, about; most
        networks that a start is fitted to, though nearly all completions stay earlier.
    budget, budget_each
        Candidates that a search for a good network looks at, about: in all, or, if more, for each
        candidate there is.
    perturbations, perturbations_again
        Restarts of that search, for each variable, from a perturbed copy of its best order: at
        first, and when a network is known that was good a moment ago.
    tables, tables_each
        Tables counted where not all families can be: for all variables together, or, if more, for
        each pair of a variable with another.
    rounds, most_rounds
        Rounds of cutting planes for the first completion, and for one around which there is proof.
    tail, least_gain
        Rounds in which such a share of the gap must be closed: else more cost more than they save.
    slack
        By how much the bound of a group of moves may be higher than that of one: a share of the gap
        of the solution's own DAG.
    batch_size
        Moves that are split into groups at once.
    grace_period
        Seconds for bounds of moves after a search has been stopped.
    family_loss_share, family_loss
        Loss that a search without proof allows a family: a share of the gap of the solution's own
        DAG, which all families of a better network lose together, and so many nats more.
    target_gaps, target_steps
        Bounds that multipliers are tightened to, one after the other: so many gaps of the
        solution's own DAG above the target, and subgradient steps towards each.
    weights, weight_exponent
        Weights of the scores before the moves in the objective cut, falling; of two with the same
        bound the higher one leaves fewer families and states, so a bound that a weight is worth
        counts divided by this power of it.
    shrinking_share
        Share of the families that may be left when sequential pruning drops the others.
    most_tried
        Multipliers, the latest ones, that it tries on moves not seen before.
    tightening_rounds, margin
        Rounds of its subgradient steps, each on the candidates that the one before leaves; and how
        much lower than necessary bounds are made, so that they exclude other moves, too.
    """

    fitted_budget: int = 10**6
    fitted_rounds: int = 20
    budget: int = 10**7
    budget_each: int = 1_000
    perturbations: int = 20
    perturbations_again: int = 4
    tables: int = 1_000_000
    tables_each: int = 2
    rounds: int = 100
    most_rounds: int = 400
    tail: int = 40
    least_gain: float = 0.03
    slack: float = 0.35
    batch_size: int = 2048
    grace_period: float = 0.5
    family_loss_share: float = 0.75
    family_loss: float = 3.0
    target_gaps: tuple[float, ...] = (1.3, 0.8, 0.4, 0.0)
    target_steps: int = 100
    weights: tuple[float, ...] = (1.0, 0.7, 0.5, 0.35, 0.25, 0.18)
    weight_exponent: float = 0.5
    shrinking_share: float = 0.5
    most_tried: int = 4
    tightening_rounds: int = 2
    margin: float = 0.5


@dataclass(frozen=True, kw_only=True)
class BranchingParameters:
    """Tuning constants of branch and bound, and of what the exact methods begin with.

    Parameters
    ----------
    starts, climbing
        Most starts of the climber that finds the first incumbent, and the share of a time limit
        after which it leaves the rest to bounds.
    first_node_budget, node_budget
        Nodes spent on a family's bound: on all families once, then where it matters.
    at_once
        Families of a child that are bounded anew together with its best.
    many_cells
        Missing cells from which on the subgradient method comes first; with fewer, linear programs
        find the best multipliers sooner.
    steps, first_step, last_step
        Its steps for each missing cell, and the nats that a multiplier moves at most in the first
        and in the last one.
    memory, negligible
        Steps over which its local completions are averaged, and after which clusters are separated;
        average below which a family is taken for not chosen.
    most_rounds
        Linear programs that are solved for one node.
    entering, least_reduced_cost
        Local completions of each child that enter between two linear programs, and the reduced cost
        from which on they do.
    smoothing
        Most weight of the best multipliers so far in the next ones: duals alone jump about.
    most_clusters, most_sinks, least_violation
        Clusters and sink links that enter between two linear programs, and the violation from which
        on a sink link does.
    joining
        Share of the gap below which the linear program's lead must be before sink links are sought.
    root_stall_limit, stall_limit, least_gain
        Rounds in which such a share of the gap must be closed, at the root and elsewhere.
    fractional
        Share of a missing cell's other states from which on the linear program is fractional there.
    """

    starts: int = 3
    climbing: float = 0.6
    first_node_budget: int = 20
    node_budget: int = 8_000
    at_once: int = 8
    many_cells: int = 100
    steps: int = 12
    first_step: float = 0.2
    last_step: float = 0.003
    memory: int = 20
    negligible: float = 1e-3
    most_rounds: int = 200
    entering: int = 5
    least_reduced_cost: float = 1e-7
    smoothing: float = 0.5
    most_clusters: int = 20
    most_sinks: int = 200
    least_violation: float = 1e-3
    joining: float = 0.7
    root_stall_limit: int = 60
    stall_limit: int = 10
    least_gain: float = 0.1
    fractional: float = 0.2
