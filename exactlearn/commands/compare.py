"""``exactlearn compare``: methods of completing missing cells, side by side."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import isfinite
from time import monotonic
from typing import Any, TypeVar

import numpy as np

from exactlearn._runtime.control import SearchControl
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.commands import compare_languages
from exactlearn.commands.declarations import DEFAULT_METHODS, DEFAULT_SECONDS, Compare
from exactlearn.commands.output import Output, require_suffix, write_json
from exactlearn.commands.pipeline import learning, load, load_truth, with_chosen_ess
from exactlearn.commands.search import leave
from exactlearn.data.dataset import Dataset
from exactlearn.data.labels import variable_index
from exactlearn.data.missingness import simulate_missingness
from exactlearn.errors import DataError, OptionError, did_you_mean
from exactlearn.evaluation.metrics import Comparison, Mean, PairedTest
from exactlearn.formats.models import read_network
from exactlearn.imputation.methods import METHODS
from exactlearn.imputation.scikit_learn import class_variable, require_library
from exactlearn.instances import locate
from exactlearn.reporting.report import number, percent, plain_table

T = TypeVar("T")

REPETITIONS = 20
"""Tables in which cells are hidden."""

TEST_ROWS = 1000
"""Rows of a network that those learnt from each of its tables are judged by."""

Pair = tuple[Dataset, Dataset | None]
"""An incomplete table, and its truth if it is known."""

_HEAD = ("method", "status", "accuracy", "log-loss", "score", "bound", "gap", "seconds")
_MEAN_HEAD = (
    "method", "tables", "proven", "limited", "accuracy", "log-loss", "test", "SHD", "score", "gap",
    "seconds",
)  # fmt: skip
_TEXTS = ("method", "status")


def run(options: Compare, output: Output) -> None:
    """Run the command."""
    if options.languages is not None:
        compare_languages.run(options, output)
        return
    _refuse_of_languages(options)
    require_suffix(output.path, (".json",))
    source, network, hidden = options.source, options.network, options.hide
    if (source is None) == (network is None):
        raise OptionError("compare: expected either a table or --network, not both")
    repeated = network is not None or hidden is not None
    chosen = _methods(options.methods or DEFAULT_METHODS)
    if options.methods is None and options.time_limit is None:
        options = replace(options, time_limit=DEFAULT_SECONDS)
    _check(chosen, options, repeated=repeated)
    drawn_from = read_network(locate(network, ".bif")) if network else None
    plan = Plan(chosen, options, output, drawn_from)
    if not repeated:
        plan.compare(_given(source or "", options, chosen))
        return
    draw = _from_network(drawn_from, options) if drawn_from else _from_table(source or "", options)
    plan.compare_again(lambda seed: draw(np.random.default_rng(seed)))


def _refuse_of_languages(options: Compare) -> None:
    """Refuse options that only the comparison of languages has."""
    for name, value in (("--test", options.test), ("--lambdas", options.lambdas)):
        if value:
            raise OptionError(f"{name}: it goes with --languages, as in '--languages bn,nb,pdg'")
    if options.more:
        raise OptionError(
            f"{options.more[0]}: a second table; several are compared with '--languages bn,nb,pdg'"
        )


def _methods(wanted: Sequence[str]) -> list[str]:
    chosen: list[str] = []
    for name in wanted:
        if name not in METHODS:
            raise OptionError(f"--methods: no method {name!r}{did_you_mean(name, METHODS)}")
        if name not in chosen:
            chosen.append(name)
    return chosen


def _check(chosen: Sequence[str], options: Compare, *, repeated: bool) -> None:
    """Refuse, before any work is done, what some method would refuse after that of others."""
    of_class, reference = options.class_, options.reference
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
            f"--methods: '{classifiers[0]}' classifies one variable; say which one's cells to "
            "hide with '--class NAME'"
        )
    if any(METHODS[name].needs_scikit_learn for name in chosen):
        require_library()


def _given(source: str, options: Compare, chosen: Sequence[str]) -> Pair:
    data = load(locate(source, ".csv"), options)
    if data.is_complete:
        raise DataError(
            f"{source}: no cell is missing, so every method would complete it alike; hide "
            "cells with '--hide mcar:2', or learn the network with 'exactlearn solve'"
        )
    if any(METHODS[name].classifies for name in chosen):
        class_variable(data)
    truth = options.truth
    return data, load_truth(locate(truth, ".csv"), options) if truth else None


def _from_network(
    network: BayesianNetwork, options: Compare
) -> Callable[[np.random.Generator], Pair]:
    """Return what draws an incomplete table and its truth, as 'simulate' does."""
    return lambda rng: _hidden(network.sample(options.rows, rng), options, rng, network.parents)


def _from_table(source: str, options: Compare) -> Callable[[np.random.Generator], Pair]:
    table = load(locate(source, ".csv"), options)
    return lambda rng: _hidden(table, options, rng)


def _hidden(
    full: Dataset,
    options: Compare,
    rng: np.random.Generator,
    parents: Sequence[Sequence[int]] | None = None,
) -> Pair:
    spec, of_class = options.hide or "mnar:2", options.class_
    incomplete = simulate_missingness(full, spec, rng, parents).dataset
    return (_only(incomplete, full, of_class, spec) if of_class else incomplete), full


def _only(incomplete: Dataset, full: Dataset, name: str, spec: str) -> Dataset:
    """Return the full table with the missing cells of one variable."""
    variable = variable_index(name, {known: v for v, known in enumerate(full.names)})
    codes = full.codes.copy()
    codes[:, variable] = incomplete.codes[:, variable]
    hidden = replace(full, codes=codes)
    if hidden.is_complete:
        raise OptionError(
            f"--class {name}: --hide {spec} hides none of its cells; hide more, or depend on "
            "another variable"
        )
    return hidden


@dataclass(frozen=True)
class Plan:
    """What is compared, and where the results go.

    Parameters
    ----------
    methods
        Names of methods.
    options
        How networks are learned, and the method to test the others against, if any.
    output
        Where to.
    network
        What the tables are drawn from, if that is known.
    """

    methods: Sequence[str]
    options: Compare
    output: Output
    network: BayesianNetwork | None = None

    def compare(self, pair: Pair) -> None:
        """Complete one table by every method, print the rows, and leave.

        An interrupt keeps what was done before.
        """
        plan = self._with_ess(pair[0], self.options.seed)
        judged = (plan._judged(name, pair, self.options.seed) for name in self.methods)
        all_of = len(self.methods)
        rows, ended = self._kept(judged, _record, lambda n: f"{n} of {all_of} methods are done")
        self._answer(_record(rows), _HEAD, map(_cells, rows))
        leave("feasible" if ended == "optimal" and _limited([rows]) else ended)

    def compare_again(self, draw: Callable[[int], Pair]) -> None:
        """Do so for the tables of as many seeds, print the means, and leave.

        An interrupt keeps what was done before.
        """
        tables, ended = self._tables(draw)
        record = self._means(tables)
        reference = self.options.reference
        head = (*_MEAN_HEAD, *([f"% against {reference}"] if reference else []))
        self._answer(record, head, map(_mean_cells, record["rows"]))
        leave(ended)

    def _rows(self, pair: Pair, seed: int) -> list[Comparison] | None:
        """Complete a table by every method; nothing at an interrupt."""
        rows, plan = list[Comparison](), self._with_ess(pair[0], seed)
        for name in self.methods:
            row = plan._judged(name, pair, seed)
            if row is None:
                return None
            rows.append(row)
        return rows

    def _with_ess(self, data: Dataset, seed: int) -> "Plan":
        """Return the plan for one table, which may choose the equivalent sample size."""
        chosen, _ = with_chosen_ess(data, replace(self.options, seed=seed), self.output.note)
        return replace(self, options=replace(chosen, time_limit=self.options.time_limit))

    def _tables(self, draw: Callable[[int], Pair]) -> tuple[list[list[Comparison]], str]:
        """Return the rows of each table, and how it ended."""
        repeat = REPETITIONS if self.options.repeat is None else self.options.repeat
        seeds = range(self.options.seed, self.options.seed + repeat)
        compared = (self._rows(draw(seed), seed) for seed in seeds)
        tables, ended = self._kept(
            compared, self._means, lambda n: f"the means are over {n} tables"
        )
        return tables, "feasible" if ended == "optimal" and _limited(tables) else ended

    def _kept(
        self,
        work: Iterable[T | None],
        record: Callable[[Sequence[T]], dict[str, Any]],
        extent: Callable[[int], str],
    ) -> tuple[list[T], str]:
        """Return what is done, the record written after each, and how it ended.

        An interrupt, at which the work gives nothing, keeps what was done before; ``extent`` says
        how much that is.
        """
        done: list[T] = []
        with SearchControl().running():
            for one in work:
                if one is None:
                    self.output.note(f"Interrupted: {extent(len(done))}")
                    if not done:
                        leave("interrupted")
                    return done, "interrupted"
                done.append(one)
                if self.output.path is not None:
                    write_json(record(done), self.output.path)
        return done, "optimal"

    def _means(self, tables: Sequence[Sequence[Comparison]]) -> dict[str, Any]:
        """Return the record of repeated tables."""
        return {"rows": _means(tables, self.options.reference)}

    def _answer(
        self, record: Mapping[str, Any], head: Sequence[str], cells: Iterable[Sequence[str]]
    ) -> None:
        """Write and print a record; columns of which no row has anything are left out."""
        self.output.save(record)
        rows = list(cells)
        filled = [c for c in range(len(head)) if any(row[c] for row in rows)]
        shown = [[row[c] for c in filled] for row in rows]
        columns = [head[c] for c in filled]
        self.output.answer(
            record, plain_table(columns, shown, right=[c for c in columns if c not in _TEXTS])
        )

    def _judged(self, name: str, pair: Pair, seed: int) -> Comparison | None:
        """Complete a table by a method; nothing at an interrupt."""
        data, truth = pair
        control = SearchControl.within()
        with self.output.progress_display(f"{name}, seed {seed}") as display:
            how = learning(data, replace(self.options, seed=seed), display)
            begun = monotonic()
            found = METHODS[name](data, how)
            seconds = monotonic() - begun
        if control.is_stopped:
            return None
        judged = Comparison.of(name, data, found, truth, seconds)
        if self.network is None:
            return judged
        test = self.network.sample(TEST_ROWS, np.random.default_rng([seed, TEST_ROWS]))
        alpha = self.options.smoothing
        return judged.beside_truth(data, found, self.network, test, alpha)


def _record(rows: Iterable[Comparison]) -> dict[str, Any]:
    return {"rows": [asdict(row) for row in rows]}


def _limited(tables: Iterable[Iterable[Comparison]]) -> bool:
    return any(row.status == "feasible" for compared in tables for row in compared)


def _means(tables: Sequence[Sequence[Comparison]], reference: str | None) -> list[dict[str, Any]]:
    """Return one row per method: means over the tables with their standard errors, and the test."""
    by_method = {row[0].method: row for row in zip(*tables, strict=True)}
    rows = []
    for method, compared in by_method.items():
        row: dict[str, Any] = {
            "method": method,
            "tables": len(compared),
            "proven": sum(c.status in ("optimal", "t-local") for c in compared),
            "limited": sum(c.status == "feasible" for c in compared),
        }
        for key in (
            "accuracy", "score", "bound", "gap", "seconds", "log_loss", "test_log_likelihood",
            "cpdag_shd",
        ):  # fmt: skip
            mean = Mean.of(getattr(c, key) for c in compared)
            row |= {key: mean.value, f"{key}_error": mean.error}
        if reference is not None:
            row |= _tested(compared, by_method[reference])
        rows.append(row)
    return rows


def _tested(compared: Sequence[Comparison], reference: Sequence[Comparison]) -> dict[str, Any]:
    test = PairedTest.of((c.accuracy for c in compared), (c.accuracy for c in reference))
    return {
        "reference": reference[0].method,
        "difference": test.difference,
        "p_value": test.p_value,
        "significant": test.significant,
    }


def _cells(row: Comparison) -> tuple[str, ...]:
    return (
        row.method,
        row.status,
        percent(row.accuracy),
        number(row.log_loss),
        number(row.score),
        number(row.bound),
        percent(row.gap),
        number(row.seconds, 2),
    )


def _mean_cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    def with_error(key: str, text: Any) -> str:
        error = text(row[f"{key}_error"])
        return f"{text(row[key])} ± {error}" if error else text(row[key])

    return (
        row["method"],
        str(row["tables"]),
        str(row["proven"]),
        str(row["limited"] or ""),
        with_error("accuracy", percent),
        with_error("log_loss", lambda x: number(x, 3)),
        with_error("test_log_likelihood", lambda x: number(x, 3)),
        with_error("cpdag_shd", lambda x: number(x, 1)),
        with_error("score", lambda x: number(x, 2)),
        with_error("gap", percent),
        with_error("seconds", lambda x: number(x, 2)),
        *([_test_text(row)] if "reference" in row else []),
    )


def _test_text(row: Mapping[str, Any]) -> str:
    """Return the difference from the reference, with a star where it is significant."""
    if row["method"] == row["reference"] or not isfinite(row["p_value"]):
        return ""
    star = "*" if row["significant"] else " "
    return f"{100 * row['difference']:+.2f} (p {row['p_value']:.3f}){star}"
