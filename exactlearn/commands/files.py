"""Commands on files: ``simulate``, ``convert``, ``instances`` and ``verify``."""

import math
import shutil
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import exactlearn as el
from exactlearn._runtime import executors
from exactlearn._runtime.control import SearchControl, ended_by_signal
from exactlearn._runtime.files import read_text, suffix_of
from exactlearn.commands.declarations import Convert, Instances, Simulate, Verify
from exactlearn.commands.output import Answer, Output, require_suffix
from exactlearn.commands.pipeline import (
    constraints,
    score_of,
    scoring,
    with_declared_score,
)
from exactlearn.commands.tables import blocks, load, load_merged, place
from exactlearn.data.missingness import SimulatedMissingness
from exactlearn.data.missingness_graph import IGNORABLE
from exactlearn.errors import CheckError, FormatError, OptionError, did_you_mean
from exactlearn.formats.content import SCORES as SCORES_KIND
from exactlearn.formats.content import require_kind
from exactlearn.formats.graph_file import read_missingness
from exactlearn.formats.models import FORMATS as MODELS
from exactlearn.formats.models import GRAPHS, NAIVE_BAYES, NETWORKS
from exactlearn.formats.scores import FORMATS as SCORES
from exactlearn.formats.scores import PROGRAMS, is_score_file, read_certificate
from exactlearn.formats.table import FORMATS as TABLES
from exactlearn.instances import bundled
from exactlearn.queries.model_graphs import Model, as_graph
from exactlearn.reporting.drawing import decision_graph_drawing, network_drawing
from exactlearn.reporting.svg_picture import FIGURES, write_figure
from exactlearn.solvers.certificate_checker import Unproven, verify
from exactlearn.structure.selection import single_arcs

KINDS = {".bif": "network", ".csv": "data set", ".toml": "run file"}


def target(output: Output, suffixes: Sequence[str]) -> Path:
    """Return the file to write, which must be named."""
    if output.path is None:
        raise OptionError(f"expected the file to write, as in '-o FILE{suffixes[0]}'")
    require_suffix(output.path, suffixes)
    return output.path


@ended_by_signal()
def run_simulate(options: Simulate, output: Output) -> Answer:
    """Draw rows, and hide cells of them."""
    path = target(output, tuple(TABLES))
    require_suffix(options.complete, tuple(TABLES), "--complete")
    rng = np.random.default_rng(options.seed)
    model = el.read_model(options.source, normalise=options.normalise)
    # Rows, and then the cells that are hidden of them.
    full = el.draw_rows(model, options.rows, rng)
    mechanism: str | el.MissingnessGraph | None = options.hide
    if options.missingness is not None:
        mechanism = read_missingness(options.missingness)
    simulated = SimulatedMissingness(full, IGNORABLE, {})
    if mechanism is not None:
        simulated = el.simulate_missingness(full, mechanism, rng)
    if options.complete is not None:
        output.wrote_table(options.complete, el.write_dataset(full, options.complete))
    output.wrote_table(path, el.write_dataset(simulated.dataset, path))
    record: dict[str, Any] = {
        "rows": full.n_rows,
        "variables": full.n_variables,
        "missing_cells": len(simulated.dataset.missing_cells),
    }
    if simulated.graph.causes:
        record["missingness"] = str(simulated.graph)
        record["probabilities"] = dict(simulated.tables)
    return Answer(record=record)


@ended_by_signal()
def run_convert(options: Convert, output: Output) -> Answer:
    """Write a file in another format."""
    source = place(options.source, ".bif", ".csv")
    # By the kind of the source: a model, local scores, or a table to copy or to score.
    score_formats = (*SCORES, *PROGRAMS)
    remarks: list[str] = []
    states_file = None
    if suffix_of(source) in MODELS:
        path = target(output, (*NETWORKS, *GRAPHS, *NAIVE_BAYES, *FIGURES))
        _write_model(el.read_model(source, normalise=options.normalise), path, output)
    elif options.normalise:
        raise OptionError(
            f"--normalise is for networks, and {source} is none; leave it out"
        )
    elif is_score_file(source):
        path = target(output, score_formats)
        problem = el.read_scores(source)
        el.write_scores(replace(problem, **constraints(options, problem.names)), path)
    else:
        path = target(output, (*score_formats, *TABLES))
        if suffix_of(path) in TABLES:  # '.parquet' after a table is a table
            states_file = el.write_dataset(load(source, options), path)
        else:
            problem = _scored(options, output)
            el.write_scores(problem, path)
            if problem.stopped:
                remarks.append(
                    f"Time limit reached: {problem.stopped}, and no others were written"
                )
    output.wrote_table(path, states_file)
    status = "feasible" if remarks else "done"
    return Answer(record={"file": str(path)}, shown="", status=status, remarks=remarks)


