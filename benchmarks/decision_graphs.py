"""Decision graphs: sizes and times of compilation, and of inference beside pyAgrum.

    python -m benchmarks.decision_graphs [--data-dir FOLDER] [NETWORK ...]

The folder, or the environment variable EXACTLEARN_DATA, holds ``bif/*.bif.gz``. Times of
compilation are of the processor, those of queries the best of some repetitions on the wall;
compiled kernels are warm.
"""

import gzip
import tempfile
import time
from pathlib import Path

import click
import numpy as np

from benchmarks.measuring import least_seconds, machine
from exactlearn.errors import TooLargeError
from exactlearn.evaluation.queries import query
from exactlearn.formats.bif import read_bif
from exactlearn.network import BayesianNetwork
from exactlearn.pdg.compile import compile_and_check, compile_network
from exactlearn.pdg.decision_graph import DecisionGraph
from exactlearn.pdg.flows import expected_counts, log_likelihood_rows, posteriors

REFERENCE = {
    "asia": (58, 42, 42),
    "child": (1415, 683, 680),
    "alarm": (1376, 1115, 1100),
    "insurance": (22887, 15472, 13500),
    "hailfinder": (54129, 8092, 7900),
    "win95pts": (4712, 2408, 2350),
    "pathfinder": (96796, 19274, 18000),
    "water": (115280, 67522, 60000),
    "andes": (299286, 239546, 239546),
}
"""Effective sizes: a prototype's first graph, its best in 80 s, and what is aimed at in 10 s."""

OTHERS = (
    "cancer",
    "earthquake",
    "survey",
    "sachs",
    "hepar2",
    "pigs",
    "mildew",
    "barley",
    "munin1",
)

READ_BY_PYAGRUM = ("asia", "alarm")


def print_compilation(name: str, network: BayesianNetwork, time_limit: float) -> None:
    """Print one network's sizes and times beside the prototype's sizes and the aims."""
    clock = time.process_time
    try:
        started = clock()
        short = compile_network(network)
        seconds = clock() - started
    except TooLargeError as error:
        print(f"{name:11} refused: {error}")
        return
    fixed = least_seconds(lambda: compile_network(network, forest=short.forest), 3, clock)
    found = compile_and_check(network, time_limit=time_limit)
    beside = [f"{size:9,}" for size in REFERENCE.get(name, ())] or [f"{'-':>9}"] * 3
    print(
        f"{name:11} {found.clique_tree_size:10,} {short.effective_size:10,}"
        f" {found.effective_size:10,} {' '.join(beside)}"
        f" {found.effective_size / found.clique_tree_size:6.3f}"
        f" {found.nodes:9,} {found.max_error:8.1e} {fixed:8.4f} {seconds:8.2f}",
        flush=True,
    )


def print_rows_per_second(network: BayesianNetwork, graph: DecisionGraph, rows: int) -> None:
    """Print the throughput of the batch kernels for several rates of missing cells."""
    rng = np.random.default_rng(0)
    complete = network.sample(rows, rng).codes.astype(np.int16)
    print(f"\nmillion rows a second, ALARM, {rows:,} rows")
    print("missing  log-likelihood  posteriors  expected counts")
    for rate in (0.0, 0.1, 0.3, 0.5, 0.9):
        codes = np.where(rng.random(complete.shape) < rate, np.int16(-1), complete)
        speeds = [
            rows / least_seconds(lambda f=f, codes=codes: f(graph, codes)) / 1e6  # type: ignore[misc]
            for f in (log_likelihood_rows, posteriors, expected_counts)
        ]
        print(f"{rate:7.0%}  {speeds[0]:14.2f}  {speeds[1]:10.2f}  {speeds[2]:15.2f}")


def print_queries(name: str, path: Path, network: BayesianNetwork, queries: int = 30) -> None:
    """Print the time of one belief update beside pyAgrum's, on the same evidence."""
    import pyagrum

    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / f"{name}.bif"
        plain.write_bytes(gzip.decompress(path.read_bytes()))
        peer = pyagrum.LazyPropagation(pyagrum.loadBN(str(plain)))
    graph = compile_network(network)
    ends = np.cumsum(graph.cardinalities)
    rng = np.random.default_rng(1)
    ours, update, theirs = [], [], []
    worst = 0.0
    for row in network.sample(queries, rng).codes:
        seen = rng.choice(network.n_variables, network.n_variables // 8 + 1, replace=False)
        evidence = {network.names[v]: network.states[v][row[v]] for v in seen}
        codes = np.full((1, network.n_variables), -1, np.int16)
        codes[0, seen] = row[seen]

        def ask_peer(evidence: dict[str, str] = evidence) -> list[np.ndarray]:
            peer.setEvidence(evidence)
            peer.makeInference()
            return [peer.posterior(v).toarray() for v in network.names]

        def ask_us(evidence: dict[str, str] = evidence) -> object:
            return query(graph, evidence, network.names)

        ours.append(least_seconds(ask_us))
        update.append(least_seconds(lambda codes=codes: posteriors(graph, codes)))  # type: ignore[misc]
        theirs.append(least_seconds(ask_peer, 3))
        mine = np.split(posteriors(graph, codes)[0], ends[:-1])
        worst = max(worst, *(abs(a - b).max() for a, b in zip(mine, ask_peer(), strict=True)))
    mean_ours, mean_update, mean_theirs = (float(np.mean(x)) for x in (ours, update, theirs))
    print(
        f"{name}: query {mean_ours * 1e6:.0f} us, belief update {mean_update * 1e6:.0f} us;"
        f" pyAgrum {pyagrum.__version__} {mean_theirs * 1e6:.0f} us; ratio"
        f" {mean_theirs / mean_ours:.1f} and {mean_theirs / mean_update:.1f};"
        f" largest difference of a posterior {worst:.1e}"
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
@click.option("--time-limit", default=10.0, show_default=True, help="Seconds of each search.")
@click.option("--rows", default=100_000, show_default=True, help="Rows of the batch kernels.")
def main(networks: tuple[str, ...], data_dir: Path, time_limit: float, rows: int) -> None:
    """Print all tables, for the networks named or for all."""
    folder = data_dir / "bif"
    print(machine())
    print(
        f"effective sizes: clique tree, graph by default and in {time_limit:g} s; prototype's first"
        " graph, its best in 80 s, aim in 10 s; ratio to the clique tree, nodes, error; processor"
        " seconds over a fixed forest, and by default"
    )
    compile_network(read_bif(folder / "asia.bif.gz"))
    for name in networks or [*OTHERS[:3], *REFERENCE, *OTHERS[3:]]:
        print_compilation(name, read_bif(folder / f"{name}.bif.gz"), time_limit)
    for name in READ_BY_PYAGRUM:
        path = folder / f"{name}.bif.gz"
        print_queries(name, path, read_bif(path))
    alarm = read_bif(folder / "alarm.bif.gz")
    print_rows_per_second(alarm, compile_network(alarm), rows)


if __name__ == "__main__":
    main()
