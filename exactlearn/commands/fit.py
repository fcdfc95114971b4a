"""``exactlearn fit``: the parameters of a network or a decision graph with a given structure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import nan
from time import monotonic
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from exactlearn.commands.options import output_options, reading_options
from exactlearn.commands.output import Output, require_suffix
from exactlearn.commands.refining import refined, told
from exactlearn.data import Dataset
from exactlearn.errors import ExitStatus, OptionError
from exactlearn.evaluation.table_queries import query_rows
from exactlearn.formats.model import Model, read_model, write_model
from exactlearn.instances import locate
from exactlearn.network import BayesianNetwork
from exactlearn.parameters.complete import available_rows, fit_available_cases
from exactlearn.parameters.em import MOST_ITERATIONS, TOLERANCE, fit_em
from exactlearn.parameters.network_em import EMState
from exactlearn.pdg.decision_graph import DecisionGraph
from exactlearn.pipeline import load_for
from exactlearn.report import facts, number, plain_table
from exactlearn.runs import GraphParameters, NetworkParameters, Reading


@click.command("fit")
@click.argument("source", metavar="MODEL.bif|MODEL.pdg.json")
@click.argument("table", metavar="DATA.csv")
@output_options
@reading_options
@click.option(
    "--method",
    type=click.Choice(["complete", "em"]),
    help="complete: a network by counting, each family (a variable and its parents) in the rows "
    "that observe all of it (available cases), whose numbers are told; em: a network or a decision "
    "graph from all observed cells.  [default: complete for a network and a table without missing "
    "cells, else em]",
)
@click.option(
    "--iterations",
    type=click.IntRange(0),
    help=f"em: most iterations.  [default: {GraphParameters.iterations} for a decision graph, "
    f"{MOST_ITERATIONS} for a network]",
)
@click.option(
    "--tolerance",
    type=click.FloatRange(0),
    help="em: least gain of the log-likelihood to go on, for a network of the smoothed one and "
    f"per row.  [default: {TOLERANCE:g}]",
)
@click.option(
    "--smoothing",
    type=click.FloatRange(0),
    help="Pseudo-count of every parameter.  [default: "
    f"{NetworkParameters.smoothing:g} for a network, {GraphParameters.smoothing:g} for a decision "
    "graph]",
)
def command(
    source: str,
    table: str,
    output: Output,
    reading: Reading,
    method: str | None,
    iterations: int | None,
    tolerance: float | None,
    smoothing: float | None,
) -> None:
    """Estimate the parameters of a model with a given structure.

    A network's own parameters do not count. -o writes the model with its new ones, in the format
    that it had. Ctrl-C ends EM with the parameters of its last iteration (exit status 130).
    """
    model = read_model(locate(source, ".bif"))
    is_network = isinstance(model, BayesianNetwork)
    require_suffix(output.path, (".bif",) if is_network else (".pdg.json",))
    dataset = load_for(locate(table, ".csv"), reading, model)
    method = method or ("complete" if is_network and dataset.is_complete else "em")
    options = {"iterations": iterations, "tolerance": tolerance, "smoothing": smoothing}
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    begun, finished = monotonic(), True
    used: Mapping[str, int] = {}
    fitted: Model
    log_likelihoods: Sequence[float]
    if isinstance(model, DecisionGraph):
        if method == "complete":
            raise OptionError(
                "--method complete fits a network (.bif); fit a decision graph with 'em'"
            )
        result, finished = refined(model, dataset, GraphParameters(**given), output, output.path)
        fitted, log_likelihoods = result.pdg, result.log_likelihoods
    elif method == "em":
        (fitted, log_likelihoods), finished = _by_em(model, dataset, given, output)
    else:
        fitted = _counted(model, dataset, given)
        log_likelihoods = (nan, _log_likelihood(fitted, dataset))
        used = _rows_used(model, dataset, output)
    record: dict[str, Any] = {
        "log_likelihood": log_likelihoods[-1],
        "iterations": len(log_likelihoods) - 1,
        "seconds": monotonic() - begun,
    }
    if used:
        record["rows_per_family"] = used
    if output.path is not None:
        write_model(fitted, output.path)
        output.wrote(output.path)
    facts_told = facts(
        log_likelihood=number(record["log_likelihood"]),
        iterations=str(record["iterations"]),
        seconds=number(record["seconds"], 2),
    )
    told_of_rows = ((name, str(rows)) for name, rows in used.items())
    rows_table = [plain_table(("family of", "rows"), told_of_rows, right=("rows",))] if used else []
    output.answer(record, facts_told, *rows_table)
    if not finished:
        click.get_current_context().exit(ExitStatus.INTERRUPTED)


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


def _by_em(
    network: BayesianNetwork, data: Dataset, given: Mapping[str, Any], output: Output
) -> tuple[tuple[BayesianNetwork, Sequence[float]], bool]:
    """Return the network with its parameters by EM and the log-likelihoods; whether it ended."""
    alpha = given.get("smoothing", NetworkParameters.smoothing)

    def run(on_iteration: Callable[[EMState], None]) -> tuple[BayesianNetwork, Sequence[float]]:
        result = fit_em(
            data,
            network.parents,
            alpha=alpha,
            tolerance=given.get("tolerance", TOLERANCE),
            most_iterations=given.get("iterations", MOST_ITERATIONS),
            on_iteration=on_iteration,
        )
        if not result.converged:
            output.note(f"EM had not converged after {result.iterations} iterations")
        return result.network, result.log_likelihoods

    def reached(states: Sequence[EMState]) -> tuple[BayesianNetwork, Sequence[float]]:
        fitted = _with_parameters(network, states[-1].parameters)
        return fitted, tuple(s.log_likelihood for s in states)

    def write(result: tuple[BayesianNetwork, Sequence[float]]) -> None:
        if output.path is not None:
            write_model(result[0], output.path)

    return told(run, reached, write, output)


def _with_parameters(network: BayesianNetwork, flat: NDArray[np.float64]) -> BayesianNetwork:
    """Return a network with other parameters, those of one variable after the other."""
    ends = np.cumsum([table.size for table in network.tables])[:-1]
    tables = zip(np.split(flat, ends), network.tables, strict=True)
    return replace(network, tables=tuple(new.reshape(old.shape) for new, old in tables))
