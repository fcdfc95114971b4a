"""``exactlearn augment``: network and completion of incomplete data, learned together."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import OnEvent, SearchControl
from exactlearn.augmentation import augment
from exactlearn.augmentation.local_search.coordinate_ascent import cell_losses
from exactlearn.augmentation.result import Augmentation
from exactlearn.bayesnet.em import fit_em
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.bayesnet.row_completion import posterior_cells
from exactlearn.commands.declarations import Augment
from exactlearn.commands.learned import (
    Artifacts,
    Learned,
    concluded,
    require_table_names,
    run_search,
    writable,
)
from exactlearn.commands.output import Answer, Output, worst
from exactlearn.commands.pipeline import (
    directions,
    incomplete_options,
    load,
    load_truth,
    score_of,
    with_chosen_ess,
)
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError, TooLargeError
from exactlearn.evaluation.metrics import imputation_accuracy
from exactlearn.graphs.dag import named_parents
from exactlearn.reporting.records import completion_record, learning_record, size_in_words
from exactlearn.scoring.scores import Score

if TYPE_CHECKING:
    from exactlearn.augmentation.ranking import Ranking


def run(options: Augment, output: Output) -> Answer:
    """Run the command."""
    writable(output, with_data=True, completes=True)
    data = load(options.source, options)
    truth = None if options.truth is None else load_truth(options.truth, options)
    require_table_names(output, data)
    output.detail(size_in_words(data))
    _note_few_cells(output, data, options)
    options, more = with_chosen_ess(data, options, output.note)
    certainty: dict[str, Any] = {}

    def artifacts(learned: Learned) -> Artifacts:
        assert learned.parents is not None
        known = directions(options, data.names)
        record = {**learning_record(data.names, learned, known), **more}
        record["completion"] = completion_record(data, learned.values, **certainty)
        if truth is not None:
            record["imputation_accuracy"] = imputation_accuracy(data, learned.values, truth)
        completed = data.complete(learned.values)
        return Artifacts(data.names, learned.parents, record, completed, options.smoothing)

    control = SearchControl(options.time_limit)
    with output.progress_display(options.method) as display:
        learn = partial(
            augment,
            data,
            method=options.method,
            cluster=options.cluster,
            checkpoint=options.checkpoint,
            **incomplete_options(data, options),
        )
        result = run_search(output, display, lambda tell: learn(on_event=tell), artifacts)
    if result.unproven is not None:
        more["unproven"] = asdict(result.unproven)
    if result.parents is not None and result.status != "interrupted":
        fitted = partial(_fitted, data, result.parents, options, control)
        with output.progress_display("posteriors of the cells"):
            certainty = cell_certainty(
                data, score_of(options), result.parents, result.values, fitted, output
            )
        more |= MEANINGS if certainty else {}
        if options.best is not None:
            with output.progress_display("the best solutions") as display:
                more |= _best_solutions(
                    options, options.best, data, result, control.remaining, display
                )
    return concluded(
        output,
        data.names,
        result,
        artifacts,
        ended=worst(result.status, str(more.get("best_status"))),
    )


LATE = 1.0
"""Seconds after the time limit in which EM may still end."""


def _fitted(
    data: Dataset, parents: Sequence[Sequence[int]], options: Augment, control: SearchControl
) -> BayesianNetwork | None:
    """Return the network with parameters by EM, unless there is no time for that."""
    limit = None if control.remaining is None else control.left + LATE
    fit = fit_em(data, parents, smoothing=options.smoothing, time_limit=limit)
    return fit.model if fit.is_complete else None


MEANINGS = {
    "loss_of_next_best": "score of the completed table; the network and all other cells stay",
    "posterior": "given the row's observed cells, under the network with parameters by EM",
}
"""What the figures of completed cells are, for the record."""


def cell_certainty(
    data: Dataset,
    score: Score,
    parents: Sequence[Sequence[int]],
    values: NDArray[np.int64],
    network: Callable[[], BayesianNetwork | None],
    output: Output,
) -> dict[str, Any]:
    """Return how certain completed cells are, as keywords of :func:`completion_record`.

    What is too large, or not done in time, is left out with a note.
    """
    found: dict[str, Any] = {}
    if data.is_complete:
        return found
    try:
        found["losses"] = cell_losses(data, score, parents, values)
        model = network()
        if model is None:
            output.note("No posterior of the completed cells: EM was not done in time")
        else:
            found["probabilities"] = posterior_cells(model, data)
    except (TooLargeError, DataError) as error:
        what = "posterior" if "losses" in found else "loss or posterior"
        output.note(f"No {what} of the completed cells: {error}")
    return found


def _note_few_cells(output: Output, data: Dataset, search: Augment) -> None:
    """Note where there is less to complete than the options say."""
    cells = len(data.missing_cells)
    if not cells:
        output.note("No cell is missing: what is learned is the best network of the table")
    elif search.method == "t-local" and search.t > cells:
        output.note(
            f"--t {search.t}: only {cells} cells are missing, so that all completions are searched"
        )


def _best_solutions(
    wanted: Augment,
    k: int,
    data: Dataset,
    found: Augmentation,
    time_limit: float | None,
    on_event: OnEvent,
) -> dict[str, Any]:
    """List the best solutions in the time that is left; return what this adds to the record."""
    from exactlearn.augmentation.ranking import best_solutions

    options = incomplete_options(data, wanted)
    del options["starts"], options["t"]
    options["time_limit"] = time_limit
    best = found if found.status == "optimal" else None
    ranking = best_solutions(data, k=k, best=best, on_event=on_event, **options)
    return {"best": _ranking_record(data, ranking), "best_status": ranking.status}


def _ranking_record(data: Dataset, ranking: "Ranking") -> list[dict[str, Any]]:
    """Return the solutions, and where their completions differ from that of the first."""
    if not ranking.solutions:
        return []
    best = ranking.solutions[0]
    return [
        {
            "score": pair.score,
            "loss": best.score - pair.score,
            "parents": named_parents(data.names, pair.parents),
            "differs": [
                cell
                for cell, same in zip(
                    completion_record(data, pair.values.tolist()),
                    pair.values == best.values,
                    strict=True,
                )
                if not same
            ],
        }
        for pair in ranking.solutions
    ]
