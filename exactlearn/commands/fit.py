"""``exactlearn fit``: the parameters of a model with a given structure."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import partial
from math import nan
from time import monotonic
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.ascent import EMResult
from exactlearn._runtime.files import suffix_of
from exactlearn.bayesnet.component_em import choose_component_smoothing, fit_naive_bayes
from exactlearn.bayesnet.deletion import (
    DELETION_METHODS,
    DeletionFit,
    DeletionMethod,
    fit_deletion,
)
from exactlearn.bayesnet.graph_deletion import fit_by_missingness_graph
from exactlearn.bayesnet.naive_bayes import NaiveBayes
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.bayesnet.recoverability import recoverability
from exactlearn.bayesnet.row_completion import (
    log_likelihood_cells,
)
from exactlearn.bayesnet.smoothing_choice import SmoothingChoice, choose_smoothing
from exactlearn.commands.answer import Answer
from exactlearn.commands.declarations import Fit
from exactlearn.commands.deletion_report import (
    deletion_record,
    note_support,
)
from exactlearn.commands.em_runs import (
    em_record,
    fitted_network,
    refined,
    with_progress,
)
from exactlearn.commands.large_tables import load_merged, rows_for
from exactlearn.commands.output import Output, require_suffix
from exactlearn.commands.sections import GraphParameters, NetworkParameters
from exactlearn.data.dataset import Dataset
from exactlearn.data.missingness_graph import IGNORABLE, MissingnessGraph
from exactlearn.errors import DataError, OptionError, TooLargeError, did_you_mean
from exactlearn.formats.graph_file import STRUCTURES, read_graph
from exactlearn.formats.missingness_file import read_missingness
from exactlearn.formats.models import GRAPHS, NAIVE_BAYES, NETWORKS, read_model, write_model
from exactlearn.instances import locate
from exactlearn.pdg.learn.smoothing import choose_graph_smoothing
from exactlearn.queries.evidence import Model

MOST_CELLS = 3e9
"""Table cells, of about 6 ns each, that the log-likelihood of a closed-form estimate may take."""


def run(options: Fit, output: Output) -> Answer:
    """Run the command."""
    model = _model(options)
    is_network = isinstance(model, BayesianNetwork)
    formats = NAIVE_BAYES if isinstance(model, NaiveBayes) else GRAPHS
    require_suffix(output.path, tuple(NETWORKS if is_network else formats))
    rows = rows_for(options.table, options, model, output, options.time_limit)
    dataset, ended = rows.table, rows.ended
    if not dataset.row_weights.any():
        raise DataError("the table has no rows of positive weight: nothing to fit to")
    graph = _missingness(options, model, dataset)
    default = "graph" if graph else "complete" if is_network and dataset.is_complete else "em"
    method = options.method or default
    _check_takes(options, method)
    keys = ("iterations", "tolerance", "smoothing", "time_limit", "starts", "start")
    chosen = {name: getattr(options, name) for name in keys}
    given: dict[str, Any] = {name: value for name, value in chosen.items() if value is not None}
    if rows.time_left is not None:
        given["time_limit"] = rows.time_left
    begun = monotonic()
    choice: SmoothingChoice | None = None
    if options.smoothing == "cv":
        choice = _chosen_smoothing(model, dataset, options.seed)
        given["smoothing"] = choice.smoothing
    how: dict[str, Any] = {}
    fitted: Model
    log_likelihoods: Sequence[float | None]
    if method == "em":
        fitted, result, em_ended = _by_em(model, dataset, given, options.seed, graph, output)
        ended = em_ended if ended == "finished" else ended
        log_likelihoods, how = result.log_likelihoods, em_record(result)
        if graph is not None and isinstance(model, BayesianNetwork):
            how |= _decisions(model, graph, output)
    elif isinstance(model, BayesianNetwork):
        fit = _by_deletion(model, dataset, method, given, graph, options)
        fitted = fit.model
        how = deletion_record(fit, is_complete=dataset.is_complete)
        if not dataset.is_complete:
            note_support(fit, given.get("smoothing"), output)
        is_stopped = ended == "interrupted"
        log_likelihoods = (nan, None if is_stopped else _log_likelihood(fitted, dataset, output))
    else:
        raise OptionError(f"--method {method} fits a network; fit another model with 'em'")
    record: dict[str, Any] = {
        "log_likelihood": log_likelihoods[-1],
        "iterations": len(log_likelihoods) - 1,
        "seconds": monotonic() - begun,
        **rows.record,
        **how,
    }
    if graph is not None:
        record["missingness"] = graph.kind
    if choice is not None:
        record["smoothing"] = choice.smoothing
        record["cross_validated_log_likelihood"] = choice.log_likelihood
    if output.path is not None:
        write_model(fitted, output.path)
        output.wrote(output.path)
    return Answer(record=record, status=ended)


def _model(options: Fit) -> Model:
    """Read the model; the variables of a graph without parameters get their states of the table."""
    if suffix_of(locate(options.source, ".bif")) not in STRUCTURES:
        return read_model(options.source)
    graph, table = read_graph(options.source), load_merged(options.table, options, options.cluster)
    for name in graph.names:
        if name not in table.names:
            raise DataError(
                f"{options.table}: no column {name!r}, a variable of {options.source}"
                f"{did_you_mean(name, table.names)}"
            )
    states = tuple(table.states[table.names.index(name)] for name in graph.names)
    sizes = [len(own) for own in states]
    tables = tuple(
        np.full([sizes[p] for p in (*family, v)], 1 / sizes[v])
        for v, family in enumerate(graph.parents)
    )
    return BayesianNetwork(graph.names, states, graph.parents, tables)


def _missingness(options: Fit, model: Model, data: Dataset) -> MissingnessGraph | None:
    """Return the declared missingness graph, checked against the table."""
    if options.missingness is None:
        return None
    if not isinstance(model, BayesianNetwork):
        raise OptionError("--missingness: fits a network only")
    graph = read_missingness(options.missingness)
    graph.check_table(data)
    return graph


def _check_takes(options: Fit, method: str) -> None:
    """Raise an `OptionError` if an option is given to a method that does not have it."""
    informed = ("id-mar", "if-mar")
    takers = {
        "separators": informed,
        "aggregation": ("f-mcar", "f-mar", "if-mar"),
        "missingness": ("graph", "em", *informed),
    }
    for name, methods in takers.items():
        if getattr(options, name) is not None and method not in methods:
            raise OptionError(
                f"--{name}: method {method!r} takes none; leave it out, or add --method "
                f"{' or '.join(m for m in methods if m != 'graph')}"
            )


def _chosen_smoothing(model: Model, data: Dataset, seed: int) -> SmoothingChoice:
    """Return the pseudo-count chosen by cross-validation."""
    if isinstance(model, BayesianNetwork):
        return choose_smoothing(data, model.parents, seed=seed)
    if isinstance(model, NaiveBayes):
        return choose_component_smoothing(model, data, seed=seed)
    return choose_graph_smoothing(model, data, prior="start", seed=seed)


def _by_em(
    model: Model,
    data: Dataset,
    given: Mapping[str, Any],
    seed: int,
    graph: MissingnessGraph | None,
    output: Output,
) -> tuple[Model, EMResult[Any], str]:
    """Return the model with its parameters by EM, how EM went, and its status at the end."""
    if isinstance(model, BayesianNetwork):
        how = {**given, "start": _start(given["start"])} if "start" in given else given
        if graph is not None:
            output.note("The log-likelihood is that of the observed cells and of which are missing")
        try:
            result, ended = fitted_network(
                data,
                model.parents,
                output,
                output.path,
                graph=graph or IGNORABLE,
                seed=seed,
                **how,
            )
        except TooLargeError as error:
            raise TooLargeError(
                f"{error}; or use an estimator that needs no inference, such as --method d-mar"
            ) from None
        return result.model, result, ended
    if "start" in given:
        raise OptionError(
            "--start: a decision graph or naive Bayes model starts from its own parameters; fit "
            "the model that has those to start from, or leave --start out"
        )
    if isinstance(model, NaiveBayes):
        return _by_component_em(model, data, given, output)
    own = {f.name for f in fields(GraphParameters)}
    parameters = GraphParameters(**{k: v for k, v in given.items() if k in own})
    limits = {k: v for k, v in given.items() if k not in own}
    refinement, ended = refined(model, data, parameters, output, output.path, seed=seed, **limits)
    return refinement.model, refinement, ended


def _by_component_em(
    model: NaiveBayes, data: Dataset, given: Mapping[str, Any], output: Output
) -> tuple[NaiveBayes, EMResult[NaiveBayes], str]:
    """Return a naive Bayes model after EM from its own parameters, as :func:`_by_em`."""
    if given.get("starts", 1) != 1:
        raise OptionError("--starts: a naive Bayes model starts from its own parameters only")
    known = {"smoothing": "smoothing", "iterations": "iterations", "tolerance": "tolerance"}
    how = {own: given[name] for name, own in known.items() if name in given}
    table = model.table

    def so_far(parameters: NDArray[np.float64]) -> NaiveBayes:
        found = parameters.reshape(table.shape)
        return NaiveBayes(model.names, model.states, found[0], found[1:])

    run = partial(fit_naive_bayes, model, data, **how)
    limit = given.get("time_limit")
    result, ended = with_progress(run, so_far, output.path, output, 1, limit)
    return result.model, result, ended


def _start(name: str) -> BayesianNetwork | DeletionMethod:
    """Return the deletion estimator of a name, or the network in a file."""
    if name in DELETION_METHODS:
        return name
    model = read_model(name)
    if not isinstance(model, BayesianNetwork):
        raise OptionError(f"--start {name}: a network starts from a network")
    return model


def _by_deletion(
    network: BayesianNetwork,
    data: Dataset,
    method: str,
    given: Mapping[str, Any],
    graph: MissingnessGraph | None,
    options: Fit,
) -> DeletionFit:
    """Return the network estimated in closed form; ``complete`` counts available cases."""
    for name in ("iterations", "tolerance", "starts", "start"):
        if name in given:
            raise OptionError(f"--{name}: only 'em' iterates; leave it out, or add --method em")
    smoothing = given.get("smoothing", NetworkParameters.smoothing)
    if method == "graph" and graph is not None:
        return fit_by_missingness_graph(data, network.parents, graph, smoothing=smoothing)
    estimator = "aca" if method == "complete" else cast(DeletionMethod, method)
    how = {"separators": graph or options.separators, "aggregation": options.aggregation}
    chosen: dict[str, Any] = {name: value for name, value in how.items() if value is not None}
    return fit_deletion(data, network.parents, method=estimator, smoothing=smoothing, **chosen)


def _log_likelihood(network: BayesianNetwork, data: Dataset, output: Output) -> float | None:
    """Return the log-likelihood of the observed cells, minus infinity if a row is impossible.

    Nothing where exact inference is too large, or takes much longer than these estimates, which
    need none.
    """
    if data.is_complete:
        return network.log_likelihood(data)
    cells = log_likelihood_cells(network, data)
    if cells > MOST_CELLS:
        output.note(
            f"The log-likelihood is left out: it takes about {cells:.1e} table cells, more than "
            f"{MOST_CELLS:.0e}; 'evaluate' computes it where exact inference is not too large"
        )
        return None
    try:
        return network.log_likelihood(data)
    except TooLargeError as error:
        output.note(f"The log-likelihood is left out: {error}")
        return None


def _decisions(
    network: BayesianNetwork, graph: MissingnessGraph, output: Output
) -> dict[str, dict[str, dict[str, Any]]]:
    """Return which families a missingness graph makes recoverable; say which EM may not find."""
    families = recoverability(network.parents, network.names, graph)
    for family in families:
        if family.kind == "not recoverable":
            output.note(
                f"{family.formula()}. What EM finds depends on its start, unless other variables "
                "determine the missing values"
            )
    return {"families": {family.child: family.to_dict() for family in families}}
