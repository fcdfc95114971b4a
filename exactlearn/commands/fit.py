"""``exactlearn fit``: the parameters of a model with a given structure."""

from collections.abc import Callable, Iterator
from functools import partial
from time import monotonic
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.ascent import STARTS, EMResult, EMState
from exactlearn._runtime.control import SearchControl
from exactlearn._runtime.files import suffix_of
from exactlearn.bayesnet.component_em import fit_naive_bayes
from exactlearn.bayesnet.deletion import (
    DeletionFit,
    DeletionMethod,
    fit_deletion,
)
from exactlearn.bayesnet.em import network_of
from exactlearn.bayesnet.graph_deletion import fit_by_missingness_graph
from exactlearn.bayesnet.indicators import fit_with_indicators, without_indicators
from exactlearn.bayesnet.naive_bayes import NaiveBayes
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.bayesnet.recoverability import recoverability
from exactlearn.bayesnet.row_completion import log_likelihood_cells
from exactlearn.commands.answer import Answer
from exactlearn.commands.declarations import Fit
from exactlearn.commands.large_tables import load_merged, rows_for
from exactlearn.commands.output import Output, require_suffix
from exactlearn.commands.progress import Checkpoint
from exactlearn.commands.sections import NetworkParameters
from exactlearn.data.dataset import Dataset
from exactlearn.data.missingness_graph import IGNORABLE, MissingnessGraph
from exactlearn.errors import DataError, OptionError, TooLargeError, did_you_mean
from exactlearn.formats.graph_file import STRUCTURES, read_graph
from exactlearn.formats.missingness_file import read_missingness
from exactlearn.formats.models import GRAPHS, NAIVE_BAYES, NETWORKS, read_model, write_model
from exactlearn.instances import locate
from exactlearn.pdg.learn.refine import refine
from exactlearn.queries.evidence import Model
from exactlearn.reporting.description import number

MOST_CELLS = 3e9
"""Table cells, of about 6 ns each, that the log-likelihood of a closed-form estimate may take."""

_LARGE_DEFECT = 0.1
"""Defect of the weights of a family that is worth a note."""


def run(options: Fit, output: Output) -> Answer:
    """Run the command."""
    model = _model(options)
    is_network = isinstance(model, BayesianNetwork)
    formats = NAIVE_BAYES if isinstance(model, NaiveBayes) else GRAPHS
    require_suffix(output.path, tuple(NETWORKS if is_network else formats))
    rows = rows_for(options.table, options, model, output, options.time_limit)
    dataset, begun = rows.table, monotonic()
    if not dataset.row_weights.any():
        raise DataError("the table has no rows of positive weight: nothing to fit to")
    graph = _missingness(options, model, dataset)
    default = "graph" if graph else "complete" if is_network and dataset.is_complete else "em"
    method = options.method or default
    _check(options, model, method)
    given: dict[str, Any] = {} if options.smoothing is None else {"smoothing": options.smoothing}
    fitted: Model
    if method == "em":
        given |= {key: getattr(options, key) for key in OF_EM if options.is_given(key)}
        fitted, how, ended = _by_em(model, dataset, given, graph, options, output, rows.time_left)
    else:
        assert isinstance(model, BayesianNetwork)
        fit = _in_closed_form(model, dataset, method, given, graph, options)
        fitted, ended = fit.model, "finished"
        is_stopped = rows.ended == "interrupted"
        how = {"log_likelihood": None if is_stopped else _log_likelihood(fitted, dataset, output)}
        how["iterations"] = 1
        if not dataset.is_complete:
            how |= _families(fit)
            for remark in _remarks(fit, given.get("smoothing")):
                output.note(remark)
    record = {
        "log_likelihood": how.pop("log_likelihood"),
        "iterations": how.pop("iterations"),
        "seconds": monotonic() - begun,
        **rows.record,
        **how,
    }
    if graph is not None:
        record["missingness"] = graph.kind
    if output.path is not None:
        write_model(fitted, output.path)
        output.wrote(output.path)
    return Answer(record=record, status=ended if rows.ended == "finished" else rows.ended)


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


OF_EM = ("iterations", "tolerance", "starts")
"""Options of EM."""

_INFORMED = ("id-mar", "if-mar")

_TAKERS = {
    **dict.fromkeys(OF_EM, ("em",)),
    "separators": _INFORMED,
    "missingness": ("graph", "em", *_INFORMED),
}
"""Options that not all methods have, each with those that do."""


