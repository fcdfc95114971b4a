"""Posterior queries on models of any language: of one case by names, or of each row of a table.

How the posteriors of rows are computed: :mod:`exactlearn.queries.row_marginals`.
"""

from collections.abc import Sequence
from math import exp, inf, prod
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import checked_arguments, named
from exactlearn._runtime.executors import n_threads
from exactlearn._runtime.variable_arguments import name_of
from exactlearn.bayesnet.answers import (
    Answer,
    Classification,
    Evidence,
    TableAnswer,
)
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.bayesnet.row_completion import prepared
from exactlearn.bayesnet.variable_elimination import (
    eliminate_to_joint,
    plan_elimination,
)
from exactlearn.data.alignment import aligned_codes
from exactlearn.data.codes import MISSING
from exactlearn.data.dataset import Dataset, DatasetLike, unknown_columns
from exactlearn.data.labels import label_of
from exactlearn.data.unseen import Unseen
from exactlearn.errors import DataError, OptionError, TooLargeError
from exactlearn.pdg.inference.flows import (
    condition,
    log_likelihood_rows,
)
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.queries.interventions import mutilated_network
from exactlearn.queries.model_graphs import (
    GRAPHS,
    Answering,
    Model,
    as_answering,
    as_graph,
)
from exactlearn.queries.row_marginals import is_affordable, marginals

if TYPE_CHECKING:
    pass

ModelLike = Model | Any
"""A model, or a result that has one, see :data:`~exactlearn.data.dataset.DatasetLike`."""

MAX_JOINT = 1_000_000
"""Most configurations of a joint posterior."""


@checked_arguments(model=as_answering)
def query(
    model: ModelLike,
    evidence: Evidence | Any = None,
    targets: str | Sequence[str] | None = None,
    *,
    do: Evidence | Any = None,
) -> Answer:
    """Return the exact posterior marginals of the targets given the evidence.

    Parameters
    ----------
    model
        A posterior over networks answers by the average over drawn ones. A network is queried by
        elimination; where that needs large tables, of one target after the
        other, with the tables along a frontier only. Where there are many targets, or these tables
        are large, too, the ancestors of the targets and of the evidence are compiled, once.
        Compile it yourself to make all queries faster. A naive Bayes model answers for its observed
        variables.
    evidence
        For each observed variable its state. A number stands for the state of that name, or for the
        bin that holds it.
    targets
        Target variables, or one; all without evidence when left out.
    do
        Variables of a network that are set by intervention, with their states: their parents do
        not matter then, and evidence is what is observed after it
        (:func:`~exactlearn.queries.interventions.mutilated_network`). The answer is one of causes
        where arcs are, and no hidden common causes are there.

    Raises
    ------
    OptionError
        If a variable or state is unknown, where near names are offered; a variable is both
        observed and set; or an intervention is on a model that is no network.
    DataError
        If the evidence has probability zero.
    TooLargeError
        If a network is too large for both.

    Examples
    --------
    >>> import exactlearn as el
    >>> network = el.read_network("asia")
    >>> el.query(network, {"smoke": "yes", "dysp": "yes"}, "bronc")
    Answer(bronc: yes 0.8802, no 0.1198; P(evidence) 0.2764)
    >>> el.query(network, {"dysp": "yes"}, "smoke", do={"bronc": "yes"})
    Answer(smoke: yes 0.5028, no 0.4972; P(evidence) 0.8065)
    """
    evidence = evidence or {}
    do = do or {}
    for name in evidence.keys() & do.keys():
        raise OptionError(
            f"variable {name!r} is set by 'do' and stands in the evidence, too: leave it out of one"
            " of them"
        )
    if do:
        model = mutilated_network(model, do)
    states = {**evidence, **do}
    # A query is that of a table with one row.
    codes = coded_evidence(model, states)
    if targets is None:
        targets = [name for name in model.names if name not in states]
    variables = [model.index(name) for name in targets]
    posteriors, (log_probability,) = marginals(model, codes[None], variables, 1)
    if log_probability == -inf:
        refuse_evidence(evidence, do)
    answers = {}
    for v, (posterior,) in zip(variables, posteriors, strict=True):
        probabilities = zip(model.states[v], posterior.tolist(), strict=True)
        answers[model.names[v]] = dict(probabilities)
    observed = np.flatnonzero(codes >= 0).tolist()
    return Answer(
        posterior=answers,
        probability_of_evidence=exp(log_probability),
        log_probability_of_evidence=float(log_probability),
        evidence={model.names[v]: {model.states[v][codes[v]]: 1.0} for v in observed},
        model=model,
        do=dict(do),
    )


