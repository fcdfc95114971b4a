"""Structure from deletion counts, beside structural EM and t-local augmentation.

DEL's closing remark says that estimates in closed form open the door to structure learning from
incomplete data; the paper has no experiment. Here all methods maximise BIC over networks with at
most two parents; the parameters of each network are fitted by EM to the same rows.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from time import process_time
from typing import Any

from exactlearn.augmentation import augment
from exactlearn.bayesnet.em import fit_em
from exactlearn.data.dataset import Dataset
from exactlearn.evaluation.metrics import Mean
from exactlearn.evaluation.models import log_likelihoods
from exactlearn.graphs.equivalence import cpdag, structural_hamming_distance
from exactlearn.reproduce.deletion import FIRST, MCAR, Drawn, Setting, draw
from exactlearn.reproduce.runner import Runs, Setup
from exactlearn.scoring.candidates import candidate_parent_sets
from exactlearn.scoring.deletion_enumeration import COUNTS_METHODS, CountsMethod, DeletionCounts
from exactlearn.scoring.scores import BIC
from exactlearn.solvers import solve
from exactlearn.structure.structural_em import structural_em

STRUCTURE = "structure"
"""The table's name."""

LIMIT = 60.0
"""Seconds that structural EM, t-local augmentation and the solver may take."""

MAX_PARENTS = 2

NETWORKS = ("ASIA", "CHILD", "ALARM")
SIZES = (1_000, 10_000)
SETTINGS: tuple[tuple[str, Setting], ...] = (("MCAR", MCAR), ("MAR", FIRST))

Parents = Sequence[Sequence[int]]

Learn = Callable[[Dataset, int], Parents]
"""Learns the parents of each variable from a table and a seed."""


def _counted(method: CountsMethod) -> Learn:
    def learn(dataset: Dataset, seed: int) -> Parents:
        problem = candidate_parent_sets(
            dataset, BIC(), max_parents=MAX_PARENTS, counts=DeletionCounts(method)
        )
        return _some(solve(problem, time_limit=LIMIT, seed=seed).parents)

    return learn


def _by_structural_em(dataset: Dataset, seed: int) -> Parents:
    found = structural_em(dataset, BIC(), max_parents=MAX_PARENTS, time_limit=LIMIT, seed=seed)
    return _some(found.parents)


def _by_augmentation(dataset: Dataset, seed: int) -> Parents:
    found = augment(
        dataset, BIC(), method="t-local", max_parents=MAX_PARENTS, time_limit=LIMIT, seed=seed
    )
    return _some(found.parents)


def _some(parents: Parents | None) -> Parents:
    assert parents is not None  # without constraints there is always a network
    return parents


METHODS: Mapping[str, Learn] = {
    **{f"--counts {method}": _counted(method) for method in COUNTS_METHODS if method[0] != "i"},
    "structural-em": _by_structural_em,
    "t-local": _by_augmentation,
}


@dataclass(frozen=True, kw_only=True)
class StructureRow:
    """Means over the repetitions of a method in one experiment.

    Parameters
    ----------
    network, missing, rows, method
        What was learnt, how cells were missing, from how many rows, and how.
    repetitions
        How many data sets.
    shd, cpdag_shd
        Edges that differ from those of the network, and of its Markov equivalence class.
    log_likelihood
        Per test row.
    seconds
        CPU time of the structure.
    """

    network: str
    missing: str
    rows: int
    method: str
    repetitions: int
    shd: float
    cpdag_shd: float
    log_likelihood: float
    seconds: float


@dataclass(frozen=True)
class StructureStudy:
    """The comparison of structures.

    Parameters
    ----------
    setup
        Record, seeds, and which of the experiments.
    """

    setup: Setup

    def experiments(self) -> Iterator[tuple[str, str, Setting, int]]:
        """Return network, missingness, its setting, and number of rows, of what is wanted."""
        for network in NETWORKS:
            for missing, setting in SETTINGS:
                for rows in SIZES if self.setup.full else SIZES[:1]:
                    if self.setup.only in f"{network}, {rows} rows":
                        yield network, missing, setting, rows

    def repeat(self) -> None:
        """Run what is not yet done; begins nothing once the record's control is over."""
        for seed in self.setup.seeds:
            for network, missing, setting, rows in self.experiments():
                drawn = cache(partial(draw, self.setup, setting, network, rows, seed))
                for method in METHODS:
                    run = partial(_judged, method, drawn, seed)
                    key = _key(network, missing, rows)
                    self.setup.record.once(key, str(seed), method, run)

    def rows(self) -> list[StructureRow]:
        """Return the rows of the table as far as they are run."""
        found = []
        for network, missing, _, rows in self.experiments():
            own = self.setup.record.done.get(_key(network, missing, rows), {})
            runs = [own[str(seed)] for seed in self.setup.seeds if str(seed) in own]
            for method in METHODS:
                done = [run for run in runs if method in run]
                if done:
                    found.append(
                        StructureRow(
                            network=network,
                            missing=missing,
                            rows=rows,
                            method=method,
                            repetitions=len(done),
                            **_means(done, method),
                        )
                    )
        return found


def _key(network: str, missing: str, rows: int) -> str:
    return f"structure, {missing}: {network}, {rows} rows"


def _means(runs: Sequence[Runs], method: str) -> dict[str, float]:
    what = ("shd", "cpdag_shd", "log_likelihood", "seconds")
    return {key: Mean.of([run[method][key] for run in runs]).value for key in what}


def _judged(method: str, draws: Callable[[], Drawn], seed: int) -> dict[str, Any]:
    """Learn a structure; return how far it is from the network, and how likely rows are."""
    drawn = draws()
    begun = process_time()
    parents = METHODS[method](drawn.dataset, seed)
    seconds = process_time() - begun
    families = [tuple(family) for family in parents]
    truth = drawn.network.parents
    model = fit_em(drawn.dataset, families, time_limit=LIMIT, seed=seed).model
    return {
        "shd": structural_hamming_distance(families, truth),
        "cpdag_shd": structural_hamming_distance(cpdag(families), cpdag(truth)),
        "log_likelihood": float(log_likelihoods(model, drawn.test).mean()),
        "seconds": seconds,
    }
