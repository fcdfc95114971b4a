"""Commands that judge: ``evaluate`` judges a model, ``compare`` methods and learners."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from zlib import crc32

import numpy as np

import exactlearn as el
from exactlearn._runtime.control import SearchControl, ended_by_signal
from exactlearn._runtime.files import suffix_of
from exactlearn.commands.declarations import Compare, Evaluate
from exactlearn.commands.output import Answer, Output, require_suffix
from exactlearn.commands.pipeline import learning, settled, with_chosen_ess
from exactlearn.commands.tables import load, rows_for
from exactlearn.data.dataset import require_weight
from exactlearn.errors import DataError, OptionError, did_you_mean
from exactlearn.evaluation.metrics import divergence
from exactlearn.evaluation.study import (
    Condition,
    ImputationStudy,
    Pair,
    Study,
    method_rows,
)
from exactlearn.formats.models import NETWORKS
from exactlearn.imputation.learning import Imputed
from exactlearn.imputation.methods import METHODS
from exactlearn.imputation.scikit_learn import require_library
from exactlearn.instances import locate
from exactlearn.queries.model_graphs import Model

DEFAULT_METHODS = ("branching", "t-local", "mode")
"""Methods that are compared where none is named: that of ``augment``, and what is quicker."""

RUN_KEYS = (
    "method",
    "status",
    "accuracy",
    "score",
    "bound",
    "gap",
    "seconds",
    "log_loss",
)
"""Keys of a method's row where cells are missing and none are hidden."""

NOT_PRINTED = {
    "cells",
    "cpu_seconds",
    "cpu_seconds_error",
    "reference",
    "p_value",
    "loss_difference",
    "loss_p_value",
    "loss_significant",
}
"""Keys of a method's row that are for programs."""


@ended_by_signal()
def run_evaluate(options: Evaluate, output: Output) -> Answer:
    """Judge a model by rows, and by a reference model."""
    require_suffix(output.path, (".json",))
    # Nothing to judge by is refused before any file is read; a class needs rows.
    if options.data is None and (
        options.reference is None or options.class_ is not None
    ):
        raise OptionError(
            "evaluate: expected DATA.csv; without --class a --reference will do, too"
        )
    sources = [name for name in (options.source, options.reference) if name]
    if options.normalise and not any(map(_is_network, sources)):
        raise OptionError(
            "--normalise is for networks, and no model here is one; leave it out"
        )
    model = _model(options.source, options)
    # By rows, by a reference model, or by both.
    record: dict[str, Any] = {}
    if options.data is not None:
        record |= _by_rows(model, options.data, options, output)
    if options.reference is not None:
        record |= _by_reference(model, options.reference, options)
    return output.save(record)


def _is_network(source: str) -> bool:
    """Return whether a file is that of a network, by its suffix."""
    return suffix_of(locate(source, ".bif")) in NETWORKS


def _model(source: str, options: Evaluate) -> Model:
    """Read a model; ``--normalise`` holds for the networks among two models."""
    normalise = options.normalise and _is_network(source)
    return el.read_model(source, normalise=normalise)


def _by_rows(
    model: Model, source: str, options: Evaluate, output: Output
) -> dict[str, Any]:
    """Return the log-likelihood of rows, and the accuracy of the predicted class."""
    rows = rows_for(source, replace(options, discretise={}), model, output, None)
    if rows.ended == "interrupted":
        raise KeyboardInterrupt
    table = rows.table
    weights = table.row_weights
    require_weight(table, "evaluate on")
    log_likelihoods = model.log_likelihood_rows(table)
    # rows that the model holds impossible are named
    impossible = np.isneginf(log_likelihoods)
    record: dict[str, Any] = {
        "rows": rows.record.get("rows", table.n_rows),
        "log_likelihood_per_row": table.total(log_likelihoods) / float(weights.sum()),
    }
    if rows.record:  # equal rows have lost their numbers
        record["impossible"] = float(weights[impossible].sum())
    else:
        # rows count from 0, lines of the file from 1
        record["impossible_rows"] = np.flatnonzero(impossible).tolist()
        if table.lines is not None and impossible.any():
            record["impossible_lines"] = table.lines[impossible].tolist()
    if options.class_ is not None:
        classes = el.classify(model, table, options.class_)
        record |= {
            "class": options.class_,
            "labelled": float(classes.labelled_weights.sum()),
            "accuracy": classes.accuracy,
        }
    return record


