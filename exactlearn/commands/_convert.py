"""What ``exactlearn convert`` does."""

from collections.abc import Callable
from pathlib import Path

from exactlearn._runtime.files import suffix_of
from exactlearn.commands.output import Output, is_folder, require_parent
from exactlearn.commands.pipeline import learning_problem, load
from exactlearn.commands.runs import Criterion, Reading, Search
from exactlearn.errors import OptionError
from exactlearn.formats.bif import read_bif, write_bif
from exactlearn.formats.pdg_json import read_pdg, write_pdg
from exactlearn.formats.scores import SCORES, is_score_file, read_scores, write_scores
from exactlearn.formats.table import TABLES, write_dataset
from exactlearn.instances import locate
from exactlearn.pdg.compile.compile import compile_network
from exactlearn.reporting.drawing import decision_graph_drawing, network_drawing
from exactlearn.reporting.plot import FIGURES, write_figure


def run(
    source: str, output: Output, reading: Reading, criterion: Criterion, search: Search
) -> None:
    """Run the command with its options, of which :mod:`exactlearn.commands.convert` tells."""
    if output.path is None or is_folder(output.path):
        raise OptionError("convert: expected the file to write, as in '-o scores.jkl'")
    path = locate(source, ".bif")
    kind, wanted = suffix_of(path), suffix_of(output.path)
    writers = _WRITERS.get(kind) or (
        dict.fromkeys(SCORES, _rewrite_scores)
        if is_score_file(path)
        else _table_writers(reading, criterion, search)
    )
    if wanted not in writers:
        raise OptionError(
            f"cannot write {path.name} as '{wanted}'; expected one of {', '.join(writers)}"
        )
    require_parent(output.path)
    writers[wanted](path, output.path)
    output.wrote(output.path)
    output.answer({"file": str(output.path)})


Writer = Callable[[Path, Path], None]


def _draw_network(source: Path, target: Path) -> None:
    network = read_bif(source)
    write_figure(network_drawing(network.names, network.parents), target)


def _draw_decision_graph(source: Path, target: Path) -> None:
    write_figure(decision_graph_drawing(read_pdg(source)), target)


_WRITERS: dict[str, dict[str, Writer]] = {
    ".bif": {
        ".bif": lambda source, target: write_bif(read_bif(source), target),
        ".pdg.json": lambda source, target: write_pdg(compile_network(read_bif(source)), target),
        **dict.fromkeys(FIGURES, _draw_network),
    },
    ".pdg.json": {
        ".pdg.json": lambda source, target: write_pdg(read_pdg(source), target),
        **dict.fromkeys(FIGURES, _draw_decision_graph),
    },
}


def _rewrite_scores(source: Path, target: Path) -> None:
    write_scores(read_scores(source), target)


def _table_writers(reading: Reading, criterion: Criterion, search: Search) -> dict[str, Writer]:
    def write_score_file(source: Path, target: Path) -> None:
        write_scores(learning_problem(load(source, reading), criterion, search), target)

    def write_table(source: Path, target: Path) -> None:
        write_dataset(load(source, reading), target)

    # '.parquet' after a table is a table.
    return {**dict.fromkeys(SCORES, write_score_file), **dict.fromkeys(TABLES, write_table)}
