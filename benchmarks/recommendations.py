"""What ``exactlearn missingness`` recommends, beside what each estimator reaches on the same rows.

Rows are drawn from a network, cells hidden by a missingness graph, and the parameters estimated by
every method that takes the table; printed are the Kullback-Leibler divergences from the network,
the methods that are recommended without the true graph, the divergence that they reach with the
graph that was learned, and the methods that are recommended with the true graph.

    python -m benchmarks.recommendations asia --rows 1000 --rows 100000 --repeat 5

The network is a file or the name of a bundled one. 'nan' is a method that refuses the table. The
seconds are CPU time of both recommendations.
"""

from math import nan
from time import process_time
from typing import Any

import click
import numpy as np

from benchmarks.measuring import machine
from exactlearn.bayesnet.deletion import DELETION_METHODS, fit_deletion
from exactlearn.bayesnet.em import fit_em
from exactlearn.bayesnet.graph_deletion import fit_by_missingness_graph
from exactlearn.bayesnet.indicators import fit_with_indicators, without_indicators
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.dataset import Dataset
from exactlearn.data.missingness import simulate_missingness
from exactlearn.data.missingness_graph import MissingnessGraph
from exactlearn.data.missingness_patterns import missingness_patterns
from exactlearn.data.missingness_simulation import SimulatedMissingness, simulate_graph
from exactlearn.errors import ExactlearnError
from exactlearn.formats.models import read_network
from exactlearn.imputation.missingness_diagnosis import diagnosed_missingness_graph, recommendation
from exactlearn.imputation.missingness_tests import indicator_tests
from exactlearn.instances import locate
from exactlearn.queries.information import kl_divergence

ALPHA = 0.25
SCENARIOS = {
    "asia": {
        "MCAR, few cells": "mcar:0.005",
        "MCAR": "mcar:0.7:0.3",
        "MAR": "dysp <- bronc; lung <- smoke, bronc; xray <- smoke",
        "MNAR, other variables": "dysp <- bronc; bronc <- smoke; smoke <- dysp",
        "MNAR, own values": "smoke <- smoke; dysp <- bronc",
    },
}
ANY = {
    "MCAR": "mcar:0.7:0.3",
    "MAR": "random-mar:0.9:2:0.5:0.5",
    "MAR, three causes": "random-mar:0.9:2:0.5:0.5:3",
}
METHODS = (*DELETION_METHODS, "em", "graph", "em, graph")


def hidden(network: BayesianNetwork, spec: str, rows: int, seed: int) -> SimulatedMissingness:
    """Return rows of a network with cells hidden by a specification or the text of a graph."""
    rng = np.random.default_rng(seed)
    full = network.sample(rows, rng)
    if "<-" in spec:
        return simulate_graph(full, MissingnessGraph.parse(spec), rng, beta=(2.0, 2.0))
    return simulate_missingness(full, spec, rng, network.parents)


def fitted(
    method: str, data: Dataset, network: BayesianNetwork, graph: MissingnessGraph
) -> BayesianNetwork:
    """Return the network with the parameters that a method estimates."""
    parents = network.parents
    if method == "em":
        return fit_em(data, parents, smoothing=ALPHA).model
    if method == "graph":
        return fit_by_missingness_graph(data, parents, graph, smoothing=ALPHA).model
    if method == "em, graph":
        return without_indicators(
            fit_with_indicators(data, parents, graph, smoothing=ALPHA).model, graph
        )
    separators: Any = graph if method in ("id-mar", "if-mar") and graph.kind == "MAR" else None
    return fit_deletion(data, parents, method=method, smoothing=ALPHA, separators=separators).model


def recommended(
    data: Dataset, network: BayesianNetwork, graph: MissingnessGraph | None
) -> tuple[str, MissingnessGraph]:
    """Return the recommended method with the graph that it takes, a given or a learned one."""
    rng = np.random.default_rng(0)
    found = [test for test in indicator_tests(data, rng) if test.adjusted < 0.05]
    causes = (
        diagnosed_missingness_graph(data, found, rng, network.parents) if graph is None else graph
    )
    advice = recommendation(
        data, missingness_patterns(data), causes,
        is_given=graph is not None, parents=network.parents,
    )  # fmt: skip
    with_graph = advice.missingness and advice.method == "em"
    return "em, graph" if with_graph else advice.method, causes


@click.command()
@click.argument("source", metavar="NETWORK")
@click.option("--rows", "sizes", type=int, multiple=True, default=(1000, 10_000, 100_000))
@click.option("--repeat", default=5)
def main(source: str, sizes: tuple[int, ...], repeat: int) -> None:
    """Print a line for each scenario and number of rows."""
    network = read_network(locate(source, ".bif"))
    click.echo(machine())
    print("scenario", "rows", *METHODS, "recommended", "KL", "with the graph", "CPU s", sep="\t")
    for name, spec in SCENARIOS.get(source, ANY).items():
        for rows in sizes:
            divergences = {method: [] for method in METHODS}
            advice: dict[bool, list[str]] = {False: [], True: []}
            seconds, reached = 0.0, []
            for seed in range(repeat):
                found = hidden(network, spec, rows, seed)
                data, graph = found.dataset, found.graph
                for method in METHODS:
                    try:
                        model = fitted(method, data, network, graph)
                        divergences[method].append(kl_divergence(network, model))
                    except ExactlearnError:
                        divergences[method].append(nan)
                begun = process_time()
                method, learned = recommended(data, network, None)
                advice[False].append(method)
                advice[True].append(recommended(data, network, graph)[0])
                seconds += process_time() - begun
                reached.append(kl_divergence(network, fitted(method, data, network, learned)))
            means = [f"{np.mean(values):.4f}" for values in divergences.values()]
            counts = [
                " ".join(f"{m} {list(chosen).count(m)}" for m in sorted({*chosen}))
                for chosen in advice.values()
            ]
            counts.insert(1, f"{np.mean(reached):.4f}")
            print(name, rows, *means, *counts, f"{seconds / repeat:.2f}",
                  sep="\t", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
