"""``exactlearn learn-pdg``: a decision graph learnt from a table."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import monotonic

import click

from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.commands.learnt_graphs import model_row, models_tables, write_model
from exactlearn.commands.options import output_options, reading_options, seed_option
from exactlearn.commands.output import Output, require_suffix
from exactlearn.commands.pipeline import load, load_for
from exactlearn.commands.progress import Checkpoint
from exactlearn.commands.runs import Reading
from exactlearn.data.dataset import Dataset
from exactlearn.errors import ExitStatus, OptionError
from exactlearn.formats.bif import read_bif
from exactlearn.instances import locate
from exactlearn.pdg.inference.flows import log_likelihood
from exactlearn.pdg.learn.methods import Keep, Request, keep_first, learn_by
from exactlearn.pdg.learn.network_starts import learnt_network
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.pdg.model.structure_score import SIZES, Size
from exactlearn.reporting.frontier import write_frontier
from exactlearn.reporting.plot import FIGURES
from exactlearn.reporting.records_file import RECORDS

LEARNT = "learnt"
"""In place of a network's file."""

METHODS = ("direct", "hybrid", "em", "available", "complete")
"""How graphs are learnt; the last three are structural EM and its stand-ins."""


@click.command("learn-pdg")
@click.argument("source", metavar="DATA.csv")
@output_options
@reading_options
@click.option(
    "--method",
    type=click.Choice(METHODS),
    help="direct: forests by tests, then splits, merges and redirections, of a complete table; "
    "hybrid: compile a network and merge; em: structural EM, with missing cells, from a tree and "
    "from networks; available, complete: the same by available or complete cases, from a tree.  "
    "[default: direct for a complete table, "
    "else em]",
)
@click.option(
    "--network",
    metavar="NETWORK.bif|learnt",
    help="Network whose graph the search starts from: direct beside its own starts, em and others "
    "in place of them. 'learnt' learns one from the table, as hybrid does without this option.",
)
@click.option(
    "--lambda",
    "lambdas",
    type=click.FloatRange(0, 1),
    multiple=True,
    help="Weight of the size in (1-lambda) log-likelihood - lambda size; repeatable with "
    "--validation.  [default: that of BIC]",
)
@click.option(
    "--validation",
    metavar="DATA.csv",
    help="Write the model under which this table is most probable.",
)
@click.option(
    "--size",
    type=click.Choice(SIZES),
    default="effective",
    show_default=True,
    help="What size is: states x nodes x children, or free parameters.",
)
@click.option(
    "--significance",
    "significances",
    type=click.FloatRange(0, 1),
    multiple=True,
    help="direct: level of the tests, a forest for each; repeatable.  [default: five levels]",
)
@click.option("--tree", is_flag=True, help="em: one tree of variables, not a forest.")
@click.option(
    "--smoothing",
    type=click.FloatRange(0),
    help="Pseudo-count of every parameter.  [default: by cross-validation; 1 with missing cells]",
)
@click.option(
    "--frontier",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="hybrid: write sizes and losses of all merges (.csv, .json, .svg, .png, .pdf).",
)
@seed_option
def command(
    source: str,
    output: Output,
    reading: Reading,
    method: str | None,
    network: str | None,
    lambdas: tuple[float, ...],
    validation: str | None,
    size: Size,
    significances: tuple[float, ...],
    tree: bool,
    smoothing: float | None,
    frontier: Path | None,
    seed: int,
) -> None:
    """Learn a probabilistic decision graph from a table.

    The table is a file or the name of a bundled one. -o writes the graph (.pdg.json), the record
    (.json) or its figure (.svg, .png, .pdf, .dot). Ctrl-C ends the search with the best graph so
    far, if there is one (exit status 130).
    """
    require_suffix(output.path, (".pdg.json", ".json", *FIGURES))
    require_suffix(frontier, RECORDS, "--frontier")
    if len(lambdas) > 1 and validation is None:
        raise OptionError("several --lambda need --validation, a table to choose the model by")
    begun = monotonic()
    dataset = load(locate(source, ".csv"), reading)
    chosen = method or ("direct" if dataset.is_complete else "em")
    _refuse_unused(chosen, significances, tree, frontier, size)
    given = _given(network, dataset)
    test = None
    if validation is not None:
        test = load_for(locate(validation, ".csv"), reading, given or dataset)
    request = Request(
        dataset=dataset,
        method=chosen,
        network=given,
        lambdas=lambdas or None,
        size=size,
        significances=significances or None,
        tree=tree,
        alpha=smoothing,
        seed=seed,
    )
    with output.narration(f"learning ({chosen})") as narration:
        keep = _keeping(request, test, output.path, Checkpoint(narration.warn))
        if output.path is not None and (chosen in ("direct", "hybrid") or network == LEARNT):
            keep_first(request, keep)
        if network == LEARNT:
            narration.tell("network")
            request = replace(request, network=learnt_network(dataset, seed))
        found = learn_by(request, narration.tell, keep)
    if frontier is not None and found.frontier is not None:
        write_frontier(found.frontier, frontier)
        output.wrote(frontier)
    rows = [model_row(x, graph, dataset, test) for x, graph in found.models]
    key = "log_likelihood" if test is None else "validation_log_likelihood"
    best = max(range(len(rows)), key=lambda k: rows[k][key])
    record = {
        "method": chosen,
        **rows[best],
        "seconds": monotonic() - begun,
        "finished": found.finished,
        "models": rows,
    }
    if output.path is not None:
        write_model(found.models[best][1], record, output.path)
        output.wrote(output.path)
    output.answer(record, *models_tables(record))
    if not found.finished:
        click.get_current_context().exit(ExitStatus.INTERRUPTED)


