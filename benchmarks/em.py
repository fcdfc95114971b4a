"""EM: plain steps beside lengthened ones, and pyAgrum's EM in the same run.

    python -m benchmarks.em [--data-dir FOLDER] [--rows 10000] [--only TEXT] [--peer]

Each case is fitted from one start with plain steps and with lengthened ones
(:class:`exactlearn.bayesnet.ascent.Overrelaxation`): E-steps, processor seconds, and by how much
the objective stays below what plain steps reach at a tolerance of 1e-10 per row.
"""

import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import click
import numpy as np
from numpy.typing import NDArray

from benchmarks.measuring import machine
from exactlearn.bayesnet.ascent import EMProblem, EMState, Overrelaxation, ascend
from exactlearn.bayesnet.em import TOLERANCE, NetworkEM, fit_em
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.dataset import Dataset
from exactlearn.formats.bif import read_bif
from exactlearn.instances import locate
from exactlearn.pdg.compile.compile import compile_network
from exactlearn.pdg.learn.parameters import ParameterEM
from experiments.mechanisms import hide_cells


class Case(NamedTuple):
    """A table with missing cells, the network that its rows come from, and the pseudo-counts."""

    name: str
    network: BayesianNetwork
    table: Dataset
    smoothing: float
    is_latent: bool = False


class Counted:
    """An EM problem that counts its E-steps."""

    def __init__(self, problem: EMProblem[Any]) -> None:
        self.problem, self.e_steps = problem, 0
        self.total_weight, self.is_approximate = problem.total_weight, False
        self.m_step, self.normalised, self.model = (
            problem.m_step,
            problem.normalised,
            problem.model,
        )

    def e_step(self, iteration: int, parameters: NDArray[np.float64]) -> EMState:
        """Return the state at some parameters."""
        self.e_steps += 1
        return self.problem.e_step(iteration, parameters)


def fit(
    problem: EMProblem[Any],
    start: NDArray[np.float64],
    tolerance: float,
    lengthened: bool,
) -> tuple[float, int, float]:
    """Return objective, E-steps and processor seconds of one start."""
    counted, begun, least = (
        Counted(problem),
        time.process_time(),
        tolerance * problem.total_weight,
    )
    steps = Overrelaxation(counted, least, growth=1.5 if lengthened else 1.0)
    last, _ = ascend(
        counted.e_step(0, start), steps.step, iterations=3000, least_gain=least
    )
    return last.objective, counted.e_steps, time.process_time() - begun


def without(
    table: Dataset, share: float, variables: NDArray[np.int64], seed: int = 1
) -> Dataset:
    """Hide a share of the cells of some variables completely at random."""
    codes = table.codes.copy()
    hidden = np.random.default_rng(seed).random((len(codes), len(variables))) < share
    codes[:, variables] = np.where(hidden, -1, codes[:, variables])
    return Dataset(codes, table.names, table.states)


def cases(data_dir: Path, rows: int) -> Iterator[Case]:
    """Yield the cases."""
    alarm = read_bif(data_dir / "bif" / "alarm.bif.gz")
    full, everywhere = (
        alarm.sample(rows, np.random.default_rng(0)),
        np.arange(alarm.n_variables),
    )
    some = np.random.default_rng(2).choice(everywhere, 11, replace=False)
    for smoothing in (1.0, 0.0):
        for share in (0.1, 0.3, 0.5):
            yield Case(
                f"ALARM, {share:.0%} MCAR",
                alarm,
                without(full, share, everywhere),
                smoothing,
            )
        yield Case(
            "ALARM, 70 % of 11 variables", alarm, without(full, 0.7, some), smoothing
        )
        for names in (("CATECHOL",), ("VENTLUNG", "LVEDVOLUME")):
            latent = without(full, 1.0, np.array([alarm.names.index(n) for n in names]))
            yield Case(
                f"ALARM, latent {', '.join(names)}", alarm, latent, smoothing, True
            )
    for name in ("asia", "lucas"):
        network, rng = read_bif(locate(name, ".bif")), np.random.default_rng(3)
        table = hide_cells(network.sample(2000, rng), "mnar:0.3", rng)[0]
        yield Case(f"{name.upper()}, 30 % MNAR, 2000 rows", network, table, 1.0)


def start_of(case: Case, size: int) -> NDArray[np.float64] | None:
    """Return random parameters for a latent variable, which frequencies cannot tell apart."""
    return np.random.default_rng(7).exponential(size=size) if case.is_latent else None


