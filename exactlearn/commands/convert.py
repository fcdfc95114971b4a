"""``exactlearn convert``: a model, a table or scores in another format."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from exactlearn._runtime import cluster as clusters
from exactlearn._runtime.control import ended_by_signal
from exactlearn._runtime.files import suffix_of
from exactlearn.bayesnet.naive_bayes import NaiveBayes
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.commands.answer import Answer
from exactlearn.commands.declarations import Convert
from exactlearn.commands.large_tables import blocks_of, is_large, load_merged
from exactlearn.commands.output import Output, is_folder, require_parent
from exactlearn.commands.pipeline import (
    constraints,
    learning_problem,
    load,
    score_of,
    with_chosen_ess,
)
from exactlearn.errors import OptionError
from exactlearn.formats import written_suffixes
from exactlearn.formats.models import FORMATS as MODELS
from exactlearn.formats.models import GRAPHS, NAIVE_BAYES, NETWORKS, read_model, write_model
from exactlearn.formats.scores import FORMATS as SCORES
from exactlearn.formats.scores import PROGRAMS, is_score_file, read_scores, write_scores
from exactlearn.formats.table import FORMATS as TABLES
from exactlearn.formats.table import write_dataset
from exactlearn.instances import locate
from exactlearn.pdg.compile.compile import compile_network
from exactlearn.pdg.model.auxiliary_network import to_network
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.queries.evidence import as_graph
from exactlearn.reporting.drawing import decision_graph_drawing, network_drawing
from exactlearn.reporting.svg_picture import FIGURES, write_figure
from exactlearn.scoring.sparse_candidates import sparse_candidates
from exactlearn.solvers import Problem
from exactlearn.structure.selection import single_arcs


@ended_by_signal()
def run(options: Convert, output: Output) -> Answer:
    """Run the command."""
    if output.path is None or is_folder(output.path):
        raise OptionError("convert: expected the file to write, as in '-o scores.jkl'")
    source = options.source
    path = Path(source) if is_large(source) else locate(source, ".bif", ".csv")
    wanted, writers = suffix_of(output.path), _writers(path, options, output)
    if wanted not in writers:
        raise OptionError(
            f"cannot write {path.name} as '{wanted}'; expected one of {', '.join(writers)}"
        )
    require_parent(output.path)
    written = writers[wanted](path, output.path)
    output.wrote(output.path)
    record = {"file": str(output.path)}
    if isinstance(written, Problem) and written.stopped:
        remark = f"Time limit reached: {written.stopped}, and no others were written"
        return Answer(record=record, status="feasible", remarks=[remark])
    return Answer(record=record, shown="")


Writer = Callable[[Path, Path], object]


def _writers(source: Path, options: Convert, output: Output) -> dict[str, Writer]:
    """Return what writes each suffix that the content of a file can be written as."""
    if suffix_of(source) in MODELS:
        rewrite = partial(_rewrite_model, output=output)
        return {**dict.fromkeys(MODELS, rewrite), **dict.fromkeys(FIGURES, _draw_model)}
    if is_score_file(source):
        rewrite_scores = partial(_rewrite_scores, options=options)
        return dict.fromkeys((*written_suffixes(SCORES), *PROGRAMS), rewrite_scores)
    return _table_writers(options, output)


def _rewrite_model(source: Path, target: Path, *, output: Output) -> None:
    model = read_model(source)
    if isinstance(model, NaiveBayes) and suffix_of(target) not in NAIVE_BAYES:
        model = model.to_network() if suffix_of(target) in NETWORKS else as_graph(model)
        output.note(f"The variable {model.names[-1]!r} is the latent component")
    elif isinstance(model, BayesianNetwork) and suffix_of(target) in GRAPHS:
        model = compile_network(model)
    elif isinstance(model, DecisionGraph) and suffix_of(target) in NETWORKS:
        added = -model.n_variables
        model = to_network(model)
        added += model.n_variables
        output.note(
            f"{added} auxiliary variables, node_of_X, tell which node of variable X a row reaches:"
            " sum them out, or leave them without evidence"
        )
    write_model(model, target)


def _draw_model(source: Path, target: Path) -> None:
    model = read_model(source)
    drawing = (
        network_drawing(model.names, model.parents)
        if isinstance(model, BayesianNetwork)
        else decision_graph_drawing(as_graph(model))
    )
    write_figure(drawing, target)


def _rewrite_scores(source: Path, target: Path, *, options: Convert) -> None:
    problem = read_scores(source)
    write_scores(replace(problem, **constraints(options, problem.names)), target)


def _sparse_problem(options: Convert, client: Any) -> Problem:
    """Score parent sets among few variables each, block by block."""
    if options.ess == "auto" or options.scoring_time is not None:
        raise OptionError(
            "--candidate-parents: rows are counted block by block, without --ess auto and "
            "--scoring-time; leave them out"
        )
    blocks = blocks_of(options.source, options).with_states(client)
    names = blocks.variables or ()
    required, forbidden = single_arcs(names, **constraints(options, names))
    return sparse_candidates(
        blocks,
        score_of(options),
        candidate_parents=options.candidate_parents or 1,
        max_parents=options.most_parents_among(len(names)),
        required=required,
        forbidden=forbidden,
        time_limit=options.time_limit,
        cluster=client,
    )


def _table_writers(options: Convert, output: Output) -> dict[str, Writer]:
    def write_score_file(source: Path, target: Path) -> Problem:
        with clusters.running(options.cluster) as client:
            if options.candidate_parents is not None:
                problem = _sparse_problem(options, client)
            else:
                data = load_merged(options.source, options, client)
                chosen, _ = with_chosen_ess(data, options, output.note)
                problem = learning_problem(data, chosen, client)
        write_scores(problem, target)
        return problem

    def write_table(source: Path, target: Path) -> None:
        write_dataset(load(source, options), target)

    # '.parquet' after a table is a table.
    return {
        **dict.fromkeys((*written_suffixes(SCORES), *PROGRAMS), write_score_file),
        **dict.fromkeys(TABLES, write_table),
    }
