"""EM told while it runs, whose best parameters Ctrl-C keeps; shared by ``fit`` and ``run``."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.ascent import best_so_far
from exactlearn.bayesnet.em import MOST_ITERATIONS, TOLERANCE, EMResult, EMState, fit_em
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.commands.output import Output
from exactlearn.commands.progress import Checkpoint
from exactlearn.commands.runs import GraphParameters, NetworkParameters
from exactlearn.data.dataset import Dataset
from exactlearn.formats.models import write_model
from exactlearn.pdg.learn.refine import Refinement, RefinementState, refine
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.reporting.report import number

S = TypeVar("S", RefinementState, EMState)
R = TypeVar("R", Refinement, EMResult)


def fitted_network(
    data: Dataset,
    parents: Sequence[Sequence[int]],
    output: Output,
    path: Path | None,
    *,
    smoothing: float = NetworkParameters.smoothing,
    tolerance: float = TOLERANCE,
    iterations: int = MOST_ITERATIONS,
) -> tuple[EMResult, bool]:
    """Fit a network with given parents to a table with missing cells, as :func:`refined`."""

    def run(on_iteration: Callable[[EMState], None]) -> EMResult:
        return fit_em(
            data,
            parents,
            alpha=smoothing,
            tolerance=tolerance,
            iterations=iterations,
            on_iteration=on_iteration,
        )

    def reached(states: Sequence[EMState]) -> EMResult:
        return EMResult(
            _network(data, parents, states[-1].parameters),
            tuple(s.log_likelihood for s in states),
            tuple(s.objective for s in states),
            converged=False,
        )

    def write(result: EMResult) -> None:
        if path is not None:
            write_model(result.network, path)

    return told(run, reached, write, output)


def _network(
    data: Dataset, parents: Sequence[Sequence[int]], flat: NDArray[np.float64]
) -> BayesianNetwork:
    """Return a network from its parameters, those of one variable after the other."""
    families = tuple(tuple(family) for family in parents)
    shapes = [tuple(data.cardinalities[[*ps, v]].tolist()) for v, ps in enumerate(families)]
    parts = np.split(flat, np.cumsum([np.prod(shape) for shape in shapes])[:-1])
    tables = tuple(part.reshape(shape) for part, shape in zip(parts, shapes, strict=True))
    return BayesianNetwork(data.names, data.states, families, tables)


def refined(
    graph: DecisionGraph, data: Dataset, options: GraphParameters, output: Output, path: Path | None
) -> tuple[Refinement, bool]:
    """Refine the parameters of a decision graph on a table with missing cells, as declared.

    The graph of each iteration is written to a file as :func:`told` writes, where there is one.

    Returns
    -------
    refinement, finished
        Not finished at Ctrl-C and SIGTERM: the refinement is the best that EM had reached.
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
            write_model(result.pdg, path)

    return told(run, reached, write, output)


def em_record(result: EMResult | Refinement) -> dict[str, Any]:
    """Return the JSON record of how EM went."""
    return {
        "log_likelihood": result.log_likelihoods[-1],
        "log_likelihood_before": result.log_likelihoods[0],
        "iterations": result.iterations,
        "converged": result.converged,
        "starts": result.starts,
    }


def told(
    run: Callable[[Callable[[S], None]], R],
    reached: Callable[[Sequence[S]], R],
    write: Callable[[R], None],
    output: Output,
) -> tuple[R, bool]:
    """Run EM and tell how it goes; return its result, and whether it ended by itself.

    What is reached is written as often as a :class:`~exactlearn.commands.progress.Checkpoint`
    allows, so that not even a kill loses it.

    Parameters
    ----------
    run
        Runs EM; what it is given is to be called with each state.
    reached
        Makes a result of the states of the best ascent so far.
    write
        Writes such a result where it is wanted.

    Raises
    ------
    KeyboardInterrupt
        At an interrupt before the first state.
    """
    states: list[S] = []
    with output.progress_display("EM") as display:
        checkpoint = Checkpoint(display.warn)

        def tell(state: S) -> None:
            states.append(state)
            checkpoint.keep(state.objective, lambda: write(reached(best_so_far(states))))
            display.tell(
                f"iteration {state.iteration}  log-likelihood {number(state.log_likelihood)}"
            )

        try:
            result = run(tell)
        except KeyboardInterrupt:
            if not states:
                raise
            best = best_so_far(states)
            output.note(f"Interrupted: the parameters are those of iteration {best[-1].iteration}")
            return reached(best), False
    if result.symmetric:
        output.note(
            f"No row tells the states of {', '.join(result.symmetric)} apart, so EM also started "
            f"from random points: the best of {result.starts} starts was kept"
        )
    if not result.converged:
        output.note(f"EM had not converged after {result.iterations} iterations")
    return result, True