@checked_arguments()
def joint_posterior(
    model: ModelLike,
    evidence: Evidence | None,
    targets: str | Sequence[str],
) -> NDArray[np.float64]:
    """Return the exact joint distribution of some variables given the evidence.

    Parameters
    ----------
    model, evidence
        As for :func:`query`.
    targets
        Any variables, each once.

    Returns
    -------
    Probabilities, one axis per variable in the order given, its states in the model's order.

    Raises
    ------
    OptionError
        If a variable or state is unknown, or a variable is named twice.
    DataError
        If the evidence has probability zero.
    TooLargeError
        If the variables have more than a million configurations, or a network's decision graph
        would be too large.

    Examples
    --------
    >>> import exactlearn as el
    >>> network = el.read_network("asia")
    >>> el.queries.joint_posterior(network, {"dysp": "yes"}, ["lung", "bronc"]).round(4).tolist()
    [[0.065, 0.0377], [0.7689, 0.1283]]
    """
    variables = [model.index(name) for name in targets]
    if len(set(variables)) < len(variables):
        raise OptionError(f"joint of {', '.join(targets)}: name each variable once")
    shape = tuple(int(model.cardinalities[v]) for v in variables)
    n_configurations = prod(shape)
    if n_configurations > MAX_JOINT:
        raise TooLargeError(
            f"the joint of {len(variables)} variables has {n_configurations:,} configurations, the"
            f" limit is {MAX_JOINT:,}: ask for fewer variables, for the most probable"
            " configurations, or draw samples"
        )
    if isinstance(model, BayesianNetwork) and model not in GRAPHS:
        joint = _eliminated_joint(model, evidence, variables)
        if joint is not None:
            return joint
    # The probability of each configuration of the targets, as of a row.
    graph = conditional(model, evidence)
    rows = np.full((n_configurations, graph.n_variables), MISSING, np.int16)
    states = np.indices(shape).reshape(len(shape), n_configurations)
    rows[:, variables] = states.T
    probabilities = np.exp(log_likelihood_rows(graph, rows))
    return np.minimum(probabilities, 1.0).reshape(shape)


def _eliminated_joint(
    model: BayesianNetwork,
    evidence: Evidence | None,
    targets: Sequence[int],
) -> NDArray[np.float64] | None:
    """Return the joint posterior by variable elimination; nothing where that is too large."""
    codes = coded_evidence(model, evidence)
    unobserved = [v for v in targets if codes[v] < 0]
    # The order of elimination says beforehand how large the tables become.
    plan = plan_elimination(prepared(model), codes, unobserved)
    if not is_affordable([plan]):
        return None
    network = prepared(model)
    joint, log_probability = eliminate_to_joint(network, codes, unobserved, plan)
    if log_probability == -inf:
        refuse_evidence(evidence or {})
    # An observed target has its probability at its state.
    answer = np.zeros(model.cardinalities[list(targets)])
    places: list[Any] = []
    for v in targets:
        places.append(slice(None) if v in unobserved else codes[v])
    answer[tuple(places)] = joint
    return answer


@checked_arguments(model=as_answering)
def query_rows(
    model: ModelLike,
    dataset: DatasetLike,
    targets: str | Sequence[str] | None = None,
    *,
    threads: int | None = None,
    unseen: Unseen = "refuse",
) -> TableAnswer:
    """Return the posterior marginals of the targets given the observed cells of each row.

    Parameters
    ----------
    model
        A network is compiled, or queried by elimination where that is quick, as for rows with few
        missing cells, or where its decision graph is too large.
    dataset
        Variables and states are matched by name. A variable of the model that is no column counts
        as missing in every row.
    targets
        Target variables; all when left out.
    threads
        Number of threads; all cores when left out.
    unseen
        What becomes of a state that the model does not know: ``"refuse"`` raises, ``"missing"``
        counts it as missing, with one warning.

    Raises
    ------
    OptionError
        If a target is unknown; near names are offered.
    DataError
        If a row has a state that the model does not know, or no column is a variable of the model.

    Examples
    --------
    >>> import exactlearn as el
    >>> asia, table = el.read_network("asia"), el.read_dataset("asia-mnar")
    >>> answer = el.query_rows(asia, table, ["lung", "xray"])
    >>> answer.to_frame().head(3).round(3)
    variable lung      xray
    state     yes   no  yes   no
    0         0.0  1.0  0.0  1.0
    1         0.0  1.0  0.0  1.0
    2         0.0  1.0  0.0  1.0
    """
    names = model.names if targets is None else targets
    variables = [model.index(name) for name in names]
    codes = _codes(model, dataset, unseen)
    posteriors, logs = marginals(model, codes, variables, n_threads(threads))
    return TableAnswer(
        names=tuple(names),
        states=tuple(model.states[v] for v in variables),
        posteriors=posteriors,
        log_probability_of_evidence=logs,
        row_index=dataset.row_index,
    )


