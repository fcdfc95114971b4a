"""DEL, Tables 1 to 8 and Figures 3 and 5: parameters by deletion, beside EM.

Van den Broeck, Mohan, Choi, Darwiche and Pearl, "Efficient algorithms for Bayesian network
parameter learning from incomplete data". Rows are drawn from a network, cells are hidden by a
random mechanism, and the parameters of the network's structure are estimated from what is left.
They are judged by the divergence from the network (ALARM, fire alarm) and by the log-likelihood of
complete rows drawn anew. Time is CPU time of the estimate.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from math import isfinite
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from exactlearn.bayesnet.deletion import DeletionMethod, fit_deletion
from exactlearn.bayesnet.em import fit_em
from exactlearn.bayesnet.loopy_propagation import LoopyParameters
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.dataset import Dataset
from exactlearn.data.missingness_simulation import simulate_mar, simulate_mcar
from exactlearn.errors import TooLargeError
from exactlearn.evaluation.metrics import Mean
from exactlearn.evaluation.models import log_likelihoods
from exactlearn.formats.models import read_network
from exactlearn.queries.information import kl_divergence
from exactlearn.reporting.curves import Curves
from exactlearn.reproduce.generators import fire_alarm, ratio_grid
from exactlearn.reproduce.rows import published
from exactlearn.reproduce.runner import Runs, Setup
from exactlearn.reproduce.sources import public_data

TEST_ROWS = 10_000
"""Complete rows that an estimate is judged by."""

LARGE_DIFFERENCE = 1.5
"""Nats, from which on a difference from the published figure wants an explanation."""

LATE = 3.0
"""Multiple of the limit from which on EM is not tried with more rows: one iteration took longer."""

SIZES = (10**2, 10**3, 10**4, 10**5, 10**6)

GRID = "Grid 90-20-1"

LARGE = (GRID, "WATER", "MUNIN1", "BARLEY")
"""Networks whose inference is hard."""

DELETION = ("D-MCAR", "F-MCAR", "D-MAR", "F-MAR")


@dataclass(frozen=True)
class Drawn:
    """What a repetition learns from.

    Parameters
    ----------
    network
        The network that rows are drawn from.
    dataset
        The incomplete rows.
    separators
        Names of the variables that causes of missing cells were drawn from, where they are given.
    test
        Complete rows.
    """

    network: BayesianNetwork
    dataset: Dataset
    separators: tuple[str, ...]
    test: Dataset


@dataclass(frozen=True, kw_only=True)
class Setting:
    """How cells are hidden.

    Parameters
    ----------
    name
        Its name in the record.
    share
        Share of the variables that are incomplete.
    beta
        Shape parameters of the probabilities of a missing cell; completely at random without. The
        paper's Beta(1, .5) is that of an observed cell: only so do its figures come out.
    separators
        Number of variables that causes are drawn from; all without.
    """

    name: str
    share: float = 0.3
    beta: tuple[float, float] | None = (0.5, 1.0)
    separators: int = 0

    def hide(
        self, full: Dataset, network: BayesianNetwork, rng: np.random.Generator
    ) -> tuple[Dataset, tuple[str, ...]]:
        """Return the incomplete table, and the names of the separators."""
        if self.beta is None:
            return simulate_mcar(full, rng, share=self.share).dataset, ()
        chosen = rng.choice(full.n_variables, self.separators, replace=False)
        names = tuple(full.names[v] for v in sorted(chosen.tolist()))
        found = simulate_mar(
            full, network.parents, rng, share=self.share, beta=self.beta, among=names or None
        )
        return found.dataset, names


MCAR = Setting(name="MCAR", beta=None)
FIRST = Setting(name="first setting")
SECOND = Setting(name="second setting", share=0.9, beta=(0.5, 0.5))
INFORMED = Setting(name="informed", separators=3)


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table of the paper, or the data of a figure.

    Parameters
    ----------
    name
        What ``--tables`` calls it.
    setting
        How cells are hidden.
    networks
        What rows are drawn from.
    methods
        The estimators.
    sizes
        Numbers of rows.
    quick
        Most rows without ``--full``.
    limit
        Seconds of CPU that an estimate may take; of EM, after which it returns its best.
    """

    name: str
    setting: Setting
    networks: tuple[str, ...]
    methods: tuple[str, ...]
    sizes: tuple[int, ...]
    quick: int
    limit: float

    def published(self, network: str, rows: int, method: str, what: str) -> float | None:
        """Return the published figure, where there is one."""
        found = published("deletion").get(f"table{self.name}", {})
        if self.networks == LARGE:
            found = found.get(network, {})
        figure: float | None = found.get(what, {}).get(str(rows), {}).get(method)
        return figure


