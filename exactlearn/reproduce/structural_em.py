"""Structures from incomplete rows: structural EM, augmentation and deletion, and what they miss.

The *grid* repeats the experiment of Bodewes and Scutari (2021, "Learning Bayesian networks from
incomplete data with the node-average likelihood") on ALARM: cells missing completely at random, and
the structural Hamming distance of the CPDAGs for each arc of the network. *comparison* compares the
same methods on four networks, also where cells are missing by observed ones or by themselves; both
maximise BIC over networks with at most three parents. *development* and *test* judge by unseen rows
which method, start and score predict best, on the networks and public sets of the two halves
(:mod:`exactlearn.reproduce.sources`): the defaults are chosen by the first alone. Of a set, rows
with missing cells are left out, so that the unseen rows are complete. The parameters of each
structure are fitted by EM to the same rows. ``complete`` learns from the rows before cells were
hidden: what is left to gain.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from math import inf
from pathlib import Path
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
from exactlearn.imputation.learning import Learning
from exactlearn.imputation.methods import METHODS as IMPUTERS
from exactlearn.reproduce.deletion import network_named
from exactlearn.reproduce.runner import Setup
from exactlearn.reproduce.sources import HALVES as HALF_OF
from exactlearn.reproduce.sources import NETWORKS, SETS, public_set
from exactlearn.scoring.candidates import candidate_parent_sets
from exactlearn.scoring.deletion_enumeration import CountsMethod, DeletionCounts
from exactlearn.scoring.expected_counts import ExpectedCounts
from exactlearn.scoring.scores import BIC, BDeu, Score
from exactlearn.solvers import solve
from exactlearn.structure.ess_choice import choose_ess
from exactlearn.structure.learned_counts import learned_counts
from exactlearn.structure.structural_em import structural_em

LIMIT = 600.0
"""Seconds of a run; the best structure so far is taken then."""

MAX_PARENTS = 3
COUNTED_PARENTS = 2
"""Most parents; fewer by counts that deletion estimates, for time."""

TEST_ROWS = 10_000

MANY_VARIABLES = 25
"""Most variables of a table of a half in which a variable may have more than two parents."""

MOST_TEST_ROWS = 1_000
"""Most rows of a public set that are judged by."""


class Incomplete(NamedTuple):
    """What a repetition learns from, and is judged by.

    Attributes
    ----------
    network
        The network that rows are drawn from, if there is one.
    complete, dataset
        The rows before and after hiding.
    test
        Complete rows that are not learnt from.
    score, max_parents
        What to maximise, over which networks.
    """

    network: BayesianNetwork | None
    complete: Dataset
    dataset: Dataset
    test: Dataset
    score: Score
    max_parents: int


Parents = tuple[tuple[int, ...], ...]

Learn = Callable[[Incomplete, int], Parents | None]
"""Learns the parents of each variable from a repetition's rows and a seed."""


def _counted(method: CountsMethod, rows: Incomplete, seed: int) -> Parents | None:
    problem = candidate_parent_sets(
        rows.dataset,
        rows.score,
        max_parents=min(COUNTED_PARENTS, rows.max_parents),
        counts=DeletionCounts(method),
        time_limit=LIMIT,
    )
    return solve(problem, time_limit=LIMIT, seed=seed).parents


def _by_structural_em(
    rows: Incomplete, seed: int, *, variant: str = "expected", start: str = "deletion"
) -> Parents | None:
    return structural_em(
        rows.dataset,
        rows.score,
        variant=variant,
        max_parents=rows.max_parents,
        start=start,
        time_limit=LIMIT,
        seed=seed,
    ).parents


def _by_augmentation(rows: Incomplete, seed: int) -> Parents | None:
    most = rows.max_parents
    return augment(
        rows.dataset, rows.score, method="t-local", max_parents=most, time_limit=LIMIT, seed=seed
    ).parents


def _by_expected_counts(rows: Incomplete, seed: int, *, auto: bool = False) -> Parents | None:
    most = rows.max_parents
    if auto:
        choice = choose_ess(rows.dataset, max_parents=most, seed=seed, time_limit=LIMIT)
        rows = rows._replace(score=BDeu(choice.ess))
    learned = learned_counts(rows.dataset, max_parents=most, seed=seed, time_limit=LIMIT)
    if not learned.counts.finished:
        return learned.network.parents
    return _best(rows.dataset, rows, seed, learned.counts)


