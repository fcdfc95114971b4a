"""Commands on the missing cells of a table: ``impute`` fills them, ``missingness`` diagnoses."""

from collections.abc import Sequence
from functools import partial
from time import monotonic
from typing import Any

import numpy as np

import exactlearn as el
from exactlearn._runtime.control import ended_by_signal
from exactlearn._runtime.files import suffix_of
from exactlearn.commands.declarations import Impute, Missingness
from exactlearn.commands.learned import Artifacts, require_table_names
from exactlearn.commands.output import Answer, Output, is_folder, require_suffix
from exactlearn.commands.pipeline import learning, with_chosen_ess
from exactlearn.commands.tables import load
from exactlearn.data.missingness_patterns import missingness_patterns
from exactlearn.errors import OptionError
from exactlearn.formats.graph_file import read_missingness, write_missingness
from exactlearn.formats.models import NETWORKS
from exactlearn.formats.table import FORMATS as TABLES
from exactlearn.graphs.dag import named_parents
from exactlearn.imputation import MODES
from exactlearn.imputation.imputer import AVERAGING
from exactlearn.imputation.methods import METHODS
from exactlearn.imputation.missingness_diagnosis import (
    causes_in_words,
    diagnosed_missingness_graph,
    recommendation,
)
from exactlearn.imputation.missingness_tests import IndicatorTest, indicator_tests
from exactlearn.reporting.records import completion_record, size_in_words

LOG_RATIO = "logarithm of the ratio of the probabilities of the value and the next best one, nats"

SIGNIFICANCE = 0.05
"""Adjusted p-value below which a dependence counts as found."""

PATTERNS = 10
"""Most missingness patterns in the record."""

NOT_TESTABLE = "Whether cells are missing because of their own value cannot be tested"


def run_impute(options: Impute, output: Output) -> Answer:
    """Fill missing cells."""
    method, begun = options.chosen_method, monotonic()
    _check(options, output)
    given = None if options.network is None else el.read_network(options.network)
    data = load(options.source, options, given)
    require_table_names(output, data)
    output.detail(size_in_words(data))
    train = data if options.train is None else load(options.train, options)
    options, choice = with_chosen_ess(train, options, output.note)
    network: el.BayesianNetwork | None
    with output.progress_display(method) as display:
        how = learning(train, options, display)
        if method in MODES:
            imputer = el.Imputer(method, how, given, options.draws).fit(train)
            assert imputer.network is not None
            if options.train is not None:
                data = load(options.source, options, imputer.network)
            found, network = imputer.imputed(data), imputer.network
        else:
            found = METHODS[method](data, how)
            network = found.network
    if found.values is None and found.status == "interrupted":
        raise KeyboardInterrupt
    if found.values is None:
        raise OptionError(f"--time-limit: it came before '{method}' found any values; give more")
    completion = completion_record(
        data,
        found.values.tolist(),
        losses=found.losses,
        probabilities=found.probabilities,
        probability="probability",
    )
    record = {
        "method": method,
        **({"weights": found.weights} if found.weights else {}),
        "status": found.status,
        "score": found.score,
        "parents": found.parents and named_parents(data.names, found.parents),
        **({} if found.losses is None else {"loss_of_next_best": LOG_RATIO}),
        "completion": completion,
        **choice,
        "seconds": monotonic() - begun,
    }
    if output.path is not None:
        tables: Sequence[el.Dataset] = [data.complete(found.values)]
        if method == "multiple":
            tables = imputer.transform_all(data)
        parents = () if network is None else found.parents or ()
        Artifacts(data.names, parents, record, lambda: network, tables).write(output)
    return Answer(record=record, status=found.status)


def _check(options: Impute, output: Output) -> None:
    """Refuse, before any work is done, what the method cannot do or write."""
    method = options.chosen_method
    if method not in MODES and (options.train or options.missingness):
        raise OptionError(
            f"'{method}' completes a table from that table alone: leave out --train and "
            f"--missingness, or choose one of {', '.join(MODES)}"
        )
    if output.path is not None and not is_folder(output.path):
        tables = () if method == "multiple" else tuple(TABLES)
        has_network = method in MODES and method not in AVERAGING
        require_suffix(output.path, (*tables, ".json", *(NETWORKS if has_network else ())))


@ended_by_signal()
def run_missingness(options: Missingness, output: Output) -> Answer:
    """Diagnose missing cells."""
    path, rng = output.path, np.random.default_rng(options.seed)
    require_suffix(path, (".json", ".missingness"))
    data = load(options.source, options)
    tests = indicator_tests(data, rng)
    dependences = _found(tests)
    learned = diagnosed_missingness_graph(data, dependences, rng)
    record = _counts(data) | {
        "causes": causes_in_words(learned),
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
        "learned": {"kind": learned.kind, "graph": str(learned), "causes": learned.to_dict()},
    }
    graph = learned
    if options.missingness is not None:
        graph = read_missingness(options.missingness)
        graph.check_table(data)
        implied = indicator_tests(data, rng, graph)
        record["implied"] = {
            "kind": graph.kind,
            "graph": str(graph),
            "tested": len(implied),
            "failed": [test._asdict() for test in _found(implied)],
            "not_testable": [name for name, causes in graph.causes.items() if name in causes],
        }
    record["recommendation"] = recommendation(data, graph)._asdict()
    is_graph = path is not None and suffix_of(path) == ".missingness"
    output.save(record, write=partial(write_missingness, learned) if is_graph else None)
    return Answer(record=record, remarks=[NOT_TESTABLE] if tests else ())


def _found(tests: Sequence[IndicatorTest]) -> list[IndicatorTest]:
    return [test for test in tests if test.adjusted < SIGNIFICANCE]


def _counts(data: el.Dataset) -> dict[str, Any]:
    """Return how many cells are missing, of which variables and in which patterns."""
    patterns = missingness_patterns(data)
    total = max(patterns.total, 1e-300)
    rows = [*zip(patterns.missing.tolist(), patterns.weights.tolist(), strict=True)]
    return {
        "rows": data.n_rows,
        "variables": data.n_variables,
        "missing_cells": len(data.missing_cells),
        "share_missing": float(patterns.rates.mean()) if data.n_variables else 0.0,
        "share_complete": patterns.complete / total,
        "rates": dict(zip(data.names, patterns.rates.tolist(), strict=True)),
        "pattern_count": len(rows),
        "patterns": [
            {
                "missing": [name for name, gone in zip(data.names, row, strict=True) if gone],
                "rows": weight,
                "share": weight / total,
            }
            for row, weight in rows[:PATTERNS]
        ],
    }
