"""Posterior queries on models of any language: of one case by names, or of each row of a table.

Rows are answered on all cores, in pieces of one size, so that answers do not depend on the number
of threads. Elimination and its pruning: docs/theory/inference.md.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from math import exp, inf, prod
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import checked_arguments, named
from exactlearn._runtime.display import ByValue, Displayed
from exactlearn._runtime.executors import in_order, n_threads
from exactlearn._runtime.offsets import offsets, owners
from exactlearn._runtime.variable_arguments import name_of
from exactlearn.bayesnet.buckets import LARGEST_ROW
from exactlearn.bayesnet.naive_bayes import NaiveBayes
from exactlearn.bayesnet.network import BayesianNetwork, subnetwork
from exactlearn.bayesnet.row_completion import eliminated, elimination_cells, prepared
from exactlearn.bayesnet.variable_elimination import (
    Elimination,
    eliminate_to_joint,
    plan_elimination,
)
from exactlearn.data.alignment import aligned_codes
from exactlearn.data.codes import MISSING
from exactlearn.data.counts import weighted_mean
from exactlearn.data.dataset import Dataset, DatasetLike, unknown_columns
from exactlearn.data.labels import label_of
from exactlearn.data.unseen import Unseen
from exactlearn.errors import DataError, OptionError, TooLargeError
from exactlearn.graphs.dag import ancestors
from exactlearn.pdg.inference.flows import (
    condition,
    log_likelihood_rows,
    posteriors_and_log_likelihoods,
)
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.queries.interventions import mutilated_network
from exactlearn.queries.model_graphs import (
    GRAPHS,
    Answering,
    Model,
    as_answering,
    as_graph,
    compiled_once,
)
from exactlearn.structure.averaged_prediction import NetworkMixture

if TYPE_CHECKING:
    import pandas as pd

ModelLike = Model | Any
"""A model, or a result that has one, see :data:`~exactlearn.data.dataset.DatasetLike`."""

Evidence = Mapping[str, str | float]
"""The state of each observed variable.

A number is the state of that name, or stands for the bin that it lies in.
"""

MAX_JOINT = 1_000_000
"""Most configurations of a joint posterior."""

MAX_SHOWN = 3
"""Most targets whose posteriors stand in the ``repr`` of an answer."""

PIECE = 16_384
"""Rows that a thread answers at a time."""

QUICK_CELLS = 20_000_000
"""Table cells of all rows up to which elimination takes less time than to compile the network."""

MAX_PASSES = 8
"""Most targets of one case to which variables are eliminated one by one."""

MAX_ELIMINATED = 4_000_000_000
"""Most table cells that the elimination to each target of one case may take: half a minute."""

Rows = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Posteriors of all states, shape (rows, states), and log-likelihoods, shape (rows,)."""


@dataclass(frozen=True, repr=False)
class Answer(Displayed):
    """The answer to a query.

    Parameters
    ----------
    posterior
        For each target, the probability of each of its states given the evidence.
    probability_of_evidence, log_probability_of_evidence
        The first may underflow to zero when there is much evidence, the natural logarithm not.
    evidence
        What was given: for each variable that was observed or set its state, with the weight 1.
    model
        The model that was asked; under an intervention the network without the arcs into the
        variables that were set.
    do
        What was set by intervention.

    Examples
    --------
    >>> import exactlearn as el
    >>> answer = el.query(el.read_network("asia"), {"smoke": "yes"}, ["lung", "bronc"])
    >>> answer
    Answer(lung: yes 0.1, no 0.9; bronc: yes 0.6, no 0.4; P(evidence) 0.5)
    >>> round(answer.posterior["lung"]["yes"], 4), round(answer.probability_of_evidence, 4)
    (0.1, 0.5)
    >>> answer.evidence
    {'smoke': {'yes': 1.0}}
    """

    posterior: dict[str, dict[str, float]]
    probability_of_evidence: float
    log_probability_of_evidence: float
    evidence: dict[str, dict[str, float]] = field(default_factory=dict)
    model: Answering | None = field(default=None, compare=False)
    do: Evidence = field(default_factory=dict)

    def __repr__(self) -> str:
        """Return the posteriors of the first targets, and the probability of the evidence."""
        parts = []
        for name in list(self.posterior)[:MAX_SHOWN]:
            states = self.posterior[name].items()
            texts = [f"{state} {p:.4g}" for state, p in states]
            parts.append(f"{name}: {', '.join(texts)}")
        n_hidden = len(self.posterior) - MAX_SHOWN
        if n_hidden > 0:
            parts.append(f"{n_hidden} more")
        parts.append(f"P(evidence) {self.probability_of_evidence:.4g}")
        return f"Answer({'; '.join(parts)})"

    def to_frame(self) -> "pd.DataFrame":
        """Return the posteriors as a frame: variable, state, probability.

        Examples
        --------
        >>> import exactlearn as el
        >>> el.query(el.read_network("asia"), {"smoke": "yes"}, "lung").to_frame()
          variable state  probability
        0     lung   yes          0.1
        1     lung    no          0.9
        """
        import pandas as pd

        rows = [
            (name, state, p)
            for name, states in self.posterior.items()
            for state, p in states.items()
        ]
        return pd.DataFrame(rows, columns=["variable", "state", "probability"])


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
    posteriors, (log_probability,) = _posteriors(model, codes[None], variables, 1)
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


