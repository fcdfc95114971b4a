"""EM told while it runs, whose last parameters Ctrl-C keeps; shared by ``fit`` and ``run``."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from exactlearn.commands.output import Output
from exactlearn.data import Dataset
from exactlearn.interrupts import interruptible
from exactlearn.parameters.network_em import EMState
from exactlearn.pdg.decision_graph import DecisionGraph
from exactlearn.pdg.refine import Refinement, RefinementState, refine
from exactlearn.report import number
from exactlearn.runs import GraphParameters

S = TypeVar("S", RefinementState, EMState)
R = TypeVar("R")


def refined(
    graph: DecisionGraph, data: Dataset, options: GraphParameters, output: Output
) -> tuple[Refinement, bool]:
    """Refine the parameters of a decision graph on a table with missing cells, as declared.

    Returns
    -------
    refinement, finished
        Not finished at Ctrl-C and SIGTERM: the refinement is what EM had reached.
    """

    def run(on_iteration: Callable[[RefinementState], None]) -> Refinement:
        return refine(
            graph,
            data,
            iterations=options.iterations,
            tolerance=options.tolerance,
            alpha=options.smoothing,
            on_iteration=on_iteration,
        )

    def reached(states: Sequence[RefinementState]) -> Refinement:
        return Refinement(
            graph.with_parameters(states[-1].parameters),
            tuple(s.log_likelihood for s in states),
            tuple(s.objective for s in states),
            converged=False,
        )

    return told(run, reached, output)


def told(
    run: Callable[[Callable[[S], None]], R], reached: Callable[[Sequence[S]], R], output: Output
) -> tuple[R, bool]:
    """Run EM and tell each iteration; return its result, and whether it ended by itself.

    Parameters
    ----------
    run
        Runs EM; what it is given is to be called with each state.
    reached
        Makes a result of the states so far, for Ctrl-C and SIGTERM.

    Raises
    ------
    KeyboardInterrupt
        At an interrupt before the first state.
    """
    states: list[S] = []
    with output.narration("EM") as narration:

        def tell(state: S) -> None:
            states.append(state)
            narration.tell(
                f"iteration {state.iteration}  log-likelihood {number(state.log_likelihood)}"
            )

        try:
            with interruptible():
                return run(tell), True
        except KeyboardInterrupt:
            if not states:
                raise
    output.note(f"Interrupted: the parameters are those of iteration {states[-1].iteration}")
    return reached(states), False
