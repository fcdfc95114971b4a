"""A search: its progress displayed, its incumbents written, its answer and its exit status."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from exactlearn._runtime.control import Event, OnEvent
from exactlearn.commands.answer import Answer
from exactlearn.commands.artifacts import Artifacts, Learned, write_trace
from exactlearn.commands.output import Output
from exactlearn.commands.progress import Checkpoint, ProgressDisplay
from exactlearn.errors import ExactlearnError, InfeasibleError
from exactlearn.reporting.records import learning_record
from exactlearn.solvers.result import Result

L = TypeVar("L", bound=Learned)


def run_search(
    output: Output,
    display: ProgressDisplay,
    learn: Callable[[OnEvent], L],
    artifacts: Callable[[Learned], Artifacts],
) -> L:
    """Learn while showing the progress and writing each incumbent.

    Parameters
    ----------
    output, display
        Where to.
    learn
        Learns, and reports events.
    artifacts
        What is written of a selection.
    """
    checkpoint, path = Checkpoint(display.warn), output.path

    def on_event(event: Event) -> None:
        if path is not None and event.parents is not None:
            found = _so_far(event)
            checkpoint.keep(event.score, lambda: artifacts(found).write_incumbent(path))
        display(event)

    return learn(on_event)


def concluded(
    output: Output,
    names: Sequence[str],
    learned: Learned,
    artifacts: Callable[[Learned], Artifacts],
    *,
    also: Sequence[Callable[[], None]] = (),
    ended: str | None = None,
) -> Answer:
    """Write what was learned; return the answer, also where something could not be written.

    Parameters
    ----------
    output
        Where to.
    names
        Variable names.
    learned
        The answer.
    artifacts
        What is written of it.
    also
        Further files to write.
    ended
        How the whole command ended, where that is more than the one answer.

    Raises
    ------
    InfeasibleError
        When no network satisfies the constraints.
    """
    if learned.status == "infeasible":
        raise InfeasibleError(learned.message)
    record, writing, folder = learning_record(names, learned), list(also), output.folder
    if folder is not None:
        writing.append(lambda: write_trace(learned, folder))
    if learned.parents is None:
        output.note("No network was found.")
    else:
        found = artifacts(learned)
        record = dict(found.record)
        if output.path is not None:
            writing.append(lambda: found.write(output))
    failures: list[Exception] = []
    for write in writing:
        try:
            write()
        except (ExactlearnError, OSError) as error:
            failures.append(error)
    is_proven = learned.status in ("optimal", "t-local")
    is_told = learned.message and (output.verbose or not is_proven)
    return Answer(
        record=record,
        status=ended or learned.status,
        remarks=[learned.message] if is_told else [],
        failure=failures[0] if failures else None,
    )


def _so_far(event: Event) -> Result:
    """Return an event as the result it would be if the search ended now."""
    return Result(
        parents=event.parents,
        score=event.score,
        bound=event.bound,
        status="feasible",
        solver="",
        seconds=event.seconds,
        nodes=event.nodes,
        values=event.values,
    )
