"""Posterior queries on models of any language: of one case by names, or of each row of a table.

Rows are answered on all cores, in pieces of one size, so that answers do not depend on the number
of threads.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from math import exp, inf, prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import checked_arguments, name_of, named
from exactlearn._runtime.display import ByValue, Displayed
from exactlearn._runtime.executors import in_order, n_threads
from exactlearn.bayesnet.buckets import LARGEST_ROW
from exactlearn.bayesnet.naive_bayes import NaiveBayes
from exactlearn.bayesnet.network import BayesianNetwork, subnetwork
from exactlearn.bayesnet.row_completion import eliminated, elimination_cells, prepared
from exactlearn.data.codes import MISSING
from exactlearn.data.dataset import Dataset, DatasetLike, aligned_codes, unknown_columns
from exactlearn.errors import OptionError, TooLargeError
from exactlearn.graphs.d_separation import ancestors
from exactlearn.pdg.inference.flows import (
    condition,
    log_likelihood_rows,
    posteriors,
    posteriors_and_log_likelihoods,
)
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.queries.evidence import (
    CodedEvidence,
    Evidence,
    Model,
    ModelLike,
    as_graph,
    coded_evidence,
    compiled_once,
    conditional,
    graph_if_faster,
    refuse_evidence,
    with_observations,
)

if TYPE_CHECKING:
    import pandas as pd

FEW_CELLS = LARGEST_ROW
"""With more table cells a network is compiled, where that is possible."""

MAX_JOINT = 1_000_000
"""Most configurations of a joint posterior."""

SHOWN_TARGETS = 3
"""Most targets whose posteriors stand in the ``repr`` of an answer."""

PIECE = 16_384
"""Rows that a thread answers at a time."""

QUICK_CELLS = 20_000_000
"""Table cells of all rows up to which elimination takes less time than to compile the network."""


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
        With soft evidence: the expected product of its weights.
    evidence
        What was given: the weight of each state that has one, 1 for an observed state.
    model
        The model that was asked.

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
    model: Model | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        """Return the posteriors of the first targets, and the probability of the evidence."""
        shown = [
            f"{name}: {', '.join(f'{state} {p:.4g}' for state, p in states.items())}"
            for name, states in list(self.posterior.items())[:SHOWN_TARGETS]
        ]
        left = len(self.posterior) - len(shown)
        shown += [f"{left} more"] * (left > 0)
        return f"Answer({'; '.join(shown)}; P(evidence) {self.probability_of_evidence:.4g})"

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

        rows = [(x, s, p) for x, states in self.posterior.items() for s, p in states.items()]
        return pd.DataFrame(rows, columns=["variable", "state", "probability"])


@checked_arguments()
def query(
    model: ModelLike,
    evidence: Evidence | Any = None,
    targets: str | Sequence[str] | None = None,
) -> Answer:
    """Return the exact posterior marginals of the targets given the evidence.

    Parameters
    ----------
    model
        A network is queried by elimination along its clique tree. Where that is large, only the
        ancestors of the targets and of the evidence are used, and compiled, once, if their clique
        tree is large too; so is a network after many queries. Compile it yourself to make all
        queries faster. A naive Bayes model answers for its observed variables.
    evidence
        For each observed variable its state, or, as soft evidence, a weight for each state. A
        number stands for the state of that name, or for the bin that holds it.
    targets
        Target variables, or one; all without evidence when left out.

    Raises
    ------
    OptionError
        If a variable or state is unknown; near names are offered.
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
    >>> el.query(network, {"xray": {"yes": 0.9, "no": 0.3}}, "lung")  # weights of the states
    Answer(lung: yes 0.1334, no 0.8666; P(evidence) 0.3662)
    """
    found = coded_evidence(model, evidence)
    if targets is None:
        targets = [name for name in model.names if name not in (evidence or {})]
    wanted = [model.index(name) for name in targets]
    posterior, log_probability = _posterior(model, found, wanted)
    if log_probability == -inf:
        refuse_evidence(evidence or {})
    marginals = np.split(posterior, np.cumsum(model.cardinalities)[:-1])
    answers = {
        model.names[v]: dict(zip(model.states[v], marginals[v].tolist(), strict=True))
        for v in wanted
    }
    return Answer(answers, exp(log_probability), log_probability, found.named(model), model)


@checked_arguments()
def joint_posterior(
    model: ModelLike, evidence: Evidence | None, targets: str | Sequence[str]
) -> NDArray[np.float64]:
    """Return the exact joint distribution of some variables given the evidence.

    Parameters
    ----------
    model, evidence
        As for :func:`query`; a network is compiled, once.
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
    wanted = [model.index(name) for name in targets]
    if len(set(wanted)) < len(wanted):
        raise OptionError(f"joint of {', '.join(targets)}: name each variable once")
    shape = tuple(int(model.cardinalities[v]) for v in wanted)
    if prod(shape) > MAX_JOINT:
        raise TooLargeError(
            f"the joint of {len(wanted)} variables has {prod(shape):,} configurations, the limit is"
            f" {MAX_JOINT:,}: ask for fewer variables, for the most probable configurations, or"
            " draw samples"
        )
    graph, _ = conditional(model, evidence)
    rows = np.full((prod(shape), graph.n_variables), -1, np.int16)
    rows[:, wanted] = np.indices(shape).reshape(len(shape), prod(shape)).T
    return np.minimum(np.exp(log_likelihood_rows(graph, rows)), 1.0).reshape(shape)


