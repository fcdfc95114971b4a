"""Results as JSON records and as tables for people."""

import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from io import StringIO
from math import isfinite, isnan
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from rich.text import Text

from exactlearn.graphs.dag import named_parents
from exactlearn.graphs.equivalence import Arc, PartiallyDirectedGraph, cpdag
from exactlearn.graphs.orientation import reversible_arcs

if TYPE_CHECKING:
    from exactlearn.data.dataset import Dataset
    from exactlearn.pdg.compile.compile import Compilation
    from exactlearn.reporting.trace import Learned

PIPED_WIDTH = 160
"""Width of tables when standard output is no terminal."""

SHOWN_CELLS = 40
"""Most completed cells that a printed table shows."""

SIZES = ("effective_size", "representational_size", "nodes", "clique_tree_size")
"""Sizes of a decision graph in a record."""

COUNTED = ("row", "line", "posterior", "probability", "loses", "at least")
"""Columns of numbers in tables of cells."""

SHOWN_ROWS = 10
"""Most rows of probability zero that are printed by number."""


def console() -> Console:
    """Return the console of standard output; plain and of fixed width when it is no terminal."""
    return _plain(sys.stdout, None if sys.stdout.isatty() else PIPED_WIDTH)


def printed(tables: Iterable[Any]) -> str:
    """Return texts and tables as they are printed where there is no terminal."""
    file = StringIO()
    for table in tables:
        _plain(file, PIPED_WIDTH).print(table)
    return file.getvalue()


def _plain(file: TextIO, width: int | None) -> Console:
    return Console(file=file, width=width, highlight=False, markup=False, emoji=False)


def learning_record(
    names: Sequence[str], learned: "Learned", known: Collection[Arc] = ()
) -> dict[str, Any]:
    """Return the JSON record of a learned network; ``parents`` is ``None`` when there is none.

    Parameters
    ----------
    names
        Variable names.
    learned
        The result.
    known
        Directions that the constraints leave, see :func:`known_directions`.
    """
    parents = learned.parents
    return {
        **{key: getattr(learned, key) for key in ("status", "score", "bound", "gap", "seconds")},
        "parents": parents and named_parents(names, parents),
        **({} if parents is None else equivalence_record(names, parents, known)),
    }


def equivalence_record(
    names: Sequence[str], parents: Sequence[Sequence[int]], known: Collection[Arc] = ()
) -> dict[str, Any]:
    """Return a network's CPDAG by name, and its arcs that equivalent networks reverse.

    The CPDAG is that of the Markov equivalence class; with known directions, an arc is reversible
    where a network of the class that has these, too, reverses it.
    """
    return {
        "reversible": named_arcs(names, reversible_arcs(parents, known)),
        "cpdag": cpdag_record(names, cpdag(parents)),
    }


def cpdag_record(names: Sequence[str], found: PartiallyDirectedGraph) -> dict[str, Any]:
    """Return the arcs and the undirected edges of a CPDAG by name."""
    return {key: named_arcs(names, getattr(found, key)) for key in ("directed", "undirected")}


def named_arcs(names: Sequence[str], arcs: Collection[Arc]) -> list[list[str]]:
    """Return arcs by name, in the order of the variables."""
    return [[names[a], names[b]] for a, b in sorted(arcs)]


def learning_tables(record: Mapping[str, Any]) -> list[Any]:
    """Return the tables of a learning record: the proof state, then the network."""
    left = record.get("unproven")
    tables: list[Any] = [
        facts(
            status=STATUS.get(record["status"], record["status"]),
            score=number(record["score"]),
            bound=number(record["bound"]),
            gap=percent(record["gap"]),
            unproven="" if left is None else f"{left['changes']} of {left['of']} moves",
            seconds_of_search=number(record["seconds"], 2),
        )
    ]
    if record["parents"]:
        reversible = record.get("reversible", ())
        tables.append(parents_table(record["parents"], reversible))
    return tables


def facts(**entries: str) -> Table:
    """Return a table of one line per fact; an empty fact is left out."""
    table = Table.grid(padding=(0, 2))
    for name, text in entries.items():
        if text:
            table.add_row(name.replace("_", " "), text)
    return table


