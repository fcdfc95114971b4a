"""``exactlearn warm-up``: compile the kernels of the commands on small bundled instances."""

from contextlib import chdir, redirect_stdout
from io import StringIO
from tempfile import TemporaryDirectory
from time import monotonic

import click

from exactlearn._runtime.compilation_notice import COMPILATIONS
from exactlearn.commands.declarations import WarmUp
from exactlearn.commands.output import Output, require_suffix
from exactlearn.errors import ExitStatus, OptionError, did_you_mean

RUNS: dict[str, tuple[str, ...]] = {
    "solve": (
        "solve asia-mnar-complete",
        "solve asia-mnar-complete --solver scip",
        "solve asia-mnar-complete --solver order-graph",
        "solve asia-mnar-complete --solver ordering",
        "solve asia-mnar-complete --solver kes --restarts 2",
        "solve asia-mnar-complete --scoring-time 1",
        "solve asia-mnar-complete --local-models best",
        "solve asia-mnar-complete --bootstrap 2",
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
    begun, before = monotonic(), COMPILATIONS.started
    with TemporaryDirectory() as folder, chdir(folder):
        for place, name in enumerate(chosen, 1):
            output.note(f"{place} of {len(chosen)}: {name} ...")
            for words in RUNS[name]:
                _run(*words.split())
    seconds, kernels = monotonic() - begun, COMPILATIONS.started - before
    record = {"seconds": seconds, "kernels": kernels, "commands": list(chosen)}
    output.save(record)
    output.answer(record, f"{kernels} kernels compiled in {seconds:.1f} s")


def _run(name: str, *words: str) -> None:
    """Run a command without its answer."""
    from exactlearn.commands.click_options import command

    listener = COMPILATIONS.listener
    work = command(name).main([*words, "-q"], standalone_mode=False)
    COMPILATIONS.listener = listener
    try:
        with redirect_stdout(StringIO()):
            work()
    except click.exceptions.Exit as ended:
        if ended.exit_code not in (ExitStatus.DONE, ExitStatus.LIMITED):
            raise
