"""Commands on missing cells: ``augment`` and ``impute`` fill them, ``missingness`` diagnoses."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

import exactlearn as el
from exactlearn import augmentation
from exactlearn._runtime.compilation_notice import clock
from exactlearn._runtime.control import SearchControl, ended_by_signal
from exactlearn._runtime.files import suffix_of
from exactlearn.augmentation.coordinate_ascent import cell_losses
from exactlearn.augmentation.solutions import Augmentation
from exactlearn.bayesnet.row_completion import posterior_cells
from exactlearn.commands import outcome, pipeline
from exactlearn.commands.declarations import Augment, Impute, Missingness
from exactlearn.commands.output import LATE, Answer, Output, require_suffix, worst
from exactlearn.commands.tables import load
from exactlearn.data.counts import missingness_patterns
from exactlearn.errors import DataError, OptionError, TooLargeError
from exactlearn.evaluation.metrics import JudgedCells
from exactlearn.formats.graph_file import write_missingness
from exactlearn.formats.models import NETWORKS
from exactlearn.graphs.dag import named_parents
from exactlearn.imputation import MODES, missingness_diagnosis
from exactlearn.imputation.methods import AVERAGING, METHODS
from exactlearn.reporting import records
from exactlearn.reporting.svg_picture import FIGURES


def run_augment(options: Augment, output: Output) -> Answer:
    """Learn network and completion of incomplete data together."""
    data, truth = load(options.source, options), None
    if options.truth is not None:
        truth = load(options.truth, replace(options, states={}))
    outcome.require_writable(output, (*NETWORKS, ".json", *FIGURES), data)
    output.detail(records.size_in_words(data))
    if data.is_complete:
        output.note(
            "No cell is missing: what is learned is the best network of the table"
        )
    options, chosen = pipeline.with_chosen_ess(data, options, output.note)
    how = pipeline.incomplete_options(data, options)

    def artifacts(
        learned: Any, certainty: Mapping[str, Any] | None = None, **more: Any
    ) -> outcome.Artifacts:
        if learned.parents is None:
            record = records.learning_record(data.names, learned)
            return outcome.Artifacts(data.names, (), record)
        known = pipeline.directions(options, data.names)
        record = {
            **records.learning_record(data.names, learned, known),
            **chosen,
            **more,
        }
        record["completion"] = records.completion_record(
            data, learned.values, **(certainty or {})
        )
        if truth is not None:
            record["imputation_accuracy"] = JudgedCells.of(
                data, learned.values, truth
            ).accuracy
        completed = data.complete(learned.values)
        network = partial(
            el.fit_complete, completed, learned.parents, smoothing=options.smoothing
        )
        return outcome.Artifacts(
            data.names, learned.parents, record, network, [completed]
        )

    control = SearchControl(options.time_limit)
    with output.progress_display(options.method) as display:
        alike = options.chosen("method checkpoint")
        result = el.augment(
            data, on_event=outcome.keeping(display, artifacts), **alike, **how
        )
    certainty, more, ended = dict[str, Any](), dict[str, Any](), str(result.status)
    if result.parents is not None and ended != "interrupted":
        with output.progress_display("posteriors of the cells"):
            certainty = _certainty(data, result, options, control, output)
        more |= MEANINGS if certainty else {}
        if options.best is not None:
            del how["starts"], how["t"]
            how |= {"k": options.best, "time_limit": control.remaining}
            with output.progress_display("the best solutions") as display:
                best = result if ended == "optimal" else None
                ranking = el.best_solutions(data, best=best, on_event=display, **how)
            more |= {
                "best": records.ranking_record(data, ranking),
                "best_status": ranking.status,
            }
            ended = worst(ended, ranking.status)
    return outcome.learned_answer(
        result, artifacts(result, certainty, **more), output, ended
    )


MEANINGS = {
    "loss_of_next_best": "score of the completed table; the network and all other cells stay",
    "posterior": "given the row's observed cells, under the network with parameters by EM",
}
"""What the figures of completed cells are, for the record."""


def _certainty(
    data: el.Dataset,
    found: Augmentation,
    options: Augment,
    control: SearchControl,
    output: Output,
) -> dict[str, Any]:
    """Return how certain completed cells are, as keywords of :func:`completion_record`.

    What is too large, or not done in time, is left out with a note.
    """
    certainty: dict[str, Any] = {}
    if data.is_complete:
        return certainty
    assert found.parents is not None
    try:
        certainty["losses"] = cell_losses(
            data, pipeline.score_of(options), found.parents, found.values
        )
        late = control.left + LATE
        fit = el.fit_em(
            data, found.parents, smoothing=options.smoothing, time_limit=late
        )
        if fit.is_complete:
            certainty["probabilities"] = posterior_cells(fit.model, data)
        else:
            output.note("No posterior of the completed cells: EM was not done in time")
    except (TooLargeError, DataError) as error:
        what = "posterior" if certainty else "loss or posterior"
        output.note(f"No {what} of the completed cells: {error}")
    return certainty


LEARNING = {*MODES, *augmentation.METHODS, "structural-em", "structural-em-hard"} - {
    "mode"
}
"""Methods that learn networks, whose record has the options that these were learned with."""

LOG_RATIO = "logarithm of the ratio of the probabilities of the value and the next best one, nats"

NOT_TESTABLE = "Whether cells are missing because of their own value cannot be tested"


def run_impute(options: Impute, output: Output) -> Answer:
    """Fill missing cells."""
    method, begun = options.chosen_method, clock()
    if method not in MODES and (options.train or options.missingness):
        raise OptionError(
            f"'{method}' completes a table from that table alone: leave out --train and "
            f"--missingness, or choose one of {', '.join(MODES)}"
        )
    given = None
    if options.network is not None:
        given = el.read_network(options.network, normalise=options.normalise)
    if options.train is None:
        data = load(options.source, options, given)
        train = data
    else:  # numbers go into the bins of the rows that are learned from
        train = load(options.train, options)
        data = load(options.source, replace(options, discretise={}), train)
    formats = (
        (".json", *NETWORKS)
        if method in MODES and method not in AVERAGING
        else (".json",)
    )
    is_one_file = output.folder is None and method == "multiple"
    outcome.require_writable(output, formats, None if is_one_file else data)
    output.detail(records.size_in_words(data))
    options = pipeline.settled(options, method)
    options, choice = pipeline.with_chosen_ess(train, options, output.note)
    network: el.BayesianNetwork | None
    with output.progress_display(method) as display:
        how = pipeline.learning(train, options, display)
        if method in MODES:
            imputer = el.Imputer(method, how, given, options.draws).fit(train)
            assert imputer.network is not None
            found, network = imputer.imputed(data), imputer.network
        else:
            found = METHODS[method](data, how)
            network = found.network
    if found.values is None and found.status == "interrupted":
        raise KeyboardInterrupt
    if found.values is None:
        raise OptionError(
            f"--time-limit: it came before '{method}' found any values; give more"
        )
    completion = records.completion_record(
        data,
        found.values.tolist(),
        losses=found.losses,
        probabilities=found.probabilities,
        probability="probability",
    )
    record: dict[str, Any] = {
        "method": method,
        "status": found.status,
        "score": found.score,
        "parents": found.parents and named_parents(data.names, found.parents),
        **({} if found.losses is None else {"loss_of_next_best": LOG_RATIO}),
        "completion": completion,
        **choice,
        "seconds": clock() - begun,
    }
    if options.network is None and method in LEARNING:
        record["learning"] = options.chosen(
            "criterion ess max_parents starts smoothing"
        )
    writers = []
    if output.path is not None:
        tables: Sequence[el.Dataset] = [data.complete(found.values)]
        if method == "multiple":
            tables = imputer.transform_all(data)
        parents = () if network is None else found.parents or ()
        files = outcome.Artifacts(data.names, parents, record, lambda: network, tables)
        writers.append(partial(files.write, output))
    return Answer(record=record, status=found.status, writers=writers)


@ended_by_signal()
def run_missingness(options: Missingness, output: Output) -> Answer:
    """Diagnose missing cells."""
    path, rng = output.path, np.random.default_rng(options.seed)
    require_suffix(path, (".json", ".missingness"))
    data = load(options.source, options)
    tests = missingness_diagnosis.indicator_tests(data, rng)
    dependences = [test for test in tests if test.adjusted < 0.05]
    learned = missingness_diagnosis.diagnosed_missingness_graph(data, dependences, rng)
    record = _counts(data) | {
        "causes": missingness_diagnosis.causes_in_words(learned),
        "tests": [test._asdict() for test in tests],
        "mcar": {
            "tested": len(tests),
            "found": len(dependences),
            "verdict": "nothing to test: no cell is missing, or no other variable varies"
            if not tests
            else "cells are not missing completely at random (not MCAR)"
            if dependences
            else "missing completely at random (MCAR) is not refuted, and not proven",
        },
        "learned": {"kind": learned.kind, "graph": str(learned)},
        "recommendation": missingness_diagnosis.recommendation(data, learned)._asdict(),
    }
    is_graph = path is not None and suffix_of(path) == ".missingness"
    write = partial(write_missingness, learned) if is_graph else None
    return output.save(record, write=write, remarks=[NOT_TESTABLE] if tests else ())


def _counts(data: el.Dataset) -> dict[str, Any]:
    """Return how many cells are missing, of which variables and in which patterns."""
    missing, weights = missingness_patterns(data)
    total = max(float(weights.sum()), 1e-300)
    rates = weights @ missing / total
    rows = [
        {
            "missing": [
                name for name, gone in zip(data.names, row, strict=True) if gone
            ],
            "rows": weight,
            "share": weight / total,
        }
        for row, weight in zip(missing.tolist(), weights.tolist(), strict=True)
    ]
    return {
        "rows": data.n_rows,
        "variables": data.n_variables,
        "missing_cells": len(data.missing_cells),
        "share_missing": float(rates.mean()) if data.n_variables else 0.0,
        "share_complete": float(weights[~missing.any(axis=1)].sum()) / total,
        "rates": dict(zip(data.names, rates.tolist(), strict=True)),
        "pattern_count": len(rows),
        "patterns": rows[:10],
    }
