"""Component solvers: what each of them is given, and what it must return.

A component solver is a function ``solve(progress, k, options) -> Status``. Component ``k`` of the
:class:`~exactlearn.solvers.progress.Progress` has the candidates, the incumbent and the bound; the
solver hands every better selection to ``progress.improve`` and every lower bound to
``progress.prove``, calls ``progress.pause`` between blocks of work (it raises at the time limit),
and returns ``optimal`` when bound and score differ by at most the absolute gap. The registry, and
the function that chooses among its entries, stand in :mod:`exactlearn.solvers.strategy`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .components import Component
from .lp.multipliers import Multipliers
from .progress import Progress
from .result import Status


@dataclass(frozen=True, kw_only=True)
class OrderGraphParameters:
    """Tuning constants of the search in the order graph.

    Parameters
    ----------
    most_states
        States to be expanded after which the search gives up; ``None`` for never.
    easy
        States to be expanded after which pattern databases are built.
    group
        Most variables of one group of a pattern database; a table of 19 takes 4 MiB.
    first_share
        The first threshold's share of the difference that is to be closed: all of it where no
        selection better than the incumbent is expected.
    growth
        How many times more states the next threshold is to reach.
    ascents
        Clusters at most by which one state's bound is raised.
    """

    most_states: int | None = None
    easy: int = 3000
    group: int = 19
    first_share: float = 0.125
    growth: float = 5.0
    ascents: int = 60


@dataclass(frozen=True, kw_only=True)
class SolverOptions:
    """What a component solver may use; each ignores what it has no use for.

    Parameters
    ----------
    absolute_gap
        Difference of bound and score that counts as proven.
    seed
        Seed of all randomness.
    threads
        Number of threads; as many as there are cores if not given.
    memory_limit
        Bytes that states may take.
    iteration_budget
        About how many candidates a local search looks at.
    multipliers
        Clusters of the component's variables with Lagrange multipliers; the closer their bound, the
        less is left to search.
    kept
        Candidates that may be part of a selection better than the incumbent, shape (m,).
    explain
        Whether to note in the progress why a search ended without a proof.
    order_graph
        Tuning constants of the search in the order graph.
    """

    absolute_gap: float = 0.0
    seed: int = 0
    threads: int | None = None
    memory_limit: int | None = None
    iteration_budget: int | None = None
    multipliers: Multipliers | None = None
    kept: NDArray[np.bool_] | None = None
    explain: bool = False
    order_graph: OrderGraphParameters = field(default_factory=OrderGraphParameters)


def accept(component: Component) -> None:
    """Accept a component of any size."""


@dataclass(frozen=True, kw_only=True)
class ComponentSolver:
    """An entry of the registry.

    Parameters
    ----------
    solve
        The solver: from progress, number of the component and options to a status.
    reason
        Why ``auto`` takes it, for the result's message.
    takes_choices
        Whether candidates may read choices.
    relaxed_first
        Whether the linear relaxation is solved first, and the solver takes what it leaves.
    require_suitable
        Raises :class:`~exactlearn.errors.TooLargeError` for a component that is too large.
    """

    solve: Callable[[Progress, int, SolverOptions], Status]
    reason: str = "asked for"
    takes_choices: bool = True
    relaxed_first: bool = False
    require_suitable: Callable[[Component], None] = accept