_LARGE_METHODS = ("EM-10", "EM-BP", *DELETION)

TABLES: Mapping[str, Table] = {
    table.name: table
    for table in (
        Table(
            name="2",
            setting=INFORMED,
            networks=("ALARM",),
            methods=("F-MCAR", "D-MAR", "F-MAR", "ID-MAR", "IF-MAR"),
            sizes=SIZES,
            quick=10**4,
            limit=30.0,
        ),
        Table(
            name="3",
            setting=MCAR,
            networks=("ALARM",),
            methods=("EM-1", "EM-10", *DELETION),
            sizes=SIZES,
            quick=10**4,
            limit=30.0,
        ),
        Table(
            name="fire",
            setting=FIRST,
            networks=("fire alarm",),
            methods=("EM-1", "EM-10", *DELETION, "F-MAR + EM"),
            sizes=SIZES,
            quick=10**4,
            limit=60.0,
        ),
        Table(
            name="alarm",
            setting=SECOND,
            networks=("ALARM",),
            methods=("EM-1", "EM-10", *DELETION, "F-MAR + EM"),
            sizes=SIZES,
            quick=10**3,
            limit=60.0,
        ),
        *(
            Table(
                name=name,
                setting=setting,
                networks=LARGE,
                methods=_LARGE_METHODS,
                sizes=SIZES[:4],
                quick=10**3,
                limit=limit,
            )
            for name, setting, limit in (
                ("1", SECOND, 150.0),
                ("4", FIRST, 6.0),
                ("5", FIRST, 30.0),
                ("6", FIRST, 150.0),
                ("7", SECOND, 6.0),
                ("8", SECOND, 30.0),
            )
        ),
    )
}
"""By name, in the order in which they are run; limits are a tenth of the paper's."""

QUICK = ("2", "3", "fire")
"""Tables that are run where none is named and not all sizes are wanted."""

Estimate = Callable[[Drawn, int, float], BayesianNetwork]
"""Estimates the parameters from what is drawn, a seed, and a time limit."""


def _by_deletion(method: DeletionMethod) -> Estimate:
    def estimate(drawn: Drawn, _: int, __: float) -> BayesianNetwork:
        separators = drawn.separators if method.startswith("i") else None
        parents = drawn.network.parents
        return fit_deletion(drawn.dataset, parents, method=method, separators=separators).model

    return estimate


def _by_em(**how: Any) -> Estimate:
    def estimate(drawn: Drawn, seed: int, limit: float) -> BayesianNetwork:
        parents = drawn.network.parents
        return fit_em(drawn.dataset, parents, seed=seed, time_limit=limit, **how).model

    return estimate


METHODS: Mapping[str, Estimate] = {
    "EM-1": _by_em(starts=1),
    "EM-10": _by_em(starts=10),
    "EM-BP": _by_em(starts=10, loopy=LoopyParameters()),
    "F-MAR + EM": _by_em(start="f-mar"),
    "D-MCAR": _by_deletion("d-mcar"),
    "F-MCAR": _by_deletion("f-mcar"),
    "D-MAR": _by_deletion("d-mar"),
    "F-MAR": _by_deletion("f-mar"),
    "ID-MAR": _by_deletion("id-mar"),
    "IF-MAR": _by_deletion("if-mar"),
}
"""The paper's names; all by the public functions with their defaults."""


@cache
def network_named(name: str, folder: Path | None) -> BayesianNetwork:
    """Return a network by its name in the tables.

    Raises
    ------
    OptionError
        When it stands in the folder of public data, and there is none.
    """
    if name == GRID:
        return ratio_grid(20, 0.9, seed=1)
    if name == "fire alarm":
        return fire_alarm()
    return read_network(public_data(folder, "bif") / f"{name.lower()}.bif.gz")


