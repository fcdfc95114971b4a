"""``exactlearn run``: the declared pipeline, from a table with missing cells to answers."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from exactlearn._runtime.control import OnEvent
from exactlearn._runtime.files import atomic_write
from exactlearn.bayesnet.complete_data import fit_complete
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.commands import declarations
from exactlearn.commands.answer import ENDS, Answer
from exactlearn.commands.artifacts import (
    Artifacts,
    require_table_names,
    traced,
    write_artifacts,
    write_figures,
)
from exactlearn.commands.augment import MEANINGS, cell_certainty
from exactlearn.commands.declarations import Augment
from exactlearn.commands.declare import About
from exactlearn.commands.em_runs import em_record, fitted_network, refined
from exactlearn.commands.output import Output, write_json
from exactlearn.commands.pipeline import (
    directions,
    learn_incomplete,
    load,
    load_test,
    load_truth,
    score_of,
    scored_problem,
    with_chosen_ess,
)
from exactlearn.commands.progress import Checkpoint
from exactlearn.commands.provenance import current
from exactlearn.commands.report import write_page
from exactlearn.commands.runs import Queries, Run, read_runs
from exactlearn.commands.search import remarks, run_search
from exactlearn.commands.steps import taken, with_files
from exactlearn.data.dataset import Dataset
from exactlearn.data.labels import state_index, variable_index
from exactlearn.errors import ExitStatus, InfeasibleError, OptionError
from exactlearn.evaluation.metrics import imputation_accuracy
from exactlearn.formats.models import write_model
from exactlearn.instances import locate
from exactlearn.pdg.compile.compile import Compilation, compile_and_check
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.queries.posteriors import query
from exactlearn.reporting.drawing import decision_graph_drawing, network_drawing
from exactlearn.reporting.records import (
    compilation_record,
    completion_record,
    held_out_record,
    learning_record,
    size_in_words,
)
from exactlearn.reporting.trace import Learned
from exactlearn.structure.selection import select

RESULTS = Path("results")

Parents = tuple[tuple[int, ...], ...]
"""Parents of each variable."""


def run(options: declarations.Run, output: Output) -> Answer:
    """Run the command."""
    path = locate(options.source, ".toml")
    folder = output.path or RESULTS / path.stem
    runs = [(varied, _overridden(run, options)) for varied, run in read_runs(path)]
    if runs[0][0]:
        from exactlearn.commands.sweep import sweep  # which does runs by this module

        return sweep(runs, folder, options, output)
    if options.jobs > 1:
        raise OptionError("--jobs: the run file has no list of values to vary, so there is one run")
    run = runs[0][1]
    if made_by := current():
        made_by.seed = run.search.seed
    return do(run, path, replace(output, path=folder))


def do(run: Run, path: Path, output: Output) -> Answer:
    """Do a run of a file into the folder of the output; its tables are shown on the way."""
    assert output.path is not None
    folder, record = output.path, dict[str, Any]()
    if run.pipeline:
        record = _pipeline(run, path, folder, output)
        if not _is_whole(record):
            write_json(record, folder / "result.json")
            remark = f"The run ended early: the best so far lies in {folder}"
            status = record["status"]
            return Answer(record=record, status=status, remarks=[remark])
    else:
        store(run, folder)
    if run.steps:
        record["steps"] = []
    write_json(record, folder / "result.json")
    ended: list[int] = [ENDS.get(record.get("status", ""), ExitStatus.DONE)]
    steps = () if ExitStatus.INTERRUPTED in ended else run.steps
    for found, answer in taken(steps, folder, output):
        for remark in answer.remarks:
            output.note(remark)
        record["steps"].append(found)
        ended.append(answer.exit_status)
        write_json(record, folder / "result.json")
        if answer.exit_status == ExitStatus.INTERRUPTED:
            break
    write_page(folder, output)
    remark = f"Results lie in {folder.resolve()}"
    return Answer(record=record, exit_status=max(ended), remarks=[remark])


def _is_whole(record: Mapping[str, Any]) -> bool:
    """Return whether a pipeline came to its end."""
    return "queries" in record


def _pipeline(run: Run, path: Path, folder: Path, output: Output) -> dict[str, Any]:
    """Learn the network and the decision graph, and answer the queries; return the record."""
    data = load(run.data.file, run.data)
    truth = load_truth(run.data.truth, run.data) if run.data.truth else None
    test = load_test(run.data.test, run.data, data) if run.data.test else None
    for queries in run.queries:
        _check_names(queries, data)
    store(run, folder)
    require_table_names(output, data)
    output.note(run.title or f"Run {path}")
    output.note(size_in_words(data))
    parents, record, learning = _learn(run, data, truth, output)
    if record["status"] == "interrupted" or record["parents"] is None:
        return record
    network = _network(run, data, parents, record, output)
    _add_certainty(record, data, parents, learning, network, output)
    if record["status"] == "interrupted":
        return record
    graph = _decision_graph(run, network, data, test, record, output)
    write_model(graph, folder / "model.pdg.json")
    record["queries"] = [_answer(graph, queries) for queries in run.queries]
    _draw(run, network, graph, record, folder, output)
    return record


def _overridden(run: Run, options: declarations.Run) -> Run:
    chosen = {"seed": options.seed, "time_limit": options.time_limit, "cluster": options.cluster}
    given: dict[str, Any] = {name: value for name, value in chosen.items() if value is not None}

    def overridden(options: Any) -> Any:
        return replace(options, **{k: v for k, v in given.items() if hasattr(options, k)})

    steps = tuple(replace(step, options=overridden(step.options)) for step in run.steps)
    return replace(run, search=overridden(run.search), steps=steps, cluster=options.cluster)


def store(run: Run, folder: Path) -> None:
    """Make the folder of a run, and store the run in it with all that it reads."""
    if folder.exists() and not folder.is_dir():
        raise OptionError(f"--output {folder}: expected a folder, found a file")
    folder.mkdir(parents=True, exist_ok=True)
    atomic_write(folder / "run.toml", _with_files(run, folder).to_toml())


def _with_files(run: Run, folder: Path) -> Run:
    """Copy what is read into a folder; return the run that reads it there, wherever it is moved."""
    copies: dict[str, str] = {}
    places = {
        run.data.file: "data",
        run.data.truth: "truth",
        run.data.test: "test",
        run.search.constraints: "constraints",
    }

    def copied(name: str, about: About) -> str:
        if not about.reads or not Path(name).is_absolute():
            return name
        if name not in copies:
            copies[name] = _copied(name, folder, places.get(name, f"inputs/{len(copies)}"))
        return copies[name]

    data, search = with_files(run.data, copied), with_files(run.search, copied)
    steps = tuple(step.with_files(copied) for step in run.steps)
    return replace(run, data=data, search=search, steps=steps)


def _copied(file: str, folder: Path, into: str) -> str:
    """Copy a file into a part of the run's folder; return its path from there."""
    source, copy = Path(file), folder / into / Path(file).name
    if not source.is_file():  # a pipe, whose rows are gone
        return file
    copy.parent.mkdir(parents=True, exist_ok=True)
    with suppress(shutil.SameFileError):  # a stored run that is run again in its folder
        shutil.copyfile(source, copy)
    return f"{into}/{copy.name}"


