"""``exactlearn posterior``: the probabilities of arcs and networks, summed over all networks."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from exactlearn._runtime.control import SearchControl
from exactlearn._runtime.files import atomic_write, suffix_of
from exactlearn.commands import pipeline
from exactlearn.commands.declarations import Posterior
from exactlearn.commands.output import (
    Answer,
    Output,
    is_folder,
    require_suffix,
    write_json,
)
from exactlearn.commands.tables import load, place
from exactlearn.formats.scores import is_score_file
from exactlearn.reporting.drawing import averaged_drawing
from exactlearn.reporting.svg_picture import FIGURES, write_figure
from exactlearn.structure.completion_posterior import counts_for
from exactlearn.structure.posterior import (
    posterior_of_listed,
    posterior_of_scoring,
)
from exactlearn.structure.structure_posterior import StructurePosterior

MAX_SHOWN = 20
"""Most arcs, and values of cells, that are shown."""


def run(options: Posterior, output: Output) -> Answer:
    """Run the command."""
    if output.path is not None and not is_folder(output.path):
        require_suffix(output.path, (".json", ".csv", *FIGURES))
    path = place(options.source)
    control = SearchControl(options.time_limit)
    with output.progress_display(f"reading {path.name}") as display:

        def on_progress(done: float) -> None:
            display.show(f"{done:.0%} done")

        # Scores may come from a file, else they are computed from the table.
        prior = pipeline.prior_of(options.prior)
        if is_score_file(path):
            problem = pipeline.problem(path, options)
            posterior = posterior_of_listed(
                problem, prior, control, on_progress, **options.chosen("method seed")
            )
        else:
            scoring = pipeline.scoring(
                load(options.source, options),
                options,
                counts=counts_for(options.counts),
                prior=prior,
            )
            scoring = pipeline.with_declared_score(scoring, options, output)
            display.stage("summing over all networks")
            posterior = posterior_of_scoring(
                scoring,
                control,
                on_progress,
                options.counts,
                **options.chosen("method seed"),
            )
    record = posterior.to_dict()
    # Networks are drawn on request alone.
    samples = posterior.sample(options.samples, options.seed) if options.samples else []
    if samples:
        record["samples"] = [list(map(list, graph.arcs)) for graph in samples]
    remarks = [
        "Probabilities are those of the score's model and the prior, without hidden causes"
    ]
    if posterior.unlisted:
        remarks.append(pipeline.of_listed(posterior))
    writers = []
    if output.path is not None:
        writers.append(partial(_write, posterior, record, output))
    return Answer(
        record=record,
        status="interrupted" if posterior.status == "interrupted" else "done",
        shown=_shown(posterior, record),
        writers=writers,
        remarks=remarks,
    )


def _shown(posterior: StructurePosterior, record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of the record that people are shown: the most probable arcs."""
    hidden = {"edges", "ancestors", "samples", "parents", "unlisted"}
    facts = {key: value for key, value in record.items() if key not in hidden}
    arcs = posterior.to_frame().head(MAX_SHOWN)
    shown = {**facts, "arcs": arcs.to_dict("records")}
    if "cells" in shown:
        shown["cells"] = shown["cells"][:MAX_SHOWN]
    return shown


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