def draw(setup: Setup, setting: Setting, name: str, rows: int, seed: int) -> Drawn:
    """Draw rows of a network for learning and testing, and hide cells of the first."""
    network = network_named(name, setup.data)
    rng = np.random.default_rng([seed, rows])
    dataset, separators = setting.hide(network.sample(rows, rng), network, rng)
    return Drawn(network, dataset, separators, network.sample(TEST_ROWS, rng))


@dataclass(frozen=True, kw_only=True)
class Row:
    """An estimator on one network and number of rows: our figures beside the published ones.

    Parameters
    ----------
    table, network, rows, method
        What was estimated, from how many rows, and how.
    repetitions
        How many data sets.
    kl, log_likelihood, seconds
        Means of the divergence in nats (where it is exact), of the log-likelihood per test row, and
        of CPU time. Nothing where the limit was exceeded or inference refused.
    kl_error, log_likelihood_error
        Standard errors of the means.
    published_kl, published_log_likelihood, published_seconds
        The paper's figures, where it has any.
    refused
        Why there are no figures.
    """

    table: str
    network: str
    rows: int
    method: str
    repetitions: int
    kl: float | None = None
    kl_error: float | None = None
    log_likelihood: float | None = None
    log_likelihood_error: float | None = None
    seconds: float | None = None
    published_kl: float | None = None
    published_log_likelihood: float | None = None
    published_seconds: float | None = None
    refused: str = ""

    @property
    def difference(self) -> float | None:
        """Ours less the paper's: of the divergence, or else of the log-likelihood."""
        for ours, theirs in (
            (self.kl, self.published_kl),
            (self.log_likelihood, self.published_log_likelihood),
        ):
            if ours is not None and theirs is not None:
                return ours - theirs
        return None

    @property
    def is_far(self) -> bool:
        """Whether the difference wants an explanation."""
        return self.difference is not None and abs(self.difference) > LARGE_DIFFERENCE

    @property
    def explanation(self) -> str:
        """Why the figures differ, where they differ much; of the file's the first that fits."""
        if not self.is_far:
            return ""
        for known in published("deletion").get("explanations", ()):
            if all(getattr(self, key) in known[key] for key in _KEYS if key in known):
                return str(known["text"])
        return "not explained"


_KEYS = ("table", "network", "rows", "method")


@dataclass
class Study:
    """The tables that are wanted, and how they are run.

    Parameters
    ----------
    setup
        Record, seeds, and which of the experiments.
    tables
        Their names.
    """

    setup: Setup
    tables: Sequence[str]
    _drawn: dict[tuple[str, str, int, int], Drawn] = field(default_factory=dict, repr=False)

    def repeat(self) -> None:
        """Run what is not yet done; begins nothing once the record's control is over."""
        for seed in self.setup.seeds:
            for table, network, rows in self.experiments():
                for method in self._methods(table):
                    run = partial(self._run, table, network, rows, seed, method)
                    key, named = self._key(table, network, rows), _named(table, method)
                    self.setup.record.once(key, str(seed), named, run)

    def experiments(self) -> Iterator[tuple[Table, str, int]]:
        """Return the tables, networks and numbers of rows that are wanted."""
        for name in self.tables:
            table = TABLES[name]
            for network in table.networks:
                for rows in table.sizes:
                    experiment = f"{network}, {rows} rows"
                    if self.setup.only in experiment and (self.setup.full or rows <= table.quick):
                        yield table, network, rows

    def rows(self) -> list[Row]:
        """Return the rows of the tables as far as they are run."""
        found = []
        for table, network, rows in self.experiments():
            own = self.setup.record.done.get(self._key(table, network, rows), {})
            runs = [own[str(seed)] for seed in self.setup.seeds if str(seed) in own]
            for method in self._methods(table):
                if any(_named(table, method) in run for run in runs):
                    found.append(_row(table, network, rows, method, runs))
        return found

    def _key(self, table: Table, network: str, rows: int) -> str:
        return f"deletion, {table.setting.name}: {network}, {rows} rows"

    def _methods(self, table: Table) -> list[str]:
        wanted = self.setup.methods
        return [m for m in table.methods if not wanted or m in wanted]

    def _run(self, table: Table, network: str, rows: int, seed: int, method: str) -> dict[str, Any]:
        """Estimate once; return how well, and how long it took.

        EM ends after the iteration in which its limit falls. Where that was much too late, it is
        not run with more rows.
        """
        late = self._late(table, network, rows, seed, method)
        if late is not None:
            return {"refused": late, "seconds": 0.0}
        at = table.setting.name, network, rows, seed
        if at not in self._drawn:  # the last draw only: they may be large
            self._drawn = {at: draw(self.setup, table.setting, network, rows, seed)}
        drawn = self._drawn[at]
        begun = process_time()
        try:
            model = METHODS[method](drawn, seed, table.limit)
        except TooLargeError as error:
            return {"refused": str(error), "seconds": process_time() - begun}
        seconds = process_time() - begun
        exact = network not in LARGE
        return {
            "kl": kl_divergence(drawn.network, model) if exact else None,
            "log_likelihood": float(log_likelihoods(model, drawn.test).mean()),
            "seconds": seconds,
        }

    def _late(self, table: Table, network: str, rows: int, seed: int, method: str) -> str | None:
        """Say how far EM was beyond the limit with fewer rows, where it was."""
        for fewer in table.sizes[: table.sizes.index(rows)]:
            done = self.setup.record.done.get(self._key(table, network, fewer), {})
            run = done.get(str(seed), {}).get(_named(table, method), {})
            if "EM" in method and run.get("seconds", 0.0) > LATE * table.limit:
                return f"took {run['seconds']:.0f} s for {fewer:,} rows"
        return None


