"""``exactlearn posterior``: the probabilities of arcs and networks, summed over all networks."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import exactlearn as el
from exactlearn._runtime.control import SearchControl
from exactlearn._runtime.files import atomic_write, suffix_of
from exactlearn.commands import pipeline
from exactlearn.commands.declarations import Posterior
from exactlearn.commands.declare import flags_of
from exactlearn.commands.output import (
    Answer,
    Output,
    is_folder,
    require_suffix,
    write_json,
)
from exactlearn.commands.sections import Criterion, Reading
from exactlearn.commands.tables import load, place
from exactlearn.errors import OptionError
from exactlearn.formats.scores import is_score_file
from exactlearn.reporting.drawing import averaged_drawing
from exactlearn.reporting.svg_picture import FIGURES, write_figure
from exactlearn.structure.ess_choice import with_named_score
from exactlearn.structure.posterior import (
    StructurePosterior,
    posterior_of_listed,
    posterior_of_scoring,
)
from exactlearn.structure.selection import Scoring

MAX_SHOWN = 20
"""Most arcs that are shown."""


def run(options: Posterior, output: Output) -> Answer:
    """Run the command."""
    if output.path is not None and not is_folder(output.path):
        require_suffix(output.path, (".json", ".csv", *FIGURES))
    path = place(options.source)
    control = SearchControl(options.time_limit)
    with output.progress_display(f"reading {path.name}") as display:

        def on_progress(done: float) -> None:
            display.show(f"{done:.0%} of the sums")

        # Scores may come from a file, else they are computed from the table.
        if is_score_file(path):
            problem = _problem(path, options)
            posterior = posterior_of_listed(
                problem, pipeline.prior_of(options.prior), control, on_progress
            )
        else:
            scoring = _scoring(options, output)
            display.stage("summing over all networks")
            posterior = posterior_of_scoring(scoring, control, on_progress)
    record = posterior.to_dict()
    # Networks are drawn on request alone.
    samples = posterior.sample(options.samples, options.seed) if options.samples else []
    if samples:
        record["samples"] = [list(map(list, graph.arcs)) for graph in samples]
    remarks = [
        "Probabilities are those of the score's model and the prior, without hidden causes"
    ]
    if posterior.unlisted:
        remarks.append(
            f"{posterior.unlisted} parent sets are not in the file, and count as impossible:"
            " 'exactlearn convert TABLE --unpruned -o scores.jkl' keeps all"
        )
    writers = []
    if output.path is not None:
        writers.append(partial(_write, posterior, record, output))
    return Answer(
        record=record,
        shown=_shown(posterior, record),
        writers=writers,
        remarks=remarks,
    )


def _scoring(options: Posterior, output: Output) -> Scoring:
    """Return the scoring of the parent sets of a table."""
    dataset = load(options.source, options)
    scoring = Scoring(
        dataset=dataset,
        score=el.BDeu(),
        max_parents=options.most_parents,
        prior=pipeline.prior_of(options.prior),
        counts=options.counts,
        **options.chosen("scoring_time seed"),
        **pipeline.constraints(options, dataset.names),
    )
    # The score needs the table where its sample size is to be chosen.
    scoring, choice = with_named_score(
        scoring,
        options.criterion,
        **options.chosen("ess size_weight time_limit"),
    )
    if choice is not None:
        output.note(choice.reason)
    return scoring


def _problem(path: Path, options: Posterior) -> el.Problem:
    """Return the problem of a file of local scores."""
    # Options of a table would be ignored: they are refused.
    given = [
        name
        for name in (*Reading.known(), *Criterion.known(), "counts")
        if options.is_given(name)
    ]
    if given:
        flag = flags_of(options.known()[given[0]])[0]
        raise OptionError(f"{flag} is for a table, but scores were given; leave it out")
    problem = el.read_scores(path)
    return replace(problem, **pipeline.constraints(options, problem.names))


def _shown(posterior: StructurePosterior, record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of the record that people are shown: the most probable arcs."""
    hidden = {"edges", "ancestors", "samples", "parents"}
    facts = {key: value for key, value in record.items() if key not in hidden}
    arcs = posterior.to_frame().head(MAX_SHOWN)
    return {**facts, "arcs": arcs.to_dict("records")}


def _write(
    posterior: StructurePosterior, record: Mapping[str, Any], output: Output
) -> None:
    """Write the file of the output's suffix; into a folder, all of them."""
    path = output.path
    assert path is not None
    drawing = averaged_drawing(posterior.averaged(), posterior.edges)
    arcs = posterior.to_frame().to_csv(index=False)
    files: dict[str, Callable[[Path], object]] = {
        "result.json": partial(write_json, record),
        "arcs.csv": lambda file: atomic_write(file, arcs),
        "posterior.svg": partial(write_figure, drawing),
    }
    if is_folder(path):
        path.mkdir(parents=True, exist_ok=True)
        for name, write in files.items():
            write(path / name)
    else:
        # A single file holds the artifact whose suffix it has.
        by_suffix = {suffix_of(Path(name)): write for name, write in files.items()}
        by_suffix[suffix_of(path)](path)
    output.wrote(path)
