"""Queries for each row of a table with missing cells, on all cores; and classification.

Rows are cut into pieces of one size, so that answers do not depend on the number of threads.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import checked_arguments, name_of, named
from exactlearn._runtime.display import ByValue
from exactlearn._runtime.executors import in_order, n_threads
from exactlearn.bayesnet.naive_bayes import NaiveBayes
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.bayesnet.row_completion import eliminated, elimination_cells, prepared
from exactlearn.data.codes import MISSING
from exactlearn.data.dataset import Dataset, DatasetLike, aligned_codes, unknown_columns
from exactlearn.errors import TooLargeError
from exactlearn.pdg.inference.flows import posteriors_and_log_likelihoods
from exactlearn.queries.evidence import Model, ModelLike, compiled_once

if TYPE_CHECKING:
    import pandas as pd

PIECE = 16_384
"""Rows that a thread answers at a time."""


QUICK_CELLS = 20_000_000
"""Table cells of all rows up to which elimination takes less time than to compile the network."""


Rows = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Posteriors of all states, shape (rows, states), and log-likelihoods, shape (rows,)."""


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
    if isinstance(model, BayesianNetwork):
        network = prepared(model)
        if len(codes) * elimination_cells(network, codes) <= QUICK_CELLS:
            return partial(eliminated, network)
        try:
            return partial(posteriors_and_log_likelihoods, compiled_once(model))
        except TooLargeError:
            return partial(eliminated, network)
    if isinstance(model, NaiveBayes):
        return model.row_posteriors
    return partial(posteriors_and_log_likelihoods, model)
