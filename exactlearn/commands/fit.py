"""``exactlearn fit``: the parameters of a model with a given structure."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

import exactlearn as el
from exactlearn._runtime.compilation_notice import clock
from exactlearn._runtime.control import SearchControl
from exactlearn._runtime.files import suffix_of
from exactlearn.bayesnet.deletion import DELETION_METHODS, DeletionFit, DeletionMethod
from exactlearn.bayesnet.em import fit_with_indicators, network_of, without_indicators
from exactlearn.bayesnet.em_result import EMResult, EMState
from exactlearn.bayesnet.row_completion import elimination_cells
from exactlearn.commands.declarations import Fit
from exactlearn.commands.output import Answer, Output, require_suffix
from exactlearn.commands.tables import load_merged, rows_for
from exactlearn.data.dataset import require_weight
from exactlearn.data.missingness_graph import IGNORABLE
from exactlearn.errors import OptionError, TooLargeError
from exactlearn.formats.graph_file import STRUCTURES, read_missingness
from exactlearn.formats.models import GRAPHS, NAIVE_BAYES, NETWORKS
from exactlearn.instances import locate
from exactlearn.queries.posteriors import Model
from exactlearn.reporting.description import number

MOST_CELLS = 3e9
"""Table cells, of about 6 ns each, that the log-likelihood of a closed-form estimate may take."""


def run(options: Fit, output: Output) -> Answer:
    """Run the command."""
    model = _model(options)
    is_network, is_naive = (
        isinstance(model, el.BayesianNetwork),
        isinstance(model, el.NaiveBayes),
    )
    formats = NETWORKS if is_network else NAIVE_BAYES if is_naive else GRAPHS
    require_suffix(output.path, tuple(formats))
    rows = rows_for(options.table, options, model, output, options.time_limit)
    data, begun = rows.table, clock()
    require_weight(data, "fit to")
    graph = (
        None if options.missingness is None else read_missingness(options.missingness)
    )
    if graph is not None:
        graph.check_table(data)
    tuned = ("iterations", "tolerance", "starts", "smoothing")
    given = {key: getattr(options, key) for key in tuned if options.is_given(key)}
    is_tuned = bool(given.keys() - {"smoothing"}) or options.start is not None
    is_closed = is_network and not is_tuned and (graph or data.is_complete)
    method = options.method or (
        "em" if not is_closed else "graph" if graph else "complete"
    )
    if is_naive and "starts" in given:
        raise OptionError(
            "--starts: a naive Bayes model starts from its own parameters only"
        )
    if options.start is not None:
        given["start"] = _start(options.start, model, data)
    fitted: Model
    if method == "em" and not (graph and not is_network):
        given |= {} if is_naive else {"seed": options.seed}
        fitted, how, ended = _by_em(model, data, graph, given, output, rows.time_left)
    elif isinstance(model, el.BayesianNetwork):
        if options.separators or (graph and method != "graph"):
            given["separators"] = graph or options.separators
        if graph and method == "graph":
            fit = el.fit_by_missingness_graph(data, model.parents, graph, **given)
        else:  # 'complete' counts available cases
            estimator = cast(DeletionMethod, "aca" if method == "complete" else method)
            fit = el.fit_deletion(data, model.parents, method=estimator, **given)
        fitted, ended, how = (
            fit.model,
            "finished",
            {"log_likelihood": None, "iterations": 1},
        )
        if rows.ended != "interrupted":
            how["log_likelihood"] = _log_likelihood(fitted, data, output)
        how |= {} if data.is_complete else _families(fit, output)
    else:
        raise OptionError(
            "--method and --missingness are for a network; fit other models by 'em'"
        )
    if graph is not None:
        how["missingness"] = graph.kind
    record = {**how, "seconds": clock() - begun, **rows.record}
    ended = rows.ended if rows.ended != "finished" else ended
    return output.save(record, write=partial(el.write_model, fitted), status=ended)


def _model(options: Fit) -> Model:
    """Read the model; a graph without parameters gets the table's states, and uniform ones."""
    suffix = suffix_of(locate(options.source, ".bif"))
    if suffix not in STRUCTURES:
        # a network's own parameters do not count
        return el.read_model(
            options.source, normalise=suffix in NETWORKS and NETWORKS[suffix].normalises
        )
    graph = el.read_graph(options.source)
    table = load_merged(options.table, options, options.cluster)
    states = tuple(table.states[table.index(name)] for name in graph.names)
    no_rows = el.Dataset(np.empty((0, len(states)), np.int8), graph.names, states)
    return el.fit_complete(no_rows, graph.parents)


def _start(start: str, model: Model, data: el.Dataset) -> el.BayesianNetwork:
    """Return what EM begins with: the estimate of a closed form, or the network in a file."""
    if not isinstance(model, el.BayesianNetwork):
        raise OptionError(
            "--start is for a network; a decision graph or a naive Bayes model starts from its own "
            "parameters: leave --start out"
        )
    method = Path(
        start
    ).name  # a run file puts its folder before what may be the name of a file
    if method in DELETION_METHODS and not Path(start).exists():
        return el.fit_deletion(data, model.parents, method=method).model
    return el.read_network(start)