def _check(options: Fit, model: Model, method: str) -> None:
    """Refuse an option that the method, or the kind of model, does not have."""
    for name, methods in _TAKERS.items():
        if options.is_given(name) and method not in methods:
            known = " or ".join(m for m in methods if m != "graph")
            raise OptionError(
                f"--{name}: method {method!r} takes none; leave it out, or add --method {known}"
            )
    if isinstance(model, BayesianNetwork):
        return
    if method != "em":
        raise OptionError(f"--method {method} fits a network; fit another model with 'em'")
    if isinstance(model, NaiveBayes) and options.starts not in (None, 1):
        raise OptionError("--starts: a naive Bayes model starts from its own parameters only")


def _by_em(
    model: Model,
    data: Dataset,
    given: dict[str, Any],
    graph: MissingnessGraph | None,
    options: Fit,
    output: Output,
    time_limit: float | None,
) -> tuple[Model, dict[str, Any], str]:
    """Return the model with its parameters by EM, the record of how EM went, and how it ended."""
    run: Callable[..., EMResult[Any]]
    so_far: Callable[[NDArray[np.float64]], Model]
    if isinstance(model, BayesianNetwork):
        hidden = graph or IGNORABLE
        if graph is not None:
            output.note("The log-likelihood is that of the observed cells and of which are missing")
        given = {"smoothing": NetworkParameters.smoothing, **given}
        families = [*model.parents, *hidden.parents(data.names)]
        run = partial(fit_with_indicators, data, model.parents, hidden, seed=options.seed, **given)
        whole = partial(network_of, hidden.extended(data), families)

        def of_network(p: NDArray[np.float64]) -> Model:
            return without_indicators(whole(p), hidden)

        so_far = of_network
    elif isinstance(model, NaiveBayes):
        given.pop("starts", None)
        run = partial(fit_naive_bayes, model, data, **given)

        def of_components(p: NDArray[np.float64]) -> Model:
            tables = p.reshape(model.table.shape)
            return NaiveBayes(model.names, model.states, tables[0], tables[1:])

        so_far = of_components
    else:
        run = partial(refine, model, data, seed=options.seed, **given)
        so_far = model.with_parameters
    try:
        result, ended = _shown(run, so_far, output, options.starts, time_limit)
    except TooLargeError as error:
        hint = "; or use an estimator that needs no inference, such as --method d-mar"
        raise TooLargeError(f"{error}{hint * isinstance(model, BayesianNetwork)}") from None
    fitted = result.model
    record: dict[str, Any] = {
        "log_likelihood": result.log_likelihoods[-1],
        "log_likelihood_before": result.log_likelihoods[0],
        "iterations": result.iterations,
        "converged": result.converged,
        "starts": [start._asdict() for start in result.starts],
        **({} if result.smoothing is None else {"smoothing": result.smoothing}),
    }
    if isinstance(model, BayesianNetwork):
        fitted = without_indicators(fitted, hidden)
        if graph is not None:
            record |= _decisions(model, graph, output)
    return fitted, record, ended


def _shown(
    run: Callable[..., EMResult[Any]],
    model: Callable[[NDArray[np.float64]], Model],
    output: Output,
    starts: int | None,
    time_limit: float | None,
) -> tuple[EMResult[Any], str]:
    """Run EM and show its progress; return its result, and how it ended as a search.

    The best model so far is written as often as a :class:`~exactlearn.commands.progress.Checkpoint`
    allows, so that not even a kill loses it.
    """
    best: list[EMState] = []
    begun = 0
    with output.progress_display("EM") as display:
        checkpoint, path = Checkpoint(display.warn), output.path

        def report(state: EMState) -> None:
            nonlocal begun
            begun += state.iteration == 0
            if not best or state.objective > best[0].objective:
                best[:] = [state]
            if path is not None:
                parameters = best[0].parameters
                checkpoint.keep(state.objective, lambda: write_model(model(parameters), path))
            text = f"iteration {state.iteration}  log-likelihood {number(state.log_likelihood)}"
            if (of := starts or (STARTS if begun > 1 else 1)) > 1:
                text = f"start {begun} of {of}  {text}  best {number(best[0].log_likelihood)}"
            display.show(text)

        with SearchControl(time_limit).running() as control:
            result = run(on_iteration=report, time_limit=time_limit)
    if not result.is_complete:
        cause = "Interrupted" if control.is_stopped else "Time limit reached"
        of = starts or (STARTS if begun > 1 else 1)
        where, at = "", f"iteration {result.iterations}"
        if of > 1:
            objectives = [start.objective for start in result.starts]
            where = f" in start {begun} of {of}"
            at += f" from start {objectives.index(max(objectives)) + 1}, the best so far"
        output.note(f"{cause}{where}: the parameters are those of {at}")
        return result, control.status
    if result.symmetric and len(result.starts) > 1:
        output.note(
            f"No row tells the states of {', '.join(result.symmetric)} apart, so EM also started "
            f"from random points: the best of {len(result.starts)} starts was kept"
        )
    if not result.converged:
        output.note(f"EM had not converged after {result.iterations} iterations")
    return result, "finished"


