"""``exactlearn impute``: the missing cells of a table filled by a network."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from exactlearn._runtime.files import suffix_of
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.commands.artifacts import require_table_names
from exactlearn.commands.declarations import Impute
from exactlearn.commands.output import Output, is_folder, require_suffix, write_json
from exactlearn.commands.pipeline import learning, load, load_for
from exactlearn.commands.search import leave
from exactlearn.data.dataset import Dataset
from exactlearn.errors import OptionError
from exactlearn.formats.models import NETWORKS, read_network, write_model
from exactlearn.formats.table import FORMATS as TABLES
from exactlearn.formats.table import write_dataset
from exactlearn.imputation import Imputed, Imputer, Mode
from exactlearn.instances import locate
from exactlearn.reporting.report import (
    completion_record,
    facts,
    named_parents,
    number,
    plain_table,
    shown_cells,
    size_in_words,
)


def run(options: Impute, output: Output) -> None:
    """Run the command."""
    mode, train = options.mode, options.train
    _check(options, output)
    given = None if options.network is None else read_network(locate(options.network, ".bif"))
    path = locate(options.source, ".csv")
    data = load(path, options) if given is None else load_for(path, options, given)
    require_table_names(output, data)
    learned_from = data if train is None else load(locate(train, ".csv"), options)
    output.detail(size_in_words(data))
    begun = monotonic()
    with output.progress_display(mode) as display:
        how = learning(learned_from, options, display, options.missingness)
        imputer = Imputer(mode, how, given, options.draws).fit(learned_from)
    assert imputer.network is not None
    if train is not None:
        data = load_for(path, options, imputer.network)
    if data.is_complete:
        output.note(f"{path.name}: no cell is missing, so the table stays as it is")
    found = imputer.imputed(data)
    answer = _Answer(
        imputer.transform_all(data), imputer.network, _record(mode, data, found, begun)
    )
    _write(answer, output)
    output.answer(answer.record, *_tables(answer.record))
    leave(found.status)


@dataclass(frozen=True, eq=False)
class _Answer:
    """The completed tables with what they come from."""

    tables: Sequence[Dataset]
    network: BayesianNetwork
    record: Mapping[str, Any]


def _check(options: Impute, output: Output) -> None:
    """Refuse, before any work is done, what does not go together."""
    if options.network is not None and options.train is not None:
        raise OptionError("--train: a given --network is not learned; leave one of the two out")
    if output.path is None or is_folder(output.path):
        return
    require_suffix(output.path, (*TABLES, ".json", ".bif"))
    if options.mode == "averaged" and suffix_of(output.path) in NETWORKS:
        raise OptionError(
            f"--output {output.path}: 'averaged' has several networks; write the table or .json"
        )
    if options.mode == "multiple" and suffix_of(output.path) in TABLES:
        raise OptionError(
            f"--output {output.path}: 'multiple' draws several tables; name a folder for them"
        )


def _record(mode: Mode, data: Dataset, found: Imputed, begun: float) -> dict[str, Any]:
    assert found.values is not None
    assert found.probabilities is not None
    completion = completion_record(data, found.values.tolist())
    likely = found.probabilities[range(len(completion)), found.values].tolist()
    for cell, probability in zip(completion, likely, strict=True):
        cell["probability"] = probability
    return {
        "mode": mode,
        "status": found.status,
        "score": found.score,
        "seconds": monotonic() - begun,
        "parents": found.parents and named_parents(data.names, found.parents),
        "completion": completion,
    }


def _write(answer: _Answer, output: Output) -> None:
    path = output.path
    if path is None:
        return
    if is_folder(path):
        path.mkdir(parents=True, exist_ok=True)
        _write_tables(answer.tables, path)
        write_json(answer.record, path / "result.json")
        if answer.record["parents"] is not None:
            write_model(answer.network, path / "network.bif")
    elif suffix_of(path) == ".json":
        write_json(answer.record, path)
    elif suffix_of(path) in NETWORKS:
        write_model(answer.network, path)
    else:
        write_dataset(answer.tables[0], path)
    output.wrote(path)


def _write_tables(tables: Sequence[Dataset], folder: Path) -> None:
    if len(tables) == 1:
        write_dataset(tables[0], folder / "completed.csv")
        return
    width = len(str(len(tables)))
    for k, table in enumerate(tables, start=1):
        write_dataset(table, folder / f"completed-{k:0{width}}.csv")


def _tables(record: Mapping[str, Any]) -> list[Any]:
    summary = facts(
        mode=record["mode"],
        missing_cells=str(len(record["completion"])),
        score=number(record["score"]),
        seconds=number(record["seconds"], 2),
    )
    cells, left = shown_cells(record["completion"])
    if not cells:
        return [summary]
    rows = ((str(c["row"]), c["variable"], c["value"], number(c["probability"])) for c in cells)
    columns = ("row", "variable", "value", "probability")
    return [summary, "", plain_table(columns, rows, right=("row", "probability")), *left]
