"""``exactlearn compare``: ways of completing missing cells, or learners, side by side."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any
from zlib import crc32

import numpy as np

from exactlearn._runtime.checkpoint import digest
from exactlearn._runtime.control import SearchControl
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.commands.answer import Answer
from exactlearn.commands.declarations import DEFAULT_METHODS, DEFAULT_SECONDS, Compare
from exactlearn.commands.output import Output, require_suffix
from exactlearn.commands.pipeline import learning, load, load_truth, with_chosen_ess
from exactlearn.data.dataset import Dataset
from exactlearn.data.labels import variable_index
from exactlearn.data.missingness import simulate_missingness
from exactlearn.errors import DataError, OptionError, did_you_mean
from exactlearn.evaluation.cross_validation import cross_validate
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
    if output.folder is None:
        require_suffix(output.path, (".json",))
    if options.learners is not None:
        return _learners(options, output)
    chosen = list(dict.fromkeys(options.methods or DEFAULT_METHODS))
    if options.methods is None and options.time_limit is None:
        options = replace(options, time_limit=DEFAULT_SECONDS)
    repeated = options.network is not None or bool(options.hide)
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


def _learners(options: Compare, output: Output) -> Answer:
    """Compare learners by cross-validation."""
    if options.source is None or options.more:
        raise OptionError("--learners: expected one table to learn from")
    data = load(options.source, options)
    with output.progress_display("folds") as display, SearchControl().running() as control:
        found = cross_validate(
            data,
            options.learners or (),
            options.folds,
            class_=options.class_,
            seed=options.seed,
            jobs=options.jobs,
            folder=output.folder,
            time_limit=options.time_limit,
            cluster=options.cluster,
            on_begin=display.stage,
        )
    rows = found.to_records()
    record = {"best": found.best, "folds": found.folds, "rows": rows, "of_folds": found.found}
    output.save(record, "compare.json")
    ended = "done" if all(row["folds"] == found.folds for row in rows) else "feasible"
    ended = "failed" if any(row["failures"] for row in rows) else ended
    return Answer(record=record, status="interrupted" if control.is_stopped else ended)


def _check(chosen: Sequence[str], options: Compare, *, repeated: bool) -> None:
    """Refuse, before any work is done, what some method would refuse after that of others."""
    if (options.source is None) == (options.network is None):
        raise OptionError("compare: expected either a table or --network, not both")
    for name in chosen:
        if name not in METHODS:
            raise OptionError(f"--methods: no method {name!r}{did_you_mean(name, METHODS)}")
    for option, value in (("--class", options.class_), ("--reference", options.reference)):
        if value is not None and not repeated:
            raise OptionError(
                f"{option} {value}: it goes with tables in which cells are hidden; add '--hide "
                "mcar:2', or compare on a --network"
            )
    if options.more and not options.hide:
        raise OptionError(
            f"{options.more[0]}: a second table; several are compared where cells of them are "
            "hidden, as by '--hide mcar:0.1'"
        )
    if options.reference is not None and options.reference not in chosen:
        raise OptionError(
            f"--reference {options.reference}: expected one of the compared methods, "
            f"{', '.join(chosen)}"
        )
    if any(METHODS[name].needs_scikit_learn for name in chosen):
        require_library()


def _conditions(options: Compare, network: BayesianNetwork | None) -> Iterator[Condition]:
    """Yield each table with each kind of hidden cells, or the one incomplete table."""
    if network is None and not options.hide:
        yield _given(options.source or "", options)
        return
    sources = [options.network or "" if network else options.source or "", *options.more]
    for source in sources:
        drawn: BayesianNetwork | Dataset = network or load(source, options)
        known = drawn.digest if isinstance(drawn, Dataset) else _digest(drawn)
        for spec in options.hide or (HIDDEN,):
            yield Condition(
                table=source,
                hidden=spec,
                draw=partial(_hidden, drawn, options, spec),
                digest=known,
                is_redrawn=network is not None,
            )


def _digest(network: BayesianNetwork) -> str:
    return digest(repr((network.names, network.states, network.parents)), *network.tables)


def _given(source: str, options: Compare) -> Condition:
    """Return an incomplete table, and its truth where that is known."""
    data = load(source, options)
    if data.is_complete:
        raise DataError(
            f"{source}: no cell is missing, so every method would complete it alike; hide "
            "cells with '--hide mcar:2', or learn the network with 'exactlearn solve'"
        )
    pair = data, load_truth(options.truth, options) if options.truth else None
    known = " ".join(part.digest for part in pair if part is not None)
    return Condition(table=source, hidden="", draw=partial(_same, pair), digest=known)


def _same(pair: Pair, seed: int) -> Pair:
    return pair


def _hidden(source: BayesianNetwork | Dataset, options: Compare, spec: str, seed: int) -> Pair:
    """Return an incomplete table and its truth, drawn from a network as 'simulate' does."""
    rng, parents = np.random.default_rng(seed), None
    full = source
    if isinstance(source, BayesianNetwork):
        full, parents = source.sample(options.rows, rng), source.parents
    assert isinstance(full, Dataset)
    incomplete = simulate_missingness(full, spec, rng, parents).dataset
    if options.class_ is None:
        return incomplete, full
    variable = variable_index(options.class_, {known: v for v, known in enumerate(full.names)})
    codes = full.codes.copy()
    codes[:, variable] = incomplete.codes[:, variable]
    hidden = replace(full, codes=codes)
    if hidden.is_complete:
        raise OptionError(
            f"--class {options.class_}: --hide {spec} hides none of its cells; hide more, or "
            "depend on another variable"
        )
    return hidden, full


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
        keys = [field.name for field in fields(Comparison)]
        rows = [{key: one[key] for key in keys} for one in runs.found() if is_done(one)]
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


def _shown(row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a row without what is for programs, and what is the same in all rows."""
    same = [key for key in ("table", "hidden") if len({str(one.get(key)) for one in rows}) == 1]
    hidden = {"cells", "cpu_seconds", "cpu_seconds_error", "reference", *same}
    return {key: value for key, value in row.items() if key not in hidden}
