"""``exactlearn fit``: the parameters of a network or a decision graph with a given structure."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import nan
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.ascent import EMResult, EMState, best_so_far
from exactlearn._runtime.control import SearchControl
from exactlearn.bayesnet.complete_data import available_rows, fit_available_cases
from exactlearn.bayesnet.em import MOST_ITERATIONS, TOLERANCE, fit_em, network_of
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.commands.declarations import Fit
from exactlearn.commands.output import Output, require_suffix
from exactlearn.commands.pipeline import load_for
from exactlearn.commands.progress import Checkpoint
from exactlearn.commands.search import leave
from exactlearn.commands.sections import GraphParameters, NetworkParameters
from exactlearn.data.dataset import Dataset
from exactlearn.errors import OptionError
from exactlearn.formats.models import GRAPHS, NETWORKS, Model, read_model, write_model
from exactlearn.instances import locate
from exactlearn.pdg.learn.refine import refine
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.queries.table_queries import query_rows
from exactlearn.reporting.report import facts, number, plain_table

M = TypeVar("M", BayesianNetwork, DecisionGraph)


def run(options: Fit, output: Output) -> None:
    """Run the command."""
    model = read_model(locate(options.source, ".bif"))
    is_network = isinstance(model, BayesianNetwork)
    require_suffix(output.path, tuple(NETWORKS if is_network else GRAPHS))
    dataset = load_for(locate(options.table, ".csv"), options, model)
    method = options.method or ("complete" if is_network and dataset.is_complete else "em")
    keys = ("iterations", "tolerance", "smoothing", "time_limit")
    chosen = {name: getattr(options, name) for name in keys}
    given: dict[str, Any] = {name: value for name, value in chosen.items() if value is not None}
    begun, ended = monotonic(), "finished"
    used: Mapping[str, int] = {}
    how: dict[str, Any] = {}
    fitted: Model
    log_likelihoods: Sequence[float]
    if method == "em":
        fitted, result, ended = _by_em(model, dataset, given, output)
        log_likelihoods, how = result.log_likelihoods, {"starts": result.starts}
    elif isinstance(model, BayesianNetwork):
        fitted = _counted(model, dataset, given)
        log_likelihoods = (nan, _log_likelihood(fitted, dataset))
        used = _rows_used(model, dataset, output)
    else:
        raise OptionError("--method complete fits a network (.bif); fit a decision graph with 'em'")
    record: dict[str, Any] = {
        "log_likelihood": log_likelihoods[-1],
        "iterations": len(log_likelihoods) - 1,
        "seconds": monotonic() - begun,
        **how,
    }
    if used:
        record["rows_per_family"] = used
    if output.path is not None:
        write_model(fitted, output.path)
        output.wrote(output.path)
    summary = facts(
        log_likelihood=number(record["log_likelihood"]),
        iterations=str(record["iterations"]),
        seconds=number(record["seconds"], 2),
    )
    counts = ((name, str(rows)) for name, rows in used.items())
    rows_table = [plain_table(("family of", "rows"), counts, right=("rows",))] if used else []
    output.answer(record, summary, *rows_table)
    leave(ended)


def _by_em(
    model: Model, data: Dataset, given: Mapping[str, Any], output: Output
) -> tuple[Model, EMResult[Any], str]:
    """Return the model with its parameters by EM, how EM went, and its status at the end."""
    if not isinstance(model, BayesianNetwork):
        limit = {"time_limit": given.get("time_limit")}
        parameters = GraphParameters(**{k: v for k, v in given.items() if k not in limit})
        refinement, ended = refined(model, data, parameters, output, output.path, **limit)
        return refinement.model, refinement, ended
    result, ended = fitted_network(data, model.parents, output, output.path, **given)
    return result.model, result, ended


def _counted(network: BayesianNetwork, data: Dataset, given: Mapping[str, Any]) -> BayesianNetwork:
    """Return the network with the smoothed frequencies of each family."""
    for name in ("iterations", "tolerance"):
        if name in given:
            raise OptionError(f"--{name}: only 'em' iterates; leave it out, or add --method em")
    alpha = given.get("smoothing", NetworkParameters.smoothing)
    return fit_available_cases(data, network.parents, alpha=alpha)


def _log_likelihood(network: BayesianNetwork, data: Dataset) -> float:
    """Return the log-likelihood of the observed cells, minus infinity if a row is impossible."""
    if data.is_complete:
        return network.log_likelihood(data)
    return data.total(query_rows(network, data, []).log_probability_of_evidence)


def _rows_used(network: BayesianNetwork, data: Dataset, output: Output) -> dict[str, int]:
    """Return the rows that each family was counted in; nothing where these are all rows."""
    if data.is_complete:
        return {}
    rows = available_rows(data, network.parents)
    for name, family, count in zip(network.names, network.parents, rows, strict=True):
        if count == 0:
            cells = ", ".join([name, *(network.names[p] for p in family)])
            output.note(
                f"No row observes the family of {name!r} ({cells}): its distributions are the "
                "smoothing prior alone, uniform; '--method em' uses all observed cells"
            )
    return dict(zip(network.names, rows, strict=True))


def fitted_network(
    data: Dataset,
    parents: Sequence[Sequence[int]],
    output: Output,
    path: Path | None,
    *,
    smoothing: float = NetworkParameters.smoothing,
    tolerance: float = TOLERANCE,
    iterations: int = MOST_ITERATIONS,
    time_limit: float | None = None,
) -> tuple[EMResult[BayesianNetwork], str]:
    """Fit a network with given parents to a table with missing cells, as :func:`refined`."""
    run = partial(
        fit_em, data, parents, alpha=smoothing, tolerance=tolerance, iterations=iterations
    )
    model = partial(network_of, data, parents)
    return with_progress(run, model, path, output, time_limit)


def refined(
    graph: DecisionGraph,
    data: Dataset,
    options: GraphParameters,
    output: Output,
    path: Path | None,
    time_limit: float | None = None,
) -> tuple[EMResult[DecisionGraph], str]:
    """Refine the parameters of a decision graph on a table with missing cells, as declared.

    The graph of each iteration is written to a file as :func:`with_progress` writes, where there
    is one.

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
        alpha=options.smoothing,
    )
    return with_progress(run, graph.with_parameters, path, output, time_limit)


def with_progress(
    run: Callable[..., EMResult[M]],
    model: Callable[[NDArray[np.float64]], M],
    path: Path | None,
    output: Output,
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
            display.show(
                f"iteration {state.iteration}  log-likelihood {number(state.log_likelihood)}"
            )

        with SearchControl(time_limit).running() as control:
            result = run(on_iteration=report, time_limit=time_limit)
    if control.is_stopped or (control.is_over and not result.converged):
        cause = "Interrupted" if control.is_stopped else "Time limit reached"
        output.note(f"{cause}: the parameters are those of iteration {result.iterations}")
        return result, control.status
    if result.symmetric:
        output.note(
            f"No row tells the states of {', '.join(result.symmetric)} apart, so EM also started "
            f"from random points: the best of {result.starts} starts was kept"
        )
    if not result.converged:
        output.note(f"EM had not converged after {result.iterations} iterations")
    return result, "finished"


def em_record(result: EMResult[Any]) -> dict[str, Any]:
    """Return the JSON record of how EM went."""
    return {
        "log_likelihood": result.log_likelihoods[-1],
        "log_likelihood_before": result.log_likelihoods[0],
        "iterations": result.iterations,
        "converged": result.converged,
        "starts": result.starts,
    }
