"""A search told while it runs, its incumbents written, and its end: answer and exit status."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import click

from exactlearn.commands.findings import Findings, write_figures, write_findings, write_incumbent
from exactlearn.commands.output import Output, is_folder
from exactlearn.drawing import network_drawing
from exactlearn.errors import ExitStatus, InfeasibleError
from exactlearn.progress import Incumbent, Narration
from exactlearn.report import Learned, learning_record, learning_tables
from exactlearn.solvers.result import Event, OnEvent, Result

L = TypeVar("L", bound=Learned)


def searched(
    output: Output,
    task: str,
    learn: Callable[[OnEvent], L],
    findings: Callable[[Learned], Findings],
) -> L:
    """Learn while telling the progress and writing each incumbent.

    Parameters
    ----------
    output
        Where to.
    task
        What is going on, in a word.
    learn
        Learns, and reports events.
    findings
        What is written of a selection.
    """

    def write(event: Event) -> None:
        assert output.path is not None
        write_incumbent(findings(_so_far(event)), output.path)

    incumbent = Incumbent(write) if output.path is not None else None
    with Narration(task, quiet=output.quiet, verbose=output.verbose) as narration:

        def on_event(event: Event) -> None:
            if incumbent is not None:
                incumbent(event)
            narration(event)

        return learn(on_event)


def conclude(
    output: Output,
    names: Sequence[str],
    learned: Learned,
    findings: Callable[[Learned], Findings],
    *,
    completed: bool,
    tables: Callable[[Mapping[str, Any]], list[Any]] = learning_tables,
) -> None:
    """Write and print what was learned, and end with its exit status.

    Raises
    ------
    InfeasibleError
        When no network satisfies the constraints.
    """
    if learned.status == "infeasible":
        raise InfeasibleError(learned.message)
    record = learning_record(names, learned)
    if learned.parents is None:
        output.note("No network was found.")
    else:
        found = findings(learned)
        record = dict(found.record)
        if output.path is not None:
            write_findings(found, output, completed=completed)
            if is_folder(output.path):
                drawing = network_drawing(found.names, found.parents)
                write_figures(drawing, [output.path / "network.svg"], output)
                output.wrote(output.path)
    output.answer(record, *tables(record))
    tell_message(learned, output)
    leave(learned.status)


def tell_message(learned: Learned, output: Output) -> None:
    """Tell what the method says: always when it did not prove what it is for, else with -v."""
    if learned.message:
        proven = learned.status in ("optimal", "t-local")
        (output.detail if proven else output.note)(learned.message)


def leave(status: str) -> None:
    """End the command with the exit status of a search."""
    click.get_current_context().exit(_EXIT_STATUS.get(status, ExitStatus.DONE))


_EXIT_STATUS = {
    "feasible": ExitStatus.LIMITED,
    "infeasible": ExitStatus.INFEASIBLE,
    "interrupted": ExitStatus.INTERRUPTED,
}


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