def size_in_words(dataset: "Dataset") -> str:
    """Return the size of a table in words."""
    missing = len(dataset.missing_cells)
    return f"{dataset.n_rows} rows, {dataset.n_variables} variables, {missing} missing cells"


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
        for cell, name, loss in zip(cells, *dataset.next_best(values, losses), strict=True):
            cell["next_best"] = name
            cell["loss_of_next_best"] = float(loss) if isfinite(loss) else None
    return cells


def completion_table(completion: Sequence[Mapping[str, Any]]) -> Table:
    """Return the table of the values of missing cells."""
    heads = {"loss_of_next_best": "loses"}
    columns = [heads.get(key, key).replace("_", " ") for key in completion[0]]
    counted = ({**cell, "row": cell["row"] + 1} for cell in completion)
    rows = ([_cell_text(x) for x in cell.values()] for cell in counted)
    return plain_table(columns, rows, right=COUNTED)


def profile_table(cells: Sequence[Mapping[str, Any]]) -> Table:
    """Return the table of cells with the next best value of each, and what it loses."""
    nearest = (cell["others"][0] for cell in cells)
    return completion_table(
        [
            {key: x for key, x in cell.items() if key != "others"}
            | {"next_best": other["value"], "loss_of_next_best": other["loss"]}
            | {"at_least": other["at_least"]}
            for cell, other in zip(cells, nearest, strict=True)
        ]
    )


def _cell_text(value: Any) -> str:
    return "inf" if value is None else number(value) if isinstance(value, float) else str(value)


def shown_cells(cells: Sequence[Any]) -> tuple[Sequence[Any], list[str]]:
    """Return the cells of a completion to print, and a line on those left out."""
    left = len(cells) - SHOWN_CELLS
    return cells[:SHOWN_CELLS], [f"... and {left} more cells; -o or --json has all"] * (left > 0)


def held_out_record(rows: NDArray[np.float64], dataset: "Dataset") -> dict[str, Any]:
    """Return the JSON record of a model's log-likelihood of rows that it was not learned from.

    Rows of probability zero are listed, and make the log-likelihood minus infinity.

    Parameters
    ----------
    rows
        Log-likelihood of each row of the table, natural logarithm, shape (rows,).
    """
    impossible = np.flatnonzero(np.isneginf(rows))
    lines = dataset.lines if len(impossible) else None
    return {
        "rows": len(rows),
        "log_likelihood_per_row": dataset.total(rows) / float(dataset.row_weights.sum()),
        "impossible_rows": impossible.tolist(),
        **({} if lines is None else {"impossible_lines": lines[impossible].tolist()}),
    }


def held_out_table(record: Mapping[str, Any]) -> Table:
    """Return the table of the log-likelihood of held-out rows under each model."""
    rows = (
        (
            name.replace("_", " "),
            str(found["rows"]),
            number(found["log_likelihood_per_row"]) or "-inf",
            _some(found["impossible_rows"], found.get("impossible_lines")),
        )
        for name, found in record.items()
    )
    columns = ("model", "rows", "log-likelihood per row", "impossible rows")
    return plain_table(columns, rows, right=columns[1:3])


def _some(rows: Sequence[int], lines: Sequence[int] | None) -> str:
    """Return how many rows there are, and the first ones, counted from 1, with their lines."""
    texts = [str(row + 1) for row in rows[:SHOWN_ROWS]]
    if lines is not None:
        texts = [f"{row} (line {line})" for row, line in zip(texts, lines, strict=False)]
    shown = ", ".join(texts) + ", ..." * (len(rows) > SHOWN_ROWS)
    return f"{len(rows)}: {shown}" if rows else "none"


def compilation_record(compiled: "Compilation") -> dict[str, Any]:
    """Return the JSON record of a compiled network."""
    return {key: getattr(compiled, key) for key in (*SIZES, "max_error")}


def compilation_table(record: Mapping[str, Any], **more: str) -> Table:
    """Return the table of a compilation's record, and of more facts."""
    sizes = {key: str(value) for key, value in record.items() if key != "max_error"}
    error = record["max_error"]
    shown = f"{error:.2g}"
    if not isfinite(error):
        shown = (
            "not computed" if isnan(error) else "infinite: a row is impossible for one of the two"
        )
    return facts(**sizes, largest_relative_error_of_the_probability_of_a_row=shown, **more)