def _posterior(
    model: Model, found: CodedEvidence, wanted: Sequence[int]
) -> tuple[NDArray[np.float64], float]:
    """Return posterior marginals and the log-probability of evidence, by the cheapest way.

    The marginals of variables that are not wanted may be missing.
    """
    if isinstance(model, NaiveBayes) and not found.soft:
        posterior, logs = model.row_posteriors(found.codes[None])
        return posterior[0], float(logs[0])
    graph = graph_if_faster(model) if isinstance(model, BayesianNetwork) else as_graph(model)
    if graph is not None:
        return _of_graph(graph, found)
    assert isinstance(model, BayesianNetwork)
    network, hard = with_observations(prepared(model), found)
    if elimination_cells(network, hard.codes[None]) > FEW_CELLS:
        observed = np.flatnonzero(found.codes >= 0).tolist()
        part = sorted(ancestors(model.parents, [*wanted, *observed, *found.soft]))
        if len(part) < model.n_variables:
            return _of_part(model, found, part)
        with suppress(TooLargeError):
            return _of_graph(compiled_once(model), found)
    posterior, logs = eliminated(network, hard.codes[None])
    scale = sum(float(np.log(max(w.max(), np.finfo(float).tiny))) for w in found.soft.values())
    return posterior[0, : int(model.cardinalities.sum())], float(logs[0]) + scale


def _of_part(
    model: BayesianNetwork, found: CodedEvidence, part: Sequence[int]
) -> tuple[NDArray[np.float64], float]:
    """Return the posterior of an ancestral subset of the variables, and 0 for the others."""
    soft = {k: found.soft[v] for k, v in enumerate(part) if v in found.soft}
    inner = CodedEvidence(found.codes[list(part)], soft)
    marginals, log_probability = _posterior(subnetwork(model, part), inner, range(len(part)))
    variable = np.repeat(np.arange(model.n_variables), model.cardinalities)
    posterior = np.zeros(len(variable))
    posterior[np.isin(variable, part)] = marginals
    return posterior, log_probability


def _of_graph(graph: DecisionGraph, found: CodedEvidence) -> tuple[NDArray[np.float64], float]:
    if not found.soft:
        posterior, logs = posteriors_and_log_likelihoods(graph, found.codes[None])
        return posterior[0], float(logs[0])
    given, log_probability = condition(graph, found.weights(graph))
    nothing = np.full((1, graph.n_variables), -1, np.int16)
    states = int(graph.cardinalities[: len(found.codes)].sum())  # without those of a component
    return posteriors(given, nothing)[0, :states], log_probability


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

        columns = [(x, s) for x, own in zip(self.names, self.states, strict=True) for s in own]
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
    row_index
        Index of the frame whose rows these are.
    """

    name: str
    states: tuple[str, ...]
    posterior: NDArray[np.float64]
    predicted: NDArray[np.int64]
    labels: NDArray[np.int64]
    row_index: "pd.Index | None" = field(default=None, compare=False)

    def to_frame(self) -> "pd.DataFrame":
        """Return the posterior as a pandas frame: a column for each state, then the prediction."""
        import pandas as pd

        columns = pd.Index(self.states, name=self.name)
        predicted = pd.Categorical.from_codes(self.predicted, pd.Index(self.states))
        return pd.DataFrame(self.posterior, self.row_index, columns).assign(predicted=predicted)

    @property
    def accuracy(self) -> float:
        """Share of the labelled rows whose label was predicted; NaN when no row is labelled."""
        known = self.labels >= 0
        return float((self.predicted == self.labels)[known].mean()) if known.any() else np.nan

    @property
    def log_loss(self) -> float:
        """Mean of -log posterior of the labels, in nats; NaN when no row is labelled."""
        known = self.labels >= 0
        given = np.nan_to_num(self.posterior[known, self.labels[known]])
        with np.errstate(divide="ignore"):
            return -float(np.log(given).mean()) if known.any() else np.nan


@checked_arguments()
def query_rows(
    model: ModelLike,
    dataset: DatasetLike,
    targets: str | Sequence[str] | None = None,
    *,
    threads: int | None = None,
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
    >>> found = el.query_rows(asia, table, ["lung", "xray"])
    >>> found.to_frame().head(3).round(3)
    variable lung      xray
    state     yes   no  yes   no
    0         0.0  1.0  0.0  1.0
    1         0.0  1.0  0.0  1.0
    2         0.0  1.0  0.0  1.0
    """
    wanted = [model.index(name) for name in (model.names if targets is None else targets)]
    answers, logs = _posteriors(model, _codes(model, dataset), wanted, n_threads(threads))
    return TableAnswer(
        tuple(model.names[v] for v in wanted),
        tuple(model.states[v] for v in wanted),
        answers,
        logs,
        dataset.row_index,
    )