def _by_reference(model: Model, source: str, options: Evaluate) -> dict[str, Any]:
    """Return the divergence from a reference model, and how two networks differ in structure."""
    reference = _model(source, options).reordered(model)
    result = divergence(reference, model, seed=options.seed)
    record: dict[str, Any] = {"kl_divergence": result.value, "kl_method": result.method}
    if result.method == "sampled" and np.isfinite(result.value):
        record["kl_interval"] = result.interval
    match model, reference:
        case el.BayesianNetwork(), el.BayesianNetwork():
            comparison = el.graphs.compare_structures(model.parents, reference.parents)
            return record | vars(comparison)
    return record


def run_compare(options: Compare, output: Output) -> Answer:
    """Compare methods or learners; runs that are done at an interrupt are kept and shown."""
    if output.folder is None:
        require_suffix(output.path, (".json",))
    if options.learners is not None:
        return _compare_learners(options, output)
    methods = list(dict.fromkeys(options.methods or DEFAULT_METHODS))
    _check(methods, options)
    if options.methods is None and options.time_limit is None:
        # the proof of 'branching' may take any time
        options = replace(options, time_limit=60.0)
    conditions = list(_conditions(options))
    _refuse_early(conditions, methods, options)

    # runs in this process have displays of their own; runs in others are counted by one
    is_shared = options.jobs > 1 or options.cluster is not None
    of_runs = replace(output, quiet=output.quiet or is_shared)
    of_study = replace(output, quiet=output.quiet or not is_shared)
    # options that do not change the result of a run are left out of its settings
    run_options = replace(options, methods=None, repeat=1, jobs=1, cluster=None)
    is_repeated = any((options.network, options.hide))
    n_seeds = options.repeat if is_repeated else 1
    study = ImputationStudy(
        conditions=conditions,
        methods={
            name: partial(_completed, name, run_options, of_runs) for name in methods
        },
        seeds=range(options.seed, options.seed + n_seeds),
        settings=f"options {crc32(repr(run_options).encode()):08x}",
    )
    path = None if output.folder is None else output.folder / "repetitions.json"
    runs = Study(
        study.runs(),
        path,
        options.jobs,
        options.cluster,
        output.detail,
        SearchControl(),
    )
    with of_study.progress_display("comparing"):
        runs.run()
    return _answer(study, runs, output)


def _refuse_early(
    conditions: Sequence[Condition], methods: Sequence[str], options: Compare
) -> None:
    """Refuse, before any work, cells that cannot be hidden and options that no method takes."""
    if options.ess == "auto":  # chosen later, for each table
        options = replace(options, ess=None)
    for condition in conditions:
        table, _ = condition.draw(options.seed)
        for name in methods:
            learning(table, settled(options, name), lambda event: None)


def _compare_learners(options: Compare, output: Output) -> Answer:
    """Compare learners by cross-validation."""
    if options.source is None:
        raise OptionError("--learners: expected a table to learn from")
    data = load(options.source, options)
    with output.progress_display("folds"), SearchControl().running() as control:
        result = el.cross_validate(
            data,
            folder=output.folder,
            on_begin=output.detail,
            **options.chosen("learners folds class_ seed jobs time_limit cluster"),
        )
    rows = result.to_records()
    record = {
        "best": result.best,
        "folds": result.folds,
        "rows": rows,
        "of_folds": result.found,
    }
    # A learner that failed, or had too little time, does not end the comparison: the
    # status tells.
    has_failed = any(row["failures"] for row in rows)
    is_limited = any(row["folds"] != result.folds for row in rows)
    status = _status(control, has_failed, is_limited)
    return output.save(record, "compare.json", status=status)


def _status(control: SearchControl, has_failed: bool, is_limited: bool) -> str:
    """Return the status of a comparison: the worst of its runs, or that of an interrupt."""
    if control.is_stopped:
        return "interrupted"
    if has_failed:
        return "failed"
    return "feasible" if is_limited else "done"


