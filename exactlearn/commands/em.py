"""EM with its progress displayed; Ctrl-C keeps its best parameters. For ``fit`` and ``run``."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.ascent import EMResult, EMState, best_so_far
from exactlearn._runtime.control import SearchControl
from exactlearn.bayesnet.em import MOST_ITERATIONS, TOLERANCE, fit_em, network_of
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.commands.output import Output
from exactlearn.commands.progress import Checkpoint
from exactlearn.commands.sections import GraphParameters, NetworkParameters
from exactlearn.data.dataset import Dataset
from exactlearn.formats.models import write_model
from exactlearn.pdg.learn.refine import refine
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.reporting.report import number

M = TypeVar("M", BayesianNetwork, DecisionGraph)


def fitted_network(
    data: Dataset,
    parents: Sequence[Sequence[int]],
    output: Output,
    path: Path | None,
    *,
    smoothing: float = NetworkParameters.smoothing,
    tolerance: float = TOLERANCE,
    iterations: int = MOST_ITERATIONS,
) -> tuple[EMResult[BayesianNetwork], bool]:
    """Fit a network with given parents to a table with missing cells, as :func:`refined`."""
    run = partial(
        fit_em, data, parents, alpha=smoothing, tolerance=tolerance, iterations=iterations
    )
    return with_progress(
        lambda report: run(on_iteration=report), partial(network_of, data, parents), path, output
    )


def refined(
    graph: DecisionGraph, data: Dataset, options: GraphParameters, output: Output, path: Path | None
) -> tuple[EMResult[DecisionGraph], bool]:
    """Refine the parameters of a decision graph on a table with missing cells, as declared.

    The graph of each iteration is written to a file as :func:`with_progress` writes, where there
    is one.

    Returns
    -------
    result, finished
        Not finished at Ctrl-C and SIGTERM: the result is the best that EM had reached.
    """
    run = partial(
        refine,
        graph,
        data,
        iterations=options.iterations,
        tolerance=options.tolerance,
        alpha=options.smoothing,
    )
    return with_progress(
        lambda report: run(on_iteration=report), graph.with_parameters, path, output
    )


def em_record(result: EMResult[Any]) -> dict[str, Any]:
    """Return the JSON record of how EM went."""
    return {
        "log_likelihood": result.log_likelihoods[-1],
        "log_likelihood_before": result.log_likelihoods[0],
        "iterations": result.iterations,
        "converged": result.converged,
        "starts": result.starts,
    }


def with_progress(
    run: Callable[[Callable[[EMState], None]], EMResult[M]],
    model: Callable[[NDArray[np.float64]], M],
    path: Path | None,
    output: Output,
) -> tuple[EMResult[M], bool]:
    """Run EM and report its progress; return its result, and whether it ended by itself.

    The best model so far is written as often as a :class:`~exactlearn.commands.progress.Checkpoint`
    allows, so that not even a kill loses it.

    Parameters
    ----------
    run
        Runs EM with a function to be called with each state.
    model
        Returns the model with some parameters.
    path
        Where the model is written, if anywhere.
    """
    states: list[EMState] = []
    with output.progress_display("EM") as display:
        checkpoint = Checkpoint(display.warn)

        def write() -> None:
            if path is not None:
                write_model(model(best_so_far(states)[-1].parameters), path)

        def report(state: EMState) -> None:
            states.append(state)
            checkpoint.keep(state.objective, write)
            display.tell(
                f"iteration {state.iteration}  log-likelihood {number(state.log_likelihood)}"
            )

        with SearchControl().running() as control:
            result = run(report)
    if control.is_stopped:
        output.note(f"Interrupted: the parameters are those of iteration {result.iterations}")
        return result, False
    if result.symmetric:
        output.note(
            f"No row tells the states of {', '.join(result.symmetric)} apart, so EM also started "
            f"from random points: the best of {result.starts} starts was kept"
        )
    if not result.converged:
        output.note(f"EM had not converged after {result.iterations} iterations")
    return result, True