@checked_arguments(name=named(name_of))
def classify(
    model: ModelLike, dataset: DatasetLike, name: str, *, threads: int | None = None
) -> Classification:
    """Return the posterior of one variable given the other observed cells of each row.

    Parameters
    ----------
    model, threads
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
    >>> found = el.classify(el.read_network("asia"), el.read_dataset("asia-mnar"), "lung")
    >>> found.accuracy, round(found.log_loss, 4)
    (1.0, 0.0008)
    >>> found.to_frame().head(2)
    lung  yes   no predicted
    0     0.0  1.0        no
    1     0.0  1.0        no
    """
    variable = model.index(name)
    codes = _codes(model, dataset)
    labels = codes[:, variable].astype(np.int64)
    codes[:, variable] = MISSING
    (posterior,), logs = _posteriors(model, codes, [variable], n_threads(threads))
    possible = np.isfinite(logs)
    predicted = np.where(possible, np.where(possible[:, None], posterior, 0).argmax(axis=1), -1)
    return Classification(
        name, model.states[variable], posterior, predicted, labels, dataset.row_index
    )


def _codes(model: Model, dataset: Dataset) -> NDArray[np.int16]:
    """Return the rows in the model's codes; a variable without a column is missing."""
    known = [v for v, name in enumerate(model.names) if name in set(dataset.names)]
    if not known:
        raise unknown_columns(dataset.names, model.names)
    codes = np.full((dataset.n_rows, model.n_variables), MISSING, np.int16)
    names, states = [model.names[v] for v in known], [model.states[v] for v in known]
    codes[:, known] = aligned_codes(dataset, names, states)
    return codes


def _posteriors(
    model: Model, codes: NDArray[np.int16], wanted: Sequence[int], threads: int
) -> tuple[tuple[NDArray[np.float64], ...], NDArray[np.float64]]:
    posteriors_of = _row_posteriors(model, codes)
    last = np.cumsum(model.cardinalities).tolist()
    columns = [slice(last[v] - int(model.cardinalities[v]), last[v]) for v in wanted]
    answers = tuple(np.empty((len(codes), c.stop - c.start)) for c in columns)
    logs = np.empty(len(codes))

    def work(piece: int, _: None) -> int:
        rows = slice(piece * PIECE, (piece + 1) * PIECE)
        found, logs[rows] = posteriors_of(codes[rows])
        found[np.isneginf(logs[rows])] = np.nan
        for answer, place in zip(answers, columns, strict=True):
            answer[rows] = found[:, place]
        return piece

    for _ in in_order(work, -(-len(codes) // PIECE), lambda: None, threads):
        pass
    return answers, logs


def _row_posteriors(model: Model, codes: NDArray[np.int16]) -> Callable[[NDArray[np.int16]], Rows]:
    """Return the function from rows to posteriors and log-likelihoods that suits these rows."""
    if isinstance(model, NaiveBayes):
        return model.row_posteriors
    if isinstance(model, DecisionGraph):
        return partial(posteriors_and_log_likelihoods, model)
    network = prepared(model)
    if len(codes) * elimination_cells(network, codes) > QUICK_CELLS:
        with suppress(TooLargeError):
            return partial(posteriors_and_log_likelihoods, compiled_once(model))
    return partial(eliminated, network)
