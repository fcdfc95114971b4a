"""Decision graphs: sizes and times of compilation, and of inference beside pyAgrum.

    python -m benchmarks.decision_graphs [--data-dir FOLDER] [NETWORK ...]

The folder, or the environment variable EXACTLEARN_DATA, holds ``bif/*.bif.gz``. Times are of the
processor, the best of some repetitions; compiled kernels are warm.
"""

import time
from pathlib import Path

import click
import numpy as np

from benchmarks.belief_updates import updates
from benchmarks.measuring import least_seconds, machine
from exactlearn import Dataset, hide
from exactlearn._runtime.executors import n_threads
from exactlearn.bayesnet.cliques import clique_tree
from exactlearn.bayesnet.network import (
    BayesianNetwork,
    normalised,
    without_irrelevant_parents,
)
from exactlearn.errors import TooLargeError
from exactlearn.formats.bif import read_bif
from exactlearn.pdg.compile.compile import compile_and_check, compile_network
from exactlearn.pdg.inference.flows import (
    expected_counts,
    log_likelihood_rows,
    posteriors,
)
from exactlearn.pdg.learn.edge_counts import expected_edge_counts
from exactlearn.pdg.learn.structural_em import structural_em_graph
from exactlearn.pdg.model.decision_graph import DecisionGraph

NETWORKS = {
    "asia": 42,
    "cancer": None,
    "earthquake": None,
    "survey": None,
    "sachs": None,
    "child": 680,
    "alarm": 1100,
    "insurance": 13500,
    "hailfinder": 7900,
    "hepar2": None,
    "win95pts": 2350,
    "pathfinder": 18000,
    "water": 60000,
    "andes": 239546,
    "pigs": None,
    "mildew": None,
    "barley": None,
    "munin1": None,
}
"""The shared networks, and the effective size aimed at in 10 s."""

BY_ELIMINATION = ("barley",)
"""Networks whose clique trees are much smaller than their decision graphs: queried along these."""

HEADS = (
    ("network", 11),
    ("clique tree", 12),
    ("graph", 11),
    ("searched", 11),
    ("aim", 8),
    ("nodes", 8),
    ("error", 8),
    ("fixed", 8),
    ("short", 7),
    ("by", 6),
    ("query", 11),
    ("update", 11),
    ("pyAgrum", 11),
    ("ratio", 8),
    ("least", 7),
    ("differs", 8),
)


LEARNT_ROWS = 2000
"""Rows that structural EM learns a graph from."""


def compilation(
    name: str, network: BayesianNetwork, time_limit: float
) -> tuple[list[str], object]:
    """Return the cells of the table about compilation, and the model to query."""
    clock = time.process_time
    aim = NETWORKS.get(name)
    try:
        started = clock()
        short = compile_network(network)
        seconds = clock() - started
    except TooLargeError:
        size = clique_tree(without_irrelevant_parents(network)).size(
            network.cardinalities
        )
        return [f"{size:,}", *["too large"] * 2, "-", *["-"] * 4], network
    fixed = least_seconds(
        lambda: compile_network(network, forest=short.forest), 3, clock
    )
    found = compile_and_check(network, time_limit=time_limit)
    cells = [
        f"{found.clique_tree_size:,}",
        f"{short.effective_size:,}",
        f"{found.graph.effective_size:,}",
        "-" if aim is None else f"{aim:,}",
        f"{found.graph.n_nodes:,}",
        f"{found.max_error:.1e}",
        f"{fixed:.4f}",
        f"{seconds:.2f}",
    ]
    return cells, network if name in BY_ELIMINATION else short


def queried(network: BayesianNetwork, model: object, queries: int) -> list[str]:
    """Return the cells of the table about queries."""
    found = updates(normalised(network), model, queries)
    return [
        "graph" if isinstance(model, DecisionGraph) else "tree",
        *(f"{1e6 * seconds:,.1f}" for seconds in found[:3]),
        f"{found.ratio:,.1f}",
        f"{found.least:,.1f}",
        f"{found.difference:.0e}",
    ]


