"""``exactlearn compare``: methods of completing missing cells, side by side."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import click
import numpy as np

from exactlearn.commands.comparing import Pair, Plan
from exactlearn.commands.imputing import learner_option, networks_option
from exactlearn.commands.options import incomplete_options, output_options, reading_options
from exactlearn.commands.output import Output, require_suffix
from exactlearn.commands.pipeline import load, load_truth
from exactlearn.commands.runs import Criterion, Reading, Search
from exactlearn.data.dataset import Dataset
from exactlearn.data.labels import variable_index
from exactlearn.data.missingness import hide
from exactlearn.errors import DataError, OptionError, did_you_mean
from exactlearn.formats.bif import read_bif
from exactlearn.imputation.learning import Learner
from exactlearn.imputation.methods import METHODS
from exactlearn.imputation.scikit_learn import class_variable, require_library
from exactlearn.instances import locate

DEFAULT_METHODS = "branching,t-local,mode"
"""What is compared when nothing is said: the default of ``augment``, and what is quicker."""

DEFAULT_SECONDS = 60.0
"""The time limit of these: the proof of ``branching`` may take any time."""


@click.command("compare")
@click.argument("source", metavar="[DATA.csv]", required=False)
@output_options
@reading_options
@click.option(
    "--methods",
    metavar="A,B,...",
    help=f"Methods to compare, of {', '.join(METHODS)}.  [default: {DEFAULT_METHODS}, with "
    f"{DEFAULT_SECONDS:g} seconds for each and each table unless --time-limit says another limit]",
)
@click.option("--truth", metavar="COMPLETE.csv", help="The table before cells were hidden.")
@learner_option
@networks_option
@click.option("--network", metavar="NETWORK.bif", help="Draw complete tables from a network.")
@click.option(
    "--rows",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    help="With --network: rows of each table.",
)
@click.option(
    "--hide",
    "spec",
    metavar="MECHANISM:AMOUNT",
    help="Hide cells of complete tables, as 'simulate' does.  [default with --network: mnar:2]",
)
@click.option(
    "--repeat",
    type=click.IntRange(1),
    default=20,
    show_default=True,
    help="With --hide or --network: tables, with the seeds that follow --seed.",
)
@click.option(
    "--class",
    "of_class",
    metavar="NAME",
    help="With --hide or --network: hide cells of this variable only, as the svm and label "
    "methods need.",
)
@click.option(
    "--reference",
    metavar="METHOD",
    help="With --hide or --network: test whether the accuracies differ from this method's.",
)
@incomplete_options
def command(
    source: str | None,
    output: Output,
    reading: Reading,
    criterion: Criterion,
    methods: str | None,
    truth: str | None,
    learner: Learner | None,
    networks: int,
    smoothing: float,
    network: str | None,
    rows: int,
    spec: str | None,
    repeat: int,
    of_class: str | None,
    reference: str | None,
    search: Search,
) -> None:
    """Compare methods on an incomplete table, or on tables in which cells are hidden.

    Give an incomplete table, with --truth if it is known; or a complete one with --hide; or a
    --network to draw from. Prints for each method imputation accuracy, score, bound, gap, seconds
    and the logarithmic loss of its probabilities, where it has these; over several tables, means
    with standard errors. -o writes the rows as .json.

    Of the constraints, arcs, --forbid-adjacent and --tiers can be honoured while cells are missing;
    the others, and --scoring-time, are for complete tables ('exactlearn solve').
    """
    require_suffix(output.path, (".json",))
    if (source is None) == (network is None):
        raise OptionError("compare: expected either a table or --network, not both")
    repeated = network is not None or spec is not None
    chosen = _methods(methods or DEFAULT_METHODS)
    if methods is None and search.time_limit is None:
        search = replace(search, time_limit=DEFAULT_SECONDS)
    _check(chosen, repeated=repeated, of_class=of_class, reference=reference)
    plan = Plan(chosen, criterion, search, learner, networks, smoothing, reference, output)
    if not repeated:
        plan.compare(_given(source or "", truth, reading, chosen))
        return
    draw = _from_network(network, rows) if network else _from_table(source or "", reading)
    plan.compare_again(lambda seed: _hidden(draw, spec or "mnar:2", seed, of_class), repeat)


def _methods(told: str) -> list[str]:
    chosen: list[str] = []
    for name in (part.strip() for part in told.split(",")):
        if name not in METHODS:
            raise OptionError(f"--methods: no method {name!r}{did_you_mean(name, METHODS)}")
        if name not in chosen:
            chosen.append(name)
    return chosen


def _check(
    chosen: Sequence[str], *, repeated: bool, of_class: str | None, reference: str | None
) -> None:
    """Refuse, before any work is done, what some method would refuse after that of others."""
    for option, value in (("--class", of_class), ("--reference", reference)):
        if value is not None and not repeated:
            raise OptionError(
                f"{option} {value}: it goes with tables in which cells are hidden; add '--hide "
                "mcar:2', or compare on a --network"
            )
    if reference is not None and reference not in chosen:
        raise OptionError(
            f"--reference {reference}: expected one of the compared methods, {', '.join(chosen)}"
        )
    classifiers = [name for name in chosen if METHODS[name].classifies]
    if repeated and classifiers and of_class is None:
        raise OptionError(
            f"--methods: '{classifiers[0]}' classifies one variable; tell which one's cells to "
            "hide with '--class NAME'"
        )
    if any(METHODS[name].needs_scikit_learn for name in chosen):
        require_library()


def _given(source: str, truth: str | None, reading: Reading, chosen: Sequence[str]) -> Pair:
    data = load(locate(source, ".csv"), reading)
    if data.is_complete:
        raise DataError(
            f"{source}: no cell is missing, so every method would complete it alike; hide "
            "cells with '--hide mcar:2', or learn the network with 'exactlearn solve'"
        )
    if any(METHODS[name].classifies for name in chosen):
        class_variable(data)
    return data, load_truth(locate(truth, ".csv"), reading) if truth else None


def _from_network(name: str, rows: int) -> Callable[[np.random.Generator], Dataset]:
    network = read_bif(locate(name, ".bif"))
    return lambda rng: network.sample(rows, rng)


def _from_table(source: str, reading: Reading) -> Callable[[np.random.Generator], Dataset]:
    table = load(locate(source, ".csv"), reading)
    return lambda rng: table


def _hidden(
    draw: Callable[[np.random.Generator], Dataset], spec: str, seed: int, of_class: str | None
) -> Pair:
    """Return an incomplete table and its truth: of a network, what 'simulate' draws."""
    rng = np.random.default_rng(seed)
    full = draw(rng)
    holes = hide(full, spec, rng)
    return (_only(holes, full, of_class, spec) if of_class else holes), full


def _only(holes: Dataset, full: Dataset, name: str, spec: str) -> Dataset:
    """Return the full table with the holes of one variable."""
    variable = variable_index(name, {known: v for v, known in enumerate(full.names)})
    codes = full.codes.copy()
    codes[:, variable] = holes.codes[:, variable]
    hidden = replace(full, codes=codes)
    if hidden.is_complete:
        raise OptionError(
            f"--class {name}: --hide {spec} hides none of its cells; hide more, or depend on "
            "another variable"
        )
    return hidden
