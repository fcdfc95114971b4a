"""``exactlearn fit``: the parameters of a network or a decision graph with a given structure."""

from collections.abc import Mapping, Sequence
from math import nan
from time import monotonic
from typing import Any

from exactlearn._runtime.ascent import EMResult
from exactlearn.bayesnet.complete_data import available_rows, fit_available_cases
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.commands.declarations import Fit
from exactlearn.commands.em import fitted_network, refined
from exactlearn.commands.output import Output, require_suffix
from exactlearn.commands.pipeline import load_for
from exactlearn.commands.search import leave
from exactlearn.commands.sections import GraphParameters, NetworkParameters
from exactlearn.data.dataset import Dataset
from exactlearn.errors import OptionError
from exactlearn.formats.models import GRAPHS, NETWORKS, Model, read_model, write_model
from exactlearn.instances import locate
from exactlearn.queries.table_queries import query_rows
from exactlearn.reporting.report import facts, number, plain_table


def run(options: Fit, output: Output) -> None:
    """Run the command."""
    model = read_model(locate(options.source, ".bif"))
    is_network = isinstance(model, BayesianNetwork)
    require_suffix(output.path, tuple(NETWORKS if is_network else GRAPHS))
    dataset = load_for(locate(options.table, ".csv"), options, model)
    method = options.method or ("complete" if is_network and dataset.is_complete else "em")
    chosen = {name: getattr(options, name) for name in ("iterations", "tolerance", "smoothing")}
    given: dict[str, Any] = {name: value for name, value in chosen.items() if value is not None}
    begun, finished = monotonic(), True
    used: Mapping[str, int] = {}
    how: dict[str, Any] = {}
    fitted: Model
    log_likelihoods: Sequence[float]
    if method == "em":
        fitted, result, finished = _by_em(model, dataset, given, output)
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
    facts_told = facts(
        log_likelihood=number(record["log_likelihood"]),
        iterations=str(record["iterations"]),
        seconds=number(record["seconds"], 2),
    )
    told_of_rows = ((name, str(rows)) for name, rows in used.items())
    rows_table = [plain_table(("family of", "rows"), told_of_rows, right=("rows",))] if used else []
    output.answer(record, facts_told, *rows_table)
    if not finished:
        leave("interrupted")


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
    model: Model, data: Dataset, given: Mapping[str, Any], output: Output
) -> tuple[Model, EMResult[Any], bool]:
    """Return the model with its parameters by EM, how EM went, and whether it ended by itself."""
    if not isinstance(model, BayesianNetwork):
        refinement, finished = refined(model, data, GraphParameters(**given), output, output.path)
        return refinement.model, refinement, finished
    result, finished = fitted_network(data, model.parents, output, output.path, **given)
    return result.model, result, finished
