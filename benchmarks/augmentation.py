"""Augmentation: the climber's seconds a start, the exact methods' seconds and gap.

    python -m benchmarks.augmentation [CASE ...] --data-dir FOLDER --starts 1 --t 1
    python -m benchmarks.augmentation asia16 asia32 --data-dir FOLDER --method branching \
        --method exact --time-limit 60
    python -m benchmarks.augmentation --growing --data-dir FOLDER

FOLDER holds ``uci``, ``lucas`` and ``bif``. Each case is solved with BDeu (equivalent sample size
1) and at most three parents; the first line compiles on a small table. ``cpu`` is processor time of
all threads for all starts, ``s/start`` wall seconds for one, ``ms/cell`` processor milliseconds for
a missing cell and start (of other methods: for all starts), and ``right`` the share of hidden cells
that get their true value back.
"""

import resource
import sys
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np

from benchmarks.measuring import machine
from exactlearn._runtime.control import Event
from exactlearn.augmentation import METHODS, Augmentation, augment
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.dataset import Dataset
from exactlearn.data.missingness import hide
from exactlearn.formats.bif import read_bif
from exactlearn.formats.table import read_dataset
from exactlearn.scoring.scores import BDeu


class Case(NamedTuple):
    """A table with holes and, if they were made, what was in them."""

    holed: Dataset
    complete: Dataset | None


def spect(folder: Path, share: float) -> Case:
    """Return both parts of SPECT Heart with cells hidden, not at random."""
    parts = [
        read_dataset(folder / "uci" / f"SPECT.{p}", header=False)
        for p in ("train", "test")
    ]
    codes = np.concatenate([part.codes for part in parts])
    table = Dataset(codes, parts[0].names, parts[0].states)
    return hidden(table, f"mnar:{share}")


def hidden(table: Dataset, spec: str) -> Case:
    """Hide cells of a complete table."""
    return Case(hide(table, spec, np.random.default_rng(0)), table)


def hidden_cells(table: Dataset, count: int) -> Case:
    """Hide a number of cells, completely at random."""
    codes = table.codes.copy()
    rng = np.random.default_rng(0)
    codes.reshape(-1)[rng.choice(codes.size, count, replace=False)] = -1
    return Case(Dataset(codes, table.names, table.states), table)


def sampled(network: BayesianNetwork, rows: int, spec: str) -> Case:
    """Sample a table and hide cells of it."""
    return hidden(network.sample(rows, np.random.default_rng(1)), spec)


def synthetic_network(n: int) -> BayesianNetwork:
    """Draw a sparse network of 2 to 4 states and up to 3 parents among the 20 variables before."""
    rng = np.random.default_rng(7)
    r = rng.integers(2, 5, n)
    parents, tables = [], []
    for child in range(n):
        near = np.arange(max(0, child - 20), child)
        family = np.sort(
            rng.choice(near, min(len(near), int(rng.integers(0, 4))), replace=False)
        )
        shape = tuple(r[family].tolist())
        table = rng.dirichlet(np.full(r[child], 0.5), int(np.prod(shape)))
        parents.append(tuple(family.tolist()))
        tables.append(table.reshape(*shape, int(r[child])))
    return BayesianNetwork(
        tuple(f"X{i}" for i in range(n)),
        tuple(tuple(map(str, range(k))) for k in r),
        tuple(parents),
        tuple(tables),
    )


def bif(folder: Path, name: str) -> BayesianNetwork:
    """Return a network of the folder."""
    return read_bif(folder / "bif" / f"{name}.bif.gz")


SMALL: dict[str, Callable[[Path], Case]] = {
    "asia16": lambda folder: sampled(bif(folder, "asia"), 100, "mcar:2"),
    "asia32": lambda folder: sampled(bif(folder, "asia"), 100, "mcar:4"),
    "asia64": lambda folder: sampled(bif(folder, "asia"), 100, "mcar:8"),
    "asia16-mnar": lambda folder: sampled(bif(folder, "asia"), 100, "mnar:2"),
    "asia32-mnar": lambda folder: sampled(bif(folder, "asia"), 100, "mnar:4"),
    "asia64-mnar": lambda folder: sampled(bif(folder, "asia"), 100, "mnar:8"),
    "lucas24": lambda folder: sampled(
        read_bif(folder / "lucas" / "lucas.bif"), 200, "mcar:2"
    ),
    "lucas60": lambda folder: sampled(
        read_bif(folder / "lucas" / "lucas.bif"), 200, "mcar:5"
    ),
    "survey36": lambda folder: sampled(bif(folder, "survey"), 200, "mcar:6"),
    "child20": lambda folder: sampled(bif(folder, "child"), 200, "mcar:1"),
    "alarm37": lambda folder: sampled(bif(folder, "alarm"), 500, "mcar:1"),
}
"""Cases for the exact methods; the last three have variables of up to six states."""

