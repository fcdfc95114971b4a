"""``exactlearn fit``: the parameters of a model with a given structure."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import exactlearn as el
from exactlearn._runtime.compilation_notice import clock
from exactlearn._runtime.control import SearchControl
from exactlearn._runtime.files import suffix_of
from exactlearn.bayesnet.ascent import EMResult, EMState
from exactlearn.bayesnet.deletion import DELETION_METHODS, DeletionFit
from exactlearn.bayesnet.em import fit_with_indicators, network_of, without_indicators
from exactlearn.bayesnet.row_completion import elimination_cells
from exactlearn.commands.declarations import Fit
from exactlearn.commands.output import Answer, Output, require_suffix, worst
from exactlearn.commands.tables import Rows, load_merged, rows_for
from exactlearn.data.dataset import require_weight
from exactlearn.data.missingness_graph import IGNORABLE
from exactlearn.errors import OptionError, TooLargeError
from exactlearn.formats.graph_file import STRUCTURES, read_missingness
from exactlearn.formats.models import GRAPHS, NAIVE_BAYES, NETWORKS
from exactlearn.instances import locate
from exactlearn.queries.model_graphs import Model
from exactlearn.reporting.description import number

MAX_CELLS = 3e9
"""Table cells, of about 6 ns each, that the log-likelihood of a closed-form estimate may take."""

Floats = NDArray[np.float64]

Run = Callable[..., EMResult[Any]]
"""Runs EM with a monitor and a time limit."""

ModelOf = Callable[[Floats], Model]
"""Returns the model with the parameters of an iteration."""

Fitted = tuple[Model, dict[str, Any], str]
"""A fitted model, the keys of its record, and how the fit ended."""


def run(options: Fit, output: Output) -> Answer:
    """Run the command."""
    model = _model(options)
    formats, em_of = MODEL_CLASSES[type(model)]
    require_suffix(output.path, tuple(formats))
    rows = rows_for(options.table, options, model, output, options.time_limit)
    begun = clock()  # without the reading
    require_weight(rows.table, "fit to")
    graph = None
    if options.missingness is not None:
        graph = read_missingness(options.missingness)
        graph.check_table(rows.table)
    # what is given replaces the defaults of the method
    tuning = {name: getattr(options, name) for name in TUNING if options.is_given(name)}
    method = options.method or _default_method(model, rows.table, graph, tuning)
    if method == "em" and (graph is None or isinstance(model, el.BayesianNetwork)):
        if "start" in tuning:
            tuning["start"] = _start(tuning["start"], model, rows.table)
        em = em_of(model, rows.table, graph or IGNORABLE, seed=options.seed, **tuning)
        fitted, record, ended = _by_em(em, graph, output, rows.time_left)
    elif isinstance(model, el.BayesianNetwork):
        separators = graph or options.separators or None
        fitted, record, ended = _in_closed_form(
            model, rows, method, separators, tuning, output
        )
    else:
        raise OptionError(
            "--method and --missingness are for a network; fit other models by 'em'"
        )
    if graph is not None:
        record["missingness"] = graph.kind
    record |= {"seconds": clock() - begun, **rows.record}
    write = partial(el.write_model, fitted)
    return output.save(record, write=write, status=worst(rows.ended, ended))


def _model(options: Fit) -> Model:
    """Read the model; a graph without parameters gets the table's states, and uniform ones."""
    suffix = suffix_of(locate(options.source, ".bif"))
    if suffix not in STRUCTURES:
        # a network's own parameters do not count
        return el.read_model(options.source, normalise=suffix in NETWORKS)
    graph = el.read_graph(options.source)
    table = load_merged(options.table, options, options.cluster)
    states = tuple(table.states[table.index(name)] for name in graph.names)
    no_rows = el.Dataset(np.empty((0, len(states)), np.int8), graph.names, states)
    return el.fit_complete(no_rows, graph.parents)


def _default_method(
    model: Model,
    data: el.Dataset,
    graph: el.MissingnessGraph | None,
    tuning: Mapping[str, Any],
) -> str:
    """Return the method where none is given: a closed form unless an option of EM is given."""
    if tuning.keys() - {"smoothing"} or not isinstance(model, el.BayesianNetwork):
        return "em"
    if graph is not None:
        return "graph"
    return "complete" if data.is_complete else "em"


def _network_em(
    model: el.BayesianNetwork,
    data: el.Dataset,
    graph: el.MissingnessGraph,
    **tuning: Any,
) -> tuple[Run, ModelOf]:
    """Return EM for a network together with the missingness indicators of a graph."""
    # Indicators stand after the variables, each with the causes that the graph gives
    # it.
    families = [*model.parents, *graph.parents(data.names)]
    extended = graph.extended(data)

    def run(**monitor: Any) -> EMResult[Any]:
        result = fit_with_indicators(data, model.parents, graph, **tuning, **monitor)
        return replace(result, model=without_indicators(result.model, graph))

    def model_of(parameters: Floats) -> Model:
        return without_indicators(network_of(extended, families, parameters), graph)

    return run, model_of


def _naive_bayes_em(
    model: el.NaiveBayes,
    data: el.Dataset,
    graph: el.MissingnessGraph,
    *,
    seed: int,
    **tuning: Any,
) -> tuple[Run, ModelOf]:
    """Return EM for a naive Bayes model, which has no random starts."""
    if "starts" in tuning:
        raise OptionError(
            "--starts: a naive Bayes model starts from its own parameters only"
        )

    def model_of(parameters: Floats) -> Model:
        table = parameters.reshape(-1, model.n_components)
        return replace(model, prior=table[0], parameters=table[1:])

    return partial(el.fit_naive_bayes, model, data, **tuning), model_of