def _best(
    table: Dataset, rows: Incomplete, seed: int, counts: ExpectedCounts | None = None
) -> Parents | None:
    problem = candidate_parent_sets(table, rows.score, max_parents=rows.max_parents, counts=counts)
    return solve(problem, time_limit=LIMIT, seed=seed).parents


def _of_complete(rows: Incomplete, seed: int) -> Parents | None:
    return _best(rows.complete, rows, seed)


def _of_modes(rows: Incomplete, seed: int) -> Parents | None:
    return _best(rows.dataset.complete(mode_completion(rows.dataset)), rows, seed)


def _of_imputed(method: str, rows: Incomplete, seed: int) -> Parents | None:
    values = IMPUTERS[method](rows.dataset, Learning(seed=seed, time_limit=LIMIT)).values
    assert values is not None  # the limit is longer than a completion takes
    return _best(rows.dataset.complete(values), rows, seed)


METHODS: Mapping[str, Learn] = {
    "--counts expected": _by_expected_counts,
    "--counts expected --ess auto": partial(_by_expected_counts, auto=True),
    "structural-em": _by_structural_em,
    "structural-em-mode": partial(_by_structural_em, start="mode"),
    "structural-em-independent": partial(_by_structural_em, start="independent"),
    "structural-em-hard": partial(_by_structural_em, variant="hard"),
    "--counts f-mcar": partial(_counted, "f-mcar"),
    "--counts node-average": partial(_counted, "node-average"),
    "t-local": _by_augmentation,
    "posterior": partial(_of_imputed, "posterior"),
    "logistic": partial(_of_imputed, "logistic"),
    "mode": _of_modes,
    "complete": _of_complete,
}
"""The methods, that of `solve` first; imputers complete the table by their most probable states.

`--ess auto` replaces the score, so that it is the same for all equivalent sample sizes."""


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Rows of a network with missing cells.

    Parameters
    ----------
    table
        One of `EXPERIMENTS`.
    network, spec, rows
        The network or public set, how cells are hidden, and the number of rows.
    score
        What is maximised.
    published
        Published distances for each arc, by method.
    """

    table: str
    network: str
    spec: str
    rows: int
    score: Score = field(default_factory=BIC)
    published: Mapping[str, float] = field(default_factory=dict)

    @property
    def cell(self) -> str:
        """The rows that are learnt from, whatever the score."""
        return f"{self.table}, {self.network}, {self.rows} rows, {self.spec}"

    @property
    def name(self) -> str:
        """Its name in the record."""
        return f"{self.cell}, ess {self.score.ess:g}" if isinstance(self.score, BDeu) else self.cell

    @property
    def group(self) -> str:
        """The experiments that it is summarised with."""
        return self.name.replace(f" {self.network},", "")

    def draw(self, setup: Setup, seed: int) -> Incomplete:
        """Draw the rows of one repetition."""
        rng = np.random.default_rng([seed, self.rows])
        network = None
        if self.network in SETS:
            complete, test = _divided(self.network, setup.data, self.rows, rng)
        else:
            network = network_named(self.network, setup.data)
            complete, test = network.sample(self.rows, rng), network.sample(TEST_ROWS, rng)
        hidden = hide(complete, self.spec, rng)
        is_judged = self.table in HALVES
        most = MAX_PARENTS if not is_judged or complete.n_variables <= MANY_VARIABLES else 2
        return Incomplete(network, complete, hidden, test, self.score, most)


def _divided(
    name: str, folder: Path | None, rows: int, rng: np.random.Generator
) -> tuple[Dataset, Dataset]:
    """Return complete rows of a public set, to learn from and to judge by, a fifth at least."""
    table = public_set(name, folder, rng, rows + MOST_TEST_ROWS)
    table = table.part(table.complete_rows)
    chosen = np.zeros(table.n_rows, np.bool_)
    chosen[rng.permutation(table.n_rows)[: min(rows, 4 * table.n_rows // 5)]] = True
    return table.part(chosen), table.part(~chosen)


_PUBLISHED = {
    5_090: {"--counts node-average": 0.96, "structural-em": 0.72},
    50_900: {"--counts node-average": 0.67, "structural-em": 0.83},
}
"""Distances for each arc at 20 %; those at 5 % and 10 % are not at hand."""

_SMALL = ("bridges", "hayes-roth", "post-operative")
"""Public sets with fewer than 200 complete rows."""

HALVES: Mapping[str, tuple[str, ...]] = {
    half: tuple(n for n in (*NETWORKS, *SETS) if HALF_OF[n] == half and n not in _SMALL)
    for half in ("development", "test")
}
"""Networks, then public sets."""

_LARGE = ("abalone", "krkopt", "nursery", "adult", "letter", "mushroom", "page-blocks", "sat")
"""Public sets with more than 3,000 rows."""

_JUDGED = ("mcar:0.15", "mar:0.15", "mnar:0.15", "mnar-states:0.15")

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
        Experiment(table="comparison", network=network, spec=spec, rows=rows)
        for rows in (500, 2_000, 10_000)
        for network in ("ASIA", "CHILD", "INSURANCE", "ALARM")
        for spec in _MECHANISMS
    ),
    **{
        half: tuple(
            Experiment(table=half, network=name, spec=spec, rows=rows, score=BDeu(ess))
            for rows in (500, 2_000)
            for ess in (1.0, 10.0)
            for spec in _JUDGED
            for name in names
            if rows == 500 or name in _LARGE or name not in SETS
        )
        for half, names in HALVES.items()
    },
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
        its standard error. NaN where there is no network.
    published
        The latter as published.
    log_likelihood
        Per test row, less that of the network itself, if there is one.
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


CLOSE = 0.05
"""Nats per test row that a method may be behind the best one."""


@dataclass(frozen=True, kw_only=True)
class Summary:
    """How far a method is behind the best one, over the experiments of a half.

    Parameters
    ----------
    group, method
        Rows, missing cells and score of the experiments; the method.
    experiments
        How many.
    shortfall, largest
        Mean and largest difference of the log-likelihood per test row from the best method's, by
        any score, other than ``complete``.
    close, behind_mode
        Experiments in which that is at most `CLOSE`; in which ``mode``, by any score, has more by
        more than that.
    cpdag_shd, seconds
        Means over the experiments that have it.
    """

    group: str
    method: str
    experiments: int
    shortfall: float
    largest: float
    close: int
    behind_mode: int
    cpdag_shd: float
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
                    distances = [run["cpdag_shd"] for run in done if "arcs" in run]
                    per_arc = [run["cpdag_shd"] / run["arcs"] for run in done if "arcs" in run]
                    distance = Mean.of(per_arc)
                    found.append(
                        StructuralRow(
                            experiment=experiment.name,
                            method=method,
                            repetitions=len(done),
                            cpdag_shd=Mean.of(distances).value,
                            shd_per_arc=distance.value,
                            shd_error=distance.error,
                            published=experiment.published.get(method),
                            log_likelihood=Mean.of([run["log_likelihood"] for run in done]).value,
                            seconds=Mean.of([run["seconds"] for run in done]).value,
                        )
                    )
        return found


def summaries(
    rows: Sequence[StructuralRow], experiments: Mapping[str, Experiment]
) -> list[Summary]:
    """Return how far each method is behind the best one, within each group of experiments.

    Parameters
    ----------
    rows
        Methods in experiments.
    experiments
        Those to summarise, by name.
    """
    judged = [(experiments[row.experiment], row) for row in rows if row.experiment in experiments]
    best: dict[tuple[str, bool], float] = {}
    for experiment, row in judged:
        for is_mode in (False, row.method == "mode"):
            if row.method != "complete":
                key = experiment.cell, is_mode
                best[key] = max(row.log_likelihood, best.get(key, -inf))
    found = []
    for group in dict.fromkeys(experiment.group for experiment, _ in judged):
        for method in METHODS:
            own = [(e.cell, r) for e, r in judged if (e.group, r.method) == (group, method)]
            losses = [best[cell, False] - r.log_likelihood for cell, r in own]
            modes = [best.get((cell, True), -inf) - r.log_likelihood for cell, r in own]
            if own:
                found.append(
                    Summary(
                        group=group,
                        method=method,
                        experiments=len(own),
                        shortfall=Mean.of(losses).value,
                        largest=max(losses),
                        close=sum(loss <= CLOSE for loss in losses),
                        behind_mode=sum(loss > CLOSE for loss in modes),
                        cpdag_shd=Mean.of(r.cpdag_shd for _, r in own).value,
                        seconds=Mean.of(r.seconds for _, r in own).value,
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
    model = fit_em(rows.dataset, parents, seed=seed).model
    found = log_likelihoods(model, rows.test)
    record: dict[str, Any] = {"seconds": seconds}
    if rows.network is None:
        return record | {"log_likelihood": float(found.mean())}
    truth = rows.network.parents
    gap = found - log_likelihoods(rows.network, rows.test)
    return record | {
        "cpdag_shd": structural_hamming_distance(cpdag(parents), cpdag(truth)),
        "arcs": sum(map(len, truth)),
        "log_likelihood": float(gap.mean()),
    }