def print_case(case: Case) -> None:
    """Print a case as a line of a table, for the network and for its decision graph."""
    network = NetworkEM(case.table, case.network.parents, case.smoothing)
    random = start_of(case, len(network.available))
    first = (
        network.maximise(network.available, 1.0)
        if random is None
        else network.normalised(random)
    )
    problems: list[tuple[str, EMProblem[Any], NDArray[np.float64]]] = [
        ("network", network, first)
    ]
    if case.smoothing and case.network.n_variables < 20:
        graph = compile_network(network.model(first), steps=0)
        problems.append(
            (
                "graph",
                ParameterEM(graph, case.table, case.smoothing, "uniform"),
                graph.parameters,
            )
        )
    for kind, problem, parameters in problems:
        best = fit(problem, parameters, 1e-10, lengthened=False)[0]
        plain, longer = (
            fit(problem, parameters, TOLERANCE, lengthened=x) for x in (False, True)
        )
        cells = [f"{n} / {s:.2f} s / {best - o:.4f}" for o, n, s in (plain, longer)]
        ratio = f"{plain[1] / longer[1]:.1f}"
        print(
            "|",
            " | ".join([f"{case.name}, {kind}", f"{case.smoothing:g}", *cells, ratio]),
            "|",
            flush=True,
        )


def print_peer(case: Case) -> None:
    """Print processor seconds and log-likelihood of pyAgrum's EM beside ours."""
    begun = time.process_time()
    ours = fit_em(case.table, case.network.parents, smoothing=case.smoothing)
    seconds = time.process_time() - begun
    peer, theirs = peer_em(case)
    reached = case.table.total(peer.log_likelihood_rows(case.table))
    print(
        f"{case.name}, {case.table.n_rows} rows: {seconds:.2f} s, {ours.log_likelihood:.1f};",
        end="",
    )
    print(
        f" pyAgrum {theirs:.1f} s, {reached:.1f}; {theirs / seconds:.0f} times as long",
        flush=True,
    )


def peer_em(case: Case) -> tuple[BayesianNetwork, float]:
    """Return the network by pyAgrum's EM, with a pseudo-count of one, and its processor seconds."""
    pyagrum: Any = import_module("pyagrum")
    pyagrum.setNumberOfThreads(1)
    network, given = case.network, pyagrum.BayesNet()
    for name, states in zip(network.names, network.states, strict=True):
        given.add(pyagrum.LabelizedVariable(name, name, list(states)))
    for child, family in zip(network.names, network.parents, strict=True):
        for parent in family:
            given.addArc(network.names[parent], child)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        labels = [np.array([*states, "?"]) for states in network.states]
        columns = [own[case.table.codes[:, v]] for v, own in enumerate(labels)]
        lines = [
            ",".join(network.names),
            *(",".join(row) for row in zip(*columns, strict=True)),
        ]
        path.write_text("\n".join(lines) + "\n")
        begun = time.process_time()
        learner = pyagrum.BNLearner(str(path), given, ["?"])
        learner.useEM(1e-3)
        learner.useSmoothingPrior(1.0)
        found = learner.learnParameters(given)
        seconds = time.process_time() - begun
    tables = []
    for v, family in enumerate(network.parents):
        potential = found.cpt(network.names[v])
        axes = list(reversed(potential.names))
        order = [axes.index(network.names[u]) for u in (*family, v)]
        table = np.asarray(potential.toarray()).transpose(order)
        tables.append(np.ascontiguousarray(table / table.sum(axis=-1, keepdims=True)))
    return BayesianNetwork(
        network.names, network.states, network.parents, tuple(tables)
    ), seconds


@click.command()
@click.option(
    "--data-dir",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    envvar="EXACTLEARN_DATA",
    required=True,
    help="Folder of public data.  [or the environment variable EXACTLEARN_DATA]",
)
@click.option("--rows", default=10_000, show_default=True, help="Rows from ALARM.")
@click.option(
    "--peer", is_flag=True, help="Run pyAgrum's EM on ALARM, too, which takes minutes."
)
@click.option("--only", default="", help="Only cases whose name contains this.")
def main(data_dir: Path, rows: int, peer: bool, only: str) -> None:
    """Print all tables."""
    fit_em(next(cases(data_dir, 100)).table, next(cases(data_dir, 100)).network.parents)
    print(machine())
    chosen = [case for case in cases(data_dir, rows) if only in case.name]
    if peer:
        for case in chosen:
            if case.smoothing and not case.is_latent:
                print_peer(case)
        return
    print(
        "| case | pseudo-counts | plain: E-steps / CPU / below | lengthened | ratio of E-steps |"
    )
    print("|---|---|---|---|---|")
    for case in chosen:
        print_case(case)


if __name__ == "__main__":
    main()
