"""One component solved by one component solver."""

from exactlearn.solvers.component_solver import (
    ComponentSolver,
    Progress,
    Solve,
    SolverOptions,
)
from exactlearn.solvers.result import Status
from exactlearn.solvers.strategy import solve_component


def solved(
    solve: Solve, progress: Progress, k: int = 0, options: SolverOptions | None = None
) -> Status:
    """Solve component ``k``; incumbent and bound are kept by the progress."""
    return solve_component(ComponentSolver(solve=solve), progress, k, options)
