"""A search: its progress displayed, its incumbents written, its answer and its exit status."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from exactlearn._runtime.control import Event, OnEvent
from exactlearn.commands.answer import Answer
from exactlearn.commands.artifacts import (
    Artifacts,
    Learned,
    write_artifacts,
    write_figures,
    write_incumbent,
)
from exactlearn.commands.output import Output, is_folder
from exactlearn.commands.progress import Checkpoint, ProgressDisplay
from exactlearn.errors import ExactlearnError, InfeasibleError
from exactlearn.reporting.records import learning_record
from exactlearn.solvers.result import Result

L = TypeVar("L", bound=Learned)


def run_search(
    output: Output,
    task: str,
    learn: Callable[[OnEvent], L],
    artifacts: Callable[[Learned], Artifacts],
) -> L:
    """Learn while showing the progress and writing each incumbent.

    Parameters
    ----------
    output
        Where to.
    task
        What is going on, in a word.
    learn
        Learns, and reports events.
    artifacts
        What is written of a selection.
    """
    with output.progress_display(task) as display:
        return run_shown_search(output, display, learn, artifacts)


def run_shown_search(
    output: Output,
    display: ProgressDisplay,
    learn: Callable[[OnEvent], L],
    artifacts: Callable[[Learned], Artifacts],
) -> L:
    """Learn as :func:`run_search`, under a display that has begun."""
    checkpoint, path = Checkpoint(display.warn), output.path

    def on_event(event: Event) -> None:
        if path is not None and event.parents is not None:
            found = _so_far(event)
            checkpoint.keep(event.score, lambda: write_incumbent(artifacts(found), path))
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
    record = learning_record(names, learned)
    writing = list(also)
    if learned.parents is None:
        output.note("No network was found.")
    else:
        found = artifacts(learned)
        record = dict(found.record)
        if output.path is not None:
            writing.append(lambda: _write_all(found, output))
    failures = _failures(writing)
    return Answer(
        record=record,
        status=ended or learned.status,
        remarks=remarks(learned, output),
        failure=failures[0] if failures else None,
    )


def _write_all(found: Artifacts, output: Output) -> None:
    assert output.path is not None
    write_artifacts(found, output)
    if is_folder(output.path):
        write_figures(found.drawing, [output.path / "network.svg"], output)
        output.wrote(output.path)


def _failures(steps: Sequence[Callable[[], None]]) -> list[Exception]:
    """Take every step, and return what went wrong with files and folders."""
    failures: list[Exception] = []
    for step in steps:
        try:
            step()
        except (ExactlearnError, OSError) as error:
            failures.append(error)
    return failures


def remarks(learned: Learned, output: Output) -> list[str]:
    """Return what the method says: always when it did not prove what it is for, else with -v."""
    proven = learned.status in ("optimal", "t-local")
    return [learned.message] * bool(learned.message and (output.verbose or not proven))


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
