"""Structures from incomplete rows: structural EM, augmentation and deletion, and what they miss.

The *grid* repeats the experiment of Bodewes and Scutari (2021, "Learning Bayesian networks from
incomplete data with the node-average likelihood") on ALARM: cells missing completely at random, and
the structural Hamming distance of the CPDAGs for each arc of the network. *comparison* compares the
same methods on four networks, also where cells are missing by observed ones or by themselves. All
methods maximise BIC over networks with at most three parents; the parameters of each are fitted by
EM to the same rows. ``complete`` learns from the rows before cells were hidden: what is left to
gain.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from time import process_time
from typing import Any, NamedTuple

import numpy as np

from exactlearn.augmentation import augment
from exactlearn.augmentation.starts import mode_completion
from exactlearn.bayesnet.em import fit_em
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.dataset import Dataset
from exactlearn.data.missingness import hide
from exactlearn.evaluation.metrics import Mean
from exactlearn.evaluation.models import log_likelihoods
from exactlearn.graphs.equivalence import cpdag, structural_hamming_distance
from exactlearn.reproduce.deletion import network_named
from exactlearn.reproduce.runner import Setup
from exactlearn.scoring.candidates import candidate_parent_sets
from exactlearn.scoring.deletion_enumeration import CountsMethod, DeletionCounts
from exactlearn.scoring.scores import BIC
from exactlearn.solvers import solve
from exactlearn.structure.structural_em import structural_em

LIMIT = 600.0
"""Seconds of a run; the best structure so far is taken then."""

MAX_PARENTS = 3
COUNTED_PARENTS = 2
"""Most parents; fewer by counts that deletion estimates, for time."""

TEST_ROWS = 10_000


class Incomplete(NamedTuple):
    """What a repetition learns from: the network, rows before and after hiding, complete rows."""

    network: BayesianNetwork
    complete: Dataset
    dataset: Dataset
    test: Dataset


Parents = tuple[tuple[int, ...], ...]

Learn = Callable[[Incomplete, int], Parents | None]
"""Learns the parents of each variable from a repetition's rows and a seed."""


def _counted(method: CountsMethod, rows: Incomplete, seed: int) -> Parents | None:
    problem = candidate_parent_sets(
        rows.dataset,
        BIC(),
        max_parents=COUNTED_PARENTS,
        counts=DeletionCounts(method),
        time_limit=LIMIT,
    )
    return solve(problem, time_limit=LIMIT, seed=seed).parents


def _by_structural_em(variant: str, rows: Incomplete, seed: int) -> Parents | None:
    return structural_em(
        rows.dataset, BIC(), variant=variant, max_parents=MAX_PARENTS, time_limit=LIMIT, seed=seed
    ).parents


def _by_augmentation(rows: Incomplete, seed: int) -> Parents | None:
    return augment(
        rows.dataset, BIC(), method="t-local", max_parents=MAX_PARENTS, time_limit=LIMIT, seed=seed
    ).parents


def _of_complete(table: Callable[[Incomplete], Dataset], rows: Incomplete, seed: int) -> Any:
    problem = candidate_parent_sets(table(rows), BIC(), max_parents=MAX_PARENTS)
    return solve(problem, time_limit=LIMIT, seed=seed).parents


def _with_modes(rows: Incomplete) -> Dataset:
    return rows.dataset.complete(mode_completion(rows.dataset))


