"""``exactlearn solve --bootstrap``: the same learning from bootstrap samples, and what it adds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from rich.text import Text

from exactlearn._runtime.control import SearchControl
from exactlearn.commands.artifacts import write_records
from exactlearn.commands.declarations import Solve
from exactlearn.commands.k_best import support_table
from exactlearn.commands.output import Output
from exactlearn.commands.pipeline import (
    directions,
    learn_complete,
    scored_problem,
    search_equivalence_classes,
)
from exactlearn.commands.sections import CLASS_SEARCHES
from exactlearn.data.dataset import Dataset
from exactlearn.errors import SolverError
from exactlearn.evaluation.bootstrap import bootstrap
from exactlearn.formats.models import write_model
from exactlearn.graphs.equivalence import PartiallyDirectedGraph
from exactlearn.graphs.orientation import oriented_class, reversible_arcs
from exactlearn.reporting.arc_support import beside
from exactlearn.reporting.report import facts, named_arcs, number, parents_table
from exactlearn.structure.selection import fitted_network

_APART = (
    *("best", "best_classes", "within", "runner_up", "bootstrap", "jobs", "cluster", "time_limit"),
    *("support", "averaged", "trace", "certificate", "checkpoint"),
)
"""Options that do not change what is learned: the samples in a folder are known by the others."""

GOES_ON = ("optimal", "feasible", "heuristic")
"""How a search ends after which more may come."""


def bootstrap_record(options: Solve, data: Dataset, output: Output) -> dict[str, Any]:
    """Learn from the samples; return the record, with the arcs under ``"arcs"``."""
    assert options.bootstrap is not None
    if not data.is_complete and options.criterion == "bdeu" and options.ess != 1:
        output.note(
            f"Cells are missing: strengths of networks with ess {options.ess:g} are too high, as "
            "these have more arcs than the rows support; --ess 1 gives cautious ones"
        )
    how = replace(options, **{name: getattr(Solve, name) for name in _APART})
    with output.progress_display("bootstrap") as display, SearchControl().running() as control:
        found = bootstrap(
            data,
            options.bootstrap,
            learner=partial(_learnt_class, how),
            seed=options.seed,
            jobs=options.jobs,
            cluster=options.cluster,
            folder=output.folder,
            time_limit=options.time_limit,
            on_begin=display.stage,
        )
    short = found.replicates + len(found.failures) < found.wanted or found.unfinished > 0
    ended = "interrupted" if control.is_stopped else "feasible" if short else "done"
    known = directions(options, data.names)
    reversible = reversible_arcs(found.averaged().parents, known)
    return {
        "status": ended,
        **found.to_dict(),
        "reversible": named_arcs(data.names, reversible),
        "arcs": found.to_records(),
    }


def with_bootstrap(record: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record with the bootstrap's, both kinds of support in one list of arcs."""
    without_arcs = {key: value for key, value in found.items() if key != "arcs"}
    return {
        **record,
        "bootstrap": without_arcs,
        "support": beside(record.get("support", []), found["arcs"]),
    }


def averaged(
    options: Solve, data: Dataset, sampled: Sequence[Mapping[str, Any]], output: Output
) -> list[Callable[[], None]]:
    """Return what writes the averaged network, where it is wanted."""

    def write(found: Mapping[str, Any], path: Path) -> None:
        parents = [[data.names.index(p) for p in found["averaged"][name]] for name in data.names]
        network, about = fitted_network(
            data, parents, smoothing=options.smoothing, counts=options.counts
        )
        if about:
            output.note(about)
        write_model(network, path)

    path = options.averaged
    return [partial(write_records, partial(write, found), path, output) for found in sampled]


def bootstrap_tables(record: Mapping[str, Any], *, with_arcs: bool) -> list[Any]:
    """Return the tables of a bootstrap's record: the arcs, unless they are shown elsewhere."""
    found = record["bootstrap"]
    short = f" of {found['wanted']}" if found["replicates"] < found["wanted"] else ""
    edges = sum(len(family) for family in found["averaged"].values())
    return [
        *(["", *support_table(record["support"])] if with_arcs else []),
        "",
        facts(
            bootstrap_samples=f"{found['replicates']}{short}",
            cut_short_by_the_limit=str(found["unfinished"] or ""),
            failures="; ".join(found["failures"]),
            significant_edges=f"{edges}, of strength above {number(found['threshold'])}",
        ),
        "",
        Text("Averaged network", "bold"),
        parents_table(found["averaged"], reversible=found["reversible"]),
    ]


def _learnt_class(options: Solve, dataset: Dataset) -> PartiallyDirectedGraph:
    """Return the class of what ``solve`` learns, with the arcs directed that constraints direct."""
    options = replace(options, time_limit=SearchControl.within().remaining)
    if options.solver in CLASS_SEARCHES:
        parents = search_equivalence_classes(dataset, options).parents
    else:
        scored, left = scored_problem(dataset, options, counts=options.counts)
        parents = learn_complete(scored.problem, left).parents
    if parents is None:
        raise SolverError("no network was found")
    return oriented_class(parents, directions(options, dataset.names))
