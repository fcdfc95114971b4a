"""``exactlearn fit``: the parameters of a network or a decision graph with a given structure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from math import nan
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.ascent import STARTS, EMResult, EMState
from exactlearn._runtime.control import SearchControl
from exactlearn.bayesnet.deletion import (
    DELETION_METHODS,
    SMOOTHING,
    DeletionFit,
    DeletionMethod,
    fit_deletion,
)
from exactlearn.bayesnet.em import MOST_ITERATIONS, TOLERANCE, network_of
from exactlearn.bayesnet.graph_deletion import fit_by_missingness_graph
from exactlearn.bayesnet.indicators import fit_with_indicators, without_indicators
from exactlearn.bayesnet.loopy_propagation import LoopyParameters
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.bayesnet.recoverability import recoverability
from exactlearn.bayesnet.row_completion import (
    log_likelihood_cells,
    observed_log_likelihood_rows,
)
from exactlearn.bayesnet.smoothing_choice import SmoothingChoice, choose_smoothing
from exactlearn.commands.declarations import Fit
from exactlearn.commands.large_tables import rows_for
from exactlearn.commands.output import Output, require_suffix
from exactlearn.commands.progress import Checkpoint
from exactlearn.commands.search import leave
from exactlearn.commands.sections import GraphParameters, NetworkParameters
from exactlearn.data.dataset import Dataset
from exactlearn.data.missingness_graph import IGNORABLE, MissingnessGraph
from exactlearn.errors import DataError, OptionError, TooLargeError
from exactlearn.formats.missingness_file import read_missingness
from exactlearn.formats.models import GRAPHS, NETWORKS, Model, read_model, write_model
from exactlearn.instances import locate
from exactlearn.pdg.learn.refine import refine
from exactlearn.pdg.learn.smoothing import choose_graph_smoothing
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.reporting.report import facts, number, percent, plain_table

if TYPE_CHECKING:
    from rich.table import Table

_LARGE_DEFECT = 0.1
"""Defect of the weights of a family that is worth a note."""

M = TypeVar("M", BayesianNetwork, DecisionGraph)

MOST_CELLS = 3e9
"""Table cells, of about 6 ns each, that the log-likelihood of a closed-form estimate may take."""


def run(options: Fit, output: Output) -> None:
    """Run the command."""
    model = read_model(locate(options.source, ".bif"))
    is_network = isinstance(model, BayesianNetwork)
    require_suffix(output.path, tuple(NETWORKS if is_network else GRAPHS))
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
        given["smoothing"] = choice.alpha
    used: Mapping[str, float] = {}
    replaced: Mapping[str, Mapping[str, float]] = {}
    how: dict[str, Any] = {}
    fitted: Model
    log_likelihoods: Sequence[float | None]
    if method in ("em", "em-bp"):
        if method == "em-bp":
            given["loopy"] = LoopyParameters()
        fitted, result, em_ended = _by_em(model, dataset, given, options.seed, graph, output)
        ended = em_ended if ended == "finished" else ended
        log_likelihoods, how = result.log_likelihoods, em_record(result)
        if graph is not None and isinstance(model, BayesianNetwork):
            how |= _decisions(model, graph, output)
        if method == "em-bp":
            how |= _approximation(result, output)
    elif isinstance(model, BayesianNetwork):
        fit = _by_deletion(model, dataset, method, given, graph, options)
        fitted = fit.model
        if not dataset.is_complete:
            used, replaced = _rows_used(fit), _replaced(fit)
            how = {**_separators(fit), **_recoveries(fit)}
            _note_unsupported(fit, given.get("smoothing"), output)
        how = {**how, **_standard_errors(fit)}
        is_stopped = ended == "interrupted"
        log_likelihoods = (nan, None if is_stopped else _log_likelihood(fitted, dataset, output))
    else:
        raise OptionError(
            f"--method {method} fits a network (.bif); fit a decision graph with 'em'"
        )
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
        record["smoothing"] = choice.alpha
        record["cross_validated_log_likelihood"] = choice.log_likelihood
    if used:
        record["rows_per_family"] = used
    if replaced:
        record["replaced"] = replaced
    if output.path is not None:
        write_model(fitted, output.path)
        output.wrote(output.path)
    summary = facts(
        log_likelihood=number(record["log_likelihood"]),
        iterations=str(record["iterations"]),
        seconds=number(record["seconds"], 2),
        **({} if choice is None else {"smoothing": number(choice.alpha, 4)}),
    )
    informed = how.get("separators", {}), how.get("families", {})
    output.answer(record, summary, *_rows_table(used, replaced, *informed))
    leave(ended)


def _missingness(options: Fit, model: Model, data: Dataset) -> MissingnessGraph | None:
    """Return the declared missingness graph, checked against the table."""
    if options.missingness is None:
        return None
    if not isinstance(model, BayesianNetwork):
        raise OptionError("--missingness: fits a network (.bif), not a decision graph")
    graph = read_missingness(options.missingness)
    graph.check_table(data)
    return graph


def _check_takes(options: Fit, method: str) -> None:
    """Raise an `OptionError` if an option of a deletion estimator is given to another method."""
    informed = ("id-mar", "if-mar")
    takers = {
        "separators": informed,
        "aggregation": ("f-mcar", "f-mar", "if-mar"),
        "missingness": ("graph", "em", "em-bp", *informed),
        "standard_errors": ("complete", *DELETION_METHODS),
    }
    for name, methods in takers.items():
        if getattr(options, name) not in (None, False) and method not in methods:
            flag = name.replace("_", "-")
            raise OptionError(
                f"--{flag}: method {method!r} takes none; leave it out, or add --method "
                f"{' or '.join(m for m in methods if m != 'graph')}"
            )


def _chosen_smoothing(model: Model, data: Dataset, seed: int) -> SmoothingChoice:
    """Return the pseudo-count chosen by cross-validation."""
    if isinstance(model, BayesianNetwork):
        return choose_smoothing(data, model.parents, seed=seed)
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
                f"{error}; or use --method em-bp, which approximates inference, or an estimator "
                "that needs none, such as --method d-mar"
            ) from None
        return result.model, result, ended
    if "loopy" in given:
        raise OptionError(
            "--method em-bp approximates the inference of a network (.bif); that of a decision "
            "graph is exact at any size: use --method em"
        )
    if "start" in given:
        raise OptionError(
            "--start: a decision graph starts from its own parameters; fit the graph that has "
            "those to start from, or leave --start out"
        )
    own = {f.name for f in fields(GraphParameters)}
    parameters = GraphParameters(**{k: v for k, v in given.items() if k in own})
    limits = {k: v for k, v in given.items() if k not in own}
    refinement, ended = refined(model, data, parameters, output, output.path, seed=seed, **limits)
    return refinement.model, refinement, ended


def _approximation(result: EMResult[Any], output: Output) -> dict[str, Any]:
    """Return the JSON record of how much of the inference was approximate, and say it."""
    found = result.approximation
    if found is None:
        output.note("No row is too large for exact inference: the result is that of 'em'")
        return {"approximate": False}
    output.note(
        "Inference was approximate, by loopy belief propagation, in "
        f"{percent(found.rows)} of the rows; the log-likelihood is Bethe's approximation. Its "
        f"messages had not converged in {percent(found.unconverged)} of the rows"
    )
    return {
        "approximate": True,
        "approximate_rows": found.rows,
        "unconverged_rows": found.unconverged,
    }


def _start(name: str) -> BayesianNetwork | DeletionMethod:
    """Return the deletion estimator of a name, or the network in a file."""
    if name in DELETION_METHODS:
        return name
    model = read_model(locate(name, ".bif"))
    if not isinstance(model, BayesianNetwork):
        raise OptionError(f"--start {name}: a network starts from a network, not a decision graph")
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
    usual = NetworkParameters.smoothing if method == "complete" else SMOOTHING
    alpha = given.get("smoothing", usual)
    if method == "graph" and graph is not None:
        return fit_by_missingness_graph(
            data, network.parents, graph, alpha=alpha, variances=options.standard_errors
        )
    estimator = "aca" if method == "complete" else cast(DeletionMethod, method)
    how = {"separators": graph or options.separators, "aggregation": options.aggregation}
    chosen: dict[str, Any] = {name: value for name, value in how.items() if value is not None}
    chosen["variances"] = options.standard_errors
    return fit_deletion(data, network.parents, method=estimator, alpha=alpha, **chosen)


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
        return data.total(observed_log_likelihood_rows(network, data))
    except TooLargeError as error:
        output.note(f"The log-likelihood is left out: {error}")
        return None


def _rows_used(fit: DeletionFit) -> dict[str, float]:
    """Return the rows that the estimate of each family used."""
    return {
        name: _plain(family.rows)
        for name, family in zip(fit.model.names, fit.families, strict=True)
    }


def _plain(weight: float) -> float:
    """Return a weight, as a whole number where it is one."""
    return int(weight) if weight.is_integer() else weight


def _replaced(fit: DeletionFit) -> dict[str, dict[str, float]]:
    """Return how many rows of a family each estimator other than the chosen one stands for."""
    unsupported = {*fit.unsupported}
    return {
        name: {other: _plain(rows) for other, rows in family.weights.items() if other != fit.method}
        for name, family in zip(fit.model.names, fit.families, strict=True)
        if name in unsupported
    }


def _separators(fit: DeletionFit) -> dict[str, dict[str, list[str]]]:
    """Return what the indicators of each family depend on, where the estimator is informed."""
    found = {
        name: list(family.separators)
        for name, family in zip(fit.model.names, fit.families, strict=True)
        if family.separators is not None
    }
    return {"separators": found} if found else {}


def _standard_errors(fit: DeletionFit) -> dict[str, dict[str, Any]]:
    """Return the standard errors of the parameters, tables as nested lists, where asked for."""
    found = {
        name: np.sqrt(family.variances).tolist()
        for name, family in zip(fit.model.names, fit.families, strict=True)
        if family.variances is not None
    }
    return {"standard_errors": found} if found else {}


def _recoveries(fit: DeletionFit) -> dict[str, dict[str, dict[str, Any]]]:
    """Return how the missingness graph recovers each family, if there is one."""
    found = {
        name: {
            **family.recovery.to_dict(),
            "rows": _plain(family.rows),
            "defect": family.defect,
        }
        for name, family in zip(fit.model.names, fit.families, strict=True)
        if family.recovery is not None
    }
    return {"families": found} if found else {}


def _decisions(
    network: BayesianNetwork, graph: MissingnessGraph, output: Output
) -> dict[str, dict[str, dict[str, Any]]]:
    """Return which families a missingness graph makes recoverable; say which EM may not find."""
    families = recoverability(network.parents, network.names, graph)
    for family in families:
        if family.kind == "not recoverable":
            output.note(
                f"{family.formula()}. What EM finds depends on its start, unless other variables "
                "tell the missing values"
            )
    return {"families": {family.child: family.to_dict() for family in families}}


def _note_unsupported(fit: DeletionFit, smoothing: float | None, output: Output) -> None:
    """Say which families no row observes, and how many needed a weaker estimator in part."""
    network, unsupported, partly = fit.model, {*fit.unsupported}, 0
    by_factors = fit.method == "f-mcar" and smoothing != 0
    what = (
        "it is estimated from its parts, and by the smoothing prior where all of it is needed"
        if by_factors
        else "its distributions are the smoothing prior alone, uniform; '--method f-mcar' with "
        "--smoothing above 0 estimates it from its parts"
    )
    for name, parents, family in zip(network.names, network.parents, fit.families, strict=True):
        recovery = family.recovery
        if recovery is not None and not recovery.is_recoverable:
            output.note(
                f"{recovery.formula()}. It was estimated in the rows that observe it, which is "
                "biased where the graph is right; '--method em' with the graph may do better"
            )
        elif family.observed == 0 and family.weights.keys() == {"prior"}:
            cells = ", ".join([name, *(network.names[p] for p in parents)])
            output.note(
                f"No row observes the family of {name!r} ({cells}): {what}, '--method em' "
                "from all observed cells"
            )
        else:
            partly += name in unsupported
    uneven = {
        name: family.defect
        for name, family in zip(network.names, fit.families, strict=True)
        if family.recovery is not None and family.defect > _LARGE_DEFECT
    }
    if uneven:
        worst = max(uneven, key=lambda name: uneven[name])
        output.note(
            f"{len(uneven)} of {len(fit.families)} families have too few rows for their formulas: "
            f"the weights of {worst!r} miss their sum by {uneven[worst]:.0%}; '--method em' with "
            "the graph uses all rows"
        )
    if partly:
        method = "the missingness graph" if fit.method == "graph" else fit.method
        output.note(
            f"{partly} of {len(fit.families)} families have rows that {method} has no "
            "estimate for: a weaker estimator stands in for it, in the column 'replaced'"
        )


def _rows_table(
    used: Mapping[str, float],
    replaced: Mapping[str, Mapping[str, float]],
    separators: Mapping[str, Sequence[str]],
    families: Mapping[str, Mapping[str, Any]],
) -> "list[Table]":
    """Return a table of the rows of each family, none where these are all rows."""
    if not used:
        return []
    columns: dict[str, Sequence[str]] = {"family of": [*used], "rows": [*map(str, used.values())]}
    if separators:
        columns["separators"] = [", ".join(separators.get(name, ())) for name in used]
    if families:
        columns |= {key: [families[name][key] for name in used] for key in ("kind", "formula")}
    if replaced:
        others = [replaced.get(name, {}) for name in used]
        columns["replaced"] = [", ".join(f"{k}: {n}" for k, n in one.items()) for one in others]
    return [plain_table([*columns], zip(*columns.values(), strict=True), right=("rows",))]


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
    loopy: LoopyParameters | None = None,
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
        alpha=smoothing,
        tolerance=tolerance,
        iterations=iterations,
        starts=starts,
        seed=seed,
        start=start,
        loopy=loopy,
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
        alpha=options.smoothing,
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
    }