LARGE: dict[str, Callable[[Path], Case]] = {
    "spect3": lambda folder: spect(folder, 0.03),
    "spect5": lambda folder: spect(folder, 0.05),
    "spect10": lambda folder: spect(folder, 0.1),
    "votes": lambda folder: Case(
        read_dataset(folder / "uci" / "house-votes-84.data", header=False), None
    ),
    "soybean": lambda folder: Case(
        read_dataset(folder / "uci" / "soybean-large.data", header=False), None
    ),
    "car": lambda folder: hidden_cells(
        read_dataset(folder / "uci" / "car.data", header=False), 100
    ),
    "lucas": lambda folder: hidden_cells(
        read_dataset(folder / "lucas" / "lucas0_train.csv"), 100
    ),
    "lucas2000": lambda folder: sampled(
        read_bif(folder / "lucas" / "lucas.bif"), 2000, "mcar:0.05"
    ),
    "andes": lambda folder: sampled(bif(folder, "andes"), 1000, "mcar:0.05"),
    "synthetic1000": lambda folder: sampled(synthetic_network(1000), 1000, "mcar:0.02"),
}

GROWING: dict[str, Callable[[Path], Case]] = {
    f"lucas{rows}-{percent}%": partial(
        lambda folder, rows, percent: sampled(
            read_bif(folder / "lucas" / "lucas.bif"), rows, f"mcar:{percent / 100}"
        ),
        rows=rows,
        percent=percent,
    )
    for rows, percent in product((250, 500, 1000, 2000, 4000), (2, 5, 10))
}
"""One network's tables of more and more rows and cells: what a cell costs as they grow."""

CASES = SMALL | LARGE | GROWING


def processor_seconds() -> float:
    """Return the processor time of all threads so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def accuracy(case: Case, result: Augmentation) -> str:
    """Return the share of hidden cells that have their true value."""
    if case.complete is None:
        return "-"
    cells = case.holed.missing_cells
    return (
        f"{(case.complete.codes[cells[:, 0], cells[:, 1]] == result.values).mean():.3f}"
    )


def compile_first(methods: Sequence[str]) -> None:
    """Run once on a small table, so that what is timed is compiled."""
    table = synthetic_network(8).sample(30, np.random.default_rng(0))
    for method in methods:
        augment(hidden_cells(table, 5).holed, BDeu(), method=method, starts=2)


@click.command()
@click.argument("names", nargs=-1, type=click.Choice([*CASES]))
@click.option("--data-dir", envvar="EXACTLEARN_DATA", required=True, type=Path)
@click.option(
    "--method",
    "methods",
    multiple=True,
    default=("t-local",),
    type=click.Choice(METHODS),
)
@click.option("--starts", default=1, show_default=True)
@click.option("--t", default=1, show_default=True)
@click.option("--time-limit", type=float, default=None, help="Seconds for each case.")
@click.option("--growing", is_flag=True, help="Solve the cases of growing tables.")
@click.option("--trace", is_flag=True, help="Print every improvement to stderr.")
def main(
    names: tuple[str, ...],
    data_dir: Path,
    methods: tuple[str, ...],
    starts: int,
    t: int,
    time_limit: float | None,
    growing: bool,
    trace: bool,
) -> None:
    """Solve each case by each method and print what it took; without names, the large ones."""
    compile_first(methods)
    click.echo(f"# {machine()}; BDeu(1), k = 3, t = {t}, {starts} start(s)")
    click.echo(
        f"{'case':14}{'method':10}{'vars':>5}{'rows':>6}{'cells':>7}{'cpu':>9}{'s/start':>9}{'ms/cell':>9}"
        f"{'score':>14}{'gap':>8}  {'right':6}status"
    )
    best = [-np.inf]

    def tell(event: Event) -> None:
        if trace and event.score > best[0]:
            best[0] = event.score
            click.echo(f"{event.seconds:9.2f} {event.score:14.4f}", err=True)

    for name, method in product(names or tuple(GROWING if growing else LARGE), methods):
        case = CASES[name](data_dir)
        best[0] = -np.inf
        began = processor_seconds()
        result = augment(
            case.holed, BDeu(), method=method, t=t, starts=starts, time_limit=time_limit,
            on_event=tell,
        )  # fmt: skip
        cpu, cells = processor_seconds() - began, len(case.holed.missing_cells)
        climbs = starts if method == "t-local" else 1
        click.echo(
            f"{name:14}{method:10}{case.holed.n_variables:5}{case.holed.n_rows:6}{cells:7}{cpu:9.2f}"
            f"{result.seconds / climbs:9.2f}{1e3 * cpu / max(1, cells) / climbs:9.2f}"
            f"{result.score:14.3f}{result.gap:8.3f}  {accuracy(case, result):6}"
            f"{result.status}{': ' + result.message if result.message else ''}"
        )
        sys.stdout.flush()


if __name__ == "__main__":
    main()
