"""``exactlearn impute``: the missing cells of a table filled by models or a network."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from time import monotonic
from typing import Any, cast

from exactlearn._runtime.control import OnEvent
from exactlearn._runtime.files import suffix_of
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.commands.answer import Answer
from exactlearn.commands.artifacts import Artifacts, require_table_names, write_artifacts
from exactlearn.commands.declarations import Impute
from exactlearn.commands.output import Output, is_folder, require_suffix
from exactlearn.commands.pipeline import learning, load, load_for, with_chosen_ess
from exactlearn.data.dataset import Dataset
from exactlearn.errors import OptionError
from exactlearn.formats.models import NETWORKS, read_network
from exactlearn.formats.table import FORMATS as TABLES
from exactlearn.graphs.dag import named_parents
from exactlearn.imputation import MODES, Imputed, Imputer, Mode
from exactlearn.imputation.imputer import AVERAGING
from exactlearn.imputation.methods import METHODS
from exactlearn.reporting.report import (
    completion_record,
    completion_table,
    facts,
    number,
    shown_cells,
    size_in_words,
)

LOG_RATIO = "logarithm of the ratio of the probabilities of the value and the next best one, nats"


def run(options: Impute, output: Output) -> Answer:
    """Run the command."""
    _check(options, output)
    complete = _by_network if options.chosen_mode in MODES else _by_method
    answer = complete(options, output, monotonic())
    if output.path is not None:
        write_artifacts(answer, output)
        if is_folder(output.path):
            output.wrote(output.path)
    record = answer.record
    return Answer(record=record, tables=_tables(record), status=record["status"])


def completion(options: Impute, table: Dataset, on_event: OnEvent) -> Imputed:
    """Return what the command answers for a table that it learns from, too.

    Comparisons of imputers call this, so that they judge what users get.
    """
    options, _ = with_chosen_ess(table, options, lambda reason: None)
    if options.chosen_mode in MODES:
        return _fitted(options, table, on_event).imputed(table)
    return METHODS[options.chosen_mode](table, learning(table, options, on_event))


def _fitted(
    options: Impute, table: Dataset, on_event: OnEvent, given: BayesianNetwork | None = None
) -> Imputer:
    """Return the imputer of a mode, fitted to a table unless a network is given."""
    how = learning(table, options, on_event)
    return Imputer(cast(Mode, options.chosen_mode), how, given, options.draws).fit(table)


def _by_network(options: Impute, output: Output, begun: float) -> Artifacts:
    """Complete the table by a network: a given one, or one that an imputer learns."""
    mode, train = options.chosen_mode, options.train
    given = None if options.network is None else read_network(options.network)
    data = (
        load(options.source, options) if given is None else load_for(options.source, options, given)
    )
    require_table_names(output, data)
    learned_from = data if train is None else load(train, options)
    output.detail(size_in_words(data))
    options, choice = with_chosen_ess(learned_from, options, output.note)
    with output.progress_display(mode) as display:
        imputer = _fitted(options, learned_from, display, given)
    assert imputer.network is not None
    if train is not None:
        data = load_for(options.source, options, imputer.network)
    if data.is_complete:
        output.note(f"{options.source}: no cell is missing, so the table stays as it is")
    found = imputer.imputed(data)
    assert found.values is not None
    for name, weights in found.weights.items():
        shown = ", ".join(f"{component} {weight:.2f}" for component, weight in weights.items())
        output.detail(f"weights for {name}: {shown}")
    record = _record(mode, data, found, begun) | choice
    tables = imputer.transform_all(data) if mode == "multiple" else (data.complete(found.values),)
    return _artifacts(tables, found, imputer.network, record)


def _by_method(options: Impute, output: Output, begun: float) -> Artifacts:
    """Complete the table by a method of the registry."""
    data = load(options.source, options)
    require_table_names(output, data)
    output.detail(size_in_words(data))
    options, choice = with_chosen_ess(data, options, output.note)
    with output.progress_display(options.chosen_mode) as display:
        found = completion(options, data, display)
    if found.values is None and found.status == "interrupted":
        raise KeyboardInterrupt
    if found.values is None:
        raise OptionError(
            f"the time limit of {options.time_limit} s came before '{options.chosen_mode}' found "
            "any values; give it more time, or choose another method"
        )
    record = _record(options.chosen_mode, data, found, begun) | choice
    return _artifacts((data.complete(found.values),), found, found.network, record)


def _artifacts(
    tables: Sequence[Dataset],
    found: Imputed,
    network: BayesianNetwork | None,
    record: Mapping[str, Any],
) -> Artifacts:
    """Return what is written: no network where there is none, or several."""
    return Artifacts(
        names=tables[0].names,
        parents=() if network is None else found.parents or (),
        record=record,
        data=tables[0],
        problem=None,
        smoothing=0.0,
        fitted=network,
        drawn=tables,
    )


def _check(options: Impute, output: Output) -> None:
    """Refuse, before any work is done, what does not go together."""
    if options.network is not None and options.train is not None:
        raise OptionError("--train: a given --network is not learned; leave one of the two out")
    _check_method(options)
    if output.path is None or is_folder(output.path):
        return
    require_suffix(output.path, (*TABLES, ".json", *NETWORKS))
    if options.chosen_mode not in MODES and suffix_of(output.path) in NETWORKS:
        raise OptionError(
            f"--output {output.path}: '{options.chosen_mode}' estimates no network; write the "
            "table or .json"
        )
    if options.chosen_mode in AVERAGING and suffix_of(output.path) in NETWORKS:
        raise OptionError(
            f"--output {output.path}: '{options.chosen_mode}' has several networks; write the "
            "table or .json, or choose --mode posterior"
        )
    if options.chosen_mode == "multiple" and suffix_of(output.path) in TABLES:
        raise OptionError(
            f"--output {output.path}: 'multiple' draws several tables; name a folder for them"
        )


def _check_method(options: Impute) -> None:
    """Refuse, for a method of the registry, what is for an imputer that learns a network."""
    mode = options.chosen_mode
    unknown = {
        "--network": options.network is not None,
        "--train": options.train is not None,
        "--missingness": options.missingness == "learned",
    }
    for flag, is_given in unknown.items():
        if is_given and mode not in MODES:
            raise OptionError(
                f"{flag}: '{mode}' completes a table from that table alone; leave it out, or "
                f"choose one of {', '.join(MODES)}"
            )


def _record(mode: str, data: Dataset, found: Imputed, begun: float) -> dict[str, Any]:
    assert found.values is not None
    completion = completion_record(
        data,
        found.values.tolist(),
        losses=found.losses,
        probabilities=found.probabilities,
        probability="probability",
    )
    about_losses = {"loss_of_next_best": LOG_RATIO} if found.probabilities is not None else {}
    weights = {"weights": found.weights} if found.weights else {}
    return {
        "mode": mode,
        **weights,
        "status": found.status,
        "score": found.score,
        "seconds": monotonic() - begun,
        "parents": found.parents and named_parents(data.names, found.parents),
        "completion": completion,
        **about_losses,
    }


def _mean_weights(record: Mapping[str, Any]) -> str:
    """Return the weight of each component of a pool, mean over the variables."""
    every = list(record.get("weights", {}).values())
    means = {name: fmean(own[name] for own in every) for name in (every[0] if every else ())}
    heaviest_first = sorted(means, key=lambda name: -means[name])
    return ", ".join(f"{name} {means[name]:.2f}" for name in heaviest_first)


def _tables(record: Mapping[str, Any]) -> list[Any]:
    summary = facts(
        mode=record["mode"],
        mean_weights=_mean_weights(record),
        missing_cells=str(len(record["completion"])),
        score=number(record["score"]),
        seconds=number(record["seconds"], 2),
    )
    cells, left = shown_cells(record["completion"])
    if not cells:
        return [summary]
    return [summary, "", completion_table(cells), *left]