@dataclass(frozen=True, eq=False, repr=False)
class TableAnswer(ByValue, shown="targets=names rows=log_probability_of_evidence"):
    """Posterior probabilities for each row of a table.

    Parameters
    ----------
    names, states
        The targets and their states.
    posteriors
        For each target its posterior, shape (rows, states); an observed cell has 1 at its state.
    log_probability_of_evidence
        Of the observed cells, natural logarithm, shape (rows,); ``-inf`` for an impossible row,
        whose posteriors are NaN.
    row_index
        Index of the frame whose rows these are.
    """

    names: tuple[str, ...]
    states: tuple[tuple[str, ...], ...]
    posteriors: tuple[NDArray[np.float64], ...]
    log_probability_of_evidence: NDArray[np.float64]
    row_index: "pd.Index | None" = field(default=None, compare=False)

    def to_frame(self) -> "pd.DataFrame":
        """Return the posteriors as a pandas frame, one column for each (variable, state)."""
        import pandas as pd

        columns = [
            (name, state)
            for name, states in zip(self.names, self.states, strict=True)
            for state in states
        ]
        index = pd.MultiIndex.from_tuples(columns, names=["variable", "state"])
        return pd.DataFrame(np.hstack(self.posteriors), self.row_index, index)


@dataclass(frozen=True, eq=False, repr=False)
class Classification(ByValue, shown="name rows=predicted accuracy log_loss"):
    """The posterior of one variable for each row.

    Parameters
    ----------
    name, states
        The class and its states.
    posterior
        Shape (rows, states); NaN for a row that is impossible without its class.
    predicted
        Most probable state, the first of equal ones; -1 for an impossible row. Shape (rows,).
    labels
        State in the table, -1 where missing, shape (rows,).
    weights
        Weight of each row, by which accuracy and loss count it, shape (rows,).
    row_index
        Index of the frame whose rows these are.
    """

    name: str
    states: tuple[str, ...]
    posterior: NDArray[np.float64]
    predicted: NDArray[np.int64]
    labels: NDArray[np.int64]
    weights: NDArray[np.float64]
    row_index: "pd.Index | None" = field(default=None, compare=False)

    def to_frame(self) -> "pd.DataFrame":
        """Return the posterior as a pandas frame: a column for each state, then the prediction."""
        import pandas as pd

        columns = pd.Index(self.states, name=self.name)
        frame = pd.DataFrame(self.posterior, self.row_index, columns)
        predicted = pd.Categorical.from_codes(self.predicted, pd.Index(self.states))
        return frame.assign(predicted=predicted)

    @property
    def labelled_weights(self) -> NDArray[np.float64]:
        """Weight of each row, 0 where it has no label, shape (rows,)."""
        return np.where(self.labels >= 0, self.weights, 0.0)

    @property
    def losses(self) -> NDArray[np.float64]:
        """Minus the logarithm of the posterior of each row's label, in nats, shape (rows,).

        Infinite where that is zero, or the row is impossible; NaN where the row has no label.
        """
        row = np.arange(len(self.labels))
        probability = self.posterior[row, self.labels]
        with np.errstate(divide="ignore"):
            losses = -np.log(np.nan_to_num(probability))
        return np.where(self.labels >= 0, losses, np.nan)

    @property
    def accuracy(self) -> float:
        """Share of the weight of the labelled rows whose label was predicted; NaN without any."""
        return weighted_mean(self.predicted == self.labels, self.labelled_weights)

    @property
    def log_loss(self) -> float:
        """Mean loss of the labelled rows by their weights, in nats; NaN when no row is labelled."""
        return weighted_mean(self.losses, self.labelled_weights)


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
    posteriors, logs = _posteriors(model, codes, variables, n_threads(threads))
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
    (posterior,), logs = _posteriors(model, codes, [variable], n_threads(threads))
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