def _keeping(
    request: Request, test: Dataset | None, path: Path | None, checkpoint: Checkpoint
) -> Keep:
    """Return what writes each better model to a file while the search goes on."""
    begun = monotonic()

    def write(lambda_: float, graph: DecisionGraph) -> None:
        assert path is not None
        row = model_row(lambda_, graph, request.dataset, test)
        seconds = monotonic() - begun
        record = {"method": request.method, **row, "seconds": seconds, "finished": False}
        write_model(graph, {**record, "models": [row]}, path)

    def keep(score: float, lambda_: float, smoothed: Callable[[], DecisionGraph]) -> None:
        if path is None or not checkpoint.is_due:
            return
        graph = smoothed()
        if test is not None and len(request.lambdas or ()) > 1:
            score = log_likelihood(graph, test)
        checkpoint.keep(score, lambda: write(lambda_, graph))

    return keep


def _refuse_unused(
    method: str,
    significances: tuple[float, ...],
    tree: bool,
    frontier: Path | None,
    size: Size,
) -> None:
    """Refuse options that the method would not heed."""
    if significances and method != "direct":
        raise OptionError(f"--significance is for --method direct, not {method}")
    if tree and method in ("direct", "hybrid"):
        raise OptionError(f"--tree is for --method em, available and complete, not {method}")
    if frontier is not None and method != "hybrid":
        raise OptionError(f"--frontier is for --method hybrid, not {method}")
    if size != "effective" and method == "hybrid":
        raise OptionError("--method hybrid merges by effective size: leave out --size")


def _given(source: str | None, dataset: Dataset) -> BayesianNetwork | None:
    """Read a network of the table's variables, if a file of one is given."""
    if source is None or source == LEARNT:
        return None
    network = read_bif(locate(source, ".bif"))
    if set(network.names) != set(dataset.names):
        different = sorted(set(network.names) ^ set(dataset.names))
        raise OptionError(
            f"{source}: the network and the table must have the same variables; not in both:"
            f" {', '.join(different)}"
        )
    return network
