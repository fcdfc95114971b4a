"""``exactlearn fit``: the parameters of a network, or of a decision graph from incomplete data."""

from time import monotonic

import click

from exactlearn.commands.options import output_options, reading_options
from exactlearn.commands.output import Output, require_suffix
from exactlearn.commands.refining import refined
from exactlearn.errors import OptionError
from exactlearn.formats.model import Model, read_model, write_model
from exactlearn.instances import locate
from exactlearn.network import BayesianNetwork
from exactlearn.parameters.complete import fit_complete
from exactlearn.pdg.decision_graph import DecisionGraph
from exactlearn.pipeline import load_for
from exactlearn.report import facts, number
from exactlearn.runs import GraphParameters, NetworkParameters, Reading


@click.command("fit")
@click.argument("source", metavar="MODEL.bif|MODEL.pdg.json")
@click.argument("table", metavar="DATA.csv")
@output_options
@reading_options
@click.option(
    "--method",
    type=click.Choice(["complete", "em"]),
    help="complete: a network from complete data; em: a decision graph from incomplete data.  "
    "[default: what fits the model]",
)
@click.option(
    "--iterations",
    type=click.IntRange(0),
    default=GraphParameters.iterations,
    show_default=True,
    help="em: most iterations.",
)
@click.option(
    "--tolerance",
    type=click.FloatRange(0),
    default=GraphParameters.tolerance,
    show_default=True,
    help="em: least gain of the log-likelihood to go on.",
)
@click.option(
    "--smoothing",
    type=click.FloatRange(0),
    help="Pseudo-count of every parameter.  [default: "
    f"{NetworkParameters.smoothing:g} for complete, {GraphParameters.smoothing:g} for em]",
)
def command(
    source: str,
    table: str,
    output: Output,
    reading: Reading,
    method: str | None,
    iterations: int,
    tolerance: float,
    smoothing: float | None,
) -> None:
    """Estimate the parameters of a model with a given structure.

    -o writes the model with its new parameters, in the format that it had.
    """
    model = read_model(locate(source, ".bif"))
    is_network = isinstance(model, BayesianNetwork)
    require_suffix(output.path, (".bif",) if is_network else (".pdg.json",))
    method = method or ("complete" if is_network else "em")
    dataset = load_for(locate(table, ".csv"), reading, model)
    begun = monotonic()
    fitted: Model
    if method == "complete":
        alpha = NetworkParameters.smoothing if smoothing is None else smoothing
        fitted = fit_complete(dataset, _network(model).parents, alpha=alpha)
        log_likelihood, iterations = fitted.log_likelihood(dataset), 1
    else:
        alpha = GraphParameters.smoothing if smoothing is None else smoothing
        options = GraphParameters(iterations=iterations, tolerance=tolerance, smoothing=alpha)
        result = refined(_decision_graph(model), dataset, options, output)
        fitted = result.pdg
        log_likelihood, iterations = result.log_likelihoods[-1], result.iterations
    record = {
        "log_likelihood": log_likelihood,
        "iterations": iterations,
        "seconds": monotonic() - begun,
    }
    if output.path is not None:
        write_model(fitted, output.path)
        output.wrote(output.path)
    told = facts(
        log_likelihood=number(log_likelihood),
        iterations=str(iterations),
        seconds=number(record["seconds"], 2),
    )
    output.answer(record, told)


def _network(model: Model) -> BayesianNetwork:
    if isinstance(model, BayesianNetwork):
        return model
    raise OptionError("--method complete fits a network (.bif); fit a decision graph with 'em'")


def _decision_graph(model: Model) -> DecisionGraph:
    if isinstance(model, DecisionGraph):
        return model
    raise OptionError(
        "--method em fits a decision graph (.pdg.json); compile the network to one first with "
        "'exactlearn compile NETWORK.bif -o model.pdg.json'"
    )