def _check_names(queries: Queries, data: Dataset) -> None:
    """Refuse a query about unknown things before anything is computed."""
    index = {name: i for i, name in enumerate(data.names)}
    try:
        for name in queries.targets:
            variable_index(name, index)
        for name, state in queries.evidence.items():
            state_index(state, data.states[variable_index(name, index)], name)
    except OptionError as error:
        raise OptionError(f"queries: {error}") from None


def _learn(
    run: Run, data: Dataset, truth: Dataset | None, output: Output
) -> tuple[Parents, dict[str, Any], Augment]:
    """Learn the network, write it with the completed table; return DAG, record and options."""
    smoothing = run.network.smoothing
    learning, choice = with_chosen_ess(data, run.learning, output.note)

    def artifacts(learned: Learned) -> Artifacts:
        assert learned.parents is not None
        known = directions(run.learning, data.names)
        record = {**learning_record(data.names, learned, known), **choice}
        completed = data.complete(list(learned.values)) if not data.is_complete else data
        if not data.is_complete:
            record["completion"] = completion_record(data, learned.values)
        if truth is not None:
            record["imputation_accuracy"] = imputation_accuracy(data, learned.values, truth)
        return Artifacts(data.names, learned.parents, record, completed, None, smoothing)

    learned = _searched(learning, data, output, artifacts)
    if learned.status == "infeasible":
        raise InfeasibleError(learned.message)
    if learned.parents is None:
        output.note("No network was found within the limit.")
        return (), learning_record(data.names, learned), learning
    for remark in remarks(learned, output):
        output.note(remark)
    found = artifacts(learned)
    write_artifacts(found, output)
    result: Any = learned
    if getattr(result, "trace", False):  # not all methods have one
        for write in traced(result, output):
            write()
    return found.parents, dict(found.record), learning