@checked_arguments(model=as_answering, name=named(name_of))
def classify(
    model: ModelLike,
    dataset: DatasetLike,
    name: str,
    *,
    threads: int | None = None,
    unseen: Unseen = "refuse",
) -> Classification:
    """Return the posterior of one variable given the other observed cells of each row.

    Parameters
    ----------
    model, threads, unseen
        As for :func:`query_rows`.
    dataset
        As for :func:`query_rows`; the class may be a column, which is hidden from the model.
    name
        The class.

    Raises
    ------
    OptionError, DataError
        As :func:`query_rows` does.

    Examples
    --------
    >>> import exactlearn as el
    >>> classes = el.classify(el.read_network("asia"), el.read_dataset("asia-mnar"), "lung")
    >>> classes.accuracy, round(classes.log_loss, 4)
    (1.0, 0.0008)
    >>> classes.to_frame().head(2)
    lung  yes   no predicted
    0     0.0  1.0        no
    1     0.0  1.0        no
    """
    variable = model.index(name)
    codes = _codes(model, dataset, unseen)
    # The model must not see the class.
    labels = codes[:, variable].astype(np.int64)
    codes[:, variable] = MISSING
    (posterior,), logs = marginals(model, codes, [variable], n_threads(threads))
    # The posterior of an impossible row is NaN.
    most_probable = np.nan_to_num(posterior).argmax(axis=1)
    predicted = np.where(np.isfinite(logs), most_probable, -1)
    return Classification(
        name=name,
        states=model.states[variable],
        posterior=posterior,
        predicted=predicted,
        labels=labels,
        weights=dataset.row_weights,
        row_index=dataset.row_index,
    )


def _codes(model: Answering, dataset: Dataset, unseen: Unseen) -> NDArray[np.int16]:
    """Return the rows in the model's codes; a variable without a column is missing."""
    columns = set(dataset.names)
    variables = [v for v, name in enumerate(model.names) if name in columns]
    if not variables:
        raise unknown_columns(dataset.names, model.names)
    codes = np.full((dataset.n_rows, model.n_variables), MISSING, np.int16)
    # Columns and their states stand in the order of the model.
    names = [model.names[v] for v in variables]
    states = [model.states[v] for v in variables]
    codes[:, variables] = aligned_codes(dataset, names, states, unseen)
    return codes


def coded_evidence(model: Answering, evidence: Evidence | None) -> NDArray[np.int16]:
    """Return the state of each observed variable, -1 elsewhere, shape (variables,).

    Raises
    ------
    OptionError
        If a variable or state is unknown; near names are offered.
    """
    codes = np.full(model.n_variables, MISSING, np.int16)
    for name, state in (evidence or {}).items():
        variable = model.index(name)
        codes[variable] = model.state_index(variable, label_of(state))
    return codes


def conditional(model: Model, evidence: Evidence | None) -> DecisionGraph:
    """Return the decision graph of a model given evidence.

    Parameters
    ----------
    model
        A network is compiled first, once for all queries; the graph of a naive Bayes model has the
        component as its last variable.

    Raises
    ------
    OptionError
        If a variable or state is unknown.
    DataError
        If the evidence has probability zero.
    TooLargeError
        If a network's decision graph would be too large.
    """
    given = condition(as_graph(model), coded_evidence(model, evidence))
    if given is None:
        refuse_evidence(evidence or {})
    return given


def refuse_evidence(evidence: Evidence, do: Evidence | None = None) -> NoReturn:
    """Raise the `DataError` of evidence that has probability zero."""
    shown = ", ".join(f"{name}={label_of(state)}" for name, state in evidence.items())
    place = f"the intervention on {', '.join(do)}" if do else "the model"
    raise DataError(
        f"the evidence {shown} has probability zero under {place}, so it has no posterior;"
        " correct it, or use a model with smoothed parameters"
    )
