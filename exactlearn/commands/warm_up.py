"""``exactlearn warm-up``: compile the kernels of the commands on small bundled instances."""

import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from tempfile import TemporaryDirectory
from time import monotonic

import click

from exactlearn._runtime.compilation_notice import COMPILATIONS
from exactlearn.commands.declarations import WarmUp
from exactlearn.commands.output import Output, require_suffix
from exactlearn.errors import ExitStatus, OptionError, did_you_mean
from exactlearn.reporting.report import plain_table

RUNS: dict[str, tuple[str, ...]] = {
    "solve": (
        "solve asia-mnar-complete",
        "solve asia-mnar-complete --solver scip",
        "solve asia-mnar-complete --solver order-graph",
        "solve asia-mnar-complete --solver ordering",
        "solve asia-mnar-complete --solver kes --restarts 2",
        "solve asia-mnar-complete --scoring-time 1",
        "solve asia-mnar-complete --local-models best",
        "solve cancer-mcar",
    ),
    "augment": (
        "augment cancer-mcar --method t-local",
        "augment cancer-mcar --method branching",
        "augment cancer-mcar --method exact",
    ),
    "impute": (
        "impute cancer-mcar",
        "impute cancer-mcar --mode mpe",
        "impute cancer-mcar --mode multiple -o drawn",
    ),
    "fit": ("fit cancer cancer-mcar", "fit cancer cancer-mcar --method d-mcar"),
    "learn-nb": ("learn-nb cancer-mcar -o model.nb.json",),
    "compile": ("compile asia -o model.pdg.json", "compile lucas -o lucas.pdg.json"),
    "learn-pdg": (
        "learn-pdg cancer-mcar-complete -o direct.pdg.json",
        "learn-pdg cancer-mcar -o em.pdg.json",
        "learn-pdg cancer-mcar --method available -o available.pdg.json",
    ),
    "query": (
        "query asia --evidence smoke=yes --target lung",
        "compile asia -o asked.pdg.json",
        "query asked.pdg.json --evidence smoke=yes --target lung",
    ),
    "simulate": ("simulate asia --rows 50 --hide mcar:0.1 -o drawn.csv",),
    "evaluate": ("evaluate cancer cancer-mcar",),
    "graph": ("graph asia",),
    "missingness": ("missingness cancer-mcar",),
    "compare": ("compare cancer-mcar --methods mode,structural-em",),
}
"""For each command that has kernels the runs that compile them."""


def run(options: WarmUp, output: Output) -> None:
    """Run the command."""
    require_suffix(output.path, (".json",))
    for name in options.names:
        if name not in RUNS:
            raise OptionError(f"no command {name!r} has kernels{did_you_mean(name, RUNS)}")
    chosen = options.names or tuple(RUNS)
    rows, begun = [], monotonic()
    with TemporaryDirectory() as folder, chdir(folder):
        for place, name in enumerate(chosen, 1):
            output.note(f"{place} of {len(chosen)}: {name} ...")
            started, before = monotonic(), COMPILATIONS.started
            for words in RUNS[name]:
                _run(*words.split())
            rows.append((name, monotonic() - started, COMPILATIONS.started - before))
    seconds, kernels = monotonic() - begun, sum(row[2] for row in rows)
    record = {
        "seconds": seconds,
        "kernels": kernels,
        "commands": [{"name": n, "seconds": s, "kernels": k} for n, s, k in rows],
    }
    shown = plain_table(
        ("command", "seconds", "kernels compiled"), ((n, f"{s:.1f}", str(k)) for n, s, k in rows)
    )
    total = (
        f"{kernels} kernels compiled in {seconds:.1f} s"
        if kernels
        else (f"All kernels were compiled before; looked in {seconds:.1f} s")
    )
    output.save(record)
    output.answer(record, shown, total)


def _run(name: str, *words: str) -> None:
    """Run a command without a word, but for that of an error."""
    from exactlearn.commands.click_options import command

    listener, said = COMPILATIONS.listener, StringIO()
    work = command(name).main([*words, "-q"], standalone_mode=False)
    COMPILATIONS.listener = listener
    try:
        with redirect_stdout(said), redirect_stderr(said):
            work()
    except click.exceptions.Exit as ended:
        if ended.exit_code not in (ExitStatus.DONE, ExitStatus.LIMITED):
            sys.stderr.write(said.getvalue())
            raise
