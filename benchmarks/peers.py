"""What other free tools do with the same local scores, each in a process of its own with a limit.

``plain``: the integer program that one writes first, in PySCIPOpt: the same 0/1 variables, and a
position of each variable in the order (Miller, Tucker and Zemlin) instead of cluster inequalities.
``causal-learn a*`` and ``causal-learn dp``: the two shortest-path searches behind causal-learn's
exact search, given our scores, so that only the search is measured. ``pgmpy``: its exhaustive
search over all directed acyclic graphs, for five variables at most.
"""

import multiprocessing
import time
from collections.abc import Callable
from importlib import import_module
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import numpy as np

from exactlearn.solvers import Problem


class Attempt(NamedTuple):
    """What a solver did with an instance: wall seconds, score, and its end in a word."""

    seconds: float
    score: float
    told: str

    @property
    def solved(self) -> bool:
        """Whether the optimum was proven."""
        return self.told == "optimal"


def plain(problem: Problem, limit: float) -> tuple[float, str]:
    """Solve with positions instead of cluster inequalities."""
    from pyscipopt import Model, quicksum

    n = problem.n_variables
    model = Model("plain")
    model.hideOutput()
    model.setParam("limits/time", limit)
    x = [model.addVar(vtype="B", obj=-float(score)) for score in problem.scores]
    position = [model.addVar(lb=0.0, ub=n - 1.0) for _ in range(n)]
    for a, b in zip(problem.first[:-1], problem.first[1:], strict=True):
        model.addCons(quicksum(x[a:b]) == 1)
    owner = np.repeat(np.arange(problem.n_candidates), np.diff(problem.member_first))
    arcs: dict[tuple[int, int], list[int]] = {}
    for c, parent in zip(owner.tolist(), problem.members.tolist(), strict=True):
        arcs.setdefault((parent, int(problem.child[c])), []).append(c)
    for (parent, child), rows in arcs.items():
        chosen = quicksum(x[c] for c in rows)
        model.addCons(position[child] >= position[parent] + 1 - n * (1 - chosen))
    model.optimize()
    score, bound = -model.getPrimalbound(), -model.getDualbound()
    solved = model.getStatus() == "optimal"
    return score, "optimal" if solved else f"gap {bound - score:.3g}"


def causal_learn(problem: Problem, method: str) -> tuple[float, str]:
    """Search the order graph with causal-learn, which minimises and wants the best sets first."""
    from causallearn.search.ScoreBased import ExactSearch

    graphs = tuple(
        sorted(((p, -s) for p, s in problem.candidates(v)), key=lambda entry: entry[1])
        for v in range(problem.n_variables)
    )
    search = {
        "a*": ExactSearch.astar_shortest_path,
        "dp": ExactSearch.dp_shortest_path,
    }[method]
    structures, _ = search(graphs)
    return _score(problem, structures), "optimal"


def pgmpy(problem: Problem) -> tuple[float, str]:
    """Score all graphs with pgmpy's exhaustive search."""
    import pandas as pd
    from pgmpy.estimators import ExhaustiveSearch

    tables = [dict(problem.candidates(v)) for v in range(problem.n_variables)]

    class Given:
        def score(self, graph: Any) -> float:
            parents = {v: tuple(sorted(map(int, graph.predecessors(v)))) for v in graph}
            return sum(
                tables[int(v)].get(given, -np.inf) for v, given in parents.items()
            )

    data = pd.DataFrame(
        {str(v): [0, 1] for v in range(problem.n_variables)}, dtype="category"
    )
    search = ExhaustiveSearch(data, scoring_method="k2")
    search.scoring_method = Given()
    best = search.estimate()
    return Given().score(best), "optimal"


def _score(problem: Problem, structures: Any) -> float:
    tables = [dict(problem.candidates(v)) for v in range(problem.n_variables)]
    return sum(
        table[tuple(sorted(parents))]
        for table, parents in zip(tables, structures, strict=True)
    )


PEERS: dict[str, tuple[int, Callable[..., tuple[float, str]], tuple[Any, ...]]] = {
    "plain": (10**6, plain, ()),
    "causal-learn a*": (40, causal_learn, ("a*",)),
    "causal-learn dp": (20, causal_learn, ("dp",)),
    "pgmpy": (5, pgmpy, ()),
}
"""Name of each peer to the most variables it is given, its function and further arguments."""

LIBRARIES = {
    "plain": ["pyscipopt"],
    "causal_learn": ["causallearn.search.ScoreBased.ExactSearch"],
    "pgmpy": ["pgmpy.estimators"],
}
"""What each peer imports before its clock starts."""


def attempt(peer: str, problem: Problem, limit: float) -> Attempt | None:
    """Let a peer solve the problem, and end it at the limit; ``None``: the problem is not for it.

    The seconds leave out starting its process and its imports.
    """
    most, solve, arguments = PEERS[peer]
    if problem.n_variables > most:
        return None
    if solve is plain:
        arguments = (limit,)
    here, there = multiprocessing.Pipe()
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=_run, args=(there, solve, problem, arguments))
    process.start()
    there.close()
    try:
        told = here.recv() if here.poll(2 * limit + 30) else "no answer"
        if isinstance(told, float):
            told = (
                here.recv()
                if here.poll(limit + 10)
                else Attempt(limit, -np.inf, "time limit")
            )
    except EOFError:
        told = "died"
    process.kill()
    process.join()
    return told if isinstance(told, Attempt) else Attempt(0.0, -np.inf, str(told))


def _run(
    there: Connection,
    solve: Callable[..., tuple[float, str]],
    problem: Problem,
    arguments: Any,
) -> None:
    for library in LIBRARIES.get(solve.__name__, ()):
        import_module(library)
    there.send(time.monotonic())
    started = time.monotonic()
    try:
        score, told = solve(problem, *arguments)
    except Exception as error:
        score, told = -np.inf, f"{type(error).__name__}: {error}"[:80]
    there.send(Attempt(time.monotonic() - started, float(score), told))