def _with_components(
    model: el.NaiveBayes, parameters: NDArray[np.float64]
) -> el.NaiveBayes:
    """Return naive Bayes with a prior and tables that stand one after the other."""
    k = model.n_components
    return replace(
        model, prior=parameters[:k], parameters=parameters[k:].reshape(-1, k)
    )


def _by_em(
    model: Model,
    data: el.Dataset,
    graph: el.MissingnessGraph | None,
    given: Mapping[str, Any],
    output: Output,
    time_limit: float | None,
) -> tuple[Model, dict[str, Any], str]:
    """Return the model with its parameters by EM, the record of how EM went, and how it ended."""
    hidden = graph or IGNORABLE
    run: Callable[..., EMResult[Any]]
    model_of: Callable[[NDArray[np.float64]], Model]
    if isinstance(model, el.DecisionGraph):
        run, model_of = partial(el.refine, model, data, **given), model.with_parameters
    elif isinstance(model, el.NaiveBayes):
        run = partial(el.fit_naive_bayes, model, data, **given)
        model_of = partial(_with_components, model)
    else:
        families = [*model.parents, *hidden.parents(data.names)]
        whole = partial(network_of, hidden.extended(data), families)
        run = partial(fit_with_indicators, data, model.parents, hidden, **given)
        model_of = lambda parameters: without_indicators(whole(parameters), hidden)  # noqa: E731
    result, ended = _shown(run, model_of, output, time_limit)
    fitted = result.model
    record = {
        "log_likelihood": result.log_likelihood,
        "log_likelihood_before": result.log_likelihoods[0],
        "iterations": result.iterations,
        "converged": result.converged,
        "starts": [start._asdict() for start in result.starts],
        **({} if result.smoothing is None else {"smoothing": result.smoothing}),
    }
    if isinstance(model, el.BayesianNetwork):
        fitted = without_indicators(fitted, hidden)
        if graph is not None:
            output.note(
                "The log-likelihood is that of the observed cells and of which are missing"
            )
            recovered = el.recoverability(model.parents, model.names, graph)
            record["families"] = {one.child: one.to_dict() for one in recovered}
    return fitted, record, ended


def _shown(
    run: Callable[..., EMResult[Any]],
    model_of: Callable[[NDArray[np.float64]], Model],
    output: Output,
    time_limit: float | None,
) -> tuple[EMResult[Any], str]:
    """Run EM, show its progress and write its best models; return its result, and how it ended."""
    best: EMState | None = None
    begun = 0
    with output.progress_display("EM") as display:

        def report(state: EMState) -> None:
            nonlocal begun, best
            begun += state.iteration == 0
            if best is None or state.objective > best.objective:
                best = state
            parameters = best.parameters
            display.keep(
                state.objective, lambda path: el.write_model(model_of(parameters), path)
            )
            text = f"iteration {state.iteration}  log-likelihood {number(state.log_likelihood)}"
            if begun > 1:
                text = f"start {begun}  {text}  best {number(best.log_likelihood)}"
            display.show(text)

        with SearchControl(time_limit).running() as control:
            result = run(on_iteration=report, time_limit=time_limit)
    if not result.is_complete:
        cause = "Interrupted" if control.is_stopped else "Time limit reached"
        output.note(
            f"{cause}: the parameters are the best so far, of start {begun} or before"
        )
        return result, control.status
    if result.symmetric and len(result.starts) > 1:
        output.note(
            f"No row tells the states of {', '.join(result.symmetric)} apart, so EM also started "
            f"from random points: the best of {len(result.starts)} starts was kept"
        )
    return result, "finished"


def _log_likelihood(
    network: el.BayesianNetwork, data: el.Dataset, output: Output
) -> float | None:
    """Return the log-likelihood of the observed cells; nothing where inference takes too long."""
    try:
        cells = elimination_cells(network, network.aligned_codes(data))
        if cells > MOST_CELLS:
            raise TooLargeError(
                f"it takes {cells:.1e} table cells; 'evaluate' computes it"
            )
        return network.log_likelihood(data)
    except TooLargeError as error:
        output.note(f"The log-likelihood is left out: {error}")
        return None


def _families(fit: DeletionFit, output: Output) -> dict[str, dict[str, Any]]:
    """Return what an estimate in closed form used of each family; say what rows do not support."""
    families = [*zip(fit.model.names, fit.families, strict=True)]
    for name, family in families:
        if family.recovery is not None and not family.recovery.is_recoverable:
            output.note(
                f"{family.recovery.formula()}. It was estimated in the rows that observe it, which "
                "is biased where the graph is right; '--method em' may do better"
            )
        elif family.weights.keys() == {"prior"}:
            output.note(
                f"No row observes the family of {name!r}: its estimate rests on the smoothing; "
                "'--method em' uses all observed cells"
            )
    found: dict[str, dict[str, Any]] = {
        "separators": {
            k: f.separators for k, f in families if f.separators is not None
        },
        "families": {k: f.recovery.to_dict() for k, f in families if f.recovery},
        "rows_per_family": {k: f.rows for k, f in families},
        "replaced": {
            k: {other: rows for other, rows in f.weights.items() if other != fit.method}
            for k, f in families
            if k in fit.unsupported
        },
    }
    return {key: content for key, content in found.items() if content}
