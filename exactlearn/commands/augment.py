"""``exactlearn augment``: network and completion of incomplete data, learned together."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from exactlearn._runtime.control import SearchControl
from exactlearn.augmentation import augment
from exactlearn.augmentation.local_search.coordinate_ascent import cell_losses
from exactlearn.augmentation.ranking import Ranking, best_solutions
from exactlearn.augmentation.result import Augmentation
from exactlearn.bayesnet.complete_data import fit_complete
from exactlearn.bayesnet.em import fit_em
from exactlearn.bayesnet.row_completion import posterior_cells
from exactlearn.commands.declarations import Augment
from exactlearn.commands.learned import (
    Artifacts,
    Learned,
    concluded,
    keeping,
    require_table_names,
    writable,
)
from exactlearn.commands.output import Answer, Output, worst
from exactlearn.commands.pipeline import (
    directions,
    incomplete_options,
    score_of,
    with_chosen_ess,
)
from exactlearn.commands.tables import load
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError, TooLargeError
from exactlearn.evaluation.metrics import JudgedCells
from exactlearn.graphs.dag import named_parents
from exactlearn.reporting.records import completion_record, learning_record, size_in_words

LATE = 1.0
"""Seconds after the time limit in which EM may still end."""


def run(options: Augment, output: Output) -> Answer:
    """Run the command."""
    writable(output, with_data=True, completes=True)
    data, truth = load(options.source, options), None
    if options.truth is not None:
        truth = load(options.truth, replace(options, states={}))
    require_table_names(output, data)
    output.detail(size_in_words(data))
    _note_few_cells(output, data, options)
    options, chosen = with_chosen_ess(data, options, output.note)
    how = incomplete_options(data, options)

    def artifacts(
        learned: Learned, certainty: Mapping[str, Any] | None = None, **more: Any
    ) -> Artifacts:
        assert learned.parents is not None
        known = directions(options, data.names)
        record = {**learning_record(data.names, learned, known), **chosen, **more}
        record["completion"] = completion_record(data, learned.values, **(certainty or {}))
        if truth is not None:
            record["imputation_accuracy"] = JudgedCells.of(data, learned.values, truth).accuracy
        completed = data.complete(learned.values)
        network = partial(fit_complete, completed, learned.parents, smoothing=options.smoothing)
        return Artifacts(data.names, learned.parents, record, network, [completed])

    control = SearchControl(options.time_limit)
    with output.progress_display(options.method) as display:
        alike = {name: getattr(options, name) for name in ("method", "cluster", "checkpoint")}
        result = augment(data, on_event=keeping(display, artifacts), **alike, **how)
    certainty, more, ended = dict[str, Any](), dict[str, Any](), str(result.status)
    if result.unproven is not None:
        more["unproven"] = asdict(result.unproven)
    if result.parents is not None and ended != "interrupted":
        with output.progress_display("posteriors of the cells"):
            certainty = _certainty(data, result, options, control, output)
        more |= MEANINGS if certainty else {}
        if options.best is not None:
            del how["starts"], how["t"]
            how |= {"k": options.best, "time_limit": control.remaining}
            with output.progress_display("the best solutions") as display:
                best = result if ended == "optimal" else None
                ranking = best_solutions(data, best=best, on_event=display, **how)
            more |= {"best": _ranking_record(data, ranking), "best_status": ranking.status}
            ended = worst(ended, ranking.status)
    return concluded(
        output, data.names, result, partial(artifacts, certainty=certainty, **more), ended=ended
    )


MEANINGS = {
    "loss_of_next_best": "score of the completed table; the network and all other cells stay",
    "posterior": "given the row's observed cells, under the network with parameters by EM",
}
"""What the figures of completed cells are, for the record."""


def _certainty(
    data: Dataset, found: Augmentation, options: Augment, control: SearchControl, output: Output
) -> dict[str, Any]:
    """Return how certain completed cells are, as keywords of :func:`completion_record`.

    What is too large, or not done in time, is left out with a note.
    """
    certainty: dict[str, Any] = {}
    if data.is_complete:
        return certainty
    assert found.parents is not None
    try:
        certainty["losses"] = cell_losses(data, score_of(options), found.parents, found.values)
        limit = None if control.remaining is None else control.left + LATE
        fit = fit_em(data, found.parents, smoothing=options.smoothing, time_limit=limit)
        if fit.is_complete:
            certainty["probabilities"] = posterior_cells(fit.model, data)
        else:
            output.note("No posterior of the completed cells: EM was not done in time")
    except (TooLargeError, DataError) as error:
        what = "posterior" if certainty else "loss or posterior"
        output.note(f"No {what} of the completed cells: {error}")
    return certainty


def _note_few_cells(output: Output, data: Dataset, search: Augment) -> None:
    """Note where there is less to complete than the options say."""
    cells = len(data.missing_cells)
    if not cells:
        output.note("No cell is missing: what is learned is the best network of the table")
    elif search.method == "t-local" and search.t > cells:
        output.note(
            f"--t {search.t}: only {cells} cells are missing, so that all completions are searched"
        )


def _ranking_record(data: Dataset, ranking: Ranking) -> list[dict[str, Any]]:
    """Return the solutions, and where their completions differ from that of the first."""
    rows = []
    for pair in ranking.solutions:
        best = ranking.solutions[0]
        cells = completion_record(data, pair.values.tolist())
        rows.append(
            {
                "score": pair.score,
                "loss": best.score - pair.score,
                "parents": named_parents(data.names, pair.parents),
                "differs": [cells[k] for k in (pair.values != best.values).nonzero()[0]],
            }
        )
    return rows