def _write_model(model: Model, path: Path, output: Output) -> None:
    """Write a model in the format of the suffix, or draw it."""
    suffix = suffix_of(path)
    if suffix in FIGURES:
        if isinstance(model, el.BayesianNetwork):
            return write_figure(network_drawing(model.names, model.parents), path)
        return write_figure(decision_graph_drawing(as_graph(model)), path)
    # Formats of another model class take what represents the same distribution.
    if isinstance(model, el.NaiveBayes) and suffix not in NAIVE_BAYES:
        model = model.to_network() if suffix in NETWORKS else as_graph(model)
        output.note(f"The variable {model.names[-1]!r} is the latent component")
    elif isinstance(model, el.DecisionGraph) and suffix in NETWORKS:
        model = el.to_network(model)
        output.note(
            "Auxiliary variables, node_of_X, tell which node of variable X a row reaches: sum them "
            "out, or leave them without evidence"
        )
    return el.write_model(as_graph(model) if suffix in GRAPHS else model, path)


def _scored(options: Convert, output: Output) -> el.Problem:
    """Score the parent sets of a table: all, or block by block those of few variables each."""
    with executors.running(options.cluster) as client:
        if options.candidate_parents is None:
            data = load_merged(options.source, options, client)
            clock = SearchControl(options.time_limit)
            parent_sets = scoring(data, options, every=options.unpruned, cluster=client)
            parent_sets = with_declared_score(parent_sets, options, output)
            return parent_sets.scored(clock.remaining).problem
        if options.ess == "auto":
            raise OptionError(
                "--candidate-parents counts block by block: leave out --ess auto"
            )
        # Block by block: the table is never in memory as a whole.
        counted = blocks(options.source, options).with_states(client)
        names = counted.variables or ()
        required, forbidden = single_arcs(names, **constraints(options, names))
        return el.sparse_candidates(
            counted,
            score_of(options),
            max_parents=options.most_parents_among(len(names)),
            required=required,
            forbidden=forbidden,
            cluster=client,
            **options.chosen("candidate_parents time_limit"),
        )


def run_instances(options: Instances, output: Output) -> Answer:
    """List or copy the bundled instances."""
    paths: list[Path] = []
    for name in options.names:
        named = [path for path in bundled() if name in (path.stem, path.name)]
        if not named:
            stems = sorted({path.stem for path in bundled()})
            raise OptionError(
                f"no bundled instance {name!r}{did_you_mean(name, stems)}"
            )
        paths += named
    # Without names: all of them.
    paths = paths or list(bundled())
    if output.path is not None:
        output.path.mkdir(parents=True, exist_ok=True)
        for path in paths:
            shutil.copyfile(path, output.path / path.name)
            output.wrote(output.path / path.name)
    instances = [
        {"name": path.stem, "kind": KINDS[path.suffix], "file": str(path)}
        for path in paths
    ]
    return Answer(record={"instances": instances})


def run_verify(options: Verify, output: Output) -> Answer:
    """Check the proof of an optimum, with exact numbers."""
    require_suffix(output.path, (".json",))
    certificate = options.certificate
    scores = options.scores
    claim = read_certificate(certificate)
    require_kind(scores, SCORES_KIND)
    # The text itself is verified: a parsed score would be rounded.
    text = read_text(scores)
    try:
        verify(read_text(certificate), text)
    except Unproven as error:
        failure = CheckError(f"{certificate} proves nothing about {scores}: {error}")
        record: dict[str, Any] = {"valid": False, "bound": None, "reason": str(error)}
        return output.save(record, shown="", failure=failure)
    except ValueError as error:
        raise FormatError(f"{certificate} with {scores}: {error}") from error

    # The claim, in words and in numbers; a gap that is not zero is not written as zero.
    is_optimal = Fraction(claim.gap) == 0
    restrictions = claim.described_restrictions()
    statement = "no network scores more than the one given"
    if not is_optimal:
        statement = "the bound holds"
    if restrictions:
        statement += f", among those with: {', '.join(restrictions)}"
    record = {
        "valid": True,
        "bound": float(claim.bound),
        "score": float(claim.score),
        "gap": float(claim.gap) or (0.0 if is_optimal else math.ulp(0.0)),
        "restrictions": restrictions,
        "statements": [f"Proven: {statement}."],
    }
    digits = {key: f"{record[key]:.10g}" for key in ("score", "bound", "gap")}
    return output.save(record, shown=record | digits)
