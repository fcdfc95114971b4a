"""Decision graphs: sizes and times of compilation, and of inference beside pyAgrum.

    python -m benchmarks.decision_graphs [--data-dir FOLDER] [NETWORK ...]

The folder, or the environment variable EXACTLEARN_DATA, holds ``bif/*.bif.gz``. Times of
compilation and queries are of the processor, the best of some repetitions; compiled kernels are
warm.
"""

import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

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
from exactlearn.relevance import normalised

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

BY_ELIMINATION = ("mildew", "barley", "munin1")
"""Networks whose decision graphs are no smaller than their clique trees, or too large: these are
asked themselves, few times."""


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
            rows / least_seconds(lambda f=f, c=codes: f(graph, c), 5, time.process_time) / 1e6  # type: ignore[misc]
            for f in (log_likelihood_rows, posteriors, expected_counts)
        ]
        print(f"{rate:7.0%}  {speeds[0]:14.2f}  {speeds[1]:10.2f}  {speeds[2]:15.2f}")


def print_queries(name: str, network: BayesianNetwork, queries: int = 30) -> None:
    """Print the time of one belief update beside pyAgrum's faster engine, on the same evidence.

    The peer is given the parameters themselves: its reader of BIF files rounds them to single
    precision (posteriors then differ by 1e-8), and stops at some files.
    """
    pyagrum: Any = import_module("pyagrum")
    clock = time.process_time
    network = normalised(network)
    given = as_pyagrum(network)
    engines = [pyagrum.LazyPropagation(given), pyagrum.ShaferShenoyInference(given)]
    model = network if name in BY_ELIMINATION else compile_network(network)
    times = 20 if isinstance(model, DecisionGraph) else 1
    rng = np.random.default_rng(1)
    seconds, worst = [], 0.0
    for row in network.sample(queries if times > 1 else 3, rng).codes:
        seen = rng.choice(network.n_variables, network.n_variables // 8 + 1, replace=False)
        evidence = {network.names[v]: network.states[v][row[v]] for v in seen}
        indices = {f"v{v}": int(row[v]) for v in seen}
        codes = np.full((1, network.n_variables), -1, np.int16)
        codes[0, seen] = row[seen]

        def ask_peer(peer: Any, indices: dict[str, int] = indices) -> list[np.ndarray]:
            peer.setEvidence(indices)
            peer.makeInference()
            return [peer.posterior(f"v{v}").toarray() for v in range(network.n_variables)]

        def ask_us(evidence: dict[str, str] = evidence) -> list[np.ndarray]:
            told = query(model, evidence, network.names).posterior
            return [np.array(list(states.values())) for states in told.values()]

        def update(codes: np.ndarray = codes) -> object:
            return posteriors(model, codes) if isinstance(model, DecisionGraph) else ask_us()

        seconds.append(
            [repeated_seconds(ask_us, times), repeated_seconds(update, times)]
            + [least_seconds(lambda e=e: ask_peer(e), 2, clock) for e in engines]  # type: ignore[misc]
        )
        worst = max(
            worst, *(abs(a - b).max() for a, b in zip(ask_us(), ask_peer(engines[0]), strict=True))
        )
    ours, updated, *peers = 1e6 * np.mean(seconds, axis=0)
    least = min(min(row[2:]) / row[0] for row in seconds)
    print(
        f"{name:11} {ours:9.0f} {updated:9.1f} {peers[0]:12.0f} {peers[1]:14.0f}"
        f" {min(peers) / ours:9.1f} {min(peers) / updated:9.1f} {least:9.1f} {worst:9.1e}",
        flush=True,
    )


def repeated_seconds(call: Callable[[], object], times: int) -> float:
    """Return the least processor time of a call that is too short for one reading of the clock."""
    return least_seconds(lambda: [call() for _ in range(times)], clock=time.process_time) / times


def as_pyagrum(network: BayesianNetwork) -> Any:
    """Return the network with the same parameters as pyAgrum's; variable i is called ``vi``."""
    pyagrum: Any = import_module("pyagrum")
    given = pyagrum.BayesNet()
    for v, states in enumerate(network.states):
        given.add(pyagrum.RangeVariable(f"v{v}", "", 0, len(states) - 1))
    for v, parents in enumerate(network.parents):
        for parent in parents:
            given.addArc(f"v{parent}", f"v{v}")
    for v, (parents, table) in enumerate(zip(network.parents, network.tables, strict=True)):
        potential = given.cpt(f"v{v}")
        axes = [f"v{u}" for u in (*parents, v)]
        order = [axes.index(name) for name in reversed(potential.names)]
        potential.fillWith(table.transpose(order).ravel().tolist())
    return given


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
@click.option("--skip-compilation", is_flag=True, help="Print no sizes and times of compilation.")
@click.option("--rows", default=100_000, show_default=True, help="Rows of the batch kernels.")
def main(
    networks: tuple[str, ...],
    data_dir: Path,
    time_limit: float,
    rows: int,
    skip_compilation: bool,
) -> None:
    """Print all tables, for the networks named or for all."""
    pyagrum: Any = import_module("pyagrum")
    folder = data_dir / "bif"
    print(machine())
    print(
        f"effective sizes: clique tree, graph by default and in {time_limit:g} s; prototype's first"
        " graph, its best in 80 s, aim in 10 s; ratio to the clique tree, nodes, error; processor"
        " seconds over a fixed forest, and by default"
    )
    compile_network(read_bif(folder / "asia.bif.gz"))
    everything = [*OTHERS[:3], *REFERENCE, *OTHERS[3:]]
    for name in [] if skip_compilation else networks or everything:
        print_compilation(name, read_bif(folder / f"{name}.bif.gz"), time_limit)
    print(
        "\nprocessor microseconds of one query by names (all posteriors) and of one belief update;"
        " pyAgrum's lazy propagation and Shafer-Shenoy; its better one to ours, the same"
        " for the query where it does best; largest difference"
    )
    pyagrum.setNumberOfThreads(1)
    for name in networks or everything:
        print_queries(name, read_bif(folder / f"{name}.bif.gz"))
    alarm = read_bif(folder / "alarm.bif.gz")
    print_rows_per_second(alarm, compile_network(alarm), rows)


if __name__ == "__main__":
    main()
