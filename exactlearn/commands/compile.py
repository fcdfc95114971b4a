"""``exactlearn compile``: a network as a probabilistic decision graph."""

import click

from exactlearn.commands.options import output_options, seed_option
from exactlearn.commands.output import (
    FIGURES,
    Output,
    is_folder,
    require_parent,
    suffix_of,
    write_json,
)
from exactlearn.errors import OptionError
from exactlearn.formats.atomic import atomic_write
from exactlearn.formats.bif import read_bif
from exactlearn.formats.pdg_json import write_pdg
from exactlearn.instances import locate
from exactlearn.pdg.compile import Compilation, compile_and_check
from exactlearn.plot import decision_graph_drawing, draw
from exactlearn.report import compilation_record, compilation_table


@click.command("compile")
@click.argument("source", metavar="NETWORK.bif")
@output_options
@click.option("--root", metavar="NAME", help="Variable that becomes a root; else many are tried.")
@seed_option
def command(source: str, output: Output, root: str | None, seed: int) -> None:
    """Compile a network to the smallest decision graph found, and compare the two.

    The network is a BIF file or the name of a bundled one. -o writes the graph (.pdg.json), its
    record (.json) or its figure (.svg, .png, .pdf, .dot). max_error is the largest relative
    difference of probabilities over 2000 drawn rows.
    """
    _require_writable(output)
    compiled = compile_and_check(read_bif(locate(source, ".bif")), root=root, seed=seed)
    record = compilation_record(compiled)
    if output.path is not None:
        _write(compiled, output)
    output.answer(record, compilation_table(record))
    if compiled.message:
        output.note(compiled.message)


def _require_writable(output: Output) -> None:
    if output.path is None:
        return
    if is_folder(output.path) or suffix_of(output.path) not in (".json", *FIGURES):
        raise OptionError(
            f"--output {output.path}: expected a file name ending in .pdg.json, .json, "
            f"{', '.join(FIGURES)}"
        )
    require_parent(output.path)


def _write(compiled: Compilation, output: Output) -> None:
    path = output.path
    assert path is not None
    if path.name.lower().removesuffix(".gz").endswith(".pdg.json"):
        write_pdg(compiled.graph, path)
    elif suffix_of(path) == ".json":
        write_json(compilation_record(compiled), path)
    else:
        atomic_write(path, draw(decision_graph_drawing(compiled.graph), suffix_of(path)))
    output.wrote(path)