def _check(methods: list[str], options: Compare) -> None:
    """Refuse, before any work, methods that are unknown or cannot run."""
    if (options.source is None) == (options.network is None):
        raise OptionError("compare: expected either a table or --network, not both")
    for name in methods:
        if name not in METHODS:
            raise OptionError(
                f"--methods: no method {name!r}{did_you_mean(name, METHODS)}"
            )
    if any(METHODS[name].needs_scikit_learn for name in methods):
        require_library()


def _conditions(options: Compare) -> Iterator[Condition]:
    """Yield the table with each kind of hidden cells, or the incomplete table."""
    truth = None
    if options.truth and not options.hide:
        truth = load(options.truth, replace(options, states={}))
    source = str(options.network or options.source)
    drawn: el.BayesianNetwork | el.Dataset
    if options.network:
        drawn = el.read_network(source, normalise=options.normalise)
    else:
        drawn = load(source, options)
    digest = " ".join(table.digest for table in (drawn, truth) if table is not None)
    # rows of a network are complete, so that some cells are hidden in any case
    for spec in options.hide or (("mnar:2",) if options.network else ("",)):
        if not spec and isinstance(drawn, el.Dataset) and drawn.is_complete:
            raise DataError(
                f"{source}: no cell is missing, so every method would complete it alike; hide "
                "cells with '--hide mcar:2', or learn the network with 'exactlearn solve'"
            )
        yield Condition(
            table=source,
            hidden=spec,
            draw=partial(_pair, drawn, truth, options, spec),
            digest=digest,
            is_redrawn=bool(options.network),
        )


def _pair(
    source: el.BayesianNetwork | el.Dataset,
    truth: el.Dataset | None,
    options: Compare,
    spec: str,
    seed: int,
) -> Pair:
    """Return an incomplete table and its truth: given, or drawn as ``simulate`` does."""
    rng = np.random.default_rng(seed)
    if isinstance(source, el.BayesianNetwork):
        source = source.sample(options.rows, rng)
    if not spec:
        return source, truth
    return el.hide(source, spec, rng), source


def _completed(
    name: str, options: Compare, output: Output, table: el.Dataset, seed: int
) -> Imputed:
    """Complete a table by a method of the registry."""
    options = settled(replace(options, seed=seed), name)
    options, _ = with_chosen_ess(table, options, output.note)
    with output.progress_display(f"{name}, seed {seed}") as display:
        return METHODS[name](table, learning(table, options, display))


def _answer(study: ImputationStudy, runs: Study, output: Output) -> Answer:
    """Return the rows of the runs that are done, one for each method and condition."""
    failures = [f"{planned.title}: {error}" for planned, error in runs.failures()]
    rows = _rows(study, runs)
    is_limited = any(
        row.get("limited") or row.get("status") == "feasible" for row in rows
    )
    if runs.control.is_stopped:
        output.note("Interrupted: these are the runs that are done")
    # nothing to show: the command ends as interrupted
    if not rows and not failures:
        raise KeyboardInterrupt

    record = {"rows": rows, "failures": failures}
    return output.save(
        record,
        "compare.json",
        shown=record | {"rows": _printed(rows)},
        status=_status(runs.control, bool(failures), is_limited),
    )


def _rows(study: ImputationStudy, runs: Study) -> list[dict[str, Any]]:
    """Return a row for each method: means over repetitions, or the one run on the given cells."""
    rows: list[dict[str, Any]] = []
    # Without hidden cells there is nothing to score a repetition by: each method ran
    # once.
    if not study.conditions[0].hidden:
        for run in runs.found():
            if not run.get("unfinished"):
                rows.append({key: run[key] for key in RUN_KEYS})
        return rows
    for condition in study.conditions:
        if repetitions := study.repetitions(runs, condition):
            rows += method_rows(condition, repetitions)
    return rows


def _printed(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows without the columns for programs, and those that say the same of each row."""
    # table and mechanism are columns only where they differ
    omitted = set(NOT_PRINTED)
    for key in ("table", "hidden"):
        if len({row.get(key) for row in rows}) == 1:
            omitted.add(key)
    printed = [dict(row) for row in rows]
    for row in printed:
        for key in omitted & row.keys():
            del row[key]
    return printed