METHODS: Mapping[str, Learn] = {
    "structural-em": partial(_by_structural_em, "expected"),
    "structural-em-hard": partial(_by_structural_em, "hard"),
    "--counts f-mcar": partial(_counted, "f-mcar"),
    "--counts node-average": partial(_counted, "node-average"),
    "t-local": _by_augmentation,
    "mode": partial(_of_complete, _with_modes),
    "complete": partial(_of_complete, lambda rows: rows.complete),
}
"""The methods, the one under test first."""


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Rows of a network with missing cells.

    Parameters
    ----------
    table
        ``grid`` or ``comparison``.
    network, spec, rows
        The network, how cells are hidden, and the number of rows.
    published
        Published distances for each arc, by method.
    """

    table: str
    network: str
    spec: str
    rows: int
    published: Mapping[str, float]

    @property
    def name(self) -> str:
        """Its name in the record."""
        return f"{self.table}, {self.network}, {self.rows} rows, {self.spec}"

    def draw(self, setup: Setup, seed: int) -> Incomplete:
        """Draw the rows of one repetition."""
        network = network_named(self.network, setup.data)
        rng = np.random.default_rng([seed, self.rows])
        complete = network.sample(self.rows, rng)
        return Incomplete(
            network, complete, hide(complete, self.spec, rng), network.sample(TEST_ROWS, rng)
        )


_PUBLISHED = {
    5_090: {"--counts node-average": 0.96, "structural-em": 0.72},
    50_900: {"--counts node-average": 0.67, "structural-em": 0.83},
}
"""Distances for each arc at 20 %; those at 5 % and 10 % are not at hand."""

_MECHANISMS = ("mcar:0.2", "mar:0.2", "mnar:0.2")

EXPERIMENTS: Mapping[str, tuple[Experiment, ...]] = {
    "grid": tuple(
        Experiment(
            table="grid",
            network="ALARM",
            spec=f"mcar:{share}",
            rows=rows,
            published=_PUBLISHED[rows] if share == 0.2 else {},
        )
        for rows in _PUBLISHED
        for share in (0.05, 0.1, 0.2)
    ),
    "comparison": tuple(
        Experiment(table="comparison", network=network, spec=spec, rows=rows, published={})
        for rows in (500, 2_000, 10_000)
        for network in ("ASIA", "CHILD", "INSURANCE", "ALARM")
        for spec in _MECHANISMS
    ),
}

QUICK = 5_090
"""Most rows without ``full``."""


@dataclass(frozen=True, kw_only=True)
class StructuralRow:
    """Means over the repetitions of a method in one experiment.

    Parameters
    ----------
    experiment, method
        Their names.
    repetitions
        How many data sets.
    cpdag_shd, shd_per_arc, shd_error
        Edges of the CPDAG that differ from those of the network's; the same for each of its arcs;
        its standard error.
    published
        The latter as published.
    log_likelihood
        Per test row, less that of the network itself.
    seconds
        CPU time of the structure.
    """

    experiment: str
    method: str
    repetitions: int
    cpdag_shd: float
    shd_per_arc: float
    shd_error: float | None
    published: float | None
    log_likelihood: float
    seconds: float


@dataclass(frozen=True)
class StructuralStudy:
    """The runs of some experiments and methods.

    Parameters
    ----------
    setup
        Record, seeds, and which of the experiments.
    tables
        Which tables.
    """

    setup: Setup
    tables: tuple[str, ...]

    def experiments(self) -> Iterator[Experiment]:
        """Return what is wanted."""
        for table in self.tables:
            for experiment in EXPERIMENTS[table]:
                is_small = experiment.rows <= QUICK
                if self.setup.only in experiment.name and (self.setup.full or is_small):
                    yield experiment

    def repeat(self) -> None:
        """Run what is not yet done."""
        for seed in self.setup.seeds:
            for experiment in self.experiments():
                drawn = cache(partial(experiment.draw, self.setup, seed))
                for method in self.setup.methods or METHODS:
                    run = partial(_judged, METHODS[method], drawn, seed)
                    self.setup.record.once(experiment.name, str(seed), method, run)

    def rows(self) -> list[StructuralRow]:
        """Return the rows of the tables as far as they are run."""
        found = []
        for experiment in self.experiments():
            own = self.setup.record.done.get(experiment.name, {})
            runs = [own[str(seed)] for seed in self.setup.seeds if str(seed) in own]
            for method in METHODS:
                done = [run[method] for run in runs if method in run]
                if done:
                    distance = Mean.of([run["cpdag_shd"] / run["arcs"] for run in done])
                    found.append(
                        StructuralRow(
                            experiment=experiment.name,
                            method=method,
                            repetitions=len(done),
                            cpdag_shd=Mean.of([run["cpdag_shd"] for run in done]).value,
                            shd_per_arc=distance.value,
                            shd_error=distance.error,
                            published=experiment.published.get(method),
                            log_likelihood=Mean.of([run["log_likelihood"] for run in done]).value,
                            seconds=Mean.of([run["seconds"] for run in done]).value,
                        )
                    )
        return found


def _judged(learn: Learn, draw: Callable[[], Incomplete], seed: int) -> dict[str, Any]:
    """Learn a structure; return how far it is from the network, and how likely rows are."""
    rows = draw()
    begun = process_time()
    parents = learn(rows, seed)
    seconds = process_time() - begun
    assert parents is not None  # without constraints there is always a network
    truth = rows.network.parents
    model = fit_em(rows.dataset, parents, seed=seed).model
    gap = log_likelihoods(model, rows.test) - log_likelihoods(rows.network, rows.test)
    return {
        "cpdag_shd": structural_hamming_distance(cpdag(parents), cpdag(truth)),
        "arcs": sum(map(len, truth)),
        "log_likelihood": float(gap.mean()),
        "seconds": seconds,
    }