def _in_closed_form(
    network: BayesianNetwork,
    data: Dataset,
    method: str,
    given: dict[str, Any],
    graph: MissingnessGraph | None,
    options: Fit,
) -> DeletionFit:
    """Return the network estimated in closed form; ``complete`` counts available cases."""
    given = {"smoothing": NetworkParameters.smoothing, **given}
    if method == "graph" and graph is not None:
        return fit_by_missingness_graph(data, network.parents, graph, **given)
    if graph or options.separators:
        given["separators"] = graph or options.separators
    estimator = "aca" if method == "complete" else cast(DeletionMethod, method)
    return fit_deletion(data, network.parents, method=estimator, **given)


def _log_likelihood(network: BayesianNetwork, data: Dataset, output: Output) -> float | None:
    """Return the log-likelihood of the observed cells, minus infinity if a row is impossible.

    Nothing where exact inference is too large, or takes much longer than these estimates, which
    need none.
    """
    cells = 0 if data.is_complete else log_likelihood_cells(network, data)
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


def _families(fit: DeletionFit) -> dict[str, dict[str, Any]]:
    """Return what an estimate in closed form used of each family."""
    found: dict[str, dict[str, Any]] = {
        key: {} for key in ("separators", "families", "rows_per_family", "replaced")
    }
    for name, family in zip(fit.model.names, fit.families, strict=True):
        found["rows_per_family"][name] = rows = _plain(family.rows)
        if name in fit.unsupported:
            weights = family.weights.items()
            found["replaced"][name] = {k: _plain(w) for k, w in weights if k != fit.method}
        if family.separators is not None:
            found["separators"][name] = list(family.separators)
        if family.recovery is not None:
            decision = family.recovery.to_dict()
            found["families"][name] = {**decision, "rows": rows, "defect": family.defect}
    return {key: content for key, content in found.items() if content}


def _plain(weight: float) -> float:
    """Return a weight, as a whole number where it is one."""
    return int(weight) if weight.is_integer() else weight


def _remarks(fit: DeletionFit, smoothing: float | None) -> Iterator[str]:
    """Yield what rows do not support: families without rows, weaker estimators, uneven weights."""
    network, partly, uneven = fit.model, 0, dict[str, float]()
    what = (
        "it is estimated from its parts, and by the smoothing prior where all of it is needed"
        if fit.method == "f-mcar" and smoothing != 0
        else "its distributions are the smoothing prior alone, uniform; '--method f-mcar' with "
        "--smoothing above 0 estimates it from its parts"
    )
    for name, parents, family in zip(network.names, network.parents, fit.families, strict=True):
        recovery = family.recovery
        if recovery is not None and not recovery.is_recoverable:
            yield (
                f"{recovery.formula()}. It was estimated in the rows that observe it, which is "
                "biased where the graph is right; '--method em' with the graph may do better"
            )
        elif family.observed == 0 and family.weights.keys() == {"prior"}:
            cells = ", ".join([name, *(network.names[p] for p in parents)])
            yield (
                f"No row observes the family of {name!r} ({cells}): {what}, '--method em' "
                "from all observed cells"
            )
        else:
            partly += name in fit.unsupported
        if recovery is not None and family.defect > _LARGE_DEFECT:
            uneven[name] = family.defect
    if partly:
        method = "the missingness graph" if fit.method == "graph" else fit.method
        yield (
            f"{partly} of {len(fit.families)} families have rows that {method} has no "
            "estimate for: a weaker estimator stands in for it, in the column 'replaced'"
        )
    if uneven:
        worst = max(uneven, key=lambda name: uneven[name])
        yield (
            f"{len(uneven)} of {len(fit.families)} families have too few rows for their formulas: "
            f"the weights of {worst!r} miss their sum by {uneven[worst]:.0%}; '--method em' with "
            "the graph uses all rows"
        )
