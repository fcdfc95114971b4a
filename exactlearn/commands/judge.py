"""Commands that judge: ``evaluate`` judges a model, ``compare`` methods and learners."""

from collections.abc import Iterator
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
from exactlearn.queries.posteriors import Model


@ended_by_signal()
def run_evaluate(options: Evaluate, output: Output) -> Answer:
    """Judge a model by rows, and by a reference model."""
    require_suffix(output.path, (".json",))
    if options.data is None and (
        options.reference is None or options.class_ is not None
    ):
        raise OptionError(
            "evaluate: expected DATA.csv; without --class a --reference will do, too"
        )
    models = [
        locate(name, ".bif") for name in (options.source, options.reference) if name
    ]
    if options.normalise and all(suffix_of(path) not in NETWORKS for path in models):
        raise OptionError(
            "--normalise is for networks, and no model here is one; leave it out"
        )
    model = _model(options.source, options)
    record: dict[str, Any] = {}
    if options.data is not None:
        record |= _by_rows(model, options.data, options, output)
    if options.reference is not None:
        reference = _model(options.reference, options).reordered(model)
        found = divergence(reference, model, seed=options.seed)
        record |= {"kl_divergence": found.value, "kl_method": found.method}
        if found.method == "sampled" and np.isfinite(found.value):
            record["kl_interval"] = found.interval
        if isinstance(model, el.BayesianNetwork) and isinstance(
            reference, el.BayesianNetwork
        ):
            record |= vars(
                el.graphs.compare_structures(model.parents, reference.parents)
            )
    return output.save(record)


def _model(source: str, options: Evaluate) -> Model:
    """Read a model, as a normalised network if that is wanted and it is one."""
    is_network = suffix_of(locate(source, ".bif")) in NETWORKS
    return el.read_model(source, normalise=options.normalise and is_network)


def _by_rows(
    model: Model, source: str, options: Evaluate, output: Output
) -> dict[str, Any]:
    """Return the log-likelihood of rows, and the share of them whose class is predicted right."""
    read = rows_for(source, replace(options, discretise={}), model, output, None)
    if read.ended == "interrupted":
        raise KeyboardInterrupt
    table, weights = read.table, read.table.row_weights
    require_weight(table, "evaluate on")
    logs = model.log_likelihood_rows(table)
    impossible = np.isneginf(logs)
    found: dict[str, Any] = {
        "rows": read.record.get("rows", table.n_rows),
        "log_likelihood_per_row": table.total(logs) / float(weights.sum()),
    }
    if read.record:  # equal rows have lost their numbers
        found["impossible"] = float(weights[impossible].sum())
    else:
        found["impossible_rows"] = np.flatnonzero(impossible).tolist()
        if table.lines is not None and impossible.any():
            found["impossible_lines"] = table.lines[impossible].tolist()
    if options.class_ is not None:
        classes = el.classify(model, table, options.class_)
        labelled = float(classes.labelled_weights.sum())
        found |= {
            "class": options.class_,
            "labelled": labelled,
            "accuracy": classes.accuracy,
        }
    return found


def run_compare(options: Compare, output: Output) -> Answer:
    """Compare methods or learners; what is done at an interrupt is kept and shown."""
    if output.folder is None:
        require_suffix(output.path, (".json",))
    if options.learners is not None:
        return _compare_learners(options, output)
    # By default that of 'augment', and what is quicker.
    chosen = list(dict.fromkeys(options.methods or ("branching", "t-local", "mode")))
    is_repeated = options.network is not None or bool(options.hide)
    _check(chosen, options)
    if options.methods is None and options.time_limit is None:
        options = replace(
            options, time_limit=60.0
        )  # the proof of 'branching' may take any time
    network = None
    if options.network is not None:
        network = el.read_network(options.network, normalise=options.normalise)
    conditions = list(_conditions(options, network))
    for condition in conditions:
        table, _ = condition.draw(
            options.seed
        )  # what cannot be hidden is said before all work
        chosen_later = replace(options, ess=None) if options.ess == "auto" else options
        for name in chosen:  # and so is what cannot be learnt
            learning(table, settled(chosen_later, name), lambda event: None)
    repeat = options.repeat if is_repeated else 1
    how = replace(options, methods=None, repeat=1, jobs=1, cluster=None)
    is_shared = options.jobs > 1 or options.cluster is not None
    quiet = replace(output, quiet=output.quiet or is_shared)
    study = ImputationStudy(
        conditions=conditions,
        methods={name: partial(_completed, name, how, quiet) for name in chosen},
        seeds=range(options.seed, options.seed + repeat),
        settings=f"options {crc32(repr(how).encode()):08x}",
    )
    path = None if output.folder is None else output.folder / "repetitions.json"
    control = SearchControl()
    runs = Study(
        study.runs(), path, options.jobs, options.cluster, output.detail, control
    )
    # Runs in this process have displays of their own.
    whole = replace(output, quiet=output.quiet or not is_shared)
    with whole.progress_display("comparing"):
        runs.run()
    return _answer(study, runs, output)


