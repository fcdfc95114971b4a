"""``exactlearn compile``: a network as a probabilistic decision graph."""

from pathlib import Path

import click

from exactlearn.commands.options import output_options, seed_option
from exactlearn.commands.output import Output, require_suffix, write_json
from exactlearn.drawing import decision_graph_drawing
from exactlearn.formats.bif import read_bif
from exactlearn.formats.pdg_json import write_pdg
from exactlearn.formats.text_file import suffix_of
from exactlearn.instances import locate
from exactlearn.pdg.compile import Compilation, compile_and_check
from exactlearn.plot import FIGURES, write_figure
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
    require_suffix(output.path, (".pdg.json", ".json", *FIGURES))
    compiled = compile_and_check(read_bif(locate(source, ".bif")), root=root, seed=seed)
    record = compilation_record(compiled)
    if output.path is not None:
        _write(compiled, output.path)
        output.wrote(output.path)
    output.answer(record, compilation_table(record))
    if compiled.message:
        output.note(compiled.message)


def _write(compiled: Compilation, path: Path) -> None:
    if suffix_of(path) == ".pdg.json":
        write_pdg(compiled.graph, path)
    elif suffix_of(path) == ".json":
        write_json(compilation_record(compiled), path)
    else:
        write_figure(decision_graph_drawing(compiled.graph), path)
