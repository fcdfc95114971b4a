"""``exactlearn impute``: the missing cells of a table filled by models or a network."""

from time import monotonic
from typing import Any

from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.commands.answer import Answer
from exactlearn.commands.artifacts import Artifacts, require_table_names
from exactlearn.commands.declarations import Impute
from exactlearn.commands.output import Output, is_folder, require_suffix
from exactlearn.commands.pipeline import learning, load, load_for, with_chosen_ess
from exactlearn.data.dataset import Dataset
from exactlearn.errors import OptionError
from exactlearn.formats.models import NETWORKS, read_network
from exactlearn.formats.table import FORMATS as TABLES
from exactlearn.graphs.dag import named_parents
from exactlearn.imputation import MODES, Imputed, Imputer
from exactlearn.imputation.imputer import AVERAGING
from exactlearn.imputation.methods import METHODS
from exactlearn.reporting.records import completion_record, size_in_words

LOG_RATIO = "logarithm of the ratio of the probabilities of the value and the next best one, nats"


def run(options: Impute, output: Output) -> Answer:
    """Run the command."""
    method, begun = options.chosen_method, monotonic()
    _check(options, output)
    given = None if options.network is None else read_network(options.network)
    data = load_for(options.source, options, given) if given else load(options.source, options)
    require_table_names(output, data)
    output.detail(size_in_words(data))
    train = data if options.train is None else load(options.train, options)
    options, choice = with_chosen_ess(train, options, output.note)
    network: BayesianNetwork | None
    with output.progress_display(method) as display:
        how = learning(train, options, display)
        if method in MODES:
            imputer = Imputer(method, how, given, options.draws).fit(train)
            assert imputer.network is not None
            if options.train is not None:
                data = load_for(options.source, options, imputer.network)
            found, network = imputer.imputed(data), imputer.network
        else:
            found = METHODS[method](data, how)
            network = found.network
    if found.values is None and found.status == "interrupted":
        raise KeyboardInterrupt
    if found.values is None:
        raise OptionError(
            f"the time limit of {options.time_limit} s came before '{method}' found any values; "
            "give it more time, or choose another method"
        )
    if data.is_complete:
        output.note(f"{options.source}: no cell is missing, so the table stays as it is")
    record = _record(method, data, found) | choice | {"seconds": monotonic() - begun}
    tables: tuple[Dataset, ...] = (data.complete(found.values),)
    if method == "multiple":
        tables = imputer.transform_all(data)
    if output.path is not None:
        artifacts = Artifacts(
            names=data.names,
            parents=() if network is None else found.parents or (),
            record=record,
            data=tables[0],
            problem=None,
            smoothing=0.0,
            fitted=network,
            drawn=tables,
        )
        artifacts.write(output)
    return Answer(record=record, status=found.status)


def _record(method: str, data: Dataset, found: Imputed) -> dict[str, Any]:
    assert found.values is not None
    return {
        "method": method,
        **({"weights": found.weights} if found.weights else {}),
        "status": found.status,
        "score": found.score,
        "parents": found.parents and named_parents(data.names, found.parents),
        **({} if found.losses is None else {"loss_of_next_best": LOG_RATIO}),
        "completion": completion_record(
            data,
            found.values.tolist(),
            losses=found.losses,
            probabilities=found.probabilities,
            probability="probability",
        ),
    }


def _check(options: Impute, output: Output) -> None:
    """Refuse, before any work is done, what the method cannot do or write."""
    method = options.chosen_method
    for name in ("network", "train", "missingness"):
        if method not in MODES and options.is_given(name):
            raise OptionError(
                f"--{name}: '{method}' completes a table from that table alone; leave it out, or "
                f"choose one of {', '.join(MODES)}"
            )
    if output.path is None or is_folder(output.path):
        return
    with_network = method in MODES and method not in AVERAGING
    written = () if method == "multiple" else tuple(TABLES)
    require_suffix(output.path, (*written, ".json", *(NETWORKS if with_network else ())))