def _compare_learners(options: Compare, output: Output) -> Answer:
    """Compare learners by cross-validation."""
    if options.source is None:
        raise OptionError("--learners: expected a table to learn from")
    data = load(options.source, options)
    with output.progress_display("folds"), SearchControl().running() as control:
        found = el.cross_validate(
            data,
            folder=output.folder,
            on_begin=output.detail,
            **options.chosen("learners folds class_ seed jobs time_limit cluster"),
        )
    rows = found.to_records()
    record = {
        "best": found.best,
        "folds": found.folds,
        "rows": rows,
        "of_folds": found.found,
    }
    is_whole = all(row["folds"] == found.folds for row in rows)
    ended = (
        "failed"
        if any(row["failures"] for row in rows)
        else "done"
        if is_whole
        else "feasible"
    )
    status = "interrupted" if control.is_stopped else ended
    return output.save(record, "compare.json", status=status)


def _check(chosen: list[str], options: Compare) -> None:
    """Refuse, before any work is done, what some method would refuse after that of others."""
    if (options.source is None) == (options.network is None):
        raise OptionError("compare: expected either a table or --network, not both")
    for name in chosen:
        if name not in METHODS:
            raise OptionError(
                f"--methods: no method {name!r}{did_you_mean(name, METHODS)}"
            )
    if any(METHODS[name].needs_scikit_learn for name in chosen):
        require_library()


def _conditions(
    options: Compare, network: el.BayesianNetwork | None
) -> Iterator[Condition]:
    """Yield the table with each kind of hidden cells, or the incomplete table."""
    truth, source = None, str(options.network or options.source)
    if options.truth and not options.hide:
        truth = load(options.truth, replace(options, states={}))
    drawn = network or load(source, options)
    for spec in options.hide or (("mnar:2",) if network else ("",)):
        if not spec and isinstance(drawn, el.Dataset) and drawn.is_complete:
            raise DataError(
                f"{source}: no cell is missing, so every method would complete it alike; hide "
                "cells with '--hide mcar:2', or learn the network with 'exactlearn solve'"
            )
        yield Condition(
            table=source,
            hidden=spec,
            draw=partial(_pair, drawn, truth, options, spec),
            digest=" ".join(
                known.digest for known in (drawn, truth) if known is not None
            ),
            is_redrawn=network is not None,
        )


def _pair(
    source: el.BayesianNetwork | el.Dataset,
    truth: el.Dataset | None,
    options: Compare,
    spec: str,
    seed: int,
) -> Pair:
    """Return an incomplete table and its truth: what is given, or drawn as 'simulate' does."""
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
    """Write and return what is done."""
    failures = [f"{planned.title}: {error}" for planned, error in runs.failures()]
    if study.conditions[0].hidden:
        known = [(c, study.repetitions(runs, c)) for c in study.conditions]
        rows = [row for c, found in known if found for row in method_rows(c, found)]
        is_limited = any(row["limited"] for row in rows)
    else:
        keys = (
            "method",
            "status",
            "accuracy",
            "score",
            "bound",
            "gap",
            "seconds",
            "log_loss",
        )
        done = (one for one in runs.found() if not one.get("unfinished"))
        rows = [{key: one[key] for key in keys} for one in done]
        is_limited = any(row["status"] == "feasible" for row in rows)
    is_interrupted = runs.control.is_stopped
    if is_interrupted:
        output.note("Interrupted: these are the runs that are done")
    if not rows and not failures:
        raise KeyboardInterrupt
    record = {"rows": rows, "failures": failures}
    same = {
        key
        for key in ("table", "hidden")
        if len({str(row.get(key)) for row in rows}) == 1
    }
    same |= {
        "cells",
        "cpu_seconds",
        "cpu_seconds_error",
        "reference",
        "p_value",
    }  # for programs
    same |= {"loss_difference", "loss_p_value", "loss_significant"}
    shown = [
        {key: value for key, value in row.items() if key not in same} for row in rows
    ]
    ended = "failed" if failures else "feasible" if is_limited else "done"
    return output.save(
        record,
        "compare.json",
        shown=record | {"rows": shown},
        status="interrupted" if is_interrupted else ended,
    )
