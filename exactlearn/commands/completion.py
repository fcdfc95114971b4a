"""Commands on missing cells: ``augment`` and ``impute`` fill them, ``missingness`` diagnoses."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

import exactlearn as el
from exactlearn import augmentation
from exactlearn._runtime.compilation_notice import clock
from exactlearn._runtime.control import SearchControl, ended_by_signal
from exactlearn._runtime.files import suffix_of
from exactlearn.augmentation.coordinate_ascent import cell_losses
from exactlearn.augmentation.solutions import Augmentation
from exactlearn.bayesnet.row_completion import posterior_cells
from exactlearn.commands.declarations import Augment, Impute, Missingness
from exactlearn.commands.outcome import (
    Artifacts,
    keeping,
    learned_answer,
    require_writable,
)
from exactlearn.commands.output import LATE, Answer, Output, require_suffix, worst
from exactlearn.commands.pipeline import (
    incomplete_options,
    learning,
    prior_of,
    score_of,
    settled,
    with_chosen_ess,
)
from exactlearn.commands.tables import load
from exactlearn.data.counts import missingness_patterns
from exactlearn.errors import DataError, OptionError, TooLargeError
from exactlearn.evaluation.metrics import JudgedCells
from exactlearn.formats.graph_file import write_missingness
from exactlearn.formats.models import NETWORKS
from exactlearn.graphs.dag import named_parents
from exactlearn.graphs.orientation import known_directions
from exactlearn.imputation import MODES
from exactlearn.imputation.learning import Imputed
from exactlearn.imputation.methods import AVERAGING, METHODS
from exactlearn.imputation.missingness_diagnosis import (
    diagnosed_missingness_graph,
    indicator_tests,
    recommendation,
)
from exactlearn.reporting.records import (
    causes_in_words,
    completion_record,
    learning_record,
    ranking_record,
    size_in_words,
)
from exactlearn.reporting.svg_picture import FIGURES
from exactlearn.scoring.prior import priced, prior_in_words
from exactlearn.structure.network_price import network_price

MEANINGS = {
    "loss_of_next_best": "score of the completed table; the network and all other cells stay",
    "posterior": "given the row's observed cells, under the network with parameters by EM",
}
"""The meanings of the figures of completed cells, for the record."""

LEARNING = {*MODES, *augmentation.METHODS, "structural-em", "structural-em-hard"} - {
    "mode"
}
"""Methods that learn networks, whose record has the options that these were learned with."""

LOG_RATIO = "logarithm of the ratio of the probabilities of the value and the next best one, nats"

NOT_TESTABLE = "Whether cells are missing because of their own value cannot be tested"

MAX_PATTERNS = 10
"""Patterns of missing cells in the record of a diagnosis: the most frequent ones."""


def run_augment(options: Augment, output: Output) -> Answer:
    """Learn network and completion of incomplete data together."""
    data = load(options.source, options)
    # the truth is read without the states that are declared for the incomplete table
    truth = None
    if options.truth is not None:
        truth = load(options.truth, replace(options, states={}))
    require_writable(output, (*NETWORKS, ".json", *FIGURES), data)
    output.detail(size_in_words(data))
    if data.is_complete:
        output.note(
            "No cell is missing: what is learned is the best network of the table"
        )
    options, choice = with_chosen_ess(data, options, output.note)
    prior = priced(prior_of(options.prior), options.cell_weight, data.cardinalities)
    if remark := prior_in_words(prior):
        output.note(remark.capitalize())
    search = incomplete_options(data, options)
    directions = known_directions(search["required"], search["forbidden"])

    def artifacts(learned: Any, certainty: Mapping[str, Any], **keys: Any) -> Artifacts:
        """Return the files of a solution: its record has further keys."""
        record = learning_record(data.names, learned, directions)
        if learned.parents is None:
            return Artifacts(data.names, (), record)
        record |= choice | keys
        record["completion"] = completion_record(data, learned.values, **certainty)
        if truth is not None:
            cells = JudgedCells.of(data, learned.values, truth)
            record["imputation_accuracy"] = cells.accuracy
        completed = data.complete(learned.values)
        network = partial(
            el.fit_complete, completed, learned.parents, smoothing=options.smoothing
        )
        return Artifacts(data.names, learned.parents, record, network, [completed])

    # the search, each incumbent written
    control = SearchControl(options.time_limit)
    with output.progress_display(options.method) as display:
        result = el.augment(
            data,
            on_event=keeping(display, partial(artifacts, certainty={})),
            prior=prior,
            **options.chosen("method checkpoint"),
            **search,
        )
    # certainty of the cells and further solutions, in the time that is left
    status = str(result.status)
    certainty: dict[str, Any] = {}
    keys: dict[str, Any] = {}
    if price := network_price(prior, result):
        keys |= price.to_dict()
    if result.parents is not None and status != "interrupted":
        with output.progress_display("posteriors of the cells"):
            certainty = _certainty(data, result, options, control, output)
        keys |= MEANINGS if certainty else {}
        if options.best is not None:
            # solutions are listed by branching, which has no starts
            del search["starts"], search["t"]
            search["time_limit"] = control.remaining
            best = result if status == "optimal" else None
            with output.progress_display("the best solutions") as display:
                ranking = el.best_solutions(
                    data, k=options.best, best=best, on_event=display, **search
                )
            keys["best"] = ranking_record(data, ranking)
            keys["best_status"] = ranking.status
            status = worst(status, ranking.status)
    files = artifacts(result, certainty, **keys)
    return learned_answer(result, files, output, status)


def _certainty(
    data: el.Dataset,
    result: Augmentation,
    options: Augment,
    control: SearchControl,
    output: Output,
) -> dict[str, Any]:
    """Return losses and posteriors of completed cells, as keywords of :func:`completion_record`.

    What is too large, or not done in time, is left out with a note.
    """
    certainty: dict[str, Any] = {}
    if data.is_complete:
        return certainty
    assert result.parents is not None
    try:
        certainty["losses"] = cell_losses(
            data, score_of(options), result.parents, result.values
        )
        # posteriors under the learned structure, with parameters by EM
        fit = el.fit_em(
            data,
            result.parents,
            smoothing=options.smoothing,
            time_limit=control.left + LATE,
        )
        if fit.is_complete:
            certainty["probabilities"] = posterior_cells(fit.model, data)
        else:
            output.note("No posterior of the completed cells: EM was not done in time")
    except (TooLargeError, DataError) as error:
        missing = "posterior" if certainty else "loss or posterior"
        output.note(f"No {missing} of the completed cells: {error}")
    return certainty


def run_impute(options: Impute, output: Output) -> Answer:
    """Fill missing cells."""
    method = options.chosen_method
    begun = clock()
    if method not in MODES and (options.train or options.missingness):
        raise OptionError(
            f"'{method}' completes a table from that table alone: leave out --train and "
            f"--missingness, or choose one of {', '.join(MODES)}"
        )
    # The tables, and whether the output can hold the answer: before any work.
    network, train, data = _read(options)
    _require_writable(method, data, output)
    output.detail(size_in_words(data))

    # What the options leave open is set by the method, then by the table.
    options = settled(options, method)
    options, choice = with_chosen_ess(train, options, output.note)
    with output.progress_display(method) as display:
        learning_options = learning(train, options, display)
        imputer = None
        # An imputer learns from one table and completes another; the other methods
        # learn from the table itself.
        if method in MODES:
            imputer = el.Imputer(method, learning_options, network, options.draws)
            result = imputer.fit(train).imputed(data)
            network = imputer.network
        else:
            result = METHODS[method](data, learning_options)
            network = result.network
    values = _values(result, method)
    # The record of the cells; and how the network was learned, where none was given.
    record = {"method": method} | _imputed_record(data, result, values) | choice
    record["seconds"] = clock() - begun
    if options.network is None and method in LEARNING:
        record["learning"] = options.chosen(
            "criterion ess max_parents starts smoothing"
        )
    writers = []
    if output.path is not None:
        # Multiple imputation gives a table for each draw.
        tables: Sequence[el.Dataset] = [data.complete(values)]
        if imputer is not None and method == "multiple":
            tables = imputer.transform_all(data)
        parents = () if network is None else result.parents or ()
        files = Artifacts(data.names, parents, record, lambda: network, tables)
        writers.append(partial(files.write, output))
    return Answer(record=record, status=result.status, writers=writers)


def _require_writable(method: str, data: el.Dataset, output: Output) -> None:
    """Refuse, before any work, an output that cannot hold the answer of a method."""
    formats = [".json"]
    if method in MODES and method not in AVERAGING:
        formats += NETWORKS
    # several tables do not fit into one file: the record is written
    is_one_file = output.folder is None and method == "multiple"
    require_writable(output, formats, None if is_one_file else data)


def _read(
    options: Impute,
) -> tuple[el.BayesianNetwork | None, el.Dataset, el.Dataset]:
    """Read the given network, if any, the table to learn from, and that to complete."""
    network = None
    if options.network is not None:
        network = el.read_network(options.network, normalise=options.normalise)
    if options.train is None:
        data = load(options.source, options, network)
        return network, data, data
    # numbers go into the bins of the rows that are learned from
    train = load(options.train, options)
    return network, train, load(options.source, replace(options, discretise={}), train)


def _values(result: Imputed, method: str) -> NDArray[np.int64]:
    """Return the values of the missing cells, or refuse to go on without."""
    if result.values is not None:
        return result.values
    if result.status == "interrupted":
        raise KeyboardInterrupt
    raise OptionError(
        f"--time-limit: it came before '{method}' found any values; give more"
    )


def _imputed_record(
    data: el.Dataset, result: Imputed, values: NDArray[np.int64]
) -> dict[str, Any]:
    """Return the record of filled cells."""
    # methods without probabilities have no losses
    meaning = {} if result.losses is None else {"loss_of_next_best": LOG_RATIO}
    return {
        "status": result.status,
        "score": result.score,
        "parents": result.parents and named_parents(data.names, result.parents),
        **meaning,
        "completion": completion_record(
            data,
            values,
            losses=result.losses,
            probabilities=result.probabilities,
            probability="probability",
        ),
    }


@ended_by_signal()
def run_missingness(options: Missingness, output: Output) -> Answer:
    """Diagnose missing cells."""
    path = output.path
    rng = np.random.default_rng(options.seed)
    require_suffix(path, (".json", ".missingness"))
    data = load(options.source, options)
    tests = indicator_tests(data, rng)
    # false discovery rate of 5 %
    dependences = [test for test in tests if test.adjusted < 0.05]
    learned = diagnosed_missingness_graph(data, dependences, rng)
    if not tests:
        verdict = "nothing to test: no cell is missing, or no other variable varies"
    elif dependences:
        verdict = "cells are not missing completely at random (not MCAR)"
    else:
        verdict = "missing completely at random (MCAR) is not refuted, and not proven"
    record = _counts(data) | {
        "causes": causes_in_words(learned),
        "tests": [test._asdict() for test in tests],
        "mcar": {"tested": len(tests), "found": len(dependences), "verdict": verdict},
        "learned": {"kind": learned.kind, "graph": str(learned)},
        "recommendation": recommendation(data, learned)._asdict(),
    }
    write = None
    if path is not None and suffix_of(path) == ".missingness":
        write = partial(write_missingness, learned)
    return output.save(record, write=write, remarks=[NOT_TESTABLE] if tests else ())


def _counts(data: el.Dataset) -> dict[str, Any]:
    """Return the numbers and shares of missing cells, by variable and by pattern."""
    missing, weights = missingness_patterns(data)
    total = max(float(weights.sum()), 1e-300)
    # by variable: the share of rows that miss it
    rates = weights @ missing / total
    patterns = [
        {
            "missing": list(compress(data.names, pattern)),
            "rows": weight,
            "share": weight / total,
        }
        for pattern, weight in zip(missing, weights.tolist(), strict=True)
    ]
    return {
        "rows": data.n_rows,
        "variables": data.n_variables,
        "missing_cells": len(data.missing_cells),
        "share_missing": float(rates.mean()) if data.n_variables else 0.0,
        "share_complete": float(weights[~missing.any(axis=1)].sum()) / total,
        "rates": dict(zip(data.names, rates.tolist(), strict=True)),
        "pattern_count": len(patterns),
        "patterns": patterns[:MAX_PATTERNS],
    }
