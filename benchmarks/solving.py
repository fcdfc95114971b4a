"""Parent-set selection on instances with known optima, by all our solvers and free peers.

    python -m benchmarks.solving FOLDER [INSTANCE ...] --time-limit 60 -o results

FOLDER holds the files of local scores. Ours are wall seconds after compilation and reading; peers
(:mod:`benchmarks.peers`) get the same scores in a process of their own. A row gives the seconds of
each solver, or the gap it was left with, and the ratio of the best peer to our default solver.
With ``-o`` the table, the figures behind it and a cactus plot are written into a folder; published
seconds are drawn dashed there, from older hardware.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import click
import pyscipopt

from benchmarks.cactus import write_cactus
from benchmarks.instances import PUBLISHED, Known, small
from benchmarks.instances import instances as found
from benchmarks.measuring import machine
from benchmarks.peers import PEERS, Attempt, attempt
from exactlearn.errors import TooLargeError
from exactlearn.solvers import Problem, solve

OURS = ("auto", "scip", "order-graph", "dynamic", "ordering")
"""Our solvers."""


@dataclass(kw_only=True)
class Row:
    """One instance and what every solver did with it."""

    name: str
    problem: Problem
    known: Known
    attempts: dict[str, Attempt] = field(default_factory=dict)

    @property
    def ratio(self) -> str:
        """How many times longer than our default solver the fastest peer that solved it took."""
        ours = self.attempts.get("auto")
        times = [
            a.seconds for name, a in self.attempts.items() if name in PEERS and a.solved
        ]
        if ours is None or not ours.solved or not times:
            return "-"
        return f"{min(times) / max(ours.seconds, 0.001):.3g}"

    def line(self, solvers: Iterable[str]) -> str:
        """Return the row of the table."""
        best = max(
            (a.score for name, a in self.attempts.items() if name in OURS), default=0.0
        )
        cells = [
            self.name,
            str(self.problem.n_variables),
            str(self.problem.n_candidates),
        ]
        cells += [_cell(self.attempts.get(solver)) for solver in solvers]
        cells += [
            self.ratio,
            f"{best:.6f}",
            self.known.verdict(best),
            self.known.published,
        ]
        return "| " + " | ".join(cells) + " |"


def _cell(tried: Attempt | None) -> str:
    if tried is None:
        return "-"
    return f"{tried.seconds:.2f}" if tried.solved else tried.told


def ours(solver: str, problem: Problem, limit: float) -> Attempt | None:
    """Let one of our solvers solve the problem; ``None``: it refuses problems of that size."""
    try:
        result = solve(problem, solver=solver, time_limit=limit)
    except TooLargeError:
        return None
    gap = f"gap {result.gap:.2g} ({result.seconds:.0f} s)"
    return Attempt(
        result.seconds, result.score, "optimal" if result.status == "optimal" else gap
    )


def write_results(
    rows: list[Row], lines: list[str], solvers: list[str], folder: Path
) -> None:
    """Write the table, the figures and the cactus plot."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "table.md").write_text("\n".join(lines) + "\n")
    record = {
        row.name: {name: a._asdict() for name, a in row.attempts.items()}
        for row in rows
    }
    (folder / "attempts.json").write_text(json.dumps(record, indent=1))
    solved = {
        name: [
            r.attempts[name].seconds
            for r in rows
            if name in r.attempts and r.attempts[name].solved
        ]
        for name in solvers
    }
    published = {
        name: [s for row in rows for s in row.known.seconds[k : k + 1] if s is not None]
        for k, name in enumerate(PUBLISHED)
    }
    write_cactus(solved, published, folder / "cactus.svg")
    write_cactus(solved, published, folder / "cactus.png")


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("instances", nargs=-1)
@click.option(
    "--solvers", default="auto", help=f"of {', '.join((*OURS, *PEERS))}; 'all' for all"
)
@click.option("--time-limit", default=60.0, help="seconds for each instance and solver")
@click.option(
    "--output", "-o", type=click.Path(path_type=Path), help="folder for the results"
)
def main(
    folder: Path,
    instances: tuple[str, ...],
    solvers: str,
    time_limit: float,
    output: Path | None,
) -> None:
    """Print a table of the instances whose names begin as asked for; all when none is named."""
    asked = [*OURS, *PEERS] if solvers == "all" else solvers.split(",")
    head = [
        "instance",
        "n",
        "candidates",
        *asked,
        "ratio",
        "score",
        "optimum",
        "published",
    ]
    lines = [
        f"{machine()}, SCIP {pyscipopt.Model().version()}, limit {time_limit:g} s",
        "",
        "| " + " | ".join(head) + " |",
        "|" + " --- |" * len(head),
    ]
    click.echo("\n".join(lines))
    for solver in asked:
        if solver in OURS:
            ours(solver, small(), 5.0)
    rows = []
    for name, problem, known in found(folder, instances):
        row = Row(name=name, problem=problem, known=known)
        for solver in asked:
            run = ours if solver in OURS else attempt
            tried = run(solver, row.problem, time_limit)
            if tried is not None:
                row.attempts[solver] = tried
        rows.append(row)
        lines.append(row.line(asked))
        click.echo(lines[-1])
        if output is not None:
            write_results(rows, lines, asked, output)


if __name__ == "__main__":
    main()