def parents_table(
    parents: Mapping[str, Sequence[str]],
    reversible: Iterable[Sequence[str]] = (),
) -> Table:
    """Return the table of a network's parent sets.

    Parents whose arc is reversible are marked.
    """
    marks = dict.fromkeys(map(tuple, reversible), " (reversible)")
    rows = [
        (name, ", ".join(p + marks.get((p, name), "") for p in family) or "-")
        for name, family in parents.items()
    ]
    return plain_table(("variable", "parents"), rows)


def run_tables(record: Mapping[str, Any]) -> list[Any]:
    """Return the tables of a run's record, in the order of the pipeline."""
    learned = facts(
        missing_cells=str(len(record["completion"])) if "completion" in record else "",
        completed_rightly=percent(record.get("imputation_accuracy")),
    )
    tables = [Text("Network", "bold"), *learning_tables(record), learned]
    if "network" in record:
        tables.append(_em_table(record["network"]))
    tables += ["", Text("Decision graph", "bold"), compilation_table(record["decision_graph"])]
    tables.append(_em_table(record["refinement"]))
    if "held_out" in record:
        tables += ["", Text("Rows not learned from", "bold"), held_out_table(record["held_out"])]
    for answer in record["queries"]:
        given = ", ".join(f"{name} = {state}" for name, state in answer["evidence"].items())
        tables += ["", Text(f"Posterior given {given}" if given else "Marginals", "bold")]
        tables.append(posterior_table(answer["posterior"]))
    return tables


def _em_table(record: Mapping[str, Any]) -> Table:
    """Return the table of how EM went."""
    gain = record["log_likelihood"] - record["log_likelihood_before"]
    return facts(
        log_likelihood_of_the_rows_fitted=f"{number(record['log_likelihood'])} ({gain:+.4f} by EM)",
        iterations=f"{record['iterations']}{'' if record['converged'] else ' (limit reached)'}",
        starts=str(starts) if (starts := len(record["starts"])) > 1 else "",
    )


def posterior_table(posterior: Mapping[str, Mapping[str, float]]) -> Table:
    """Return the table of posterior probabilities, one row per state."""
    rows = ((name, state, f"{p:.6f}") for name, state, p in posterior_rows(posterior))
    return plain_table(("variable", "state", "probability"), rows, right=("probability",))


def posterior_rows(
    posterior: Mapping[str, Mapping[str, float]],
) -> Iterable[tuple[str, str, float]]:
    """Yield each state with its probability and, for the first one, the variable's name."""
    for name, states in posterior.items():
        for k, (state, p) in enumerate(states.items()):
            yield name if k == 0 else "", state, p


def plain_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[str] = ()
) -> Table:
    """Return a table with a head; the columns named in ``right`` are set flush right."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        # a name that is cut may stand for two
        table.add_column(column, justify="right" if column in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def number(value: float | None, digits: int = 4) -> str:
    """Return a number for people; nothing when it is not known."""
    return "" if value is None or not isfinite(value) else f"{value:.{digits}f}"


def probability(p: float) -> str:
    """Return three decimals, two digits of less; 0 and 1 only for what is exactly so.

    Examples
    --------
    >>> [probability(p) for p in (0.0, 0.00012, 0.25, 0.9999, 1.0)]
    ['0', '0.00012', '0.250', '>0.999', '1']
    """
    if p in (0.0, 1.0):
        return str(int(p))
    return f"{p:.2g}" if p < 0.0005 else ">0.999" if p >= 0.9995 else f"{p:.3f}"


def percent(share: float | None) -> str:
    """Return a share as a percentage; nothing when it is not known."""
    return "" if share is None or not isfinite(share) else f"{100 * share:.2f} %"


STATUS = {
    "optimal": "optimal (proven)",
    "t-local": "t-local optimal (proven)",
    "heuristic": "heuristic (nothing is proven)",
    "feasible": "feasible (not proven optimal)",
    "interrupted": "interrupted (the best so far)",
    "infeasible": "infeasible (no network meets the constraints)",
}