def _posteriors(
    model: Answering,
    codes: NDArray[np.int16],
    variables: Sequence[int],
    threads: int,
) -> tuple[tuple[NDArray[np.float64], ...], NDArray[np.float64]]:
    """Return the posterior of each variable, and the log-likelihoods, in pieces of rows.

    Parameters
    ----------
    model, variables, threads
        The model, the variables, and the number of threads.
    codes
        The rows, shape (rows, variables).

    Returns
    -------
    posteriors, log_likelihoods
        For each variable shape (rows, states), NaN of an impossible row; shape (rows,).
    """
    n_rows = len(codes)
    posteriors_of = _row_posteriors(model, codes, variables)
    # Where the states of each variable stand among those of all, and its own array.
    first = offsets(model.cardinalities)
    columns = [slice(first[v], first[v + 1]) for v in variables]
    posteriors = tuple(np.empty((n_rows, model.cardinalities[v])) for v in variables)
    logs = np.empty(n_rows)

    def answer(piece: int, _: None) -> int:
        rows = slice(piece * PIECE, (piece + 1) * PIECE)
        states, logs[rows] = posteriors_of(codes[rows])
        states[np.isneginf(logs[rows])] = np.nan
        for posterior, column in zip(posteriors, columns, strict=True):
            posterior[rows] = states[:, column]
        return piece

    # Pieces of one size, so that answers do not depend on the number of threads.
    n_pieces = -(-n_rows // PIECE)
    for _ in in_order(answer, n_pieces, lambda: None, threads):
        pass
    return posteriors, logs


def _row_posteriors(
    model: Answering,
    codes: NDArray[np.int16],
    variables: Sequence[int],
) -> Callable[[NDArray[np.int16]], Rows]:
    """Return the function from rows to posteriors and log-likelihoods that suits these rows.

    The posteriors of other variables than these may be missing.
    """
    if isinstance(model, NaiveBayes | NetworkMixture):
        return model.row_posteriors
    if isinstance(model, DecisionGraph):
        return partial(posteriors_and_log_likelihoods, model)
    network = prepared(model)
    if elimination_cells(network, codes) <= QUICK_CELLS:
        return partial(eliminated, network)
    # One case: eliminate to each target, where that takes little time.
    unobserved = [v for v in variables if codes[0, v] < 0]
    if len(codes) == 1 and len(unobserved) <= MAX_PASSES and model not in GRAPHS:
        plans = [plan_elimination(network, codes[0], [v]) for v in unobserved]
        if is_affordable(plans):
            return partial(_of_one_row, network, unobserved, plans)
    # Only the ancestors of targets and evidence matter; these are compiled.
    observed = np.flatnonzero((codes >= 0).any(axis=0)).tolist()
    part = sorted(ancestors(model.parents, [*variables, *observed]))
    if len(part) < model.n_variables:
        return _of_part(model, codes, part)
    with suppress(TooLargeError):
        return partial(posteriors_and_log_likelihoods, compiled_once(model))
    return partial(eliminated, network)


def is_affordable(plans: Sequence[Elimination]) -> bool:
    """Return whether the targets of a query are eliminated one by one, and nothing compiled."""
    cells = sum(plan.cells for plan in plans)
    largest = max((plan.largest for plan in plans), default=inf)
    return cells <= MAX_ELIMINATED and largest <= LARGEST_ROW


def _of_one_row(
    network: BayesianNetwork,
    targets: Sequence[int],
    plans: Sequence[Elimination],
    codes: NDArray[np.int16],
) -> Rows:
    """Return the posteriors of the targets and the log-likelihood of one row, 0 elsewhere."""
    (row,) = codes
    first = offsets(network.cardinalities)
    posterior = np.zeros((1, first[-1]))
    # An observed variable has its state, a target the joint of one variable.
    observed = np.flatnonzero(row >= 0)
    posterior[0, first[observed] + row[observed]] = 1.0
    log_likelihood = -inf
    for v, plan in zip(targets, plans, strict=True):
        states = slice(first[v], first[v + 1])
        posterior[0, states], log_likelihood = eliminate_to_joint(
            network,
            row,
            [v],
            plan,
        )
    return posterior, np.array([log_likelihood])


def _of_part(
    model: BayesianNetwork,
    codes: NDArray[np.int16],
    part: Sequence[int],
) -> Callable[[NDArray[np.int16]], Rows]:
    """Return the function for an ancestral subset of the variables, with 0 for the others."""
    network = subnetwork(model, part)
    posteriors_of_part = _row_posteriors(network, codes[:, part], range(len(part)))
    # The columns of the states of the subset's variables, among those of all.
    variable = owners(offsets(model.cardinalities))
    columns = np.isin(variable, part)

    def posteriors_of(rows: NDArray[np.int16]) -> Rows:
        rows_of_part = np.ascontiguousarray(rows[:, part])
        posterior = np.zeros((len(rows), len(variable)))
        posterior[:, columns], logs = posteriors_of_part(rows_of_part)
        return posterior, logs

    return posteriors_of


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
