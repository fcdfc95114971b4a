"""``exactlearn missingness``: the missing cells of a table, and the estimator to use with them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from shlex import quote
from typing import Any

import numpy as np

from exactlearn._runtime.control import ended_by_signal
from exactlearn._runtime.files import atomic_write, suffix_of
from exactlearn.commands.answer import Answer
from exactlearn.commands.declarations import Missingness
from exactlearn.commands.output import Output, require_parent, require_suffix, write_json
from exactlearn.commands.pipeline import load, load_for
from exactlearn.data.dataset import Dataset
from exactlearn.data.missingness_graph import MissingnessGraph
from exactlearn.data.missingness_patterns import MissingnessPatterns, missingness_patterns
from exactlearn.formats.missingness_file import read_missingness, write_missingness
from exactlearn.formats.models import read_network
from exactlearn.imputation.missingness_diagnosis import (
    causes_in_words,
    diagnosed_missingness_graph,
    is_inference_small,
    recommendation,
)
from exactlearn.imputation.missingness_tests import IndicatorTest, indicator_tests
from exactlearn.reporting.missingness_picture import patterns_figure
from exactlearn.reporting.plot import require_matplotlib
from exactlearn.reporting.report import facts, percent, plain_table

SHOWN_TESTS = 20
"""Most tests that are printed."""

TREE = "the tree of Chow and Liu, parameters by EM; fully observed causes by BIC"
NETWORK = "the given network, parameters from available cases; fully observed causes by BIC"
"""What the graph is learned with, in words."""

NOT_TESTABLE = (
    "Whether cells are missing because of their own value cannot be tested: their values are "
    "unknown. What the learned graph says of it rests on the network that predicts them."
)


@ended_by_signal()
def run(options: Missingness, output: Output) -> Answer:
    """Run the command."""
    require_suffix(output.path, (".json", ".svg", ".png", ".pdf"))
    if output.path is not None and suffix_of(output.path) != ".json":
        require_matplotlib("'.json'")
    if options.missingness_output is not None:
        require_parent(options.missingness_output, "--missingness-output")
    rng, network = np.random.default_rng(options.seed), None
    if options.network is None:
        data = load(options.source, options)
    else:
        network = read_network(options.network)
        data = load_for(options.source, options, network)
    given = None
    if options.missingness is not None:
        given = read_missingness(options.missingness)
        given.check_table(data)
    patterns = missingness_patterns(data)
    tests = indicator_tests(data, rng)
    found = [test for test in tests if test.adjusted < options.significance]
    parents = None if network is None else network.parents
    by_network = parents is not None and is_inference_small(data, parents)
    learned = diagnosed_missingness_graph(data, found, rng, parents)
    files = {"data": quote(options.source)}
    if options.network is not None:
        files["network"] = quote(options.network)
    if options.missingness is not None or options.missingness_output is not None:
        files["graph"] = quote(options.missingness or str(options.missingness_output))
    advice = recommendation(
        data,
        patterns,
        learned if given is None else given,
        is_given=given is not None,
        parents=parents,
        files=files,
    )
    record: dict[str, Any] = {
        **_counts(data, patterns, options.patterns),
        "tests": [test._asdict() for test in tests],
        "mcar": {"tested": len(tests), "found": len(found), "verdict": _verdict(tests, found)},
        "learned": {
            "kind": learned.kind,
            "graph": str(learned),
            "causes": learned.to_dict(),
            "learner": NETWORK if by_network else TREE,
        },
    }
    if given is not None:
        record["implied"] = _implications(data, given, options.significance, rng)
        if record["implied"]["failed"]:
            contradicted = f"the given graph is, which the rows contradict; {advice.wrong_if}"
            advice = replace(advice, wrong_if=contradicted)
    record["recommendation"] = vars(advice)
    if options.missingness_output is not None:
        write_missingness(learned, options.missingness_output)
        output.wrote(options.missingness_output)
    if output.path is not None:
        _write(record, patterns, options.patterns, output)
    return Answer(record=record, tables=_tables(record, learned, options.significance))


def _counts(data: Dataset, patterns: MissingnessPatterns, most: int) -> dict[str, Any]:
    rates = dict(zip(data.names, patterns.rates.tolist(), strict=True))
    total = max(patterns.total, 1e-300)
    return {
        "rows": data.n_rows,
        "variables": data.n_variables,
        "missing_cells": len(data.missing_cells),
        "share_missing": float(patterns.rates.mean()) if data.n_variables else 0.0,
        "share_complete": patterns.complete / total,
        "rates": rates,
        "pattern_count": len(patterns.weights),
        "patterns": [
            {
                "missing": [name for name, gone in zip(data.names, row, strict=True) if gone],
                "rows": weight,
                "share": weight / total,
            }
            for row, weight in zip(
                patterns.missing[:most].tolist(), patterns.weights[:most].tolist(), strict=True
            )
        ],
    }


def _verdict(tests: Sequence[IndicatorTest], found: Sequence[IndicatorTest]) -> str:
    """Return what the tests say of data missing completely at random."""
    if not tests:
        return "nothing to test: no cell is missing, or no other variable varies"
    if not found:
        return (
            f"none of {len(tests)} tests finds that missing cells depend on another variable; that "
            "they are missing completely at random (MCAR) is not refuted, and not proven"
        )
    indicators = len({test.indicator for test in found})
    return (
        f"cells are not missing completely at random (not MCAR): {len(found)} of {len(tests)} "
        f"tests find a dependence, for {indicators} of "
        f"{len({test.indicator for test in tests})} variables with missing cells"
    )


def _implications(
    data: Dataset, graph: MissingnessGraph, significance: float, rng: np.random.Generator
) -> dict[str, Any]:
    """Test what a graph implies; return the tests that fail, and what cannot be tested."""
    tests = indicator_tests(data, rng, graph)
    failed = [test for test in tests if test.adjusted < significance]
    own = [name for name, causes in graph.causes.items() if name in causes]
    verdict = (
        f"{len(failed)} of {len(tests)} independences that the graph implies do not hold"
        if failed
        else f"all {len(tests)} independences that the graph implies and rows can test hold"
    )
    return {
        "kind": graph.kind,
        "graph": str(graph),
        "tested": len(tests),
        "failed": [test._asdict() for test in failed],
        "not_testable": own,
        "verdict": verdict,
    }


def _write(
    record: Mapping[str, Any], patterns: MissingnessPatterns, most: int, output: Output
) -> None:
    assert output.path is not None
    if suffix_of(output.path) == ".json":
        write_json(record, output.path)
    else:
        atomic_write(output.path, patterns_figure(patterns, most, suffix_of(output.path)))
    output.wrote(output.path)


def _tables(record: Mapping[str, Any], learned: MissingnessGraph, significance: float) -> list[Any]:
    """Return what is printed."""
    summary = facts(
        rows=str(record["rows"]),
        variables=str(record["variables"]),
        missing_cells=f"{record['missing_cells']} ({percent(record['share_missing'])})",
        complete_rows=percent(record["share_complete"]),
        patterns=str(record["pattern_count"]),
    )
    advice = record["recommendation"]
    words = facts(
        recommended=advice["method"],
        command=advice["command"],
        why=advice["why"],
        wrong_if=advice["wrong_if"],
    )
    if not record["missing_cells"]:
        return [summary, "", words]
    patterns = plain_table(
        ("rows", "share", "missing"),
        (
            (f"{p['rows']:g}", percent(p["share"]), ", ".join(p["missing"]) or "-")
            for p in record["patterns"]
        ),
        right=("rows", "share"),
    )
    causes = causes_in_words(learned)
    for test in record["tests"]:
        if test["adjusted"] < significance and causes.get(test["indicator"]) == "nothing":
            causes[test["indicator"]] = "nothing by BIC, though a test below finds a dependence"
    variables = plain_table(
        ("variable", "missing", "missing cells seem to depend on"),
        (
            (name, percent(record["rates"][name]), causes.get(name, ""))
            for name in sorted(record["rates"], key=lambda name: -record["rates"][name])
            if record["rates"][name] > 0
        ),
        right=("missing",),
    )
    tables = [summary, "", patterns, "", variables, f"Learned with {record['learned']['learner']}"]
    tables += ["", *_test_table(record["tests"], significance), record["mcar"]["verdict"]]
    if "implied" in record:
        implied = record["implied"]
        tables += ["", "The given graph:", *_test_table(implied["failed"], significance)]
        tables.append(implied["verdict"])
        if own := implied["not_testable"]:
            tables.append(f"Not testable, for they depend on their own values: {', '.join(own)}")
    return [*tables, NOT_TESTABLE, "", words]


def _test_table(tests: Sequence[Mapping[str, Any]], significance: float) -> list[Any]:
    """Return the table of the tests that find a dependence, and a line on those left out."""
    found = [test for test in tests if test["adjusted"] < significance]
    if not found:
        return []
    rows = (
        (
            test["indicator"],
            test["variable"],
            f"{percent(test['lowest'])} to {percent(test['highest'])}",
            f"{test['statistic']:.1f}",
            f"{test['p_value']:.2g}",
            f"{test['adjusted']:.2g}",
        )
        for test in found[:SHOWN_TESTS]
    )
    columns = ("missing cells of", "depend on", "missing by state", "G", "p", "adjusted p")
    left = len(found) - SHOWN_TESTS
    more = [f"... and {left} more; --json has all"] * (left > 0)
    return [plain_table(columns, rows, right=columns[3:]), *more]
