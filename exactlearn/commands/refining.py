"""EM told while it runs, whose last parameters Ctrl-C keeps; shared by ``fit`` and ``run``."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from exactlearn.commands.output import Output
from exactlearn.data import Dataset
from exactlearn.formats.pdg_json import write_pdg
from exactlearn.interrupts import interruptible
from exactlearn.parameters.network_em import EMState
from exactlearn.pdg.decision_graph import DecisionGraph
from exactlearn.pdg.refine import Refinement, RefinementState, refine
from exactlearn.progress import Checkpoint
from exactlearn.report import number
from exactlearn.runs import GraphParameters

S = TypeVar("S", RefinementState, EMState)
R = TypeVar("R")


def refined(
    graph: DecisionGraph, data: Dataset, options: GraphParameters, output: Output, path: Path | None
) -> tuple[Refinement, bool]:
    """Refine the parameters of a decision graph on a table with missing cells, as declared.

    The graph of each iteration is written to a file as :func:`told` writes, where there is one.

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

    def write(result: Refinement) -> None:
        if path is not None:
            write_pdg(result.pdg, path)

    return told(run, reached, write, output)


def told(
    run: Callable[[Callable[[S], None]], R],
    reached: Callable[[Sequence[S]], R],
    write: Callable[[R], None],
    output: Output,
) -> tuple[R, bool]:
    """Run EM and tell each iteration; return its result, and whether it ended by itself.

    What is reached is written as often as a :class:`~exactlearn.progress.Checkpoint` allows, so
    that not even a kill loses it.

    Parameters
    ----------
    run
        Runs EM; what it is given is to be called with each state.
    reached
        Makes a result of the states so far.
    write
        Writes such a result where it is wanted.

    Raises
    ------
    KeyboardInterrupt
        At an interrupt before the first state.
    """
    states: list[S] = []
    with output.narration("EM") as narration:
        checkpoint = Checkpoint(narration.warn)

        def tell(state: S) -> None:
            states.append(state)
            checkpoint.keep(state.objective, lambda: write(reached(states)))
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
