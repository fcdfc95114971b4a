"""Results as JSON records."""

from collections.abc import Collection, Sequence
from itertools import compress
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from exactlearn.data.completed_cells import completed_cells
from exactlearn.graphs.dag import named_parents
from exactlearn.graphs.equivalence import cpdag
from exactlearn.graphs.orientation import reversible_arcs
from exactlearn.graphs.partially_directed import Arc, PartiallyDirectedGraph

if TYPE_CHECKING:
    from exactlearn._runtime.control import Event
    from exactlearn.augmentation.exact import Ranking
    from exactlearn.augmentation.solutions import Augmentation
    from exactlearn.data.dataset import Dataset
    from exactlearn.data.missingness_graph import MissingnessGraph
    from exactlearn.pdg.compile.compile import Compilation
    from exactlearn.pdg.model.decision_graph import DecisionGraph
    from exactlearn.solvers.result import Result
    from exactlearn.structure.equivalence_search import EquivalenceSearch


def learning_record(
    names: Sequence[str],
    learned: "Result | Augmentation | EquivalenceSearch | Event",
    directions: Collection[Arc] = (),
) -> dict[str, Any]:
    """Return the JSON record of a learned network; ``parents`` is ``None`` when there is none.

    The CPDAG is that of the Markov equivalence class; with such directions, an arc is reversible
    where a network of the class that has these directions reverses it.

    Parameters
    ----------
    names
        Variable names.
    learned
        The result, or the state of the search.
    directions
        Arcs that the constraints direct, see :func:`known_directions`.
    """
    parents = learned.parents
    record = {
        "status": learned.status,
        "score": learned.score,
        "bound": learned.bound,
        "gap": learned.gap,
        "seconds": learned.seconds,
        "parents": None,
    }
    # Infeasible constraints leave no network to describe.
    if parents is None:
        return record
    return record | {
        "parents": named_parents(names, parents),
        "reversible": named_arcs(names, reversible_arcs(parents, directions)),
        "cpdag": cpdag_record(names, cpdag(parents)),
    }


def cpdag_record(names: Sequence[str], graph: PartiallyDirectedGraph) -> dict[str, Any]:
    """Return the arcs and the undirected edges of a CPDAG by name."""
    return {
        "directed": named_arcs(names, graph.directed),
        "undirected": named_arcs(names, graph.undirected),
    }


def named_arcs(names: Sequence[str], arcs: Collection[Arc]) -> list[list[str]]:
    """Return arcs by name, in the order of the variables."""
    return [[names[tail], names[head]] for tail, head in sorted(arcs)]


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
        Loss and probability of each state, shape (cells, most states).
    probability
        The key of the probability of the value.
    """
    columns = completed_cells(dataset, values, probabilities, losses)
    if dataset.lines is not None:
        # The line stands behind the row.
        lines = dataset.lines[columns["row"]]
        columns = {"row": columns["row"], "line": lines, **columns}
    names = {"probability": probability}
    keys = [names.get(key, key) for key in columns]
    # Objects of the standard types, as JSON has them.
    entries = [np.array(column, object).tolist() for column in columns.values()]
    cells = [dict(zip(keys, cell, strict=True)) for cell in zip(*entries, strict=True)]
    # JSON has no infinite numbers.
    for cell in cells:
        if cell.get("loss_of_next_best") == inf:
            cell["loss_of_next_best"] = None
    return cells


def ranking_record(dataset: "Dataset", ranking: "Ranking") -> list[dict[str, Any]]:
    """Return the solutions, and the cells completed otherwise than in the first one."""
    records = []
    for solution in ranking.solutions:
        best = ranking.solutions[0]
        cells = completion_record(dataset, solution.values)
        records.append(
            {
                "score": solution.score,
                "loss": best.score - solution.score,
                "parents": named_parents(dataset.names, solution.parents),
                "differs": [*compress(cells, solution.values != best.values)],
            }
        )
    return records


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


def causes_in_words(graph: "MissingnessGraph") -> dict[str, str]:
    """Return the causes of the missing cells of each variable, in words.

    Examples
    --------
    >>> from exactlearn.data.missingness_graph import MissingnessGraph
    >>> causes_in_words(MissingnessGraph.parse("a <- b, a; c <- missing(a); d <-"))
    {'a': 'b, their own value', 'c': 'whether a is missing', 'd': 'nothing'}
    """
    words = {}
    for name, causes in graph.causes.items():
        texts = [cause for cause in causes if cause != name]
        if name in causes:
            texts.append("their own value")
        for variable in graph.indicator_causes.get(name, ()):
            texts.append(f"whether {variable} is missing")
        words[name] = ", ".join(texts) or "nothing"
    return words


def support_records(
    names: Sequence[str],
    networks: Sequence[tuple[Sequence[Sequence[int]], float]],
    arcs: NDArray[np.float64] | None = None,
) -> list[dict[str, Any]]:
    """Return the support of each arc by some networks, by falling weight or probability.

    Scores are logarithms, so under a uniform prior on the networks listed a network's probability
    given the data is proportional to the exponential of its score (Madigan and Raftery 1994, "Model
    selection and accounting for model uncertainty in graphical models using Occam's window").

    Parameters
    ----------
    names
        Variable names.
    networks
        The parents of each variable, and the score, of each network; at least one.
    arcs
        The probability of each arc ``[parent, child]`` over all networks, shape (n, n), where it is
        known: it stands in place of the weight.

    Returns
    -------
    list
        For each arc the share of the networks that have it (``support``) and that of their
        probability (``weight``), or the ``probability`` of the arc over all networks; and the same
        of the arc in either direction.

    Examples
    --------
    >>> (arc,) = support_records("ab", [([(), (0,)], -1.0), ([(), ()], -1.0)])
    >>> arc["parent"], arc["child"], arc["support"], arc["adjacency_weight"]
    ('a', 'b', 0.5, 0.5)
    """
    scores = np.array([score for _, score in networks])
    # Posterior probabilities under a uniform prior on the networks listed.
    weights = np.exp(scores - scores.max())
    uniform = np.full(len(scores), 1 / len(scores))
    proportions = np.column_stack([uniform, weights / weights.sum()])
    # The share and the weight of the networks with each arc, shape (2, tails, heads).
    support = np.zeros((2, len(names), len(names)))
    for (parents, _), proportion in zip(networks, proportions, strict=True):
        listed_arcs = [(p, v) for v, family in enumerate(parents) for p in family]
        tails, heads = np.array(listed_arcs, np.int64).reshape(-1, 2).T
        support[:, tails, heads] += proportion[:, None]
    certainty = "weight"
    if arcs is not None:
        certainty = "probability"
        support[1] = arcs
    # Sums of rounded proportions may exceed 1.
    adjacent = support + support.transpose(0, 2, 1)
    figures = np.minimum(np.concatenate([support, adjacent]), 1.0)
    keys = ("support", certainty, "adjacency_support", f"adjacency_{certainty}")
    listed = np.argwhere(support[0] > 0).tolist()
    listed.sort(key=lambda arc: (-figures[1, *arc], -figures[0, *arc]))
    return [
        {
            "parent": names[p],
            "child": names[v],
            **dict(zip(keys, figures[:, p, v].tolist(), strict=True)),
        }
        for p, v in listed
    ]