def print_row(cells: list[str]) -> None:
    """Print a row of the table."""
    widths = [width for _, width in HEADS]
    aligned = [
        cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=False)
    ]
    print(cells[0].ljust(widths[0]), *aligned, flush=True)


def print_rows_per_second(
    network: BayesianNetwork, graph: DecisionGraph, rows: int
) -> None:
    """Print the throughput of the batch kernels for several rates of missing cells.

    Edges, as structural EM counts them, are those of a graph that it learns.
    """
    rng = np.random.default_rng(0)
    incomplete = hide(network.sample(LEARNT_ROWS, rng), "mcar:0.1", rng)
    learnt = structural_em_graph(incomplete, iterations=12).graph
    complete = network.sample(rows, rng).codes.astype(np.int16)
    cores = n_threads(None)
    print(
        f"\nALARM, {rows:,} rows: million rows a second of one core, and of {cores} (wall)"
    )
    print(
        f"{'missing':>7} {'log-likelihood':>16} {'posteriors':>16} {'expected counts':>16}"
        f" {'counts of edges':>16}"
    )
    for rate in (0.0, 0.1, 0.3, 0.5, 0.9):
        codes = np.where(rng.random(complete.shape) < rate, np.int16(-1), complete)
        cells = []
        for function in (log_likelihood_rows, posteriors, expected_counts, edges):
            model = learnt if function is edges else graph
            alone = least_seconds(
                lambda f=function, g=model, c=codes: f(g, c, threads=1),
                5,
                time.process_time,
            )
            together = least_seconds(
                lambda f=function, g=model, c=codes: f(g, c, threads=cores), 5
            )
            cells.append(f"{rows / alone / 1e6:.2f} {rows / together / 1e6:7.2f}")
        print(f"{rate:7.0%}", *(cell.rjust(16) for cell in cells), flush=True)


def edges(graph: DecisionGraph, codes: np.ndarray, threads: int) -> object:
    """Take the E-step of structural EM."""
    return expected_edge_counts(
        graph, Dataset(codes, graph.names, graph.states), threads
    )


@click.command()
@click.argument("networks", nargs=-1)
@click.option(
    "--data-dir",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    envvar="EXACTLEARN_DATA",
    required=True,
    help="Folder of public data.  [or the environment variable EXACTLEARN_DATA]",
)
@click.option(
    "--time-limit", default=10.0, show_default=True, help="Seconds of each search."
)
@click.option(
    "--queries", default=20, show_default=True, help="Queries of each network."
)
@click.option(
    "--rows", default=100_000, show_default=True, help="Rows of the batch kernels."
)
def main(
    networks: tuple[str, ...],
    data_dir: Path,
    time_limit: float,
    queries: int,
    rows: int,
) -> None:
    """Print all tables, for the networks named or for all."""
    folder = data_dir / "bif"
    compile_network(read_bif(folder / "asia.bif.gz"))
    print(machine())
    print(
        "effective sizes: clique tree, graph by default, after a search of"
        f" {time_limit:g} s, aim; its nodes; error; processor seconds over a fixed forest and by"
        " default; asked by the graph or along the clique tree: processor microseconds of a query"
        " by names and of a belief update, all posteriors; pyAgrum's faster engine, its ratio to"
        " our query, and where that is least; largest difference"
    )
    print_row([name for name, _ in HEADS])
    for name in networks or NETWORKS:
        network = read_bif(folder / f"{name}.bif.gz")
        cells, model = compilation(name, network, time_limit)
        print_row([name, *cells, *queried(network, model, queries)])
    alarm = read_bif(folder / "alarm.bif.gz")
    print_rows_per_second(alarm, compile_network(alarm), rows)


if __name__ == "__main__":
    main()
