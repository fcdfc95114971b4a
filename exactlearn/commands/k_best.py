"""The k best networks or equivalence classes: enumeration, record, tables, support of the arcs."""

from collections.abc import Mapping, Sequence
from math import exp
from typing import Any

from exactlearn._runtime.control import OnEvent
from exactlearn.commands.declarations import Solve
from exactlearn.commands.sections import Selection
from exactlearn.errors import OptionError
from exactlearn.graphs.dag import named_parents
from exactlearn.graphs.equivalence import cpdag
from exactlearn.reporting.arc_support import arc_support, support_record
from exactlearn.reporting.report import (
    cpdag_record,
    facts,
    learning_tables,
    number,
    plain_table,
)
from exactlearn.solvers import Problem
from exactlearn.solvers.enumeration.networks import (
    Enumeration,
    enumerate_classes,
    enumerate_networks,
)

SHOWN_NETWORKS, SHOWN_ARCS = 20, 30
"""Most networks and arcs that the printed tables show."""


_SHARES = (
    *("support", "weight", "adjacency_support", "adjacency_weight"),
    *("strength", "edge_strength", "compelled", "reversible"),
)

_CANDIDATES = {
    True: "all parent sets of the allowed sizes",
    False: "the candidates of the file: if it leaves out dominated ones, so does the list",
}


def enumerated(
    wanted: Solve, problem: Problem, search: Selection, on_event: OnEvent, **more: Any
) -> Enumeration:
    """List the networks, or classes.

    Raises
    ------
    OptionError
        When the solver or another option does not go with a list.
    """
    for key, name in {"gap": "--gap", "certify": "--certificate"}.items():
        if more.pop(key, None):
            raise OptionError(f"{name} is for one network only: leave it out, or the list")
    classes = wanted.classes is not None
    return (enumerate_classes if classes else enumerate_networks)(
        problem,
        k=wanted.classes if classes else wanted.best,
        factor=wanted.within,
        solver=search.solver,
        time_limit=search.time_limit,
        seed=search.seed,
        on_event=on_event,
        **more,
    )


def k_best_record(
    wanted: Solve, problem: Problem, found: Enumeration, *, from_data: bool
) -> dict[str, Any]:
    """Return the keys that the list adds to the record of the best network."""
    names, listed = problem.names, found.networks
    networks = []
    for network in listed:
        entry = {
            "score": network.score,
            "log_bayes_factor": network.score - listed[0].score,
            "parents": named_parents(names, network.parents),
        }
        if wanted.classes is not None:
            entry |= class_record(names, network.parents)
        networks.append(entry)
    basis = bayes_factor_basis(wanted, from_data=from_data)
    if wanted.runner_up:
        assert found.best.parents is not None
        own = cpdag(found.best.parents)  # of two that tie, either may be listed first
        others = (k for k, other in enumerate(listed) if cpdag(other.parents) != own)
        second = next((networks[k] for k in others), None)
        return {"runner_up": second, "next_bound": found.bound, "bayes_factor": basis}
    return {
        "networks": networks,
        "bayes_factor": basis,
        "complete": found.complete,
        "next_bound": found.bound,
        "ties": found.ties,
        "candidates": _CANDIDATES[from_data],
        "support": support_record(names, arc_support(listed)),
    }


def bayes_factor_basis(wanted: Solve, *, from_data: bool) -> str:
    """Return what a difference of scores says of a Bayes factor."""
    if not from_data:
        return "difference of the given scores; a log Bayes factor where these are BDeu scores"
    return _BASIS.get(wanted.criterion, "difference of scores that are no marginal likelihoods")


_BASIS = {
    "bdeu": "log Bayes factor: difference of the log marginal likelihoods under BDeu",
    "bic": "difference of BIC, which approximates the log Bayes factor for many rows",
}


def _runner_up_tables(record: Mapping[str, Any]) -> list[Any]:
    """Return the tables of a record with the best network of another class."""
    second = record.get("runner_up")
    bound = number(record.get("next_bound"))
    loss = f"not found within the limit; it scores at most {bound}" if bound else "there is none"
    if second is not None:
        factor = min(0.0, second["log_bayes_factor"])
        loss = f"loses {abs(factor):.4f} nats (Bayes factor {exp(factor):.3g})"
    own = _edges(record.get("cpdag", {}))
    its = own if second is None else _edges(second)
    return [
        *learning_tables(record),
        facts(
            runner_up=loss,
            without=", ".join(sorted(own - its)),
            with_=", ".join(sorted(its - own)),
            difference=record.get("bayes_factor", ""),
        ),
    ]


def _edges(pattern: Mapping[str, Sequence[Sequence[str]]]) -> set[str]:
    """Return the arcs and edges of a CPDAG in text."""
    marks = {"directed": " -> ", "undirected": " - "}
    return {mark.join(arc) for kind, mark in marks.items() for arc in pattern.get(kind, ())}


def k_best_tables(wanted: Solve, record: Mapping[str, Any]) -> list[Any]:
    """Return the tables of a record for people."""
    if wanted.runner_up:
        return _runner_up_tables(record)
    if "networks" not in record:
        return learning_tables(record)
    networks, arcs = record["networks"], record["support"]
    what = "classes" if wanted.classes is not None else "networks"
    rows = [
        (
            str(rank),
            number(network["score"]),
            number(network["log_bayes_factor"]),
            str(sum(map(len, network["parents"].values()))),
            *([str(network["size"])] if "size" in network else []),
        )
        for rank, network in enumerate(networks[:SHOWN_NETWORKS], 1)
    ]
    head = ("rank", "score", "difference", "arcs", *(["members"] * (what == "classes")))
    found: list[Any] = [
        *learning_tables(record),
        "",
        facts(
            **{what: f"{len(networks)}{'' if record['complete'] else ' (not all: a limit)'}"},
            ties=str(record["ties"]),
            no_other_above=number(record["next_bound"]),
            over=record["candidates"],
            difference=record["bayes_factor"],
        ),
        plain_table(head, rows, right=head),
    ]
    if len(networks) > SHOWN_NETWORKS:
        found.append(f"... and {len(networks) - SHOWN_NETWORKS} more; -o or --json has all")
    return [*found, "", *support_table(arcs)]


def support_table(arcs: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Return the table of the arcs with the most support, and a line on those left out."""
    shares = [key for key in _SHARES if arcs and key in arcs[0]]
    shown = [
        (arc["parent"], arc["child"], *(f"{arc[key]:.3f}" for key in shares))
        for arc in arcs[:SHOWN_ARCS]
    ]
    more = [f"... and {len(arcs) - SHOWN_ARCS} more arcs; --support FILE has all"]
    table = plain_table(("parent", "child", *shares), shown, right=shares)
    return [table, *more] if len(arcs) > SHOWN_ARCS else [table]


def class_record(names: Sequence[str], parents: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Return the completed pattern of a network's class, and how many networks are in it."""
    found = cpdag(parents)
    return {**cpdag_record(names, found), "size": found.size}
