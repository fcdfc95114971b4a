"""Parent-set selection as an integer program that other solvers read: LP, MPS and SCIP's CIP.

    max  sum_c s_c x_c     sum over the candidates of v of x_c = 1  for every variable v
                           p_u + 1 <= p_v + n (1 - sum of the x_c of v that have the parent u)

``x3_0_5`` is 1 when variable 3 has the parents 0 and 5, and ``x3`` when it has none; the first
variable of the scores is 0. ``p3`` is the position of variable 3 in an order that all arcs follow
(Miller, Tucker and Zemlin 1960). Cluster inequalities, which bound far better, are too many.
"""

from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from exactlearn._runtime.files import atomic_write, suffix_of
from exactlearn.formats.score_table import writable_problem
from exactlearn.solvers.problem import Problem

SUFFIXES = (".lp", ".mps", ".cip")
"""Suffixes of the formats."""


def write_program(problem: Problem, path: Path) -> None:
    """Write the candidates that the constraints allow as an integer program, in one step.

    Raises
    ------
    OptionError, InfeasibleError
        When the problem is not one of candidates alone, or the file cannot be written.
    """
    from pyscipopt import Model, quicksum  # takes long to import

    problem = writable_problem(problem)
    n, model = problem.n_variables, Model("parent_sets")
    positions = [model.addVar(f"p{v}", lb=0, ub=n - 1) for v in range(n)]
    chosen, with_arc = [], defaultdict(list)
    for v, stretch in enumerate(pairwise(problem.first.tolist())):
        for c in range(*stretch):
            parents = problem.parent_set(c)
            name = "_".join(map(str, (v, *parents)))
            chosen.append(model.addVar(f"x{name}", vtype="B", obj=float(problem.scores[c])))
            for parent in parents:
                with_arc[parent, v].append(chosen[-1])
        model.addCons(quicksum(chosen[slice(*stretch)]) == 1)
    for (parent, child), candidates in with_arc.items():
        model.addCons(positions[parent] - positions[child] + n * quicksum(candidates) <= n - 1)
    model.setMaximize()
    with TemporaryDirectory() as folder:
        written = Path(folder) / f"program{suffix_of(path)}"
        model.writeProblem(str(written), verbose=False)
        atomic_write(path, written.read_bytes())