def _decision_graph_em(
    model: el.DecisionGraph,
    data: el.Dataset,
    graph: el.MissingnessGraph,
    **tuning: Any,
) -> tuple[Run, ModelOf]:
    """Return EM for a decision graph."""
    return partial(el.refine, model, data, **tuning), model.with_parameters


MODEL_CLASSES: Mapping[
    type[Model], tuple[Mapping[str, Any], Callable[..., tuple[Run, ModelOf]]]
] = {
    el.BayesianNetwork: (NETWORKS, _network_em),
    el.NaiveBayes: (NAIVE_BAYES, _naive_bayes_em),
    el.DecisionGraph: (GRAPHS, _decision_graph_em),
}
"""The file formats of each class of models, and its EM."""

TUNING = ("iterations", "tolerance", "starts", "start", "smoothing")
"""Options of EM; closed forms have the last one."""


def _by_em(
    em: tuple[Run, ModelOf],
    graph: el.MissingnessGraph | None,
    output: Output,
    time_limit: float | None,
) -> Fitted:
    """Fit a model by EM: a network together with the indicators of a missingness graph."""
    result, ended = _monitored(*em, output, time_limit)
    # The likelihood before the first iteration tells what EM gained.
    record = {
        "log_likelihood": result.log_likelihood,
        "log_likelihood_before": result.log_likelihoods[0],
        "iterations": result.iterations,
        "converged": result.converged,
        "starts": [start._asdict() for start in result.starts],
    }
    if result.smoothing is not None:
        record["smoothing"] = result.smoothing
    if graph is not None:
        output.note(
            "The log-likelihood is that of the observed cells and of which are missing"
        )
        # Parameters that the graph does not let one recover are marked, family by
        # family.
        network = result.model
        recoveries = el.recoverability(network.parents, network.names, graph)
        record["families"] = {family.child: family.to_dict() for family in recoveries}
    return result.model, record, ended


def _start(start: str, model: Model, data: el.Dataset) -> el.BayesianNetwork:
    """Return the first network of EM: the estimate of a closed form, or the network in a file."""
    if not isinstance(model, el.BayesianNetwork):
        raise OptionError(
            "--start is for a network; a decision graph or a naive Bayes model starts from its own "
            "parameters: leave --start out"
        )
    # a run file puts its folder before what may be the name of a file
    method = Path(start).name
    if method in DELETION_METHODS and not Path(start).exists():
        return el.fit_deletion(data, model.parents, method=method).model
    return el.read_network(start)


def _monitored(
    run: Run, model_of: ModelOf, output: Output, time_limit: float | None
) -> tuple[EMResult[Any], str]:
    """Run EM, show its progress and write its best models; return its result, and how it ended."""
    best: EMState | None = None
    begun = 0
    with output.progress_display("EM") as display:

        def report(state: EMState) -> None:
            nonlocal begun, best
            # each start begins with a state before its first iteration
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
    # a limit or an interrupt came before the last start converged
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


def _in_closed_form(
    model: el.BayesianNetwork,
    rows: Rows,
    method: str,
    separators: Any,
    tuning: Mapping[str, Any],
    output: Output,
) -> Fitted:
    """Estimate a network by deletion, or by the formulas of a missingness graph."""
    if method == "graph":
        estimate = partial(el.fit_by_missingness_graph, missingness=separators)
    else:
        # 'complete' counts available cases
        estimator: Any = "aca" if method == "complete" else method
        estimate = partial(el.fit_deletion, method=estimator, separators=separators)
    fit: DeletionFit = estimate(rows.table, model.parents, **tuning)
    # deletion needs no inference, but its likelihood does
    record: dict[str, Any] = {"log_likelihood": None, "iterations": 1}
    if rows.ended != "interrupted":
        record["log_likelihood"] = _log_likelihood(fit.model, rows.table, output)
    if not rows.table.is_complete:
        record |= _families(fit, output)
    return fit.model, record, "finished"


def _log_likelihood(
    network: el.BayesianNetwork, data: el.Dataset, output: Output
) -> float | None:
    """Return the log-likelihood of the observed cells; ``None`` where inference takes too long."""
    try:
        cells = elimination_cells(network, network.aligned_codes(data))
        if cells > MAX_CELLS:
            raise TooLargeError(
                f"it takes {cells:.1e} table cells; 'evaluate' computes it"
            )
        return network.log_likelihood(data)
    except TooLargeError as error:
        output.note(f"The log-likelihood is left out: {error}")
        return None


def _families(fit: DeletionFit, output: Output) -> dict[str, dict[str, Any]]:
    """Return the rows and formulas of each family's estimate; note families without support."""
    keys = ("separators", "families", "rows_per_family", "replaced")
    content: dict[str, dict[str, Any]] = {key: {} for key in keys}
    for name, family in zip(fit.model.names, fit.families, strict=True):
        recovery = family.recovery
        if recovery is not None and not recovery.is_recoverable:
            output.note(
                f"{recovery.formula()}. It was estimated in the rows that observe it, which "
                "is biased where the graph is right; '--method em' may do better"
            )
        elif family.weights.keys() == {"prior"}:
            output.note(
                f"No row observes the family of {name!r}: its estimate rests on the smoothing; "
                "'--method em' uses all observed cells"
            )
        # what the estimate of this family rests on
        if family.separators is not None:
            content["separators"][name] = family.separators
        if recovery is not None:
            content["families"][name] = recovery.to_dict()
        content["rows_per_family"][name] = family.rows
        if name in fit.unsupported:
            content["replaced"][name] = {
                method: rows
                for method, rows in family.weights.items()
                if method != fit.method
            }
    return {key: families for key, families in content.items() if families}
