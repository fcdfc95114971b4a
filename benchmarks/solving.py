"""Parent-set selection on instances with known optima, next to published times and a plain model.

    python -m benchmarks.solving FOLDER [INSTANCE ...] --time-limit 60 --plain-limit 30

FOLDER holds the files of local scores. Ours are wall seconds of a quiet machine, one thread, after
compilation and reading. The plain model is what one writes first: the same 0/1 variables, and a
position of each variable in the order (Miller, Tucker and Zemlin) instead of cluster inequalities,
solved by the same SCIP with its own settings. The published seconds are those of the algorithm
selection scenario BNSL-2016 (A*, CPBayes, GOBNILP 1.4.1, GOBNILP 1.6.2; older machines, limit
7200 s, TO: not solved); they are context, no comparison in one run.
"""

import time
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
from pyscipopt import Model, quicksum

from benchmarks.measuring import machine
from exactlearn.formats.jkl import read_jkl
from exactlearn.solvers import Problem, solve


class Known(NamedTuple):
    """What is known of an instance; the optimum is ``None`` where it is open."""

    optimum: float | None
    published: str = ""


INSTANCES = {
    "survey-5000.jkl.gz": Known(-19710.916),
    "asia_10000_bdeu-1-3.jkl.gz": Known(-22466.396546),
    "abalone_BIC.txt.gz": Known(-16171.192325),
    "wine.BIC.3.jkl.gz": Known(-1258.445909),
    "zoo_BIC.txt.gz": Known(-773.486072),
    "child-5000.jkl.gz": Known(-62059.5035),
    "insurance-5000.jkl.gz": Known(-68053.1412),
    "insurance_1000_bdeu-10-3.jkl.gz": Known(-13746.496184, "27 / 84 / 11 / 6.6"),
    "insurance_1000_bdeu-100-2.jkl.gz": Known(-14812.018606, "15 / 75 / 44 / 42"),
    "insurance_1000_bdeu-100-3.jkl.gz": Known(-14365.628776, "38 / 161 / 1740 / 4346"),
    "mildew_1000_bdeu-100-2.jkl.gz": Known(-49391.576705, "115 / 33 / 1.2 / 1.2"),
    "alarm_1000_bic.jkl.gz": Known(-11783.052412, "18 / 367 / 2.2 / 3.5"),
    "alarm_1000_bdeu-1-3.jkl.gz": Known(-11240.347093, "23 / 737 / 5.8 / 5.1"),
    "alarm_10000_bdeu-1-2.jkl.gz": Known(-105486.499123, "191 / 1623 / 48 / 39"),
    "alarm_1000_bdeu-10-3.jkl.gz": Known(-11165.098321, "86 / TO / 209 / 99"),
    "alarm_10000_bdeu-1-3.jkl.gz": Known(-105226.511917, "516 / 639 / 621 / 147"),
    "alarm_10000_bdeu-10-3.jkl.gz": Known(None, "TO / TO / TO / 1415"),
    "alarm_1000_bdeu-100-2.jkl.gz": Known(None, "28 / TO / 855 / 2374"),
    "barley-5000.jkl.gz": Known(-294944.9522),
    "hailfinder-5000.jkl.gz": Known(-252358.1055),
    "hailfinder_100_bdeu-1-4.jkl.gz": Known(-5802.373903, "TO / TO / 22 / 17"),
    "hailfinder_100_bdeu-100-2.jkl.gz": Known(None, "TO / TO / 450 / 869"),
    "pathfinder-5000.jkl.gz": Known(None),
    "munin1-5000.jkl.gz": Known(-230117.88),
    "diabetes-5000.jkl.gz": Known(None),
    "pigs-5000.jkl.gz": Known(None),
    "link-5000.jkl.gz": Known(None),
}


def plain_model(problem: Problem, limit: float) -> tuple[float, str]:
    """Solve with positions in an order instead of cluster inequalities; return seconds, gap."""
    n, started = problem.n_variables, time.monotonic()
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
    told = "optimal" if solved else f"gap {100 * (bound - score) / abs(score):.3g} %"
    return time.monotonic() - started, told


def verdict(score: float, optimum: float | None) -> str:
    """Compare a score with the known optimum."""
    if optimum is None:
        return "open"
    return "yes" if abs(score - optimum) <= 1e-6 * abs(optimum) else f"off by {score - optimum:.3g}"


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("instances", nargs=-1)
@click.option("--solver", default="auto", help="auto, scip or dynamic")
@click.option("--time-limit", default=60.0, help="seconds for each instance")
@click.option("--plain-limit", default=0.0, help="seconds for the plain model; 0 leaves it out")
def main(
    folder: Path, instances: tuple[str, ...], solver: str, time_limit: float, plain_limit: float
) -> None:
    """Print a table of the instances whose names begin as asked for; all when none is named."""
    click.echo(machine())
    click.echo("instance | n | candidates | seconds | status | gap % | optimum | plain | published")
    for warming in ("scip", "dynamic"):
        solve(read_jkl(folder / "wine.BIC.3.jkl.gz"), solver=warming)
    for name, known in INSTANCES.items():
        if instances and not name.startswith(instances):
            continue
        problem = read_jkl(folder / name)
        result = solve(problem, solver=solver, time_limit=time_limit)
        plain = "-"
        if plain_limit:
            seconds, told = plain_model(problem, plain_limit)
            plain = f"{seconds:.1f} s, {told}"
        click.echo(
            f"{name.split('.')[0]} | {problem.n_variables} | {problem.n_candidates} | "
            f"{result.seconds:.2f} | {result.status} | {100 * result.gap:.2g} | "
            f"{verdict(result.score, known.optimum)} | {plain} | {known.published or '-'}"
        )


if __name__ == "__main__":
    main()
