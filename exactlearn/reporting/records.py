"""Results as JSON records."""

from collections.abc import Collection, Sequence
from itertools import compress
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from exactlearn.graphs.dag import named_parents
from exactlearn.graphs.equivalence import cpdag
from exactlearn.graphs.orientation import reversible_arcs
from exactlearn.graphs.partially_directed import Arc, PartiallyDirectedGraph

if TYPE_CHECKING:
    from exactlearn._runtime.control import Event
    from exactlearn.augmentation.exact import Ranking
    from exactlearn.augmentation.solutions import Augmentation
    from exactlearn.data.dataset import Dataset
    from exactlearn.pdg.compile.compile import Compilation
    from exactlearn.pdg.model.decision_graph import DecisionGraph
    from exactlearn.solvers.result import Result
    from exactlearn.structure.equivalence_search import EquivalenceSearch


def learning_record(
    names: Sequence[str],
    learned: "Result | Augmentation | EquivalenceSearch | Event",
    known: Collection[Arc] = (),
) -> dict[str, Any]:
    """Return the JSON record of a learned network; ``parents`` is ``None`` when there is none.

    The CPDAG is that of the Markov equivalence class; with known directions, an arc is reversible
    where a network of the class that has these, too, reverses it.

    Parameters
    ----------
    names
        Variable names.
    learned
        The result, or the state of the search.
    known
        Directions that the constraints leave, see :func:`known_directions`.
    """
    parents = learned.parents
    keys = ("status", "score", "bound", "gap", "seconds")
    record: dict[str, Any] = {key: getattr(learned, key) for key in keys}
    if parents is None:
        return {**record, "parents": None}
    return {
        **record,
        "parents": named_parents(names, parents),
        "reversible": named_arcs(names, reversible_arcs(parents, known)),
        "cpdag": cpdag_record(names, cpdag(parents)),
    }


def cpdag_record(names: Sequence[str], found: PartiallyDirectedGraph) -> dict[str, Any]:
    """Return the arcs and the undirected edges of a CPDAG by name."""
    return {
        key: named_arcs(names, getattr(found, key))
        for key in ("directed", "undirected")
    }


def named_arcs(names: Sequence[str], arcs: Collection[Arc]) -> list[list[str]]:
    """Return arcs by name, in the order of the variables."""
    return [[names[a], names[b]] for a, b in sorted(arcs)]


def completion_record(
    dataset: "Dataset",
    values: Sequence[int] | NDArray[Any],
    *,
    losses: NDArray[np.float64] | None = None,
    probabilities: NDArray[np.float64] | None = None,
    probability: str = "posterior",
) -> list[dict[str, Any]]:
    """Return the value of each missing cell by name, in row-major order.

    Rows count from 0; the line of a row in its file counts from 1, where it is known.

    Parameters
    ----------
    dataset, values
        The table, and the state of each missing cell.
    losses, probabilities
        What each state loses, and its probability, shape (cells, most states).
    probability
        What the probability of the value is called.
    """
    cells: list[dict[str, Any]] = [
        {
            "row": int(row),
            **({} if dataset.lines is None else {"line": int(dataset.lines[row])}),
            "variable": dataset.names[v],
            "value": dataset.states[v][int(value)],
        }
        for (row, v), value in zip(dataset.missing_cells, values, strict=True)
    ]
    if probabilities is not None:
        likely = probabilities[range(len(cells)), np.asarray(values, np.int64)].tolist()
        for cell, p in zip(cells, likely, strict=True):
            cell[probability] = p
    if losses is not None:
        for cell, name, loss in zip(
            cells, *dataset.next_best(values, losses), strict=True
        ):
            cell["next_best"] = name
            cell["loss_of_next_best"] = float(loss) if isfinite(loss) else None
    return cells


def ranking_record(dataset: "Dataset", ranking: "Ranking") -> list[dict[str, Any]]:
    """Return the solutions, and where their completions differ from that of the first."""
    return [
        {
            "score": one.score,
            "loss": best.score - one.score,
            "parents": named_parents(dataset.names, one.parents),
            "differs": [*compress(cells, one.values != best.values)],
        }
        for best in ranking.solutions[:1]
        for one in ranking.solutions
        for cells in (completion_record(dataset, one.values),)
    ]


def compilation_record(compiled: "Compilation") -> dict[str, Any]:
    """Return the JSON record of a compiled network."""
    figures = ("clique_tree_size", "max_error", "status")
    return graph_sizes(compiled.graph) | {
        key: getattr(compiled, key) for key in figures
    }


def graph_sizes(graph: "DecisionGraph") -> dict[str, int]:
    """Return the sizes of a decision graph by their keys (THESIS, 3.52 and 3.53)."""
    return {
        "effective_size": graph.effective_size,
        "representational_size": graph.representational_size,
        "nodes": graph.n_nodes,
    }


def size_in_words(dataset: "Dataset") -> str:
    """Return the size of a table in words."""
    missing = len(dataset.missing_cells)
    return f"{dataset.n_rows} rows, {dataset.n_variables} variables, {missing} missing cells"


def support_records(
    names: Sequence[str], networks: Sequence[tuple[Sequence[Sequence[int]], float]]
) -> list[dict[str, Any]]:
    """Return how often each arc is in some networks, by falling weight.

    Scores are logarithms, so under a uniform prior on the networks listed a network's probability
    given the data is proportional to the exponential of its score (Madigan and Raftery 1994, "Model
    selection and accounting for model uncertainty in graphical models using Occam's window").

    Parameters
    ----------
    names
        Variable names.
    networks
        The parents of each variable, and the score, of each network; at least one.

    Returns
    -------
    list
        For each arc the share of the networks that have it (``support``) and that of their
        probability (``weight``), and the same of the networks that have it in either direction.

    Examples
    --------
    >>> (found,) = support_records("ab", [([(), (0,)], -1.0), ([(), ()], -1.0)])
    >>> found["parent"], found["child"], found["support"], found["adjacency_weight"]
    ('a', 'b', 0.5, 0.5)
    """
    scores = np.array([score for _, score in networks])
    weights = np.exp(scores - scores.max())
    shares = np.column_stack(
        [np.full(len(scores), 1 / len(scores)), weights / weights.sum()]
    )
    found: dict[Arc, NDArray[np.float64]] = {}
    for (dag, _), share in zip(networks, shares, strict=True):
        for arc in [(p, v) for v, family in enumerate(dag) for p in family]:
            found[arc] = found.get(arc, np.zeros(2)) + share
    rows = []
    for (p, v), own in found.items():
        either = own + found.get((v, p), np.zeros(2))
        values = np.minimum([*own, *either], 1.0).tolist()
        rows.append((-values[1], -values[0], p, v, values))
    keys = ("support", "weight", "adjacency_support", "adjacency_weight")
    return [
        {"parent": names[p], "child": names[v], **dict(zip(keys, values, strict=True))}
        for _, _, p, v, values in sorted(rows)
    ]