def _named(table: Table, method: str) -> str:
    """Return the name of a method's runs: those of EM depend on the limit."""
    return f"{method}, {table.limit:g} s" if "EM" in method else method


def _row(table: Table, network: str, rows: int, method: str, runs: Sequence[Runs]) -> Row:
    """Return the means over the repetitions; none where one took longer than the limit."""
    own = [run[_named(table, method)] for run in runs if _named(table, method) in run]
    refused = next((run["refused"] for run in own if run.get("refused")), "")
    if not refused and "EM" not in method and any(r["seconds"] > table.limit for r in own):
        refused = f"beyond the limit of {table.limit:g} s"
    figures: dict[str, float | None] = {}
    if not refused:
        for what in ("kl", "log_likelihood"):
            values = [run[what] for run in own if run.get(what) is not None]
            mean = Mean.of(values) if values else None
            figures[what] = None if mean is None else mean.value
            known = mean is not None and isfinite(mean.error)
            figures[f"{what}_error"] = mean.error if mean is not None and known else None
        figures["seconds"] = Mean.of([run["seconds"] for run in own]).value
    return Row(
        table=table.name,
        network=network,
        rows=rows,
        method=method,
        repetitions=len(own),
        refused=refused,
        published_kl=table.published(network, rows, method, "kl"),
        published_log_likelihood=table.published(network, rows, method, "log_likelihood"),
        published_seconds=table.published(network, rows, method, "seconds"),
        **figures,
    )


@dataclass(frozen=True)
class Figure:
    """A figure of the paper: one curve a method.

    Parameters
    ----------
    name
        Of the file.
    table
        Whose figures.
    across, up
        What is drawn against what: fields of `Row`.
    """

    name: str
    table: str
    across: str
    up: str

    def curves(self, rows: Sequence[Row]) -> Curves:
        """Return the points of each method by growing number of rows."""
        found: dict[str, list[tuple[float, float]]] = {}
        for row in rows:
            x, y = getattr(row, self.across), getattr(row, self.up)
            if row.table == self.table and x is not None and y is not None:
                found.setdefault(row.method, []).append((x, y))
        return found


FIGURES = (
    Figure("figure-3a", "fire", "rows", "kl"),
    Figure("figure-3b", "alarm", "rows", "log_likelihood"),
    Figure("figure-3c", "alarm", "seconds", "log_likelihood"),
    Figure("figure-5a", "3", "rows", "kl"),
    Figure("figure-5b", "3", "seconds", "kl"),
)
