"""EM on the command line: progress, checkpoints and limits, for networks and decision graphs."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.ascent import STARTS, EMResult, EMState
from exactlearn._runtime.control import SearchControl
from exactlearn.bayesnet.deletion import DeletionMethod
from exactlearn.bayesnet.em import MOST_ITERATIONS, TOLERANCE, network_of
from exactlearn.bayesnet.indicators import fit_with_indicators, without_indicators
from exactlearn.bayesnet.naive_bayes import NaiveBayes
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.commands.output import Output
from exactlearn.commands.progress import Checkpoint
from exactlearn.commands.sections import GraphParameters, NetworkParameters
from exactlearn.data.dataset import Dataset
from exactlearn.data.missingness_graph import IGNORABLE, MissingnessGraph
from exactlearn.formats.models import write_model
from exactlearn.pdg.learn.refine import refine
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.reporting.description import number

M = TypeVar("M", BayesianNetwork, DecisionGraph, NaiveBayes)


def fitted_network(
    data: Dataset,
    parents: Sequence[Sequence[int]],
    output: Output,
    path: Path | None,
    *,
    graph: MissingnessGraph = IGNORABLE,
    smoothing: float = NetworkParameters.smoothing,
    tolerance: float = TOLERANCE,
    iterations: int = MOST_ITERATIONS,
    starts: int | None = None,
    seed: int = 0,
    start: BayesianNetwork | DeletionMethod | None = None,
    time_limit: float | None = None,
) -> tuple[EMResult[BayesianNetwork], str]:
    """Fit a network with given parents to a table with missing cells, as :func:`refined`.

    With a missingness graph its indicators are fitted with it, and dropped from the network.
    """
    run = partial(
        fit_with_indicators,
        data,
        parents,
        graph,
        smoothing=smoothing,
        tolerance=tolerance,
        iterations=iterations,
        starts=starts,
        seed=seed,
        start=start,
    )
    table, families = graph.extended(data), [*parents, *graph.parents(data.names)]

    def model(parameters: NDArray[np.float64]) -> BayesianNetwork:
        return without_indicators(network_of(table, families, parameters), graph)

    result, ended = with_progress(run, model, path, output, starts, time_limit)
    return replace(result, model=without_indicators(result.model, graph)), ended


def refined(
    graph: DecisionGraph,
    data: Dataset,
    options: GraphParameters,
    output: Output,
    path: Path | None,
    *,
    starts: int | None = None,
    seed: int = 0,
    time_limit: float | None = None,
) -> tuple[EMResult[DecisionGraph], str]:
    """Refine the parameters of a decision graph on a table with missing cells, as declared.

    The best graph so far is written to a file as :func:`with_progress` writes, where there is one.

    Returns
    -------
    result, ended
        The result is the best that EM had reached; how it ended as of a search: ``interrupted``,
        ``feasible`` after the time limit, else ``finished``.
    """
    run = partial(
        refine,
        graph,
        data,
        iterations=options.iterations,
        tolerance=options.tolerance,
        smoothing=options.smoothing,
        starts=starts,
        seed=seed,
    )
    return with_progress(run, graph.with_parameters, path, output, starts, time_limit)


def with_progress(
    run: Callable[..., EMResult[M]],
    model: Callable[[NDArray[np.float64]], M],
    path: Path | None,
    output: Output,
    starts: int | None = None,
    time_limit: float | None = None,
) -> tuple[EMResult[M], str]:
    """Run EM and report its progress; return its result, and how it ended.

    The best model so far is written as often as a :class:`~exactlearn.commands.progress.Checkpoint`
    allows, so that not even a kill loses it.

    Parameters
    ----------
    run
        Runs EM with a function to be called with each state, and with a time limit.
    model
        Returns the model with some parameters.
    path
        Where the model is written, if anywhere.
    starts
        Number of starts, if given.
    """
    progress = _Progress(starts)
    with output.progress_display("EM") as display:
        checkpoint = Checkpoint(display.warn)

        def write() -> None:
            if path is not None and progress.best is not None:
                write_model(model(progress.best.parameters), path)

        def report(state: EMState) -> None:
            progress.add(state)
            checkpoint.keep(state.objective, write)
            display.show(progress.text(state))

        with SearchControl(time_limit).running() as control:
            result = run(on_iteration=report, time_limit=time_limit)
    if not result.is_complete:
        cause = "Interrupted" if control.is_stopped else "Time limit reached"
        where = f" in start {progress.start} of {progress.starts}" if progress.starts > 1 else ""
        best = f"iteration {result.iterations}"
        if where:
            best += f" from start {_best(result) + 1}, the best so far"
        output.note(f"{cause}{where}: the parameters are those of {best}")
        return result, control.status
    if result.symmetric and len(result.starts) > 1:
        output.note(
            f"No row tells the states of {', '.join(result.symmetric)} apart, so EM also started "
            f"from random points: the best of {len(result.starts)} starts was kept"
        )
    if not result.converged:
        output.note(f"EM had not converged after {result.iterations} iterations")
    return result, "finished"


class _Progress:
    """The best state of EM so far, and which start it is at.

    Parameters
    ----------
    starts
        Number of starts; without it, as many as EM takes where one start is not enough.
    """

    def __init__(self, starts: int | None) -> None:
        self.start, self._starts = 0, starts
        self.best: EMState | None = None

    @property
    def starts(self) -> int:
        """Number of starts."""
        return self._starts or (STARTS if self.start > 1 else 1)

    def add(self, state: EMState) -> None:
        """Note the next state."""
        self.start += state.iteration == 0
        if self.best is None or state.objective > self.best.objective:
            self.best = state

    def text(self, state: EMState) -> str:
        """Return what is displayed of a state."""
        text = f"iteration {state.iteration}  log-likelihood {number(state.log_likelihood)}"
        if self.best is None or self.starts == 1:
            return text
        best = number(self.best.log_likelihood)
        return f"start {self.start} of {self.starts}  {text}  best {best}"


def _best(result: EMResult[Any]) -> int:
    """Return the number of the best start, from 0."""
    objectives = [start.objective for start in result.starts]
    return objectives.index(max(objectives))


def em_record(result: EMResult[Any]) -> dict[str, Any]:
    """Return the JSON record of how EM went."""
    return {
        "log_likelihood": result.log_likelihoods[-1],
        "log_likelihood_before": result.log_likelihoods[0],
        "iterations": result.iterations,
        "converged": result.converged,
        "starts": [start._asdict() for start in result.starts],
        **({} if result.smoothing is None else {"smoothing": result.smoothing}),
    }
