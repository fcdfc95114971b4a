"""``exactlearn missingness``: the missing cells of a table, and the estimator to use with them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from exactlearn._runtime.control import ended_by_signal
from exactlearn.commands.answer import Answer
from exactlearn.commands.declarations import Missingness
from exactlearn.commands.output import Output, require_parent, require_suffix
from exactlearn.commands.pipeline import load
from exactlearn.data.dataset import Dataset
from exactlearn.data.missingness_graph import MissingnessGraph
from exactlearn.data.missingness_patterns import missingness_patterns
from exactlearn.formats.missingness_file import read_missingness, write_missingness
from exactlearn.imputation.missingness_diagnosis import (
    causes_in_words,
    diagnosed_missingness_graph,
    recommendation,
)
from exactlearn.imputation.missingness_tests import IndicatorTest, indicator_tests

SIGNIFICANCE = 0.05
"""Adjusted p-value below which a dependence counts as found."""

PATTERNS = 10
"""Most missingness patterns in the record."""

NOT_TESTABLE = (
    "Whether cells are missing because of their own value cannot be tested: what the learned graph "
    "says of it rests on the tree of Chow and Liu that predicts them"
)


@ended_by_signal()
def run(options: Missingness, output: Output) -> Answer:
    """Run the command."""
    require_suffix(output.path, (".json",))
    if options.missingness_output is not None:
        require_parent(options.missingness_output, "--missingness-output")
    rng = np.random.default_rng(options.seed)
    data = load(options.source, options)
    tests = indicator_tests(data, rng)
    dependences = [test for test in tests if test.adjusted < SIGNIFICANCE]
    learned = diagnosed_missingness_graph(data, dependences, rng)
    graph = learned
    record = _counts(data)
    record["causes"] = causes_in_words(learned)
    record["tests"] = [test._asdict() for test in tests]
    record["mcar"] = {
        "tested": len(tests), "found": len(dependences), "verdict": _verdict(tests, dependences)
    }  # fmt: skip
    record["learned"] = {"kind": learned.kind, "graph": str(learned), "causes": learned.to_dict()}
    if options.missingness is not None:
        graph = read_missingness(options.missingness)
        graph.check_table(data)
        record["implied"] = _implications(data, graph, rng)
    record["recommendation"] = recommendation(data, graph)._asdict()
    if options.missingness_output is not None:
        write_missingness(learned, options.missingness_output)
        output.wrote(options.missingness_output)
    output.save(record)
    return Answer(record=record, remarks=[NOT_TESTABLE] if tests else ())


def _counts(data: Dataset) -> dict[str, Any]:
    patterns = missingness_patterns(data)
    total = max(patterns.total, 1e-300)
    rows = zip(patterns.missing.tolist(), patterns.weights.tolist(), strict=True)
    return {
        "rows": data.n_rows,
        "variables": data.n_variables,
        "missing_cells": len(data.missing_cells),
        "share_missing": float(patterns.rates.mean()) if data.n_variables else 0.0,
        "share_complete": patterns.complete / total,
        "rates": dict(zip(data.names, patterns.rates.tolist(), strict=True)),
        "pattern_count": len(patterns.weights),
        "patterns": [
            {
                "missing": [name for name, gone in zip(data.names, row, strict=True) if gone],
                "rows": weight,
                "share": weight / total,
            }
            for row, weight in list(rows)[:PATTERNS]
        ],
    }


def _verdict(tests: Sequence[IndicatorTest], dependences: Sequence[IndicatorTest]) -> str:
    """Return what the tests say of data missing completely at random."""
    if not tests:
        return "nothing to test: no cell is missing, or no other variable varies"
    if not dependences:
        return (
            f"none of {len(tests)} tests finds that missing cells depend on another variable; that "
            "they are missing completely at random (MCAR) is not refuted, and not proven"
        )
    indicators = len({test.indicator for test in dependences})
    return (
        f"cells are not missing completely at random (not MCAR): {len(dependences)} of "
        f"{len(tests)} tests find a dependence, for {indicators} of "
        f"{len({test.indicator for test in tests})} variables with missing cells"
    )


def _implications(
    data: Dataset, graph: MissingnessGraph, rng: np.random.Generator
) -> dict[str, Any]:
    """Test the independences that a graph implies; some cannot be tested."""
    tests = indicator_tests(data, rng, graph)
    return {
        "kind": graph.kind,
        "graph": str(graph),
        "tested": len(tests),
        "failed": [test._asdict() for test in tests if test.adjusted < SIGNIFICANCE],
        "not_testable": [name for name, causes in graph.causes.items() if name in causes],
    }