def _add_certainty(
    record: dict[str, Any],
    data: Dataset,
    parents: Parents,
    learning: Augment,
    network: BayesianNetwork,
    output: Output,
) -> None:
    """Add to the record how certain completed cells are."""
    if data.is_complete:
        return
    cells = zip(data.missing_cells[:, 1].tolist(), record["completion"], strict=True)
    values = np.array([data.states[v].index(cell["value"]) for v, cell in cells])
    found = cell_certainty(data, score_of(learning), parents, values, lambda: network, output)
    record["completion"] = completion_record(data, values.tolist(), **found)
    record |= MEANINGS if found else {}


def _searched(learning: Augment, data: Dataset, output: Output, artifacts: Any) -> Learned:
    if data.is_complete:
        scored, left = scored_problem(data, learning, cluster=learning.cluster)

        def solve(on_event: OnEvent) -> Learned:
            how: dict[str, Any] = {"solver": left.solver, "seed": left.seed}
            return select(scored, time_limit=left.time_limit, on_event=on_event, **how)[0]

        return run_search(output, "solving", solve, artifacts)

    def augment(on_event: OnEvent) -> Learned:
        return learn_incomplete(data, learning, on_event)

    return run_search(output, learning.method, augment, artifacts)


def _network(
    run: Run, data: Dataset, parents: Parents, record: dict[str, Any], output: Output
) -> BayesianNetwork:
    """Fit the network's parameters to the table as it was read, write it, and record how."""
    assert output.path is not None
    path, smoothing = output.path / "network.bif", run.network.smoothing
    if data.is_complete:
        network = fit_complete(data, parents, smoothing=smoothing)
    else:
        result, ended = fitted_network(data, parents, output, path, smoothing=smoothing)
        if ended == "interrupted":
            record["status"] = ended
        record["network"], network = em_record(result), result.model
    write_model(network, path)
    return network


def _decision_graph(
    run: Run,
    network: BayesianNetwork,
    data: Dataset,
    test: Dataset | None,
    record: dict[str, Any],
    output: Output,
) -> DecisionGraph:
    """Compile and refine, and add both to the record, with the log-likelihood of held-out rows."""
    assert output.path is not None
    path, options = output.path / "model.pdg.json", run.decision_graph
    checkpoint = Checkpoint(output.note)

    def keep(size: int, compiled: Callable[[], Compilation]) -> None:
        checkpoint.keep(-size, lambda: write_model(compiled().graph, path))

    compiled = compile_and_check(network, on_graph=keep)
    if not compiled.finished:
        output.note("Interrupted: the decision graph is not refined")
        options = replace(options, iterations=0)
    record["decision_graph"] = compilation_record(compiled)
    result, ended = refined(compiled.graph, data, options, output, path)
    if ended == "interrupted" or not compiled.finished:
        record["status"] = "interrupted"
    record["refinement"] = em_record(result)
    if test is not None:
        # the compiled graph is the network, and knows what to do with missing cells
        models = {"network": compiled.graph, "decision_graph": result.model}
        record["held_out"] = {
            name: held_out_record(g.log_likelihood_rows(test), test) for name, g in models.items()
        }
    return result.model


def _answer(graph: DecisionGraph, queries: Queries) -> Mapping[str, Any]:
    answer = query(graph, queries.evidence, queries.targets or None)
    return {
        "evidence": dict(queries.evidence),
        "posterior": answer.posterior,
        "probability_of_evidence": answer.probability_of_evidence,
    }


def _draw(
    run: Run,
    network: BayesianNetwork,
    graph: DecisionGraph,
    record: Mapping[str, Any],
    folder: Path,
    output: Output,
) -> None:
    drawings = {
        "network": network_drawing(network.names, network.parents, record["reversible"]),
        "model": decision_graph_drawing(graph),
    }
    formats: Sequence[str] = run.figures.formats
    for name, drawing in drawings.items():
        write_figures(drawing, [folder / f"{name}.{suffix}" for suffix in formats], output)
