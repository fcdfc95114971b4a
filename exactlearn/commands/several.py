"""What ``solve`` says of several networks: the k best, the ends of kes, those of a bootstrap."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from exactlearn._runtime.control import SearchControl
from exactlearn.commands.declarations import Kept, Solve
from exactlearn.commands.output import Output
from exactlearn.data.dataset import Dataset
from exactlearn.evaluation.bootstrap import bootstrap
from exactlearn.evaluation.cross_validation import Learner
from exactlearn.graphs.dag import named_parents
from exactlearn.graphs.equivalence import cpdag
from exactlearn.reporting.records import cpdag_record, support_records
from exactlearn.solvers.enumeration.networks import Enumeration
from exactlearn.structure.equivalence_search import EquivalenceSearch

_CANDIDATES = {
    True: "all parent sets of the allowed sizes",
    False: "the candidates of the file: if it leaves out dominated ones, so does the list",
}

_BAYES_FACTOR = {
    "bdeu": "log Bayes factor: difference of the log marginal likelihoods under BDeu",
    "bic": "difference of BIC, which approximates the log Bayes factor for many rows",
}


def networks_record(
    options: Solve, names: Sequence[str], listed: Enumeration, *, from_data: bool
) -> dict[str, Any]:
    """Return the keys that a list of networks or classes adds to the record of the best one."""
    networks = [
        {
            "score": network.score,
            "log_bayes_factor": network.score - listed.networks[0].score,
            "parents": named_parents(names, network.parents),
            **(_class_record(names, network.parents) if options.classes else {}),
        }
        for network in listed.networks
    ]
    meaning = "difference of the given scores; a log Bayes factor where these are BDeu scores"
    if from_data:
        others = "difference of scores that are no marginal likelihoods"
        meaning = _BAYES_FACTOR.get(options.criterion, others)
    return {
        "networks": networks,
        "bayes_factor": meaning,
        "complete": listed.complete,
        "next_bound": listed.bound,
        "ties": listed.ties,
        "candidates": _CANDIDATES[from_data],
        "support": support_records(names, listed.networks) if listed.networks else [],
    }


def classes_record(names: Sequence[str], found: EquivalenceSearch) -> dict[str, Any]:
    """Return the keys that a search over equivalence classes adds to that of the best network."""
    classes = [
        {"score": optimum.score, "starts": optimum.starts, **_class_record(names, optimum.parents)}
        for optimum in found.optima
    ]
    return {
        "method": found.method,
        "scores": list(found.scores),
        "steps": list(found.steps),
        "sets": found.sets,
        "classes": classes,
    }


def _class_record(names: Sequence[str], parents: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Return the CPDAG of a network's class, and how many networks are in it."""
    graph = cpdag(parents)
    return {**cpdag_record(names, graph), "size": graph.size}


def bootstrap_record(
    options: Solve, data: Dataset, learner: Callable[[Solve, Dataset], Any], output: Output
) -> dict[str, Any]:
    """Learn from bootstrap samples as from the table; return the record.

    Parameters
    ----------
    options
        Those of the command; what does not change what is learned does not reach the learner, so
        that the samples kept in a folder are found again.
    data
        The table.
    learner
        Learns from a sample.
    output
        Where samples are kept, and progress is shown.
    """
    assert options.bootstrap is not None
    if not data.is_complete and options.criterion == "bdeu" and options.ess != 1:
        output.note(
            f"Cells are missing: strengths of networks with ess {options.ess:g} are too high, as "
            "these have more arcs than the rows support; --ess 1 gives cautious ones"
        )
    alike = replace(
        options,
        checkpoint=Kept.checkpoint,
        **{name: getattr(Solve, name) for name in _APART},
    )
    learn: Learner = partial(learner, alike)
    with output.progress_display("bootstrap") as display, SearchControl().running() as control:
        found = bootstrap(
            data,
            options.bootstrap,
            learner=learn,
            seed=options.seed,
            cluster=options.cluster,
            folder=output.folder,
            time_limit=options.time_limit,
            on_begin=display.stage,
        )
    is_short = found.replicates + len(found.failures) < found.wanted or found.unfinished > 0
    status = "interrupted" if control.is_stopped else "feasible" if is_short else "done"
    return {"status": status, **found.to_dict(), "arcs": found.to_records()}


_APART = ("best", "classes", "bootstrap", "cluster", "time_limit", "certificate")
