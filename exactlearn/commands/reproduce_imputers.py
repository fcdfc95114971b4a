"""``exactlearn reproduce imputers``: ``impute`` and its rivals on cells hidden in public sets."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any
from zlib import crc32

import numpy as np

from exactlearn.commands.declarations import Impute, Reproduce
from exactlearn.commands.impute import completion
from exactlearn.data.dataset import Dataset
from exactlearn.data.missingness import parse_spec
from exactlearn.errors import OptionError
from exactlearn.evaluation.imputation_study import (
    SIGNS,
    Condition,
    Contender,
    ImputationStudy,
    method_rows,
    summary,
    time_ratios,
    verdict,
)
from exactlearn.evaluation.metrics import Mean
from exactlearn.evaluation.study import Runs, Study
from exactlearn.imputation import MODES, Imputed
from exactlearn.imputation.methods import METHODS
from exactlearn.imputation.scikit_learn import require_library
from exactlearn.reporting.curves import CurvesFigure
from exactlearn.reporting.report import number, percent, plain_table
from exactlearn.reproduce.imputers import BASELINES, CLOCK, DEFAULT, HIDDEN, conditions
from exactlearn.reproduce.runner import Setup, Shown, Tables, check_names
from exactlearn.reproduce.sources import BUNDLED, HALVES, ROWS, SETS, SLOW, public_data

_HEAD = (
    "set", "hidden", "n", "cells", "accuracy", "best rival", "its", "ahead", "log-loss",
    "best rival", "its", "ahead", "CPU s", f"by {CLOCK}",
)  # fmt: skip

_MEANS_HEAD = ("method", "accuracy", "log-loss", "CPU s")


def as_command(mode: str | None, table: Dataset, seed: int) -> Imputed:
    """Complete a table as ``exactlearn impute`` does, in its default mode or another."""
    return completion(Impute(source="", mode=mode, seed=seed), table, _ignored)


def _ignored(_: Any) -> None:
    """Ignore an event of a search."""


@cache
def import_for(mode: str | None) -> None:
    """Complete a small table, so that no run's time holds what a process does once."""
    codes = (np.arange(40).reshape(20, 2) // 3 % 2).astype(np.int8)
    codes[::4, 1] = -1
    as_command(mode, Dataset(codes, ("a", "b"), (("no", "yes"),) * 2), 0)


def contender(name: str) -> Contender:
    """Return what ``impute`` does, or does with ``--mode NAME``.

    Its settings are the options of the command, which no baseline heeds.
    """
    options = Impute(source="", mode=None if name == DEFAULT else name)
    settings = f"--mode {options.chosen_mode}"
    if name not in BASELINES:
        settings += f", options {crc32(repr(options).encode()):08x}"
    prepare = partial(import_for, options.mode)
    complete = partial(as_command, options.mode)
    return Contender(complete=complete, settings=settings, prepare=prepare)


def imputer_tables(options: Reproduce, setup: Setup) -> Tables:
    """Return what runs the comparison, and what shows it."""
    methods = options.methods or (DEFAULT, *BASELINES)
    known = [DEFAULT, *dict.fromkeys((*MODES, *METHODS))]
    check_names("--methods", "method", methods, known)
    if any(name in METHODS and METHODS[name].needs_scikit_learn for name in methods):
        require_library()
    study = ImputationStudy(
        conditions=list(_conditions(options, setup)),
        contenders={name: contender(name) for name in methods},
        seeds=setup.seeds,
    )
    runs = Study(
        list(study.runs()), setup.record, options.jobs, is_shared=False, cluster=options.cluster
    )
    return Tables(partial(_repeat, runs), _Answer(study, runs).shown)


def _conditions(options: Reproduce, setup: Setup) -> Iterator[Condition]:
    """Yield what is asked for, after names and specifications are checked."""
    halves = HALVES.items()
    names = options.tables or [n for n, h in halves if options.half in (h, "all") and n not in SLOW]
    check_names("--tables", "set", names, HALVES)
    for spec in options.hide:
        parse_spec(spec)
    if any(name not in BUNDLED for name in names):
        public_data(setup.data, "uci" if any(name in SETS for name in names) else "bif")
    found = conditions(names, options.hide or HIDDEN, setup.data, options.rows or ROWS)
    chosen = [condition for condition in found if setup.only in condition.name]
    if not chosen:
        raise OptionError(f"--only: no set with its hidden cells has {setup.only!r} in its name")
    return iter(chosen)


def _repeat(runs: Study) -> None:
    """Do what is left; what the control of the record does not allow is noted there."""
    runs.run()
    failed = {planned for planned, _ in runs.failures()}
    runs.record.left += [
        (planned.experiment, planned.repetition, planned.method)
        for planned in runs.runs
        if not runs.is_done(planned) and planned not in failed
    ]


@dataclass(frozen=True)
class _Answer:
    """What is shown of a comparison.

    Parameters
    ----------
    study, runs
        What is compared, and how far that is done.
    """

    study: ImputationStudy
    runs: Study

    def shown(self) -> Shown:
        """Return the figures of each set and mechanism, and what they come to."""
        methods = list(self.study.contenders)
        tested, rivals = methods[0], methods[1:]
        done = {c: r for c in self.study.conditions if (r := self._repetitions(c))}
        rows = [row for c, runs in done.items() for row in method_rows(c, runs, tested)]
        verdicts = [
            found
            for c, runs in done.items()
            for metric in SIGNS
            if (found := verdict(c, runs, tested, rivals, metric)) is not None
        ]
        whole = [run for runs in done.values() for run in runs]
        clock = time_ratios(whole, tested, CLOCK) if whole and CLOCK in rivals else None
        found = {
            "tested": tested,
            "settings": {name: c.settings for name, c in self.study.contenders.items()},
            "rows": rows,
            "verdicts": verdicts,
            "summary": [summary(verdicts, metric) for metric in SIGNS],
            "seconds_ratio": clock,
            "failures": sorted({f"{p.experiment}: {e}" for p, e in self.runs.failures()}),
        }
        tables = [_table(found, done), "", _means(whole, methods), "", *_said(found)]
        return Shown(found, tables, _figures(rows), {"imputers": rows} if rows else {})

    def _repetitions(self, condition: Condition) -> list[Runs]:
        return self.study.repetitions(self.runs.record, condition)


def _table(found: Mapping[str, Any], done: Mapping[Condition, Sequence[Runs]]) -> Any:
    """Return one line for each condition: the method under test beside its best rivals."""
    verdicts = {(v["table"], v["hidden"], v["metric"]): v for v in found["verdicts"]}
    lines = []
    for condition, runs in done.items():
        key = condition.table, condition.hidden
        accuracy, loss = (verdicts.get((*key, metric)) for metric in SIGNS)
        ratio = time_ratios(runs, found["tested"], CLOCK) if CLOCK in runs[0] else {}
        seconds = Mean.of(run[found["tested"]]["cpu_seconds"] for run in runs).value
        lines.append(
            (
                *key,
                str(len(runs)),
                str(sum(run[found["tested"]]["cells"] for run in runs)),
                *_cells(accuracy, percent, 100, 2),
                *_cells(loss, partial(number, digits=3), 1, 3),
                number(seconds, 2),
                number(ratio.get("total"), 1),
            )
        )
    return plain_table(_HEAD, lines, right=[h for h in _HEAD if h not in ("set", "hidden")])


def _cells(found: Mapping[str, Any] | None, text: Any, unit: int, digits: int) -> list[str]:
    """Return a mean, the best rival, its mean, and how far the method is ahead of that."""
    if found is None:
        return [""] * 4
    star = "*" if found["beaten_by"] else " "
    lead = f"{unit * found['ahead']:+.{digits}f}{star}"
    return [text(found["mean"]), found["rival"], text(found["rival_mean"]), lead]


def _means(whole: Sequence[Runs], methods: Sequence[str]) -> Any:
    """Return the means of all methods over all repetitions, sets and mechanisms."""
    lines = []
    for method in methods:
        own = [run[method] for run in whole]
        means = [
            Mean.of(found[key] for found in own).value
            for key in ("accuracy", "log_loss", "cpu_seconds")
        ]
        lines.append((method, percent(means[0]), number(means[1], 4), number(means[2], 2)))
    return plain_table(_MEANS_HEAD, lines, right=_MEANS_HEAD[1:])


def _said(found: Mapping[str, Any]) -> Iterator[str]:
    """Say how often the method under test wins, where it is beaten, and how long it takes."""
    tested = found["tested"]
    yield f"'{tested}' is {found['settings'][tested]}."
    for known in found["summary"]:
        if not known["conditions"]:
            continue
        name, unit, digits = _UNITS[known["metric"]]
        behind = f"at worst {-known['worst'] * unit:.{digits}f} behind the best"
        yield (
            f"{name}, {known['conditions']} sets with hidden cells: '{tested}' has the best mean "
            f"in {percent(known['best'])}, and no rival is significantly better in "
            f"{percent(known['not_beaten'])} ({percent(known['not_beaten_unadjusted'])} without "
            f"Holm's adjustment); {behind if known['worst'] < 0 else 'never behind'}."
        )
    if found["seconds_ratio"]:
        ratio = found["seconds_ratio"]
        yield (
            f"CPU time of '{tested}' by that of '{CLOCK}': {ratio['total']:.1f} in total, median "
            f"{ratio['median']:.1f}, at most {ratio['largest']:.1f}."
        )
    lost = [v for v in found["verdicts"] if v["beaten_by"]]
    if lost:
        yield "Significantly worse (* in the table):"
    for v in lost:
        name, unit, digits = _UNITS[v["metric"]]
        yield (
            f"  {v['table']} {v['hidden']}, {name.lower()}: {-unit * v['ahead']:.{digits}f} behind "
            f"'{v['rival']}'; beaten by {', '.join(v['beaten_by'])}"
        )
    if found["failures"]:
        yield "Failed:"
        yield from (f"  {failure}" for failure in found["failures"])


_UNITS = {"accuracy": ("Accuracy", 100, 2), "log_loss": ("Log-loss", 1, 3)}
"""Name of a metric, its unit in points or nats, and the digits shown."""


def _figures(rows: Sequence[Mapping[str, Any]]) -> dict[str, CurvesFigure]:
    """Return curves of the mean accuracy and loss of each method by the share of hidden cells."""
    figures = {}
    for metric, up in (("accuracy", "accuracy (%)"), ("log_loss", "log-loss (nats)")):
        unit = 100 if metric == "accuracy" else 1
        curves: dict[str, dict[float, list[float]]] = {}
        for row in rows:
            share = parse_spec(row["hidden"]).share
            if share is not None and row[metric] == row[metric]:
                curves.setdefault(row["method"], {}).setdefault(100 * share, []).append(
                    unit * row[metric]
                )
        points = {
            method: [(share, sum(own) / len(own)) for share, own in sorted(by_share.items())]
            for method, by_share in curves.items()
        }
        if points:
            figures[metric] = CurvesFigure(curves=points, across="missing cells (%)", up=up)
    return figures
