"""``exactlearn compare``: methods of completing missing cells, side by side."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any
from zlib import crc32

import numpy as np

from exactlearn._runtime.checkpoint import digest
from exactlearn._runtime.control import SearchControl
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.commands import compare_learners
from exactlearn.commands.answer import Answer
from exactlearn.commands.declarations import DEFAULT_METHODS, DEFAULT_SECONDS, Compare
from exactlearn.commands.output import Output, require_suffix
from exactlearn.commands.pipeline import learning, load, load_truth, with_chosen_ess
from exactlearn.data.dataset import Dataset
from exactlearn.data.labels import variable_index
from exactlearn.data.missingness import simulate_missingness
from exactlearn.errors import DataError, OptionError, did_you_mean
from exactlearn.evaluation.imputation_study import (
    Condition,
    Contender,
    ImputationStudy,
    Pair,
    is_done,
    method_rows,
)
from exactlearn.evaluation.metrics import Comparison
from exactlearn.evaluation.study import Record, Study
from exactlearn.formats.models import read_network
from exactlearn.imputation.imputed import Imputed
from exactlearn.imputation.methods import METHODS
from exactlearn.imputation.scikit_learn import require_library

REPETITIONS = 20
"""Tables in which cells are hidden."""

TEST_ROWS = 1000
"""Rows of a network that those learnt from each of its tables are judged by."""

HIDDEN = "mnar:2"
"""What is hidden in rows of a network."""


def run(options: Compare, output: Output) -> Answer:
    """Run the command; what is done at an interrupt is kept and shown."""
    _refuse_others(options)
    if options.learners is not None:
        return compare_learners.run(options, output)
    if output.folder is None:
        require_suffix(output.path, (".json",))
    if (options.source is None) == (options.network is None):
        raise OptionError("compare: expected either a table or --network, not both")
    repeated = options.network is not None or bool(options.hide)
    chosen = _methods(options.methods or DEFAULT_METHODS)
    if options.methods is None and options.time_limit is None:
        options = replace(options, time_limit=DEFAULT_SECONDS)
    _check(chosen, options, repeated=repeated)
    network = read_network(options.network) if options.network else None
    conditions = list(_conditions(options, network))
    for condition in conditions:
        table, _ = condition.draw(options.seed)  # what cannot be hidden is said before all work
        known = replace(options, ess=Compare.ess if options.ess == "auto" else options.ess)
        learning(table, known, lambda event: None)  # and so is what cannot be learnt
    repeat = (REPETITIONS if options.repeat is None else options.repeat) if repeated else 1
    how = replace(options, methods=None, repeat=None, jobs=1, cluster=None, reference=None)
    settings = f"options {crc32(repr(how).encode()):08x}"
    is_alone = options.jobs == 1 and options.cluster is None
    quiet = output if is_alone else replace(output, quiet=True)
    study = ImputationStudy(
        conditions=conditions,
        contenders={
            name: Contender(complete=partial(_completed, name, how, quiet), settings=settings)
            for name in chosen
        },
        seeds=range(options.seed, options.seed + repeat),
        judge=None if network is None else partial(_beside_network, network, options.smoothing),
    )
    record = Record.in_folder(output.folder, "repetitions.json", output.detail, SearchControl())
    runs = Study(list(study.runs()), record, options.jobs, cluster=options.cluster)
    runs.run()
    return _answer(study, runs, output, options.reference, repeated=repeated)


_OPTIONS = {
    "methods": ("methods", "truth", "network", "rows", "hide", "repeat", "class_", "reference"),
    "learners": ("learners", "folds", "class_"),
}
"""What can be compared, each with the options that are only for some comparisons."""


def _refuse_others(options: Compare) -> None:
    """Refuse options that only other comparisons have, and tables that are too many or missing."""
    kind = "methods" if options.learners is None else "learners"
    for other, names in _OPTIONS.items():
        for name in names:
            if name not in _OPTIONS[kind] and getattr(options, name) != getattr(Compare, name):
                raise OptionError(
                    f"--{name.rstrip('_').replace('_', '-')} goes with a comparison of {other}, "
                    f"not of {kind}: leave it out, or name {other} with --{other}"
                )
    if kind != "methods" and options.source is None:
        raise OptionError(f"--{kind}: expected a table to learn from")
    if options.more and (kind == "learners" or not options.hide):
        raise OptionError(
            f"{options.more[0]}: a second table; several are compared where cells of them are "
            "hidden, as by '--hide mcar:0.1'"
        )


def _methods(wanted: Sequence[str]) -> list[str]:
    for name in wanted:
        if name not in METHODS:
            raise OptionError(f"--methods: no method {name!r}{did_you_mean(name, METHODS)}")
    return list(dict.fromkeys(wanted))


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
    if any(METHODS[name].needs_scikit_learn for name in chosen):
        require_library()


def _conditions(options: Compare, network: BayesianNetwork | None) -> Iterator[Condition]:
    """Yield each table with each kind of hidden cells, or the one incomplete table."""
    if network is not None:
        for spec in options.hide or (HIDDEN,):
            draw = partial(_from_network, network, options, spec)
            known = digest(repr((network.names, network.states, network.parents)), *network.tables)
            yield Condition(
                table=options.network or "",
                hidden=spec,
                draw=draw,
                digest=known,
                is_redrawn=True,
            )
        return
    sources = [options.source or "", *options.more]
    if not options.hide:
        pair = _given(sources[0], options)
        known = " ".join(part.digest for part in pair if part is not None)
        yield Condition(table=sources[0], hidden="", draw=partial(_the, pair), digest=known)
        return
    for source in sources:
        table = load(source, options)
        for spec in options.hide:
            draw = partial(_from_table, table, options, spec)
            yield Condition(table=source, hidden=spec, draw=draw, digest=table.digest)


def _the(pair: Pair, _: int) -> Pair:
    return pair


def _given(source: str, options: Compare) -> Pair:
    data = load(source, options)
    if data.is_complete:
        raise DataError(
            f"{source}: no cell is missing, so every method would complete it alike; hide "
            "cells with '--hide mcar:2', or learn the network with 'exactlearn solve'"
        )
    truth = options.truth
    return data, load_truth(truth, options) if truth else None


def _from_network(network: BayesianNetwork, options: Compare, spec: str, seed: int) -> Pair:
    """Draw an incomplete table and its truth, as 'simulate' does."""
    rng = np.random.default_rng(seed)
    return _hidden(network.sample(options.rows, rng), options, spec, rng, network.parents)


def _from_table(table: Dataset, options: Compare, spec: str, seed: int) -> Pair:
    return _hidden(table, options, spec, np.random.default_rng(seed))


def _hidden(
    full: Dataset,
    options: Compare,
    spec: str,
    rng: np.random.Generator,
    parents: Sequence[Sequence[int]] | None = None,
) -> Pair:
    of_class = options.class_
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


def _completed(name: str, options: Compare, output: Output, table: Dataset, seed: int) -> Imputed:
    """Complete a table by a method of the registry."""
    options, _ = with_chosen_ess(table, replace(options, seed=seed), output.note)
    with output.progress_display(f"{name}, seed {seed}") as display:
        return METHODS[name](table, learning(table, options, display))


def _beside_network(
    network: BayesianNetwork,
    smoothing: float,
    judged: Comparison,
    table: Dataset,
    found: Imputed,
    seed: int,
) -> Comparison:
    """Judge the network that a method learnt, too, by rows that the true one draws."""
    test = network.sample(TEST_ROWS, np.random.default_rng([seed, TEST_ROWS]))
    return judged.beside_truth(table, found, network, test, smoothing)


def _answer(
    study: ImputationStudy, runs: Study, output: Output, reference: str | None, *, repeated: bool
) -> Answer:
    """Write and return what is done."""
    failures = [f"{planned.title}: {error}" for planned, error in runs.failures()]
    if repeated:
        known = [(c, study.repetitions(runs.record, c)) for c in study.conditions]
        rows = [row for c, found in known if found for row in method_rows(c, found, reference)]
        limited = any(row["limited"] for row in rows)
        extent = f"the means are over {min(len(found) for _, found in known)} tables"
    else:
        done = [one for one in runs.found() if is_done(one)]
        rows = [{key: one[key] for key in _KEYS} for one in done]
        limited = any(row["status"] == "feasible" for row in rows)
        extent = f"{len(rows)} of {len(runs.runs)} methods are done"
    interrupted = runs.record.control.is_stopped
    if interrupted:
        output.note(f"Interrupted: {extent}")
    if not rows and not failures:
        raise KeyboardInterrupt
    record = {"rows": rows, "failures": failures}
    output.save(record, "compare.json")
    ended = "failed" if failures else "feasible" if limited else "done"
    return Answer(
        record=record,
        shown=record | {"rows": [_shown(row, rows) for row in rows]},
        status="interrupted" if interrupted else ended,
    )


_KEYS = tuple(field.name for field in fields(Comparison))
"""What is recorded of the completion of a given table."""


def _shown(row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a row without what is for programs, and what is the same in all rows."""
    same = [key for key in ("table", "hidden") if len({str(one.get(key)) for one in rows}) == 1]
    hidden = {"cells", "cpu_seconds", "cpu_seconds_error", "reference", *same}
    return {key: value for key, value in row.items() if key not in hidden}
