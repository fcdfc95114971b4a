"""``python -m experiments TABLE``: run a table of a paper, ours beside the published figures."""

import argparse
import os
import sys
from pathlib import Path
from time import monotonic

from experiments.report import frame_of, printed, tables, write
from experiments.runner import Grid, Record, Run, grids, work

UNITS = {"s": 1, "m": 60, "h": 3600}


def seconds_of(text: str) -> float:
    """Return the seconds of ``90``, ``90s``, ``10m`` or ``2h``."""
    unit = UNITS.get(text[-1:])
    return float(text) if unit is None else float(text[:-1]) * unit


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    add = parser.add_argument
    add("table", nargs="*", help="tables of --list, or papers: all tables of each")
    add("--list", action="store_true", help="name all tables and figures")
    add("--repetitions", type=int, metavar="N", help="of each case (default: the grid's)")
    add("--seed", type=int, default=0, help="seed of the first repetition")
    add("--budget", type=seconds_of, metavar="TIME", help="such as 90s, 10m or 2h")
    add("--jobs", type=int, default=1, metavar="N", help="number of processes")
    add("--only", default="", metavar="TEXT", help="cases with this in their names")
    add("--methods", default="", metavar="A,B", help="these methods only")
    add("--full", action="store_true", help="cases that take long, too")
    add("-o", "--output", type=Path, metavar="FOLDER", help="where runs are kept, and resumed")
    data = os.environ.get("EXACTLEARN_DATA", "")
    text = "public data: folders uci, bif and lucas (or set EXACTLEARN_DATA)"
    add("--data-dir", default=data, metavar="FOLDER", help=text)
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return 0 once all runs are done, 3 when the budget left some out."""
    parser = _parser()
    options = parser.parse_args(arguments)
    known = grids()
    if options.list:
        for grid in known:
            print(f"{grid.name:24}{grid.content['shows']}")
        return 0
    for name in options.table:
        if name not in {part for grid in known for part in (grid.name, grid.module)}:
            parser.error(f"no table {name!r}; --list names them")
    chosen = [g for g in known if {g.name, g.module} & set(options.table)]
    if not chosen:
        parser.error("name a table; --list names them")
    deadline = None if options.budget is None else monotonic() + options.budget
    left = 0
    for k, grid in enumerate(chosen):
        share = None if deadline is None else max(0.0, deadline - monotonic()) / (len(chosen) - k)
        try:
            left += _table(grid, options, share)
        except FileNotFoundError as error:
            parser.error(str(error))
        except KeyboardInterrupt:
            return 130
    return 3 if left else 0


def _table(grid: Grid, options: argparse.Namespace, seconds: float | None) -> int:
    """Run and print a table; return how many runs are not done."""
    count = options.repetitions or grid.content["repetitions"]
    runs = list(
        grid.runs(
            options.data_dir,
            seeds=range(options.seed, options.seed + count),
            only=options.only,
            methods=list(filter(None, options.methods.split(","))),
            full=options.full,
        )
    )
    if not runs:
        raise SystemExit(
            f"{grid.name}: no case has {options.only!r} in its name, or no method fits"
        )
    folder: Path | None = options.output
    record = Record(None if folder is None else folder / f"{grid.name}.jsonl")
    try:
        work(runs, record, jobs=options.jobs, seconds=seconds, on_done=_told)
    finally:
        _shown(grid, runs, record, folder)
    left = len(record.left(runs))
    if left:
        print(f"{grid.name}: {left} of {len(runs)} runs are not done", file=sys.stderr)
    return left


def _told(run: Run) -> None:
    print(f"{run.case}, {run.arguments['seed']}: {run.arguments['method']}", file=sys.stderr)


def _shown(grid: Grid, runs: list[Run], record: Record, folder: Path | None) -> None:
    """Print what is done, and write it."""
    frame = frame_of(grid, runs, record)
    if frame.empty:
        return
    found = tables(grid, frame)
    parts = [f"{title}\n{printed(grid, table)}".lstrip("\n") for title, table in found.items()]
    text = "\n\n".join(
        [f"{grid.name}: {grid.content['shows']}", *parts, *grid.content.get("notes", ())]
    )
    print(text)
    if folder is not None:
        write(folder, grid, text + "\n", found, frame)


if __name__ == "__main__":
    sys.exit(main())
