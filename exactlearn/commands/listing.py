"""Options of ``solve`` for more than one answer: the best networks or classes, and their arcs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import click

from exactlearn.commands.options import option_group
from exactlearn.commands.output import Output, is_folder, require_records
from exactlearn.commands.runs import Search
from exactlearn.errors import MissingExtraError, OptionError
from exactlearn.graphs.equivalence import pattern
from exactlearn.reporting.arc_support import arc_support, support_record, write_support
from exactlearn.reporting.report import facts, learning_tables, named_parents, number, plain_table
from exactlearn.solvers import Problem
from exactlearn.solvers.enumeration.networks import (
    Enumeration,
    enumerate_classes,
    enumerate_networks,
)
from exactlearn.solvers.result import OnEvent

F = TypeVar("F", bound=Any)

SHOWN_NETWORKS, SHOWN_ARCS = 20, 30
"""Most networks and arcs that the printed tables show."""


@dataclass(frozen=True, kw_only=True)
class Listing:
    """Which networks are listed.

    Parameters
    ----------
    best, best_classes
        How many networks, or equivalence classes.
    within
        Factor of the best one's probability within which all are listed.
    support
        File for the support of the arcs.
    """

    best: int | None = None
    best_classes: int | None = None
    within: float | None = None
    support: Path | None = None

    def __post_init__(self) -> None:
        """Refuse what contradicts itself, or cannot be written."""
        if self.best is not None and self.best_classes is not None:
            raise OptionError("--best and --best-classes exclude each other; give one of them")
        require_records(self.support, "--support")
        if self.support is not None and not self.wanted:
            raise OptionError(
                "--support tells how many of several networks have an arc: say which with "
                "--best K, --best-classes K or --within FACTOR"
            )

    @property
    def wanted(self) -> bool:
        """Whether more than the best network is asked for."""
        return not self.best is self.best_classes is self.within is None

    def enumerate(
        self, problem: Problem, search: Search, on_event: OnEvent, **more: Any
    ) -> Enumeration:
        """List the networks, or classes.

        Raises
        ------
        OptionError
            When the solver or another option does not go with a list.
        """
        for option in ("gap", "certify"):
            if more.pop(option, None):
                told = {"gap": "--gap", "certify": "--certificate"}[option]
                raise OptionError(f"{told} is for one network only: leave it out, or the list")
        classes = self.best_classes is not None
        return (enumerate_classes if classes else enumerate_networks)(
            problem,
            k=self.best_classes if classes else self.best,
            factor=self.within,
            solver=search.solver,
            time_limit=search.time_limit,
            seed=search.seed,
            on_event=on_event,
            **more,
        )

    def record(self, problem: Problem, found: Enumeration, *, from_data: bool) -> dict[str, Any]:
        """Return what a record says of the list, beyond the best network."""
        names, listed = problem.names, found.networks
        networks = []
        for network in listed:
            entry = {"score": network.score, "parents": named_parents(names, network.parents)}
            if self.best_classes is not None:
                entry |= _class_record(names, network.parents)
            networks.append(entry)
        return {
            "networks": networks,
            "complete": found.complete,
            "next_bound": found.bound,
            "ties": found.ties,
            "candidates": _TOLD[from_data],
            "support": support_record(names, arc_support(listed)),
        }

    def tables(self, record: Mapping[str, Any]) -> list[Any]:
        """Return the tables of a record for people."""
        if "networks" not in record:
            return learning_tables(record)
        networks, arcs = record["networks"], record["support"]
        what = "classes" if self.best_classes is not None else "networks"
        best = networks[0]["score"]
        rows = [
            (
                str(rank),
                number(network["score"]),
                number(network["score"] - best),
                str(sum(map(len, network["parents"].values()))),
                *([str(network["size"])] if "size" in network else []),
            )
            for rank, network in enumerate(networks[:SHOWN_NETWORKS], 1)
        ]
        head = ("rank", "score", "difference", "arcs", *(["members"] * (what == "classes")))
        shown = [
            (arc["parent"], arc["child"], *(f"{arc[key]:.3f}" for key in _SHARES))
            for arc in arcs[:SHOWN_ARCS]
        ]
        found: list[Any] = [
            *learning_tables(record),
            "",
            facts(
                **{what: f"{len(networks)}{'' if record['complete'] else ' (not all: a limit)'}"},
                ties=str(record["ties"]),
                no_other_above=number(record["next_bound"]),
                over=record["candidates"],
            ),
            plain_table(head, rows, right=head),
        ]
        if len(networks) > SHOWN_NETWORKS:
            found.append(f"... and {len(networks) - SHOWN_NETWORKS} more; -o or --json has all")
        found += ["", plain_table(("parent", "child", *_SHARES), shown, right=_SHARES)]
        if len(arcs) > SHOWN_ARCS:
            found.append(f"... and {len(arcs) - SHOWN_ARCS} more arcs; --support FILE has all")
        return found

    def writers(
        self, problem: Problem, found: Enumeration, output: Output
    ) -> list[Callable[[], None]]:
        """Return what writes the support of the arcs, where it is wanted."""
        records = support_record(problem.names, arc_support(found.networks))
        steps: list[Callable[[], None]] = []
        if self.support is not None:
            steps.append(partial(_write, records, problem.names, self.support, output))
        if output.path is not None and is_folder(output.path):
            steps.append(partial(_write_in, records, problem.names, output.path, output))
        return steps


def listing_options(command: F) -> F:
    """Add what asks for several networks; hands over ``listing``, a :class:`Listing`."""

    def build(
        best: int | None, best_classes: int | None, within: float | None, support: Path | None
    ) -> Listing:
        return Listing(best=best, best_classes=best_classes, within=within, support=support)

    return option_group(
        command,
        "listing",
        build,
        click.option(
            "--best", type=click.IntRange(1), metavar="K", help="List the K best networks."
        ),
        click.option(
            "--best-classes",
            type=click.IntRange(1),
            metavar="K",
            help="List the K best Markov equivalence classes.",
        ),
        click.option(
            "--within",
            type=click.FloatRange(1),
            metavar="FACTOR",
            help="List all networks whose probability is at least the best one's divided by this; "
            "1 lists those that tie.",
        ),
        click.option(
            "--support",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="Write in how many of the listed networks each arc is (.csv, .json), or draw it "
            "(.svg, .png, .pdf).",
        ),
    )


_SHARES = ("support", "weight", "adjacency_support", "adjacency_weight")

_TOLD = {
    True: "all parent sets of the allowed sizes",
    False: "the candidates of the file: if it leaves out dominated ones, so does the list",
}


def _class_record(names: Sequence[str], parents: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Return the completed pattern of a network's class, and how many networks are in it."""
    found = pattern(parents)
    return {
        "directed": [[names[a], names[b]] for a, b in sorted(found.directed)],
        "undirected": [[names[a], names[b]] for a, b in sorted(found.undirected)],
        "size": found.size,
    }


def _write(
    records: Sequence[Mapping[str, Any]], names: Sequence[str], path: Path, output: Output
) -> None:
    write_support(records, names, path)
    output.wrote(path)


def _write_in(
    records: Sequence[Mapping[str, Any]], names: Sequence[str], folder: Path, output: Output
) -> None:
    """Write table and figure into a folder; the figure only where it can be drawn."""
    folder.mkdir(parents=True, exist_ok=True)
    write_support(records, names, folder / "support.csv")
    try:
        write_support(records, names, folder / "support.svg")
    except MissingExtraError as error:
        output.note(f"No figure support: {error}")
